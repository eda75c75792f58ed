//! What the dashboards of ingress-nginx ask for besides requests, under its names and labels.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::{ConstGauge, Gauge};
use prometheus_client::registry::{Registry, Unit};

use super::{Labels, Metrics, Status, StubStatus, gauge, whole};
use crate::daemon::traffic::{Controller, ExposedNamed};
use ingressd_model::{CertificateId, TlsTermination};
use ingressd_translate::written_host;

/// For how many hosts it is told when their certificate ends: those where it ends first.
const MOST_HOSTS: usize = 1000;

/// The last attempt to bring nginx to a new generation.
#[derive(Debug, Clone, Copy)]
pub struct LastReload {
    pub is_confirmed: bool,
    /// When it was, in seconds since 1970.
    pub at: i64,
}

pub fn register(
    all: &mut Registry,
    controller: &Controller,
    metrics: &Metrics,
    status: &Status,
    stub_status: Option<StubStatus>,
) {
    let labels = controller.labels().map(|(name, value)| (Cow::from(name), Cow::from(value.to_owned())));
    let registry =
        all.sub_registry_with_prefix("nginx_ingress_controller").sub_registry_with_labels(labels.into_iter());
    registry.register_collector(Box::new(ExposedNamed(Arc::clone(&metrics.traffic))));
    reloads(registry, metrics, status);
    if let Some(stub_status) = stub_status {
        connections(registry, stub_status);
    }
    if let Some(usage) = status.master.and_then(Usage::of) {
        usage.register(registry);
    }
    certificates(registry, controller, status);
}

/// A counter whose name has no `_total`, or that of a gauge with it, is none in OpenMetrics.
fn count(registry: &mut Registry, name: &str, help: &str, count: u64) {
    gauge(registry, name, help, i64::try_from(count).unwrap_or(i64::MAX));
}

fn reloads(registry: &mut Registry, metrics: &Metrics, status: &Status) {
    let (confirmed, failed) = metrics.attempts();
    count(registry, "success", "How often nginx was brought to a new generation", confirmed);
    count(registry, "errors", "How often that failed", failed);
    let help = "A number that changes with the configuration: that of its generation";
    count(registry, "config_hash", help, status.generation.unwrap_or(0));
    let last = metrics.last_reload();
    let is_confirmed = last.is_none_or(|last| last.is_confirmed);
    let help = "Whether the last attempt to bring nginx to a new generation was confirmed";
    gauge(registry, "config_last_reload_successful", help, i64::from(is_confirmed));
    if let Some(last) = last.filter(|last| last.is_confirmed) {
        let help = "When nginx was last brought to a new generation";
        registry.register_with_unit(
            "config_last_reload_successful_timestamp",
            help,
            Unit::Seconds,
            ConstGauge::new(last.at),
        );
    }
}

fn connections(registry: &mut Registry, counted: StubStatus) {
    let now = Family::<Labels<1>, Gauge>::default();
    for (state, count) in counted.states() {
        now.get_or_create(&[("state", state)]).set(count);
    }
    registry.register("nginx_process_connections", "Connections of clients to nginx, by state", now);
    let requests: Counter = Counter::default();
    requests.inc_by(counted.requests);
    registry.register("nginx_process_requests", "Requests that nginx took", requests);
}

/// What nginx's processes have used.
#[derive(Debug, Default)]
struct Usage {
    processes: usize,
    resident: u64,
    virtual_memory: u64,
    /// With what processes had used that have ended.
    seconds: f64,
}

impl Usage {
    /// Reads it of this master and its children; `None` when it is gone.
    fn of(master: u32) -> Option<Self> {
        let process = |pid: u32| procfs::process::Process::new(i32::try_from(pid).ok()?).ok();
        let master = process(master)?;
        let children = master.task_main_thread().and_then(|thread| thread.children()).ok()?;
        let ended = master.stat().ok().map(|stat| stat.cutime.saturating_add(stat.cstime))?;
        let ticks = procfs::ticks_per_second() as f64;
        let mut usage = Usage { seconds: ended as f64 / ticks, ..Usage::default() };
        for stat in
            [master].into_iter().chain(children.into_iter().filter_map(process)).filter_map(|one| one.stat().ok())
        {
            usage.processes += 1;
            usage.resident += stat.rss * procfs::page_size();
            usage.virtual_memory += stat.vsize;
            usage.seconds += (stat.utime + stat.stime) as f64 / ticks;
        }
        Some(usage)
    }

    fn register(self, registry: &mut Registry) {
        gauge(registry, "nginx_process_num_procs", "Processes of nginx", whole(self.processes));
        for (name, help, bytes) in [
            (
                "nginx_process_resident_memory",
                "Resident memory of nginx's processes, what they share in each",
                self.resident,
            ),
            ("nginx_process_virtual_memory", "Virtual memory of nginx's processes", self.virtual_memory),
        ] {
            let bytes = ConstGauge::new(i64::try_from(bytes).unwrap_or(i64::MAX));
            registry.register_with_unit(name, help, Unit::Bytes, bytes);
        }
        let seconds: Counter<f64, AtomicU64> = Counter::default();
        seconds.inc_by(self.seconds);
        registry.register_with_unit("nginx_process_cpu", "Processor time of nginx's processes", Unit::Seconds, seconds);
    }
}

fn certificates(registry: &mut Registry, controller: &Controller, status: &Status) {
    let ends: BTreeMap<_, _> = status.certificates.iter().map(|(id, end)| (id, *end)).collect();
    let servers = status.in_force.iter().flat_map(|in_force| in_force.servers());
    let mut hosts: Vec<_> = servers
        .filter_map(|server| match &server.tls {
            TlsTermination::Own(CertificateId::Secret(id)) => Some((*ends.get(id)?, written_host(&server.name), id)),
            _ => None,
        })
        .collect();
    hosts.sort();
    hosts.truncate(MOST_HOSTS);
    let expiry = Family::<Labels<4, String>, Gauge>::default();
    for (end, host, id) in hosts {
        let labels = [
            ("namespace", id.namespace.to_string()),
            ("class", controller.class.to_string()),
            ("host", host),
            ("secret_name", id.name.to_string()),
        ];
        expiry.get_or_create(&labels).set(end);
    }
    let help = "End of validity of the certificate of each host";
    registry.register_with_unit("ssl_expire_time", help, Unit::Seconds, expiry);
}
