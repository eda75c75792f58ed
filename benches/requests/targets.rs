//! How much more than with a hand-written configuration a request may cost; it must not know how anything is measured.

use crate::common::report::Target;

/// The limits.
pub const TARGETS: &[Target] = &[
    ("specification, own servers: to hand-written", 100, 1.15),
    ("specification, own servers: to hand-written", 1000, 1.15),
    ("specification, own servers: to hand-written", 5000, 1.15),
    ("specification, shared servers, middle: to hand-written", 1000, 1.28),
];
