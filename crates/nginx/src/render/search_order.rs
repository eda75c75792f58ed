//! Orders upstreams and wildcard hosts by the approximate number that their namespace has, because
//! nginx searches them one by one.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use ingressd_model::{Server, ServerName, Upstream, UpstreamId};

/// Namespaces with fewer than this come first.
const SMALL: u32 = 64;

/// Each further step begins at this many times as many.
const STEP: u32 = 4;

/// The last step. One digit stands for it in file names.
const LAST: u8 = 9;

/// The step of each namespace that has many upstreams or wildcard hosts; the others have step 0.
///
/// Where hosts share a server, nginx compares the name of a request's upstream with the names of
/// all upstreams, in the order in which it read them. A host without an exact name is compared
/// with all wildcard hosts in the same manner. Those of namespaces with many come last, so that a
/// namespace with many cannot slow down the requests of one with few by more than a small factor.
/// Steps are used because a namespace whose step changes gets new file names.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SearchOrder {
    upstreams: Steps,
    wildcards: Steps,
}

type Steps = BTreeMap<Arc<str>, u8>;

impl SearchOrder {
    /// Counts these upstreams, and the wildcard hosts among these servers, by namespace.
    pub fn of(upstreams: &[Arc<Upstream>], servers: &[Arc<Server>]) -> Self {
        let wildcards = servers.iter().filter(|server| matches!(server.name, ServerName::Wildcard(_)));
        SearchOrder {
            upstreams: steps(upstreams.iter().map(|upstream| &upstream.id.namespace)),
            wildcards: steps(wildcards.map(|server| &server.origin.object.namespace)),
        }
    }

    /// The step of an upstream: 0 comes first.
    pub fn step(&self, id: &UpstreamId) -> u8 {
        self.upstreams.get(&id.namespace).copied().unwrap_or_default()
    }

    /// The step of a wildcard host: 0 comes first.
    pub fn step_of_wildcard(&self, server: &Server) -> u8 {
        self.wildcards.get(&server.origin.object.namespace).copied().unwrap_or_default()
    }
}

/// The steps of namespaces that do not come first. The iterator has one item for each thing of a
/// namespace.
fn steps<'n>(namespaces: impl Iterator<Item = &'n Arc<str>>) -> Steps {
    let mut counts = HashMap::<&Arc<str>, u32>::new();
    for namespace in namespaces {
        *counts.entry(namespace).or_default() += 1;
    }
    let steps = counts.into_iter().map(|(namespace, count)| (namespace, step(count)));
    steps.filter(|(_, step)| *step > 0).map(|(namespace, step)| (Arc::clone(namespace), step)).collect()
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
