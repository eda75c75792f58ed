//! Counts of requests by object. It must not know where lines come from, or who asks for counts.

use std::collections::HashMap;
use std::sync::Arc;

use super::line::Line;
use ingressd_model::{Kind, Route};

/// How many objects are counted apart; the rest is counted together. Each is some 30 rows of a
/// Prometheus.
const MOST: usize = 1000;

/// The namespace of the rest.
pub const OTHERS: &str = "(others)";

/// The upper bounds of the times that are counted together, in seconds.
pub const BOUNDS: [f64; 8] = [0.005, 0.025, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0];

/// The classes of methods.
pub const METHODS: [&str; 2] = ["read", "write"];

/// The classes of statuses; the first is for what nginx has ended without one.
pub const STATUSES: [&str; 6] = ["none", "1xx", "2xx", "3xx", "4xx", "5xx"];

/// What requests are counted by. A request that no object takes has no Ingress, one that nginx
/// answers itself no Service.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key {
    pub namespace: Arc<str>,
    pub ingress: Arc<str>,
    pub service: Arc<str>,
}

/// Times of requests.
#[derive(Debug, Clone, Default)]
pub struct Times {
    /// How many were no longer than each of [`BOUNDS`] and longer than the one before; the last
    /// ones were longer than all.
    pub counts: [u64; BOUNDS.len() + 1],
    pub sum: f64,
}

impl Times {
    fn add(&mut self, seconds: f64) {
        self.counts[BOUNDS.partition_point(|bound| *bound < seconds)] += 1;
        self.sum += seconds;
    }
}

/// The counts of one object and Service.
#[derive(Debug, Clone, Default)]
pub struct Figure {
    /// By [`METHODS`] and [`STATUSES`].
    pub requests: [[u64; STATUSES.len()]; METHODS.len()],
    pub duration: Times,
    pub upstream: Times,
    pub sent: u64,
    pub received: u64,
}

/// All counts since the start.
#[derive(Debug, Default)]
pub struct Figures {
    figures: HashMap<Key, Figure>,
    /// Lines that nginx has not written so.
    pub unread: u64,
    /// How often nginx had no room for its lines.
    pub overflows: u64,
    /// Whether lines could not be read when they were last looked for.
    pub fails: bool,
}

impl Figures {
    /// Counts a line about a request for this route.
    pub fn count(&mut self, line: &Line<'_>, route: Option<&Route>) {
        let figure = self.figure(key(line, route));
        let class = usize::from(line.status / 100);
        let class = if class < STATUSES.len() { class } else { 0 };
        figure.requests[usize::from(line.writes)][class] += 1;
        figure.duration.add(line.seconds);
        if let Some(upstream) = line.upstream {
            figure.upstream.add(upstream);
        }
        figure.sent = figure.sent.wrapping_add(line.sent);
        figure.received = figure.received.wrapping_add(line.received);
    }

    fn figure(&mut self, key: Key) -> &mut Figure {
        let key = if self.figures.len() < MOST || self.figures.contains_key(&key) { key } else { rest() };
        self.figures.entry(key).or_default()
    }

    /// The counts by name.
    pub fn sorted(&self) -> Vec<(&Key, &Figure)> {
        let mut all: Vec<_> = self.figures.iter().collect();
        all.sort_by_key(|(key, _)| *key);
        all
    }
}

fn rest() -> Key {
    Key { namespace: OTHERS.into(), ingress: "".into(), service: "".into() }
}

fn key(line: &Line<'_>, route: Option<&Route>) -> Key {
    let object = route.map(|route| &route.origin.object).filter(|object| object.kind == Kind::Ingress);
    let namespace = object.map_or_else(|| Arc::from(""), |object| Arc::clone(&object.namespace));
    let ingress = object.map_or_else(|| Arc::from(""), |object| Arc::clone(&object.name));
    let upstream = route.and_then(|route| route.action.upstream());
    // A part of the requests may go to another Service of the same namespace.
    let told = line.service.filter(|(at, _)| *at == &*namespace).map(|(_, name)| name);
    let service = match (upstream, told) {
        (Some(upstream), told) if told.is_none_or(|told| told == &*upstream.service) => Arc::clone(&upstream.service),
        (Some(_), Some(told)) => told.into(),
        _ => "".into(),
    };
    Key { namespace, ingress, service }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(text: &str) -> Line<'_> {
        Line::read(text.as_bytes()).unwrap()
    }

    #[test]
    fn requests_are_counted_by_class_and_time() {
        let mut figures = Figures::default();
        for text in [
            "a.example - - 200 GET 0.005 100 10 0.004",
            "a.example - - 502 POST 3.000 50 20 1.000, 2.000",
            "a.example - - 000 GET 60.000 0 30 -",
            "a.example - - 499 GET 0.006 0 0 -",
        ] {
            figures.count(&line(text), None);
        }
        let all = figures.sorted();
        let [(key, figure)] = all.as_slice() else { panic!("{all:?}") };
        assert_eq!((&*key.namespace, &*key.ingress, &*key.service), ("", "", ""));
        assert_eq!(figure.requests, [[1, 0, 1, 0, 1, 0], [0, 0, 0, 0, 0, 1]]);
        assert_eq!(figure.duration.counts, [1, 1, 0, 0, 0, 0, 0, 1, 1]);
        assert_eq!(figure.upstream.counts, [1, 0, 0, 0, 0, 0, 0, 1, 0]);
        assert!((figure.duration.sum - 63.011).abs() < 1e-9, "{}", figure.duration.sum);
        assert_eq!((figure.sent, figure.received), (150, 60));
    }

    #[test]
    fn what_is_more_than_enough_is_counted_together() {
        let mut figures = Figures::default();
        for number in 0..MOST + 7 {
            let key = Key { namespace: format!("n{number}").into(), ..rest() };
            figures.figure(key).sent += 1;
        }
        figures.figure(Key { namespace: "n0".into(), ..rest() }).sent += 1;
        let all = figures.sorted();
        assert_eq!(all.len(), MOST + 1);
        let sent = |name: &str| all.iter().find(|(key, _)| *key.namespace == *name).map(|(_, figure)| figure.sent);
        assert_eq!((sent(OTHERS), sent("n0")), (Some(7), Some(2)));
    }
}
