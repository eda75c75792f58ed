//! Watches that end, send wrong data or are slow, and credentials that change.

use std::sync::Arc;
use std::time::Duration;

use http::StatusCode;
use serde_json::{Value, json};

use rig::ECHO;
use rig::client::{Reply, get};
use rig::cluster::objects::ADDRESS;
use rig::cluster::proxy::{Action, Call, Proxy, status};
use rig::cluster::{self, Cluster};
use rig::load::Load;
use rig::manifests::{ingress, service_at, tls_secret};
use rig::status::{reports, watch};
use rig::wait;

/// Removes a host and waits until it is gone.
async fn expect_forgotten(cluster: &Cluster, name: &str) {
    cluster.objects.delete("Ingress", name).await;
    get(&format!("http://{name}.example/"))
        .send_until(&format!("the end of {name}"), |reply| reply.status == 404)
        .await;
}

fn watches_ingresses(call: &Call) -> bool {
    call.watches("ingresses")
}

/// Waits until Ingresses are watched: what was listed is served without regard to that.
async fn until_watched(proxy: &Proxy) {
    wait::until("a watch", async || (proxy.streams.count(watches_ingresses) > 0).then_some(())).await;
}

#[test]
fn a_history_that_is_gone_is_read_anew() {
    cluster::run(async |cluster| {
        let proxy = cluster.put_proxy_between().await;
        cluster.objects.serve_shop().await;
        cluster.start().await;
        let lists = || proxy.count(200, |call| call.lists("ingresses"));

        // The API server ends the watch with status 410 in the stream.
        until_watched(&proxy).await;
        let before = lists();
        let expired = json!({"type": "ERROR", "object": status(StatusCode::GONE)});
        assert!(proxy.streams.send(watches_ingresses, &expired) > 0);
        proxy.counted("another list", before + 1, 200, |call| call.lists("ingresses")).await;
        cluster.objects.add_host("after-stream").await;

        // The API server refuses the start of the watch with status 410.
        until_watched(&proxy).await;
        let before = lists();
        proxy.rules.add_times(1, watches_ingresses, Action::Refuse(StatusCode::GONE));
        assert!(proxy.streams.cut(watches_ingresses) > 0);
        proxy.counted("another list", before + 1, 200, |call| call.lists("ingresses")).await;
        cluster.objects.add_host("after-start").await;
        expect_forgotten(cluster, "after-stream").await;
    });
}

/// An Ingress such as only a newer API knows: its rules are no list.
fn newer(cluster: &Cluster, name: &str) -> Value {
    json!({
        "apiVersion": "networking.k8s.io/v1", "kind": "Ingress",
        "metadata": {"name": name, "namespace": cluster.objects.namespace(), "uid": name, "resourceVersion": "1"},
        "spec": {"ingressClassName": cluster.objects.class("ingressd"), "rules": {"newer": "form"}}
    })
}

#[test]
fn an_object_that_cannot_be_read_harms_no_other() {
    cluster::run(async |cluster| {
        let proxy = cluster.put_proxy_between().await;
        cluster.objects.serve_shop().await;
        // The object that cannot be read comes in the list.
        let listed = newer(cluster, "listed");
        let add = move |list: &mut Value| list["items"].as_array_mut().unwrap().insert(0, listed.clone());
        proxy.rules.add(|call| call.lists("ingresses"), Action::Edit(Arc::new(add)));
        cluster.start().await;
        let reported = |status: &Value| reports(status, "Ingress listed", "Undecodable");
        cluster.daemon.status_when("the finding", reported).await;
        // The object that cannot be read comes in the stream, where a good version was before. Its
        // status must have been written, because that makes a version which can be read; the watch
        // has reported it when it reports what came later.
        cluster.objects.until_published("shop", &[ADDRESS]).await;
        cluster.objects.add_host("after-list").await;
        let event = json!({"type": "MODIFIED", "object": newer(cluster, "shop")});
        assert!(proxy.streams.send(watches_ingresses, &event) > 0);
        let reported = |status: &Value| reports(status, "Ingress shop", "Undecodable");
        cluster.daemon.status_when("the finding", reported).await;
        cluster.objects.add_host("after-event").await;
        assert_eq!(get("http://shop.example/").send().await.status, 200, "the last good version is served");
    });
}

/// What is watched, as paths name it.
const WATCHED: [&str; 7] = ["ingresses", "ingressclasses", "services", "endpointslices", "secrets", "nodes", "leases"];

/// Changes something of each kind: a host of its own class, with its own Service, other pods,
/// another certificate.
async fn change_all(cluster: &Cluster, round: usize) {
    let objects = &cluster.objects;
    let (name, class) = (format!("round-{round}"), format!("round-{round}-{}", objects.namespace()));
    let controller = objects.controller("ingressd");
    objects
        .apply(json!({
            "apiVersion": "networking.k8s.io/v1", "kind": "IngressClass", "metadata": {"name": class},
            "spec": {"controller": controller}
        }))
        .await;
    objects.apply_all(service_at(&name, &[&format!("10.244.1.{}", round + 1)], ECHO)).await;
    let host = format!("{name}.example");
    objects.apply(ingress(&name).class(&class).host(&host, &name).tls(&[&host], "pair")).await;
    objects.apply(tls_secret("pair", &[&host])).await;
    if round > 0 {
        let before = round - 1;
        objects.delete("Ingress", &format!("round-{before}")).await;
        objects.delete("IngressClass", &format!("round-{before}-{}", objects.namespace())).await;
    }
}

/// Waits until so many watches have begun, those that began again among them.
async fn expect_begun(cluster: &Cluster, number: usize) {
    let begun = async || cluster.daemon.metric(r#"ingressd_api_requests_total{verb="watch",code="200"}"#).await;
    wait::until_right("watches", begun, |begun| *begun >= number as f64).await;
}

#[test]
fn watches_may_be_dropped_at_any_time() {
    cluster::run(async |cluster| {
        let mut proxy = cluster.put_proxy_between().await;
        cluster.objects.serve_shop().await;
        cluster.start().await;
        expect_begun(cluster, WATCHED.len()).await;
        let load = Load::new(&[get("http://shop.example/")]).rates(50, 10).start();
        for round in 0..16 {
            // It is left to chance which of them.
            let chosen = (round * 73 + 29) % (1 << WATCHED.len());
            let is_chosen =
                |call: &Call| (0..).zip(WATCHED).any(|(bit, kind)| chosen >> bit & 1 == 1 && call.watches(kind));
            match round % 4 {
                3 => proxy.cut().await,
                _ => drop(proxy.streams.cut(is_chosen)),
            }
            change_all(cluster, round).await;
            proxy.streams.cut(|call| !is_chosen(call));
            assert_eq!(cluster.daemon.get("/readyz").await.unwrap().status, 200);
        }
        let last = |reply: &Reply| {
            let named = reply.peer.as_ref().is_some_and(|peer| peer.names == ["round-15.example"]);
            named && reply.try_echo().is_some_and(|answer| answer.address.ip().to_string() == "10.244.1.16")
        };
        get("https://round-15.example/").send_until("the last host", last).await;
        for round in 0..15 {
            let host = format!("http://round-{round}.example/");
            get(&host).send_until("the end of the others", |reply| reply.status == 404).await;
        }
        cluster.objects.until_published("round-15", &[ADDRESS]).await;
        let kinds = ["Ingress", "IngressClass", "Service", "EndpointSlice", "Secret", "Node"];
        let current = |status: &Value| kinds.iter().all(|kind| watch(status, kind) == "current");
        cluster.daemon.status_when("current watches", |status| current(status) && status["role"] == "leader").await;
        for kind in kinds {
            let state = format!(r#"ingressd_watch_state{{kind="{kind}",namespace="",state="current"}}"#);
            assert_eq!(cluster.daemon.metric(&state).await, 1.0, "{state}");
        }
        // Each was cut in the first round already, and runs.
        expect_begun(cluster, 2 * WATCHED.len()).await;
        assert_eq!(load.stop().await.failures, [""; 0]);
    });
}

/// The address of the node whose API server is slow. Other tests publish theirs in the same
/// cluster.
const OWN: &str = "192.0.2.183";

#[test]
fn a_slow_api_server_is_waited_for() {
    cluster::run(async |cluster| {
        let proxy = cluster.put_proxy_between().await;
        cluster.objects.serve_shop().await;
        proxy.rules.add(|_| true, Action::Delay(Duration::from_secs(2)));
        cluster.daemon.set("publish.addresses", &format!("[{OWN:?}]"));
        // A renewal may take a third of it, which has to be much more than the delay on a machine
        // that is slow itself.
        cluster.daemon.set("publish.lease-duration", "30s");
        cluster.start().await;
        assert_eq!(get("http://shop.example/").send().await.status, 200);
        cluster.objects.until_published("shop", &[OWN]).await;
        cluster.objects.add_host("more").await;
        cluster.objects.until_published("more", &[OWN]).await;
        proxy.streams.cut(|_| true);
        cluster.objects.add_host("even-more").await;
        // The lead is kept: its Lease is made, and renewed each time that a third of it is over.
        // With three renewals it was held for longer than it counts.
        let renewals =
            |call: &Call| call.resource == "leases" && call.is_write() && call.name.as_deref() == Some("ingressd");
        proxy.counted("renewals", 3, 200, renewals).await;
        let log = cluster.daemon.log();
        assert!(log.contains("this node leads") && !log.contains("no longer leads"), "it lost what it had");
        let status = cluster.daemon.status().await.unwrap();
        assert_eq!((&status["role"], &status["members"][0]["state"]), (&json!("leader"), &json!("alive")));
        assert_eq!(watch(&status, "Ingress"), "current");
        assert_eq!(cluster.daemon.get("/readyz").await.unwrap().status, 200);
        for (series, value) in [
            ("ingressd_ready", 1.0),
            ("ingressd_leader", 1.0),
            (r#"ingressd_members{state="serving"}"#, 1.0),
            (r#"ingressd_watch_state{kind="Ingress",namespace="",state="current"}"#, 1.0),
            (r#"ingressd_status_writes_total{result="failed"}"#, 0.0),
        ] {
            assert_eq!(cluster.daemon.metric(series).await, value, "{series}");
        }
    });
}

#[test]
fn a_token_that_ends_is_read_again() {
    cluster::run(async |cluster| {
        let proxy = cluster.put_proxy_between().await;
        cluster.objects.serve_shop().await;
        // The API server would not accept this token.
        cluster.credentials.renew_token(&cluster.objects, Duration::ZERO).await;
        cluster.nginx.start();
        cluster.daemon.start();
        proxy.counted("refusals", 3, 401, Call::is_list).await;
        // The lists at the start may take longer than a short token is valid.
        cluster.credentials.renew_token(&cluster.objects, Duration::from_secs(3600)).await;
        cluster.daemon.ready().await;
        assert_eq!(get("http://shop.example/").send().await.status, 200);
        let renewals = async || cluster.daemon.log().matches("the credentials for the cluster were renewed").count();
        wait::until_right("the first renewal", renewals, |renewals| *renewals >= 1).await;
        cluster.credentials.renew_token(&cluster.objects, Duration::from_secs(10)).await;
        wait::until_right("the second renewal", renewals, |renewals| *renewals >= 2).await;
        // It ends while the daemon runs, which notices when its watches end.
        let refused = |call: &Call| call.is_watch() || call.is_list();
        let before = proxy.count(401, refused);
        let ended = async || {
            proxy.streams.cut(|_| true);
            (proxy.count(401, refused) > before).then_some(())
        };
        wait::until("the end of the token", ended).await;
        assert_eq!(get("http://shop.example/").send().await.status, 200);
        cluster.credentials.renew_token(&cluster.objects, Duration::from_secs(3600)).await;
        cluster.objects.add_host("more").await;
        cluster.daemon.status_when("the watches", |status| watch(status, "Ingress") == "current").await;
    });
}

#[test]
fn an_authority_that_is_replaced_is_trusted_when_it_is_on_disk() {
    cluster::run(async |cluster| {
        let mut proxy = cluster.put_proxy_between().await;
        cluster.objects.serve_shop().await;
        cluster.start().await;
        proxy.replace_authority();
        proxy.cut().await;
        cluster.daemon.status_when("stale watches", |status| watch(status, "Ingress") == "stale").await;
        assert_eq!(get("http://shop.example/").send().await.status, 200);
        cluster.credentials.write_authority(&proxy.authority());
        cluster.objects.add_host("more").await;
        cluster.daemon.status_when("the watches", |status| watch(status, "Ingress") == "current").await;
    });
}
