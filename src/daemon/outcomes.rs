//! What became of the latest changes: how long each took, or why it is not served.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use super::reporter::describe;
use ingressd_apply::{Cause, Outcome};

/// How many are kept.
const MOST: usize = 50;

/// A change that nginx was given, or that could not be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    pub at: SystemTime,
    /// The generation that was made; `None` when the change failed.
    pub generation: Option<u64>,
    /// The objects that changed, as far as they are known.
    pub cause: Option<Cause>,
    /// Why the change is not served.
    pub failure: Option<Arc<str>>,
    /// How many files were written.
    pub files: Option<usize>,
    /// The time from SIGHUP to confirmation.
    pub reload: Option<Duration>,
    /// The time from the change to its end.
    pub waited: Option<Duration>,
}

/// The earlier steps with that of this outcome; nothing where nothing new happened.
pub fn with(
    earlier: &Arc<[Step]>,
    outcome: &Outcome,
    cause: Option<&Cause>,
    waited: Option<Duration>,
    at: SystemTime,
) -> Option<Arc<[Step]>> {
    let step = Step { at, generation: None, cause: None, failure: None, files: None, reload: None, waited };
    let step = match outcome {
        Outcome::Unchanged { .. } | Outcome::Pinned { .. } => return None,
        Outcome::Confirmed { generation, reload, written, .. } => Step {
            generation: Some(*generation),
            cause: cause.cloned(),
            files: Some(*written),
            reload: Some(*reload),
            ..step
        },
        Outcome::Ready { generation, .. } => {
            let (generation, failure) = (Some(*generation), Some(Arc::from(describe(outcome))));
            // It waits for nginx, however often that is looked at.
            if earlier.last().is_some_and(|last| (last.generation, &last.failure) == (generation, &failure)) {
                return None;
            }
            Step { generation, cause: cause.cloned(), failure, waited: None, ..step }
        }
        Outcome::Refused { .. } | Outcome::RolledBack { .. } | Outcome::Killed { .. } | Outcome::Failed { .. } => {
            let failure = Some(Arc::from(describe(outcome)));
            // A change that fails is tried again and again.
            if earlier.last().is_some_and(|last| last.failure == failure && last.generation.is_none()) {
                return None;
            }
            Step { failure, waited: None, ..step }
        }
    };
    let surplus = (earlier.len() + 1).saturating_sub(MOST);
    Some(earlier.iter().skip(surplus).cloned().chain([step]).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_latest_changes_are_kept_and_one_that_is_tried_again_once() {
        let mut steps: Arc<[Step]> = Arc::default();
        let mut report = |outcome: &Outcome| {
            steps = with(&steps, outcome, None, None, SystemTime::UNIX_EPOCH).unwrap_or_else(|| Arc::clone(&steps));
            steps.len()
        };
        let failed = |why: &str| Outcome::Failed { why: why.to_owned() };
        assert_eq!(report(&Outcome::Unchanged { generation: 1 }), 0);
        assert_eq!(
            [report(&failed("a")), report(&failed("a")), report(&failed("b")), report(&failed("a"))],
            [1, 1, 2, 3]
        );
        let waits = || Outcome::Ready { generation: 9, why: "nginx does not run".to_owned() };
        assert_eq!([report(&waits()), report(&waits())], [4, 4]);
        for generation in 0..60 {
            let (test, reload) = (Duration::ZERO, Duration::from_millis(7));
            report(&Outcome::Confirmed { generation, test, reload, written: 3 });
        }
        assert_eq!((steps.len(), steps[0].generation, steps[49].generation), (50, Some(10), Some(59)));
        assert_eq!((steps[49].files, steps[49].reload), (Some(3), Some(Duration::from_millis(7))));
    }
}
