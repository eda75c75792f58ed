//! Counts of requests by object. It must not know where lines come from, or who asks for counts.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::Arc;
use std::time::Duration;

use super::line::Line;
use super::named::Named;
use super::recent::Recent;
use super::table::Destination;
use ingressd_translate::written_host;

/// How many objects, and how many hosts, are counted apart; the rest is counted together. Each
/// object is some 30 rows of a Prometheus.
const MOST: usize = 1000;

/// How many of them a namespace has.
const MOST_OF_NAMESPACE: usize = MOST / 4;

/// The namespace of the rest, and its host.
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

/// Values by ranges.
#[derive(Debug, Clone)]
pub struct Buckets<const RANGES: usize> {
    /// How many were no greater than each bound and greater than the one before; the last ones
    /// were greater than all.
    pub counts: [u64; RANGES],
    pub sum: f64,
}

/// Times of requests, by [`BOUNDS`].
pub type Times = Buckets<{ BOUNDS.len() + 1 }>;

impl<const RANGES: usize> Default for Buckets<RANGES> {
    fn default() -> Self {
        Buckets { counts: [0; RANGES], sum: 0.0 }
    }
}

impl<const RANGES: usize> Buckets<RANGES> {
    /// Adds a value so many times. There is one bound less than there are ranges.
    pub fn add(&mut self, bounds: &[f64], value: f64, times: u64) {
        self.counts[bounds.partition_point(|bound| *bound < value).min(RANGES - 1)] += times;
        self.sum += value * times as f64;
    }
}

/// The counts of one object and Service, or of one host.
#[derive(Debug, Clone, Default)]
pub struct Figure {
    /// By [`METHODS`] and [`STATUSES`].
    pub requests: [[u64; STATUSES.len()]; METHODS.len()],
    pub duration: Times,
    pub upstream: Times,
    pub sent: u64,
    pub received: u64,
    pub recent: Recent,
}

impl Figure {
    fn count(&mut self, line: &Line<'_>, minute: u64) {
        let class = usize::from(line.status / 100);
        let class = if class < STATUSES.len() { class } else { 0 };
        self.requests[usize::from(line.writes)][class] += line.stands_for;
        self.recent.count(minute, line.stands_for, class == STATUSES.len() - 1);
        self.duration.add(&BOUNDS, line.seconds, line.stands_for);
        if let Some(upstream) = line.upstream {
            self.upstream.add(&BOUNDS, upstream, line.stands_for);
        }
        self.sent = self.sent.wrapping_add(line.sent.saturating_mul(line.stands_for));
        self.received = self.received.wrapping_add(line.received.saturating_mul(line.stands_for));
    }
}

/// Counts by key; so many keys have their own, and the rest is counted under another one.
#[derive(Debug)]
pub struct Bounded<K, V>(HashMap<K, V>);

impl<K, V> Default for Bounded<K, V> {
    fn default() -> Self {
        Bounded(HashMap::new())
    }
}

impl<K: Ord + Hash, V: Default> Bounded<K, V> {
    /// The counts of this key, or those of the rest.
    pub fn of(&mut self, key: K, most: usize, rest: impl FnOnce() -> K) -> &mut V {
        let key = if self.0.len() < most || self.0.contains_key(&key) { key } else { rest() };
        self.0.entry(key).or_default()
    }

    /// Whether this key has its own counts.
    pub fn has(&self, key: &K) -> bool {
        self.0.contains_key(key)
    }

    /// The counts by name.
    pub fn sorted(&self) -> Vec<(&K, &V)> {
        let mut all: Vec<_> = self.0.iter().collect();
        all.sort_by_key(|(key, _)| *key);
        all
    }
}

/// Reads one of so many lines where more wait than are read at a time; each that is read stands
/// for those before it that were not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sampling {
    every: u64,
    passed: u64,
}

impl Default for Sampling {
    fn default() -> Self {
        Sampling { every: 1, passed: 0 }
    }
}

impl Sampling {
    /// Begins where so many bytes wait: as long as they are no more than `most`, each line is
    /// read.
    pub fn begin(&mut self, waiting: u64, most: u64) {
        self.every = waiting.div_ceil(most).max(1);
    }

    /// Passes a line. Returns how many it stands for if it is to be read.
    pub fn pass(&mut self) -> Option<u64> {
        self.passed += 1;
        (self.passed >= self.every).then(|| std::mem::take(&mut self.passed))
    }

    /// How many lines at the end were not read, for which the last of them stands.
    pub fn end(&mut self) -> Option<u64> {
        Some(std::mem::take(&mut self.passed)).filter(|passed| *passed > 0)
    }

    /// Of how many requests one is read.
    pub fn every(self) -> u64 {
        self.every
    }
}

/// All counts since the start.
#[derive(Debug, Default)]
pub struct Figures {
    /// Whether requests are counted now.
    pub counts: bool,
    /// When lines were last read, since counting began under these settings.
    pub read: Duration,
    /// The minute in which lines are read.
    pub minute: u64,
    pub objects: Bounded<Key, Figure>,
    /// How many keys of each namespace have their own counts.
    by_namespace: HashMap<Arc<str>, usize>,
    /// By host, as rules have it. What no host of ours takes is under `*`.
    pub hosts: Bounded<Arc<str>, Figure>,
    /// Under the names of ingress-nginx, where that is asked for.
    pub named: Option<Named>,
    /// Of how many requests one is read.
    pub sampling: Sampling,
    /// Lines that nginx has not written so.
    pub unread: u64,
    /// How often nginx had no room for its lines.
    pub overflows: u64,
    /// Whether lines could not be read when they were last looked for.
    pub fails: bool,
}

impl Figures {
    /// Counts a line about a request that came here.
    pub fn count(&mut self, line: &Line<'_>, destination: Option<Destination<'_>>) {
        let key = self.bounded(key(line, destination));
        self.objects.of(key, MOST, rest).count(line, self.minute);
        let host = destination.map_or_else(|| "*".to_owned(), |destination| written_host(&destination.server.name));
        self.hosts.of(host.into(), MOST, || OTHERS.into()).count(line, self.minute);
        if let Some((named, destination)) = self.named.as_mut().zip(destination) {
            named.count(line, destination);
        }
    }
}

impl Figures {
    /// The key, or the one for the rest of a namespace that has many: no namespace takes the
    /// places of all others.
    fn bounded(&mut self, key: Key) -> Key {
        if self.objects.has(&key) {
            return key;
        }
        let count = self.by_namespace.entry(Arc::clone(&key.namespace)).or_default();
        if *count >= MOST_OF_NAMESPACE {
            return Key { namespace: key.namespace, ingress: OTHERS.into(), service: "".into() };
        }
        *count += 1;
        key
    }
}

fn rest() -> Key {
    Key { namespace: OTHERS.into(), ingress: "".into(), service: "".into() }
}

fn key(line: &Line<'_>, destination: Option<Destination<'_>>) -> Key {
    let route = destination.and_then(|destination| destination.route);
    let object = route.map(|route| &route.origin.object).filter(|object| object.kind.asks_for_routes());
    let namespace = object.map_or_else(|| Arc::from(""), |object| Arc::clone(&object.namespace));
    let ingress = object.map_or_else(|| Arc::from(""), |object| object.name_with_kind());
    let upstream = route.and_then(|route| route.action.upstream());
    // A part of the requests may go to another Service of the same namespace.
    let reported = line.service.filter(|reported| *reported.namespace == *namespace).map(|reported| reported.name);
    let service = match (upstream, reported) {
        (Some(upstream), reported) if reported.is_none_or(|reported| reported == &*upstream.service) => {
            Arc::clone(&upstream.service)
        }
        (Some(_), Some(reported)) => reported.into(),
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
    fn no_namespace_takes_the_places_of_all_others() {
        let mut figures = Figures::default();
        let of = |namespace: &str, ingress: String| Key {
            namespace: namespace.into(),
            ingress: ingress.into(),
            service: "".into(),
        };
        for number in 0..2 * MOST {
            let key = figures.bounded(of("evil", number.to_string()));
            figures.objects.of(key, MOST, rest).sent += 1;
        }
        assert_eq!(figures.objects.sorted().len(), MOST_OF_NAMESPACE + 1);
        assert_eq!(figures.bounded(of("good", "web".into())), of("good", "web".into()));
        assert_eq!(
            figures.bounded(of("evil", "7".into())),
            of("evil", "7".into()),
            "what has its own counts keeps them"
        );
        let rest = figures.objects.of(of("evil", OTHERS.into()), MOST, rest).sent;
        assert_eq!(rest as usize, 2 * MOST - MOST_OF_NAMESPACE);
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
        let all = figures.objects.sorted();
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
            figures.objects.of(key, MOST, rest).sent += 1;
        }
        figures.objects.of(Key { namespace: "n0".into(), ..rest() }, MOST, rest).sent += 1;
        let all = figures.objects.sorted();
        assert_eq!(all.len(), MOST + 1);
        let sent = |name: &str| all.iter().find(|(key, _)| *key.namespace == *name).map(|(_, figure)| figure.sent);
        assert_eq!((sent(OTHERS), sent("n0")), (Some(7), Some(2)));
    }

    #[test]
    fn where_many_wait_one_stands_for_several_and_none_is_lost() {
        let mut figures = Figures::default();
        for (waiting, lines) in [(1000, 10), (10_500, 105), (1000, 10)] {
            figures.sampling.begin(waiting, 1000);
            let read = line("a.example - - 200 GET 0.500 100 10 -");
            for _ in 0..lines {
                let Some(stands_for) = figures.sampling.pass() else { continue };
                figures.count(&Line { stands_for, ..read }, None);
            }
            let rest = figures.sampling.end();
            assert_eq!(rest, (lines == 105).then_some(6));
            figures.count(&Line { stands_for: rest.unwrap_or_default(), ..read }, None);
        }
        let all = figures.objects.sorted();
        let [(_, figure)] = all.as_slice() else { panic!("{all:?}") };
        assert_eq!((figure.requests[0][2], figure.sent, figure.duration.counts[4]), (125, 12_500, 125));
        assert!((figure.duration.sum - 62.5).abs() < 1e-9, "{}", figure.duration.sum);
        assert_eq!(figures.sampling.every(), 1);
    }
}
