//! Nodes that should get no more requests although they run: their addresses are withdrawn long
//! before their Lease expires.

use nix::sys::signal::Signal;
use serde_json::json;

use crate::nodes::{LONG, expect_served, nodes};
use rig::client::get;
use rig::cluster;
use rig::cluster::node::Node;
use rig::manifests::ingress;

/// Takes each of two nodes out and back in, the leader first; the addresses follow and nothing
/// else happens to them.
fn each_is_withdrawn(out: impl AsyncFn(&mut Node) + Send + 'static, back: impl AsyncFn(&mut Node) + Send + 'static) {
    cluster::run(async move |cluster| {
        let (mut nodes, shop) = nodes(cluster, ["one", "two"], &[LONG]).await;
        let [one, two] = nodes.each_ref().map(|node| node.address.clone());
        let mark = shop.mark();
        for goes in 0..2 {
            out(&mut nodes[goes]).await;
            shop.until_published(&[&nodes[1 - goes].address]).await;
            expect_served(&nodes[1 - goes]).await;
            back(&mut nodes[goes]).await;
            shop.until_published(&[&one, &two]).await;
        }
        let both = vec![one.clone(), two.clone()];
        assert_eq!(shop.since(mark), [both.clone(), vec![two], both.clone(), vec![one], both]);
        assert_eq!((nodes[0].leads().await, nodes[1].status_writes().await), (Some(true), 0.0));
    });
}

#[test]
fn a_node_that_is_drained() {
    let out = async |node: &mut Node| {
        node.drain(true);
        // It goes on serving the clients that still come.
        expect_served(node).await;
    };
    each_is_withdrawn(out, async |node| node.drain(false));
}

#[test]
fn a_node_whose_nginx_is_stopped() {
    each_is_withdrawn(async |node| node.nginx.stop().await, async |node| node.nginx.start());
}

#[test]
fn all_of_them_and_the_first_that_is_back_is_published_alone() {
    cluster::run(async |cluster| {
        let ([one, two], shop) = nodes(cluster, ["one", "two"], &[LONG]).await;
        let mark = shop.mark();
        two.nginx.stop().await;
        shop.until_published(&[&one.address]).await;
        one.drain(true);
        shop.until_published(&[]).await;
        two.nginx.start();
        shop.until_published(&[&two.address]).await;
        one.drain(false);
        shop.until_published(&[&one.address, &two.address]).await;
        assert_eq!(shop.since(mark).len(), 5, "{:?}", shop.states());
    });
}

#[test]
fn a_node_whose_nginx_stays_at_an_old_generation_is_published_where_that_serves() {
    cluster::run(async |cluster| {
        // When the reload of the leader is given up, it is known what it cannot serve and others
        // may.
        let (mut nodes, shop) = nodes(cluster, ["one", "two"], &[LONG, ("apply.confirm-timeout", "8s")]).await;
        let mark = shop.mark();
        let both = nodes.each_ref().map(|node| node.address.clone());
        for stays in [1, 0] {
            let name = format!("new-{stays}");
            let host = format!("{name}.example");
            let (old, new) = (both[stays].clone(), both[1 - stays].clone());
            // Its workers go on; what it is told it does not hear.
            nodes[stays].nginx.signal(Signal::SIGSTOP);
            cluster.objects.apply(ingress(&name).host(&host, "web")).await;
            let published = cluster.objects.follow_addresses(&name).await;
            published.until_published(&[&new]).await;
            let request = get(&format!("http://{host}/")).to(old.parse::<std::net::IpAddr>().unwrap());
            assert_eq!(request.send().await.status, 404);
            expect_served(&nodes[stays]).await;
            assert_eq!(shop.since(mark).len(), 1, "it still serves what it served");
            nodes[stays].nginx.signal(Signal::SIGCONT);
            nodes[stays].daemon.confirmed(&name).await;
            published.until_published(&[&both[0], &both[1]]).await;
            assert_eq!(published.states().into_iter().filter(|state| state.contains(&old)).count(), 1);
        }
        assert_eq!(shop.since(mark), [both]);
    });
}

#[test]
fn a_node_that_does_not_know_of_a_class_is_not_published_in_its_objects() {
    cluster::run(async |cluster| {
        let ([mut one, mut two], _) = nodes(cluster, ["one", "two"], &[LONG]).await;
        let objects = &cluster.objects;
        let class = format!("late-{}", objects.namespace());
        objects.apply(ingress("late").class(&class).host("late.example", "web")).await;
        // Both know the object, and what comes after it.
        objects.apply(ingress("after").host("after.example", "web")).await;
        for node in [&mut one, &mut two] {
            node.daemon.confirmed("after").await;
        }
        two.nginx.signal(Signal::SIGSTOP);
        let spec = json!({"controller": objects.controller("ingressd")});
        let metadata = json!({"name": class});
        objects
            .apply(json!({
                "apiVersion": "networking.k8s.io/v1", "kind": "IngressClass", "metadata": metadata, "spec": spec
            }))
            .await;
        let published = objects.follow_addresses("late").await;
        published.until_published(&[&one.address]).await;
        let request = get("http://late.example/").to(two.address.parse::<std::net::IpAddr>().unwrap());
        assert_eq!(request.send().await.status, 404);
        two.nginx.signal(Signal::SIGCONT);
        two.daemon.confirmed("late").await;
        published.until_published(&[&one.address, &two.address]).await;
        let with_two = published.states().into_iter().filter(|state| state.contains(&two.address));
        assert_eq!(with_two.count(), 1, "it was published before it served: {:?}", published.states());
        objects.delete("IngressClass", &class).await;
        published.until_published(&[]).await;
    });
}
