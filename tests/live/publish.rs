//! What a node writes back into the cluster, under the rights that are shipped; this must not know how it comes to write.

use serde_json::Value;

use crate::cluster::objects::ADDRESS;
use crate::cluster::{self, Cluster};
use crate::rig::manifests::ingress;
use crate::rig::wait;

/// Reason and note of each Event about an Ingress.
async fn events(cluster: &Cluster, name: &str) -> Vec<(String, String)> {
    let events = cluster.objects.list("Event").await;
    let about = events.iter().filter(|event| event["regarding"]["name"] == name);
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    about.map(|event| (text(&event["reason"]), text(&event["note"]))).collect()
}

async fn until_told(cluster: &Cluster, name: &str, reason: &str) -> String {
    wait::until("the Event", async || {
        let told = events(cluster, name).await;
        told.into_iter().find(|(told, _)| told == reason).map(|(_, note)| note)
    })
    .await
}

async fn start(cluster: &mut Cluster) {
    cluster.daemon.set("publish.addresses", &format!("[{ADDRESS:?}]"));
    cluster.daemon.set("publish.lease-duration", "3s");
    cluster.start().await;
}

#[test]
fn what_is_served_gets_the_address_and_what_is_wrong_an_event() {
    cluster::run(async |cluster| {
        cluster.objects.serve("web", &["10.244.0.1"]).await;
        cluster.objects.apply(ingress("shop").host("shop.example", "web")).await;
        start(cluster).await;
        cluster.objects.until_published("shop", &[ADDRESS]).await;
        until_told(cluster, "shop", "Synced").await;
        cluster.objects.apply(ingress("cart").host("cart.example", "missing")).await;
        let note = until_told(cluster, "cart", "MissingService").await;
        assert!(note.contains("cart") && note.contains("missing"), "{note}");
        cluster.objects.until_published("cart", &[ADDRESS]).await;
        assert!(events(cluster, "shop").await.iter().all(|(reason, _)| reason == "Synced"));
        let status = cluster.daemon.status().await.unwrap();
        assert_eq!((&status["role"], &status["drained"]), (&"leader".into(), &false.into()));
        assert_eq!(status["members"][0]["addresses"][0], ADDRESS);
    });
}

#[test]
fn a_node_that_is_drained_or_whose_nginx_is_down_is_withdrawn() {
    cluster::run(async |cluster| {
        cluster.objects.serve("web", &["10.244.0.1"]).await;
        cluster.objects.apply(ingress("shop").host("shop.example", "web")).await;
        start(cluster).await;
        cluster.objects.until_published("shop", &[ADDRESS]).await;
        assert!(cluster.daemon.command("drain").status().unwrap().success());
        cluster.objects.until_published("shop", &[]).await;
        assert!(cluster.daemon.command("drain").arg("--undo").status().unwrap().success());
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
        cluster.objects.serve("web", &["10.244.0.1"]).await;
        cluster.objects.apply(ingress("shop").host("shop.example", "web")).await;
        start(cluster).await;
        cluster.objects.until_published("shop", &[ADDRESS]).await;
        cluster.daemon.stop().await;
        // The Lease of the leader is free for whoever comes.
        let lease = cluster.objects.get("Lease", "ingressd").await;
        assert_eq!(lease["spec"]["holderIdentity"], "");
        cluster.daemon.start();
        cluster.daemon.ready().await;
        cluster.objects.apply(ingress("cart").host("cart.example", "web")).await;
        cluster.objects.until_published("cart", &[ADDRESS]).await;
        assert_eq!(cluster.objects.addresses("shop").await, [ADDRESS]);
    });
}
