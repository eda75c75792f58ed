//! The limits for measurements at a cluster.

use crate::common::report::Target;

/// The limits.
pub const TARGETS: &[Target] = &[
    ("cold start: generations", 100, 1.0),
    ("cold start: generations", 1000, 1.0),
    ("cold start: generations", 5000, 1.0),
    ("cold start to served, p50", 5000, 6000.0),
    ("route add, p50", 1000, 300.0),
    ("route add, p99", 1000, 500.0),
    ("route add, p99", 5000, 2500.0),
    ("endpoint change, p50", 1000, 300.0),
    ("endpoint change, p99", 1000, 500.0),
    ("endpoint change, p99", 5000, 2500.0),
    ("status after served, p99", 100, 300.0),
    ("status after served, p99", 1000, 300.0),
    ("status after served, p99", 5000, 300.0),
    ("churn, max", 1000, 2000.0),
    ("churn, endpoints, p50", 100, 200.0),
    ("churn, endpoints, p99", 100, 400.0),
    ("churn: failed requests", 100, 0.0),
    ("churn: failed requests", 1000, 0.0),
    ("churn: failed requests", 5000, 0.0),
    ("resident memory, at start", 5000, 80.0),
    ("resident memory, at the end", 5000, 80.0),
    ("fleet of 100: processor time of the leader, per second", 5000, 50.0),
    // The best of what was measured of other controllers, where that is the lower limit.
    ("cold start to served, p50", 1000, 1500.0),
    ("churn, endpoints, p50", 1000, 830.0),
    ("churn, endpoints, p99", 1000, 1280.0),
    ("resident memory, at the end", 1000, 75.0),
];
