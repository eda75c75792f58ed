//! Namespaces whose changes come after those of all others, because they cost so much.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long changes of a namespace come last after one of them was too much for nginx.
const PROBATION: Duration = Duration::from_secs(3600);

/// Changes wait for this many times as long as it took to find their fault.
pub(super) const REST: u32 = 9;

/// After so many refused versions within [`MEMORY`] the changes of a namespace come last, or after
/// fewer that took a [`REST`]th of it.
const MANY: u32 = 8;

/// How long a refused version counts, and how long changes come last after it.
const MEMORY: Duration = Duration::from_secs(60);

/// The namespaces that come last.
#[derive(Debug, Default)]
pub(super) struct Stragglers {
    known: BTreeMap<Arc<str>, Straggler>,
    /// What other namespaces cost lately.
    lately: BTreeMap<Arc<str>, Lately>,
}

#[derive(Debug, Clone, Copy)]
struct Lately {
    since: Instant,
    /// The number of its refused versions.
    refused: u32,
    /// How long it took to find them.
    found: Duration,
    /// How long it took to prove that nginx refuses them.
    asked: Duration,
}

#[derive(Debug, Clone, Copy)]
struct Straggler {
    /// When its changes may be tried again.
    rested: Instant,
    /// Until when its changes come last even so.
    last: Instant,
    /// The number of its refused versions so far.
    refused: u32,
    /// Whether one of its changes was too much lately.
    is_heavy: bool,
}

impl Stragglers {
    /// Records that `count` versions of this namespace were refused, that it took `cost` to find
    /// them, and that so many of its objects are `out` now. Returns whether its changes come last
    /// from now on, and did not before.
    pub(super) fn refused(&mut self, namespace: &Arc<str>, count: u32, cost: Duration, out: u32, now: Instant) -> bool {
        let last = now + MEMORY;
        if let Some(straggler) = self.known.get_mut(namespace) {
            straggler.refused += count;
            straggler.last = straggler.last.max(last);
            // To find each mistake once causes no waiting, however many there are; a mistake that
            // is written again after it was found does.
            let wasted = straggler.refused.saturating_sub(out).min(count);
            straggler.rested = straggler.rested.max(now + cost * REST * wasted / count.max(1));
            return false;
        }
        self.cost(namespace, Lately { since: now, refused: count, found: cost, asked: Duration::ZERO })
    }

    /// Records how long it took to prove what nginx refuses of this namespace.
    pub(super) fn asked(&mut self, namespace: &Arc<str>, cost: Duration, now: Instant) {
        match self.known.get_mut(namespace) {
            Some(straggler) => straggler.rested = straggler.rested.max(now) + cost * REST,
            None => {
                self.cost(namespace, Lately { since: now, refused: 0, found: Duration::ZERO, asked: cost });
            }
        }
    }

    /// Adds to what a namespace cost lately. Returns whether that is so much that its changes come
    /// last from now on.
    fn cost(&mut self, namespace: &Arc<str>, new: Lately) -> bool {
        let now = new.since;
        self.lately.retain(|_, lately| now < lately.since + MEMORY);
        let before = self.lately.remove(namespace);
        let lately = before.map_or(new, |before| Lately {
            since: before.since,
            refused: before.refused + new.refused,
            found: before.found + new.found,
            asked: before.asked + new.asked,
        });
        let Lately { refused, found, asked, .. } = lately;
        let is_much = refused >= MANY || (found + asked) * REST >= MEMORY;
        if is_much {
            let straggler = Straggler { rested: now + asked * REST, last: now + MEMORY, refused, is_heavy: false };
            self.known.insert(Arc::clone(namespace), straggler);
        } else {
            self.lately.insert(Arc::clone(namespace), lately);
        }
        is_much
    }

    /// Records that a change of this namespace was too much, and how long it waits.
    pub(super) fn too_much(&mut self, namespace: &Arc<str>, rest: Duration, now: Instant) {
        let straggler = Straggler { rested: now + rest, last: now + PROBATION, refused: 0, is_heavy: true };
        self.known.insert(Arc::clone(namespace), straggler);
    }

    /// Records that a change of this namespace killed nginx.
    pub(super) fn fatal(&mut self, namespace: &Arc<str>, now: Instant) {
        let end = now + PROBATION;
        self.known.insert(Arc::clone(namespace), Straggler { rested: end, last: end, refused: 0, is_heavy: true });
    }

    /// Records that nginx took the waiting changes of the namespaces for which this holds.
    pub(super) fn caught_up(&mut self, now: Instant, is_served: impl Fn(&str) -> bool) {
        self.known.retain(|namespace, straggler| !is_served(namespace) || now < straggler.last);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.known.is_empty()
    }

    pub(super) fn has(&self, namespace: &str) -> bool {
        self.known.contains_key(namespace)
    }

    /// How long this namespace still has to wait; zero when it may be tried.
    pub(super) fn rests(&self, namespace: &str, now: Instant) -> Duration {
        self.known.get(namespace).map_or(Duration::ZERO, |straggler| straggler.rested.saturating_duration_since(now))
    }

    /// Whether a change of it was too much lately.
    pub(super) fn is_heavy(&self, namespace: &str) -> bool {
        self.known.get(namespace).is_some_and(|straggler| straggler.is_heavy)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_namespace_waits_nine_times_as_long_as_the_proofs_of_its_mistakes_took() {
        let (mut stragglers, now) = (Stragglers::default(), Instant::now());
        let [evil, good] = ["evil", "good"].map(Arc::from);
        for _ in 0..7 {
            stragglers.asked(&evil, Duration::from_secs(1), now);
        }
        stragglers.asked(&good, Duration::from_secs(1), now);
        assert!(stragglers.has("evil") && !stragglers.has("good"));
        assert_eq!(stragglers.rests("evil", now), Duration::from_secs(63));
        stragglers.asked(&evil, Duration::from_secs(1), now);
        assert_eq!(stragglers.rests("evil", now), Duration::from_secs(72), "each further one costs more");
    }

    #[test]
    fn a_few_refused_versions_that_took_long_to_find_come_last_and_do_not_wait() {
        let (mut stragglers, now) = (Stragglers::default(), Instant::now());
        let [slow, quick] = ["slow", "quick"].map(Arc::from);
        let seconds = Duration::from_secs;
        assert!(!stragglers.refused(&slow, 1, seconds(4), 1, now));
        assert!(stragglers.refused(&slow, 1, seconds(4), 2, now));
        assert_eq!(stragglers.rests("slow", now), Duration::ZERO);
        assert!((1..8).all(|out| !stragglers.refused(&quick, 1, seconds(0), out, now)));
        assert!(stragglers.refused(&quick, 1, seconds(0), 8, now));
    }
}
