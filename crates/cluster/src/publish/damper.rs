//! Holds back nodes that come and go: each time that one comes back, it has to stay for longer
//! before its addresses are published, so that it costs ever fewer writes. It must not know why a
//! node goes.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use super::desired::Nodes;

/// How long a node has to stay after its second withdrawal, and at most; each withdrawal doubles
/// it.
const PAUSE: (Duration, Duration) = (Duration::from_secs(2), Duration::from_secs(60));

/// How long a withdrawal is remembered: one after a longer time is like the first.
const MEMORY: Duration = Duration::from_secs(300);

/// What is remembered of the nodes.
#[derive(Debug, Default)]
pub struct Damper {
    nodes: HashMap<Arc<str>, Visits>,
}

#[derive(Debug)]
struct Visits {
    /// Since when the node may be published; `None` while it may not.
    since: Option<Instant>,
    /// When it was withdrawn last.
    withdrawn: Option<Instant>,
    /// How long it has to stay until it is published.
    pause: Duration,
}

impl Damper {
    /// Takes out of `nodes` those that came back too recently; `us` is the identity of this node.
    /// What the administrator drained comes back at once.
    pub fn hold_back(&mut self, nodes: &mut Nodes, us: &Arc<str>, drained: &BTreeSet<Arc<str>>, now: Instant) {
        let own = (!nodes.own.is_empty()).then_some(us);
        let there: BTreeSet<_> = nodes.others.iter().map(|(member, _)| &member.identity).chain(own).collect();
        for (identity, visits) in self.nodes.iter_mut().filter(|(identity, _)| !there.contains(identity)) {
            visits.leave(identity, drained.contains(identity), now);
        }
        self.nodes.retain(|_, visits| visits.since.is_some() || visits.is_remembered(now));
        if own.is_some() && !self.admits(us, now) {
            nodes.own.clear();
        }
        nodes.others.retain(|(member, _)| self.admits(&member.identity, now));
    }

    fn admits(&mut self, identity: &Arc<str>, now: Instant) -> bool {
        let new = || Visits { since: None, withdrawn: None, pause: Duration::ZERO };
        let visits = self.nodes.entry(Arc::clone(identity)).or_insert_with(new);
        now >= *visits.since.get_or_insert(now) + visits.pause
    }

    /// When the next node that is held back has stayed for long enough.
    pub fn next(&self, now: Instant) -> Option<Instant> {
        let ends = self.nodes.values().filter_map(|visits| Some(visits.since? + visits.pause));
        ends.filter(|end| *end > now).min()
    }
}

impl Visits {
    fn is_remembered(&self, now: Instant) -> bool {
        self.withdrawn.is_some_and(|withdrawn| now < withdrawn + MEMORY)
    }

    fn leave(&mut self, identity: &str, is_drained: bool, now: Instant) {
        if self.since.take().is_none() || is_drained {
            return;
        }
        self.pause = match self.is_remembered(now) {
            true => (self.pause * 2).clamp(PAUSE.0, PAUSE.1),
            false => Duration::ZERO,
        };
        self.withdrawn = Some(now);
        if !self.pause.is_zero() {
            let (node, seconds) = (identity.escape_debug(), self.pause.as_secs());
            tracing::warn!("the node {node} comes and goes: it is published again when it has stayed for {seconds} s");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::member::Member;
    use super::super::members::Life;
    use super::*;

    /// The times at which the node is published, in halves of a second, when it is there or
    /// drained at these times.
    fn published(steps: u32, is_there: impl Fn(u32) -> bool, is_drained: impl Fn(u32) -> bool) -> Vec<u32> {
        let (began, member) = (Instant::now(), Arc::new(Member::serving_at("b_2", &["192.0.2.2"])));
        let mut damper = Damper::default();
        let is_published = |step: &u32| {
            let others = if is_there(*step) { vec![(Arc::clone(&member), Life::Alive)] } else { Vec::new() };
            let own = vec!["192.0.2.1".parse().unwrap()];
            let mut nodes = Nodes { own, others, ..Nodes::default() };
            let drained = is_drained(*step).then(|| Arc::clone(&member.identity)).into_iter().collect();
            damper.hold_back(&mut nodes, &"a_1".into(), &drained, began + Duration::from_millis(500) * *step);
            assert_eq!(nodes.own.len(), 1, "the others go on");
            !nodes.others.is_empty()
        };
        (0..steps).filter(is_published).collect()
    }

    #[test]
    fn a_node_that_comes_and_goes_has_to_stay_ever_longer() {
        let never = |_| false;
        assert_eq!(published(8, |step| step != 3, never), [0, 1, 2, 4, 5, 6, 7], "once is no habit");
        // Five times in five seconds, and then it stays: 2, 4, 8 and 16 s.
        let flaps = published(60, |step| step >= 10 || step % 2 == 0, never);
        assert_eq!(flaps.iter().take(3).copied().collect::<Vec<_>>(), [0, 2, 42]);
        assert_eq!(flaps.len(), 2 + 18);
        let drained = published(12, |step| step % 2 == 0, |step| step % 2 == 1);
        assert_eq!(drained, [0, 2, 4, 6, 8, 10], "what the administrator does is no habit of the node");
    }
}
