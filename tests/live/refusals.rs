//! An API server that accepts reads and no writes: everything is served, and written when it
//! accepts writes again.

use http::StatusCode;
use serde_json::Value;
use tokio::time::Instant;

use rig::client::get;
use rig::cluster::proxy::{Action, Call, Proxy};
use rig::cluster::{self, Cluster};
use rig::manifests::ingress;
use rig::status::notes;
use rig::wait;

/// The addresses of the nodes. Other tests publish theirs in the same cluster.
const OWN: &str = "192.0.2.181";
const OTHER: &str = "192.0.2.182";

/// What the daemon writes: resource, verb, and what the log says when that fails.
const WRITES: [(&str, &str, &str); 3] = [
    ("ingresses", "patch", "the status of Ingresses cannot be written"),
    ("events", "create", "Events cannot be written"),
    ("leases", "update", "Lease of this node cannot be written"),
];

fn writes(resource: &'static str) -> impl Fn(&Call) -> bool {
    move |call| call.is_write() && call.resource == resource
}

/// How often the API server answered writes of the three kinds like this.
fn counts(proxy: &Proxy, code: u16) -> [usize; 3] {
    WRITES.map(|(resource, ..)| proxy.count(code, writes(resource)))
}

/// Refuses all writes, changes something, and sees that it is served, counted and told; then that
/// it is written.
async fn refuse(cluster: &mut Cluster, proxy: &Proxy, code: u16, action: Action) {
    let name = format!("after-{code}");
    let (before, log) = (counts(proxy, code), cluster.daemon.log().len());
    let began = Instant::now();
    proxy.rules.add(Call::is_write, action);
    let reloads = cluster.daemon.reloads().await;
    cluster.objects.apply(ingress(&name).host(&format!("{name}.example"), "missing")).await;
    cluster.daemon.confirmed(&name).await;
    assert_eq!(get(&format!("http://{name}.example/")).send().await.status, 503);
    assert_eq!(get("http://shop.example/").send().await.status, 200);
    assert_eq!(cluster.daemon.reloads().await, reloads + 1, "{code}");
    assert_eq!(cluster.daemon.get("/readyz").await.unwrap().status, 200, "{code}");

    // Each of them is tried more than once.
    let asked = async || counts(proxy, code).iter().zip(before).map(|(now, before)| now - before).collect::<Vec<_>>();
    wait::until_right("refusals", asked, |asked| asked.iter().all(|count| *count >= 2)).await;
    for (_, verb, _) in WRITES {
        let series = format!("ingressd_api_requests_total{{verb=\"{verb}\",code=\"{code}\"}}");
        // The proxy counts an answer before the daemon has it.
        let counted = async || cluster.daemon.metric(&series).await;
        wait::until_right(&series, counted, |count| *count >= 2.0).await;
    }
    let (asked, seconds) = (asked().await, began.elapsed().as_secs() as usize);
    // The first few come soon after each other, and then at most one in a second; there are two
    // Leases.
    assert!(asked.iter().all(|count| *count <= 6 + 2 * seconds), "{code}: {asked:?} calls in {seconds} s");
    assert!(cluster.objects.addresses(&name).await.is_empty());
    // A conflict is no failure for the writer of a Lease.
    let troubles =
        || WRITES.iter().filter(|(resource, ..)| code != 409 || *resource != "leases").map(|(.., words)| *words);
    let failing = |status: &Value| notes(status, "Host cluster", "PublishingFailed");
    let reported = |status: &Value| troubles().all(|words| failing(status).iter().any(|note| note.contains(words)));
    cluster.daemon.status_when("what cannot be written", reported).await;

    proxy.rules.clear();
    cluster.objects.until_published(&name, &[OWN]).await;
    let reported = async || cluster.objects.events().await.iter().any(|event| event["regarding"]["name"] == name);
    wait::until_right("the Event", reported, |reported| *reported).await;
    cluster.daemon.status_when("the end of it", |status| failing(status).is_empty()).await;
    let log = &cluster.daemon.log()[log..];
    for words in troubles() {
        let lines = log.lines().filter(|line| line.contains("WARN") && line.contains(words)).count();
        assert_eq!(lines, 1, "{code}: {words}");
    }
}

#[test]
fn what_cannot_be_written_is_served_counted_and_written_later() {
    cluster::run(async |cluster| {
        let proxy = cluster.put_proxy_between().await;
        cluster.objects.serve_shop().await;
        // Only the leader writes, so the Lease has to last longer than each of the refusals.
        cluster.daemon.set("publish.lease-duration", "90s");
        cluster.daemon.set("publish.addresses", &format!("[{OWN:?}]"));
        cluster.start().await;
        cluster.objects.until_published("shop", &[OWN]).await;
        for code in [403, 404, 409, 500] {
            refuse(cluster, &proxy, code, Action::Refuse(StatusCode::from_u16(code).unwrap())).await;
        }
        refuse(cluster, &proxy, 429, Action::Busy(2)).await;
        assert!(cluster.daemon.metric("ingressd_status_writes_total{result=\"refused\"}").await >= 2.0);
        assert!(cluster.daemon.metric("ingressd_status_writes_total{result=\"outdated\"}").await >= 1.0);
        assert!(cluster.daemon.metric("ingressd_status_writes_total{result=\"failed\"}").await >= 6.0);
        assert!(cluster.daemon.metric("ingressd_events_total{result=\"failed\"}").await >= 10.0);
        assert_eq!(cluster.objects.addresses("shop").await, [OWN]);
    });
}

#[test]
fn one_object_that_is_refused_holds_up_no_other() {
    cluster::run(async |cluster| {
        let proxy = cluster.put_proxy_between().await;
        cluster.objects.serve("web", &["10.244.0.1"]).await;
        let refused = |call: &Call| call.is_write() && call.name.as_deref() == Some("bad");
        proxy.rules.add(refused, Action::Refuse(StatusCode::INTERNAL_SERVER_ERROR));
        cluster.objects.apply(ingress("bad").host("bad.example", "web")).await;
        cluster.daemon.set("publish.addresses", &format!("[{OTHER:?}]"));
        cluster.start().await;
        for round in 0..3 {
            proxy.counted("refusals of the one", 2 + round, 500, refused).await;
            let name = format!("good-{round}");
            cluster.objects.apply(ingress(&name).host(&format!("{name}.example"), "web")).await;
            cluster.objects.until_published(&name, &[OTHER]).await;
        }
        assert_eq!(get("http://bad.example/").send().await.status, 200);
        proxy.rules.clear();
        cluster.objects.until_published("bad", &[OTHER]).await;
    });
}
