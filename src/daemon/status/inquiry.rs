//! The response to a request about one object or one host.

use std::cmp::Reverse;
use std::sync::Arc;
use std::time::Instant;

use serde_json::{Map, Value, json};

use super::document::{self, served_seconds};
use super::expressions::{Taking, taking};
use super::{ReadFrom, Status};
use crate::daemon::explain::Address;
use ingressd_cluster::source::cluster::Scope;
use ingressd_model::finding::Finding;
use ingressd_model::{Field, Kind, ObjectId, ObjectState, ServerName, Standing, WorkingVersion};
use ingressd_translate::{
    Asked, AskedRoute, AskedTls, Claimant, asked, asked_hosts, askers, host_with_wildcard, written_host,
};

/// The most routes, findings and Ingresses in one response.
const MOST_ROWS: usize = 200;

/// The most other namespaces that are named because they have an object with the same name.
const MOST_NAMESAKES: usize = 5;

/// The subject of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Inquiry {
    /// The complete status.
    Everything,
    /// One object, which is an Ingress unless its kind is named.
    Object(ObjectId),
    /// A host as written in rules; `*` for unknown hosts.
    Host(String),
    /// Why one request is answered as it is.
    Request(Address),
}

impl Inquiry {
    /// Parses a request; `None` when it is not one of these.
    pub fn read(request: &str) -> Option<Self> {
        let mut words = request.split(' ');
        match (words.next(), words.next(), words.next()) {
            (Some("status"), None, _) => Some(Inquiry::Everything),
            (Some("ingress"), Some(name), None) => {
                let (namespace, name) = name.rsplit_once('/')?;
                let (kind, namespace) = match namespace.split_once('/') {
                    Some((kind, namespace)) => (Kind::read(kind)?, namespace),
                    None => (Kind::INGRESS, namespace),
                };
                Some(Inquiry::Object(ObjectId::new(kind, namespace, name)))
            }
            (Some("host"), Some(host), None) => Some(Inquiry::Host(host.to_owned())),
            (Some("explain"), Some(address), None) => Address::read(address).map(Inquiry::Request),
            _ => None,
        }
    }
}

impl Status {
    /// The response about this subject. Member names are a contract.
    pub fn answer(&self, inquiry: &Inquiry, now: Instant) -> Value {
        match inquiry {
            Inquiry::Everything => self.json(now),
            Inquiry::Object(id) => self.with_host(now, self.object(id, now)),
            Inquiry::Host(written) => self.with_host(now, self.one_host(written, now)),
            Inquiry::Request(address) => self.with_host(now, self.one_request(address, now)),
        }
    }

    fn with_host(&self, now: Instant, subject: Value) -> Value {
        let mut members = self.host_json(now);
        members.insert("subject".to_owned(), subject);
        Value::Object(members)
    }

    /// Everything about one object.
    fn object(&self, id: &ObjectId, now: Instant) -> Value {
        let asked = asked(&self.reported.snapshot, id).unwrap_or_default();
        let secrets = asked.tls.iter().filter_map(|entry| entry.secret);
        let secrets: Vec<_> = secrets.map(|name| ObjectId::new(Kind::SECRET, &id.namespace, name)).collect();
        let all = self.all_findings();
        let findings = severest(all.iter().filter(|finding| {
            let object = &*finding.origin.object;
            object == id || secrets.contains(object)
        }));
        let left_out = findings.len().saturating_sub(MOST_ROWS) + asked.routes.len().saturating_sub(MOST_ROWS);
        let mut members = self.standing_json(id, now);
        members.extend(named([
            ("class", asked.class.into()),
            ("why", self.why_not(id).into()),
            ("asks", asked.routes.iter().take(MOST_ROWS).map(route).collect()),
            ("tls", asked.tls.iter().take(MOST_ROWS).map(|entry| self.tls(id, entry)).collect()),
            ("findings", findings.into_iter().take(MOST_ROWS).map(with_page).collect()),
            ("left_out", left_out.into()),
        ]));
        Value::Object(members)
    }

    /// The owners of a host and its paths.
    fn one_host(&self, written: &str, now: Instant) -> Value {
        let hosts = host_with_wildcard(written);
        let names: Vec<_> = hosts.iter().map(|(name, _)| name.clone()).collect();
        let is_of_it = |written: &str| hosts.iter().any(|(_, host)| host.eq_ignore_ascii_case(written));
        let claims = hosts.iter().map(|(name, written)| self.claimants(name, written));
        let mut askers: Vec<_> = askers(&self.reported.snapshot, &names).collect();
        let by_name = askers.len();
        // Further names of hosts stand in no rule.
        askers.extend(self.having(is_of_it).filter(|id| !askers.contains(id)).collect::<Vec<_>>());
        let is_free = askers.is_empty() && names.iter().all(|name| self.claims.of(name).is_empty());
        let expressions = match is_free && written != "*" && !written.starts_with("*.") {
            true => taking(&self.claims, &written.to_ascii_lowercase()),
            false => Vec::new(),
        };
        if let Some(first) = expressions.iter().find(|taking| taking.is_certain) {
            let first = written_host(&first.name);
            askers.extend(self.having(|host| host == first));
        }
        let left_out = askers.len().saturating_sub(MOST_ROWS);
        let all = self.all_findings();
        let mut findings = Vec::new();
        let ingresses: Vec<_> = askers
            .into_iter()
            .enumerate()
            .take(MOST_ROWS)
            .map(|(number, id)| {
                let asked = asked(&self.reported.snapshot, id).unwrap_or_default();
                // What has the host by another name of it has all that stands there.
                let is_meant = |written: &str| number >= by_name || is_of_it(written);
                let routes = asked.routes.iter().filter(|route| is_meant(route.host));
                let about = all.iter().filter(|finding| finding.origin.object == *id);
                findings.extend(about.filter(|finding| concerns(finding, &asked, is_meant)));
                let mut members = self.standing_json(id, now);
                members.insert("asks".to_owned(), routes.take(MOST_ROWS).map(route).collect());
                members
            })
            .collect();
        let findings = severest(findings.into_iter());
        json!({
            "kind": "Host",
            "host": written,
            "is_name": !hosts.is_empty(),
            "claims": claims.collect::<Vec<_>>(),
            "expressions": expressions.iter().map(expression).collect::<Vec<_>>(),
            "ingresses": ingresses,
            "left_out": left_out + findings.len().saturating_sub(MOST_ROWS),
            "findings": findings.into_iter().take(MOST_ROWS).map(with_page).collect::<Vec<_>>(),
        })
    }

    /// Why a request is answered as it is: `null` where this run has made nothing yet that could
    /// tell.
    fn one_request(&self, address: &Address, now: Instant) -> Value {
        let Some(in_force) = &self.in_force else { return Value::Null };
        let mut answer = in_force.explain(address, &self.findings, &|_| None);
        let age = self.served_age(now).filter(|_| self.is_recorded());
        if let (Some(age), Some(members)) = (age, answer.as_object_mut()) {
            members.insert("recorded_seconds".to_owned(), age.as_secs().into());
        }
        answer
    }

    /// The objects of which something is served at hosts like this, or that ask for one in vain.
    fn having(&self, is_meant: impl Fn(&str) -> bool) -> impl Iterator<Item = &Arc<ObjectId>> {
        let has = move |state: &&Arc<ObjectState>| match state.in_place() {
            Some(version) => version.served > 0 && version.hosts.iter().any(|host| is_meant(host)),
            None => state.is_ours() && state.asked_hosts().any(&is_meant),
        };
        self.states.iter().filter(has).map(|state| &state.id)
    }

    /// The namespaces that claim a host, the oldest claim first.
    fn claimants(&self, name: &ServerName, written: &str) -> Value {
        let mut claimants: Vec<_> = self.claims.of(name).iter().collect();
        claimants.sort_by_key(|claimant| claimant.number);
        let claimant = |claimant: &&Claimant| {
            json!({
                "namespace": &*claimant.namespace,
                "exclusive": claimant.exclusive,
                "reserved": claimant.gone.is_some(),
            })
        };
        json!({"host": written, "namespaces": claimants.iter().take(MOST_ROWS).map(claimant).collect::<Vec<_>>()})
    }

    /// The state of an object, and what is served of it; it may not exist or may belong to another
    /// class.
    fn standing_json(&self, id: &ObjectId, now: Instant) -> Map<String, Value> {
        let state = self.state(id);
        let version = state.and_then(|state| state.in_place());
        let standing = match state {
            Some(state) => self.standing(state).name(),
            None if !self.is_read(id) => "absent",
            // It is not known yet whether an object that is newer than the last cycle belongs to
            // our class.
            None => Standing::Waiting.name(),
        };
        let hosts = match (state.and_then(|state| state.in_force()), state) {
            (Some(version), _) => version.hosts.iter().map(|host| &**host).collect(),
            (None, Some(state)) if state.is_ours() => state.asked_hosts().collect(),
            _ => asked_hosts(&self.reported.snapshot, id),
        };
        named([
            ("kind", Value::from(id.kind.name())),
            ("namespace", (&*id.namespace).into()),
            ("name", (&*id.name).into()),
            ("state", standing.into()),
            ("reason", state.and_then(ObjectState::reason).map(|reason| reason.to_string()).into()),
            ("hosts", hosts.into_iter().take(MOST_ROWS).collect()),
            ("routes", version.map_or(0, WorkingVersion::answering).into()),
            ("closed", version.map_or(0, WorkingVersion::answering_503).into()),
            ("served_seconds", state.and_then(|state| served_seconds(state, now)).into()),
            ("addresses", self.published(id).into()),
        ])
    }

    /// Why nothing of an object is served that belongs to another class or does not exist.
    fn why_not(&self, id: &ObjectId) -> Option<String> {
        if let Some(state) = self.state(id) {
            let why = self.findings.iter().find(|finding| state.is_why(finding));
            return why.map(|finding| finding.note.to_string());
        }
        if self.is_read(id) {
            return None;
        }
        let snapshot = &self.reported.snapshot;
        let unserved = |setting: &str| format!("its namespace is not served: {setting} in the settings");
        match &self.read_from {
            ReadFrom::Cluster(_, Scope::Namespaces(names)) if !names.contains(&id.namespace) => {
                return Some(unserved(&format!("`namespaces` is {}", names.join(", "))));
            }
            ReadFrom::Cluster(_, Scope::Selected(labels))
                if snapshot.namespaces.find("", &id.namespace).is_none() || snapshot.outside.entry(id).is_some() =>
            {
                return Some(unserved(&format!("it has not the labels of `namespace-selector`, {labels}")));
            }
            _ => {}
        }
        let namesakes = snapshot.ids().filter(|other| other.kind == id.kind && other.name == id.name);
        let namespaces: Vec<_> = namesakes.take(MOST_NAMESAKES).map(|other| &*other.namespace).collect();
        let elsewhere = match namespaces.is_empty() {
            true => String::new(),
            false => format!("; there is one of this name in {}", namespaces.join(", ")),
        };
        Some(match self.data_read {
            None => "nothing was read yet".to_owned(),
            Some(_) => format!("there is no such {} in what was read{elsewhere}", id.kind.name()),
        })
    }

    fn is_read(&self, id: &ObjectId) -> bool {
        self.reported.snapshot.entry(id).is_some()
    }

    fn tls(&self, id: &ObjectId, entry: &AskedTls<'_>) -> Value {
        let secret = entry.secret.map(|name| ObjectId::new(Kind::SECRET, &id.namespace, name));
        let served = self.certificates.iter().find(|(certificate, _)| Some(&**certificate) == secret.as_ref());
        json!({
            "hosts": entry.hosts,
            "secret": entry.secret,
            "served": served.is_some(),
            "ends": served.map(|(_, ends)| ends),
        })
    }
}

fn named<const COUNT: usize>(members: [(&str, Value); COUNT]) -> Map<String, Value> {
    members.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

/// Sorts findings, the most severe first.
fn severest<'a>(findings: impl Iterator<Item = &'a Finding>) -> Vec<&'a Finding> {
    let mut findings: Vec<_> = findings.collect();
    findings.sort_by_key(|finding| Reverse(finding.severity));
    findings
}

/// Whether a finding about an Ingress concerns some of its hosts, and not only rules or entries
/// for others.
fn concerns(finding: &Finding, asked: &Asked<'_>, is_of_them: impl Fn(&str) -> bool) -> bool {
    match finding.origin.field {
        Field::Rule(rule) | Field::Path(rule, ..) => {
            asked.rules.get(usize::from(rule)).is_none_or(|host| is_of_them(host))
        }
        Field::Tls(entry) => asked
            .tls
            .get(usize::from(entry))
            .is_none_or(|entry| entry.hosts.is_empty() || entry.hosts.iter().any(|host| is_of_them(host))),
        _ => true,
    }
}

fn expression(taking: &Taking) -> Value {
    json!({"expression": written_host(&taking.name), "certain": taking.is_certain})
}

fn route(route: &AskedRoute<'_>) -> Value {
    json!({
        "host": route.host,
        "path": route.path,
        "path_type": route.path_type,
        "service": route.service,
        "port": route.port,
        "endpoints": route.endpoints,
    })
}

/// A finding with the documentation page that explains it.
fn with_page(finding: &Finding) -> Value {
    let mut value = document::finding(finding);
    value["page"] = finding.reason.page().into();
    value
}
