//! The limits for measurements over a folder of manifests.

use crate::common::report::Target;

/// The limits.
pub const TARGETS: &[Target] = &[
    ("translate and render, cold", 5000, 150.0),
    ("no-op: files written", 100, 0.0),
    ("no-op: files written", 1000, 0.0),
    ("no-op: files written", 5000, 0.0),
    ("no-op: reloads", 100, 0.0),
    ("no-op: reloads", 1000, 0.0),
    ("no-op: reloads", 5000, 0.0),
    ("route add, p99", 100, 150.0),
    ("route add, p50", 1000, 250.0),
    ("route add, p99", 1000, 400.0),
    ("route add, p99", 5000, 2000.0),
    ("resident memory, at start", 5000, 80.0),
    ("resident memory, at the end", 5000, 80.0),
];
