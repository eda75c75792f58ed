//! An API server that is unreachable, or comes back with other data.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::{Instant, MissedTickBehavior, interval};

use crate::fleet::{self, expect_no_failure, request};
use crate::nodes::{addresses, nodes};
use rig::client::{Reply, get};
use rig::cluster::control_plane::API_SERVER;
use rig::cluster::network::CONTROL_PLANE;
use rig::cluster::node::Node;
use rig::cluster::objects::ADDRESS;
use rig::cluster::{self, Cluster};
use rig::load::Load;
use rig::manifests::ingress;
use rig::namespace::ip;
use rig::status::{watch, watch_age};
use rig::systemd::Systemd;
use rig::wait;

/// How long it is away in the tests that say so. Tests begin in the order of their names: those
/// that take long are here, so that all others run beside them.
const SHORT: Duration = Duration::from_secs(30);
/// Longer than Leases last, and than any pause between two attempts.
const LONG: Duration = Duration::from_secs(100);

/// Time between two changes while it is away for long.
const BETWEEN_CHANGES: Duration = Duration::from_secs(2);

/// The kinds that are watched.
const KINDS: [&str; 6] = ["EndpointSlice", "Ingress", "IngressClass", "Node", "Secret", "Service"];

async fn expect_status(host: &str, wanted: u16) {
    let what = format!("{wanted} from {host}");
    get(&format!("http://{host}/")).send_until(&what, |reply| reply.status == wanted).await;
}

fn is_stale(status: &Value) -> bool {
    watch(status, "Ingress") == "stale"
}

fn is_current(status: &Value) -> bool {
    watch(status, "Ingress") == "current"
}

#[test]
fn nothing_is_served_before_it_is_there_and_everything_after() {
    cluster::run(async |cluster| {
        let mut proxy = cluster.put_proxy_between().await;
        cluster.objects.serve_shop().await;
        proxy.go_away().await;
        cluster.nginx.start();
        cluster.daemon.start();
        cluster.daemon.status_when("failing watches", |status| watch(status, "Ingress") == "failing").await;
        assert_eq!(cluster.daemon.get("/readyz").await.unwrap().status, 503);
        assert_eq!(cluster.daemon.get("/healthz").await.unwrap().status, 200);
        proxy.come_back().await;
        cluster.daemon.ready().await;
        assert_eq!(get("http://shop.example/").send().await.status, 200);
        assert_eq!(cluster.daemon.reloads().await, 1, "everything came with one reload");
    });
}

/// Everything that says how the daemon is says that this is how the watches are, for so long at
/// least, and that nginx serves.
async fn expect_reported(cluster: &mut Cluster, systemd: &Systemd, since: Option<Instant>) {
    let state = if since.is_some() { "stale" } else { "failing" };
    // Only Ingresses tell which Secrets are wanted, so none is requested before Ingresses are
    // known.
    let kinds = || KINDS.into_iter().filter(|kind| since.is_some() || *kind != "Secret");
    let seconds = since.map(|since| since.elapsed().as_secs());
    let is_old = |age: Option<u64>| age.is_none_or(|age| Some(age) >= seconds) && age.is_some() == seconds.is_some();
    let reported = |status: &Value| {
        kinds().all(|kind| watch(status, kind) == state && is_old(watch_age(status, kind)))
            && is_old(status["data_age_seconds"].as_u64())
            && (status["phase"].as_str(), status["ready"].as_bool()) == (Some("serving"), Some(true))
    };
    cluster.daemon.status_when(&format!("watches that are {state}"), reported).await;
    for (path, wanted) in [("/readyz", 200), ("/healthz", 200)] {
        let reply = cluster.daemon.get(path).await.unwrap();
        assert_eq!(reply.status, wanted, "{path}: {}", reply.text());
    }
    for kind in kinds() {
        let state = format!(r#"ingressd_watch_state{{kind="{kind}",namespace="",state="{state}"}}"#);
        assert_eq!(cluster.daemon.metric(&state).await, 1.0, "{state}");
        let age = cluster.daemon.metric(&format!(r#"ingressd_watch_age_seconds{{kind="{kind}",namespace=""}}"#)).await;
        assert!(age >= seconds.unwrap_or_default() as f64, "{kind}: {age} s");
    }
    assert_eq!(cluster.daemon.metric("ingressd_ready").await, 1.0);
    let output = cluster.daemon.command("status").output().unwrap();
    let reported = String::from_utf8(output.stdout).unwrap();
    let first = match since {
        Some(_) => "serving what was last known (generation ",
        None => "serving what an earlier run left (generation ",
    };
    assert!(reported.lines().next().unwrap().ends_with(" attention"), "{reported}");
    let state = reported.lines().find(|line| line.starts_with(first));
    assert!(state.is_some_and(|line| line.contains(": the cluster https://")), "{reported}");
    assert_eq!(output.status.code(), Some(0), "{reported}");
    let shown = |line: &String| {
        let age = line.split("data ").nth(1).and_then(|rest| rest.split(' ').next()?.parse().ok());
        let shown = line.split_once("s old (").or(line.split_once("no data (")).map_or("", |(_, shown)| shown);
        line.starts_with("serving: generation ") && is_old(age) && kinds().all(|kind| shown.contains(kind))
    };
    wait::until_right("the line of systemctl status", async || systemd.line(), shown).await;
}

/// Changes while the API server is away, which the daemon does not see.
async fn change(cluster: &Cluster, number: usize) {
    let pod = format!("10.244.{}.{}", number / 200, 2 + number % 200);
    cluster.objects.set_pods("web", &[&pod]).await;
    if number.is_multiple_of(3) {
        cluster.objects.apply(ingress("moves").host(&format!("moved-{number}.example"), "web")).await;
    }
}

/// The API server is away for so long, while a client goes on and things change; half way the
/// daemon may be restarted.
async fn outage(cluster: &mut Cluster, time: Duration, pause: Duration, restart: bool) {
    let mut proxy = cluster.put_proxy_between().await;
    let folder = cluster.folder().to_owned();
    let systemd = Systemd::listen(&mut cluster.daemon, &folder);
    cluster.objects.serve_shop().await;
    for name in ["goes", "moves"] {
        cluster.objects.apply(ingress(name).host(&format!("{name}.example"), "web")).await;
    }
    cluster.start().await;
    for name in ["shop", "goes", "moves"] {
        cluster.objects.until_published(name, &[ADDRESS]).await;
    }
    cluster.daemon.status_when("current watches", is_current).await;
    let load = Load::new(&[get("http://shop.example/")]).start();
    proxy.go_away().await;
    let began = Instant::now();
    cluster.objects.delete("Ingress", "goes").await;
    cluster.objects.apply(ingress("comes").host("comes.example", "web")).await;
    let (mut changes, mut is_restarted, mut ticks) = (0, false, interval(pause));
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    while began.elapsed() < time {
        ticks.tick().await;
        cluster.take_turn().await;
        change(cluster, changes).await;
        cluster.give_way();
        changes += 1;
        if restart && !is_restarted && began.elapsed() > time / 2 {
            is_restarted = true;
            assert!(cluster.daemon.stop().await.success());
            cluster.daemon.start();
        }
        match is_restarted {
            false => expect_reported(cluster, &systemd, Some(began)).await,
            true => expect_reported(cluster, &systemd, None).await,
        }
        for host in ["goes", "moves"] {
            assert_eq!(get(&format!("http://{host}.example/")).send().await.status, 200, "stale is not gone");
        }
    }
    // A node that cannot renew the Lease does not lead.
    cluster.daemon.status_when("a follower", |status| status["role"] == "follower").await;
    assert_eq!(cluster.daemon.metric("ingressd_leader").await, 0.0);
    assert_eq!(systemd.times_ready(), 1 + usize::from(restart));

    cluster.take_turn().await;
    proxy.trust(&cluster.authority());
    proxy.come_back().await;
    for (host, status) in [("comes", 200), ("goes", 404), ("moves", 404)] {
        expect_status(&format!("{host}.example"), status).await;
    }
    let moved = (changes - 1) / 3 * 3;
    expect_status(&format!("moved-{moved}.example"), 200).await;
    let last = cluster.objects.list("Pod").await[0]["status"]["podIP"].as_str().unwrap().to_owned();
    let reached = |reply: &Reply| reply.try_echo().is_some_and(|answer| answer.address.ip().to_string() == last);
    get("http://shop.example/").send_until("the last pod", reached).await;
    for name in ["comes", "moves", "shop"] {
        cluster.objects.until_published(name, &[ADDRESS]).await;
    }
    let recovered =
        |status: &Value| KINDS.iter().all(|kind| watch(status, kind) == "current") && status["role"] == "leader";
    cluster.daemon.status_when("watches and lead", recovered).await;
    let shown =
        |line: &String| line.starts_with("serving: ") && !line.contains("cannot") && line.contains("role leader");
    wait::until_right("the line of systemctl status", async || systemd.line(), shown).await;
    assert_eq!(cluster.daemon.metric("ingressd_leader").await, 1.0);
    assert_eq!(load.stop().await.failures, [""; 0]);
}

#[test]
fn away_for_half_a_minute_it_is_caught_up_with_and_no_request_fails() {
    cluster::run(async |cluster| outage(cluster, SHORT, Duration::from_millis(200), false).await);
}

#[test]
fn away_for_long_with_a_restart_nothing_is_lost_and_all_that_is_reported_is_true() {
    cluster::run(async |cluster| outage(cluster, LONG, BETWEEN_CHANGES, true).await);
}

/// Lets the API server be away for a node, or there again: what either sends to the other is lost.
/// All other hosts are reached as ever.
fn set_api(cluster: &Cluster, node: &Node, there: bool) {
    let verb = if there { "del" } else { "add" };
    let sides =
        [(&node.namespace, CONTROL_PLANE.to_string()), (&cluster.control_plane.namespace, node.address.clone())];
    for (namespace, address) in sides {
        namespace.within(|| ip(&["route", verb, "blackhole", &format!("{address}/32")]));
    }
}

#[test]
fn all_are_started_again_while_the_cluster_is_away_for_long_and_serve_from_their_disks() {
    cluster::run(async |cluster| {
        let (mut nodes, shop) = nodes(cluster, fleet::NAMES, &[fleet::SHORT]).await;
        let mut clients: Vec<_> = nodes.iter().map(|node| fleet::clients(request("shop.example", node))).collect();
        nodes.iter().for_each(|node| set_api(cluster, node, false));
        let began = Instant::now();
        cluster.objects.apply(ingress("comes").host("comes.example", "web")).await;
        cluster.give_way();
        let mark = shop.mark();
        for node in &mut nodes {
            node.daemon.status_when("a node that does not lead", |status| status["role"] == "follower").await;
        }

        // The nodes go through an upgrade, a crash, and a host that goes down and comes up with
        // its nginx.
        assert!(nodes[0].daemon.stop().await.success());
        nodes[0].daemon.start();
        nodes[1].daemon.kill();
        nodes[1].daemon.start();
        expect_no_failure([clients.pop().unwrap()]).await;
        assert!(nodes[2].daemon.stop().await.success());
        nodes[2].nginx.stop().await;
        nodes[2].nginx.start();
        assert_eq!(request("shop.example", &nodes[2]).send().await.status, 200, "nginx needs no daemon to start with");
        nodes[2].daemon.start();
        clients.push(fleet::clients(request("shop.example", &nodes[2])));
        for node in &mut nodes {
            node.daemon
                .status_when("a node that serves from its disk", |status| {
                    status["ready"] == true && watch(status, "Ingress") == "failing" && status["role"] == "follower"
                })
                .await;
            assert_eq!(request("comes.example", node).send().await.status, 404, "{}", node.name);
        }

        tokio::time::sleep_until(began + LONG).await;
        for node in &nodes {
            assert_eq!(node.daemon.get("/readyz").await.unwrap().status, 200, "{}", node.name);
        }
        assert_eq!(shop.since(mark).len(), 1, "nobody was there to change it");
        shop.was_never_empty();
        cluster.take_turn().await;
        // Another test may have given the API server another authority meanwhile.
        let authority = std::fs::read_to_string(cluster.control_plane.authority()).unwrap();
        cluster.credentials.write_authority(&authority);
        let shop = cluster.objects.follow_addresses("shop").await;
        nodes.iter().for_each(|node| set_api(cluster, node, true));
        cluster.objects.until_published("comes", &addresses(&nodes)).await;
        for node in &nodes {
            assert_eq!(request("comes.example", node).send().await.status, 200, "{}", node.name);
        }
        shop.until_published(&addresses(&nodes)).await;
        shop.was_never_empty();
        expect_no_failure(clients).await;
    });
}

#[test]
fn a_daemon_that_starts_while_it_is_away_serves_what_is_on_disk() {
    cluster::run(async |cluster| {
        let mut proxy = cluster.put_proxy_between().await;
        cluster.objects.serve_shop().await;
        cluster.start().await;
        let load = Load::new(&[get("http://shop.example/")]).start();
        proxy.go_away().await;
        assert!(cluster.daemon.stop().await.success());
        cluster.objects.apply(ingress("comes").host("comes.example", "web")).await;
        cluster.daemon.start();
        let status =
            cluster.daemon.status_when("failing watches", |status| watch(status, "Ingress") == "failing").await;
        assert_eq!(status["ingresses"][0]["state"], "ok", "nginx serves what is recorded");
        assert_eq!(get("http://shop.example/").send().await.status, 200);
        cluster.nginx.restart().await;
        expect_status("shop.example", 200).await;
        proxy.come_back().await;
        expect_status("comes.example", 200).await;
        drop(load.stop().await);
    });
}

#[test]
fn it_starts_again_with_no_memory_of_what_it_reported() {
    cluster::run_alone(async |cluster| {
        let mut proxy = cluster.put_proxy_between().await;
        cluster.objects.serve_shop().await;
        cluster.objects.apply(ingress("goes").host("goes.example", "web")).await;
        cluster.start().await;
        let lists = proxy.count(200, |call| call.lists("ingresses"));
        proxy.go_away().await;
        cluster.objects.delete("Ingress", "goes").await;
        cluster.objects.apply(ingress("comes").host("comes.example", "web")).await;
        cluster.daemon.status_when("stale watches", is_stale).await;
        cluster.control_plane.report(&format!("stop {API_SERVER}")).await;
        cluster.control_plane.report(&format!("start {API_SERVER}")).await;
        proxy.come_back().await;
        // The requested version is older than everything that the server knows.
        proxy.counted("another list", lists + 1, 200, |call| call.lists("ingresses")).await;
        expect_status("comes.example", 200).await;
        expect_status("goes.example", 404).await;
        cluster.daemon.status_when("current watches", is_current).await;
    });
}

#[test]
fn its_store_is_restored_from_a_backup() {
    cluster::run_alone(async |cluster| {
        cluster.objects.serve_shop().await;
        let backup = cluster.folder().join("store");
        // Long enough for it to lead through the outage: a new leader remembers nothing.
        cluster.daemon.set("publish.lease-duration", "30s");
        cluster.start().await;
        cluster.objects.until_published("shop", &[ADDRESS]).await;
        let run = async |command: &[&str], addresses: &[&str]| {
            assert!(cluster.daemon.command(command[0]).args(&command[1..]).output().unwrap().status.success());
            cluster.objects.until_published("shop", addresses).await;
        };
        run(&["drain", "--no-wait"], &[]).await;
        cluster.control_plane.back_up(&backup).await;
        run(&["undrain"], &[ADDRESS]).await;
        cluster.objects.apply(ingress("lost").host("lost.example", "web")).await;
        for name in ["shop", "lost"] {
            cluster.objects.until_published(name, &[ADDRESS]).await;
        }
        // The restored server is not to reach the revisions of before by its own start.
        for number in 0..500 {
            let data = json!({"number": number.to_string()});
            let metadata = json!({"name": "filler"});
            let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data});
            cluster.objects.apply(map).await;
        }
        cluster.control_plane.take_back(&backup).await;
        cluster.reconnect().await;
        cluster.objects.until_published("shop", &[ADDRESS]).await;
        expect_status("lost.example", 404).await;
        cluster.objects.apply(ingress("comes").host("comes.example", "web")).await;
        cluster.objects.until_published("comes", &[ADDRESS]).await;
        expect_status("comes.example", 200).await;
        assert!(cluster.daemon.log().contains("has older data than before"), "{}", cluster.daemon.log());
    });
}

#[test]
fn it_gets_another_authority() {
    cluster::run_alone(async |cluster| {
        cluster.objects.serve_shop().await;
        cluster.start().await;
        cluster.control_plane.report("replace-authority").await;
        cluster.reconnect().await;
        cluster.objects.apply(ingress("comes").host("comes.example", "web")).await;
        cluster.daemon.status_when("stale watches", is_stale).await;
        assert_eq!(get("http://shop.example/").send().await.status, 200);
        cluster.credentials.write_authority(&std::fs::read_to_string(cluster.control_plane.authority()).unwrap());
        expect_status("comes.example", 200).await;
    });
}

#[test]
fn it_stands_still_for_a_while() {
    cluster::run_alone(async |cluster| {
        cluster.objects.serve_shop().await;
        cluster.start().await;
        let plane = cluster.control_plane;
        plane.report(&format!("pause {API_SERVER}")).await;
        assert_eq!(get("http://shop.example/").send().await.status, 200);
        plane.report(&format!("continue {API_SERVER}")).await;
        cluster.objects.apply(ingress("comes").host("comes.example", "web")).await;
        expect_status("comes.example", 200).await;
    });
}
