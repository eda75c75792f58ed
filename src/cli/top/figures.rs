//! What happened between two looks, by host, Ingress or Service. It must not know how it is shown.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use serde::Serialize;

use super::{Arguments, By, SortKey};
use crate::daemon::{Counted, TrafficReport, quantile};

/// What happened between two looks.
#[derive(Debug, Serialize)]
pub struct Between {
    #[serde(skip)]
    pub by: &'static str,
    /// How long that was.
    pub seconds: f64,
    /// Of how many requests one was read; 1 where all were.
    pub sampling: u64,
    pub requests_per_second: f64,
    #[serde(skip)]
    pub server_errors_per_second: f64,
    /// The time that stands for everything longer.
    #[serde(skip)]
    pub longest: f64,
    pub rows: Vec<Row>,
}

/// The figures of one host, Ingress or Service.
#[derive(Debug, Serialize)]
pub struct Row {
    #[serde(flatten)]
    pub name: Name,
    pub requests_per_second: f64,
    pub client_errors_per_second: f64,
    pub server_errors_per_second: f64,
    pub p50_seconds: Option<f64>,
    pub p99_seconds: Option<f64>,
    pub upstream_p50_seconds: Option<f64>,
    pub upstream_p99_seconds: Option<f64>,
    pub sent_bytes_per_second: f64,
    pub received_bytes_per_second: f64,
}

/// What a row is about.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(untagged)]
pub enum Name {
    Host { host: String },
    Ingress { namespace: String, ingress: String },
    Service { namespace: String, service: String },
}

impl Name {
    fn of(counted: &Counted, by: By) -> Self {
        let namespace = counted.namespace.clone();
        match by {
            By::Host => Name::Host { host: counted.host.clone() },
            By::Ingress => Name::Ingress { namespace, ingress: counted.ingress.clone() },
            By::Service => Name::Service { namespace, service: counted.service.clone() },
        }
    }

    /// The name in one word.
    pub fn word(&self) -> String {
        match self {
            Name::Host { host } => host.clone(),
            Name::Ingress { namespace, ingress: name } | Name::Service { namespace, service: name } => {
                match (&**namespace, &**name) {
                    ("", "") => "-".to_owned(),
                    (namespace, "") => format!("{namespace}/-"),
                    (namespace, name) => format!("{namespace}/{name}"),
                }
            }
        }
    }
}

/// The figures by which `sort` has them, of what was counted after the earlier look.
pub fn between(earlier: &TrafficReport, now: &TrafficReport, arguments: &Arguments) -> Between {
    let (by, seconds) = (arguments.by, now.seconds - earlier.seconds);
    let of = |report: &TrafficReport| match by {
        By::Host => sums(&report.hosts, by),
        By::Ingress | By::Service => sums(&report.objects, by),
    };
    let (before, after) = (of(earlier), of(now));
    let mut rows: Vec<_> = after
        .into_iter()
        .map(|(name, after)| match before.get(&name) {
            Some(before) => (name, combined(&after, before, u64::saturating_sub)),
            None => (name, after),
        })
        .filter(|(name, counted)| {
            counted.requests.iter().any(|count| *count > 0) && name.word().contains(&arguments.filter)
        })
        .map(|(name, counted)| row(name, &counted, seconds, &now.bounds))
        .collect();
    rows.sort_by(|one, other| order(one, other, arguments.sort).then_with(|| one.name.cmp(&other.name)));
    Between {
        by: match by {
            By::Host => "HOST",
            By::Ingress => "INGRESS",
            By::Service => "SERVICE",
        },
        seconds,
        sampling: now.sampling.max(1),
        requests_per_second: rows.iter().map(|row| row.requests_per_second).sum(),
        server_errors_per_second: rows.iter().map(|row| row.server_errors_per_second).sum(),
        longest: now.bounds.last().copied().unwrap_or(f64::INFINITY),
        rows,
    }
}

fn sums(all: &[Counted], by: By) -> BTreeMap<Name, Counted> {
    let mut sums = BTreeMap::<Name, Counted>::new();
    for counted in all {
        let sum = sums.entry(Name::of(counted, by)).or_default();
        *sum = combined(sum, counted, u64::saturating_add);
    }
    sums
}

/// Another daemon may know other ranges: what one of them lacks is 0.
fn combined(one: &Counted, other: &Counted, combine: fn(u64, u64) -> u64) -> Counted {
    let each = |one: &[u64], other: &[u64]| {
        let at = |counts: &[u64], number: usize| counts.get(number).copied().unwrap_or(0);
        (0..one.len().max(other.len())).map(|number| combine(at(one, number), at(other, number))).collect()
    };
    Counted {
        requests: each(&one.requests, &other.requests),
        duration: each(&one.duration, &other.duration),
        upstream: each(&one.upstream, &other.upstream),
        sent: combine(one.sent, other.sent),
        received: combine(one.received, other.received),
        ..Counted::default()
    }
}

fn row(name: Name, counted: &Counted, seconds: f64, bounds: &[f64]) -> Row {
    let quantile = |counts: &[u64], share: f64| quantile(counts, bounds, share);
    // Lines may not have been read again meanwhile.
    let rate = |count: u64| if seconds > 0.0 { count as f64 / seconds } else { 0.0 };
    let class = |class: usize| rate(counted.requests.get(class).copied().unwrap_or(0));
    Row {
        name,
        requests_per_second: rate(counted.requests.iter().sum()),
        client_errors_per_second: class(4),
        server_errors_per_second: class(5),
        p50_seconds: quantile(&counted.duration, 0.5),
        p99_seconds: quantile(&counted.duration, 0.99),
        upstream_p50_seconds: quantile(&counted.upstream, 0.5),
        upstream_p99_seconds: quantile(&counted.upstream, 0.99),
        sent_bytes_per_second: rate(counted.sent),
        received_bytes_per_second: rate(counted.received),
    }
}

fn order(one: &Row, other: &Row, sort: SortKey) -> Ordering {
    let value = |row: &Row| match sort {
        SortKey::Rate => row.requests_per_second,
        SortKey::Errors => row.server_errors_per_second,
        SortKey::P50 => row.p50_seconds.unwrap_or(0.0),
        SortKey::P99 => row.p99_seconds.unwrap_or(0.0),
        SortKey::Bytes => row.sent_bytes_per_second + row.received_bytes_per_second,
        SortKey::Name => 0.0,
    };
    value(other).total_cmp(&value(one))
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;
    use crate::cli::{Cli, Command};

    const BOUNDS: [f64; 8] = [0.005, 0.025, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0];

    fn arguments(words: &[&str]) -> Arguments {
        match Cli::parse_from([&["ingressd", "top"], words].concat()).command {
            Command::Top(arguments) => arguments,
            other => panic!("{other:?}"),
        }
    }

    fn counted(ingress: &str, service: &str, good: u64, bad: u64, slow: u64) -> Counted {
        let mut duration = vec![0; BOUNDS.len() + 1];
        (duration[0], duration[5]) = (good + bad - slow, slow);
        Counted {
            namespace: "shop".to_owned(),
            ingress: ingress.to_owned(),
            service: service.to_owned(),
            requests: vec![0, 0, good, 0, 0, bad],
            upstream: duration.clone(),
            duration,
            sent: 1000 * good,
            ..Counted::default()
        }
    }

    /// Names and rates.
    fn reported(words: &[&str]) -> Vec<(String, f64, f64)> {
        let report =
            |seconds, objects| TrafficReport { seconds, bounds: BOUNDS.to_vec(), objects, ..TrafficReport::default() };
        let earlier = report(10.0, vec![counted("web", "a", 100, 0, 0), counted("idle", "c", 5, 5, 5)]);
        let objects = vec![
            counted("web", "a", 120, 4, 0),
            counted("web", "b", 10, 0, 0),
            counted("idle", "c", 5, 5, 5),
            counted("new", "a", 2, 4, 6),
        ];
        let between = between(&earlier, &report(12.0, objects), &arguments(words));
        let rows = between.rows.iter();
        rows.map(|row| (row.name.word(), row.requests_per_second, row.server_errors_per_second)).collect()
    }

    #[test]
    fn what_happened_between_two_looks_is_reported_by_what_is_asked_for() {
        let row = |name: &str, rate, errors| (format!("shop/{name}"), rate, errors);
        assert_eq!(reported(&[]), [row("web", 17.0, 2.0), row("new", 3.0, 2.0)]);
        assert_eq!(reported(&["--by", "service"]), [row("a", 15.0, 4.0), row("b", 5.0, 0.0)]);
        assert_eq!(reported(&["--sort", "p99"]), [row("new", 3.0, 2.0), row("web", 17.0, 2.0)]);
        assert_eq!(reported(&["--sort", "name", "--filter", "e"]), [row("new", 3.0, 2.0), row("web", 17.0, 2.0)]);
        assert_eq!(reported(&["--filter", "new"]), [row("new", 3.0, 2.0)]);
        assert_eq!(reported(&["--by", "host"]), []);
    }
}
