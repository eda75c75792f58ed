//! Everything that a node writes into the cluster, with the shipped rights.

use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};

use rig::cluster::objects::ADDRESS;
use rig::cluster::rights::shipped_for_leases;
use rig::cluster::{self, Cluster};
use rig::manifests::ingress;
use rig::status::notes;
use rig::wait;

/// Reason and note of each Event about an Ingress.
async fn events(cluster: &Cluster, name: &str) -> Vec<(String, String)> {
    let events = cluster.objects.events().await;
    let about = events.iter().filter(|event| event["regarding"]["name"] == name);
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    about.map(|event| (text(&event["reason"]), text(&event["note"]))).collect()
}

async fn until_reported(cluster: &Cluster, name: &str, reason: &str) -> String {
    wait::until("the Event", async || {
        let reported = events(cluster, name).await;
        reported.into_iter().find(|(reported, _)| reported == reason).map(|(_, note)| note)
    })
    .await
}

async fn start(cluster: &mut Cluster) {
    cluster.daemon.set("publish.addresses", &format!("[{ADDRESS:?}]"));
    cluster.start().await;
}

#[test]
fn what_is_served_gets_the_address_and_what_is_wrong_an_event() {
    cluster::run(async |cluster| {
        cluster.objects.serve_shop().await;
        start(cluster).await;
        cluster.objects.until_published("shop", &[ADDRESS]).await;
        until_reported(cluster, "shop", "Synced").await;
        cluster.objects.apply(ingress("cart").host("cart.example", "missing")).await;
        let note = until_reported(cluster, "cart", "MissingService").await;
        assert!(note.contains("missing") && note.contains("spec.rules[0]"), "{note}");
        cluster.objects.until_published("cart", &[ADDRESS]).await;
        assert!(events(cluster, "shop").await.iter().all(|(reason, _)| reason == "Synced"));
        // The record of the node is written without regard to all of that.
        let recorded = |status: &Value| status["role"] == "leader" && status["members"][0]["addresses"][0] == ADDRESS;
        let status = cluster.daemon.status_when("the lead and its record", recorded).await;
        assert_eq!(status["drained"], false);
    });
}

#[test]
fn a_node_that_is_drained_or_whose_nginx_is_down_is_withdrawn() {
    cluster::run(async |cluster| {
        cluster.objects.serve_shop().await;
        start(cluster).await;
        cluster.objects.until_published("shop", &[ADDRESS]).await;
        assert!(cluster.daemon.command("drain").arg("--no-wait").status().unwrap().success());
        cluster.objects.until_published("shop", &[]).await;
        assert!(cluster.daemon.command("undrain").status().unwrap().success());
        cluster.objects.until_published("shop", &[ADDRESS]).await;
        cluster.nginx.stop().await;
        cluster.objects.until_published("shop", &[]).await;
        cluster.nginx.start();
        cluster.objects.until_published("shop", &[ADDRESS]).await;
    });
}

#[test]
fn a_stop_in_good_order_keeps_the_address_over_an_upgrade() {
    cluster::run(async |cluster| {
        cluster.objects.serve_shop().await;
        // No renewal is under way when it stops: without its answer the version of the Lease to
        // let go is not known.
        cluster.daemon.set("publish.lease-duration", "300s");
        start(cluster).await;
        cluster.objects.until_published("shop", &[ADDRESS]).await;
        cluster.daemon.stop().await;
        // The Lease of the leader has no holder, so that the next node can take it at once.
        let lease = cluster.objects.get("Lease", "ingressd").await;
        assert_eq!(lease["spec"]["holderIdentity"], "");
        cluster.daemon.start();
        cluster.daemon.ready().await;
        cluster.objects.apply(ingress("cart").host("cart.example", "web")).await;
        cluster.objects.until_published("cart", &[ADDRESS]).await;
        assert_eq!(cluster.objects.addresses("shop").await, [ADDRESS]);
    });
}

#[test]
fn what_is_not_served_gets_no_address() {
    cluster::run(async |cluster| {
        cluster.objects.serve_shop().await;
        start(cluster).await;
        cluster.objects.until_published("shop", &[ADDRESS]).await;
        // All that it asks for is another's, which is older, or comes before it by name if they
        // are of the same second.
        cluster.objects.apply(ingress("tardy").host("shop.example", "web")).await;
        until_reported(cluster, "tardy", "PathConflict").await;
        cluster.objects.apply(ingress("third").host("third.example", "web")).await;
        cluster.objects.until_published("third", &[ADDRESS]).await;
        assert_eq!(cluster.objects.addresses("tardy").await, [""; 0]);
        // An object loses its address with its last route.
        cluster.objects.apply(ingress("third").host("shop.example", "web")).await;
        cluster.objects.until_published("third", &[]).await;
        cluster.objects.delete("Ingress", "shop").await;
        cluster.objects.until_published("tardy", &[ADDRESS]).await;
        until_reported(cluster, "tardy", "Synced").await;
    });
}

#[test]
fn what_is_closed_is_not_said_to_be_served_and_keeps_the_address_that_it_has() {
    cluster::run(async |cluster| {
        cluster.objects.serve("web", &["10.244.0.1"]).await;
        let wrong = |name: &str| {
            let object = ingress(name).host(&format!("{name}.example"), "web");
            object.annotation("allowlist-source-range", "everybody")
        };
        cluster.objects.apply(ingress("shop").host("shop.example", "web")).await;
        cluster.objects.apply(wrong("new")).await;
        start(cluster).await;
        cluster.objects.until_published("shop", &[ADDRESS]).await;
        until_reported(cluster, "new", "ClosedRoute").await;
        // A slip of the pen must not take names that follow addresses out of DNS.
        cluster.objects.apply(wrong("shop")).await;
        until_reported(cluster, "shop", "ClosedRoute").await;
        // An object that comes after both is published after both were decided about.
        cluster.objects.apply(ingress("last").host("last.example", "web")).await;
        cluster.objects.until_published("last", &[ADDRESS]).await;
        assert_eq!(cluster.objects.addresses("shop").await, [ADDRESS]);
        assert_eq!(cluster.objects.addresses("new").await, [""; 0]);
        assert!(events(cluster, "new").await.iter().all(|(reason, _)| reason != "Synced"));
        cluster.objects.apply(ingress("new").host("new.example", "web")).await;
        cluster.objects.until_published("new", &[ADDRESS]).await;
        until_reported(cluster, "new", "Synced").await;
    });
}

#[test]
fn what_another_group_publishes_stays_though_it_is_the_same_address() {
    cluster::run(async |cluster| {
        cluster.objects.serve("web", &["10.244.0.1"]).await;
        cluster.objects.apply(ingress("theirs").class("theirs").host("theirs.example", "web")).await;
        let status = json!({
            "apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "metadata": {"name": "theirs"},
            "status": {"loadBalancer": {"ingress": [{"ip": ADDRESS}]}}
        });
        let manager = PatchParams::apply("ingressd/elsewhere/ingressd");
        cluster.objects.api("Ingress").patch_status("theirs", &manager, &Patch::Apply(status)).await.unwrap();
        start(cluster).await;
        // Addresses that have to go are written before others.
        cluster.objects.apply(ingress("shop").host("shop.example", "web")).await;
        cluster.objects.until_published("shop", &[ADDRESS]).await;
        assert_eq!(cluster.objects.addresses("theirs").await, [ADDRESS]);
        // A node that stops does not wait for it either.
        let mut drain = tokio::process::Command::from(cluster.daemon.command("drain"));
        let drain = drain.args(["--connections-timeout", "0s"]).kill_on_drop(true).output().await.unwrap();
        let reported = String::from_utf8(drain.stderr).unwrap();
        assert!(reported.contains("no status of the cluster has an address of this node"), "{reported}");
        assert_eq!(cluster.objects.addresses("shop").await, [""; 0]);
        assert_eq!(cluster.objects.addresses("theirs").await, [ADDRESS]);
    });
}

/// Stands in no object of another test.
const OWN: &str = "192.0.2.184";

#[test]
fn what_the_controller_before_wrote_goes_when_its_address_does() {
    cluster::run(async |cluster| {
        cluster.objects.serve_shop().await;
        cluster.objects.apply(ingress("theirs").class("theirs").host("theirs.example", "web")).await;
        let before = json!({"loadBalancer": {"ingress": [{"ip": OWN}]}});
        for name in ["shop", "theirs"] {
            cluster.objects.set_status("Ingress", name, before.clone()).await;
        }
        cluster.daemon.set("publish.addresses", &format!("[{OWN:?}]"));
        cluster.start().await;
        // It is right already: nothing is written.
        cluster.objects.apply(ingress("cart").host("cart.example", "web")).await;
        cluster.objects.until_published("cart", &[OWN]).await;
        let shop = cluster.objects.follow_addresses("shop").await;
        assert_eq!(cluster.daemon.metric(r#"ingressd_status_writes_total{result="written"}"#).await, 1.0);
        cluster.nginx.stop().await;
        shop.until_published(&[]).await;
        cluster.nginx.start();
        shop.until_published(&[OWN]).await;
        assert_eq!(cluster.objects.addresses("theirs").await, [OWN], "it is another class's");
    });
}

#[test]
fn leases_without_a_namespace_are_reported_and_kept_when_it_comes() {
    cluster::run(async |cluster| {
        let namespace = format!("{}-leases", cluster.objects.namespace());
        cluster.objects.serve_shop().await;
        cluster.daemon.set("publish.namespace", &namespace);
        start(cluster).await;
        let failing = |status: &Value| notes(status, "Host cluster", "PublishingFailed");
        // An answer that comes too late says nothing of a namespace; the next one does.
        let reported = |status: &Value| {
            let notes = failing(status);
            let of_ours = notes.iter().any(|note| note.contains("Lease of this node"));
            of_ours && notes.iter().all(|note| note.contains(&namespace))
        };
        let status = cluster.daemon.status_when("the failure, with the namespace", reported).await;
        assert_eq!((&status["ready"], &status["role"]), (&true.into(), &"follower".into()));
        let series = r#"ingressd_findings{reason="PublishingFailed",severity="warning"}"#;
        assert!(cluster.daemon.metric(series).await >= 1.0);

        let role = json!({"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "ingressd"});
        let account = json!({
            "kind": "ServiceAccount", "name": "ingressd", "namespace": cluster.objects.namespace()
        });
        let metadata = json!({"name": "ingressd", "namespace": namespace});
        let rbac = "rbac.authorization.k8s.io/v1";
        let objects = [
            json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}),
            json!({"apiVersion": rbac, "kind": "Role", "metadata": metadata, "rules": shipped_for_leases()}),
            json!({
                "apiVersion": rbac, "kind": "RoleBinding", "metadata": metadata,
                "roleRef": role, "subjects": [account]
            }),
        ];
        cluster.objects.apply_all(objects).await;
        cluster.objects.until_published("shop", &[ADDRESS]).await;
        cluster.daemon.status_when("the end of the failure", |status| failing(status).is_empty()).await;
    });
}
