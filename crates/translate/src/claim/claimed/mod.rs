//! The hosts that objects ask for, each with its claims on paths.

pub mod alone;
mod host_options;
pub mod precedence;
pub mod reach;
mod reserved;

use std::collections::BTreeMap;

use rayon::prelude::{IndexedParallelIterator as _, IntoParallelIterator as _, ParallelIterator as _};
use rayon::slice::ParallelSliceMut as _;

use super::arbiter::Arbiter;
pub use super::claimed::host_options::{Decision, HostOption, Saying, decide, directives, settle};
#[cfg(test)]
pub use super::claimed::reach::elements;
pub use super::claimed::reach::{above, beginning, of_challenges};
pub use super::claimed::reserved::reserve;
use crate::admit::admitted::Admitted;
use crate::attach::displaced;
use crate::read::path::{Matching, PathType, Text, is_challenge};
use crate::read::rule::{Backend, Rule};
use crate::value::host;
use ingressd_model::finding::{Finding, Reason};
use ingressd_model::{Field, HostName, Origin, ServerName, UrlPath};

/// The fewest hosts that are worth another thread.
pub const SMALLEST_PART: usize = 64;

/// A path of a host, and the object that claims it.
#[derive(Debug, Clone)]
pub struct Claim<'s, 'a> {
    pub object: &'s Admitted<'a>,
    /// The field of the path.
    pub origin: Origin,
    /// The indices of the rule and the path in the object.
    pub place: (u16, u16),
    pub path: UrlPath,
    /// Its type as written.
    pub kind: PathType,
    pub matching: Matching,
    pub backend: Backend<'a>,
    /// Whether it answers 503, because it exceeds a limit and its requests would be unprotected
    /// without it.
    pub closed: bool,
    /// Why it stays text, although other objects make paths like it expressions.
    pub stays_text: Option<Box<Text>>,
}

/// A host with all claims on it.
#[derive(Debug, Default)]
pub struct ClaimedHost<'s, 'a> {
    /// The objects that define it: those of the namespace that claimed it first, the oldest first,
    /// then those of others that have a path; never empty.
    pub objects: Vec<&'s Admitted<'a>>,
    /// Its paths in order of precedence, each with its object.
    pub claims: Vec<Claim<'s, 'a>>,
    /// The host to which all requests are redirected.
    pub redirect: Option<(HostName, Origin)>,
    /// Whether the namespace that owns the host has no served object, so that requests that no
    /// path matches have no handler.
    pub is_without_owner: bool,
    /// Who decides about requests for `/` itself.
    pub root: Root,
    /// The path of another namespace that would take challenges of certificate authorities, which
    /// are the owner's.
    pub challenges: Option<Origin>,
    /// The age of the claim, which is the order in which expressions are tried.
    pub order: u64,
    /// The index of the claim by which TLS is passed through.
    pub passing: Option<usize>,
}

/// Who decides about requests for `/` itself, which the owner of a host may redirect.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Root {
    /// The namespace that has the host first.
    #[default]
    Owner,
    /// Another namespace, which had the path before the owner asked for the redirect.
    Other,
    /// Nobody: another namespace has the path, but the redirect is older, and its object cannot be
    /// served now or was deleted less than `hosts.grace` ago.
    Nobody,
}

impl<'s, 'a> ClaimedHost<'s, 'a> {
    /// The namespace that claimed the host first, if an object of it is served.
    pub fn home(&self) -> Option<&'a str> {
        self.objects.first().filter(|_| !self.is_without_owner).map(|oldest| &*oldest.id().namespace)
    }

    /// The claim that has the names in TLS handshakes: that on the path `/`, where its object asks
    /// for passthrough and is of the namespace that owns the host. TLS of the host then goes to
    /// the backend of that path, also where other namespaces have other paths.
    pub fn passing(&self) -> Option<&Claim<'s, 'a>> {
        self.claims.get(self.passing?)
    }

    /// The claims on one host, the oldest object first.
    fn of(wanting: &[Wanting<'s, 'a>]) -> Self {
        let mut claimed = ClaimedHost { objects: Vec::with_capacity(1), ..ClaimedHost::default() };
        for (_, object, rule) in wanting {
            // Rules of one object are adjacent, so a known object is the last.
            if claimed.objects.last().is_none_or(|last| !std::ptr::eq(*last, *object)) {
                claimed.objects.push(object);
            }
            rule.iter().for_each(|number| claimed.add_paths(object, *number));
        }
        alone::match_paths(&mut claimed);
        claimed
    }

    fn add_paths(&mut self, object: &'s Admitted<'a>, rule: usize) {
        self.claims.reserve_exact(object.attached.rules.get(rule).map_or(0, |rule| rule.paths.len()));
        let has_conditions = object.attached.rules.get(rule).is_some_and(Rule::has_conditions);
        for (number, read, backend) in object.paths(rule) {
            // An invalid path has a finding already.
            let Some((path, kind)) = read.parts() else { continue };
            let first =
                object.attached.rules.get(rule).filter(|_| has_conditions).and_then(|rule| rule.entries(number).next());
            // The path is claimed once, whatever its requests have to be like.
            if first.is_some_and(|first| !first.all.is_empty() && !std::ptr::eq(first, read)) {
                continue;
            }
            let matching = match kind {
                _ if object.is_regex(kind) => Matching::Regex,
                PathType::Exact => Matching::Exact,
                PathType::Prefix | PathType::ImplementationSpecific => Matching::Prefix,
            };
            let place = (crate::position(rule), crate::position(number));
            let origin = Origin::field(object.id(), Field::Path(place.0, place.1, ""));
            let path = path.clone();
            let (closed, stays_text) = (false, None);
            self.claims.push(Claim { object, origin, place, path, kind, matching, backend, closed, stays_text });
        }
    }
}

/// Whether it is unknown which hosts these are: only the names in handshakes can be compared.
pub const fn is_unknown(name: &ServerName) -> bool {
    matches!(name, ServerName::CatchAll | ServerName::Expression(_))
}

/// A host among those that are served.
pub fn find<'l, 's, 'a>(
    claimed_hosts: &'l [(ServerName, ClaimedHost<'s, 'a>)],
    name: &ServerName,
) -> Option<&'l ClaimedHost<'s, 'a>> {
    let place = claimed_hosts.binary_search_by(|(known, _)| known.cmp(name)).ok()?;
    Some(&claimed_hosts[place].1)
}

/// All claims, by host and in order.
pub type Gathered<'s, 'a> = Vec<(ServerName, ClaimedHost<'s, 'a>)>;

/// A rule of an object that claims a host, by its index; `None` for an object without rules whose
/// default backend claims the hosts that no object names.
type Wanting<'s, 'a> = (&'s ServerName, &'s Admitted<'a>, Option<usize>);

static CATCH_ALL: ServerName = ServerName::CatchAll;

/// All claims, by host.
pub fn gather<'s, 'a>(objects: &'s [Admitted<'a>], arbiter: &mut Arbiter<'_, 'a>) -> Gathered<'s, 'a> {
    let mut wanting: Vec<Wanting<'s, 'a>> = Vec::with_capacity(objects.len());
    for object in objects {
        let of_rules = object.rules().map(|(number, rule)| {
            (rule.name.as_ref(), Some(number), Origin::field(object.id(), Field::Rule(crate::position(number))))
        });
        let of_rest = object.field_of_all_hosts().map(|origin| (Ok(&CATCH_ALL), None, origin));
        for (name, rule, origin) in of_rules.chain(of_rest) {
            let name = match name {
                Ok(name) => name,
                Err(refused) => {
                    arbiter.findings.push(object.invalid_host(rule.unwrap_or_default(), refused));
                    continue;
                }
            };
            if let Some(note) = arbiter.forbids(&object.id().namespace, object.attached.class, name) {
                arbiter.findings.push(Finding::new(Reason::HostNotAllowed, origin, note));
                arbiter.refusals.insert((&**object.id(), name.clone()), Reason::HostNotAllowed);
                continue;
            }
            wanting.push((name, object, rule));
        }
    }
    // The sort is stable: claims on one host stay in their order.
    wanting.par_sort_by(|(one, ..), (other, ..)| one.cmp(other));
    let of_hosts: Vec<_> = wanting.chunk_by(|(one, ..), (other, ..)| one == other).collect();
    let claimed_hosts = of_hosts
        .into_par_iter()
        .with_min_len(SMALLEST_PART)
        .map(|of_host| (of_host[0].0.clone(), ClaimedHost::of(of_host)));
    let mut claimed_hosts: Vec<_> = claimed_hosts.collect();
    redirect_with_or_without_www(objects, &mut claimed_hosts, arbiter);
    claimed_hosts
}

/// Adds the hosts with or without `www.` of objects that ask for the redirect. They are claims of
/// the namespace like those of rules; where it has a rule for the host, that counts, except one of
/// cert-manager for a challenge, which takes its path only.
fn redirect_with_or_without_www<'s, 'a>(
    objects: &'s [Admitted<'a>],
    claimed_hosts: &mut Gathered<'s, 'a>,
    arbiter: &mut Arbiter<'_, 'a>,
) {
    let mut asked = BTreeMap::<ServerName, Vec<&'s Admitted<'a>>>::new();
    for object in objects.iter().filter(|object| object.policy.reading.host.redirects_www.is_some()) {
        let allowance = arbiter.allowances.of(&object.id().namespace);
        let permitted = object.rules().filter(|(_, rule)| rule.name.as_ref().is_ok_and(|name| allowance.permits(name)));
        for other in permitted.filter_map(|(_, rule)| rule.counterpart()) {
            let mut known = find(claimed_hosts, &other).into_iter().flat_map(|claimed| &claimed.objects);
            let has_rule = |known: &&&Admitted<'_>| {
                known.id().namespace == object.id().namespace && !takes_challenges_only(known, &other)
            };
            match (known.find(has_rule), object.redirect_of(&other)) {
                (Some(known), Some((to, origin))) => {
                    let note = displaced(known.id(), &format!("the redirect to {to}"), &host::written(&other));
                    arbiter.findings.push(Finding::new(Reason::HostRuleConflict, origin, note));
                }
                (Some(_), None) => {}
                (None, _) if allowance.permits(&other) => asked.entry(other).or_default().push(object),
                (None, _) => {}
            }
        }
    }
    let mut added = Vec::new();
    for (name, objects) in asked {
        let redirect = objects.first().and_then(|oldest| oldest.redirect_of(&name));
        match claimed_hosts.binary_search_by(|(known, _)| known.cmp(&name)) {
            Ok(place) => {
                let claimed = &mut claimed_hosts[place].1;
                claimed.objects.extend(objects);
                claimed.redirect = redirect;
            }
            Err(_) => added.push((name, ClaimedHost { objects, redirect, ..ClaimedHost::default() })),
        }
    }
    if !added.is_empty() {
        claimed_hosts.extend(added);
        claimed_hosts.sort_by(|(one, _), (other, _)| one.cmp(other));
    }
}

/// Whether all that an object has on a host are paths for single challenges of certificate
/// authorities.
fn takes_challenges_only(object: &Admitted<'_>, name: &ServerName) -> bool {
    let rules = object.rules().filter(|(_, rule)| rule.name.as_ref() == Ok(name));
    let mut paths = rules.flat_map(|(_, rule)| rule.paths.iter()).peekable();
    paths.peek().is_some() && paths.all(|read| read.parts().is_some_and(|(path, _)| is_challenge(path)))
}

/// The finding for the younger of two claims.
pub fn conflict(loser: &Origin, owner: &Origin) -> Finding {
    let note = match loser.object == owner.object {
        true => format!("the object has this host, path and type already at {}", owner.field),
        false if loser.object.namespace != owner.object.namespace => {
            "another namespace asked for this path first and keeps it; use another path or host".to_owned()
        }
        false => format!("{owner} is older and keeps this host, path and type; use another path or host"),
    };
    Finding::new(Reason::PathConflict, loser.clone(), note)
}
