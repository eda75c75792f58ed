//! When a failed attempt is made again, on a clock that the caller reads; it must not know what an attempt does.

use std::time::{Duration, Instant};

use crate::apply::Outcome;

/// First and longest time to the next attempt.
const PATIENCE: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(60));

/// What the host made fail is tried again, ever more seldom; what objects made fail waits for them to change.
#[derive(Debug)]
pub struct Retry {
    due: Option<Instant>,
    patience: Duration,
}

impl Default for Retry {
    fn default() -> Self {
        Retry { due: None, patience: PATIENCE.0 }
    }
}

impl Retry {
    /// When the next attempt is due, if it does not depend on a change.
    pub fn due(&self) -> Option<Instant> {
        self.due
    }

    /// An attempt is due at once, whatever became of the last one.
    pub fn at_once(&mut self, now: Instant) {
        self.due = Some(now);
    }

    /// An attempt begins.
    pub fn began(&mut self) {
        self.due = None;
    }

    /// The attempt ended.
    pub fn ended(&mut self, outcome: &Outcome, now: Instant) {
        match outcome {
            Outcome::RolledBack { .. } | Outcome::Failed { .. } => {
                self.due = Some(now + self.patience);
                self.patience = (self.patience * 2).min(PATIENCE.1);
            }
            Outcome::Unchanged { .. } | Outcome::Confirmed { .. } | Outcome::Refused { .. } | Outcome::Ready { .. } => {
                self.patience = PATIENCE.0;
            }
        }
    }
}
