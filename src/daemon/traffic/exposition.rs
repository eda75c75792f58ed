//! The counts as metrics for Prometheus.

use std::fmt;
use std::sync::{Arc, PoisonError};

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, NoLabelSet};
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::Unit;

use super::Traffic;
use super::figures::{BOUNDS, Figure, Figures, Key, METHODS, STATUSES, Times};

/// Writes the counts, whenever metrics are asked for.
#[derive(Debug)]
pub struct Exposed(pub Arc<Traffic>);

impl Collector for Exposed {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let figures = self.0.0.lock().unwrap_or_else(PoisonError::into_inner);
        let all = figures.objects.sorted();
        requests(&all, &mut encoder)?;
        let help = "Time from the first byte of a request to the last one of its answer";
        let times = all.iter().map(|(key, figure)| (*key, &figure.duration));
        histogram("traffic_duration", help, times, &mut encoder)?;
        let help = "Time that endpoints took for a request, all that were tried together";
        let times = all.iter().map(|(key, figure)| (*key, &figure.upstream));
        histogram("traffic_upstream", help, times, &mut encoder)?;
        let counts = all.iter().map(|(key, figure)| (*key, figure.sent));
        bytes("traffic_sent", "Bytes of answers, with their heads", counts, &mut encoder)?;
        let counts = all.iter().map(|(key, figure)| (*key, figure.received));
        bytes("traffic_received", "Bytes of requests, with their heads", counts, &mut encoder)?;
        losses(&figures, &mut encoder)
    }
}

fn requests(all: &[(&Key, &Figure)], encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
    let help = "Requests by namespace, Ingress, Service, class of the method and class of the status";
    let mut family = encoder.encode_descriptor("traffic_requests", help, None, MetricType::Counter)?;
    for (key, figure) in all {
        for (method, counts) in METHODS.into_iter().zip(&figure.requests) {
            for (status, count) in STATUSES.into_iter().zip(counts).filter(|(_, count)| **count > 0) {
                let labels = (labels(key), [("method", method), ("status", status)]);
                family.encode_family(&labels)?.encode_counter::<NoLabelSet, _, u64>(count, None)?;
            }
        }
    }
    Ok(())
}

fn histogram<'k>(
    name: &str,
    help: &str,
    all: impl Iterator<Item = (&'k Key, &'k Times)>,
    encoder: &mut DescriptorEncoder<'_>,
) -> fmt::Result {
    let mut family = encoder.encode_descriptor(name, help, Some(&Unit::Seconds), MetricType::Histogram)?;
    for (key, times) in all {
        let bounds = BOUNDS.into_iter().chain([f64::INFINITY]);
        let buckets: Vec<_> = bounds.zip(times.counts).collect();
        let count = times.counts.iter().sum();
        family.encode_family(&labels(key))?.encode_histogram::<NoLabelSet>(times.sum, count, &buckets, None)?;
    }
    Ok(())
}

fn bytes<'k>(
    name: &str,
    help: &str,
    all: impl Iterator<Item = (&'k Key, u64)>,
    encoder: &mut DescriptorEncoder<'_>,
) -> fmt::Result {
    let mut family = encoder.encode_descriptor(name, help, Some(&Unit::Bytes), MetricType::Counter)?;
    for (key, count) in all {
        family.encode_family(&labels(key))?.encode_counter::<NoLabelSet, _, u64>(&count, None)?;
    }
    Ok(())
}

fn losses(figures: &Figures, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
    for (name, help, count) in [
        ("traffic_unread_lines", "Lines about requests that could not be read", figures.unread),
        ("traffic_overflows", "Times that nginx had no room for lines about requests", figures.overflows),
    ] {
        let mut family = encoder.encode_descriptor(name, help, None, MetricType::Counter)?;
        family.encode_counter::<NoLabelSet, _, u64>(&count, None)?;
    }
    let help = "Of how many requests one was read the last time; 1 where all were. Counts are corrected by it";
    let mut family = encoder.encode_descriptor("traffic_sampling", help, None, MetricType::Gauge)?;
    family.encode_gauge::<_>(&i64::try_from(figures.sampling.every()).unwrap_or(i64::MAX))
}

fn labels(key: &Key) -> [(&'static str, &str); 3] {
    [("namespace", &key.namespace), ("ingress", &key.ingress), ("service", &key.service)]
}
