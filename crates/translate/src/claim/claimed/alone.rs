//! The paths of one namespace on one host, without regard to other namespaces.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::Bound;
use std::sync::Arc;

use super::{Claim, ClaimedHost, conflict, reach};
use crate::read::path::{self, Matching, PathType, Text, is_challenge};
use crate::{ExpressionScope, Limits, bounds};
use ingressd_model::expression;
use ingressd_model::finding::{Finding, Reason, count};

/// Decides how each path is matched.
///
/// When one object of the ingress-nginx dialect asks for it, the paths of all objects of that
/// dialect and of its namespace are matched like expressions: from the start, case-insensitively.
/// Paths of objects that ask for expressions, or of the type `ImplementationSpecific`, are
/// expressions; about others [`turn`] decides. The path of a challenge is for one request only.
/// Paths of objects of the specification dialect keep their meaning.
pub fn match_paths(claimed: &mut ClaimedHost<'_, '_>) {
    let enforces =
        |claim: &&Claim<'_, '_>| is_quirky(claim) && path::enforces_regex(&claim.object.policy.reading, &claim.path);
    let enforcing: HashSet<_> = claimed.claims.iter().filter(enforces).map(namespace).collect();
    if enforcing.is_empty() {
        return;
    }
    for claim in claimed.claims.iter_mut().filter(|claim| is_quirky(claim) && enforcing.contains(&namespace(claim))) {
        let reading = &claim.object.policy.reading;
        let says = reading.use_regex || reading.rewrite_target.is_some();
        let is_expression = says || claim.kind == PathType::ImplementationSpecific;
        claim.matching = match is_expression {
            _ if !says && is_challenge(&claim.path) => Matching::Exact,
            true => Matching::Regex,
            false => Matching::Caseless,
        };
    }
    if claimed.claims.iter().any(may_turn) {
        turn(claimed);
    }
}

/// Makes expressions of the paths of objects that do not ask for them, as ingress-nginx does,
/// unless one is none or nothing protects it and it would take requests of a protected path.
/// Requests that a protected path takes as text stay its own.
fn turn(claimed: &mut ClaimedHost<'_, '_>) {
    // What the protected paths of each namespace begin with that come after the present one.
    let mut behind: HashMap<Arc<str>, BTreeMap<String, ()>> = HashMap::new();
    for rest in claimed.objects.iter().filter(|object| object.is_protected && object.takes_the_rest()) {
        behind.entry(Arc::clone(&rest.id().namespace)).or_default().insert(String::new(), ());
    }
    let mut order: Vec<_> = (0..claimed.claims.len()).collect();
    order.sort_by_key(|number| {
        let Claim { path, object, .. } = &claimed.claims[*number];
        (is_quirky(&claimed.claims[*number]), path.as_str().len(), path.clone(), !object.is_protected)
    });
    let mut as_text = Vec::new();
    for number in order {
        let claim = &mut claimed.claims[number];
        let (behind, is_protected) = (behind.entry(namespace(claim)).or_default(), claim.object.is_protected);
        let beginnings = [Matching::Regex, Matching::Caseless]
            .map(|matching| reach::beginning(matching, claim.path.as_str()).into_string());
        if may_turn(claim) {
            claim.stays_text = match path::of_other_object(&claim.path) {
                Err(refused) => Some(Text::NoExpression(refused).into()),
                Ok(()) if !is_protected && meets(behind, &beginnings[0]) => Some(Text::Protection.into()),
                Ok(()) => {
                    as_text.extend(is_protected.then(|| claim.clone()));
                    claim.matching = Matching::Regex;
                    None
                }
            };
        }
        if is_protected {
            behind.extend(beginnings.map(|beginning| (beginning, ())));
        }
    }
    claimed.claims.extend(as_text);
}

/// Whether one of these begins what begins so, or begins so itself.
fn meets(beginnings: &BTreeMap<String, ()>, beginning: &str) -> bool {
    let mut below = beginnings.range::<str, _>((Bound::Included(beginning), Bound::Unbounded));
    below.next().is_some_and(|(below, ())| below.starts_with(beginning))
        || reach::longest_head(beginnings, beginning).is_some()
}

fn is_quirky(claim: &Claim<'_, '_>) -> bool {
    claim.object.attached.class.dialect.expressions == ExpressionScope::Host
}

/// Whether a text that is matched like expressions would mean more as one.
fn may_turn(claim: &Claim<'_, '_>) -> bool {
    claim.matching == Matching::Caseless && path::is_more_than_text(&claim.path)
}

fn namespace(claim: &Claim<'_, '_>) -> Arc<str> {
    Arc::clone(&claim.origin.object.namespace)
}

/// So many paths are few.
const FEW: usize = 8;

/// Decides which of several claims on the same path wins, and limits the number of paths.
pub fn settle<'s, 'a>(claims: Vec<Claim<'s, 'a>>, limits: &Limits, findings: &mut Vec<Finding>) -> Vec<Claim<'s, 'a>> {
    // The first claim wins, and the claims of the oldest object come first.
    let mut kept: Vec<Claim<'s, 'a>> = Vec::with_capacity(claims.len());
    let mut owners = HashMap::new();
    let mut weights = Weights::of(&claims);
    // Nearly every host has few paths: comparing a few is faster than a hash table.
    let are_few = claims.len() <= FEW && weights.count == 0;
    let (mut are_too_many, mut are_too_heavy) = (false, false);
    for mut claim in claims {
        let (owner, key) = match are_few {
            true => (kept.iter().position(|owner| key(owner) == key(&claim)), None),
            false => {
                let (rank, written) = key(&claim);
                let key = (rank, written.into_owned());
                (owners.get(&key).copied(), Some(key))
            }
        };
        if let Some(owner) = owner {
            findings.push(conflict(&claim.origin, &kept[owner].origin));
            continue;
        }
        if kept.len() >= limits.paths_of_host {
            are_too_many = true;
            let closed = claim.object.is_protected;
            findings.push(too_many(&claim, limits.paths_of_host, closed));
            if !closed {
                continue;
            }
            claim.closed = true;
        }
        if claim.matching == Matching::Regex && !weights.has_room(&claim, limits.expressions_of_host) {
            are_too_heavy = true;
            findings.push(too_heavy(&claim, limits.expressions_of_host));
            if !claim.object.is_protected {
                continue;
            }
            // The prefix of the path is closed, as far as no other path matches.
            claim.path = reach::above(&claim.path);
            (claim.matching, claim.closed) = (Matching::Caseless, true);
        }
        owners.extend(key.map(|key| (key, kept.len())));
        kept.push(claim);
    }
    let number = |limit: usize| u64::try_from(limit).unwrap_or(u64::MAX);
    let weight = usize::try_from(weights.sum).unwrap_or(usize::MAX);
    let nearly = [
        (bounds::HOST_PATHS, kept.len(), number(limits.paths_of_host), are_too_many),
        (bounds::HOST_EXPRESSIONS, weight, limits.expressions_of_host.into(), are_too_heavy),
    ];
    for (bound, used, most, _) in nearly.into_iter().filter(|(.., is_over)| !is_over) {
        findings.extend(kept.last().and_then(|youngest| bound.near(used, most, || youngest.origin.clone())));
    }
    in_order(kept)
}

/// Sorts the paths by precedence. The paths of objects of the specification's dialect go the
/// longest first, where an expression is as long as what everything begins with that it matches:
/// one that is general takes no requests of a longer path. Those of the ingress-nginx dialect keep
/// the order of ingress-nginx, and the others go between them, in front of shorter ones.
fn in_order<'s, 'a>(mut claims: Vec<Claim<'s, 'a>>) -> Vec<Claim<'s, 'a>> {
    let order = |left: &Claim<'_, '_>, right: &Claim<'_, '_>| {
        path::winning_order((left.matching, &left.path), (right.matching, &right.path))
    };
    claims.sort_by(order);
    if claims.iter().all(|claim| matches!(claim.matching, Matching::Exact | Matching::Prefix)) {
        return claims;
    }
    let length = |claim: &Claim<'_, '_>| match claim.matching {
        Matching::Exact => usize::MAX,
        matching => reach::beginning(matching, claim.path.as_str()).len(),
    };
    let claims = claims.into_iter().map(|claim| (length(&claim), claim));
    let (theirs, mut own): (Vec<_>, Vec<_>) =
        claims.partition(|(_, claim)| claim.object.attached.class.dialect.expressions == ExpressionScope::Host);
    // The sort is stable: of paths that are equally long expressions go first, which would get no
    // requests otherwise.
    own.sort_by_key(|(length, _)| Reverse(*length));
    let (mut theirs, mut own) = (theirs.into_iter().peekable(), own.into_iter().peekable());
    let next = std::iter::from_fn(|| match (theirs.peek(), own.peek()) {
        (Some((one, _)), Some((other, _))) if one < other => own.next(),
        (Some(_), _) => theirs.next(),
        (None, _) => own.next(),
    });
    next.map(|(_, claim)| claim).collect()
}

/// The total weight of the expressions of a host.
#[derive(Debug)]
struct Weights {
    count: u32,
    sum: u32,
}

impl Weights {
    fn of(claims: &[Claim<'_, '_>]) -> Self {
        let expressions = claims.iter().filter(|claim| claim.matching == Matching::Regex);
        Weights { count: u32::try_from(expressions.count()).unwrap_or(u32::MAX), sum: 0 }
    }

    /// Adds an expression if the limit allows it. An expression that cannot be estimated is
    /// refused elsewhere.
    fn has_room(&mut self, claim: &Claim<'_, '_>, most: u32) -> bool {
        // To judge one takes longer than to count them.
        if !bounds::is_near(self.count.saturating_mul(expression::HEAVIEST).into(), most.into()) {
            return true;
        }
        let weight = expression::weight(claim.path.as_str()).unwrap_or_default();
        let sum = self.sum.saturating_add(weight);
        if sum <= most {
            self.sum = sum;
        }
        sum <= most
    }
}

/// The key that is equal for claims on the same path.
fn key<'c>(claim: &'c Claim<'_, '_>) -> (u8, Cow<'c, str>) {
    (rank(claim.matching), written(claim))
}

/// Expressions, and texts that are matched like them, are the same kind of location.
fn rank(matching: Matching) -> u8 {
    match matching {
        Matching::Exact => 0,
        Matching::Regex | Matching::Caseless => 1,
        Matching::Prefix => 2,
    }
}

fn written<'c>(claim: &'c Claim<'_, '_>) -> Cow<'c, str> {
    match claim.matching {
        Matching::Caseless => expression::literal(claim.path.as_str()),
        _ => claim.path.as_str().into(),
    }
}

fn too_heavy(claim: &Claim<'_, '_>, most: u32) -> Finding {
    let follows = match claim.object.is_protected {
        true => "; paths that begin like it answer 503, because they would be protected",
        false => "; other paths take its requests",
    };
    let note = format!(
        "the regular expressions of the namespace on this host already have the weight {most} that \
            limits.expressions-of-host allows{follows}; use paths that are text, or several hosts"
    );
    Finding::new(Reason::TooManyPaths, claim.origin.clone(), note)
}

fn too_many(claim: &Claim<'_, '_>, most: usize, closed: bool) -> Finding {
    let follows = match closed {
        true => "; it answers 503, because it would be protected",
        false => "; other paths take its requests",
    };
    let note = format!(
        "the namespace already has {} on this host, which is what limits.paths-of-host allows{follows}; distribute \
         them over several hosts",
        count(most, "path", "paths")
    );
    Finding::new(Reason::TooManyPaths, claim.origin.clone(), note)
}
