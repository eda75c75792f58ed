//! The sources of a node's addresses, and changes of them.

use std::time::Duration;

use serde_json::{Value, json};

use crate::nodes::{LONG, addresses};
use rig::client::get;
use rig::cluster::objects::ADDRESS;
use rig::cluster::proxy::{Action, Call};
use rig::cluster::{self, Cluster};
use rig::manifests::ingress;
use rig::namespace::{self, ip};
use rig::status::notes;

/// Waits until it is told that this setting gives no address, in these words.
async fn until_missed(cluster: &mut Cluster, key: &str, words: &str) {
    let object = format!("Settings {key}");
    let reported = |status: &Value| notes(status, &object, "MissingAddress").iter().any(|note| note.contains(words));
    cluster.daemon.status_when(&format!("{key}: {words}"), reported).await;
}

/// Waits until nothing is told to be missing.
async fn until_found(cluster: &mut Cluster) {
    let is_reported = |finding: &Value| finding["reason"] == "MissingAddress";
    let right = |status: &Value| !status["findings"].as_array().unwrap().iter().any(is_reported);
    cluster.daemon.status_when("no missing address", right).await;
}

/// Adds an interface with these addresses.
fn add_interface(name: &str, addresses: &[&str]) {
    namespace::add_interface(name);
    for address in addresses {
        ip(&["address", "add", address, "dev", name]);
    }
}

#[test]
fn those_of_an_interface_are_followed() {
    cluster::run(async |cluster| {
        cluster.objects.serve_shop().await;
        add_interface("public0", &["198.51.100.7/24"]);
        cluster.daemon.set("publish.addresses", "interface:public0");
        cluster.start().await;
        let shop = cluster.objects.follow_addresses("shop").await;
        shop.until_published(&["198.51.100.7"]).await;
        // An address that ends soon is not published, and the other one is.
        ip(&["address", "add", "2001:db8:1::8/64", "dev", "public0", "nodad", "preferred_lft", "0"]);
        ip(&["address", "add", "2001:db8:1::7/64", "dev", "public0", "nodad"]);
        shop.until_published(&["198.51.100.7", "2001:db8:1::7"]).await;
        ip(&["address", "add", "198.51.100.9/24", "dev", "public0"]);
        ip(&["address", "del", "198.51.100.7/24", "dev", "public0"]);
        // The last address of its network goes, and with it those that were added to it.
        ip(&["address", "replace", "198.51.100.9/24", "dev", "public0"]);
        shop.until_published(&["198.51.100.9", "2001:db8:1::7"]).await;
        let states = shop.states();
        assert!(!states.iter().flatten().any(|address| address.ends_with("::8")), "{states:?}");

        ip(&["link", "set", "public0", "down"]);
        shop.until_published(&[]).await;
        until_missed(cluster, "publish.addresses", "interface public0 is down").await;
        assert_eq!(get("http://shop.example/").send().await.status, 200);
        ip(&["link", "set", "public0", "up"]);
        shop.until_published(&["198.51.100.9"]).await;
        until_found(cluster).await;
        ip(&["link", "del", "public0"]);
        until_missed(cluster, "publish.addresses", "there is no interface public0").await;
        shop.until_published(&[]).await;
        // The new interface is another one, of the same name.
        add_interface("public0", &["198.51.100.7/24"]);
        shop.until_published(&["198.51.100.7"]).await;
    });
}

#[test]
fn those_of_the_default_route_are_followed_in_both_families() {
    cluster::run(async |cluster| {
        cluster.objects.serve_shop().await;
        // In this network they lead here.
        ip(&["route", "del", "local", "192.0.2.0/24", "dev", "lo"]);
        cluster.start().await;
        until_missed(cluster, "publish.addresses", "no default route").await;
        assert_eq!(cluster.objects.addresses("shop").await, [""; 0]);
        add_interface("wan0", &["198.51.100.5/24", "198.51.100.6/24"]);
        ip(&["route", "add", "default", "via", "198.51.100.1"]);
        cluster.objects.until_published("shop", &["198.51.100.5"]).await;
        until_found(cluster).await;
        ip(&["address", "add", "2001:db8:5::5/64", "dev", "wan0", "nodad"]);
        ip(&["-6", "route", "add", "default", "via", "2001:db8:5::1", "dev", "wan0"]);
        cluster.objects.until_published("shop", &["198.51.100.5", "2001:db8:5::5"]).await;
        ip(&["route", "replace", "default", "via", "198.51.100.1", "src", "198.51.100.6"]);
        cluster.objects.until_published("shop", &["198.51.100.6", "2001:db8:5::5"]).await;
        ip(&["-6", "route", "del", "default"]);
        cluster.objects.until_published("shop", &["198.51.100.6"]).await;
        let status = cluster.daemon.status().await.unwrap();
        assert_eq!(status["publishes"], json!({"mode": "nodes", "writes": "now", "addresses": ["198.51.100.6"]}));
    });
}

#[test]
fn those_of_a_node_object_are_followed_and_stay_over_a_restart() {
    cluster::run(async |cluster| {
        let proxy = cluster.put_proxy_between().await;
        cluster.objects.serve_shop().await;
        let name = format!("edge-{}", cluster.objects.namespace());
        let metadata = json!({"name": name});
        let set = async |cluster: &Cluster, addresses: Value| {
            cluster.objects.set_status("Node", &name, json!({"addresses": addresses})).await;
        };
        cluster.daemon.set("publish.addresses", "node:ExternalIP, 192.0.2.9, edge.example");
        cluster.daemon.set("publish.node-object", &name);
        cluster.start().await;
        until_missed(cluster, "publish.addresses", &format!("there is no Node \"{name}\"")).await;
        let shop = cluster.objects.follow_addresses("shop").await;
        shop.until_published(&["192.0.2.9", "edge.example"]).await;

        cluster.objects.apply(json!({"apiVersion": "v1", "kind": "Node", "metadata": metadata})).await;
        until_missed(cluster, "publish.addresses", "it has no address").await;
        let internal = json!({"type": "InternalIP", "address": "10.0.0.5"});
        set(cluster, json!([internal, {"type": "ExternalIP", "address": "127.0.0.1"}])).await;
        until_missed(cluster, "publish.addresses", "127.0.0.1 is a loopback address").await;
        set(cluster, json!([internal, {"type": "ExternalIP", "address": "203.0.113.5"}])).await;
        shop.until_published(&["192.0.2.9", "203.0.113.5", "edge.example"]).await;
        until_found(cluster).await;

        // The Node has to be read again, which takes a while, and nothing is withdrawn meanwhile.
        let mark = shop.mark();
        cluster.daemon.stop().await;
        let is_of_node = |call: &Call| call.lists("nodes") && call.query.contains("metadata.name");
        proxy.rules.add(is_of_node, Action::Delay(Duration::from_secs(3)));
        cluster.daemon.start();
        cluster.daemon.ready().await;
        cluster.daemon.status_when("the lead", |status| status["role"] == "leader").await;
        cluster.objects.apply(ingress("cart").host("cart.example", "web")).await;
        cluster.objects.until_published("cart", &["192.0.2.9", "203.0.113.5", "edge.example"]).await;
        assert_eq!(shop.since(mark).len(), 1, "{:?}", shop.states());

        set(cluster, json!([{"type": "ExternalIP", "address": "203.0.113.6"}])).await;
        shop.until_published(&["192.0.2.9", "203.0.113.6", "edge.example"]).await;
        cluster.objects.delete("Node", &name).await;
        shop.until_published(&["192.0.2.9", "edge.example"]).await;
    });
}

#[test]
fn one_for_all_nodes_is_published_while_any_of_them_serves() {
    const SHARED: &str = "203.0.113.80";
    cluster::run(async |cluster| {
        cluster.objects.serve_shop().await;
        let mut nodes = ["one", "two"].map(|name| cluster.add_node(name));
        let shop = cluster.objects.follow_addresses("shop").await;
        for node in &mut nodes {
            node.daemon.set(LONG.0, LONG.1);
            node.daemon.set("publish.mode", "fixed");
            node.daemon.set("publish.addresses", SHARED);
            node.start().await;
            shop.until_published(&[SHARED]).await;
        }
        let [one, two] = &mut nodes;
        // The leader has to know of the other node, which sees its own record at another time.
        let both = |status: &Value| {
            let members = status["members"].as_array().unwrap();
            members.len() == 2 && members.iter().all(|member| member["serving"] == true)
        };
        one.daemon.status_when("both", both).await;
        let mark = shop.mark();
        one.drain(true);
        one.daemon.status_when("the drain", |status| status["drained"] == true).await;
        cluster.objects.apply(ingress("cart").host("cart.example", "web")).await;
        cluster.objects.until_published("cart", &[SHARED]).await;
        assert_eq!(shop.since(mark).len(), 1, "{:?}", shop.states());
        two.nginx.stop().await;
        shop.until_published(&[]).await;
        two.nginx.start();
        shop.until_published(&[SHARED]).await;
        assert!(!shop.states().iter().flatten().any(|address| addresses(&nodes).contains(&address.as_str())));
    });
}

#[test]
fn those_of_a_service_are_copied_and_followed() {
    cluster::run(async |cluster| {
        cluster.objects.serve_shop().await;
        // It is in a namespace that is not served.
        let namespace = format!("front-{}", cluster.objects.namespace());
        let api = cluster.objects.api_in("Service", Some(&namespace));
        cluster.objects.apply(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})).await;
        let set = async |entries: Value| {
            let patch = kube::api::Patch::Merge(json!({"status": {"loadBalancer": {"ingress": entries}}}));
            api.patch_status("lb", &kube::api::PatchParams::default(), &patch).await.unwrap();
        };
        let own = cluster.objects.namespace().to_owned();
        cluster.daemon.set("namespaces", &format!("[{own:?}]"));
        cluster.daemon.set("publish.mode", "service");
        cluster.daemon.set("publish.service", &format!("{namespace}/lb"));
        cluster.start().await;
        until_missed(cluster, "publish.service", "there is no Service").await;
        assert_eq!(cluster.objects.addresses("shop").await, [""; 0]);
        let ports = json!([{"port": 80}]);
        cluster
            .objects
            .apply(json!({
                "apiVersion": "v1", "kind": "Service", "metadata": {"name": "lb", "namespace": namespace},
                "spec": {"type": "LoadBalancer", "ports": ports}
            }))
            .await;
        until_missed(cluster, "publish.service", "it has no address").await;
        let shop = cluster.objects.follow_addresses("shop").await;
        set(json!([{"ip": "203.0.113.50"}])).await;
        shop.until_published(&["203.0.113.50"]).await;
        until_found(cluster).await;
        set(json!([{"ip": "203.0.113.51"}, {"hostname": "lb.example"}])).await;
        shop.until_published(&["203.0.113.51", "lb.example"]).await;
        // Its addresses are withdrawn with it.
        set(json!([])).await;
        shop.until_published(&[]).await;
        cluster
            .objects
            .apply(json!({
                "apiVersion": "v1", "kind": "Service", "metadata": {"name": "lb", "namespace": namespace},
                "spec": {"type": "LoadBalancer", "ports": ports, "externalIPs": ["203.0.113.60"]}
            }))
            .await;
        shop.until_published(&["203.0.113.60"]).await;
        let states = shop.states();
        assert!(!states.iter().flatten().any(|address| address == ADDRESS), "{states:?}");
    });
}

#[test]
fn a_node_that_may_not_be_seen_is_reported_and_the_rest_is_published() {
    cluster::run(async |cluster| {
        cluster.objects.serve_shop().await;
        let rules = cluster::rights::shipped_without("nodes");
        cluster.credentials.set_rules(&cluster.objects, &rules).await;
        cluster.daemon.set("publish.addresses", "node:InternalIP, 192.0.2.9");
        cluster.start().await;
        cluster.objects.until_published("shop", &["192.0.2.9"]).await;
        until_missed(cluster, "publish.addresses", "do not allow").await;
        let failing = |status: &Value| !notes(status, "Host cluster", "PublishingFailed").is_empty();
        cluster.daemon.status_when("the refusal", failing).await;
    });
}
