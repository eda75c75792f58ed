//! Tells of a failure once, and once when it is over; it must not know what failed.

use std::collections::BTreeSet;
use std::fmt::Display;

/// Something that is done again and again and may fail.
#[derive(Debug)]
pub struct Trouble {
    what: &'static str,
    /// The sorts of failures that were told since it last worked.
    told: BTreeSet<u16>,
}

impl Trouble {
    /// `what` is a clause such as "the Lease cannot be renewed".
    pub fn of(what: &'static str) -> Self {
        Trouble { what, told: BTreeSet::new() }
    }

    /// It failed. Failures of one sort, which may differ in what they say, are told once.
    pub fn failed(&mut self, sort: u16, why: &dyn Display) {
        if self.told.insert(sort) {
            // It may quote what others wrote: nothing of it may steer a terminal.
            let why = why.to_string().replace(char::is_control, " ");
            tracing::warn!("{}: {why}", self.what);
        }
    }

    /// Whether it was told that it fails.
    pub fn is_told(&self) -> bool {
        !self.told.is_empty()
    }

    /// It worked.
    pub fn worked(&mut self) {
        if self.is_told() {
            self.told.clear();
            tracing::info!("no longer: {}", self.what);
        }
    }
}
