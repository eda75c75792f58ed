//! The counts at one moment, for people: `ingressd top` compares those of two. It must not know
//! how they are shown.

use std::sync::PoisonError;

use serde::{Deserialize, Serialize};

use super::Traffic;
use super::figures::{BOUNDS, Figure, Times};
use super::recent::Recent;

/// The counts at one moment.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct TrafficReport {
    /// Whether requests are counted.
    pub counts: bool,
    /// When lines were last read, in seconds since counting began.
    pub seconds: f64,
    /// Of how many requests one was read the last time; 1 where all were.
    pub sampling: u64,
    /// The upper bounds of the ranges of times, in seconds; the last range has none.
    pub bounds: Vec<f64>,
    pub hosts: Vec<Counted>,
    pub objects: Vec<Counted>,
}

/// The counts of a host, or of an Ingress and a Service.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Counted {
    pub host: String,
    pub namespace: String,
    pub ingress: String,
    pub service: String,
    /// By the first digit of their status, 0 for those without one.
    pub requests: Vec<u64>,
    /// By the time of the request.
    pub duration: Vec<u64>,
    /// By the time of endpoints.
    pub upstream: Vec<u64>,
    pub sent: u64,
    pub received: u64,
    /// By the minute, for the status page alone.
    #[serde(skip)]
    pub recent: Recent,
}

impl Counted {
    fn of(figure: &Figure) -> Self {
        let [reads, writes] = &figure.requests;
        let counts = |times: &Times| times.counts.to_vec();
        Counted {
            requests: reads.iter().zip(writes).map(|(reads, writes)| reads + writes).collect(),
            duration: counts(&figure.duration),
            upstream: counts(&figure.upstream),
            sent: figure.sent,
            received: figure.received,
            recent: figure.recent.clone(),
            ..Counted::default()
        }
    }
}

/// The value below which this share of the values is, as Prometheus estimates it: values are
/// spread evenly within a range, and none is greater than the last bound.
pub fn quantile(counts: &[u64], bounds: &[f64], share: f64) -> Option<f64> {
    let rank = counts.iter().sum::<u64>() as f64 * share;
    let (mut below, mut lower) = (0.0, 0.0);
    for (count, upper) in counts.iter().zip(bounds.iter().copied()) {
        let within = *count as f64;
        if within > 0.0 && below + within >= rank {
            return Some(lower + (upper - lower) * (rank - below) / within);
        }
        (below, lower) = (below + within, upper);
    }
    (rank > 0.0).then_some(lower)
}

impl Traffic {
    /// The counts now.
    pub fn report(&self) -> TrafficReport {
        let figures = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let hosts = figures.hosts.sorted().into_iter();
        let objects = figures.objects.sorted().into_iter();
        TrafficReport {
            counts: figures.counts,
            seconds: figures.read.as_secs_f64(),
            sampling: figures.sampling.every(),
            bounds: BOUNDS.to_vec(),
            hosts: hosts.map(|(host, figure)| Counted { host: host.to_string(), ..Counted::of(figure) }).collect(),
            objects: objects
                .map(|(key, figure)| Counted {
                    namespace: key.namespace.to_string(),
                    ingress: key.ingress.to_string(),
                    service: key.service.to_string(),
                    ..Counted::of(figure)
                })
                .collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_estimated_as_prometheus_does() {
        let of = |counts: [u64; 9], share| quantile(&counts, &BOUNDS, share);
        assert_eq!(of([0; 9], 0.5), None);
        assert_eq!(of([10, 0, 0, 0, 0, 0, 0, 0, 0], 0.5), Some(0.0025));
        assert_eq!(of([5, 0, 0, 0, 0, 5, 0, 0, 0], 0.99), Some(0.5 + 0.5 * 4.9 / 5.0));
        assert_eq!(of([0, 0, 0, 0, 0, 0, 0, 0, 3], 0.5), Some(10.0));
    }

    #[test]
    fn answers_of_all_methods_are_one_number() {
        let traffic = Traffic::default();
        for line in ["a.example - - 200 GET 0.100 9 1 -", "a.example - - 503 POST 0.300 9 1 -"] {
            traffic.count(line);
        }
        let report = traffic.report();
        let [all] = report.objects.as_slice() else { panic!("{report:?}") };
        assert_eq!((&all.requests[..], all.sent, traffic.requests()), (&[0, 0, 1, 0, 0, 1][..], 18, 2));
        assert_eq!(all.recent.until(0)[59], [2, 1]);
    }
}
