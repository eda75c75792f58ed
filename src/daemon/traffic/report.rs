//! The counts for `ingressd top`, which compares those of two moments.

use std::sync::PoisonError;

use serde::{Deserialize, Serialize};

use super::Traffic;
use super::figures::{BOUNDS, Figure, Times};

/// The counts at one moment.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct TrafficReport {
    /// Whether requests are counted.
    pub counts: bool,
    /// When lines were last read, in seconds since counting began.
    pub seconds: f64,
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
            ..Counted::default()
        }
    }
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
