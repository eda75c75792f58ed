//! Pinned nodes: no leader publishes their addresses for objects that their generation does not
//! contain.

use serde_json::Value;

use crate::nodes::{LONG, expect_served, nodes};
use rig::client::get;
use rig::cluster;
use rig::cluster::node::Node;
use rig::manifests::ingress;

/// Runs a command of the administrator on a node, in its network.
fn run(node: &Node, name: &str, arguments: &[&str]) {
    let mut command = node.daemon.command(name);
    let output = node.namespace.within(|| command.args(arguments).output()).unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

async fn generation(node: &Node) -> u64 {
    node.daemon.status().await.unwrap()["generation"].as_u64().unwrap()
}

async fn status_at(node: &Node, host: &str) -> u16 {
    let address: std::net::IpAddr = node.address.parse().unwrap();
    get(&format!("http://{host}/")).to(address).send().await.status
}

#[test]
fn what_a_pinned_generation_does_not_hold_loses_the_address_of_its_node_alone() {
    cluster::run(async |cluster| {
        let (mut nodes, shop) = nodes(cluster, ["one", "two"], &[LONG]).await;
        let [one, two] = nodes.each_ref().map(|node| node.address.clone());
        let mark = shop.mark();
        // The follower is pinned first, then the leader.
        for goes in [1, 0] {
            let earlier = generation(&nodes[goes]).await;
            let name = format!("new-{goes}");
            let host = format!("{name}.example");
            cluster.objects.apply(ingress(&name).host(&host, "web")).await;
            let new = cluster.objects.follow_addresses(&name).await;
            new.until_published(&[&one, &two]).await;
            run(&nodes[goes], "rollback", &[&earlier.to_string()]);
            new.until_published(&[&nodes[1 - goes].address]).await;
            assert_eq!((status_at(&nodes[goes], &host).await, status_at(&nodes[1 - goes], &host).await), (404, 200));
            expect_served(&nodes[goes]).await;
            // Objects that come later are not published for it either, and get no Event that it
            // serves them.
            let later = format!("later-{goes}");
            cluster.objects.apply(ingress(&later).host(&format!("{later}.example"), "web")).await;
            let published = cluster.objects.follow_addresses(&later).await;
            published.until_published(&[&nodes[1 - goes].address]).await;
            // A version that changes is not served by it, but the one before is: it stays
            // published.
            cluster
                .objects
                .apply(
                    ingress("shop")
                        .host("shop.example", "web")
                        .annotation("proxy-body-size", &format!("{}m", 7 + goes)),
                )
                .await;
            let waits = |status: &Value| status["pinned"]["waiting_files"].as_u64() >= Some(3);
            nodes[goes].daemon.status_when("the changes to wait", waits).await;
            for node in &mut nodes {
                let known = |status: &Value| {
                    let members = status["members"].as_array().unwrap();
                    members.iter().filter(|member| member["pinned"] == earlier).count() == 1
                };
                node.daemon.status_when("everybody to know of it", known).await;
            }
            // The pin outlasts a restart of the daemon.
            nodes[goes].daemon.stop().await;
            nodes[goes].daemon.start();
            nodes[goes].daemon.status_when("the changes to wait", waits).await;
            assert_eq!(published.states().last().map(Vec::len), Some(1), "{:?}", published.states());
            assert_eq!(new.states().last().map(Vec::len), Some(1), "{:?}", new.states());
            assert_eq!(shop.since(mark).len(), 1, "what it serves stays: {:?}", shop.states());
            run(&nodes[goes], "resume", &[]);
            new.until_published(&[&one, &two]).await;
            published.until_published(&[&one, &two]).await;
        }
        assert_eq!(shop.since(mark), [vec![one, two]]);
    });
}

#[test]
fn what_a_pinned_leader_does_not_hold_is_not_reported_as_served() {
    cluster::run(async |cluster| {
        cluster.objects.serve_shop().await;
        cluster.start().await;
        cluster.daemon.status_when("it to lead", |status| status["role"] == "leader").await;
        let synced = async |name: &str| {
            let events = cluster.objects.events().await;
            let about = |event: &&Value| event["regarding"]["name"] == name && event["reason"] == "Synced";
            events.iter().filter(about).count()
        };
        rig::wait::until_right("shop to be told", async || synced("shop").await, |count| *count == 1).await;
        assert!(cluster.daemon.command("rollback").arg("1").output().unwrap().status.success());
        cluster.objects.apply(ingress("new").host("new.example", "web")).await;
        let waits = |status: &Value| status["pinned"]["waiting_files"].as_u64() > Some(0);
        cluster.daemon.status_when("the change to wait", waits).await;
        // An Event about another object comes after any about this one would have.
        cluster.objects.apply(ingress("bad").host("bad.example", "absent")).await;
        let reported = async || {
            let events = cluster.objects.events().await;
            events.iter().filter(|event| event["regarding"]["name"] == "bad").count()
        };
        rig::wait::until_right("what is wrong to be told", reported, |count| *count > 0).await;
        assert_eq!((synced("new").await, cluster.objects.addresses("new").await.len()), (0, 0));
        assert!(cluster.daemon.command("resume").output().unwrap().status.success());
        rig::wait::until_right("new to be told", async || synced("new").await, |count| *count == 1).await;
        cluster.objects.until_published("new", &[cluster::objects::ADDRESS]).await;
    });
}
