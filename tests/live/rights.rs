//! Rights that are missing, taken and given while the daemon runs; this must not know what it does with them.

use crate::cluster::{self, rights};
use crate::rig::client::get;
use crate::rig::manifests::{ingress, tls_secret};
use crate::rig::status::watch;

#[test]
fn kinds_that_may_not_be_seen_are_done_without() {
    cluster::run(async |cluster| {
        cluster.objects.serve("web", &["10.244.0.1"]).await;
        cluster.objects.apply(tls_secret("pair", &["shop.example"])).await;
        cluster.objects.apply(ingress("shop").host("shop.example", "web").tls(&["shop.example"], "pair")).await;
        cluster.objects.apply(ingress("plain").host("plain.example", "web")).await;
        cluster.credentials.set_rules(&cluster.objects, &rights::shipped_without("secrets")).await;
        cluster.start().await;
        assert_eq!(get("http://plain.example/").send().await.status, 200);
        cluster.daemon.status_when("the refusal", |status| watch(status, "Secret") == "refused").await;

        cluster.credentials.set_rules(&cluster.objects, &rights::shipped()).await;
        cluster.daemon.status_when("the watch", |status| watch(status, "Secret") == "current").await;
        let named =
            |reply: &crate::rig::client::Reply| reply.peer.as_ref().is_some_and(|peer| peer.names == ["shop.example"]);
        get("https://shop.example/").send_until("the certificate", named).await;
    });
}

#[test]
fn a_right_that_is_taken_leaves_what_was_seen() {
    cluster::run(async |cluster| {
        let proxy = cluster.put_proxy_between().await;
        cluster.objects.serve("web", &["10.244.0.1"]).await;
        cluster.objects.apply(ingress("shop").host("shop.example", "web")).await;
        cluster.start().await;
        cluster.credentials.set_rules(&cluster.objects, &rights::shipped_without("services")).await;
        // A running watch goes on without the right: the next one is refused, and so is a list.
        proxy.rules.add(|call| call.watches("services"), cluster::proxy::Action::Refuse(http::StatusCode::GONE));
        proxy.streams.cut(|call| call.watches("services"));
        cluster.daemon.status_when("the refusal", |status| watch(status, "Service") == "refused").await;
        proxy.rules.clear();
        // Stale is not gone, and the others go on.
        cluster.objects.apply(ingress("more").host("more.example", "web")).await;
        get("http://more.example/").send_until("a change of another kind", |reply| reply.status == 200).await;
        assert_eq!(get("http://shop.example/").send().await.status, 200);
        assert_eq!(cluster.daemon.get("/readyz").await.unwrap().status, 200);

        cluster.credentials.set_rules(&cluster.objects, &rights::shipped()).await;
        cluster.daemon.status_when("the watch", |status| watch(status, "Service") == "current").await;
    });
}
