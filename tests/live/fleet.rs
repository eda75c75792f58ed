//! Three nodes through an upgrade and a cut, with clients at each of them all the time.

use std::net::IpAddr;
use std::process::Command;
use std::time::Duration;

use tokio::time::Instant;

use crate::nodes::{Setting, addresses, nodes};
use rig::client::{Request, get};
use rig::cluster;
use rig::cluster::node::Node;
use rig::load::{Load, Running};
use rig::manifests::ingress;
use rig::status::watch;
use rig::wait;

pub const NAMES: [&str; 3] = ["one", "two", "three"];

/// The time after which a node that said nothing counts as gone.
const LEASE: Duration = Duration::from_secs(5);
pub const SHORT: Setting = ("publish.lease-duration", "5s");

/// The time that a withdrawal may take in addition, on a busy machine.
const SLACK: Duration = Duration::from_secs(4);

pub fn request(host: &str, node: &Node) -> Request {
    get(&format!("http://{host}/")).to(node.address.parse::<IpAddr>().unwrap())
}

/// Clients of one node, as many as several such tests at a time can have.
pub fn clients(request: Request) -> Running {
    Load::new(&[request]).rates(40, 10).start()
}

/// Ends the clients, all of whom were answered.
pub async fn expect_no_failure(clients: impl IntoIterator<Item = Running>) {
    for clients in clients {
        let report = clients.stop().await;
        assert_eq!(report.failures, [""; 0]);
        assert!(report.kept > 0 && report.fresh > 0, "{report:?}");
    }
}

/// The one that leads.
async fn leader(nodes: &[Node]) -> usize {
    let ask = async || {
        for (index, node) in nodes.iter().enumerate() {
            if node.leads().await == Some(true) {
                return Some(index);
            }
        }
        None
    };
    wait::until("a leader", ask).await
}

#[test]
fn all_are_upgraded_one_after_the_other_while_the_leader_is_lost_and_no_request_fails() {
    cluster::run(async |cluster| {
        let (mut nodes, shop) = nodes(cluster, NAMES, &[SHORT]).await;
        let all = addresses(&nodes).into_iter().map(str::to_owned).collect::<Vec<_>>();
        let clients: Vec<_> = nodes.iter().map(|node| clients(request("shop.example", node))).collect();
        let (mark, mut rest) = (shop.mark(), Vec::new());
        for upgraded in 0..nodes.len() {
            let new = nodes[upgraded].daemon.folder().join("ingressd-new");
            // A process of its own has it open for writing: one that another test starts now would
            // keep it busy.
            let copied = Command::new("cp").arg(env!("CARGO_BIN_EXE_ingressd")).arg(&new).status().unwrap();
            assert!(copied.success());
            assert!(nodes[upgraded].daemon.stop().await.success());
            nodes[upgraded].daemon.set_program(&new);
            if upgraded == 1 {
                // While this node is down, the leader is killed; the third node is left alone.
                let lost = leader(&nodes).await;
                nodes[lost].daemon.kill();
                nodes[upgraded].daemon.start();
                nodes[upgraded].daemon.ready().await;
                rest = all.iter().filter(|address| **address != all[lost]).cloned().collect();
                shop.until(|published| *published == rest).await;
                nodes[lost].daemon.start();
            } else {
                nodes[upgraded].daemon.start();
            }
            for node in &mut nodes {
                node.daemon.ready().await;
            }
            // New objects are served by each version, at every node.
            let name = format!("new-{upgraded}");
            cluster.objects.apply(ingress(&name).host(&format!("{name}.example"), "web")).await;
            cluster.objects.until_published(&name, &addresses(&nodes)).await;
            for node in &nodes {
                assert_eq!(request(&format!("{name}.example"), node).send().await.status, 200, "{}", node.name);
            }
        }
        expect_no_failure(clients).await;
        // Only the node that died was withdrawn, and for no longer than that.
        shop.until(|published| *published == all).await;
        assert_eq!(shop.since(mark), [all.clone(), rest, all]);
    });
}

#[test]
fn one_that_is_cut_off_is_withdrawn_in_time_serves_on_and_comes_back_with_what_changed() {
    cluster::run(async |cluster| {
        let (mut nodes, shop) = nodes(cluster, NAMES, &[SHORT]).await;
        cluster.objects.apply(ingress("goes").host("goes.example", "web")).await;
        cluster.objects.until_published("goes", &addresses(&nodes)).await;
        // There are clients on the other side of the cut, and clients of the nodes that stay.
        let inside = clients(get("http://shop.example/").within(&nodes[1].namespace));
        let outside = [clients(request("shop.example", &nodes[0])), clients(request("shop.example", &nodes[2]))];

        nodes[1].namespace.set_connected(false);
        let cut = Instant::now();
        shop.until_published(&[&nodes[0].address, &nodes[2].address]).await;
        let after = cut.elapsed();
        // A leader that saw no event for two thirds of a Lease, as it can be on a busy machine,
        // gives each node the full time again.
        assert!(after < 2 * LEASE + SLACK, "an address where nobody can be reached stood there for {after:?}");
        cluster.objects.delete("Ingress", "goes").await;
        cluster.objects.apply(ingress("comes").host("comes.example", "web")).await;
        cluster.objects.set_pods("web", &["10.244.0.9"]).await;
        cluster.objects.until_published("comes", &[&nodes[0].address, &nodes[2].address]).await;
        // It goes on with what it has, for much longer than the Lease, and also when its daemon is
        // started anew.
        assert!(nodes[1].daemon.stop().await.success());
        nodes[1].daemon.start();
        nodes[1]
            .daemon
            .status_when("a node that serves by itself", |status| {
                status["ready"] == true && watch(status, "Ingress") == "failing"
            })
            .await;
        let there = |host: &str| get(&format!("http://{host}/")).within(&nodes[1].namespace);
        for (host, status) in [("shop.example", 200), ("goes.example", 200), ("comes.example", 404)] {
            assert_eq!(there(host).send().await.status, status, "{host}");
        }

        nodes[1].namespace.set_connected(true);
        cluster.objects.until_published("comes", &addresses(&nodes)).await;
        // A node that is published for an object serves it.
        assert_eq!(request("comes.example", &nodes[1]).send().await.status, 200);
        assert_eq!(request("goes.example", &nodes[1]).send().await.status, 404);
        let answer = request("shop.example", &nodes[1]).send().await.echo();
        assert_eq!(answer.address.ip(), IpAddr::from([10, 244, 0, 9]));
        shop.until_published(&addresses(&nodes)).await;
        expect_no_failure([inside]).await;
        expect_no_failure(outside).await;
    });
}
