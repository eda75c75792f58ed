//! The paths of one namespace on one host, as if nobody else had any; it must not know other namespaces.

use std::borrow::Cow;
use std::collections::HashMap;

use super::{Claim, conflict};
use crate::finding::{Finding, Reason};
use crate::translate::path::{self, Matching, PathType};
use crate::translate::{Dialect, Limits};

/// Settles how each path is matched, and which of those that are the same counts.
///
/// When one object of the ingress-nginx dialect asks for it, the paths of all objects of that dialect and of its namespace are
/// tried as expressions are: from the start, without regard to case. An expression is only what its object calls one, or
/// what has the type `ImplementationSpecific`; others stay the text that they are. Paths of objects of the specification dialect keep their
/// meaning.
pub fn settle<'s, 'a>(
    mut claims: Vec<Claim<'s, 'a>>,
    limits: &Limits,
    findings: &mut Vec<Finding>,
) -> Vec<Claim<'s, 'a>> {
    let is_quirky = |claim: &Claim<'_, '_>| claim.subject.rule.dialect == Dialect::IngressNginx;
    let enforces = |claim: &Claim<'_, '_>| path::enforces_regex(&claim.subject.reading, &claim.path);
    if claims.iter().any(|claim| is_quirky(claim) && enforces(claim)) {
        for claim in claims.iter_mut().filter(|claim| is_quirky(claim)) {
            let says = claim.subject.reading.use_regex
                || claim.subject.reading.rewrite_target.is_some()
                || claim.kind == PathType::ImplementationSpecific;
            claim.matching = if says { Matching::Regex } else { Matching::Caseless };
        }
    }
    // Whoever comes first has it, and the claims come with those of the oldest object first.
    let mut kept: Vec<Claim<'s, 'a>> = Vec::with_capacity(claims.len());
    let mut owners = HashMap::new();
    for mut claim in claims {
        let key = (rank(claim.matching), written(&claim).into_owned());
        if let Some(owner) = owners.get(&key) {
            let owner: &Claim<'_, '_> = &kept[*owner];
            findings.push(conflict(&claim.origin, &owner.origin));
            continue;
        }
        if kept.len() >= limits.paths_of_host {
            let closed = claim.subject.is_protected;
            findings.push(too_many(&claim, limits.paths_of_host, closed));
            if !closed {
                continue;
            }
            claim.closed = true;
        }
        owners.insert(key, kept.len());
        kept.push(claim);
    }
    kept.sort_by(|left, right| path::winning_order((left.matching, &left.path), (right.matching, &right.path)));
    kept
}

/// Expressions and texts that are matched as such are locations of one sort.
fn rank(matching: Matching) -> u8 {
    match matching {
        Matching::Exact => 0,
        Matching::Regex | Matching::Caseless => 1,
        Matching::Prefix => 2,
    }
}

fn written<'c>(claim: &'c Claim<'_, '_>) -> Cow<'c, str> {
    match claim.matching {
        Matching::Caseless => path::escaped(claim.path.as_str()),
        _ => claim.path.as_str().into(),
    }
}

fn too_many(claim: &Claim<'_, '_>, most: usize, closed: bool) -> Finding {
    let follows = match closed {
        true => "; it answers 503, because it would be protected",
        false => "; its requests go where they would go without it",
    };
    let note = format!(
        "the namespace has {most} paths on this host already, which is the most (limits.paths-of-host){follows}; spread them \
         over several hosts"
    );
    Finding::new(Reason::TooManyPaths, claim.origin.clone(), note)
}
