//! How an attempt to apply ended, as a value.

use std::sync::Arc;
use std::time::Duration;

use crate::model::{ObjectId, Origin};

/// What nginx said about a configuration, traced to those who caused it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Complaint {
    /// The file of ours that it is about, and the line in it, where nginx named one.
    pub place: Option<(Arc<str>, Option<u32>)>,
    /// nginx's own words, without time, level and place.
    pub words: String,
    /// The field, when the line has one owner.
    pub origin: Option<Origin>,
    /// Whether nginx ran this very line before: then it is what others changed that makes it wrong.
    pub ran_before: bool,
    /// The objects that may have caused it, the likeliest first: owners of changed lines of the file.
    pub suspects: Vec<Arc<ObjectId>>,
}

/// How an attempt ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// The files are those of the confirmed generation: nothing was written, tested or reloaded.
    Unchanged {
        /// The one that is confirmed.
        generation: u64,
    },
    /// nginx runs the new generation.
    Confirmed {
        /// The new one.
        generation: u64,
        /// How long the test took.
        test: Duration,
        /// How long it took from HUP to confirmation.
        reload: Duration,
        /// How many files were written.
        written: usize,
    },
    /// nginx refused files; nothing was switched. Never empty.
    Refused {
        /// One for each culprit found.
        complaints: Vec<Complaint>,
        /// How long the test took.
        test: Duration,
    },
    /// The new generation was not confirmed; the last confirmed one is in place, still or again.
    RolledBack {
        /// The generation that runs.
        generation: Option<u64>,
        /// Why the new one was not confirmed.
        why: String,
        /// What nginx cannot do with the configuration as a whole, as said to whoever made it too heavy; `None` when it is not
        /// a matter of how much there is, or not even the last confirmed generation can be taken.
        too_much: Option<String>,
    },
    /// nginx's master was killed while it read a new generation: the last confirmed one is in place for its next start, and
    /// no other comes before it runs.
    Killed {
        /// The generation in place.
        generation: Option<u64>,
        /// Why nginx does not run.
        why: String,
        /// Whether it is these files that it read; otherwise they wait.
        read: bool,
    },
    /// nginx does not run: the new generation is in place, tested and ready for its start.
    Ready {
        /// The new one.
        generation: u64,
        /// Why nginx is held not to run.
        why: String,
    },
    /// The administrator wants to stay at a generation: these files were not applied.
    Pinned {
        /// The one to stay at.
        generation: u64,
        /// How many files differ from those of the generation, or are in one of both alone.
        waiting: usize,
        /// What came of keeping nginx at the generation: anything but this.
        outcome: Box<Outcome>,
    },
    /// The outside world failed before anything was switched: disk, permissions. The last generation stays.
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

    /// What became of nginx, whether the files that were asked for are the ones that it got or not.
    pub fn of_nginx(&self) -> &Outcome {
        match self {
            Outcome::Pinned { outcome, .. } => outcome.of_nginx(),
            outcome => outcome,
        }
    }

    /// Whether the files are in place, so that nginx runs them or will when it starts.
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
