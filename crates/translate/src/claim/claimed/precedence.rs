//! The precedence of the paths of several namespaces on one host.
//!
//! A request goes to the namespace whose claim has the longest matching prefix, to the older one
//! when prefixes are equal, and within that namespace to the path that would get it without other
//! namespaces. Without expressions this is nginx's own order.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::Claim;
use crate::read::path::{self, Matching};
use ingressd_model::finding::{Finding, Reason};

/// A claim with the values that it is compared by.
#[derive(Debug)]
pub struct Rated<'s, 'a> {
    pub claim: Claim<'s, 'a>,
    /// Its index among the claims of its own namespace.
    pub place_alone: usize,
    /// Its age: lower numbers are older.
    pub number: u64,
    /// Its prefix, see [`super::reach::beginning`].
    pub beginning: Box<str>,
    /// Whether it is refused: then it closes the prefix of another path of its namespace that
    /// would get its requests; prefix and age are those of that path.
    pub is_refused: bool,
}

impl Rated<'_, '_> {
    fn namespace(&self) -> &Arc<str> {
        &self.claim.origin.object.namespace
    }

    /// Whether nothing protects its requests.
    pub fn is_open(&self) -> bool {
        !(self.claim.closed || self.claim.object.is_protected)
    }

    fn key(&self) -> (Box<str>, u64, usize) {
        (self.beginning.clone(), self.number, self.place_alone)
    }

    /// Whether it may match requests with the other's prefix.
    pub fn reaches(&self, other: &Self) -> bool {
        let rest = other.beginning.strip_prefix(&*self.beginning);
        rest.is_some_and(|rest| match self.claim.matching {
            Matching::Exact => rest.is_empty() && other.claim.matching == Matching::Exact,
            Matching::Prefix => rest.is_empty() || rest.starts_with('/'),
            Matching::Regex | Matching::Caseless => true,
        })
    }

    /// Whether a request may match both.
    fn meets(&self, other: &Self) -> bool {
        self.beginning.starts_with(&*other.beginning) || other.beginning.starts_with(&*self.beginning)
    }
}

/// How many claims of a namespace are examined, when its first one waits, to find one that does
/// not: a namespace with many conflicting claims must not slow down all others.
const FAR: usize = 64;

/// Sorts the claims by precedence. When claims of several namespaces conflict in every order, the
/// youngest of them is left out.
pub fn order<'s, 'a>(mut claims: Vec<Rated<'s, 'a>>, findings: &mut Vec<Finding>) -> Vec<Rated<'s, 'a>> {
    if claims.windows(2).all(|pair| pair[0].namespace() == pair[1].namespace()) {
        claims.sort_by_key(|rated| rated.place_alone);
        return claims;
    }
    if claims.iter().all(|rated| matches!(rated.claim.matching, Matching::Exact | Matching::Prefix)) {
        claims.sort_by(|left, right| {
            path::winning_order((left.claim.matching, &left.claim.path), (right.claim.matching, &right.claim.path))
        });
        return claims;
    }
    let mut queues = BTreeMap::<Arc<str>, Queue<'s, 'a>>::new();
    for rated in claims {
        queues.entry(Arc::clone(rated.namespace())).or_default().push(rated);
    }
    let mut queues: Vec<_> = queues.into_values().collect();
    queues.iter_mut().for_each(|queue| queue.claims.sort_by_key(|rated| Reverse(rated.place_alone)));
    let mut ordered = Vec::new();
    while queues.iter().any(|queue| !queue.claims.is_empty()) {
        match next(&queues) {
            Some((queue, index)) => ordered.push(queues[queue].take(index)),
            None => {
                let Some((queue, index)) = youngest(&queues) else { break };
                // A namespace gives up its own order if that is the conflict, but a protected path
                // must not come after an open one.
                let all = &queues[queue].claims;
                let free = (0..all.len()).rev().take(FAR).find(|index| !waits(&queues, queue, &all[*index]));
                let passes = |index: usize| {
                    let mut passed = all[index + 1..].iter().filter(|passed| passed.meets(&all[index]));
                    all[index].is_open() && passed.any(|passed| !passed.is_open())
                };
                let index = match free {
                    Some(free) if !passes(free) => {
                        ordered.push(queues[queue].take(free));
                        continue;
                    }
                    Some(free) => free,
                    None => index,
                };
                let note = "nginx would have to try it between older regular expressions of another namespace; use \
                    another path or host";
                let origin = queues[queue].take(index).claim.origin;
                findings.push(Finding::new(Reason::PathConflict, origin, note));
            }
        }
    }
    ordered
}

/// The remaining claims of one namespace.
#[derive(Debug, Default)]
struct Queue<'s, 'a> {
    /// The claims, the next one last.
    claims: Vec<Rated<'s, 'a>>,
    /// The prefixes and ages of the claims.
    beginnings: BTreeSet<(Box<str>, u64, usize)>,
}

impl<'s, 'a> Queue<'s, 'a> {
    fn push(&mut self, rated: Rated<'s, 'a>) {
        self.beginnings.insert(rated.key());
        self.claims.push(rated);
    }

    fn take(&mut self, index: usize) -> Rated<'s, 'a> {
        let rated = self.claims.remove(index);
        self.beginnings.remove(&rated.key());
        rated
    }

    /// The age of a claim here that has to go before the claim of another namespace: it has a
    /// longer prefix, or is older.
    fn before(&self, rated: &Rated<'_, '_>) -> Option<u64> {
        let from = (rated.beginning.clone(), 0, 0);
        let like = self.beginnings.range(from..).take_while(|(beginning, ..)| beginning.starts_with(&*rated.beginning));
        like.map(|(beginning, number, _)| (beginning.len(), *number))
            .find(|(length, number)| *length > rated.beginning.len() || *number < rated.number)
            .map(|(_, number)| number)
    }
}

/// Whether another namespace has a claim that has to go first.
fn waits(queues: &[Queue<'_, '_>], own: usize, rated: &Rated<'_, '_>) -> bool {
    let mut others = queues.iter().enumerate().filter(|(queue, _)| *queue != own);
    others.any(|(_, queue)| queue.before(rated).is_some())
}

/// The next claim for which none has to wait: the first of a namespace, or else one that shares no
/// requests with those before it.
fn next(queues: &[Queue<'_, '_>]) -> Option<(usize, usize)> {
    let mut heads: Vec<_> =
        queues.iter().enumerate().filter_map(|(queue, all)| Some((queue, all.claims.last()?))).collect();
    heads.sort_by_key(|(_, head)| (Reverse(head.beginning.len()), head.number));
    let free = heads.iter().find(|(queue, head)| !waits(queues, *queue, head));
    free.map(|(queue, _)| (*queue, queues[*queue].claims.len() - 1)).or_else(|| {
        queues.iter().enumerate().find_map(|(queue, all)| {
            let stands_alone =
                |index: usize| all.claims[index + 1..].iter().all(|other| !all.claims[index].meets(other));
            let free = |index: &usize| !waits(queues, queue, &all.claims[*index]) && stands_alone(*index);
            (0..all.claims.len()).rev().take(FAR).find(free).map(|index| (queue, index))
        })
    })
}

/// The youngest of claims that wait for each other.
fn youngest(queues: &[Queue<'_, '_>]) -> Option<(usize, usize)> {
    let heads = queues.iter().enumerate().filter_map(|(queue, all)| Some((queue, all.claims.last()?)));
    let blocking = heads.clone().flat_map(|(own, head)| {
        let others = queues.iter().enumerate().filter(move |(queue, _)| *queue != own);
        others.filter_map(move |(queue, other)| Some((queue, other.before(head)?)))
    });
    let all = heads.map(|(queue, head)| (queue, head.number)).chain(blocking);
    let (queue, number) = all.max_by_key(|(_, number)| *number)?;
    let index = queues[queue].claims.iter().rposition(|rated| rated.number == number)?;
    Some((queue, index))
}
