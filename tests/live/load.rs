//! Clients see nothing of a minute of changes made through the API, and a bad object harms nobody else; nothing of the inside is known.

use std::time::Duration;

use serde_json::json;
use tokio::time::{Instant, interval};

use crate::cluster::{self, Cluster};
use crate::rig::ECHO;
use crate::rig::client::{Request, get};
use crate::rig::load::Load;
use crate::rig::manifests::{endpoint_slice, ingress, service_at};
use crate::rig::status::{quarantined, serving, tells};

/// How long traffic and changes go on.
const TIME: Duration = Duration::from_secs(60);

/// Time between two changes: more than one for each reload.
const BETWEEN_CHANGES: Duration = Duration::from_millis(150);

/// Hosts that clients ask for; each has a route of its own that never changes, beside others that do.
const HOSTS: usize = 10;

/// One of the changes: a host comes or goes, a busy host gets another route, the pods behind everything are others.
async fn change(cluster: &Cluster, number: usize) {
    let turn = number / 4;
    let objects = &cluster.objects;
    match number % 4 {
        0 => drop(objects.apply(ingress("passing").host(&format!("passing-{turn}.example"), "web")).await),
        1 => {
            let host = format!("busy-{}.example", turn % HOSTS);
            objects.apply(ingress("more").path(&host, "Prefix", &format!("/more/{turn}"), "web")).await;
        }
        2 => {
            let pods: Vec<_> = (0..3).map(|pod| format!("10.244.{}.{}", turn % 200, pod + 1)).collect();
            let pods: Vec<_> = pods.iter().map(String::as_str).collect();
            objects.apply(endpoint_slice("web", &pods, ECHO)).await;
        }
        _ => objects.delete("Ingress", "passing").await,
    }
}

#[test]
fn no_request_fails_while_routes_and_endpoints_change() {
    cluster::run(async |cluster| {
        // The slice is the test's own: the pace is, too.
        cluster.objects.apply_all(service_at("web", &["10.244.0.1"], ECHO)).await;
        for number in 0..HOSTS {
            let name = format!("busy-{number}");
            cluster.objects.apply(ingress(&name).host(&format!("{name}.example"), "web")).await;
        }
        cluster.start().await;

        let requests: Vec<Request> =
            (0..HOSTS).map(|number| get(&format!("http://busy-{number}.example/{number}"))).collect();
        let reloads = cluster.daemon.reloads().await;
        let began = Instant::now();
        let load = Load::new(&requests).right(|reply| reply.try_echo().is_some()).start();
        let mut ticks = interval(BETWEEN_CHANGES);
        let mut changes = 0;
        while began.elapsed() < TIME {
            ticks.tick().await;
            change(cluster, changes).await;
            changes += 1;
        }
        let reloads = cluster.daemon.reloads().await - reloads;
        let seconds = began.elapsed().as_secs();
        let report = load.stop().await;
        println!(
            "{} requests on kept and {} on new connections, {} cuts, {reloads} reloads for {changes} changes",
            report.kept, report.fresh, report.cuts
        );
        assert_eq!(report.failures, [""; 0]);
        assert!(reloads <= seconds + 1, "{reloads} reloads in {seconds} s");
        assert!(reloads > 0 && report.kept > 0 && report.fresh > 0);

        // And the last change is served too.
        cluster.objects.apply(ingress("last").host("last.example", "web")).await;
        get("http://last.example/").send_until("the last change", |reply| reply.status == 200).await;
        cluster.daemon.status_when("rest", |status| serving(status).is_some()).await;
    });
}

#[test]
fn a_bad_object_harms_only_itself() {
    cluster::run(async |cluster| {
        let good = ingress("shop").class("nginx").annotation("use-regex", "true");
        cluster.objects.serve("web", &["10.244.0.1"]).await;
        cluster.objects.apply(good.clone().path("shop.example", "ImplementationSpecific", "/a", "web")).await;
        cluster.objects.apply(ingress("other").host("other.example", "web")).await;
        cluster.start().await;
        assert_eq!(get("http://shop.example/a").send().await.status, 200);

        // Only nginx knows that this expression is none.
        let bad = good.clone().path("shop.example", "ImplementationSpecific", "/(a", "web");
        cluster.objects.apply(bad).await;
        let status = cluster.daemon.status_when("the quarantine", |status| !quarantined(status).is_empty()).await;
        assert_eq!(quarantined(&status), ["Ingress shop"]);
        assert!(!tells(&status, "Ingress other", "Quarantined"));
        assert_eq!(get("http://shop.example/a").send().await.status, 200, "the last good version is served");

        cluster.objects.apply(ingress("more").host("more.example", "web")).await;
        get("http://more.example/").send_until("a change made after it", |reply| reply.status == 200).await;
        let moved = json!({"metadata": {"annotations": {"note": "still bad"}}});
        cluster.objects.merge("Ingress", "shop", moved).await;
        cluster.objects.set_pods("web", &["10.244.0.2"]).await;
        let reached = |reply: &crate::rig::client::Reply| reply.header("x-echo-address") == Some("10.244.0.2:8080");
        get("http://shop.example/a").send_until("the last good version at other pods", reached).await;

        cluster.objects.apply(good.path("shop.example", "ImplementationSpecific", "/(b)", "web")).await;
        get("http://shop.example/b").send_until("the mended version", |reply| reply.status == 200).await;
        cluster.daemon.status_when("the end of the quarantine", |status| quarantined(status).is_empty()).await;
    });
}
