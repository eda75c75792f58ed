//! Orders upstreams by the approximate number that their namespace has, because nginx searches
//! them one by one.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::model::{Upstream, UpstreamId};

/// Namespaces with fewer upstreams than this come first.
const SMALL: u32 = 64;

/// Each further step begins at this many times as many upstreams.
const STEP: u32 = 4;

/// The last step. One digit stands for it in file names.
const LAST: u8 = 9;

/// The step of each namespace that has many upstreams; the others have step 0.
///
/// Where hosts share a server, nginx compares the name of a request's upstream with the names of
/// all upstreams, in the order in which it read them. The upstreams of namespaces with many come
/// last, so that a namespace with many upstreams cannot slow down the requests of one with few by
/// more than a small factor. Steps are used because a namespace whose step changes gets new file
/// names.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Crowds(BTreeMap<Arc<str>, u8>);

impl Crowds {
    /// Counts these upstreams by namespace.
    pub fn of(upstreams: &[Arc<Upstream>]) -> Self {
        let mut counts = BTreeMap::<&Arc<str>, u32>::new();
        for upstream in upstreams {
            *counts.entry(&upstream.id.namespace).or_default() += 1;
        }
        let steps = counts.into_iter().map(|(namespace, count)| (namespace, step(count)));
        Crowds(steps.filter(|(_, step)| *step > 0).map(|(namespace, step)| (Arc::clone(namespace), step)).collect())
    }

    /// The step of an upstream: 0 comes first.
    pub fn step(&self, id: &UpstreamId) -> u8 {
        self.0.get(&id.namespace).copied().unwrap_or_default()
    }
}

fn step(count: u32) -> u8 {
    let ends = std::iter::successors(Some(SMALL), |end| end.checked_mul(STEP));
    ends.take_while(|end| count >= *end).fold(0, |step, _| step + 1).min(LAST)
}

#[cfg(test)]
mod tests {
    use super::step;

    #[test]
    fn steps_are_far_apart() {
        let rows = [(0, 0), (63, 0), (64, 1), (255, 1), (256, 2), (1023, 2), (1024, 3), (4096, 4), (10_000, 4)];
        for (count, expected) in rows.into_iter().chain([(u32::MAX, 9)]) {
            assert_eq!(step(count), expected, "{count}");
        }
    }
}
