//! One minute of changes of routes and endpoints, in which no request may fail.

use std::time::Duration;

use serde_json::Value;
use tokio::time::{Instant, interval};

use super::ECHO;
use super::client::{Request, get};
use super::daemon::Daemon;
use super::load::Load;
use super::manifests::{endpoint_slice, ingress, service_at};
use super::status::serving;

/// How long traffic and changes go on.
const TIME: Duration = Duration::from_secs(60);

/// Time between two changes: more than one for each reload.
const BETWEEN_CHANGES: Duration = Duration::from_millis(75);

/// Least time from the start of one reload to that of the next, as the settings have it.
const SPACING: Duration = Duration::from_millis(150);

/// Hosts that clients ask for; each has a route of its own that never changes, beside others that
/// do. They are enough to share a server, which a change makes one of them leave.
const HOSTS: usize = 20;

/// A change.
pub enum Change {
    /// This object comes, or is like this from now on.
    Apply(Value),
    /// The Ingress of this name goes.
    Delete(&'static str),
}

/// The objects that have to exist before: hosts and Services.
pub fn objects() -> Vec<Value> {
    let busy = |number| {
        let name = format!("busy-{number}");
        // Every other one has a backend that never changes, so that a variable names the backends
        // of the shared server.
        let backend = if number % 2 == 0 { "web" } else { &name };
        let ingress = ingress(&name).host(&format!("{name}.example"), backend).build();
        service_at(&name, &["10.244.0.2"], ECHO).into_iter().chain([ingress])
    };
    service_at("web", &["10.244.0.1"], ECHO).into_iter().chain((0..HOSTS).flat_map(busy)).collect()
}

/// One of the changes: a host comes or goes, a busy host gets another route, the pods behind
/// everything are others.
fn change(number: usize) -> Change {
    let turn = number / 4;
    match number % 4 {
        0 => Change::Apply(ingress("passing").host(&format!("passing-{turn}.example"), "web").build()),
        1 => {
            let host = format!("busy-{}.example", turn % HOSTS);
            Change::Apply(ingress("more").path(&host, "Prefix", &format!("/more/{turn}"), "web").build())
        }
        2 => {
            let pods: Vec<_> = (0..3).map(|pod| format!("10.244.{}.{}", turn % 200, pod + 1)).collect();
            let pods: Vec<_> = pods.iter().map(String::as_str).collect();
            Change::Apply(endpoint_slice("web", &pods, ECHO))
        }
        _ => Change::Delete("passing"),
    }
}

/// Lets traffic and changes go on over [`objects`], which a daemon serves. `make` makes one
/// change.
///
/// # Panics
///
/// When a request fails, nginx is reloaded too often, or what was changed last is not served.
pub async fn spend(daemon: &mut Daemon, make: impl AsyncFn(Change)) {
    let requests: Vec<Request> =
        (0..HOSTS).map(|number| get(&format!("http://busy-{number}.example/{number}"))).collect();
    let reloads = daemon.reloads().await;
    let began = Instant::now();
    let load = Load::new(&requests).right(|reply| reply.try_echo().is_some()).start();
    let mut ticks = interval(BETWEEN_CHANGES);
    let mut changes = 0;
    while began.elapsed() < TIME {
        ticks.tick().await;
        make(change(changes)).await;
        changes += 1;
    }
    let reloads = daemon.reloads().await - reloads;
    let most = began.elapsed().as_millis() / SPACING.as_millis() + 1;
    let report = load.stop().await;
    println!(
        "{} requests on kept and {} on new connections, {} cuts, {reloads} reloads for {changes} changes",
        report.kept, report.fresh, report.cuts
    );
    assert_eq!(report.failures, [""; 0]);
    assert!(u128::from(reloads) <= most, "{reloads} reloads, of at most {most}");
    assert!(reloads > 0 && report.kept > 0 && report.fresh > 0);

    make(Change::Apply(ingress("last").host("last.example", "web").build())).await;
    get("http://last.example/").send_until("the last change", |reply| reply.status == 200).await;
    daemon.status_when("rest", |status| serving(status).is_some()).await;
}
