//! Decides which namespace gets which path of a shared host.
//!
//! A path belongs to the namespace with the oldest claim on it, whatever the type is. A path below
//! another one gets its requests, as in the Ingress specification; but a younger path of another
//! namespace gets no requests of a protected route, unless that namespace has the host, or had the
//! requests before the route was protected. An expression counts as the literal prefix of what it
//! matches; and on the host of another namespace it also counts as the elements that begin all of
//! its requests. Challenges of certificate authorities are the owner's of the host.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use super::claimed::precedence::{self, Rated};
use super::claimed::reach::{self, Challenges};
use super::claimed::{Claim, conflict};
use super::claims::{Claimant, Claims};
use crate::admit::admitted::Admitted;
use crate::read::path::Matching;
use ingressd_model::finding::{Finding, Reason};
use ingressd_model::{ObjectId, Origin, ServerName};

/// The host that is contested.
#[derive(Debug, Clone, Copy)]
pub struct Contested<'c> {
    pub name: &'c ServerName,
    pub claims: &'c Claims,
    /// The claimants that may have anything of the host.
    pub standing: &'c [&'c Claimant],
    /// The namespace that has it.
    pub owner: Option<&'c str>,
    /// Namespaces that may take challenges on hosts of others.
    pub challengers: &'c [Arc<str>],
}

impl Contested<'_> {
    /// Whether another namespace than that of this claim has the host.
    fn is_strange(&self, claim: &Claim<'_, '_>) -> bool {
        self.owner.is_some_and(|owner| *owner != *claim.origin.object.namespace)
    }

    /// Whether a claim may take challenges: it is the owner's, or the administrator lets it.
    fn may_take_challenges(&self, claim: &Claim<'_, '_>) -> bool {
        !self.is_strange(claim) || self.challengers.contains(&claim.origin.object.namespace)
    }

    /// The first of these claims that would take challenges and must not.
    pub fn before_challenges(&self, claims: &[Claim<'_, '_>]) -> Option<Origin> {
        let takes = |claim: &&Claim<'_, '_>| {
            let beginning = reach::beginning(claim.matching, claim.path.as_str());
            reach::challenges(claim.matching, &beginning) == Challenges::Among
        };
        // What an expression takes is not certain.
        let mut takers = claims.iter().filter(takes);
        let taker = takers.find(|claim| !self.may_take_challenges(claim) || claim.matching != Matching::Regex)?;
        (!self.may_take_challenges(taker)).then(|| taker.origin.clone())
    }
}

/// The claims that each namespace keeps, in order of precedence. `rest` is the object that handles
/// requests that no path matches, with its field and the reason of a finding where another
/// namespace had all of them before.
pub fn settle<'s, 'a>(
    contested: Contested<'_>,
    parties: Vec<Vec<Claim<'s, 'a>>>,
    rest: Option<(&Admitted<'_>, Reason, Origin)>,
    findings: &mut Vec<Finding>,
) -> Vec<Claim<'s, 'a>> {
    let Contested { name, claims, standing, .. } = contested;
    let parties = parties.into_iter().map(|party| party.into_iter().enumerate());
    let mut rated: Vec<_> = parties.flatten().map(|(place, claim)| rate(contested, place, claim)).collect();
    // Claims of one age belong to one namespace, and stay in its order.
    rated.sort_by_key(|rated| rated.number);
    // For unknown hosts not only the age of claims decides.
    let holders = if *name == ServerName::CatchAll { &[] } else { standing };
    let rest = rest.map(|(object, reason, origin)| {
        let namespace = Arc::clone(&object.id().namespace);
        // Before it has an age it is younger than everything.
        let number = claims.age(name, &namespace, "").unwrap_or(u64::MAX);
        Rest { namespace, number, is_protected: object.is_protected, reason, origin }
    });
    let stated = rated.iter().map(|rated| &rated.claim).filter(|claim| claim.matching == Matching::Prefix);
    let stated = stated.map(|claim| (Arc::clone(&claim.origin.object.namespace), claim.path.clone()));
    let stated: HashSet<_> = stated.collect();
    let mut older = OlderClaims::new(contested, holders, &rated, rest);
    let (mut kept, mut refused) = (Vec::with_capacity(rated.len()), Vec::new());
    for mut rated in rated {
        let mut objection = older.objection(&rated);
        // Plain text that would take too much is content with its own elements, unless the
        // namespace says so of the same path elsewhere. What should be protected is not: requests
        // that it leaves might meet an open path.
        if objection.is_some()
            && rated.is_open()
            && reach::is_plain(rated.claim.matching, rated.claim.path.as_str())
            && !stated.contains(&(Arc::clone(&rated.claim.origin.object.namespace), rated.claim.path.clone()))
        {
            rated.claim.matching = Matching::Prefix;
            objection = older.objection(&rated);
        }
        match objection {
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
    refused.iter().for_each(|refused| close_behind(refused, &mut kept, findings));
    // A path that should be protected must not become open because a less protected path of the
    // same namespace gets its requests. It is closed at the place of that path, so that it takes
    // nothing from other namespaces.
    refused.retain_mut(|rated| {
        let stand_in = rated.claim.object.is_protected.then(|| older.stand_in(rated, &kept)).flatten();
        let is_open = stand_in.is_some();
        (rated.beginning, rated.number) = stand_in.unwrap_or_default();
        (rated.is_refused, rated.claim.closed) = (true, true);
        is_open
    });
    kept.append(&mut refused);
    let kept = precedence::order(kept, findings);
    report_of_younger_paths(contested, &kept, findings);
    kept.into_iter().map(|rated| rated.claim).collect()
}

fn rate<'s, 'a>(contested: Contested<'_>, place_alone: usize, claim: Claim<'s, 'a>) -> Rated<'s, 'a> {
    let Contested { name, claims, .. } = contested;
    let namespace = &claim.origin.object.namespace;
    let beginning = reach::beginning(claim.matching, claim.path.as_str());
    let number = claims.age(name, namespace, &beginning).unwrap_or_else(|| claims.number(name, namespace));
    Rated { claim, place_alone, number, beginning, is_refused: false }
}

/// Closes open paths of a namespace that would get requests of a protected one which is refused
/// and stands before them.
fn close_behind(refused: &Rated<'_, '_>, kept: &mut [Rated<'_, '_>], findings: &mut Vec<Finding>) {
    if !refused.claim.object.is_protected {
        return;
    }
    let namespace = &refused.claim.origin.object.namespace;
    let is_behind = |own: &&mut Rated<'_, '_>| {
        own.claim.origin.object.namespace == *namespace
            && own.place_alone > refused.place_alone
            && own.is_open()
            && own.beginning.len() > refused.beginning.len()
            && refused.reaches(own)
    };
    for own in kept.iter_mut().filter(is_behind) {
        let note = format!(
            "it answers 503, because {} would take its requests and is refused; correct that path",
            refused.claim.origin
        );
        findings.push(Finding::new(Reason::ClosedRoute, own.claim.origin.clone(), note));
        own.claim.closed = true;
    }
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

/// Beginnings of paths by namespace, with the ages of the oldest.
type Beginnings = BTreeMap<Arc<str>, BTreeMap<String, u64>>;

/// The restrictions that older claims put on younger ones.
#[derive(Debug)]
struct OlderClaims<'c> {
    contested: Contested<'c>,
    /// Paths that are reserved for namespaces without an object here; `None` for a whole host.
    reserved: Vec<(&'c str, Option<&'c str>, u64)>,
    rest: Option<Rest>,
    places: HashMap<Box<str>, Origin>,
    /// What takes all requests that begin so; those that match by elements end with a slash.
    whole: Beginnings,
    /// The same of what is protected, where some of these requests may be others'.
    protected: Beginnings,
    /// The beginnings of expressions that end within an element.
    partial: Beginnings,
}

const CHARACTERS: &str = "it also takes requests for longer elements that begin like it, and so counts as the path above \
    it, which another namespace asked for first; write it as a regular expression that ends its last element, such as \
    /path(/|$)(.*), or use another host";

impl<'c> OlderClaims<'c> {
    fn new(contested: Contested<'c>, holders: &[&'c Claimant], rated: &[Rated<'_, '_>], rest: Option<Rest>) -> Self {
        let of_rest = rest.iter().map(|rest| (&*rest.namespace, ""));
        let here: HashSet<_> = rated
            .iter()
            .map(|rated| (&*rated.claim.origin.object.namespace, &*rated.beginning))
            .chain(of_rest)
            .collect();
        let is_here = |(namespace, place, _): &(&str, Option<&str>, u64)| {
            place.is_some_and(|place| here.contains(&(*namespace, place)))
        };
        let whole = holders.iter().filter(|holder| holder.has_left_alone());
        let whole = whole.map(|holder| (&*holder.namespace, None, holder.number));
        let is_of_holder = |held: &&Claimant| holders.iter().any(|holder| holder.namespace == held.namespace);
        let held = contested.claims.paths(contested.name).flat_map(|(place, all)| {
            all.iter().filter(is_of_holder).map(move |held| (&*held.namespace, Some(place), held.number))
        });
        let reserved = whole.chain(held).filter(|held| !is_here(held)).collect();
        let (whole, protected, partial) = Default::default();
        OlderClaims { contested, reserved, rest, places: HashMap::new(), whole, protected, partial }
    }

    /// Why a claim is refused, if it is.
    fn objection(&self, rated: &Rated<'_, '_>) -> Option<Finding> {
        let Rated { claim, beginning, .. } = rated;
        let origin = &claim.origin;
        let (refused, is_strange) = (
            |note: &str| Some(Finding::new(Reason::PathConflict, origin.clone(), note)),
            self.contested.is_strange(claim),
        );
        let challenges = if is_strange { reach::challenges(claim.matching, beginning) } else { Challenges::None };
        let may_take = self.contested.may_take_challenges(claim);
        let owner = self.other(beginning, rated);
        if let (Challenges::Alone, true) = (challenges, may_take) {
            return owner.map(|owner| conflict(origin, owner));
        }
        // What takes everything is kept from challenges in another way.
        if challenges != Challenges::None && !may_take && !beginning.is_empty() {
            return refused(
                "challenges of certificate authorities, below /.well-known/acme-challenge, belong to the namespace \
                    that asked for the host first; request the certificate there, use DNS-01, or have the \
                    administrator name this namespace in `hosts.challenges`",
            );
        }
        // Between namespaces an expression must not take single letters of what is below a path.
        let elements = match is_strange {
            true => reach::elements(claim.matching, claim.path.as_str()),
            false => beginning.clone(),
        };
        if self.is_reserved(rated, &elements) {
            return refused(
                "the path is reserved for the namespace that asked for it first, whose object cannot be served now or \
                    was deleted less than `hosts.grace` ago; use another path or host",
            );
        }
        if let Some(owner) = owner {
            return Some(conflict(origin, owner));
        }
        let rest = self.rest.as_ref().filter(|rest| *rest.namespace != *origin.object.namespace);
        let rest = rest.filter(|rest| rest.number < rated.number);
        let is_later = |number: u64| self.own_above(rated).is_none_or(|own| number < own);
        if rest.is_some_and(|rest| elements.is_empty() || rest.is_protected && is_later(rest.number)) {
            return refused(
                "another namespace, which asked for the host first, takes all other requests of the host with its \
                    `defaultBackend` or its redirect between `www.` and the host without it; use another path or host",
            );
        }
        if elements != *beginning
            && (self.other(&elements, rated).is_some() || self.is_within_partial(rated, &elements))
        {
            return refused(CHARACTERS);
        }
        let protected = heads(&self.protected, rated).map(|(_, number)| *number).min();
        if is_strange && protected.is_some_and(is_later) {
            return refused(
                "it lies below an older, protected path of another namespace, and would take requests from it; use \
                    another path or host",
            );
        }
        None
    }

    /// The claim of another namespace on a path.
    fn other(&self, place: &str, rated: &Rated<'_, '_>) -> Option<&Origin> {
        let namespace = &rated.claim.origin.object.namespace;
        self.places.get(place).filter(|owner| owner.object.namespace != *namespace)
    }

    fn is_reserved(&self, rated: &Rated<'_, '_>, elements: &str) -> bool {
        let is_kept = |(other, place, number): &(&str, Option<&str>, u64)| {
            let is_its = |place: &str| *place == *rated.beginning || *place == *elements;
            *other != &*rated.claim.origin.object.namespace && *number < rated.number && place.is_none_or(is_its)
        };
        self.reserved.iter().any(is_kept)
    }

    /// Whether an older expression of another namespace begins within the same element, and may
    /// take the same requests.
    fn is_within_partial(&self, rated: &Rated<'_, '_>, elements: &str) -> bool {
        heads(&self.partial, rated).any(|(head, _)| head.len() > elements.len())
    }

    /// The age of the oldest claim of the same namespace that takes everything that this one
    /// does.
    fn own_above(&self, rated: &Rated<'_, '_>) -> Option<u64> {
        let own = self.whole.get(&rated.claim.origin.object.namespace)?;
        let below = format!("{}/", rated.beginning);
        reach::longest_head(own, &below).map(|(_, number)| *number)
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

    fn admit(&mut self, rated: &Rated<'_, '_>) {
        let Rated { claim, beginning, number, .. } = rated;
        self.places.entry(beginning.clone()).or_insert_with(|| claim.origin.clone());
        // Below an exact path there is nothing.
        if claim.matching == Matching::Exact {
            return;
        }
        let is_whole = *reach::elements(claim.matching, claim.path.as_str()) == **beginning;
        let by_element = claim.matching == Matching::Prefix;
        let slash = if by_element { "/" } else { "" };
        let add = |to: &mut Beginnings, slash: &str| {
            let to = to.entry(Arc::clone(&claim.origin.object.namespace)).or_default();
            let text = format!("{beginning}{slash}");
            // What is below an older one adds nothing.
            if reach::longest_head(to, &text).is_none() {
                to.insert(text, *number);
            }
        };
        if reach::takes_all_below(claim.matching, claim.path.as_str()) {
            add(&mut self.whole, if is_whole { "/" } else { "" });
        }
        if !rated.is_open() {
            add(&mut self.protected, slash);
        }
        if !is_whole {
            add(&mut self.partial, "");
        }
    }
}

/// The longest of these beginnings that a claim has, of each other namespace, with its age: longer
/// ones are older.
fn heads<'b>(beginnings: &'b Beginnings, rated: &Rated<'_, '_>) -> impl Iterator<Item = (&'b str, &'b u64)> {
    let namespace = &rated.claim.origin.object.namespace;
    let others = beginnings.iter().filter(move |(other, _)| *other != namespace);
    others.filter_map(|(_, beginnings)| reach::longest_head(beginnings, &rated.beginning))
}

/// Adds findings for older namespaces about younger paths of others below their own.
fn report_of_younger_paths(contested: Contested<'_>, kept: &[Rated<'_, '_>], findings: &mut Vec<Finding>) {
    let mut oldest: BTreeMap<&Arc<str>, BTreeMap<String, &Rated<'_, '_>>> = BTreeMap::new();
    for rated in kept.iter().filter(|rated| rated.claim.matching != Matching::Exact && !rated.is_refused) {
        let of_namespace = oldest.entry(&rated.claim.origin.object.namespace).or_default();
        let known = of_namespace.entry(rated.beginning.to_string()).or_insert(rated);
        if rated.number < known.number {
            *known = rated;
        }
    }
    let mut reported: BTreeMap<&ObjectId, (&Rated<'_, '_>, &Rated<'_, '_>, usize)> = BTreeMap::new();
    let is_reported = |below: &&Rated<'_, '_>| {
        let challenges = reach::challenges(below.claim.matching, &below.beginning);
        // What the administrator allows by name is no surprise.
        !below.is_refused && (challenges != Challenges::Alone || !contested.is_strange(&below.claim))
    };
    for below in kept.iter().filter(is_reported) {
        let namespace = &below.claim.origin.object.namespace;
        let others = oldest.iter().filter(|(other, _)| **other != namespace);
        let above = others.filter_map(|(_, all)| Some(*reach::longest_head(all, &below.beginning)?.1));
        let above = above.filter(|above| above.reaches(below));
        let above = above.max_by_key(|above| (above.beginning.len(), Reverse(above.number)));
        let is_older = |above: &&Rated<'_, '_>| above.number < below.number && above.beginning != below.beginning;
        let Some(above) = above.filter(is_older) else { continue };
        reported.entry(&above.claim.origin.object).or_insert((above, below, 0)).2 += 1;
    }
    for (above, below, count) in reported.into_values() {
        let path = below.claim.path.as_str().escape_debug();
        let more = if count > 1 { format!(", and {} more,", count - 1) } else { String::new() };
        let remedy = match contested.is_strange(&below.claim) {
            true => "protect this path, or ask the administrator for `hosts.ownership`",
            false => "use another host, because the other namespace asked for this one first",
        };
        let note = format!(
            "\"{path}\" of another namespace{more} lies below it and takes its requests there; to prevent that, {remedy}"
        );
        findings.push(Finding::new(Reason::SharedHost, above.claim.origin.clone(), note));
    }
}
