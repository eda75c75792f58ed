//! What an attempt leaves out while culprits are searched for.

use std::sync::Arc;
use std::time::Instant;

use super::bisection::{Candidate, ComplaintSearch};

/// The searches that run while a snapshot is applied.
#[derive(Debug, Default)]
pub(super) struct Searches {
    /// Searches for the causes of complaints about lines.
    pub(super) running: Vec<ComplaintSearch>,
    /// What the next attempt tells about, when it is a weighing, and when that began.
    pub(super) weighing: Option<(Weighing, Instant)>,
    /// Changes that come after those of all others, or are left out of a weighing.
    pub(super) waiting: Vec<Candidate>,
}

/// Which search goes on with a weighing.
#[derive(Debug)]
pub(super) enum Weighing {
    /// That for the namespace whose changes are too much.
    OfAll,
    /// That for the objects of this one.
    Of(Arc<str>),
}

impl Searches {
    /// The objects that the next attempt leaves out.
    pub(super) fn excluded(&self) -> impl Iterator<Item = &Candidate> {
        self.running.iter().flat_map(|search| search.bisection.excluded()).chain(&self.waiting)
    }

    /// Sets the objects that wait. They are left out anyway, so a search among them would learn
    /// nothing.
    pub(super) fn wait_for(&mut self, waiting: Vec<Candidate>) {
        let waits = |search: &ComplaintSearch| waiting.iter().any(|candidate| search.concerns(&candidate.id));
        self.running.retain(|search| !waits(search));
        (self.waiting, self.weighing) = (waiting, None);
    }
}
