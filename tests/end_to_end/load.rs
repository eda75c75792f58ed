//! Clients see nothing of a minute in which routes and endpoints change all the time; nothing of the inside is known.

use std::time::Duration;

use tokio::time::{Instant, interval};

use crate::rig::client::{Request, get};
use crate::rig::load::Load;
use crate::rig::manifests::{endpoint_slice, ingress};
use crate::rig::status::serving;
use crate::rig::{self, ECHO, Rig};

/// How long traffic and changes go on.
const TIME: Duration = Duration::from_secs(60);

/// Time between two changes: more than one for each reload.
const BETWEEN_CHANGES: Duration = Duration::from_millis(150);

/// Hosts that clients ask for; each has a route of its own that never changes, beside others that do.
const HOSTS: usize = 10;

/// One of the changes: a host comes or goes, a busy host gets or loses a route, the pods behind everything are others.
fn change(rig: &Rig, number: usize) {
    let turn = number / 4;
    match number % 4 {
        0 => rig
            .manifests
            .write("passing.yaml", &[ingress("passing").host(&format!("passing-{turn}.example"), "web").build()]),
        1 => {
            let host = format!("busy-{}.example", turn % HOSTS);
            let object = ingress("more").path(&host, "Prefix", &format!("/more/{turn}"), "web");
            rig.manifests.write("more.yaml", &[object.build()]);
        }
        2 => {
            let pods: Vec<_> = (0..3).map(|pod| format!("10.244.{}.{}", turn % 200, pod + 1)).collect();
            let pods: Vec<_> = pods.iter().map(String::as_str).collect();
            rig.manifests.write("pods.yaml", &[endpoint_slice("web", &pods, ECHO)]);
        }
        _ => rig.manifests.write("passing.yaml", &[]),
    }
}

#[test]
fn no_request_fails_while_routes_and_endpoints_change() {
    rig::run(async |rig| {
        let busy = |number| ingress(&format!("busy-{number}")).host(&format!("busy-{number}.example"), "web").build();
        rig.manifests.write("busy.yaml", &(0..HOSTS).map(busy).collect::<Vec<_>>());
        // The Service alone: its pods are in a file of their own that changes.
        rig.manifests.write("web.yaml", &[crate::rig::manifests::service("web", ECHO)]);
        rig.manifests.write("pods.yaml", &[endpoint_slice("web", &["10.244.0.1"], ECHO)]);
        rig.start().await;

        let requests: Vec<Request> =
            (0..HOSTS).map(|number| get(&format!("http://busy-{number}.example/{number}"))).collect();
        let reloads = rig.daemon.reloads().await;
        let began = Instant::now();
        let load = Load::new(&requests).right(|reply| reply.try_echo().is_some()).start();
        let mut ticks = interval(BETWEEN_CHANGES);
        let mut changes = 0;
        while began.elapsed() < TIME {
            ticks.tick().await;
            change(rig, changes);
            changes += 1;
        }
        let reloads = rig.daemon.reloads().await - reloads;
        let seconds = began.elapsed().as_secs();
        let report = load.stop().await;
        println!(
            "{} requests on kept and {} on new connections, {} cuts, {reloads} reloads for {changes} changes",
            report.kept, report.fresh, report.cuts
        );
        assert_eq!(report.failures, [""; 0]);
        assert!(reloads <= seconds + 1, "{reloads} reloads in {seconds} s");
        assert!(reloads > 0 && report.kept > 0 && report.fresh > 0);

        // And the last change is served too.
        rig.manifests.write("passing.yaml", &[ingress("passing").host("last.example", "web").build()]);
        get("http://last.example/").send_until("the last change", |reply| reply.status == 200).await;
        rig.daemon.status_when("rest", |status| serving(status).is_some()).await;
    });
}
