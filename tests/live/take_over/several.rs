//! Addresses move from a controller to several nodes at once and back, under constant traffic.

use std::sync::Arc;

use jiff::Timestamp;
use serde_json::json;

use super::clients::Clients;
use super::controller::Controller;
use super::{
    CONTROLLER, NAME, OLD, TOKENS, documented, expect_challenge_at, expect_published, kubectl, migrate_with, order,
    record, report, roll_out, write_objects, write_rollout, write_settings, write_solver,
};
use crate::nodes::addresses;
use rig::cluster::node::Node;
use rig::cluster::{self, Cluster};
use rig::manifests::ingress;

/// A node with the settings that take the place of the controller's flags, not started.
async fn node(cluster: &Cluster, name: &str) -> Node {
    let mut node = cluster.add_node(name);
    write_settings(cluster, node.daemon.folder()).await;
    // The command waits until the nodes have written their records, once for each Lease.
    node.daemon.set("publish.lease-duration", "6s");
    node
}

async fn until_writes(node: &mut Node, word: &str) {
    let what = format!("{} to say that it writes: {word}", node.name);
    node.daemon.status_when(&what, |status| status["publishes"]["writes"] == word).await;
}

/// The commands of the page, after which the controller serves and writes nothing.
pub async fn end_writing(cluster: &Cluster, old: Controller) -> Controller {
    let [patch, status, _] = &documented(cluster)[..] else { panic!("what the page says") };
    kubectl(cluster, patch).await;
    let (_, new) = tokio::join!(kubectl(cluster, status), async {
        let new = roll_out(cluster, old).await;
        write_rollout(cluster, 1, 1).await;
        new
    });
    new
}

/// Checks that each node answers a challenge.
async fn expect_challenge(nodes: &[Node], token: &str) {
    for node in nodes {
        expect_challenge_at(token, node.address.parse().unwrap()).await;
    }
}

#[test]
fn all_nodes_take_over_together_one_that_comes_later_follows_and_all_go_back() {
    cluster::run(async |cluster| {
        let kubeconfig = cluster.control_plane.kubeconfig();
        let old = write_objects(cluster).await;
        let closed = ingress("closed").class("nginx").host("closed.example", "web");
        cluster.objects.apply(closed.annotation("whitelist-source-range", "everybody")).await;
        cluster.objects.until_published("closed", &[OLD]).await;
        let mut nodes = vec![node(cluster, "one").await, node(cluster, "two").await];
        for node in &mut nodes {
            node.start().await;
            until_writes(node, "held").await;
        }
        let shop = Arc::new(cluster.objects.follow_addresses("shop").await);
        let cart = Arc::new(cluster.objects.follow_addresses("cart").await);
        let clients = Clients::start("cart.example", Arc::clone(&cart), CONTROLLER);
        let controller = end_writing(cluster, old).await;
        // Neither the controller nor the nodes write statuses now. The solver is served by all, so
        // that the certificate authority gets an answer from each.
        write_solver(cluster, "cm-acme-http-solver-between", TOKENS[0], true).await;
        expect_challenge(&nodes, TOKENS[0]).await;
        assert_eq!(cluster.objects.addresses("cm-acme-http-solver-between").await, [""; 0]);

        // A node starts while the command still waits for an Ingress that no node serves. Its
        // settings are made of the flags that the controller has now.
        let folder = nodes[0].daemon.folder().to_owned();
        let both: Vec<_> = addresses(&nodes).into_iter().map(str::to_owned).collect();
        let clean = report(cluster, 0, Timestamp::now());
        let take_over = ["--compare", &clean];
        let (said, ()) = tokio::join!(migrate_with(cluster, &folder, &kubeconfig, "take-over", &take_over), async {
            shop.until(|published| *published == both).await;
            cart.until(|published| *published == both).await;
            let mut third = node(cluster, "three").await;
            third.start().await;
            until_writes(&mut third, "now").await;
            nodes.push(third);
            shop.until_published(&addresses(&nodes)).await;
            let key = "nginx.ingress.kubernetes.io/whitelist-source-range";
            cluster.objects.merge("Ingress", "closed", json!({ "metadata": { "annotations": { key: null } } })).await;
        });
        let all = addresses(&nodes).join(", ");
        said.is(0, &[&format!("4 Ingresses have the addresses of the nodes, {all}"), &format!("cart: {OLD} -> ")]);
        assert_eq!(order(cluster).await.as_deref(), Some("publish"));
        for name in ["shop", "cart", "closed", "cm-acme-http-solver-between"] {
            cluster.objects.until_published(name, &addresses(&nodes)).await;
        }
        write_solver(cluster, "cm-acme-http-solver-after", TOKENS[1], false).await;
        cluster.objects.until_published("cm-acme-http-solver-after", &addresses(&nodes)).await;
        expect_challenge(&nodes, TOKENS[1]).await;

        // All nodes follow the order and not their settings: also the one that came last, when it
        // leads.
        for node in &mut nodes[..2] {
            assert!(node.daemon.stop().await.success());
        }
        nodes[2].until_leader().await;
        cluster.objects.apply(ingress("late").class("nginx").host("late.example", "web")).await;
        cluster.objects.until_published("late", &[&nodes[2].address]).await;
        for node in &mut nodes[..2] {
            node.daemon.start();
            node.daemon.ready().await;
        }
        cluster.objects.until_published("late", &addresses(&nodes)).await;

        let said = migrate_with(cluster, &folder, &kubeconfig, "take-over", &["--undo"]).await;
        said.is(0, &["the nodes write nothing any more", "late was not there before", "as they were"]);
        expect_published(cluster, &["shop", "cart", "closed"], OLD).await;
        assert_eq!(cluster.objects.addresses("cm-acme-http-solver-between").await, [""; 0]);
        assert_eq!(cluster.objects.addresses("late").await, addresses(&nodes));
        assert_eq!((order(cluster).await.as_deref(), record(cluster).exists()), (Some("hold"), false));
        for node in &mut nodes {
            until_writes(node, "held").await;
        }
        // So does one that starts after it, and that would write by its settings.
        let mut fourth = node(cluster, "four").await;
        fourth.daemon.set("publish.hold", "false");
        fourth.start().await;
        until_writes(&mut fourth, "held").await;
        expect_challenge(&[fourth], TOKENS[1]).await;

        let answered = clients.stop().await;
        assert_eq!(answered.failures, [""; 0]);
        assert!(answered.by_controller > 0 && answered.by_nodes > 0, "{answered:?}");
        let all: Vec<_> = addresses(&nodes).into_iter().map(str::to_owned).collect();
        let old = vec![OLD.to_owned()];
        for status in [&shop, &cart] {
            assert_eq!(status.states(), [old.clone(), both.clone(), all.clone(), old.clone()]);
        }
        controller.stop().await;
        cluster.objects.merge("Deployment", NAME, json!({ "spec": { "replicas": 0 } })).await;
    });
}
