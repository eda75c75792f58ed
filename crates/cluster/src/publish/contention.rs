//! The backoff from writing an object that another controller keeps overwriting.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use ingressd_model::finding::{Finding, Reason};
use ingressd_model::{Field, ObjectId, Origin};

/// How often an object may be rewritten without a pause: a leader that was just replaced may
/// overwrite once or twice.
const FREE: u32 = 3;

/// The first and the longest pause.
const FIRST_PAUSE: Duration = Duration::from_secs(10);
const LONGEST_PAUSE: Duration = Duration::from_secs(30 * 60);

/// How long no rewrite must have been needed before the count is reset.
const QUIET: Duration = Duration::from_secs(10 * 60);

/// Counts how often one object had to be rewritten because another controller changed it.
#[derive(Debug, Clone, Default)]
pub struct Contention {
    rewrites: u32,
    last: Option<Instant>,
    pause: Duration,
}

impl Contention {
    /// The time before which the object is not written.
    pub fn paused_until(&self, now: Instant) -> Option<Instant> {
        self.last.map(|last| last + self.pause).filter(|until| *until > now)
    }

    /// Whether another controller keeps changing the object.
    pub fn is_contended(&self, now: Instant) -> bool {
        self.rewrites >= FREE && !self.is_over(now)
    }

    /// Whether the count has been reset by time.
    pub fn is_over(&self, now: Instant) -> bool {
        self.last.is_none_or(|last| now >= last + self.pause + QUIET)
    }

    /// Counts a rewrite with the same content.
    pub fn rewritten(&mut self, now: Instant) {
        if self.is_over(now) {
            *self = Contention::default();
        }
        self.rewrites += 1;
        self.last = Some(now);
        if self.rewrites >= FREE {
            self.pause = (self.pause * 2).clamp(FIRST_PAUSE, LONGEST_PAUSE);
        }
    }
}

/// The finding about objects that another controller keeps changing.
pub fn findings(contended: &[Arc<ObjectId>]) -> Vec<Finding> {
    let note = "another controller keeps changing the addresses in the status, so ingressd writes them less and less \
                often; let only one controller serve the class of the object, or switch off publishing in one of them \
                (here: publish.status)";
    let finding = |id: &Arc<ObjectId>| {
        let origin = Origin::field(id, Field::Other("status.loadBalancer".into()));
        Finding::new(Reason::StatusContention, origin, note)
    };
    contended.iter().map(finding).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_and_are_forgotten_after_a_time_of_quiet() {
        let mut now = Instant::now();
        let mut contention = Contention::default();
        let mut pauses = Vec::new();
        for _ in 0..14 {
            contention.rewritten(now);
            let until = contention.paused_until(now).unwrap_or(now);
            pauses.push((until - now).as_secs());
            now = until;
        }
        assert_eq!(pauses, [0, 0, 10, 20, 40, 80, 160, 320, 640, 1280, 1800, 1800, 1800, 1800]);
        assert!(contention.is_contended(now));
        now += QUIET;
        assert!(!contention.is_contended(now));
        contention.rewritten(now);
        assert_eq!(contention.paused_until(now), None);
    }
}
