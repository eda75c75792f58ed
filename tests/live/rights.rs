//! Rights that are missing, taken and given while the daemon runs; this must not know what it does with them.

use crate::cluster::proxy::Action;
use crate::cluster::{self, Cluster, rights};
use crate::rig::client::get;
use crate::rig::manifests::{ingress, tls_secret};
use crate::rig::status::watch;

async fn serve_shop(cluster: &Cluster) {
    cluster.objects.serve("web", &["10.244.0.1"]).await;
    cluster.objects.apply(tls_secret("pair", &["shop.example"])).await;
    let shop = ingress("shop").host("shop.example", "web").tls(&["shop.example"], "pair");
    cluster.objects.apply(shop.annotation("ssl-redirect", "false")).await;
}

#[test]
fn nodes_are_done_without() {
    cluster::run(async |cluster| {
        serve_shop(cluster).await;
        cluster.credentials.set_rules(&cluster.objects, &rights::shipped_without("nodes")).await;
        cluster.start().await;
        assert_eq!(get("http://shop.example/").send().await.status, 200);
        cluster.daemon.status_when("the refusal", |status| watch(status, "Node") == "refused").await;
        cluster.credentials.set_rules(&cluster.objects, &rights::shipped()).await;
        cluster.daemon.status_when("the watch", |status| watch(status, "Node") == "current").await;
    });
}

#[test]
fn nothing_is_served_before_all_that_is_needed_may_be_seen() {
    for (resource, kind) in
        [("secrets", "Secret"), ("ingressclasses", "IngressClass"), ("endpointslices", "EndpointSlice")]
    {
        cluster::run(async move |cluster| {
            serve_shop(cluster).await;
            cluster.credentials.set_rules(&cluster.objects, &rights::shipped_without(resource)).await;
            cluster.nginx.start();
            cluster.daemon.start();
            // All others are known, and this one is told.
            let told =
                |status: &serde_json::Value| watch(status, kind) == "refused" && watch(status, "Ingress") == "current";
            cluster.daemon.status_when("the refusal", told).await;
            let reply = cluster.daemon.get("/readyz").await.unwrap();
            assert_eq!(reply.status, 503, "{}", reply.text());
            cluster.credentials.set_rules(&cluster.objects, &rights::shipped()).await;
            cluster.daemon.ready().await;
            assert_eq!(get("https://shop.example/").send().await.peer.unwrap().names, ["shop.example"]);
            assert_eq!(cluster.daemon.reloads().await, 1);
        });
    }
}

#[test]
fn a_right_that_is_taken_leaves_what_was_seen() {
    cluster::run(async |cluster| {
        let proxy = cluster.put_proxy_between().await;
        serve_shop(cluster).await;
        cluster.start().await;
        cluster.credentials.set_rules(&cluster.objects, &rights::shipped_without("services")).await;
        // A running watch goes on without the right: the next one is refused, and so is a list.
        proxy.rules.add(|call| call.watches("services"), Action::Refuse(http::StatusCode::GONE));
        proxy.streams.cut(|call| call.watches("services"));
        cluster.daemon.status_when("the refusal", |status| watch(status, "Service") == "refused").await;
        proxy.rules.clear();
        // Stale is not gone, and the others go on.
        cluster.objects.apply(ingress("more").host("more.example", "web")).await;
        get("http://more.example/").send_until("a change of another kind", |reply| reply.status == 200).await;
        assert_eq!(get("https://shop.example/").send().await.status, 200);
        assert_eq!(cluster.daemon.get("/readyz").await.unwrap().status, 200);

        cluster.credentials.set_rules(&cluster.objects, &rights::shipped()).await;
        cluster.daemon.status_when("the watch", |status| watch(status, "Service") == "current").await;
    });
}
