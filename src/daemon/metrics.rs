//! Metrics for Prometheus: events are counted here, the present state is read from the status.

mod exposition;
mod ingress_nginx;

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use itertools::iproduct;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::{ConstGauge, Gauge};
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::{Registry, Unit};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use super::status::Status;
use super::traffic::{Exposed, ExposedErrors, Traffic};
use ingress_nginx::LastReload;
use ingressd_apply::Outcome;
use ingressd_cluster::publish::{Counts, Life, Outlook, Peer, View};
use ingressd_model::{Kind, Standing};

pub use exposition::Format;

/// The path of nginx's connection counters, on the status address.
const STUB_STATUS_PATH: &str = "/stub_status";

/// The time limit for nginx's response.
const STUB_STATUS_TIMEOUT: Duration = Duration::from_millis(500);

/// The results of attempts.
const CONFIRMED: &str = "confirmed";
const UNCONFIRMED: [&str; 4] = ["refused", "rolled_back", "nginx_down", "failed"];

/// Why a cycle ran.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cause {
    /// The first one.
    Start,
    /// Objects changed.
    Change,
    /// nginx started, stopped or was restarted.
    Nginx,
    /// The last attempt failed.
    Retry,
}

impl Cause {
    const fn name(self) -> &'static str {
        match self {
            Cause::Start => "start",
            Cause::Change => "change",
            Cause::Nginx => "nginx",
            Cause::Retry => "retry",
        }
    }
}

/// Labels of a metric, each with its name.
pub type Labels<const COUNT: usize, Text = &'static str> = [(&'static str, Text); COUNT];

/// The counters since the start.
#[derive(Debug)]
pub struct Metrics {
    reloads: Family<Labels<2>, Counter>,
    reload_duration: Histogram,
    test_duration: Histogram,
    change_to_serving: Histogram,
    published: Counts,
    traffic: Arc<Traffic>,
    last: Mutex<Option<LastReload>>,
}

impl Default for Metrics {
    fn default() -> Self {
        let histogram =
            || Histogram::new([0.01, 0.025, 0.05, 0.1, 0.15, 0.25, 0.4, 0.7, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0]);
        Metrics {
            reloads: Family::default(),
            reload_duration: histogram(),
            test_duration: histogram(),
            change_to_serving: histogram(),
            published: Counts::default(),
            traffic: Arc::default(),
            last: Mutex::default(),
        }
    }
}

impl Metrics {
    /// Records the duration of tests, whatever their result was.
    pub fn tested(&self, tests: &[Duration]) {
        tests.iter().for_each(|test| self.test_duration.observe(test.as_secs_f64()));
    }

    /// Counts the outcome of an attempt; `waited` is the time since its oldest change.
    pub fn count(&self, cause: Cause, outcome: &Outcome, waited: Option<Duration>) {
        let result = match outcome.of_nginx() {
            // The outcome inside is not about a new configuration.
            Outcome::Pinned { .. } => return,
            Outcome::Unchanged { .. } => return,
            Outcome::Confirmed { reload, .. } => {
                self.reload_duration.observe(reload.as_secs_f64());
                waited.inspect(|waited| self.change_to_serving.observe(waited.as_secs_f64()));
                CONFIRMED
            }
            Outcome::Refused { .. } => UNCONFIRMED[0],
            Outcome::RolledBack { .. } => UNCONFIRMED[1],
            Outcome::Ready { .. } | Outcome::Killed { .. } => UNCONFIRMED[2],
            Outcome::Failed { .. } => UNCONFIRMED[3],
        };
        self.reloads.get_or_create(&[("reason", cause.name()), ("result", result)]).inc();
        let last = LastReload { is_confirmed: result == CONFIRMED, at: super::options::now() };
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = Some(last);
    }

    fn last_reload(&self) -> Option<LastReload> {
        *self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How many attempts were confirmed, and how many were not.
    fn attempts(&self) -> (u64, u64) {
        let reasons = [Cause::Start, Cause::Change, Cause::Nginx, Cause::Retry].map(Cause::name);
        let of = |result| {
            let count =
                |reason| self.reloads.get(&[("reason", reason), ("result", result)]).map_or(0, |count| count.get());
            reasons.into_iter().map(count).sum::<u64>()
        };
        (of(CONFIRMED), UNCONFIRMED.into_iter().map(of).sum())
    }

    /// The counters of publishing.
    pub fn published(&self) -> &Counts {
        &self.published
    }

    /// What was counted of requests.
    pub fn traffic(&self) -> &Arc<Traffic> {
        &self.traffic
    }

    /// All metrics in the text format of OpenMetrics.
    pub fn encode(&self, status: &Status, stub_status: Option<StubStatus>, now: Instant) -> String {
        let mut all = Registry::default();
        register_process(&mut all);
        let registry = all.sub_registry_with_prefix("ingressd");
        let build = Info::new([
            ("version", env!("CARGO_PKG_VERSION").to_owned()),
            ("nginx_version", status.nginx_version.to_string()),
        ]);
        registry.register("build", "Version of ingressd and of nginx", build);
        registry.register(
            "reloads",
            "Attempts to bring nginx to a new generation, by cause and result",
            self.reloads.clone(),
        );
        let histograms = [
            ("reload_duration", "Time from HUP to confirmation", &self.reload_duration),
            ("test_duration", "Time that the test of a generation took", &self.test_duration),
            (
                "change_to_serving",
                "Time from reading a change to the confirmation that it is served",
                &self.change_to_serving,
            ),
        ];
        for (name, help, histogram) in histograms {
            registry.register_with_unit(name, help, Unit::Seconds, histogram.clone());
        }
        self.published.register(registry);
        register_status(registry, status, now);
        registry.register_collector(Box::new(Exposed(Arc::clone(&self.traffic))));
        registry.register_collector(Box::new(ExposedErrors(Arc::clone(&self.traffic))));
        if let Some(stub_status) = stub_status {
            stub_status.register(registry);
        }
        if let Some(controller) = self.traffic.controller() {
            ingress_nginx::register(&mut all, &controller, self, status, stub_status);
        }
        let mut text = String::new();
        // This fails only when a metric cannot be encoded, which the tests would show.
        match prometheus_client::encoding::text::encode(&mut text, &all) {
            Ok(()) => text,
            Err(_) => String::from("# EOF\n"),
        }
    }
}

fn gauge(registry: &mut Registry, name: &str, help: &str, value: i64) {
    registry.register(name, help, ConstGauge::new(value));
}

fn register_status(registry: &mut Registry, status: &Status, now: Instant) {
    let generation = status.generation.and_then(|number| i64::try_from(number).ok()).unwrap_or(0);
    gauge(registry, "generation", "Generation that nginx was last seen to run, 0 for none", generation);
    let pinned = status.pinned.as_ref();
    let number = pinned.and_then(|pinned| i64::try_from(pinned.pin.generation).ok()).unwrap_or(0);
    gauge(registry, "pinned_generation", "Generation to which the node is pinned, 0 for none", number);
    let waiting = whole(pinned.and_then(|pinned| pinned.waiting).unwrap_or(0));
    gauge(
        registry,
        "pinned_waiting_files",
        "Files that differ from the pinned generation and are not applied",
        waiting,
    );
    gauge(registry, "drained", "Whether this node is drained", i64::from(status.reported.drained));
    let open = whole(status.connections.unwrap_or(0));
    gauge(
        registry,
        "drained_connections",
        "Open connections to the ports of Ingresses, counted on a drained node",
        open,
    );
    gauge(registry, "ready", "Whether nginx serves the confirmed generation", i64::from(status.ready().is_ok()));
    if let Some(age) = status.served_age(now) {
        let age = ConstGauge::new(age.as_secs_f64());
        registry.register_with_unit(
            "data_age",
            "Time since the source was last known to be complete; before it was read, since the served generation was made",
            Unit::Seconds,
            age,
        );
    }
    register_workers(registry, status);
    register_objects(registry, status);
    super::estimate::register(registry, status.estimate.costs());
    register_watches(registry, status, now);
    if let Some(view) = status.outlook.as_ref().map(Outlook::view) {
        register_nodes(registry, &view);
    }

    let expiry = Family::<Labels<2, String>, Gauge>::default();
    for (id, not_after) in status.certificates.iter() {
        let labels = [("namespace", id.namespace.to_string()), ("name", id.name.to_string())];
        expiry.get_or_create(&labels).set(*not_after);
    }
    let help = "End of validity of each certificate that is served, by its Secret";
    registry.register_with_unit("certificate_expiry_timestamp", help, Unit::Seconds, expiry);
}

fn register_workers(registry: &mut Registry, status: &Status) {
    let workers = Family::<Labels<1>, Gauge>::default();
    for (state, count) in [("current", status.workers), ("draining", status.old_workers.draining)] {
        workers.get_or_create(&[("state", state)]).set(whole(count));
    }
    registry.register(
        "nginx_workers",
        "Workers of nginx that accept connections (current), and that finish theirs \
                                        (draining)",
        workers,
    );
    let most = whole(status.old_workers.most);
    gauge(registry, "nginx_draining_workers_most", "Limit for draining workers of nginx", most);
    let ended: Counter = Counter::default();
    ended.inc_by(status.ended);
    let help = "Workers of nginx that the daemon ended because too many were draining";
    registry.register("nginx_draining_workers_ended", help, ended);
}

fn register_objects(registry: &mut Registry, status: &Status) {
    let objects = Family::<Labels<2>, Gauge>::default();
    for (kind, count) in &status.objects {
        objects.get_or_create(&[("kind", kind), ("state", "read")]).set(whole(*count));
    }
    if status.is_known() {
        let kinds: BTreeSet<_> = status.states.iter().map(|state| state.id.kind).chain([Kind::INGRESS]).collect();
        // All states are there, so that rules see one go back to 0.
        for (kind, state) in iproduct!(kinds, ["accepted"].into_iter().chain(Standing::OF_OURS.map(Standing::name))) {
            drop(objects.get_or_create(&[("kind", kind.name()), ("state", state)]));
        }
        for state in status.states.iter().filter(|state| state.in_place().is_some()) {
            objects.get_or_create(&[("kind", state.id.kind.name()), ("state", "accepted")]).inc();
        }
        for (kind, standing) in status.standings() {
            objects.get_or_create(&[("kind", kind.name()), ("state", standing.name())]).inc();
        }
    }
    for id in status.quarantined.iter() {
        let kind = id.kind.name();
        objects.get_or_create(&[("kind", kind), ("state", "quarantined")]).inc();
    }
    registry.register(
        "objects",
        "Objects by kind: read, accepted by ingressd, in quarantine, and by their state in `ingressd status`",
        objects,
    );

    let findings = Family::<Labels<2>, Gauge>::default();
    for finding in status.all_findings() {
        let labels = [("reason", finding.reason.row().name), ("severity", finding.severity.name())];
        findings.get_or_create(&labels).inc();
    }
    registry.register("findings", "Present findings, by reason", findings);
}

fn register_watches(registry: &mut Registry, status: &Status, now: Instant) {
    let states = Family::<Labels<3, Cow<'static, str>>, Gauge>::default();
    let ages = Family::<Labels<2, Cow<'static, str>>, Gauge<f64, AtomicU64>>::default();
    for watch in status.watches.iter() {
        let namespace = Cow::from(watch.section.as_deref().unwrap_or_default().to_owned());
        let [kind, namespace] = [("kind", watch.kind.name().into()), ("namespace", namespace)];
        states.get_or_create(&[kind.clone(), namespace.clone(), ("state", watch.state().into())]).set(1);
        if let Some(heard) = watch.heard {
            ages.get_or_create(&[kind, namespace]).set((now - heard).as_secs_f64());
        }
    }
    registry.register("watch_state", "State of each watch of the cluster: 1 for its state", states);
    let help = "Time since the API server last confirmed a watch";
    registry.register_with_unit("watch_age", help, Unit::Seconds, ages);

    let requests = Family::<Labels<2, Cow<'static, str>>, Counter>::default();
    for (verb, code, count) in status.requests.iter().flat_map(|requests| requests.counts()) {
        requests.get_or_create(&[("verb", verb.into()), ("code", code.into())]).inc_by(count);
    }
    let help = "Requests to the API server, by verb and status of the answer, or error where none came";
    registry.register("api_requests", help, requests);
}

fn register_nodes(registry: &mut Registry, view: &View) {
    gauge(registry, "leader", "Whether this node is the leader", i64::from(view.leads));
    let members = Family::<Labels<1>, Gauge>::default();
    for Peer { member, life, .. } in &view.members {
        let state = match (life, member.drained, member.serving) {
            (Life::Expired, _, _) => "expired",
            (_, true, _) => "drained",
            (_, false, true) => "serving",
            (_, false, false) => "down",
        };
        members.get_or_create(&[("state", state)]).inc();
    }
    registry.register("members", "Nodes of the group, by state", members);
}

fn whole(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// The metrics of the daemon's own process, under the usual names of Prometheus clients.
fn register_process(registry: &mut Registry) {
    let memory = procfs::process::Process::myself().and_then(|process| process.statm());
    if let Some(resident) = memory.ok().and_then(|memory| i64::try_from(memory.resident * procfs::page_size()).ok()) {
        let help = "Resident memory of the daemon";
        registry.register_with_unit("process_resident_memory", help, Unit::Bytes, ConstGauge::new(resident));
    }
    if let Ok(usage) = nix::sys::resource::getrusage(nix::sys::resource::UsageWho::RUSAGE_SELF) {
        let seconds = |time: nix::sys::time::TimeVal| {
            Duration::new(u64::try_from(time.tv_sec()).unwrap_or(0), u32::try_from(time.tv_usec()).unwrap_or(0) * 1000)
        };
        let total = seconds(usage.user_time()) + seconds(usage.system_time());
        let counter: Counter<f64, std::sync::atomic::AtomicU64> = Counter::default();
        counter.inc_by(total.as_secs_f64());
        registry.register_with_unit("process_cpu", "Processor time of the daemon", Unit::Seconds, counter);
    }
}

/// The counters of nginx's `stub_status`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct StubStatus {
    active: i64,
    accepted: u64,
    handled: u64,
    requests: u64,
    reading: i64,
    writing: i64,
    waiting: i64,
}

impl StubStatus {
    /// Asks nginx for its counters; `None` when it does not answer.
    pub async fn ask(address: SocketAddr) -> Option<StubStatus> {
        let exchange = async {
            let mut stream = tokio::net::TcpStream::connect(address).await.ok()?;
            let request = format!("GET {STUB_STATUS_PATH} HTTP/1.0\r\nHost: {address}\r\n\r\n");
            stream.write_all(request.as_bytes()).await.ok()?;
            let mut answer = String::new();
            stream.take(4096).read_to_string(&mut answer).await.ok()?;
            StubStatus::read(answer.split_once("\r\n\r\n")?.1)
        };
        tokio::time::timeout(STUB_STATUS_TIMEOUT, exchange).await.ok().flatten()
    }

    fn read(text: &str) -> Option<StubStatus> {
        let numbers: Vec<u64> = text.split_whitespace().filter_map(|word| word.parse().ok()).collect();
        let [active, accepted, handled, requests, reading, writing, waiting] = numbers[..] else { return None };
        let whole = |number| i64::try_from(number).ok();
        Some(StubStatus {
            active: whole(active)?,
            accepted,
            handled,
            requests,
            reading: whole(reading)?,
            writing: whole(writing)?,
            waiting: whole(waiting)?,
        })
    }

    fn states(self) -> [(&'static str, i64); 4] {
        [("active", self.active), ("reading", self.reading), ("writing", self.writing), ("waiting", self.waiting)]
    }

    fn register(self, registry: &mut Registry) {
        let connections = Family::<Labels<1>, Gauge>::default();
        for (state, count) in self.states() {
            connections.get_or_create(&[("state", state)]).set(count);
        }
        registry.register("nginx_connections", "Connections of clients to nginx, by state", connections);
        for (name, help, count) in [
            ("nginx_connections_accepted", "Connections that nginx accepted", self.accepted),
            ("nginx_connections_handled", "Connections that nginx handled", self.handled),
            ("nginx_requests", "Requests that nginx took", self.requests),
        ] {
            let counter: Counter = Counter::default();
            counter.inc_by(count);
            registry.register(name, help, counter);
        }
    }
}

/// The time at which the main loop last turned, for health checks.
#[derive(Debug)]
pub struct Heartbeat(Mutex<Instant>);

impl Heartbeat {
    /// A heartbeat with this time.
    pub fn new(now: Instant) -> Self {
        Heartbeat(Mutex::new(now))
    }

    /// Records a turn of the loop.
    pub fn beat(&self, now: Instant) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = now;
    }

    /// The time since the last turn.
    pub fn age(&self, now: Instant) -> Duration {
        now - *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests;
