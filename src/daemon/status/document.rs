//! The complete status as one JSON value.

use std::sync::Arc;
use std::time::Instant;

use serde_json::{Map, Value, json};

use super::{ReadFrom, Status, Tally};
use crate::daemon::estimate;
use ingressd_cluster::publish::{Outlook, Peer, View, Writes};
use ingressd_cluster::source::cluster::Scope;
use ingressd_model::finding::{Finding, Shown};
use ingressd_model::{ObjectState, WorkingVersion};

impl Status {
    /// The status for `/status.json` and `ingressd status`. Member names are a contract.
    pub fn json(&self, now: Instant) -> Value {
        let mut members = self.host_json(now);
        members.append(&mut self.objects_json(now));
        Value::Object(members)
    }

    /// The part about this host, which every response contains.
    pub(super) fn host_json(&self, now: Instant) -> Map<String, Value> {
        let view = self.outlook.as_ref().map(Outlook::view);
        let tally = self.is_known().then(|| self.tally());
        let value = json!({
            "version": env!("CARGO_PKG_VERSION"),
            "phase": self.phase.name(),
            "why": self.why.as_deref(),
            "ready": self.ready().is_ok(),
            "not_ready": self.ready().err(),
            "settings_refused": self.refused_settings.as_deref(),
            "node": view.as_ref().map(|view| &*view.identity),
            "role": self.role(),
            "drained": self.reported.drained,
            "withdrawal": self.reported.drained.then(|| self.withdrawal().json(self.connections)),
            "leader": view.as_ref().and_then(|view| view.leader.as_deref()),
            "publishes": view.as_ref().map(publishes),
            "members": view.iter().flat_map(|view| &view.members).map(member).collect::<Vec<_>>(),
            "generation": self.generation,
            "prepared": self.prepared,
            "served": self.served,
            "pinned": self.pinned.as_ref().map(|pinned| json!({
                "generation": pinned.pin.generation,
                "since": pinned.pin.since,
                "waiting_files": pinned.waiting,
            })),
            "nginx": {
                "version": &*self.nginx_version,
                "master": self.master,
                "workers": self.workers,
                "draining": self.old_workers.draining,
                "most_draining": self.old_workers.most,
                "ended": self.ended,
            },
            "hosts": tally.as_ref().map(Tally::hosts),
            "routes": tally.as_ref().map(Tally::routes),
            "source": self.read_from.json(),
            "data_age_seconds": self.data_age(now).map(|age| age.as_secs()),
            "source_failure": self.source_failure.as_deref(),
        });
        match value {
            Value::Object(members) => members,
            _ => Map::new(),
        }
    }

    /// The part about objects: what was read, what is served, and the findings.
    fn objects_json(&self, now: Instant) -> Map<String, Value> {
        let all_findings = self.all_findings();
        let shown = Shown::of(&all_findings, self.limits.findings_of_namespace);
        let left_out =
            shown.left_out.iter().map(|(namespace, count)| json!({"namespace": &**namespace, "count": count}));
        let objects = self.objects.iter().map(|(kind, count)| ((*kind).to_owned(), json!(count)));
        let members = [
            ("attention", self.needs_json(now)),
            ("objects", objects.collect::<Map<_, _>>().into()),
            ("watches", self.watches_json(now)),
            ("estimate", estimate::json(self.estimate.costs())),
            ("ingresses", self.in_force().map(|(state, version)| self.ingress_json(state, version, now)).collect()),
            ("not_served", self.not_served_json()),
            ("findings", shown.findings.iter().map(|finding| self::finding(finding)).collect()),
            ("findings_left_out", left_out.collect()),
        ];
        members.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
    }

    fn ingress_json(&self, state: &ObjectState, version: &WorkingVersion, now: Instant) -> Value {
        json!({
            "kind": state.id.kind.name(),
            "namespace": &*state.id.namespace,
            "name": &*state.id.name,
            "version": &*version.version.0,
            "state": self.standing(state).name(),
            "reason": state.reason().map(|reason| reason.to_string()),
            "hosts": version.hosts.iter().map(|host| &**host).collect::<Vec<_>>(),
            "routes": version.answering(),
            "closed": version.answering_503(),
            "served_seconds": served_seconds(state, now),
            "addresses": self.published(&state.id),
        })
    }

    /// The objects of our classes of which nothing is served.
    fn not_served_json(&self) -> Value {
        let row = |state: &Arc<ObjectState>| {
            json!({
                "kind": state.id.kind.name(),
                "namespace": &*state.id.namespace,
                "name": &*state.id.name,
                "state": state.standing().name(),
                "reason": state.reason().map(|reason| reason.to_string()),
                "hosts": state.asked_hosts().collect::<Vec<_>>(),
            })
        };
        self.not_served().map(row).collect()
    }

    fn watches_json(&self, now: Instant) -> Value {
        let watch = |watch: &ingressd_cluster::source::cluster::WatchHealth| {
            json!({
                "kind": watch.kind.name(),
                "namespace": watch.section.as_deref(),
                "state": watch.state(),
                "age_seconds": watch.heard.map(|heard| (now - heard).as_secs()),
                "failure": watch.failure.as_deref(),
            })
        };
        self.watches.iter().map(watch).collect()
    }
}

impl ReadFrom {
    fn json(&self) -> Value {
        match self {
            ReadFrom::Nothing => Value::Null,
            ReadFrom::Folder(folder) => json!({"kind": "folder", "path": folder.to_string_lossy()}),
            ReadFrom::Cluster(link, scope) => json!({
                "kind": "cluster",
                "server": link.clients().server(),
                "namespaces": match scope {
                    Scope::Namespaces(names) => names.iter().map(|name| Value::from(&**name)).collect(),
                    _ => Value::Null,
                },
                "namespace_selector": match scope {
                    Scope::Selected(labels) => Value::from(labels.as_str()),
                    _ => Value::Null,
                },
            }),
        }
    }
}

/// How long nginx has served this version of the object.
pub(super) fn served_seconds(state: &ObjectState, now: Instant) -> Option<u64> {
    Some((now - state.served.as_ref()?.since?).as_secs())
}

/// A finding as JSON.
pub(super) fn finding(finding: &Finding) -> Value {
    json!({
        "kind": finding.origin.object.kind.name(),
        "namespace": &*finding.origin.object.namespace,
        "name": &*finding.origin.object.name,
        "field": finding.origin.place(),
        "severity": finding.severity.name(),
        "reason": finding.reason.row().name,
        "effect": finding.effect(),
        "note": &*finding.note,
    })
}

/// The addresses that this node publishes: `null` while they are not known.
fn publishes(view: &View) -> Value {
    let addresses = view.addresses.as_ref().map(|list| list.iter().map(ToString::to_string).collect::<Vec<_>>());
    json!({ "mode": view.mode.name(), "writes": view.writes.name(), "addresses": addresses })
}

fn member(Peer { member, life, age }: &Peer) -> Value {
    json!({
        "node": &*member.identity,
        "state": life.name(),
        "serving": member.serving,
        "drained": member.drained,
        "generation": member.generation,
        "pinned": member.pinned,
        "version": &*member.version,
        "phase": &*member.phase,
        "writes": member.writes.map(Writes::name),
        "seen_seconds": age.as_secs(),
        "addresses": member.addresses.iter().map(ToString::to_string).collect::<Vec<_>>(),
    })
}
