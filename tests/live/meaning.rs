//! The meaning of objects of a cluster, and changes of them.

use serde_json::json;

use rig::client::{Reply, get};
use rig::cluster;
use rig::manifests::{endpoint_slice, in_namespace, ingress, secret, service, tls_secret};
use rig::status::reports;
use rig::{ECHO, manifests};

/// Whether an echo backend answered that was reached at this address.
fn from(address: &'static str) -> impl Fn(&Reply) -> bool {
    move |reply| reply.try_echo().is_some_and(|answer| answer.address.ip().to_string() == address)
}

fn is(status: u16) -> impl Fn(&Reply) -> bool {
    move |reply| reply.status == status
}

#[test]
fn a_host_follows_its_objects() {
    cluster::run(async |cluster| {
        cluster.objects.serve_shop().await;
        cluster.start().await;
        assert!(from("10.244.0.1")(&get("http://shop.example/").send().await));

        cluster.objects.set_pods("web", &["10.244.0.2"]).await;
        get("http://shop.example/").send_until("the other pod", from("10.244.0.2")).await;
        cluster.objects.set_pod_status("web", "10.244.0.2", false).await;
        get("http://shop.example/").send_until("no pod", is(503)).await;
        cluster.objects.set_pod_status("web", "10.244.0.2", true).await;
        get("http://shop.example/").send_until("the pod again", is(200)).await;

        cluster.objects.apply(ingress("shop").path("shop.example", "Exact", "/only", "web")).await;
        get("http://shop.example/").send_until("the end of the path", is(404)).await;
        assert_eq!(get("http://shop.example/only").send().await.status, 200);
        cluster.objects.delete("Ingress", "shop").await;
        get("http://shop.example/only").send_until("the end of the host", is(404)).await;
    });
}

#[test]
fn slices_are_found_by_their_label_alone() {
    cluster::run(async |cluster| {
        // Two slices have names that say nothing, and one has the right name and belongs to
        // another Service.
        let named = |name: &str, service: &str, address: &str| {
            let mut slice = endpoint_slice(service, &[address], ECHO);
            slice["metadata"]["name"] = json!(name);
            slice
        };
        cluster.objects.apply(service("web", ECHO)).await;
        cluster.objects.apply(named("zzz", "web", "10.244.0.1")).await;
        cluster.objects.apply(named("other-2", "web", "10.244.0.2")).await;
        cluster.objects.apply(named("web-abcde", "other", "10.244.0.3")).await;
        cluster.objects.apply(ingress("shop").host("shop.example", "web")).await;
        cluster.start().await;
        let mut seen = std::collections::BTreeSet::new();
        for _ in 0..60 {
            seen.insert(get("http://shop.example/").send().await.echo().address.ip().to_string());
        }
        assert_eq!(seen.into_iter().collect::<Vec<_>>(), ["10.244.0.1", "10.244.0.2"]);
        cluster.objects.delete("EndpointSlice", "zzz").await;
        cluster.objects.delete("EndpointSlice", "other-2").await;
        get("http://shop.example/").send_until("no endpoint", is(503)).await;
    });
}

#[test]
fn a_class_may_come_after_its_ingress_and_go() {
    cluster::run(async |cluster| {
        let objects = &cluster.objects;
        let late = format!("late-{}", objects.namespace());
        objects.serve("web", &["10.244.0.1"]).await;
        objects.apply(ingress("shop").class(&late).host("shop.example", "web")).await;
        objects.apply(ingress("other").host("other.example", "web")).await;
        cluster.start().await;
        assert_eq!(get("http://shop.example/").send().await.status, 404);
        let objects = &cluster.objects;
        objects
            .apply(json!({
                "apiVersion": "networking.k8s.io/v1", "kind": "IngressClass", "metadata": {"name": late},
                "spec": {"controller": objects.controller("ingressd")}
            }))
            .await;
        get("http://shop.example/").send_until("the host of the late class", is(200)).await;
        objects.delete("IngressClass", &late).await;
        get("http://shop.example/").send_until("the end of the class", is(404)).await;
        assert_eq!(get("http://other.example/").send().await.status, 200);
    });
}

#[test]
fn a_namespace_that_goes_takes_its_hosts_and_no_others() {
    cluster::run(async |cluster| {
        let objects = &cluster.objects;
        let doomed = format!("doomed-{}", objects.namespace());
        objects.apply(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": doomed}})).await;
        objects.serve("web", &["10.244.0.1"]).await;
        objects.apply(ingress("stays").host("stays.example", "web")).await;
        for object in manifests::service_at("web", &["10.244.0.2"], ECHO) {
            objects.apply(in_namespace(&doomed, object)).await;
        }
        objects.apply(ingress("goes").namespace(&doomed).host("goes.example", "web")).await;
        cluster.start().await;
        assert!(from("10.244.0.2")(&get("http://goes.example/").send().await));
        cluster.objects.delete("Namespace", &doomed).await;
        get("http://goes.example/").send_until("the end of the namespace's host", is(404)).await;
        assert!(from("10.244.0.1")(&get("http://stays.example/").send().await));
        cluster.objects.gone("Namespace", &doomed).await;
    });
}

#[test]
fn services_change_their_type() {
    cluster::run(async |cluster| {
        cluster.daemon.set("upstreams.external-names", "false");
        cluster.objects.serve_shop().await;
        cluster.start().await;
        assert_eq!(get("http://shop.example/").send().await.status, 200);
        cluster
            .objects
            .apply(json!({
                "apiVersion": "v1", "kind": "Service", "metadata": {"name": "web"},
                "spec": {"type": "ExternalName", "externalName": "elsewhere.example", "ports": [{"name": "http", "port": 80}]}
            }))
            .await;
        get("http://shop.example/").send_until("the refusal of a name", is(503)).await;
        for kind in ["NodePort", "LoadBalancer", "ClusterIP"] {
            cluster
                .objects
                .apply(json!({
                    "apiVersion": "v1", "kind": "Service", "metadata": {"name": "web"},
                    "spec": {"type": kind, "selector": {"app": "web"},
                             "ports": [{"name": "http", "port": 80, "targetPort": ECHO}]}
                }))
                .await;
            get("http://shop.example/").send_until(kind, from("10.244.0.1")).await;
        }
    });
}

#[test]
fn a_secret_comes_late_rotates_turns_to_garbage_and_goes() {
    cluster::run(async |cluster| {
        cluster.objects.serve("web", &["10.244.0.1"]).await;
        cluster.objects.apply(ingress("shop").host("shop.example", "web").tls(&["shop.example"], "pair")).await;
        cluster.start().await;
        let missing = |status: &serde_json::Value| reports(status, "Ingress shop", "MissingSecret");
        cluster.daemon.status_when("the missing Secret", missing).await;
        let request = || get("https://shop.example/");
        assert_ne!(request().send().await.peer.unwrap().names, ["shop.example"]);

        cluster.objects.apply(tls_secret("pair", &["shop.example"])).await;
        let named = |reply: &Reply| reply.peer.as_ref().is_some_and(|peer| peer.names == ["shop.example"]);
        let first = request().send_until("the certificate", named).await.peer.unwrap().certificate;
        cluster.objects.apply(tls_secret("pair", &["shop.example"])).await;
        let other = |reply: &Reply| named(reply) && reply.peer.as_ref().is_some_and(|peer| peer.certificate != first);
        let second = request().send_until("the next certificate", other).await.peer.unwrap().certificate;

        let garbage = secret("pair", "kubernetes.io/tls", &[("tls.crt", "garbage"), ("tls.key", "garbage")]);
        cluster.objects.apply(garbage).await;
        let findings = |status: &serde_json::Value| status["findings"].to_string();
        let garbage_seen = |status: &serde_json::Value| findings(status).contains("pair") && !missing(status);
        cluster.daemon.status_when("the finding about garbage", garbage_seen).await;
        // A change made after it is served, and the last good certificate too.
        cluster.objects.apply(ingress("more").host("more.example", "web")).await;
        get("http://more.example/").send_until("the change after", is(200)).await;
        assert_eq!(request().send().await.peer.unwrap().certificate, second);

        cluster.objects.apply(tls_secret("pair", &["shop.example"])).await;
        let third = |reply: &Reply| named(reply) && reply.peer.as_ref().is_some_and(|peer| peer.certificate != second);
        request().send_until("the mended certificate", third).await;
        cluster.objects.delete("Secret", "pair").await;
        cluster.daemon.status_when("the missing Secret again", missing).await;
        assert_eq!(get("http://more.example/").send().await.status, 200);
    });
}
