//! Aliases of hosts: a rule for a host also holds for the aliases of the host. It must not know
//! who gets the hosts.
//!
//! An alias is a host like any other: it has an owner, counts in budgets, and gets a certificate.
//! So it is a rule with the same paths. Only here a rule can get an expression as its host.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::Attached;
use super::{displaced, younger};
use crate::read::intent::{Intent, TlsSpec};
use crate::read::path::is_challenge;
use crate::read::rule::Rule;
use crate::value::host;
use crate::{HostAliases, Limits};
use ingressd_model::finding::{Finding, Reason};
use ingressd_model::{ObjectId, Origin, ServerName};

/// The objects that have rules for hosts, by namespace.
type NamedHosts<'n> = BTreeMap<(&'n str, ServerName), &'n Arc<ObjectId>>;

/// The objects that decide about the aliases of hosts, by namespace.
type Decided<'n> = BTreeMap<(&'n str, ServerName), (&'n ObjectId, &'n HostAliases)>;

/// A rule for an alias, with the host that it is an alias of and the field that names it.
type Further = (Rule, ServerName, Origin);

/// Adds rules for the aliases of their hosts to objects. The oldest object of a namespace decides
/// about a host.
pub fn expand(objects: &mut [Attached<'_>], limits: &Limits, findings: &mut Vec<Finding>) {
    // Usually there are no aliases, and nothing has to be done.
    if objects.iter().all(|object| object.policy.reading.host.aliases.is_none()) {
        return;
    }
    let mut order: Vec<_> = (0..objects.len()).collect();
    order.sort_by(|one, other| objects[*one].intent.of.oldest_first(&objects[*other].intent.of));
    let oldest_first: Vec<_> = order.iter().map(|index| objects[*index].clone()).collect();
    let (decided, named) = (decided(&oldest_first, findings), named(&oldest_first));
    let mut budget = AliasBudget { limits, used: BTreeMap::new() };
    for (index, object) in order.into_iter().zip(&oldest_first) {
        let further = further_rules(&object.intent, &decided, &named, &mut budget, findings);
        let Some((_, _, origin)) = further.first() else { continue };
        let object = &mut objects[index];
        object.implied_at = Some(origin.clone());
        object.tls = list_expressions(&object.tls, &further);
        object.rules = object.rules.iter().cloned().chain(further.into_iter().map(|(rule, ..)| rule)).collect();
    }
}

fn decided<'n>(oldest_first: &'n [Attached<'_>], findings: &mut Vec<Finding>) -> Decided<'n> {
    let mut decided = Decided::new();
    for Attached { intent, policy, .. } in oldest_first {
        let Some(aliases) = &policy.reading.host.aliases else { continue };
        let id = &intent.of.id;
        for name in hosts(intent) {
            let (older, counts) = *decided.entry((&*id.namespace, name.clone())).or_insert((&**id, aliases));
            if counts.names != aliases.names {
                let note = younger(older, &format!("the aliases of {}", host::written(name)));
                findings.push(Finding::new(Reason::HostRuleConflict, aliases.origin.clone(), note));
            }
        }
    }
    decided
}

fn named<'n>(oldest_first: &'n [Attached<'_>]) -> NamedHosts<'n> {
    let mut named = NamedHosts::new();
    // A canary names no host. Of several objects the one whose name sorts first is told.
    let naming = oldest_first.iter().filter(|object| object.policy.reading.canary.is_none());
    let mut naming: Vec<_> = naming.map(|object| &object.intent).collect();
    naming.sort_by(|one, other| one.of.id.cmp(&other.of.id));
    for intent in naming {
        // A solver of cert-manager takes its path only.
        let rules = intent.rules.iter().filter(|rule| !takes_challenges_only(rule));
        for name in rules.filter_map(Rule::named) {
            named.entry((&*intent.of.id.namespace, name.clone())).or_insert(&intent.of.id);
        }
    }
    named
}

fn hosts(intent: &Intent) -> BTreeSet<&ServerName> {
    intent.rules.iter().filter_map(Rule::named).collect()
}

fn takes_challenges_only(rule: &Rule) -> bool {
    !rule.paths.is_empty() && rule.paths.iter().all(|path| path.path.as_ref().is_ok_and(is_challenge))
}

/// The rules for aliases of an object. A name for which the namespace has a rule is not an alias.
fn further_rules(
    intent: &Intent,
    decided: &Decided<'_>,
    named: &NamedHosts<'_>,
    budget: &mut AliasBudget<'_>,
    findings: &mut Vec<Finding>,
) -> Vec<Further> {
    let own = hosts(intent);
    let namespace = &intent.of.id.namespace;
    let other = |alias: &ServerName| named.get(&(&**namespace, alias.clone())).filter(|_| !own.contains(alias));
    let paths = |rule: &Rule| rule.paths.len() as u64;
    let mut further = Vec::new();
    let mut sum: u64 = intent.rules.iter().map(paths).sum();
    for rule in intent.rules.iter() {
        let Some(name) = rule.named() else { continue };
        let Some((_, aliases)) = decided.get(&(&**namespace, name.clone())) else { continue };
        let fits = aliases.weight == 0 || budget.take_expressions(namespace, aliases, findings);
        findings.extend(aliases.names.iter().filter_map(|alias| {
            let note = displaced(other(alias)?, "the alias", &host::written(alias));
            Some(Finding::new(Reason::HostRuleConflict, aliases.origin.clone(), note))
        }));
        let counts = |alias: &&ServerName| match alias {
            ServerName::Expression(_) => fits,
            alias => !own.contains(alias) && other(alias).is_none(),
        };
        for alias in aliases.names.iter().filter(counts) {
            // An object with so many is refused as it is.
            if sum > budget.limits.object.paths || !budget.take_paths(namespace, paths(rule).max(1), aliases, findings)
            {
                return further;
            }
            sum += paths(rule);
            let host = match alias {
                ServerName::Exact(host) => host.text(),
                alias => host::written(alias).into(),
            };
            let rule = Rule { name: Ok(alias.clone()), host, paths: Arc::clone(&rule.paths), is_alias: true };
            further.push((rule, name.clone(), aliases.origin.clone()));
        }
    }
    further
}

/// What the aliases of each namespace may cause together. Each copy takes memory before any budget
/// is checked.
struct AliasBudget<'l> {
    limits: &'l Limits,
    used: BTreeMap<Arc<str>, Used>,
}

#[derive(Default)]
struct Used {
    /// What the expressions weigh: all of them are tried where a host is unknown.
    weight: u32,
    /// The paths that were written down once more.
    paths: u64,
}

impl AliasBudget<'_> {
    /// Adds the expressions of a rule where there is room for them.
    fn take_expressions(&mut self, namespace: &Arc<str>, aliases: &HostAliases, findings: &mut Vec<Finding>) -> bool {
        let most = self.limits.expressions_of_host;
        let sum = &mut self.used.entry(Arc::clone(namespace)).or_default().weight;
        let fits = sum.saturating_add(aliases.weight) <= most;
        // What comes after one that does not fit is younger.
        *sum = if fits { *sum + aliases.weight } else { most };
        if !fits {
            let note = format!(
                "the regular expressions for hosts of the namespace {namespace:?} already have the weight {most} that \
                    limits.expressions-of-host allows, so these have no effect; use names or wildcards"
            );
            findings.push(Finding::new(Reason::HostNotAllowed, aliases.origin.clone(), note));
        }
        fits
    }

    /// Adds the paths of a rule for one alias where there is room for them.
    fn take_paths(
        &mut self,
        namespace: &Arc<str>,
        paths: u64,
        aliases: &HostAliases,
        findings: &mut Vec<Finding>,
    ) -> bool {
        let most = self.limits.namespace.routes;
        let sum = &mut self.used.entry(Arc::clone(namespace)).or_default().paths;
        let fits = sum.saturating_add(paths) <= most;
        if fits {
            *sum += paths;
        } else {
            let note = format!(
                "the aliases of the namespace {namespace:?} already repeat {sum} of the {most} paths that \
                    limits.namespace-routes allows, so the aliases of this object have no effect; use fewer aliases \
                    or fewer paths"
            );
            findings.push(Finding::new(Reason::HostNotAllowed, aliases.origin.clone(), note));
        }
        fits
    }
}

/// The entries, of which each also holds for the expressions that are aliases of its hosts.
fn list_expressions(entries: &[TlsSpec], further: &[Further]) -> Arc<[TlsSpec]> {
    let listed = entries.iter().map(|entry| {
        let concerns = |base: &ServerName| entry.hosts.iter().any(|listed| host::covers(listed, base));
        let expressions = further
            .iter()
            .filter(|(rule, base, _)| matches!(rule.name, Ok(ServerName::Expression(_))) && concerns(base));
        let expressions: BTreeSet<Box<str>> = expressions.map(|(rule, ..)| (&*rule.host).into()).collect();
        match expressions.is_empty() {
            true => entry.clone(),
            false => TlsSpec { hosts: entry.hosts.iter().cloned().chain(expressions).collect(), ..entry.clone() },
        }
    });
    listed.collect()
}
