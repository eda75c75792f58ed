//! Which paths of a host that several namespaces share each of them gets; it must not know how one of them alone is served.
//!
//! A path, whatever its type, is its oldest claim's, and a path that lies below another one takes requests from it, as the Ingress
//! specification has it; but nobody's younger path takes requests from a route that is protected. An expression lies where what it matches
//! begins.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use super::precedence::{self, Rated};
use super::{Claim, conflict, reach};
use crate::finding::{Finding, Reason};
use crate::model::{ObjectId, Origin, ServerName};
use crate::translate::claims::Claims;
use crate::translate::path::Matching;

/// What each namespace may have of what it asks for, as it wins.
pub fn settle<'s, 'a>(
    name: &ServerName,
    parties: Vec<Vec<Claim<'s, 'a>>>,
    claims: &Claims,
    findings: &mut Vec<Finding>,
) -> Vec<Claim<'s, 'a>> {
    let mut rated: Vec<_> = parties.into_iter().flatten().map(|claim| rate(name, claim, claims)).collect();
    // Those of one age are of one namespace, and in its order.
    rated.sort_by_key(|rated| rated.number);
    let mut court = Court::new(name, claims);
    let mut kept = Vec::with_capacity(rated.len());
    for rated in rated {
        match court.objection(&rated) {
            Some(finding) => findings.push(finding),
            None => {
                court.admit(&rated);
                kept.push(rated);
            }
        }
    }
    let kept = precedence::order(kept, findings);
    tell_neighbours(&kept, findings);
    kept.into_iter().map(|rated| rated.claim).collect()
}

fn rate<'s, 'a>(name: &ServerName, claim: Claim<'s, 'a>, claims: &Claims) -> Rated<'s, 'a> {
    let namespace = &claim.origin.object.namespace;
    let place = reach::place(claim.matching, claim.path.as_str());
    let number = claims.age(name, namespace, &place).unwrap_or_else(|| claims.number(name, namespace));
    let beginning = reach::beginning(claim.matching, claim.path.as_str());
    Rated { claim, number, place, beginning }
}

/// What the older claims leave to the younger ones.
#[derive(Debug)]
struct Court<'c> {
    /// What was asked for by namespaces that do not ask for it now; `None` for a whole host.
    reserved: Vec<(&'c str, Option<&'c str>, u64)>,
    places: HashMap<Arc<str>, Origin>,
    /// Beginnings of what is protected, and whether all that begins so is, or only what lies below it by element.
    protected: BTreeMap<Box<str>, Vec<(Arc<str>, bool)>>,
    lengths: BTreeSet<usize>,
}

impl<'c> Court<'c> {
    fn new(name: &ServerName, claims: &'c Claims) -> Self {
        let reserved = claims.reserved(name).collect();
        Court { reserved, places: HashMap::new(), protected: BTreeMap::new(), lengths: BTreeSet::new() }
    }

    fn objection(&self, rated: &Rated<'_, '_>) -> Option<Finding> {
        let origin = &rated.claim.origin;
        let namespace = &*origin.object.namespace;
        let is_kept = |(other, place, number): &(&str, Option<&str>, u64)| {
            *other != namespace && *number < rated.number && place.is_none_or(|place| *place == *rated.place)
        };
        if self.reserved.iter().any(is_kept) {
            let note = "the path is kept for the namespace that had it until `hosts.grace` has passed; if nothing there asks for \
                it then, it is served here";
            return Some(Finding::new(Reason::PathConflict, origin.clone(), note));
        }
        if let Some(owner) = self.places.get(&rated.place).filter(|owner| *owner.object.namespace != *namespace) {
            return Some(conflict(origin, owner));
        }
        self.is_below_protected(rated).then(|| {
            let note = "it lies below a path of another namespace that is protected and older, and would take requests from it; \
                take another path or host";
            Finding::new(Reason::PathConflict, origin.clone(), note)
        })
    }

    fn is_below_protected(&self, rated: &Rated<'_, '_>) -> bool {
        let (beginning, namespace) = (&*rated.beginning, &*rated.claim.origin.object.namespace);
        self.lengths.range(..beginning.len()).any(|length| {
            let (Some(head), Some(rest)) = (beginning.get(..*length), beginning.get(*length..)) else { return false };
            let protected = self.protected.get(head).map(Vec::as_slice).unwrap_or_default();
            protected.iter().any(|(other, whole)| **other != *namespace && (*whole || rest.starts_with('/')))
        })
    }

    fn admit(&mut self, rated: &Rated<'_, '_>) {
        let Rated { claim, place, beginning, .. } = rated;
        self.places.entry(Arc::clone(place)).or_insert_with(|| claim.origin.clone());
        // Below a path that is taken alone nothing is.
        if claim.matching != Matching::Exact && (claim.closed || claim.subject.is_protected) {
            let whole = claim.matching != Matching::Prefix;
            let namespace = Arc::clone(&claim.origin.object.namespace);
            self.lengths.insert(beginning.len());
            self.protected.entry(beginning.clone()).or_default().push((namespace, whole));
        }
    }
}

/// Tells whoever was there first of younger paths of others below its own, and whoever came later of what goes before it.
fn tell_neighbours(kept: &[Rated<'_, '_>], findings: &mut Vec<Finding>) {
    let mut by_beginning: HashMap<&str, Vec<&Rated<'_, '_>>> = HashMap::new();
    for rated in kept {
        by_beginning.entry(&rated.beginning).or_default().push(rated);
    }
    let lengths: BTreeSet<Reverse<usize>> = by_beginning.keys().map(|beginning| Reverse(beginning.len())).collect();
    let mut told: BTreeMap<&ObjectId, (&Rated<'_, '_>, &Rated<'_, '_>, usize)> = BTreeMap::new();
    for below in kept {
        let is_stranger =
            |above: &&&Rated<'_, '_>| above.claim.origin.object.namespace != below.claim.origin.object.namespace;
        let beginning = &*below.beginning;
        let above = lengths.range(Reverse(beginning.len())..).find_map(|Reverse(length)| {
            let (head, rest) = (beginning.get(..*length)?, beginning.get(*length..)?);
            let reaches = |above: &&&Rated<'_, '_>| match above.claim.matching {
                Matching::Exact => false,
                Matching::Prefix => rest.is_empty() || rest.starts_with('/'),
                Matching::Regex | Matching::Caseless => true,
            };
            by_beginning.get(head)?.iter().filter(is_stranger).find(reaches)
        });
        let Some(above) = above.filter(|above| above.number < below.number) else { continue };
        match above.beginning == below.beginning {
            true => {
                let note = "another namespace asked first for paths that begin alike, and what it takes of them does not come here";
                findings.push(Finding::new(Reason::SharedHost, below.claim.origin.clone(), note));
            }
            false => told.entry(&above.claim.origin.object).or_insert((above, below, 0)).2 += 1,
        }
    }
    for (above, below, count) in told.into_values() {
        let (path, namespace) = (below.claim.path.as_str().escape_debug(), &below.claim.origin.object.namespace);
        let more = if count > 1 { format!(", and {} more,", count - 1) } else { String::new() };
        let note = format!(
            "\"{path}\" of the namespace {namespace:?}{more} lies below it and takes its requests there; what is protected loses \
             nothing, and `hosts.ownership` can keep a host for one namespace"
        );
        findings.push(Finding::new(Reason::SharedHost, above.claim.origin.clone(), note));
    }
}
