//! Several nodes on one control plane: the leader, and the addresses in the status of objects.

use nix::sys::signal::Signal;
use serde_json::Value;
use tokio::time::Instant;

use rig::ECHO;
use rig::client::{Reply, get};
use rig::clock::Clock;
use rig::cluster::history::History;
use rig::cluster::node::Node;
use rig::cluster::{self, Cluster};
use rig::manifests::{ingress, service_at};
use rig::status::watch;
use rig::wait;

/// A setting with its value.
pub type Setting = (&'static str, &'static str);

/// This duration is for tests in which something has to expire.
pub const SHORT: Setting = ("publish.lease-duration", "5s");

/// This duration is for tests in which nothing may happen because something expired.
pub const LONG: Setting = ("publish.lease-duration", "300s");

const HOUR: i64 = 3600;

/// Nodes of these names with these settings, not started.
fn prepare<const COUNT: usize>(cluster: &Cluster, names: [&str; COUNT], settings: &[Setting]) -> [Node; COUNT] {
    let mut nodes = names.map(|name| cluster.add_node(name));
    for node in &mut nodes {
        settings.iter().for_each(|(key, value)| node.daemon.set(key, value));
    }
    nodes
}

/// An Ingress `shop` on nodes of these names, of which the first leads and all are published.
pub async fn nodes<const COUNT: usize>(
    cluster: &Cluster,
    names: [&str; COUNT],
    settings: &[Setting],
) -> ([Node; COUNT], History<Vec<String>>) {
    let mut nodes = prepare(cluster, names, settings);
    let shop = start(cluster, &mut nodes).await;
    (nodes, shop)
}

/// Starts nodes that were prepared.
async fn start(cluster: &Cluster, nodes: &mut [Node]) -> History<Vec<String>> {
    cluster.objects.serve_shop().await;
    let shop = cluster.objects.follow_addresses("shop").await;
    for started in 0..nodes.len() {
        nodes[started].start().await;
        if started == 0 {
            nodes[0].until_leader().await;
        }
        shop.until_published(&addresses(&nodes[..=started])).await;
    }
    shop
}

/// Their addresses, as they stand in objects.
pub fn addresses(nodes: &[Node]) -> Vec<&str> {
    nodes.iter().map(|node| &*node.address).collect()
}

/// Fails when the node does not serve the Ingress.
pub async fn expect_served(node: &Node) {
    let address: std::net::IpAddr = node.address.parse().unwrap();
    assert_eq!(get("http://shop.example/").to(address).send().await.status, 200, "{}", node.name);
}

/// The name of the node that holds the Lease of the leader. Its daemon may think for a moment that
/// it does not lead, when it was kept from running and has yet to renew the Lease: no other node
/// leads meanwhile.
async fn who_leads(cluster: &Cluster) -> String {
    let lease = cluster.objects.get("Lease", "ingressd").await;
    let holder = lease["spec"]["holderIdentity"].as_str().unwrap_or_default();
    holder.split('_').next().unwrap_or_default().to_owned()
}

/// Waits until the second of them leads. They never hold themselves to lead both.
async fn until_follows(leader: &Node, next: &Node) {
    let end = Instant::now() + wait::LIMIT;
    loop {
        let before = leader.leads().await;
        let leads = next.leads().await.unwrap();
        let after = leader.leads().await;
        assert!(!(leads && before == Some(true) && after == Some(true)), "both lead");
        if leads {
            return;
        }
        assert!(Instant::now() < end, "{} never leads", next.name);
    }
}

#[test]
fn all_are_published_and_one_of_them_writes() {
    cluster::run(async |cluster| {
        let ([mut one, mut two, mut three], shop) = nodes(cluster, ["one", "two", "three"], &[LONG]).await;
        cluster.objects.apply(ingress("cart").host("cart.example", "web")).await;
        let all = [&one, &two, &three].map(|node| node.address.clone());
        let all = all.each_ref().map(String::as_str);
        cluster.objects.until_published("cart", &all).await;
        assert_eq!(shop.states(), [&all[..0], &all[..1], &all[..2], &all[..]]);
        for node in [&mut one, &mut two, &mut three] {
            expect_served(node).await;
            let alive = |status: &Value| {
                let members = status["members"].as_array().unwrap();
                let live = members.len() == 3 && members.iter().all(|member| member["state"] == "alive");
                // It reads elsewhere who leads.
                live && status["leader"].is_string()
            };
            let status = node.daemon.status_when("three that live", alive).await;
            let role = if node.name == "one" { "leader" } else { "follower" };
            assert_eq!(status["role"], role, "{}", node.name);
            assert!(status["leader"].as_str().unwrap().starts_with("one_"), "{}: {status:#}", node.name);
        }
        assert_eq!((two.status_writes().await, three.status_writes().await), (0.0, 0.0));
    });
}

#[test]
fn a_leader_that_is_killed_is_replaced_and_withdrawn() {
    cluster::run(async |cluster| {
        let ([mut one, mut two, three], shop) = nodes(cluster, ["one", "two", "three"], &[SHORT]).await;
        one.daemon.kill();
        shop.until_published(&[&two.address, &three.address]).await;
        expect_served(&one).await;
        // It comes back, and the leader stays the leader.
        let leader = who_leads(cluster).await;
        assert!(matches!(&*leader, "two" | "three"), "{leader}");
        one.daemon.start();
        shop.until_published(&[&one.address, &two.address, &three.address]).await;
        let status = one.daemon.status_when("the leader", |status| status["leader"].is_string()).await;
        assert!(status["leader"].as_str().unwrap().starts_with(&format!("{leader}_")), "{leader}: {status:#}");
        two.daemon.status_when("three members", |status| status["members"].as_array().unwrap().len() == 3).await;
        shop.was_never_empty();
    });
}

#[test]
fn a_leader_that_stops_in_good_order_hands_over_and_stays_published() {
    cluster::run(async |cluster| {
        let ([mut one, mut two], shop) = nodes(cluster, ["one", "two"], &[]).await;
        let (both, mark) = ([one.address.clone(), two.address.clone()], shop.mark());
        let holder = cluster.objects.follow_holder("ingressd").await;
        assert!(one.daemon.stop().await.success());
        two.until_leader().await;
        // A watcher of the Lease may learn of it later than its holder.
        holder.until(|holder| holder.starts_with("two")).await;
        let holders = holder.states();
        let names: Vec<_> = holders.iter().map(|holder| holder.split('_').next().unwrap()).collect();
        assert_eq!(names, ["one", "", "two"], "it was let go, and did not expire");
        // A new object is published where a node looks after it, and what both served stays
        // published.
        cluster.objects.apply(ingress("cart").host("cart.example", "web")).await;
        cluster.objects.until_published("cart", &[&two.address]).await;
        expect_served(&one).await;
        // The upgrade ends.
        one.daemon.start();
        cluster.objects.until_published("cart", &[&one.address, &two.address]).await;
        assert_eq!(shop.since(mark), [both]);
        assert_eq!(who_leads(cluster).await, "two");
    });
}

#[test]
fn a_node_that_stays_away_after_a_stop_is_withdrawn_after_the_grace_period() {
    cluster::run(async |cluster| {
        // The Lease lasts longer than the test: it is not what ends.
        let mut nodes = prepare(cluster, ["one", "two"], &[LONG, ("publish.grace-period", "3s")]);
        let shop = start(cluster, &mut nodes).await;
        let [one, mut two] = nodes;
        let mark = shop.mark();
        assert!(two.daemon.stop().await.success());
        shop.until_published(&[&one.address]).await;
        assert_eq!(shop.since(mark).len(), 2);
        expect_served(&two).await;
        two.daemon.start();
        shop.until_published(&[&one.address, &two.address]).await;
    });
}

#[test]
fn a_leader_that_is_cut_off_gives_up_before_another_leads() {
    cluster::run(async |cluster| {
        let ([one, two], shop) = nodes(cluster, ["one", "two"], &[SHORT]).await;
        one.namespace.set_connected(false);
        until_follows(&one, &two).await;
        shop.until_published(&[&two.address]).await;
        let written = one.status_writes().await;
        let status = one.daemon.status().await.unwrap();
        assert_eq!((&status["role"], &status["ready"]), (&"follower".into(), &true.into()));
        one.namespace.set_connected(true);
        shop.until_published(&[&one.address, &two.address]).await;
        assert_eq!((one.leads().await, &*who_leads(cluster).await), (Some(false), "two"));
        assert_eq!(one.status_writes().await, written, "what it wanted to write is forgotten");
        shop.was_never_empty();
    });
}

#[test]
fn a_leader_that_stood_still_for_a_while_knows_that_it_no_longer_leads() {
    cluster::run(async |cluster| {
        let ([one, mut two], shop) = nodes(cluster, ["one", "two"], &[SHORT]).await;
        // The leader writes once for each of them, and counts a write when the API server has
        // answered; a watcher may see the change before.
        let written = wait::until_right("its writes", async || one.status_writes().await, |count| *count >= 2.0).await;
        one.daemon.signal(Signal::SIGSTOP);
        two.until_leader().await;
        shop.until_published(&[&two.address]).await;
        expect_served(&one).await;
        one.daemon.signal(Signal::SIGCONT);
        assert_eq!(one.leads().await, Some(false));
        shop.until_published(&[&one.address, &two.address]).await;
        assert_eq!((one.status_writes().await, &*who_leads(cluster).await), (written, "two"));
        shop.was_never_empty();
    });
}

#[test]
fn clocks_that_are_an_hour_off_change_nothing() {
    cluster::run(async |cluster| {
        let mut nodes = prepare(cluster, ["one", "two"], &[SHORT]);
        let clocks = nodes.each_mut().map(|node| Clock::of(&mut node.daemon));
        clocks[0].set_offset(HOUR);
        let shop = start(cluster, &mut nodes).await;
        let [mut one, two] = nodes;
        let holder = cluster.objects.follow_holder("ingressd").await;
        // Each jumps while it runs, and what it renews from then on has other times than before.
        for (fast, slow) in [(&clocks[1], &clocks[0]), (&clocks[0], &clocks[1])] {
            fast.set_offset(HOUR);
            slow.set_offset(-HOUR);
            let mark = shop.mark();
            let lease = cluster.objects.follow("Lease", "ingressd", |lease| lease["spec"]["renewTime"].clone()).await;
            wait::until("renewals", async || (lease.states().len() > 6).then_some(())).await;
            assert_eq!((&*who_leads(cluster).await, two.leads().await), ("one", Some(false)));
            assert_eq!(holder.states().len(), 1, "{:?}", holder.states());
            assert_eq!(shop.since(mark), [[one.address.clone(), two.address.clone()]]);
        }
        // By its own clock the record of the first ends in an hour.
        one.daemon.kill();
        shop.until_published(&[&two.address]).await;
        assert_eq!(who_leads(cluster).await, "two");
        shop.was_never_empty();
    });
}

#[test]
fn settings_that_are_read_again_cost_nobody_the_lead() {
    cluster::run(async |cluster| {
        let ([one, two], shop) = nodes(cluster, ["one", "two"], &[]).await;
        let (holder, mark) = (cluster.objects.follow_holder("ingressd").await, shop.mark());
        let read_again = "the settings were read again";
        one.daemon.signal(Signal::SIGHUP);
        wait::until(read_again, async || one.daemon.log().contains(read_again).then_some(())).await;
        cluster.objects.apply(ingress("cart").host("cart.example", "web")).await;
        cluster.objects.until_published("cart", &[&one.address, &two.address]).await;
        assert_eq!((holder.states().len(), shop.since(mark).len()), (1, 1), "{:?}", holder.states());
        assert_eq!((&*who_leads(cluster).await, two.leads().await), ("one", Some(false)));
    });
}

/// Whether it is told that an address of a node is no backend unless the administrator lists it.
fn is_refused(status: &Value, name: &str) -> bool {
    status["findings"].as_array().into_iter().flatten().any(|finding| {
        finding["reason"] == "ForbiddenTarget"
            && finding["name"] == *name
            && finding["note"].as_str().unwrap().contains("upstreams.own-addresses")
    })
}

#[test]
fn what_would_go_from_node_to_node_for_ever_goes_nowhere() {
    cluster::run(async |cluster| {
        let mut nodes = prepare(cluster, ["one", "two"], &[LONG]);
        let listed = format!("[\"{}:{ECHO}\"]", nodes[1].address);
        nodes.iter_mut().for_each(|node| node.daemon.set("upstreams.own-addresses", &listed));
        start(cluster, &mut nodes).await;
        // The port does not matter: there is a program of a node, an address that is listed with
        // another port, and the one that is listed.
        let both = addresses(&nodes);
        for (name, addresses, port) in [
            ("program", &both[..], 9100),
            ("unlisted", &both[..1], ECHO),
            ("listed", &both[1..], ECHO),
            ("ring", &both[..], 80),
        ] {
            cluster.objects.apply_all(service_at(name, addresses, port)).await;
            cluster.objects.apply(ingress(name).host(&format!("{name}.example"), name)).await;
        }
        for node in &nodes {
            let address: std::net::IpAddr = node.address.parse().unwrap();
            let is_right = |reply: &Reply| {
                reply.try_echo().is_some_and(|echo| echo.address == format!("{}:{ECHO}", both[1]).parse().unwrap())
            };
            get("http://listed.example/").to(address).send_until("what is listed", is_right).await;
            for name in ["program", "unlisted"] {
                let reported = async || node.daemon.status().await.filter(|status| is_refused(status, name));
                wait::until("the refusal", reported).await;
                assert_eq!(get(&format!("http://{name}.example/")).to(address).send().await.status, 503, "{name}");
            }
        }
        for node in &mut nodes {
            let reported = |status: &Value| {
                let notes = status["findings"].as_array().into_iter().flatten().filter(|finding| {
                    finding["reason"] == "ForbiddenTarget"
                        && finding["note"].as_str().unwrap().contains("a port of ingressd")
                });
                notes.count() > 0 && watch(status, "Ingress") == "current"
            };
            node.daemon.status_when("the refusal", reported).await;
            let address: std::net::IpAddr = node.address.parse().unwrap();
            let ring = get("http://ring.example/").to(address);
            ring.send_until("no way to any node", |reply| reply.status == 503).await;
        }
    });
}
