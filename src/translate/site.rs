//! The hosts that Ingresses define and who gets which path of them; it must not know backends or certificates.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use k8s_openapi::api::networking::v1::IngressBackend;

use super::annotation::value::quoted;
use super::path::{self, Matching, PathType};
use super::subject::{self, Subject};
use super::{Dialect, host};
use crate::finding::{Finding, Reason};
use crate::model::{Field, Origin, ServerName, UrlPath};

/// How many paths a host has at most: nginx compares each with many others whenever it reads them, and a test that takes
/// longer than a minute keeps everybody's changes out.
const MOST_PATHS: usize = 10_000;

/// A path of a host and the object that has it.
#[derive(Debug)]
pub struct Claim<'s, 'a> {
    /// The object.
    pub subject: &'s Subject<'a>,
    /// The place in it.
    pub origin: Origin,
    /// The path.
    pub path: UrlPath,
    /// Its type as written.
    pub kind: PathType,
    /// How it is matched.
    pub matching: Matching,
    /// Where its requests go.
    pub backend: &'a IngressBackend,
}

/// A host with everything that is asked for it.
#[derive(Debug, Default)]
pub struct Site<'s, 'a> {
    /// The objects that define it, the oldest first, over all namespaces; never empty.
    pub subjects: Vec<&'s Subject<'a>>,
    /// Its paths, each with its owner.
    pub claims: Vec<Claim<'s, 'a>>,
    owners: HashMap<(Matching, UrlPath), usize>,
}

impl<'s, 'a> Site<'s, 'a> {
    fn join(&mut self, subject: &'s Subject<'a>) {
        // Objects come one after the other, so one that is known is the last.
        if self.subjects.last().is_none_or(|last| last.id() != subject.id()) {
            self.subjects.push(subject);
        }
    }

    /// Whoever is first keeps a path and type; `ImplementationSpecific` contends with what it means. Who comes when there are
    /// too many goes without.
    fn claim(&mut self, claim: Claim<'s, 'a>, findings: &mut Vec<Finding>) {
        let key = (claim.matching, claim.path.clone());
        match self.owners.get(&key) {
            Some(owner) => findings.push(conflict(&claim.origin, &self.claims[*owner].origin)),
            None if self.claims.len() >= MOST_PATHS => {
                let note = format!("the host has {MOST_PATHS} paths already; spread them over several hosts");
                findings.push(Finding::new(Reason::TooManyPaths, claim.origin, note));
            }
            None => {
                self.owners.insert(key, self.claims.len());
                self.claims.push(claim);
            }
        }
    }

    /// Settles how each path is matched, and sorts the paths as they win.
    ///
    /// When one object of the ingress-nginx dialect asks for it, all paths of objects of that dialect become
    /// expressions, whoever wrote them, as users of that controller expect. Paths of objects of the specification
    /// dialect keep their meaning on the same host; as nginx tries expressions before prefixes, an expression of the
    /// other dialect may take requests that a prefix would have taken, but never those of an exact path.
    fn settle(&mut self, findings: &mut Vec<Finding>) {
        let is_quirky = |claim: &Claim<'_, '_>| claim.subject.rule.dialect == Dialect::IngressNginx;
        if self.claims.iter().any(|claim| is_quirky(claim) && path::enforces_regex(&claim.subject.reading, &claim.path))
        {
            let claims = std::mem::take(&mut self.claims);
            self.owners.clear();
            for mut claim in claims {
                if is_quirky(&claim) {
                    claim.matching = Matching::Regex;
                }
                self.claim(claim, findings);
            }
        }
        self.owners = HashMap::new();
        self.tell_of_shared_expressions(findings);
        self.claims
            .sort_by(|left, right| path::winning_order((left.matching, &left.path), (right.matching, &right.path)));
    }

    /// Whether an expression takes requests from a prefix cannot be told from the two, so every object is named that may.
    fn tell_of_shared_expressions(&self, findings: &mut Vec<Finding>) {
        let namespace = |claim: &Claim<'_, '_>| Arc::clone(&claim.origin.object.namespace);
        let mut told = None;
        // The oldest prefix, and the oldest of another namespace than that: one of them is a stranger to any object.
        let (mut first, mut second): (Option<&Claim<'_, '_>>, Option<&Claim<'_, '_>>) = (None, None);
        for claim in &self.claims {
            let is_strange = |other: &&Claim<'_, '_>| namespace(other) != namespace(claim);
            match claim.matching {
                Matching::Regex => {
                    let Some(older) = first.filter(is_strange).or(second.filter(is_strange)) else { continue };
                    if told.replace(&claim.origin.object) != Some(&claim.origin.object) {
                        let note = format!(
                            "expressions of this object may take requests from {}, which is older",
                            older.origin
                        );
                        findings.push(Finding::new(Reason::SharedHost, claim.origin.clone(), note));
                    }
                }
                Matching::Prefix if first.is_none() => first = Some(claim),
                Matching::Prefix if second.is_none() && first.is_some_and(|first| is_strange(&first)) => {
                    second = Some(claim);
                }
                _ => {}
            }
        }
    }
}

/// Merges the objects, which come with the oldest first, by host.
pub fn merge<'s, 'a>(subjects: &'s [Subject<'a>], findings: &mut Vec<Finding>) -> BTreeMap<ServerName, Site<'s, 'a>> {
    let mut sites = BTreeMap::<ServerName, Site<'s, 'a>>::new();
    for subject in subjects {
        for (number, rule) in subject.rules() {
            let name = match host::server_name(rule.host.as_deref().unwrap_or_default()) {
                Ok(name) => name,
                Err(refused) => {
                    let origin = Origin::field(subject.id(), Field::Rule(super::position(number)));
                    let host = quoted(rule.host.as_deref().unwrap_or_default());
                    let note = format!("host {host} is refused: {refused}");
                    findings.push(Finding::new(Reason::InvalidHost, origin, note));
                    continue;
                }
            };
            let site = sites.entry(name).or_default();
            site.join(subject);
            for (path_number, entry) in subject::paths(rule) {
                // What cannot be read has been refused with its object before.
                let (Ok(path), Some(kind)) = (path::read(entry), PathType::read(&entry.path_type)) else { continue };
                let matching = match kind {
                    _ if subject.is_regex(kind) => Matching::Regex,
                    PathType::Exact => Matching::Exact,
                    PathType::Prefix | PathType::ImplementationSpecific => Matching::Prefix,
                };
                let field = Field::Path(super::position(number), super::position(path_number), "");
                let origin = Origin::field(subject.id(), field);
                site.claim(Claim { subject, origin, path, kind, matching, backend: &entry.backend }, findings);
            }
        }
        if subject.default_backend().is_some() && subject.rules().next().is_none() {
            sites.entry(ServerName::CatchAll).or_default().join(subject);
        }
    }
    sites.values_mut().for_each(|site| site.settle(findings));
    sites
}

/// The finding for the younger of two claims.
pub fn conflict(loser: &Origin, owner: &Origin) -> Finding {
    let note = match loser.object == owner.object {
        true => format!("the object has this host, path and type already at {}", owner.field),
        false => format!("{owner} is older and keeps this host, path and type"),
    };
    Finding::new(Reason::PathConflict, loser.clone(), note)
}
