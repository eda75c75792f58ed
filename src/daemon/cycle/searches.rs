//! The searches for culprits, and the objects that an attempt leaves out for them.

use super::trial::{Suspect, Trial};

/// The searches that run while a snapshot is applied.
#[derive(Debug, Default)]
pub(super) struct Searches {
    /// Searches for the causes of complaints about lines.
    pub(super) trials: Vec<Trial>,
    /// The search for objects that made the configuration as a whole too much.
    pub(super) weighing: Option<Trial>,
    /// The number of attempts of that search.
    pub(super) weighings: usize,
    /// Changes that come after those of all others.
    pub(super) waiting: Vec<Suspect>,
}

impl Searches {
    /// The objects that the next attempt leaves out.
    pub(super) fn excluded(&self) -> impl Iterator<Item = &Suspect> {
        self.trials.iter().chain(&self.weighing).flat_map(Trial::excluded).chain(&self.waiting)
    }

    /// Whether no search runs.
    pub(super) fn is_idle(&self) -> bool {
        self.trials.is_empty() && self.weighing.is_none()
    }

    /// Sets the objects that wait. They are left out anyway, so a search among them would learn
    /// nothing.
    pub(super) fn wait_for(&mut self, waiting: Vec<Suspect>) {
        let waits = |trial: &Trial| waiting.iter().any(|suspect| trial.concerns(&suspect.id));
        self.trials.retain(|trial| !waits(trial));
        self.waiting = waiting;
    }
}
