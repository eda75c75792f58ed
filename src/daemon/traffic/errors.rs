//! What nginx complains about, by the object that a request was for: read from its error log.

mod line;
mod tail;

pub use line::{ERROR_KINDS, ErrorLine};
pub use tail::Tail;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeLabelSet};
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::Unit;
use serde_json::{Value, json};

use super::Traffic;
use super::figures::OTHERS;
use super::table::Table;
use crate::daemon::explain::{Address, location};
use ingressd_model::ObjectId;
use line::AboutRequest;

/// How many Ingresses and kinds are counted apart; the rest is counted together.
const MOST: usize = 1000;

/// How many of them a namespace has.
const MOST_OF_NAMESPACE: usize = MOST / 4;

/// How many routes are compared with paths at a look; beyond it, it is not known whose a line is.
const MOST_COMPARED: usize = 2000;

/// How much of a message is kept, in characters.
const LONGEST: usize = 300;

/// How many kinds are told of an Ingress.
const MOST_REPORTED: usize = 5;

/// What nginx complained about since the start.
#[derive(Debug, Default)]
pub struct Errors(Mutex<Complaints>);

#[derive(Debug, Default)]
struct Complaints {
    of_objects: BTreeMap<Key, SaidOfKind>,
    /// Bytes that were not read, because there were too many.
    left_out: u64,
    /// Whether the log could not be read when it was last looked at.
    fails: bool,
}

/// What no Ingress takes has no names.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, EncodeLabelSet)]
struct Key {
    namespace: String,
    ingress: String,
    kind: &'static str,
}

#[derive(Debug)]
struct SaidOfKind {
    count: u64,
    first: Timestamp,
    last: Timestamp,
    /// The newest message, and the endpoint that it is about.
    message: String,
    endpoint: String,
}

impl Errors {
    fn lock(&self) -> MutexGuard<'_, Complaints> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts the lines that were added.
    pub fn take(&self, tail: &mut Tail, table: &Table) {
        let (mut complaints, mut compared) = (self.lock(), 0);
        let read = tail.take(&mut |line| complaints.count(line, table, &mut compared));
        let failed = std::mem::replace(&mut complaints.fails, read.is_err());
        match read {
            Ok(left_out) => complaints.left_out += left_out,
            Err(error) if !failed => tracing::warn!(
                "what nginx complains about is not counted as long as {} cannot be read: {error}; traffic.errors = false \
                 does without it",
                tail.path().display()
            ),
            Err(_) => {}
        }
    }

    /// Adds what nginx said of an Ingress to the explanation of a request that this takes, the
    /// newest first. Names of members are a contract.
    pub fn report_of(&self, subject: &mut Value) {
        let taker = subject["route"]["answer"]["ingress"].as_str();
        let Some((namespace, ingress)) = taker.and_then(|name| name.split_once('/')) else { return };
        let complaints = self.lock();
        let is_of = |key: &Key| key.namespace == namespace && key.ingress == ingress;
        let mut said: Vec<_> = complaints.of_objects.iter().filter(|(key, _)| is_of(key)).collect();
        said.sort_by_key(|(_, said)| std::cmp::Reverse(said.last));
        let reported = said.into_iter().take(MOST_REPORTED).map(|(key, said)| {
            json!({
                "kind": key.kind,
                "about": ERROR_KINDS.iter().find(|kind| kind.name == key.kind).map(|kind| kind.about),
                "count": said.count,
                "since": format!("{:.0}", said.first),
                "last": format!("{:.0}", said.last),
                "message": said.message,
                "endpoint": said.endpoint,
            })
        });
        subject["nginx_said"] = reported.collect();
    }
}

impl Complaints {
    fn count(&mut self, line: &str, table: &Table, compared: &mut usize) {
        let Some(line) = ErrorLine::read(line) else { return };
        let object = line.request.and_then(|request| object(request, table, compared));
        let [namespace, ingress] = object.map_or_else(Default::default, |object| {
            [&object.namespace, &object.name_with_kind()].map(ToString::to_string)
        });
        let key = Key { namespace, ingress, kind: line.kind().name };
        let (key, now) = (self.bounded(key), Timestamp::now());
        let first = SaidOfKind { count: 0, first: now, last: now, message: String::new(), endpoint: String::new() };
        let said = self.of_objects.entry(key).or_insert(first);
        (said.count, said.last) = (said.count + 1, now);
        said.message = line.message.chars().take(LONGEST).collect();
        let endpoint = line.request.and_then(|request| request.upstream).unwrap_or_default();
        // The path behind the address is the client's.
        said.endpoint = endpoint.splitn(4, '/').take(3).collect::<Vec<_>>().join("/").chars().take(LONGEST).collect();
    }

    /// The key, or the one for the rest: no namespace takes the places of all others.
    fn bounded(&self, key: Key) -> Key {
        if self.of_objects.contains_key(&key) {
            return key;
        }
        let of_namespace = self.of_objects.keys().filter(|known| known.namespace == key.namespace).count();
        match (self.of_objects.len() >= MOST, of_namespace >= MOST_OF_NAMESPACE) {
            (true, _) => Key { namespace: OTHERS.to_owned(), ingress: String::new(), ..key },
            (_, true) => Key { ingress: OTHERS.to_owned(), ..key },
            (false, false) => key,
        }
    }
}

/// The object that takes the request.
fn object<'t>(request: AboutRequest<'_>, table: &'t Table, compared: &mut usize) -> Option<&'t ObjectId> {
    let target = if request.target.starts_with('/') { request.target } else { "/" };
    let address = Address::read(&format!("http://{}{target}", request.host))?;
    let server = table.destination(address.host(), None)?.server;
    let mut objects = server.all_routes().map(|route| &*route.origin.object);
    let first = objects.next()?;
    let object = match objects.all(|object| object == first) {
        true => first,
        false => {
            *compared += server.routes.len();
            let path = address.path().filter(|_| *compared <= MOST_COMPARED)?;
            &*location(server, path).route.origin.object
        }
    };
    object.kind.asks_for_routes().then_some(object)
}

/// Writes the counts, whenever metrics are asked for.
#[derive(Debug)]
pub struct ExposedErrors(pub Arc<Traffic>);

impl Collector for ExposedErrors {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let complaints = self.0.errors().lock();
        let help = "Lines of nginx's error log, by the Ingress whose request they are about, and by kind";
        let mut family = encoder.encode_descriptor("nginx_errors", help, None, MetricType::Counter)?;
        for (key, said) in &complaints.of_objects {
            family.encode_family(key)?.encode_counter::<Key, _, u64>(&said.count, None)?;
        }
        let help = "Bytes of nginx's error log that were not read, because there were too many at once";
        let mut family =
            encoder.encode_descriptor("nginx_errors_left_out", help, Some(&Unit::Bytes), MetricType::Counter)?;
        family.encode_counter::<Key, _, u64>(&complaints.left_out, None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_namespace_takes_the_places_of_all_others() {
        let mut complaints = Complaints::default();
        let of = |namespace: &str, ingress: &str| Key {
            namespace: namespace.to_owned(),
            ingress: ingress.to_owned(),
            kind: "other",
        };
        let mut keep = |key: Key| {
            let now = Timestamp::now();
            let said = SaidOfKind { count: 1, first: now, last: now, message: String::new(), endpoint: String::new() };
            let key = complaints.bounded(key);
            complaints.of_objects.insert(key.clone(), said);
            key
        };
        for number in 0..2 * MOST {
            keep(of("evil", &number.to_string()));
        }
        assert_eq!(keep(of("evil", "x")), of("evil", OTHERS));
        assert_eq!(keep(of("good", "web")), of("good", "web"));
        for number in 0..2 * MOST {
            keep(of(&number.to_string(), "x"));
        }
        assert_eq!(keep(of("late", "web")), of(OTHERS, ""));
        assert!(complaints.of_objects.len() <= MOST + 1, "{}", complaints.of_objects.len());
    }
}
