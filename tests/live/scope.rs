//! A part of a cluster is served: namespaces by name or by label, with rights for no more.

use serde_json::{Value, json};

use rig::ECHO;
use rig::client::get;
use rig::cluster::objects::ADDRESS;
use rig::cluster::{self, Cluster, rights};
use rig::manifests::{in_namespace, ingress, secret, service_at};
use rig::status::watch;

/// Another namespace with a host of this name, and these labels.
async fn serve_elsewhere(cluster: &Cluster, host: &str, labels: Value) -> String {
    let namespace = format!("{host}-{}", cluster.objects.namespace());
    let metadata = json!({"name": namespace, "labels": labels});
    cluster.objects.apply(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": metadata})).await;
    for object in service_at("web", &["10.244.0.2"], ECHO) {
        cluster.objects.apply(in_namespace(&namespace, object)).await;
    }
    let other = ingress(host).namespace(&namespace).host(&format!("{host}.example"), "web");
    cluster.objects.apply(other).await;
    namespace
}

async fn status_of(host: &str) -> u16 {
    get(&format!("http://{host}.example/")).send().await.status
}

#[test]
fn a_namespace_is_enough_and_so_are_the_rights_in_it() {
    cluster::run(async |cluster| {
        cluster.objects.serve_shop().await;
        let other = serve_elsewhere(cluster, "other", json!({})).await;
        // Kinds without a namespace stay in the ClusterRole; all others are allowed where they are
        // needed.
        let (global, here): (Vec<Value>, Vec<Value>) =
            rights::shipped().as_array().unwrap().iter().cloned().partition(|rule| {
                ["ingressclasses", "nodes", "namespaces"].iter().any(|kind| rule["resources"] == json!([kind]))
            });
        assert!(!global.is_empty() && !here.is_empty());
        cluster.credentials.set_rules(&cluster.objects, &json!(global)).await;
        let namespace = cluster.objects.namespace().to_owned();
        let role = json!({"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "shop"});
        let subjects = json!([{"kind": "ServiceAccount", "name": "ingressd", "namespace": namespace}]);
        for (kind, content) in
            [("Role", json!({"rules": here})), ("RoleBinding", json!({"roleRef": role, "subjects": subjects}))]
        {
            let mut object = content;
            object["apiVersion"] = json!("rbac.authorization.k8s.io/v1");
            (object["kind"], object["metadata"]) = (json!(kind), json!({"name": "shop"}));
            cluster.objects.apply(object).await;
        }
        cluster.daemon.set("namespaces", &format!("[{namespace:?}]"));
        cluster.start().await;
        assert_eq!((status_of("shop").await, status_of("other").await), (200, 404));
        let status = cluster.daemon.status().await.unwrap();
        let watches = status["watches"].as_array().unwrap();
        let seen = |kind: &str| watches.iter().find(|watch| watch["kind"] == kind).unwrap()["namespace"].clone();
        assert_eq!((seen("Ingress"), seen("IngressClass")), (json!(namespace), Value::Null));

        // With the rights of one namespace the other cannot be read, and this one is served all
        // the same.
        cluster.daemon.stop().await;
        cluster.daemon.set("namespaces", &format!("[{namespace:?}, {other:?}]"));
        cluster.daemon.start();
        let refused = |status: &Value| {
            let watches = status["watches"].as_array().into_iter().flatten();
            watches.filter(|watch| watch["namespace"] == json!(other) && watch["state"] == "refused").count() == 3
        };
        cluster.daemon.status_when("the refusals", refused).await;
        assert_eq!((status_of("shop").await, status_of("other").await), (200, 404));
    });
}

#[test]
fn namespaces_are_chosen_by_labels_that_come_and_go() {
    cluster::run(async |cluster| {
        cluster.objects.serve_shop().await;
        let mark = cluster.objects.namespace().to_owned();
        let one = serve_elsewhere(cluster, "one", json!({"edge": mark})).await;
        let two = serve_elsewhere(cluster, "two", json!({})).await;
        cluster.daemon.set("namespace-selector", &format!("edge={mark}"));
        cluster.start().await;
        assert_eq!((status_of("one").await, status_of("two").await, status_of("shop").await), (200, 404, 404));
        assert_eq!(watch(&cluster.daemon.status().await.unwrap(), "Namespace"), "current");
        cluster.objects.in_namespace(&one).until_published("one", &[ADDRESS]).await;

        let label = |value: Value| json!({"metadata": {"labels": {"edge": value}}});
        cluster.objects.merge("Namespace", &two, label(json!(mark))).await;
        get("http://two.example/").send_until("the namespace that was chosen", |reply| reply.status == 200).await;
        assert_eq!(status_of("one").await, 200);
        cluster.objects.merge("Namespace", &one, label(Value::Null)).await;
        get("http://one.example/").send_until("the end of the other", |reply| reply.status == 404).await;
        assert_eq!(status_of("two").await, 200);
        // Where nothing is served, nothing is published.
        cluster.objects.in_namespace(&two).until_published("two", &[ADDRESS]).await;
        cluster.objects.in_namespace(&one).until_published("one", &[]).await;
    });
}

#[test]
fn the_prefix_of_annotations_decides_what_they_name_as_soon_as_settings_are_read_again() {
    cluster::run(async |cluster| {
        cluster.objects.serve("web", &["10.244.0.1"]).await;
        cluster.objects.apply(secret("passwords", "Opaque", &[("auth", "a:$apr1$x$vxlZ.6wQkoYjY5ZDKOuOA0\n")])).await;
        let closed = ingress("web").class("nginx").host("web.example", "web");
        let closed = closed.raw_annotation("edge.example/auth-type", "basic");
        cluster.objects.apply(closed.raw_annotation("edge.example/auth-secret", "passwords")).await;
        cluster.start().await;
        assert_eq!(status_of("web").await, 200);
        let file = cluster.daemon.folder().join("ingressd.toml");
        let (written, row) = (std::fs::read_to_string(&file).unwrap(), "dialect = \"ingress-nginx\"\n");
        let edge = written.replace(row, &format!("{row}annotations-prefix = \"edge.example\"\n"));
        for (settings, before, after) in [(&edge, 200, 401), (&written, 401, 200)] {
            std::fs::write(&file, settings).unwrap();
            let reload = cluster.daemon.command("reload").output().unwrap();
            assert!(reload.status.success(), "{}", String::from_utf8_lossy(&reload.stderr));
            let first = get("http://web.example/").send_until("other settings", |reply| reply.status != before).await;
            assert_eq!(first.status, after, "without the Secret it would be closed");
        }
    });
}
