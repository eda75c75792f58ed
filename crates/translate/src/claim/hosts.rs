//! Decides which namespaces may have paths of a host. It must not know how paths are matched, nor
//! the kind of the objects.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::arbiter::Arbiter;
use super::asks::ROOT_REDIRECT;
use super::claimed::reach::{self, Challenges};
use super::claimed::{self, Claim, ClaimedHost, Gathered, Root, alone};
use super::claims::{Claimant, Claims};
use super::paths::{self, Contested};
use crate::Options;
use crate::admit::admitted::Admitted;
use crate::value::host;
use ingressd_model::finding::{Finding, Reason};
use ingressd_model::{Field, Origin, ServerName};

/// The second round, with the claims of this translation.
#[derive(Debug)]
struct Hosts<'r, 'o, 'a> {
    arbiter: &'r mut Arbiter<'o, 'a>,
    options: &'r Options,
    claims: &'r Claims,
    /// Whether there is any exclusive wildcard: most clusters have none.
    has_wildcards: bool,
    /// The namespaces that protect routes of a wildcard host.
    protected: HashMap<ServerName, Vec<Arc<str>>>,
}

impl<'o, 'a> Arbiter<'o, 'a> {
    /// The second round, with the third for each host: those of which something is served, in
    /// order.
    pub fn hosts<'s>(&mut self, asked: Gathered<'s, 'a>, claims: &Claims) -> Gathered<'s, 'a> {
        let (has_wildcards, protected) = (claims.has_exclusive_wildcard(), HashMap::new());
        let options = self.options;
        let mut hosts = Hosts { arbiter: self, options, claims, has_wildcards, protected };
        asked.iter().for_each(|(name, claimed)| hosts.note(name, claimed));
        // Nearly all of them are served.
        let (mut served, mut claimants) = (Vec::with_capacity(asked.len()), claims.in_order());
        for (name, claimed) in asked {
            let Some(mut decided) = hosts.decide(&name, claimants.of(&name), claimed) else { continue };
            if let (ServerName::Expression(_), Some(first)) = (&name, decided.objects.first()) {
                decided.order = claims.number(&name, &first.id().namespace);
            }
            decided.passing = passing(&name, &decided);
            served.push((name, decided));
        }
        served
    }
}

/// The claim that has the names in TLS handshakes of the host.
fn passing(name: &ServerName, claimed: &ClaimedHost<'_, '_>) -> Option<usize> {
    let home = claimed.home().filter(|_| !claimed::is_unknown(name))?;
    claimed.claims.iter().position(|claim| {
        claim.object.policy.reading.passthrough.is_some()
            && claim.path.as_str() == "/"
            && *claim.object.id().namespace == *home
    })
}

impl<'r, 'a> Hosts<'r, '_, 'a> {
    /// Records the routes of a wildcard host, before any host within it is decided about.
    fn note(&mut self, name: &ServerName, asked: &ClaimedHost<'_, 'a>) {
        if !matches!(name, ServerName::Wildcard(_)) {
            return;
        }
        let standing = self.standing(name, self.claims.of(name));
        let has = |namespace: &str| standing.iter().any(|claimant| *claimant.namespace == *namespace);
        let protects = asked.objects.iter().filter(|object| object.is_protected);
        let protects = protects.map(|object| &object.id().namespace).filter(|namespace| has(namespace));
        let namespaces: Vec<_> = protects.map(Arc::clone).collect();
        if !namespaces.is_empty() {
            self.protected.insert(name.clone(), namespaces);
        }
    }

    /// Whether a host lies within a wildcard of which another namespace, with an older claim,
    /// protects routes. Everybody may ask for a wildcard, so the administrator has to give it to
    /// that namespace.
    fn is_within_protected(&self, name: &ServerName, own: &Claimant) -> bool {
        let Some(wildcard) = host::wildcard_above(name) else { return false };
        let protects = self.protected.get(&wildcard).into_iter().flatten();
        let mut others = protects.filter(|namespace| **namespace != own.namespace);
        others.any(|namespace| {
            self.claims.number(&wildcard, namespace) < own.number && self.arbiter.allowances.gives(namespace, &wildcard)
        })
    }

    /// What is served of a host with these claims; `None` when no claimant may have it.
    fn decide<'s>(
        &mut self,
        name: &ServerName,
        claimants: &'r [Claimant],
        asked: ClaimedHost<'s, 'a>,
    ) -> Option<ClaimedHost<'s, 'a>> {
        if self.is_undisputed(name, claimants, &asked) {
            let claims = alone::settle(asked.claims, &self.options.limits, &mut self.arbiter.findings);
            return Some(ClaimedHost { claims, ..asked });
        }
        let standing = self.standing(name, claimants);
        let has_redirect = asked.redirect.is_some();
        let mut parties = self.parties(name, asked);
        let Arbiter { findings, refusals, .. } = &mut *self.arbiter;
        parties.retain_mut(|party| {
            let Some(note) = refusal(name, party.namespace, &standing) else { return true };
            let solves = self.options.challenges.contains(party.namespace) && !standing.is_empty();
            let refused = if solves { party.keep_challenges() } else { std::mem::take(&mut party.objects) };
            let fields = refused.iter().flat_map(|object| object.fields_of(name));
            findings.extend(fields.map(|origin| Finding::new(Reason::HostOwned, origin, note)));
            refusals.extend(refused.iter().map(|object| ((&**object.id(), name.clone()), Reason::HostOwned)));
            !party.objects.is_empty()
        });
        if *name == ServerName::CatchAll {
            let is_named = |party: &Party<'_, '_>| self.options.is_catch_all(party.namespace);
            // A namespace that the administrator names goes first, however late its claim is.
            parties.sort_by_key(|party| !is_named(party));
            if self.options.default_backend.is_some() || parties.first().is_some_and(is_named) {
                let others = parties.iter_mut().filter(|party| !is_named(party));
                others.for_each(|party| keep_catch_all(party, &self.options.challenges, findings));
            }
        }
        let limits = &self.options.limits;
        for party in &mut parties {
            party.claims = alone::settle(std::mem::take(&mut party.claims), limits, findings);
        }
        let is_alone = |party: &Party<'_, '_>| standing.iter().all(|one| one.namespace == *party.namespace);
        let is_contested = !parties.iter().all(is_alone);
        let mut parties = parties.into_iter();
        let first = parties.next()?;
        // A redirect of whoever is not the owner takes nothing.
        let redirect = first.objects.iter().filter(|_| has_redirect).find_map(|object| object.redirect_of(name));
        if !is_contested {
            return Some(ClaimedHost {
                objects: first.objects,
                claims: first.claims,
                redirect,
                ..ClaimedHost::default()
            });
        }
        let is_other = |owner: &Claimant| owner.namespace != *first.namespace && *name != ServerName::CatchAll;
        let is_without_owner = standing.first().copied().is_some_and(is_other);
        let (mut objects, mut others) = match is_without_owner {
            false => (first.objects, Vec::new()),
            true => (Vec::new(), first.objects),
        };
        let mut all = vec![first.claims];
        for party in parties {
            all.push(party.claims);
            others.extend(party.objects);
        }
        let redirect = redirect.filter(|_| !is_without_owner);
        let is_redirected = |namespace: &str| redirect.iter().any(|(_, by)| *by.object.namespace == *namespace);
        let both = objects.iter().chain(&others);
        let unserved = both.filter(|object| !is_redirected(&object.id().namespace));
        findings.extend(unserved.filter_map(|object| object.redirect_of(name)).map(|(to, origin)| {
            let note = format!(
                "another namespace has the host whose requests would be redirected to {to}; remove the annotation, or \
                 use another host"
            );
            Finding::new(Reason::HostRuleConflict, origin, note)
        }));
        let rest = objects.iter().copied().find(|object| redirect.is_some() || object.takes_the_rest());
        let rest = rest.map(|object| match &redirect {
            Some((_, origin)) => (object, Reason::HostRuleConflict, origin.clone()),
            None => (object, Reason::PathConflict, Origin::field(object.id(), Field::DefaultBackend)),
        });
        // Of unknown hosts not the age alone decides, so the owner is whoever is served.
        let served = objects.first().map(|owner| &owner.id().namespace);
        let owner = served.or(standing.first().map(|owner| &owner.namespace));
        let contested = Contested {
            name,
            claims: self.claims,
            standing: &standing,
            owner: owner.map(AsRef::as_ref),
            challengers: &self.options.challenges,
        };
        let claims = paths::settle(contested, all, rest, findings);
        let challenges = contested.before_challenges(&claims);
        // An object without a path on another namespace's host does not influence the host.
        let routed: HashSet<_> = claims.iter().map(|claim| claim.object.id()).collect();
        let (others, outsiders): (Vec<_>, Vec<_>) = others.into_iter().partition(|object| routed.contains(object.id()));
        self.arbiter.outsiders.extend(outsiders.into_iter().map(|object| (&**object.id(), name.clone())));
        let root = owner.map_or(Root::Owner, |owner| self.root(name, owner, &objects, &claims));
        objects.extend(others);
        let rest = ClaimedHost::default();
        let is_served = !objects.is_empty();
        is_served.then_some(ClaimedHost { objects, claims, redirect, is_without_owner, root, challenges, ..rest })
    }

    /// Who decides about requests for `/`, of which these claims are served.
    fn root(&self, name: &ServerName, owner: &Arc<str>, own: &[&Admitted<'_>], claims: &[Claim<'_, '_>]) -> Root {
        let age = |namespace: &str, place| self.claims.age(name, namespace, place);
        let redirect = age(owner, ROOT_REDIRECT);
        let of_root = |claim: &&Claim<'_, '_>| reach::beginning(claim.matching, claim.path.as_str()).is_empty();
        let namespaces = claims.iter().filter(of_root).map(|claim| &claim.object.id().namespace);
        let (own_paths, others): (Vec<_>, Vec<_>) = namespaces.partition(|namespace| *namespace == owner);
        let is_older = |other: &&Arc<str>| age(other, "").unwrap_or(u64::MAX) < redirect.unwrap_or(u64::MAX);
        if others.iter().any(is_older) {
            return Root::Other;
        }
        let is_here = own.iter().any(|object| object.policy.reading.host.app_root.is_some());
        let is_away = redirect.is_some() && !is_here && own_paths.is_empty() && !others.is_empty();
        if is_away { Root::Nobody } else { Root::Owner }
    }

    /// Whether there is nothing to decide, as on nearly all hosts: one namespace claims the host,
    /// did so before, and no wildcard of others contains it.
    fn is_undisputed(&self, name: &ServerName, claimants: &[Claimant], asked: &ClaimedHost<'_, 'a>) -> bool {
        let [only] = claimants else { return false };
        let is_only = |object: &&Admitted<'a>| object.id().namespace == only.namespace;
        let has_wildcards = self.has_wildcards || !self.protected.is_empty();
        let is_plain = !claimed::is_unknown(name);
        !has_wildcards && is_plain && asked.objects.iter().all(is_only)
    }

    /// All claimants with their claims, the oldest first.
    fn parties<'s>(&self, name: &ServerName, asked: ClaimedHost<'s, 'a>) -> Vec<Party<'s, 'a>> {
        let mut parties: Vec<Party<'s, 'a>> = Vec::with_capacity(1);
        for object in asked.objects {
            let namespace = &object.id().namespace;
            match parties.iter_mut().find(|party| party.namespace == namespace) {
                Some(party) => party.objects.push(object),
                None => parties.push(Party { namespace, objects: vec![object], claims: Vec::new() }),
            }
        }
        if let [only] = &mut parties[..] {
            only.claims = asked.claims;
            return parties;
        }
        for claim in asked.claims {
            let namespace = &claim.object.id().namespace;
            if let Some(party) = parties.iter_mut().find(|party| party.namespace == namespace) {
                party.claims.push(claim);
            }
        }
        let age = |party: &Party<'_, '_>| self.claims.number(name, party.namespace);
        parties.sort_by_key(age);
        parties
    }

    /// The claimants of a host whose claims are valid, the oldest first: a claim that is not
    /// allowed reserves nothing, however old it is.
    fn standing(&mut self, name: &ServerName, claimants: &'r [Claimant]) -> Vec<&'r Claimant> {
        let mut standing: Vec<_> = claimants.iter().filter(|own| !self.is_within_others(name, own)).collect();
        if matches!(name, ServerName::Expression(_)) {
            let rest = self.standing(&ServerName::CatchAll, self.claims.of(&ServerName::CatchAll));
            standing.retain(|own| !self.is_of_others(&rest, own));
        }
        standing.sort_by_key(|claimant| claimant.number);
        if let Some(owner) = standing.first().copied().filter(|owner| owner.exclusive) {
            // The administrator decides who handles requests for unknown hosts.
            let is_named =
                |other: &Claimant| *name == ServerName::CatchAll && self.options.is_catch_all(&other.namespace);
            standing.retain(|other| other.namespace == owner.namespace || is_named(other));
        }
        standing
    }

    /// Whether other namespaces decide about requests for unknown hosts: those with an older
    /// claim, or those that the administrator names.
    fn is_of_others(&self, rest: &[&Claimant], own: &Claimant) -> bool {
        let is_named = |claimant: &Claimant| self.options.is_catch_all(&claimant.namespace);
        let precedes =
            |other: &&&Claimant| other.namespace != own.namespace && (other.number < own.number || is_named(other));
        !is_named(own) && (self.options.default_backend.is_some() || rest.iter().any(|other| precedes(&other)))
    }

    /// Whether a host lies within a wildcard of another namespace with an older claim that is
    /// exclusive or protects it.
    fn is_within_others(&mut self, name: &ServerName, own: &Claimant) -> bool {
        let is_within = (self.has_wildcards && self.claims.is_within_older(name, own))
            || (!self.protected.is_empty() && self.is_within_protected(name, own));
        is_within && !self.arbiter.allowances.of(&own.namespace).lists(name)
    }
}

/// Why a namespace gets nothing of a host.
fn refusal(name: &ServerName, namespace: &str, standing: &[&Claimant]) -> Option<&'static str> {
    if standing.iter().any(|claimant| *claimant.namespace == *namespace) {
        return None;
    }
    Some(match standing.first() {
        Some(owner) if owner.exclusive && owner.gone.is_some() => {
            "the host is reserved for the namespace that had it until `hosts.grace` has passed; if no object there \
             asks for it then, this one gets it"
        }
        Some(owner) if owner.exclusive => {
            "another namespace asked for this host first and owns it; use another host, or ask the administrator for \
             `hosts.ownership`"
        }
        _ if matches!(name, ServerName::Expression(_)) => {
            "requests for unknown hosts belong to the administrator, or to another namespace that asked for them \
                first, so this regular expression gets none; list names or wildcards, or ask the administrator for \
                `hosts.catch-all`"
        }
        _ => {
            "the host lies within a wildcard host that another namespace owns or protects; use another host, or ask \
                the administrator for `hosts.allowed`"
        }
    })
}

/// What the administrator sets for unknown hosts is not replaced by any object.
fn keep_catch_all(party: &mut Party<'_, '_>, challengers: &[Arc<str>], findings: &mut Vec<Finding>) {
    const NOTE: &str = "requests for unknown hosts belong to the administrator; name a host, or ask the administrator \
        for `hosts.catch-all`";
    let may_solve = challengers.contains(party.namespace);
    let is_refused = |claim: &Claim<'_, '_>| {
        let path = claim.path.as_str();
        let takes_challenges =
            || reach::challenges(claim.matching, &reach::beginning(claim.matching, path)) != Challenges::None;
        reach::elements(claim.matching, path).is_empty() || !may_solve && takes_challenges()
    };
    let refused = party.claims.extract_if(.., |claim| is_refused(claim)).map(|claim| claim.origin);
    let fields = party.objects.iter().filter_map(|object| object.field_of_all_hosts());
    findings.extend(refused.chain(fields).map(|origin| Finding::new(Reason::HostOwned, origin, NOTE)));
}

/// The claims of one namespace on a host.
#[derive(Debug)]
struct Party<'s, 'a> {
    namespace: &'a Arc<str>,
    /// Its objects, the oldest first.
    objects: Vec<&'s Admitted<'a>>,
    claims: Vec<Claim<'s, 'a>>,
}

impl<'s, 'a> Party<'s, 'a> {
    /// Keeps the objects that ask only for challenges here, and returns the others.
    fn keep_challenges(&mut self) -> Vec<&'s Admitted<'a>> {
        let is_challenge = |claim: &Claim<'_, '_>| {
            let beginning = reach::beginning(claim.matching, claim.path.as_str());
            reach::challenges(claim.matching, &beginning) == Challenges::Alone
        };
        let id = |claim: &Claim<'s, 'a>| claim.object.id();
        let (solving, others): (Vec<_>, Vec<_>) = self.claims.iter().partition(|claim| is_challenge(claim));
        let (solving, others): (HashSet<_>, HashSet<_>) =
            (solving.into_iter().map(id).collect(), others.into_iter().map(id).collect());
        self.claims.retain(|claim| !others.contains(claim.object.id()));
        self.objects.extract_if(.., |object| !solving.contains(object.id()) || others.contains(object.id())).collect()
    }
}
