//! Collects the hosts that Ingresses define, and decides who gets which path of them.

mod alone;
mod arbiter;
mod contest;
mod host_options;
mod precedence;
mod reach;
mod reserved;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use rayon::prelude::{IndexedParallelIterator as _, IntoParallelIterator as _, ParallelIterator as _};
use rayon::slice::ParallelSliceMut as _;

use super::allowed::Allowances;
use super::claims::{ClaimingNamespace, Claims};
pub use super::site::arbiter::Refusals;
pub use super::site::host_options::{Decision, HostOption, Saying, decide, directives, settle};
#[cfg(test)]
pub use super::site::reach::elements;
pub use super::site::reach::{above, beginning, of_challenges};
pub use super::site::reserved::reserve;
use crate::attach::displaced;
use crate::attach::subject::{Subject, Withheld};
use crate::read::path::{Matching, PathType, Text, is_challenge};
use crate::read::rule::Backend;
use crate::read::since::Since;
use crate::value::host;
use crate::{ClassRule, Options, SMALLEST_PART};
use ingressd_model::finding::{Finding, Reason};
use ingressd_model::{Field, HostName, Origin, ServerName, UrlPath};

/// A path of a host, and the object that claims it.
#[derive(Debug, Clone)]
pub struct Claim<'s, 'a> {
    /// The object.
    pub subject: &'s Subject<'a>,
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
    pub stays_text: Option<Text>,
}

/// A host with all claims on it.
#[derive(Debug, Default)]
pub struct Site<'s, 'a> {
    /// The objects that define it: those of the namespace that claimed it first, the oldest first,
    /// then those of others that have a path; never empty.
    pub subjects: Vec<&'s Subject<'a>>,
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

impl<'s, 'a> Site<'s, 'a> {
    /// The namespace that claimed the host first, if an object of it is served.
    pub fn home(&self) -> Option<&'a str> {
        self.subjects.first().filter(|_| !self.is_without_owner).map(|oldest| &*oldest.id().namespace)
    }

    /// The site of the claims on one host, the oldest object first.
    fn of(wanting: &[Wanting<'s, 'a>]) -> Self {
        let mut site = Site { subjects: Vec::with_capacity(1), ..Site::default() };
        for (_, subject, rule) in wanting {
            // Rules of one object are adjacent, so a known object is the last.
            if site.subjects.last().is_none_or(|last| !std::ptr::eq(*last, *subject)) {
                site.subjects.push(subject);
            }
            rule.iter().for_each(|number| site.add_paths(subject, *number));
        }
        alone::match_paths(&mut site);
        site
    }

    fn add_paths(&mut self, subject: &'s Subject<'a>, rule: usize) {
        self.claims.reserve_exact(subject.read.get(rule).map_or(0, |rule| rule.paths.len()));
        for (number, read, backend) in subject.paths(rule) {
            // An invalid path has a finding already.
            let Some((path, kind)) = read.parts() else { continue };
            let matching = match kind {
                _ if subject.is_regex(kind) => Matching::Regex,
                PathType::Exact => Matching::Exact,
                PathType::Prefix | PathType::ImplementationSpecific => Matching::Prefix,
            };
            let place = (crate::position(rule), crate::position(number));
            let origin = Origin::field(subject.id(), Field::Path(place.0, place.1, ""));
            let path = path.clone();
            let (closed, stays_text) = (false, None);
            self.claims.push(Claim { subject, origin, place, path, kind, matching, backend, closed, stays_text });
        }
    }
}

/// The result for all claims.
#[derive(Debug)]
pub struct Sites<'s, 'a> {
    /// The served hosts, in order.
    pub sites: Vec<(ServerName, Site<'s, 'a>)>,
    /// All present claims.
    pub claims: Arc<Claims>,
    /// When the next reservation ends, in seconds since 1970.
    pub ends: Option<i64>,
    /// Objects and hosts of which they get nothing.
    pub refusals: Refusals<'a>,
    /// Objects and hosts of which they get nothing, because others have all the paths.
    pub outsiders: Refusals<'a>,
}

/// A host among those that are served.
pub fn find<'l, 's, 'a>(sites: &'l [(ServerName, Site<'s, 'a>)], name: &ServerName) -> Option<&'l Site<'s, 'a>> {
    let place = sites.binary_search_by(|(known, _)| known.cmp(name)).ok()?;
    Some(&sites[place].1)
}

/// The objects that claim hosts.
#[derive(Debug)]
pub struct ClaimingObjects<'s, 'a> {
    /// Objects that can be served, the oldest first.
    pub subjects: &'s [Subject<'a>],
    /// Objects that cannot be served now, and keep their claims.
    pub withheld: &'s [Withheld<'a>],
    /// What each namespace may claim at all.
    pub allowances: Allowances<'a>,
}

impl<'s, 'a> ClaimingObjects<'s, 'a> {
    /// Decides about all hosts.
    pub fn settle(mut self, options: &Options, known: &Arc<Claims>, findings: &mut Vec<Finding>) -> Sites<'s, 'a> {
        let mut refusals = Refusals::new();
        let gathered = gather(self.subjects, known, &mut self.allowances, options, &mut refusals, findings);
        let withheld = withheld(self.withheld, &mut self.allowances, options);
        let asked = asked(&gathered, &withheld, known, options);
        let (claims, ends) = Claims::follow(known, &asked, options.now, options.host_grace, &options.claim_orders);
        drop(asked);
        let mut arbiter = arbiter::Arbiter::new(options, &claims, self.allowances);
        gathered.iter().for_each(|(name, site)| arbiter.note(name, site));
        let (number, sites, mut claimants) = (gathered.len(), gathered.into_iter(), claims.in_order());
        let decided = sites.filter_map(|(name, site)| {
            let mut decided = arbiter.decide(&name, claimants.of(&name), site, &mut refusals, findings)?;
            if let (ServerName::Expression(_), Some(first)) = (&name, decided.subjects.first()) {
                decided.order = claims.number(&name, &first.id().namespace);
            }
            Some((name, decided))
        });
        // Nearly all of them are served.
        let mut sites = Vec::with_capacity(number);
        sites.extend(decided);
        let outsiders = arbiter.outsiders;
        Sites { sites, claims, ends, refusals, outsiders }
    }
}

/// All claims, by host and in order.
type Gathered<'s, 'a> = Vec<(ServerName, Site<'s, 'a>)>;

/// A rule of an object that claims a host, by its index; `None` for an object without rules whose
/// default backend claims the hosts that no object names.
type Wanting<'s, 'a> = (&'s ServerName, &'s Subject<'a>, Option<usize>);

static CATCH_ALL: ServerName = ServerName::CatchAll;

/// All claims, by host.
fn gather<'s, 'a>(
    subjects: &'s [Subject<'a>],
    known: &Claims,
    allowances: &mut Allowances<'a>,
    options: &Options,
    refusals: &mut Refusals<'a>,
    findings: &mut Vec<Finding>,
) -> Gathered<'s, 'a> {
    let mut wanting: Vec<Wanting<'s, 'a>> = Vec::with_capacity(subjects.len());
    for subject in subjects {
        let namespace = &subject.id().namespace;
        let allowance = allowances.of(namespace);
        // While labels cannot be read all namespaces keep what they have.
        let may_have = |name: &ServerName| {
            let has = || known.of(name).iter().any(|claimant| claimant.namespace == *namespace);
            allowance.permits(name) || (allowance.undecided && has())
        };
        for (number, rule) in subject.rules() {
            let name = match &rule.name {
                Ok(name) => name,
                Err(refused) => {
                    findings.push(subject.invalid_host(number, refused));
                    continue;
                }
            };
            let is_beyond = !may_use(name, subject.rule, options);
            if is_beyond || !may_have(name) {
                let origin = Origin::field(subject.id(), Field::Rule(crate::position(number)));
                let note = match is_beyond {
                    true => "a regular expression takes any unknown host, and here each host belongs to one namespace \
                        (`hosts.ownership`); list names or wildcards, or ask the administrator for all hosts in \
                        `hosts.allowed`"
                        .to_owned(),
                    false => format!("the administrator lets this namespace ask for {allowance} (`hosts.allowed`)"),
                };
                findings.push(Finding::new(Reason::HostNotAllowed, origin, note));
                refusals.insert((&**subject.id(), name.clone()));
                continue;
            }
            wanting.push((name, subject, Some(number)));
        }
        let Some(origin) = subject.field_of_all_hosts() else { continue };
        if !may_have(&CATCH_ALL) {
            let note = format!("the administrator lets this namespace ask for {allowance} (`hosts.allowed`)");
            findings.push(Finding::new(Reason::HostNotAllowed, origin, note));
            refusals.insert((&**subject.id(), ServerName::CatchAll));
        } else {
            wanting.push((&CATCH_ALL, subject, None));
        }
    }
    // The sort is stable: claims on one host stay in their order.
    wanting.par_sort_by(|(one, ..), (other, ..)| one.cmp(other));
    let of_hosts: Vec<_> = wanting.chunk_by(|(one, ..), (other, ..)| one == other).collect();
    let sites =
        of_hosts.into_par_iter().with_min_len(SMALLEST_PART).map(|of_host| (of_host[0].0.clone(), Site::of(of_host)));
    let mut sites: Vec<_> = sites.collect();
    redirect_with_or_without_www(subjects, allowances, &mut sites, findings);
    sites
}

/// Whether objects of this class may use expressions for hosts: where hosts are exclusive, only
/// namespaces may that the administrator allows all hosts.
fn may_use(name: &ServerName, rule: &ClassRule, options: &Options) -> bool {
    let is_expression = matches!(name, ServerName::Expression(_));
    !is_expression || !rule.is_exclusive(options.ownership) || !options.allowed_hosts.is_empty()
}

/// Adds the hosts with or without `www.` of objects that ask for the redirect. They are claims of
/// the namespace like those of rules; where it has a rule for the host, that counts, except one of
/// cert-manager for a challenge, which takes its path only.
fn redirect_with_or_without_www<'s, 'a>(
    subjects: &'s [Subject<'a>],
    allowances: &mut Allowances<'a>,
    sites: &mut Gathered<'s, 'a>,
    findings: &mut Vec<Finding>,
) {
    let mut asked = BTreeMap::<ServerName, Vec<&'s Subject<'a>>>::new();
    for subject in subjects.iter().filter(|subject| subject.reading.host.redirects_www.is_some()) {
        let allowance = allowances.of(&subject.id().namespace);
        let permitted =
            subject.rules().filter(|(_, rule)| rule.name.as_ref().is_ok_and(|name| allowance.permits(name)));
        for other in permitted.filter_map(|(_, rule)| rule.counterpart()) {
            let mut known = find(sites, &other).into_iter().flat_map(|site| &site.subjects);
            let has_rule = |known: &&&Subject<'_>| {
                known.id().namespace == subject.id().namespace && !takes_challenges_only(known, &other)
            };
            match (known.find(has_rule), subject.redirect_of(&other)) {
                (Some(known), Some((to, origin))) => {
                    let note = displaced(known.id(), &format!("the redirect to {to}"), &host::written(&other));
                    findings.push(Finding::new(Reason::HostRuleConflict, origin, note));
                }
                (Some(_), None) => {}
                (None, _) if allowance.permits(&other) => asked.entry(other).or_default().push(subject),
                (None, _) => {}
            }
        }
    }
    let mut added = Vec::new();
    for (name, subjects) in asked {
        let redirect = subjects.first().and_then(|oldest| oldest.redirect_of(&name));
        match sites.binary_search_by(|(known, _)| known.cmp(&name)) {
            Ok(place) => {
                let site = &mut sites[place].1;
                site.subjects.extend(subjects);
                site.redirect = redirect;
            }
            Err(_) => added.push((name, Site { subjects, redirect, ..Site::default() })),
        }
    }
    if !added.is_empty() {
        sites.extend(added);
        sites.sort_by(|(one, _), (other, _)| one.cmp(other));
    }
}

/// Whether all that an object has on a host are paths for single challenges of certificate
/// authorities.
fn takes_challenges_only(subject: &Subject<'_>, name: &ServerName) -> bool {
    let rules = subject.rules().filter(|(_, rule)| rule.name.as_ref() == Ok(name));
    let mut paths = rules.flat_map(|(_, rule)| rule.paths.iter()).peekable();
    paths.peek().is_some() && paths.all(|read| read.parts().is_some_and(|(path, _)| is_challenge(path)))
}

/// The place of the redirect of a host's `/`, whose age counts like that of a path: paths begin
/// with a slash.
pub const ROOT_REDIRECT: &str = "app-root";

/// The most rules of one namespace that keep their hosts while their objects cannot be served.
const MOST_WITHHELD: usize = 10_000;

/// The unserved objects that claim each host.
type WithheldHosts<'w, 'a> = BTreeMap<Cow<'w, ServerName>, Vec<&'w Withheld<'a>>>;

fn withheld<'w, 'a>(
    objects: &'w [Withheld<'a>],
    allowances: &mut Allowances<'a>,
    options: &Options,
) -> WithheldHosts<'w, 'a> {
    let mut hosts = WithheldHosts::new();
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for object in objects {
        let namespace = object.namespace();
        let (allowance, count) = (allowances.of(namespace), counts.entry(namespace).or_default());
        for name in object.hosts() {
            // A namespace with many such objects must not make the list of claims grow without
            // limit.
            let may_ask = may_use(&name, object.class, options) && (allowance.permits(&name) || allowance.undecided);
            if *count < MOST_WITHHELD && may_ask {
                *count += 1;
                hosts.entry(name).or_default().push(object);
            }
        }
    }
    hosts
}

/// The keys of the paths of an object that is not served.
fn places_of(object: &Withheld<'_>, name: &ServerName) -> Vec<Arc<str>> {
    let paths = object.rules_of(name).flat_map(|rule| rule.paths.iter()).filter_map(|path| path.path.as_ref().ok());
    let places = paths.flat_map(|path| {
        [Matching::Prefix, Matching::Regex].map(|matching| Arc::from(reach::beginning(matching, path.as_str())))
    });
    places.chain(object.reading.host.app_root.as_ref().map(|_| ROOT_REDIRECT.into())).collect()
}

/// Whether an object claims a host only to have it redirected.
fn is_redirected(subject: &Subject<'_>, name: &ServerName, site: &Site<'_, '_>) -> bool {
    site.redirect.is_some() && subject.redirect_of(name).is_some()
}

/// All present claims, in order.
fn asked<'m, 'a: 'm>(
    gathered: &'m [(ServerName, Site<'_, 'a>)],
    withheld: &'m WithheldHosts<'m, 'a>,
    known: &Claims,
    options: &Options,
) -> Vec<(&'m ServerName, Vec<ClaimingNamespace<'m>>)> {
    // They are collected in the order of names: looking up thousands of names again would be too
    // slow.
    let mut asked: Vec<(&ServerName, Vec<ClaimingNamespace<'m>>)> = Vec::with_capacity(gathered.len());
    for (name, site) in gathered {
        let mut asking = Vec::with_capacity(1);
        for subject in &site.subjects {
            let since = subject.since().implied(is_redirected(subject, name, site));
            ask(&mut asking, &subject.id().namespace, since, subject.rule.is_exclusive(options.ownership));
        }
        asked.push((name, asking));
    }
    for (name, objects) in withheld {
        let name: &ServerName = name;
        let place = asked.binary_search_by(|(asked, _)| (*asked).cmp(name));
        let place = place.unwrap_or_else(|place| {
            asked.insert(place, (name, Vec::new()));
            place
        });
        for object in objects {
            let is_exclusive = object.class.is_exclusive(options.ownership);
            ask(&mut asked[place].1, object.namespace(), object.since(name), is_exclusive);
        }
    }
    let mut known = known.in_order();
    for (name, asking) in &mut asked {
        let claimants = known.of(name);
        if let [only] = &asking[..]
            && claimants.iter().all(|claimant| claimant.namespace == *only.namespace)
        {
            continue;
        }
        let mut own = |namespace: &str, place: Arc<str>, since| {
            let own = asking.iter_mut().find(|asking| **asking.namespace == *namespace);
            own.into_iter().for_each(|own| own.places.push((Arc::clone(&place), since)));
        };
        // Whoever has the host claims `/` as well when it takes all other requests. What somebody
        // else says about these has no effect, and no age.
        let owner = claimants.iter().min_by_key(|claimant| claimant.number);
        let has_rest = |namespace: &str| {
            let is_named = **name == ServerName::CatchAll && options.is_catch_all(namespace);
            is_named || owner.is_none_or(|owner| *owner.namespace == *namespace)
        };
        for object in withheld.get(*name).into_iter().flatten() {
            let namespace = object.namespace();
            let rest = (object.takes_the_rest_of(name) && has_rest(namespace)).then(Arc::default);
            let places = places_of(object, name).into_iter().chain(rest);
            places.for_each(|place| own(namespace, place, object.since(name)));
        }
        let site = find(gathered, name);
        for claim in site.into_iter().flat_map(|site| &site.claims) {
            let place = reach::beginning(claim.matching, claim.path.as_str()).into();
            own(&claim.subject.id().namespace, place, claim.subject.since());
        }
        let subjects = || site.into_iter().flat_map(|site| site.subjects.iter().map(move |subject| (site, subject)));
        for (site, subject) in subjects().filter(|(_, subject)| has_rest(&subject.id().namespace)) {
            let is_redirected = is_redirected(subject, name, site);
            if is_redirected || subject.takes_the_rest() {
                own(&subject.id().namespace, Arc::default(), subject.since().implied(is_redirected));
            }
        }
        for (_, subject) in subjects().filter(|(_, subject)| subject.reading.host.app_root.is_some()) {
            own(&subject.id().namespace, ROOT_REDIRECT.into(), subject.since());
        }
    }
    asked
}

/// Adds an object, which is younger than those that were added before.
fn ask<'m>(asking: &mut Vec<ClaimingNamespace<'m>>, namespace: &'m Arc<str>, since: Since<'m>, exclusive: bool) {
    match asking.iter_mut().find(|asking| *asking.namespace == *namespace) {
        Some(known) => known.since = known.since.min(since),
        None => {
            asking.push(ClaimingNamespace { namespace, exclusive, since, places: Vec::new() });
        }
    }
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
