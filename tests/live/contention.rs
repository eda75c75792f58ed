//! Another controller that writes the status of the same objects.

use std::time::Duration;

use serde_json::json;
use tokio::time::Instant;

use rig::client::get;
use rig::cluster::history::History;
use rig::cluster::objects::{ADDRESS, Objects};
use rig::cluster::{self, Cluster};
use rig::manifests::ingress;
use rig::status::{notes, reports};
use rig::wait;

/// What the other controller writes.
const FOREIGN: &str = "203.0.113.9";

/// How often the daemon writes before it pauses, and how long its first pause is.
const WRITES: u64 = 4;
const PAUSE: Duration = Duration::from_secs(10);

/// Sets its own address again whenever it sees another one.
async fn insist(objects: &Objects, shop: &History<Vec<String>>) {
    loop {
        shop.until(|published| *published != [FOREIGN]).await;
        objects.set_status("Ingress", "shop", json!({"loadBalancer": {"ingress": [{"ip": FOREIGN}]}})).await;
        shop.until(|published| *published == [FOREIGN]).await;
    }
}

async fn expect_peace_for_all_others(cluster: &Cluster, shop: &History<Vec<String>>, own: &str) {
    let began = Instant::now();
    wait::until("the finding", async || {
        let status = cluster.daemon.status().await?;
        reports(&status, "Ingress shop", "StatusContention").then_some(())
    })
    .await;
    wait::until("the Event", async || {
        let events = cluster.objects.events().await;
        events.iter().any(|event| event["reason"] == "StatusContention").then_some(())
    })
    .await;
    let finding = r#"ingressd_findings{reason="StatusContention",severity="warning"}"#;
    assert_eq!(cluster.daemon.metric(finding).await, 1.0);
    // Everything else goes on, and so does what nginx serves of that object.
    cluster.objects.apply(ingress("cart").host("cart.example", "web")).await;
    cluster.objects.until_published("cart", &[own]).await;
    cluster.objects.apply(ingress("shop").host("other.example", "web")).await;
    get("http://other.example/").send_until("the change", |reply| reply.status == 200).await;
    // A test that watches the object may be behind what the metrics say.
    let of_ours = async || shop.states().into_iter().filter(|published| *published == [own]).count() as u64;
    let writes = wait::until_right("its writes", of_ours, |writes| *writes >= WRITES).await;
    let pauses = (Instant::now() - began).as_secs() / PAUSE.as_secs();
    assert!(writes <= WRITES + pauses, "{writes} writes in {pauses} pauses: {:?}", shop.states());
}

/// How a node publishes: its settings, and the address that follows from them.
type Way = (&'static [(&'static str, &'static str)], &'static str);

fn is_left_to_it_and_reported((settings, own): Way) {
    cluster::run(async move |cluster| {
        cluster.objects.serve_shop().await;
        let namespace = cluster.objects.namespace().to_owned();
        settings.iter().for_each(|(key, value)| cluster.daemon.set(key, &value.replace("NAMESPACE", &namespace)));
        if own == COPIED {
            let spec = json!({"type": "LoadBalancer", "ports": [{"port": 80}]});
            cluster
                .objects
                .apply(json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "front"}, "spec": spec}))
                .await;
            cluster.objects.set_status("Service", "front", json!({"loadBalancer": {"ingress": [{"ip": own}]}})).await;
        }
        // A leader that loses its Lease would forget which status was overwritten.
        cluster.daemon.set("publish.lease-duration", "300s");
        cluster.start().await;
        let shop = cluster.objects.follow_addresses("shop").await;
        shop.until_published(&[own]).await;
        tokio::select! {
            () = insist(&cluster.objects, &shop) => unreachable!("it never gives up"),
            () = expect_peace_for_all_others(cluster, &shop, own) => {}
        }
        // When the other controller leaves it alone, it is written again.
        cluster.objects.until_published("shop", &[own]).await;
        let status = cluster.daemon.status().await.unwrap();
        assert_eq!(notes(&status, "Ingress cart", "StatusContention"), [""; 0]);
    });
}

/// The address of a Service.
const COPIED: &str = "203.0.113.70";

#[test]
fn what_another_controller_keeps_changing_is_left_to_it_and_reported() {
    is_left_to_it_and_reported((&[], ADDRESS));
}

#[test]
fn and_so_it_is_with_an_address_of_all_nodes() {
    let settings = &[("publish.mode", "fixed"), ("publish.addresses", "203.0.113.60")];
    is_left_to_it_and_reported((settings, "203.0.113.60"));
}

#[test]
fn and_with_those_of_a_service() {
    let settings = &[("publish.mode", "service"), ("publish.service", "NAMESPACE/front")];
    is_left_to_it_and_reported((settings, COPIED));
}
