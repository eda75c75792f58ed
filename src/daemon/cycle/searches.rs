//! Which objects an attempt leaves out, and for which search.

use super::trial::{Suspect, Trial};

/// What goes on while a snapshot is brought to nginx.
#[derive(Debug, Default)]
pub(super) struct Searches {
    /// For those who caused complaints about places.
    pub(super) trials: Vec<Trial>,
    /// The search for objects that made the configuration as a whole too much.
    pub(super) weighing: Option<Trial>,
    /// How many attempts that one took.
    pub(super) weighings: usize,
    /// Changes that come after those of everybody else.
    pub(super) waiting: Vec<Suspect>,
}

impl Searches {
    /// What the next attempt does without.
    pub(super) fn excluded(&self) -> impl Iterator<Item = &Suspect> {
        self.trials.iter().chain(&self.weighing).flat_map(Trial::excluded).chain(&self.waiting)
    }

    /// Whether nobody is searched for.
    pub(super) fn is_idle(&self) -> bool {
        self.trials.is_empty() && self.weighing.is_none()
    }

    /// Objects that wait are left out anyway: a search among them would learn nothing.
    pub(super) fn wait_for(&mut self, waiting: Vec<Suspect>) {
        let waits = |trial: &Trial| waiting.iter().any(|suspect| trial.concerns(&suspect.id));
        self.trials.retain(|trial| !waits(trial));
        self.waiting = waiting;
    }
}
