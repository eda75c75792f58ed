//! The limits for the cost of a request, compared with a hand-written configuration.

use crate::common::report::Target;

/// The limits.
pub const TARGETS: &[Target] = &[
    ("specification, own servers: to hand-written", 100, 1.15),
    ("specification, own servers: to hand-written", 1000, 1.15),
    ("specification, own servers: to hand-written", 5000, 1.15),
    ("specification, shared servers, middle: to hand-written", 1000, 1.28),
];
