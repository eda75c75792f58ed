//! When a failed attempt is made again, on a clock that the caller reads.

use std::time::{Duration, Instant};

use ingressd_apply::Outcome;

/// The first and the longest pause.
const PATIENCE: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(60));

/// The backoff after failed attempts. A refusal of single objects is no failure: these wait for a
/// new version.
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

    /// Sets when an attempt is due, whatever the result of the last one was.
    pub fn at(&mut self, due: Instant) {
        self.due = Some(due);
    }

    /// Records that an attempt begins.
    pub fn began(&mut self) {
        self.due = None;
    }

    /// Records that the attempt has ended.
    pub fn ended(&mut self, outcome: &Outcome, now: Instant) {
        match outcome {
            // A generation that waits is no failure; the periodic look at nginx notices when nginx
            // runs again.
            Outcome::Pinned { outcome, .. } => self.ended(outcome, now),
            // nginx refused the files and no object is to blame: the cause may be outside of the
            // cluster.
            Outcome::RolledBack { .. } | Outcome::Killed { .. } | Outcome::Failed { .. } | Outcome::Refused { .. } => {
                self.due = Some(now + self.patience);
                self.patience = (self.patience * 2).min(PATIENCE.1);
            }
            Outcome::Unchanged { .. } | Outcome::Confirmed { .. } | Outcome::Ready { .. } => self.patience = PATIENCE.0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_are_tried_again_ever_more_seldom() {
        let failures = [
            Outcome::Failed { why: String::new() },
            Outcome::RolledBack { generation: None, why: String::new(), too_much: None },
            Outcome::Refused { complaints: Vec::new(), test: Duration::ZERO },
        ];
        let now = Instant::now();
        for failure in failures {
            let mut retry = Retry::default();
            for expected in [1, 2, 4, 8, 16, 32, 60, 60] {
                retry.began();
                assert_eq!(retry.due(), None);
                retry.ended(&failure, now);
                assert_eq!(retry.due(), Some(now + Duration::from_secs(expected)), "{failure:?}");
            }
            retry.began();
            retry.ended(&Outcome::Unchanged { generation: 1 }, now);
            assert_eq!(retry.due(), None);
            retry.ended(&failure, now);
            assert_eq!(retry.due(), Some(now + Duration::from_secs(1)));
        }
    }
}
