//! How many hosts and routes nginx serves, counted as states change.

use std::sync::Arc;

use crate::daemon::host_counts::HostCounts;
use ingressd_model::{ObjectState, WorkingVersion};

/// What nginx serves according to states, counted.
#[derive(Debug, Default)]
pub struct Tally {
    states: Arc<[Arc<ObjectState>]>,
    hosts: HostCounts,
    routes: u64,
}

impl Tally {
    /// What these states tell.
    pub fn of(states: &Arc<[Arc<ObjectState>]>) -> Self {
        let mut tally = Tally::default();
        tally.follow(states);
        tally
    }

    /// Goes on to other states.
    pub fn follow(&mut self, states: &Arc<[Arc<ObjectState>]>) {
        let before = std::mem::replace(&mut self.states, Arc::clone(states));
        for either in ObjectState::differences(&before, states) {
            let [before, now] =
                <[_; 2]>::from(either.left_and_right()).map(|state| state.and_then(|one| one.in_place()));
            self.hosts.add(now.map_or(&[], hosts));
            drop(self.hosts.take_out(before.map_or(&[], hosts)));
            let answering = |version: Option<&WorkingVersion>| version.map_or(0, |one| u64::from(one.answering()));
            self.routes = self.routes + answering(now) - answering(before);
        }
    }

    /// How many hosts are served.
    pub fn hosts(&self) -> usize {
        self.hosts.len()
    }

    /// How many routes are served; those that answer 503 are not.
    pub const fn routes(&self) -> u64 {
        self.routes
    }
}

fn hosts(version: &WorkingVersion) -> &[Arc<str>] {
    if version.served > 0 { &version.hosts } else { &[] }
}
