//! The order in which the paths of several namespaces win on one host; it must not know who may have which.
//!
//! A request goes to the namespace whose claim begins with most of its path, the older one first where two begin alike, and within
//! that namespace to whom it would go if nobody else were there. Where nobody has an expression, nginx's own order is that one.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::sync::Arc;

use super::Claim;
use crate::finding::{Finding, Reason};
use crate::translate::path::{self, Matching};

/// A claim with what it is compared by.
#[derive(Debug)]
pub struct Rated<'s, 'a> {
    /// The claim.
    pub claim: Claim<'s, 'a>,
    /// Its place among the claims of its own namespace when nobody else is there.
    pub place_alone: usize,
    /// Its age: the lower, the older.
    pub number: u64,
    /// What it is known by, see [`super::reach::place`].
    pub place: Arc<str>,
    /// See [`super::reach::beginning`].
    pub beginning: Box<str>,
}

impl Rated<'_, '_> {
    fn namespace(&self) -> &Arc<str> {
        &self.claim.origin.object.namespace
    }

    /// Its place among the claims of its own namespace.
    fn own_order(&self, other: &Self) -> std::cmp::Ordering {
        self.place_alone.cmp(&other.place_alone)
    }
}

/// Sorts them as they win. A claim that would come between two older ones of another namespace, which have to stand together, is left
/// out.
pub fn order<'s, 'a>(mut claims: Vec<Rated<'s, 'a>>, findings: &mut Vec<Finding>) -> Vec<Rated<'s, 'a>> {
    if claims.iter().all(|rated| matches!(rated.claim.matching, Matching::Exact | Matching::Prefix)) {
        let matched = |rated: &Rated<'s, 'a>| (rated.claim.matching, rated.claim.path.clone());
        claims.sort_by(|left, right| {
            let (left, right) = (matched(left), matched(right));
            path::winning_order((left.0, &left.1), (right.0, &right.1))
        });
        return claims;
    }
    if claims.windows(2).all(|pair| pair[0].namespace() == pair[1].namespace()) {
        claims.sort_by_key(|rated| rated.place_alone);
        return claims;
    }
    let mut oldest: HashMap<(Box<str>, Arc<str>), u64> = HashMap::new();
    for rated in &claims {
        let known = oldest.entry((rated.beginning.clone(), Arc::clone(rated.namespace()))).or_insert(rated.number);
        *known = rated.number.min(*known);
    }
    let age = |rated: &Rated<'_, '_>| oldest.get(&(rated.beginning.clone(), Arc::clone(rated.namespace()))).copied();
    claims.sort_by(|left, right| {
        let by_length = Reverse(left.beginning.len()).cmp(&Reverse(right.beginning.len()));
        let by_text = by_length.then_with(|| left.beginning.cmp(&right.beginning));
        by_text.then_with(|| age(left).cmp(&age(right))).then_with(|| left.own_order(right))
    });
    let mut place = 0;
    while place < claims.len() {
        place = bring_forward(&mut claims, place, findings) + 1;
    }
    claims
}

/// Puts an expression before those of its namespace that it goes before when nobody else is there, although they begin with more.
/// Gives its place, or the one before where it was.
fn bring_forward(claims: &mut Vec<Rated<'_, '_>>, place: usize, findings: &mut Vec<Finding>) -> usize {
    let this = &claims[place];
    // Only an expression takes requests from what begins with more.
    if this.claim.matching != Matching::Regex {
        return place;
    }
    let goes_before = |other: &Rated<'_, '_>| {
        other.namespace() == this.namespace()
            && other.beginning.starts_with(&*this.beginning)
            && this.own_order(other).is_lt()
    };
    let Some(target) = claims[..place].iter().position(goes_before) else { return place };
    let age = this.number.max(claims[target].number);
    let may_meet =
        |other: &Rated<'_, '_>| other.namespace() != this.namespace() && other.beginning.starts_with(&*this.beginning);
    let between: Vec<_> = (target..place).filter(|index| may_meet(&claims[*index])).collect();
    if between.iter().any(|index| claims[*index].number < age) {
        // Whoever has one of the two later than somebody else has a path between them goes without that order.
        return place;
    }
    let this = claims.remove(place);
    for index in between.iter().rev() {
        let note = "it lies between expressions of another namespace that asked first and are tried one after the other; take \
            another path or host";
        let other = claims.remove(*index);
        findings.push(Finding::new(Reason::PathConflict, other.claim.origin, note));
    }
    claims.insert(target, this);
    place - between.len()
}
