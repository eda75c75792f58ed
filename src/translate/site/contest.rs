//! Decides which namespace gets which path of a shared host.
//!
//! A path belongs to the namespace with the oldest claim on it, whatever the type is. A path below
//! another one gets its requests, as in the Ingress specification; but a younger path of another
//! namespace gets no requests of a protected route. An expression counts as the literal prefix of
//! what it matches.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::ops::Bound;
use std::sync::Arc;

use super::precedence::{self, Rated};
use super::{Claim, conflict, reach};
use crate::translate::claims::{Claimant, Claims};
use crate::translate::path::Matching;
use crate::translate::subject::Subject;
use ingressd_model::finding::{Finding, Reason};
use ingressd_model::{ObjectId, Origin, ServerName};

/// The claims that each namespace keeps, in order of precedence. `rest` is the object that handles
/// requests that no path matches, with its field and the reason of a finding where another
/// namespace had all of them before; `standing` are the claimants that may have anything of the
/// host.
pub fn settle<'s, 'a>(
    name: &ServerName,
    parties: Vec<Vec<Claim<'s, 'a>>>,
    rest: Option<(&Subject<'_>, Reason, Origin)>,
    claims: &Claims,
    standing: &[&Claimant],
    findings: &mut Vec<Finding>,
) -> Vec<Claim<'s, 'a>> {
    let parties = parties.into_iter().map(|party| party.into_iter().enumerate());
    let mut rated: Vec<_> = parties.flatten().map(|(place, claim)| rate(name, place, claim, claims)).collect();
    // Claims of one age belong to one namespace, and stay in its order.
    rated.sort_by_key(|rated| rated.number);
    // For unknown hosts not only the age of claims decides.
    let holders = if *name == ServerName::CatchAll { &[] } else { standing };
    let rest = rest.map(|(subject, reason, origin)| {
        let namespace = Arc::clone(&subject.id().namespace);
        // Before it has an age it is younger than everything.
        let number = claims.age(name, &namespace, "").unwrap_or(u64::MAX);
        Rest { namespace, number, is_protected: subject.is_protected, reason, origin }
    });
    let mut older = OlderClaims::new(holders, &rated, rest);
    let (mut kept, mut refused) = (Vec::with_capacity(rated.len()), Vec::new());
    for rated in rated {
        match older.objection(&rated) {
            None => {
                older.admit(&rated);
                kept.push(rated);
            }
            Some(finding) => {
                findings.push(finding);
                refused.push(rated);
            }
        }
    }
    findings.extend(older.rest.as_ref().and_then(|rest| rest.without_effect(&kept)));
    // A path that should be protected must not become open because a less protected path of the
    // same namespace gets its requests. It is closed at the place of that path, so that it takes
    // nothing from other namespaces.
    refused.retain_mut(|rated| {
        let stand_in = rated.claim.subject.is_protected.then(|| older.stand_in(rated, &kept)).flatten();
        let is_open = stand_in.is_some();
        (rated.beginning, rated.number) = stand_in.unwrap_or_default();
        (rated.is_refused, rated.claim.closed) = (true, true);
        is_open
    });
    kept.append(&mut refused);
    let kept = precedence::order(kept, findings);
    tell_of_younger_paths(&kept, findings);
    kept.into_iter().map(|rated| rated.claim).collect()
}

fn rate<'s, 'a>(name: &ServerName, place_alone: usize, claim: Claim<'s, 'a>, claims: &Claims) -> Rated<'s, 'a> {
    let namespace = &claim.origin.object.namespace;
    let beginning = reach::beginning(claim.matching, claim.path.as_str());
    let number = claims.age(name, namespace, &beginning).unwrap_or_else(|| claims.number(name, namespace));
    Rated { claim, place_alone, number, beginning, is_refused: false }
}

/// What handles requests that no path matches: it counts as `/`.
#[derive(Debug)]
struct Rest {
    namespace: Arc<str>,
    number: u64,
    is_protected: bool,
    reason: Reason,
    origin: Origin,
}

impl Rest {
    /// The finding that another namespace had `/` before, and so all requests.
    fn without_effect(&self, kept: &[Rated<'_, '_>]) -> Option<Finding> {
        let is_whole = |rated: &&Rated<'_, '_>| rated.beginning.is_empty() && rated.claim.matching != Matching::Exact;
        let mut others = kept.iter().filter(is_whole).map(|rated| &rated.claim.origin.object.namespace);
        let note = "another namespace had the path / of the host before, and takes all requests that no other path \
            does; use another host";
        let is_taken = others.any(|other| *other != self.namespace);
        is_taken.then(|| Finding::new(self.reason, self.origin.clone(), note))
    }
}

/// The restrictions that older claims put on younger ones.
#[derive(Debug)]
struct OlderClaims<'c> {
    /// Paths that are reserved for namespaces without an object here; `None` for a whole host.
    reserved: Vec<(&'c str, Option<&'c str>, u64)>,
    rest: Option<Rest>,
    places: HashMap<Box<str>, Origin>,
    /// The protected prefixes by namespace; those that match by elements end with a slash.
    protected: BTreeMap<Arc<str>, BTreeSet<String>>,
}

impl<'c> OlderClaims<'c> {
    fn new(holders: &[&'c Claimant], rated: &[Rated<'_, '_>], rest: Option<Rest>) -> Self {
        let of_rest = rest.iter().map(|rest| (&*rest.namespace, ""));
        let here: HashSet<_> = rated
            .iter()
            .map(|rated| (&*rated.claim.origin.object.namespace, &*rated.beginning))
            .chain(of_rest)
            .collect();
        let is_here = |(namespace, place, _): &(&str, Option<&str>, u64)| {
            place.is_some_and(|place| here.contains(&(*namespace, place)))
        };
        let held = holders
            .iter()
            .flat_map(|holder| holder.places().map(|(place, number)| (&*holder.namespace, place, number)));
        let reserved = held.filter(|held| !is_here(held)).collect();
        OlderClaims { reserved, rest, places: HashMap::new(), protected: BTreeMap::new() }
    }

    /// Why a claim is refused, if it is.
    fn objection(&self, rated: &Rated<'_, '_>) -> Option<Finding> {
        let origin = &rated.claim.origin;
        let namespace = &*origin.object.namespace;
        let is_kept = |(other, place, number): &(&str, Option<&str>, u64)| {
            *other != namespace && *number < rated.number && place.is_none_or(|place| *place == *rated.beginning)
        };
        if self.reserved.iter().any(is_kept) {
            let note = "the path is reserved for the namespace that asked for it first, whose object cannot be served \
                now or was deleted less than `hosts.grace` ago; use another path or host";
            return Some(Finding::new(Reason::PathConflict, origin.clone(), note));
        }
        if let Some(owner) = self.places.get(&rated.beginning).filter(|owner| *owner.object.namespace != *namespace) {
            return Some(conflict(origin, owner));
        }
        let rest = self.rest.as_ref().filter(|rest| *rest.namespace != *namespace && rest.number < rated.number);
        if rest.is_some_and(|rest| rest.is_protected || rated.beginning.is_empty()) {
            let note = "another namespace, which asked for the host first, takes all other requests of the host with \
                its `defaultBackend` or its redirect between `www.` and the host without it; use another path or host";
            return Some(Finding::new(Reason::PathConflict, origin.clone(), note));
        }
        self.is_below_protected(rated).then(|| {
            let note = "it lies below an older, protected path of another namespace, and would take requests from it; \
                use another path or host";
            Finding::new(Reason::PathConflict, origin.clone(), note)
        })
    }

    /// The path of the same namespace, or its route for the rest, that would get the requests of a
    /// refused path: its prefix and age.
    fn stand_in(&self, refused: &Rated<'_, '_>, kept: &[Rated<'_, '_>]) -> Option<(Box<str>, u64)> {
        let namespace = &refused.claim.origin.object.namespace;
        let above = || kept.iter().filter(|above| above.reaches(refused));
        let (own, others): (Vec<_>, Vec<_>) =
            above().partition(|above| above.claim.origin.object.namespace == *namespace);
        let own = own.into_iter().max_by_key(|above| above.beginning.len());
        let rest = self.rest.as_ref().filter(|rest| rest.namespace == *namespace);
        let own =
            own.map(|own| (own.beginning.clone(), own.number)).or(rest.map(|rest| (Box::default(), rest.number)))?;
        // An expression need not match everything with its prefix.
        let mut whole = others.iter().filter(|other| other.claim.matching != Matching::Regex);
        whole.all(|other| other.beginning.len() < own.0.len()).then_some(own)
    }

    fn is_below_protected(&self, rated: &Rated<'_, '_>) -> bool {
        let namespace = &rated.claim.origin.object.namespace;
        let others = self.protected.iter().filter(|(other, _)| *other != namespace);
        let mut heads = others.filter_map(|(_, beginnings)| longest_head(beginnings, &rated.beginning));
        heads.any(|head| head.trim_end_matches('/').len() < rated.beginning.len())
    }

    fn admit(&mut self, rated: &Rated<'_, '_>) {
        let Rated { claim, beginning, .. } = rated;
        self.places.entry(beginning.clone()).or_insert_with(|| claim.origin.clone());
        // Below an exact path there is nothing.
        if claim.matching != Matching::Exact && (claim.closed || claim.subject.is_protected) {
            let by_element = claim.matching == Matching::Prefix;
            let slash = if by_element { "/" } else { "" };
            let namespace = Arc::clone(&claim.origin.object.namespace);
            self.protected.entry(namespace).or_default().insert(format!("{beginning}{slash}"));
        }
    }
}

/// The longest of these prefixes of a text. Each step looks up a shorter text than the one before.
fn longest_head<'s>(heads: &'s BTreeSet<String>, text: &str) -> Option<&'s str> {
    let mut text = text;
    loop {
        let candidate = heads.range::<str, _>((Bound::Unbounded, Bound::Included(text))).next_back()?;
        if text.starts_with(&**candidate) {
            return Some(candidate);
        }
        let common = candidate.bytes().zip(text.bytes()).take_while(|(one, other)| one == other).count();
        let common = (0..=common).rev().find(|length| text.is_char_boundary(*length))?;
        text = text.get(..common)?;
    }
}

/// Adds findings for older namespaces about younger paths of others below their own.
fn tell_of_younger_paths(kept: &[Rated<'_, '_>], findings: &mut Vec<Finding>) {
    let mut oldest: HashMap<(&Arc<str>, &str), &Rated<'_, '_>> = HashMap::new();
    let mut beginnings: BTreeMap<&Arc<str>, BTreeSet<String>> = BTreeMap::new();
    for rated in kept.iter().filter(|rated| rated.claim.matching != Matching::Exact && !rated.is_refused) {
        let namespace = &rated.claim.origin.object.namespace;
        let known = oldest.entry((namespace, &*rated.beginning)).or_insert(rated);
        if rated.number < known.number {
            *known = rated;
        }
        beginnings.entry(namespace).or_default().insert(rated.beginning.to_string());
    }
    let mut told: BTreeMap<&ObjectId, (&Rated<'_, '_>, &Rated<'_, '_>, usize)> = BTreeMap::new();
    for below in kept.iter().filter(|below| !below.is_refused) {
        let namespace = &below.claim.origin.object.namespace;
        let above = beginnings.iter().filter(|(other, _)| **other != namespace).filter_map(|(other, all)| {
            let above = *oldest.get(&(*other, longest_head(all, &below.beginning)?))?;
            above.reaches(below).then_some(above)
        });
        let above = above.max_by_key(|above| (above.beginning.len(), Reverse(above.number)));
        let is_older = |above: &&Rated<'_, '_>| above.number < below.number && above.beginning != below.beginning;
        let Some(above) = above.filter(is_older) else { continue };
        told.entry(&above.claim.origin.object).or_insert((above, below, 0)).2 += 1;
    }
    for (above, below, count) in told.into_values() {
        let (path, namespace) = (below.claim.path.as_str().escape_debug(), &below.claim.origin.object.namespace);
        let more = if count > 1 { format!(", and {} more,", count - 1) } else { String::new() };
        let note = format!(
            "\"{path}\" of the namespace {namespace:?}{more} lies below it and takes its requests there; to prevent \
                that, protect this path, or ask the administrator for `hosts.ownership`"
        );
        findings.push(Finding::new(Reason::SharedHost, above.claim.origin.clone(), note));
    }
}
