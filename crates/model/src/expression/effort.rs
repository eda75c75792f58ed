//! Estimates the most steps of a backtracking matcher for subjects of a given length.
//!
//! The number is never too low by more than a small factor and often too high: it counts every way
//! to divide the bytes among the parts, unless the next byte determines where a part ends.

use super::bytes::Bytes;
use super::tree::Node;

/// How many bytes ahead alternatives are distinguished.
const LONGEST_BEGINNING: usize = 6;

/// The bytes that may come next.
#[derive(Debug, Clone, Copy)]
struct Followers {
    bytes: Bytes,
    end: bool,
}

impl Followers {
    const ANYTHING: Followers = Followers { bytes: Bytes::ALL, end: true };
    const NOTHING: Followers = Followers { bytes: Bytes::NONE, end: false };

    fn or(&self, other: &Followers) -> Followers {
        Followers { bytes: self.bytes.or(&other.bytes), end: self.end || other.end }
    }
}

/// Bounds for matching from one place.
#[derive(Debug, Clone, Copy)]
struct Bound {
    /// The number of ends behind which the next part may match.
    ends: f64,
    /// The number of ways to each of these ends.
    ways: f64,
    /// The number of ways to all ends, whatever comes behind them.
    tried: f64,
    /// The steps until all ways have failed.
    steps: f64,
    /// Bytes that are examined without a step that PCRE counts.
    unseen: f64,
}

impl Bound {
    const ONE: Bound = Bound { ends: 1.0, ways: 1.0, tried: 1.0, steps: 1.0, unseen: 1.0 };

    fn all(&self) -> f64 {
        self.ends * self.ways
    }
}

/// The expression is too complex to be estimated.
#[derive(Debug)]
pub struct Entangled;

struct Judge {
    /// The length of the subject.
    length: f64,
    /// The step limit at which PCRE gives up.
    most: f64,
    /// The remaining effort for the estimate.
    patience: u32,
}

/// The most that an expression takes for one subject.
#[derive(Debug, Clone, Copy)]
pub struct Effort {
    /// Steps, some of which PCRE counts; infinite when they double with each byte.
    pub steps: f64,
    /// Bytes that are examined in runs, which PCRE does not count, until it gives up.
    pub unseen: f64,
}

/// The effort for a subject of this length, with a matcher that gives up after `most` steps.
pub fn effort(node: &Node, length: f64, most: f64, patience: u32) -> Result<Effort, Entangled> {
    let mut judge = Judge { length, most, patience };
    let nodes = match node {
        Node::Sequence(nodes) => nodes.as_slice(),
        node => std::slice::from_ref(node),
    };
    // A last part that cannot fail is reached only once, because then the whole expression has
    // matched.
    let needed = nodes.iter().rposition(|node| !cannot_fail(node)).map_or(0, |index| index + 1);
    let (needed, rest) = nodes.split_at(needed);
    let (needed, rest) = (judge.sequence(needed, Followers::ANYTHING)?, judge.sequence(rest, Followers::ANYTHING)?);
    Ok(Effort { steps: needed.steps + rest.steps, unseen: needed.unseen + rest.unseen })
}

/// Whether the node matches from any place.
fn cannot_fail(node: &Node) -> bool {
    match node {
        Node::Set(_) | Node::Place | Node::End | Node::Look(_) => false,
        Node::Repeat { least, .. } => *least == 0,
        Node::Sequence(nodes) => nodes.iter().all(cannot_fail),
        Node::Choice(nodes) => nodes.iter().any(cannot_fail),
        Node::Capture(node) | Node::Atomic(node) => cannot_fail(node),
    }
}

impl Judge {
    fn spend(&mut self) -> Result<(), Entangled> {
        self.patience = self.patience.checked_sub(1).ok_or(Entangled)?;
        Ok(())
    }

    fn judge(&mut self, node: &Node, after: Followers) -> Result<Bound, Entangled> {
        self.spend()?;
        match node {
            Node::Set(_) | Node::Place | Node::End => Ok(Bound::ONE),
            Node::Capture(node) => self.judge(node, after),
            Node::Look(node) | Node::Atomic(node) => {
                let inner = self.judge(node, Followers::ANYTHING)?;
                Ok(Bound { steps: inner.steps, unseen: inner.steps + inner.unseen, ..Bound::ONE })
            }
            Node::Sequence(nodes) => self.sequence(nodes, after),
            Node::Choice(nodes) => self.choice(nodes, after),
            Node::Repeat { node, least, most } => self.repeat(node, *least, *most, after),
        }
    }

    fn sequence(&mut self, nodes: &[Node], after: Followers) -> Result<Bound, Entangled> {
        let mut contexts = vec![after; nodes.len()];
        for index in (1..nodes.len()).rev() {
            contexts[index - 1] = self.next(&nodes[index], contexts[index])?;
        }
        // Where the end is known, the last part of variable length has no choice.
        let last = nodes.iter().rposition(|node| node.length().is_none());
        let (mut total, mut reached, mut ends, mut ways) =
            (Bound { steps: 0.0, unseen: 0.0, ..Bound::ONE }, 1.0_f64, 1.0_f64, 1.0);
        for (index, (node, context)) in nodes.iter().zip(contexts).enumerate() {
            let bound = self.judge(node, context)?;
            let probes = self.probe(node)?;
            // Ways for whose next byte the part cannot match fail at the first byte.
            total.steps += total.tried * probes + reached * bound.steps;
            total.unseen += reached.min(self.most) * bound.unseen;
            total.tried = reached * bound.tried;
            reached *= bound.all();
            ends *= bound.ends;
            ways *= bound.ways * if last.is_some_and(|last| index < last) { bound.ends } else { 1.0 };
        }
        Ok(Bound { ends: ends.min(self.length + 1.0), ways, ..total })
    }

    fn choice(&mut self, nodes: &[Node], after: Followers) -> Result<Bound, Entangled> {
        let bounds = nodes.iter().map(|node| self.judge(node, after)).collect::<Result<Vec<_>, _>>()?;
        let beginnings: Vec<_> = nodes.iter().map(|node| node.beginning(LONGEST_BEGINNING)).collect();
        let unseen = heaviest(&bounds, &beginnings, |bound| bound.unseen);
        // Alternatives whose first byte does not match are left at once.
        let mut steps = heaviest(&bounds, &beginnings, |bound| bound.steps);
        for node in nodes {
            steps += 1.0 + self.probe(node)?;
        }
        if bounds.iter().all(|bound| bound.tried <= 1.0 && bound.all() <= 1.0) {
            let rivals = heaviest(&bounds, &beginnings, |_| 1.0);
            return Ok(Bound { ends: rivals, ways: rivals, tried: rivals, steps, unseen });
        }
        let weigh = |weight: fn(&Bound) -> f64| heaviest(&bounds, &beginnings, weight);
        Ok(Bound {
            ends: weigh(|bound| bound.ends).min(self.length + 1.0),
            ways: weigh(|bound| bound.ways),
            tried: weigh(|bound| bound.tried),
            steps,
            unseen,
        })
    }

    fn repeat(&mut self, node: &Node, least: u32, most: Option<u32>, after: Followers) -> Result<Bound, Entangled> {
        let longest = most.map_or(self.length, |most| f64::from(most).min(self.length)).max(1.0);
        let numbers = most.map_or(self.length, |most| f64::from(most - least)).min(self.length) + 1.0;
        let first = self.next(node, Followers::NOTHING)?;
        let is_reported = !first.bytes.meets(&after.bytes);
        if let Node::Set(_) = node {
            let ends = if is_reported { 1.0 } else { numbers };
            // A repetition that gives bytes back takes a step for each of them, unless the next
            // byte determines its end.
            let unseen = if is_reported || numbers <= 1.0 { longest } else { 1.0 };
            return Ok(Bound { ends, ways: 1.0, tried: numbers, steps: longest + numbers, unseen });
        }
        let every = self.judge(node, first.or(&after))?;
        if every.all() <= 1.0 {
            // If the next byte decides each round, only one number of rounds can lead on.
            let ends = if is_reported { 1.0 } else { numbers };
            let byte = self.amortised(node)?;
            let in_all = |every: f64, byte: f64| match has_look(node) {
                true => longest * every,
                false => byte * (self.length + 1.0) + every,
            };
            let (steps, unseen) = (in_all(every.steps, byte.steps), in_all(every.unseen, byte.unseen));
            let tried = (numbers * every.tried).min(byte.tried * (self.length + 1.0));
            return Ok(Bound { ends, ways: 1.0, tried, steps: steps + numbers, unseen });
        }
        let again = self.judge(node, first)?.all();
        let leaving = self.judge(node, after)?;
        // The number of rounds that begin, over all ways.
        let rounds = match again <= 1.0 {
            true => longest,
            false => again.powf(longest) / (again - 1.0) + longest,
        };
        let exits = if again <= 1.0 { numbers } else { rounds };
        Ok(Bound {
            ends: (numbers * leaving.ends).min(self.length + 1.0),
            ways: exits * leaving.ways,
            tried: exits * every.tried + 1.0,
            steps: rounds * (every.steps + every.tried),
            unseen: rounds.min(self.most) * every.unseen,
        })
    }

    /// The bound per byte for a repetition whose rounds are decided by the next byte.
    fn amortised(&mut self, node: &Node) -> Result<Bound, Entangled> {
        let mut judge = Judge { length: 1.0, most: self.most, patience: self.patience };
        let bound = judge.judge(node, Followers::ANYTHING)?;
        self.patience = judge.patience;
        Ok(bound)
    }

    /// The bytes that may come next where this node begins.
    fn next(&mut self, node: &Node, after: Followers) -> Result<Followers, Entangled> {
        self.spend()?;
        Ok(match node {
            Node::Set(bytes) => Followers { bytes: *bytes, end: false },
            Node::Place | Node::Look(_) => after,
            Node::End => Followers { bytes: Bytes::one(b'\n'), end: true },
            Node::Capture(node) | Node::Atomic(node) => self.next(node, after)?,
            Node::Sequence(nodes) => {
                let mut next = after;
                for node in nodes.iter().rev() {
                    next = self.next(node, next)?;
                }
                next
            }
            Node::Choice(nodes) => {
                let mut next = Followers::NOTHING;
                for node in nodes {
                    next = next.or(&self.next(node, after)?);
                }
                next
            }
            Node::Repeat { node, least, .. } => {
                let next = self.next(node, after)?;
                if *least == 0 { next.or(&after) } else { next }
            }
        })
    }

    /// The steps until no alternative matches the first byte.
    fn probe(&mut self, node: &Node) -> Result<f64, Entangled> {
        self.spend()?;
        Ok(match node {
            Node::Set(_) | Node::Place | Node::End => 1.0,
            Node::Look(node) => self.judge(node, Followers::ANYTHING)?.steps,
            Node::Capture(node) | Node::Atomic(node) => 1.0 + self.probe(node)?,
            Node::Sequence(nodes) => {
                let mut steps = 0.0;
                for node in nodes {
                    steps += self.probe(node)?;
                    if !may_be_empty(node) {
                        break;
                    }
                }
                steps
            }
            Node::Choice(nodes) => {
                let mut steps = 0.0;
                for node in nodes {
                    steps += 1.0 + self.probe(node)?;
                }
                steps
            }
            Node::Repeat { node, .. } => 1.0 + self.probe(node)?,
        })
    }
}

/// The largest sum over alternatives that can match at the same place: there is only one byte at
/// each.
fn heaviest(bounds: &[Bound], beginnings: &[Vec<Bytes>], weight: fn(&Bound) -> f64) -> f64 {
    let certain = beginnings.iter().map(Vec::len).min().unwrap_or_default();
    let are_apart = |place: usize| {
        let mut seen = Bytes::NONE;
        beginnings.iter().all(|beginning| {
            let is_new = !beginning[place].meets(&seen);
            seen = seen.or(&beginning[place]);
            is_new
        })
    };
    if (0..certain).any(are_apart) {
        return bounds.iter().map(weight).fold(0.0, f64::max);
    }
    let most = beginnings.iter().map(Vec::len).max().unwrap_or_default();
    let at = |place: usize| {
        let (mut always, mut by_byte) = (0.0, [0.0_f64; 256]);
        for (bound, beginning) in bounds.iter().zip(beginnings) {
            match beginning.get(place) {
                Some(set) => set.iter().for_each(|byte| by_byte[usize::from(byte)] += weight(bound)),
                None => always += weight(bound),
            }
        }
        always + by_byte.into_iter().fold(0.0, f64::max)
    };
    let all = bounds.iter().map(weight).sum();
    (0..most).map(at).fold(all, f64::min)
}

fn has_look(node: &Node) -> bool {
    match node {
        Node::Look(_) => true,
        Node::Set(_) | Node::Place | Node::End => false,
        Node::Sequence(nodes) | Node::Choice(nodes) => nodes.iter().any(has_look),
        Node::Capture(node) | Node::Atomic(node) | Node::Repeat { node, .. } => has_look(node),
    }
}

fn may_be_empty(node: &Node) -> bool {
    match node {
        Node::Set(_) => false,
        Node::Place | Node::End | Node::Look(_) => true,
        Node::Sequence(nodes) => nodes.iter().all(may_be_empty),
        Node::Choice(nodes) => nodes.iter().any(may_be_empty),
        Node::Capture(node) | Node::Atomic(node) => may_be_empty(node),
        Node::Repeat { node, least, .. } => *least == 0 || may_be_empty(node),
    }
}
