//! The result of an attempt to apply, as a value.

use std::sync::Arc;
use std::time::Duration;

use ingressd_model::{ObjectId, Origin};

/// An error message of nginx about a configuration, traced to the objects that caused it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Complaint {
    /// The generated file, and the line in it where nginx named one.
    pub place: Option<(Arc<str>, Option<u32>)>,
    /// nginx's message, without time, level and place.
    pub words: String,
    /// The field, when the line has one owner.
    pub origin: Option<Origin>,
    /// Whether nginx ran this very line before: then a change elsewhere makes it wrong.
    pub ran_before: bool,
    /// The objects that may have caused it, the most likely first: owners of changed lines of the
    /// file.
    pub candidates: Vec<Arc<ObjectId>>,
}

/// The result of an attempt to apply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// The files are those of the confirmed generation: nothing was written, tested or reloaded.
    Unchanged {
        /// The confirmed generation.
        generation: u64,
    },
    /// nginx runs the new generation.
    Confirmed {
        /// The new one.
        generation: u64,
        /// How long the test took.
        test: Duration,
        /// The time from SIGHUP to confirmation.
        reload: Duration,
        /// How many files were written.
        written: usize,
    },
    /// nginx refused files; nothing was switched. `complaints` is never empty.
    Refused {
        /// One for each culprit found.
        complaints: Vec<Complaint>,
        /// How long the test took.
        test: Duration,
    },
    /// The new generation was not confirmed; the last confirmed one stays or is put back.
    RolledBack {
        /// The generation that runs.
        generation: Option<u64>,
        /// Why the new one was not confirmed.
        why: String,
        /// What nginx cannot do with the configuration as a whole, as a message for those whose
        /// objects made it too large; `None` when size is not the reason, or when nginx does not
        /// take even the last confirmed generation.
        too_much: Option<String>,
    },
    /// nginx's master was killed while it read a new generation. The last confirmed one is in
    /// place for its next start; no other is put there before nginx runs.
    Killed {
        /// The generation in place.
        generation: Option<u64>,
        /// Why nginx does not run.
        why: String,
        /// Whether nginx read these files when it was killed; otherwise they were not tried.
        read: bool,
    },
    /// nginx does not run; the new generation is tested and in place for its start.
    Ready {
        /// The new one.
        generation: u64,
        /// Why nginx is considered not to run.
        why: String,
    },
    /// The administrator pinned a generation: these files were not applied.
    Pinned {
        /// The pinned generation.
        generation: u64,
        /// How many files differ from the generation, or exist on one side only.
        waiting: usize,
        /// The result of keeping nginx at the generation; never `Pinned` itself.
        outcome: Box<Outcome>,
    },
    /// The host failed before anything was switched (disk, permissions). The last generation
    /// stays.
    Failed {
        /// What failed, with path and remedy.
        why: String,
    },
}

impl Outcome {
    /// How long nginx's test of the files took, when there was one.
    pub fn test(&self) -> Option<Duration> {
        match self {
            Outcome::Confirmed { test, .. } | Outcome::Refused { test, .. } => {
                Some(*test).filter(|test| !test.is_zero())
            }
            _ => None,
        }
    }

    /// What happened to nginx, whether it got the wanted files or a pinned generation.
    pub fn of_nginx(&self) -> &Outcome {
        match self {
            Outcome::Pinned { outcome, .. } => outcome.of_nginx(),
            outcome => outcome,
        }
    }

    /// Whether the files are in place, so that nginx runs them or will run them when it starts.
    pub const fn is_in_place(&self) -> bool {
        match self {
            Outcome::Unchanged { .. } | Outcome::Confirmed { .. } | Outcome::Ready { .. } => true,
            Outcome::Refused { .. }
            | Outcome::RolledBack { .. }
            | Outcome::Killed { .. }
            | Outcome::Pinned { .. }
            | Outcome::Failed { .. } => false,
        }
    }
}
