//! Namespaces whose changes come after those of everybody else, because they cost so much; it must not know how that was found out.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long changes of a namespace come last after one of them was too much for nginx.
const PROBATION: Duration = Duration::from_secs(3600);

/// How many times as long as it took to find that out they rest.
const REST: u32 = 9;

/// These namespaces.
#[derive(Debug, Default)]
pub(super) struct Stragglers(BTreeMap<Arc<str>, Straggler>);

#[derive(Debug, Clone, Copy)]
struct Straggler {
    /// When they may be tried again.
    rested: Instant,
    /// Until when they come last all the same; `None` until nginx takes them.
    probation: Option<Instant>,
}

impl Stragglers {
    /// So much of this namespace was refused that the rest of it comes last.
    pub(super) fn refused(&mut self, namespace: &Arc<str>, now: Instant) {
        self.0.entry(Arc::clone(namespace)).or_insert(Straggler { rested: now, probation: None });
    }

    /// Something of this namespace was too much, and it took as long as this to find out.
    pub(super) fn too_much(&mut self, namespace: &Arc<str>, cost: Duration, now: Instant) {
        let straggler = Straggler { rested: now + cost * REST, probation: Some(now + PROBATION) };
        self.0.insert(Arc::clone(namespace), straggler);
    }

    /// Something of this namespace cost everybody nginx.
    pub(super) fn fatal(&mut self, namespace: &Arc<str>, now: Instant) {
        let end = now + PROBATION;
        self.0.insert(Arc::clone(namespace), Straggler { rested: end, probation: Some(end) });
    }

    /// What was left of those that this holds for was taken.
    pub(super) fn caught_up(&mut self, now: Instant, is_served: impl Fn(&str) -> bool) {
        self.0.retain(|namespace, straggler| {
            !is_served(namespace) || straggler.probation.is_some_and(|probation| now < probation)
        });
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn has(&self, namespace: &str) -> bool {
        self.0.contains_key(namespace)
    }

    /// How long one of these still rests; zero when it may be tried.
    pub(super) fn rests(&self, namespace: &str, now: Instant) -> Duration {
        self.0.get(namespace).map_or(Duration::ZERO, |straggler| straggler.rested.saturating_duration_since(now))
    }

    /// Whether something of it was too much lately.
    pub(super) fn is_heavy(&self, namespace: &str) -> bool {
        self.0.get(namespace).is_some_and(|straggler| straggler.probation.is_some())
    }
}
