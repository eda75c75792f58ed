//! How many upstreams and wildcard hosts each namespace has, by and large, for the order in which nginx reads them.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::model::{Server, ServerName, Upstream, UpstreamId};

/// Namespaces with fewer than this come first.
const SMALL: u32 = 64;

/// So many times as many are one step further back.
const STEP: u32 = 4;

/// The last step. One digit stands for it in names of files.
const LAST: u8 = 9;

/// The namespaces that have many upstreams or many wildcard hosts, each with how far back those are.
///
/// Where hosts share a server, nginx compares the name of a request's upstream with those of all upstreams, in the order in which
/// it read them; a host that has no name of its own it compares with all wildcards. Those of a namespace with many come after
/// those of namespaces with few: what others have delays a request by no more than a few times as many comparisons for each of
/// these namespaces as its own namespace causes. By steps, because a namespace that comes to another one gives new names to its files.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Crowds {
    upstreams: Steps,
    wildcards: Steps,
}

type Steps = BTreeMap<Arc<str>, u8>;

impl Crowds {
    /// Those of these upstreams and servers.
    pub fn of(upstreams: &[Arc<Upstream>], servers: &[Arc<Server>]) -> Self {
        let wildcards = servers.iter().filter(|server| matches!(server.name, ServerName::Wildcard(_)));
        Crowds {
            upstreams: steps(upstreams.iter().map(|upstream| &upstream.id.namespace)),
            wildcards: steps(wildcards.map(|server| &server.origin.object.namespace)),
        }
    }

    /// How far back an upstream is: 0 is in front.
    pub fn step(&self, id: &UpstreamId) -> u8 {
        self.upstreams.get(&id.namespace).copied().unwrap_or_default()
    }

    /// How far back a wildcard host is: 0 is in front.
    pub fn step_of_wildcard(&self, server: &Server) -> u8 {
        self.wildcards.get(&server.origin.object.namespace).copied().unwrap_or_default()
    }
}

/// The steps of namespaces that are not in front; each is named as often as it has something.
fn steps<'n>(namespaces: impl Iterator<Item = &'n Arc<str>>) -> Steps {
    let mut counts = BTreeMap::<&Arc<str>, u32>::new();
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
