//! `ingressd drain` before maintenance: it returns when the node is out of service.

use std::process::{Output, Stdio};

use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::nodes::{LONG, expect_served, nodes};
use rig::cluster;
use rig::cluster::node::Node;
use rig::wait;

/// Runs a command beside the test, which goes on.
async fn run(node: &Node, name: &str, arguments: &[&str]) -> (Option<i32>, String) {
    let mut command = tokio::process::Command::from(node.daemon.command(name));
    command.args(arguments).stdin(Stdio::null()).kill_on_drop(true);
    let Output { status, stderr, .. } = command.output().await.unwrap();
    (status.code(), String::from_utf8(stderr).unwrap())
}

/// A client that stays connected to a node, after one answer.
async fn connect(node: &Node) -> TcpStream {
    let address: std::net::IpAddr = node.address.parse().unwrap();
    let mut stream = TcpStream::connect((address, 80)).await.unwrap();
    stream.write_all(b"GET / HTTP/1.1\r\nHost: shop.example\r\n\r\n").await.unwrap();
    let mut answer = [0; 12];
    stream.read_exact(&mut answer).await.unwrap();
    assert_eq!(&answer, b"HTTP/1.1 200");
    stream
}

#[test]
fn it_returns_when_the_cluster_and_the_clients_are_gone() {
    cluster::run(async |cluster| {
        let (mut nodes, shop) = nodes(cluster, ["one", "two"], &[LONG, ("pacing.recheck", "100ms")]).await;
        let [one, two] = nodes.each_ref().map(|node| node.address.clone());
        // The follower is drained first, then the leader.
        for (goes, left) in [(1, &one), (0, &two)] {
            let client = connect(&nodes[goes]).await;
            let (code, reported) = run(&nodes[goes], "drain", &["--connections-timeout", "0s"]).await;
            assert_eq!(
                &cluster.objects.addresses("shop").await,
                std::slice::from_ref(left),
                "withdrawn before the command returned"
            );
            assert!(reported.contains("no status of the cluster has an address of this node"), "{reported}");
            assert_eq!(code, Some(1), "a client is still connected: {reported}");
            let status =
                nodes[goes].daemon.status_when("it to be seen", |status| status["withdrawal"]["connections"] == 1);
            assert_eq!(status.await["withdrawal"]["done"], true);
            assert_eq!(nodes[goes].daemon.metric("ingressd_drained_connections").await, 1.0);
            assert_eq!(nodes[goes].daemon.get("/readyz").await.unwrap().status, 503);
            expect_served(&nodes[goes]).await;

            // The drain is ordered again, and waits for the client, who disconnects meanwhile.
            let draining = run(&nodes[goes], "drain", &[]);
            let leaves = async {
                drop(client);
            };
            let ((code, reported), ()) = tokio::join!(draining, leaves);
            assert!(code == Some(0) && reported.contains("no client is connected"), "{code:?} {reported}");

            // The drain outlasts a restart.
            shop.until_published(&[left]).await;
            let mark = shop.mark();
            nodes[goes].daemon.stop().await;
            nodes[goes].daemon.start();
            let drained = |status: &Value| status["drained"] == true && status["withdrawal"]["done"] == true;
            nodes[goes].daemon.status_when("it to be drained again", drained).await;
            assert_eq!(shop.since(mark).len(), 1, "{:?}", shop.states());
            assert_eq!(run(&nodes[goes], "undrain", &[]).await.0, Some(0));
            shop.until_published(&[&one, &two]).await;
            assert_eq!(nodes[goes].daemon.get("/readyz").await.unwrap().status, 200);
        }
    });
}

#[test]
fn the_only_one_is_drained_with_a_warning() {
    cluster::run(async |cluster| {
        let ([one], _) = nodes(cluster, ["one"], &[LONG]).await;
        // No client is connected. The command counts connections only when the daemon has noted
        // the drain, and the address may be withdrawn before.
        let (code, reported) = run(&one, "drain", &["--connections-timeout", "30s"]).await;
        assert!(reported.contains("warning: no other node is published"), "{reported}");
        assert_eq!((code, cluster.objects.addresses("shop").await.len()), (Some(0), 0), "{reported}");
    });
}

/// The address of the node that is alone.
const OWN: &str = "192.0.2.177";

#[test]
fn it_does_not_say_withdrawn_while_nobody_was_informed() {
    cluster::run(async |cluster| {
        let mut proxy = cluster.put_proxy_between().await;
        // Other tests publish theirs in the same cluster: the address of this node is its own.
        cluster.daemon.set("publish.addresses", &format!("[\"{OWN}\"]"));
        cluster.objects.serve("web", &["10.244.0.1"]).await;
        cluster.objects.apply(rig::manifests::ingress("shop").host("shop.example", "web")).await;
        cluster.start().await;
        cluster.objects.until_published("shop", &[OWN]).await;
        proxy.go_away().await;
        let drain = async |arguments: &[&str]| {
            let mut command = tokio::process::Command::from(cluster.daemon.command("drain"));
            let output = command.args(arguments).kill_on_drop(true).output().await.unwrap();
            (output.status.code(), String::from_utf8(output.stderr).unwrap())
        };
        let (code, reported) = drain(&["--timeout", "3s"]).await;
        assert!(code == Some(69) && reported.contains("was not seen within 3 s"), "{code:?} {reported}");
        assert_eq!(cluster.objects.addresses("shop").await.len(), 1);
        proxy.come_back().await;
        let (code, reported) = drain(&[]).await;
        assert_eq!(code, Some(0), "{reported}");
        assert_eq!(cluster.objects.addresses("shop").await.len(), 0);
        wait::until("undrain", async || cluster.daemon.command("undrain").status().unwrap().success().then_some(()))
            .await;
        cluster.objects.until_published("shop", &[OWN]).await;
    });
}
