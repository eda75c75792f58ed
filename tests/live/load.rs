//! Clients see nothing of a minute of changes made through the API, and a bad object harms no
//! other object.

use serde_json::json;

use rig::client::get;
use rig::cluster;
use rig::manifests::ingress;
use rig::minute::{self, Change};
use rig::status::{quarantined, reports};

#[test]
fn no_request_fails_while_routes_and_endpoints_change() {
    cluster::run(async |cluster| {
        // The slice is the test's own: the pace is, too.
        cluster.objects.apply_all(minute::objects()).await;
        cluster.start().await;
        let objects = &cluster.objects;
        let make = async |change| match change {
            Change::Apply(object) => drop(objects.apply(object).await),
            Change::Delete(name) => objects.delete("Ingress", name).await,
        };
        minute::spend(&mut cluster.daemon, make).await;
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
        let bad = good.clone().path("shop.example", "ImplementationSpecific", "/a(?<=a+)", "web");
        cluster.objects.apply(bad).await;
        let status = cluster.daemon.status_when("the quarantine", |status| !quarantined(status).is_empty()).await;
        assert_eq!(quarantined(&status), ["Ingress shop"]);
        assert!(!reports(&status, "Ingress other", "Quarantined"));
        assert_eq!(get("http://shop.example/a").send().await.status, 200, "the last good version is served");

        cluster.objects.apply(ingress("more").host("more.example", "web")).await;
        get("http://more.example/").send_until("a change made after it", |reply| reply.status == 200).await;
        let moved = json!({"metadata": {"annotations": {"note": "still bad"}}});
        cluster.objects.merge("Ingress", "shop", moved).await;
        cluster.objects.set_pods("web", &["10.244.0.2"]).await;
        let reached = |reply: &rig::client::Reply| reply.header("x-echo-address") == Some("10.244.0.2:8080");
        get("http://shop.example/a").send_until("the last good version at other pods", reached).await;

        cluster.objects.apply(good.path("shop.example", "ImplementationSpecific", "/(b)", "web")).await;
        get("http://shop.example/b").send_until("the mended version", |reply| reply.status == 200).await;
        cluster.daemon.status_when("the end of the quarantine", |status| quarantined(status).is_empty()).await;
    });
}
