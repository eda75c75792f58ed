//! Aliases of hosts: a rule for a host also holds for the aliases of the host.
//!
//! An alias is a host like any other: it has an owner, counts in budgets, and gets a certificate.
//! So the rules are copied for the alias, and all later steps see ordinary rules. Only here a rule
//! can get an expression as its host, behind a `~`.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use super::site::{self, younger};
use super::{HostAliases, Limits, Reading, host, order};
use ingressd_model::finding::{Finding, Reason};
use ingressd_model::{Field, HostName, ObjectId, Origin, ServerName, UrlPath};
use ingressd_objects::{Ingress, IngressPath, IngressRule, IngressTls, Snapshot, Stored};

/// A snapshot with copied rules.
#[derive(Debug)]
pub struct Expanded {
    /// The snapshot, including the copied rules.
    pub snapshot: Snapshot,
    /// The number of rules that each object has itself, and the field that the copies come from.
    fields: HashMap<Arc<ObjectId>, (u16, Origin)>,
}

/// The objects that have rules for hosts, by namespace.
type NamedHosts<'n> = BTreeMap<(&'n str, ServerName), &'n Arc<ObjectId>>;

/// An Ingress with its options about host names.
pub type Named<'a> = (&'a Stored<Ingress>, &'a Reading);

impl Expanded {
    /// The objects with rules for the aliases of their hosts; `None` when there are no aliases.
    /// The oldest object of a namespace decides about a host.
    pub fn of(
        snapshot: &Snapshot,
        objects: &[Named<'_>],
        limits: &Limits,
        findings: &mut Vec<Finding>,
    ) -> Option<Self> {
        let mut naming: Vec<_> =
            objects.iter().filter_map(|(stored, reading)| Some((*stored, reading.host.aliases.as_ref()?))).collect();
        if naming.is_empty() {
            return None;
        }
        naming.sort_by(|(one, _), (other, _)| order::oldest_first(one, other));
        let mut decided: BTreeMap<(&str, ServerName), (&Stored<Ingress>, &HostAliases)> = BTreeMap::new();
        for (stored, aliases) in naming {
            for name in hosts(stored).collect::<BTreeSet<_>>() {
                let written = host::written(&name);
                let (older, counts) = *decided.entry((&stored.id.namespace, name)).or_insert((stored, aliases));
                if counts.names != aliases.names {
                    let note = younger(&older.id, &format!("the aliases of {written}"));
                    findings.push(Finding::new(Reason::HostRuleConflict, aliases.origin.clone(), note));
                }
            }
        }
        let mut expanded = Expanded { snapshot: snapshot.clone(), fields: HashMap::new() };
        // A canary names no host.
        let naming = objects.iter().filter(|(_, reading)| reading.canary.is_none());
        let mut named = NamedHosts::new();
        for (stored, _) in naming {
            // A solver of cert-manager takes its path only.
            for name in rules(stored).iter().filter(|rule| !takes_challenges_only(rule)).filter_map(name_of) {
                named.entry((&stored.id.namespace, name)).or_insert(&stored.id);
            }
        }
        let edited = expanded.snapshot.ingresses.edit();
        let mut room = Room { limits, used: BTreeMap::new() };
        let mut objects: Vec<_> = objects.iter().map(|(stored, ..)| *stored).collect();
        objects.sort_by(|one, other| order::oldest_first(one, other));
        for stored in objects {
            let further = further_rules(stored, &decided, &named, &mut room, findings);
            let index = edited.binary_search_by(|other| other.id.cmp(&stored.id));
            if let (Some((_, _, origin)), Ok(index)) = (further.first(), index) {
                let own = rules(stored).len();
                let field = (super::position(own), origin.clone());
                expanded.fields.insert(Arc::clone(&stored.id), field);
                let object = Arc::make_mut(&mut edited[index].object);
                list_expressions(object, &further);
                let own = std::mem::take(&mut object.rules).into_iter();
                object.rules = own.chain(further.into_iter().map(|(rule, ..)| rule)).collect();
            }
        }
        Some(expanded)
    }

    /// Moves findings about copied rules to the field that the copies come from.
    pub fn relate(&self, findings: &mut [Finding]) {
        for finding in findings {
            let rule = match finding.origin.field {
                Field::Rule(rule) | Field::Path(rule, ..) => rule,
                _ => continue,
            };
            if let Some((_, origin)) = self.fields.get(&finding.origin.object).filter(|(own, _)| rule >= *own) {
                finding.origin = origin.clone();
            }
        }
    }
}

fn rules(stored: &Stored<Ingress>) -> &[IngressRule] {
    &stored.object.rules
}

fn hosts(stored: &Stored<Ingress>) -> impl Iterator<Item = ServerName> {
    rules(stored).iter().filter_map(name_of)
}

fn name_of(rule: &IngressRule) -> Option<ServerName> {
    host::server_name(rule.host.as_deref()?).ok()
}

fn takes_challenges_only(rule: &IngressRule) -> bool {
    let is_challenge = |path: &IngressPath| {
        let path = path.path.as_deref().and_then(|path| UrlPath::new(path).ok());
        path.is_some_and(|path| site::is_challenge(&path))
    };
    !rule.paths.is_empty() && rule.paths.iter().all(is_challenge)
}

/// The copied rules of an object, each with the field that names the alias. A name for which the
/// namespace has a rule is not an alias.
fn further_rules(
    stored: &Stored<Ingress>,
    decided: &BTreeMap<(&str, ServerName), (&Stored<Ingress>, &HostAliases)>,
    named: &NamedHosts<'_>,
    room: &mut Room<'_>,
    findings: &mut Vec<Finding>,
) -> Vec<(IngressRule, ServerName, Origin)> {
    let own: BTreeSet<ServerName> = hosts(stored).collect();
    let namespace = &*stored.id.namespace;
    let other = |alias: &ServerName| named.get(&(namespace, alias.clone())).filter(|_| !own.contains(alias));
    let paths = |rule: &IngressRule| rule.paths.len() as u64;
    let mut further = Vec::new();
    let mut sum: u64 = rules(stored).iter().map(paths).sum();
    for rule in rules(stored) {
        let Some(name) = rule.host.as_deref().and_then(|written| host::server_name(written).ok()) else { continue };
        let Some((_, aliases)) = decided.get(&(&*stored.id.namespace, name.clone())) else { continue };
        let has_room = aliases.weight == 0 || room.take(&stored.id.namespace, aliases, findings);
        findings.extend(aliases.names.iter().filter_map(|alias| {
            let note = site::displaced(other(alias)?, "the alias", &host::written(alias));
            Some(Finding::new(Reason::HostRuleConflict, aliases.origin.clone(), note))
        }));
        let counts = |alias: &&ServerName| match alias {
            ServerName::Expression(_) => has_room,
            alias => !own.contains(alias) && other(alias).is_none(),
        };
        for alias in aliases.names.iter().filter(counts) {
            // An object with so many is refused as it is.
            if sum > room.limits.object.paths
                || !room.has_place(&stored.id.namespace, paths(rule).max(1), aliases, findings)
            {
                return further;
            }
            sum += paths(rule);
            let rule = IngressRule { host: Some(host::written(alias).into()), is_alias: true, ..rule.clone() };
            further.push((rule, name.clone(), aliases.origin.clone()));
        }
    }
    further
}

/// What the aliases of each namespace may cause together. Each copy takes memory before any budget
/// is checked.
struct Room<'l> {
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

impl Room<'_> {
    /// Adds the expressions of a rule where there is room for them.
    fn take(&mut self, namespace: &Arc<str>, aliases: &HostAliases, findings: &mut Vec<Finding>) -> bool {
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
    fn has_place(
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

/// The `spec.tls` entry of a host also holds for its expressions.
fn list_expressions(object: &mut Ingress, further: &[(IngressRule, ServerName, Origin)]) {
    for IngressTls { hosts: listed, .. } in &mut object.tls {
        let concerns = |base: &ServerName| listed.iter().any(|listed| host::covers(listed, base));
        let hosts = further.iter().filter(|(rule, base, _)| is_expression(rule) && concerns(base));
        let hosts: BTreeSet<_> = hosts.filter_map(|(rule, ..)| rule.host.clone()).collect();
        *listed = std::mem::take(listed).into_iter().chain(hosts).collect();
    }
}

fn is_expression(rule: &IngressRule) -> bool {
    rule.host.as_deref().is_some_and(|host| host.starts_with('~'))
}

/// Drops rules whose host is written like an expression, which only annotations may name; they
/// match no host. `None` when there is none.
pub fn without_expressions(snapshot: &Snapshot) -> Option<Snapshot> {
    let has_one = |stored: &Stored<Ingress>| rules(stored).iter().any(is_expression);
    if !snapshot.ingresses.iter().chain(snapshot.withheld.iter()).any(has_one) {
        return None;
    }
    let mut without = snapshot.clone();
    let all = without.ingresses.edit().iter_mut().chain(without.withheld.edit());
    for stored in all.filter(|stored| has_one(stored)) {
        let rules = Arc::make_mut(&mut stored.object).rules.iter_mut();
        rules.filter(|rule| is_expression(rule)).for_each(|rule| {
            rule.host = rule.host.take().map(|host| format!(" {host}").into());
        });
    }
    Some(without)
}

/// The host with `www.` added or removed; `None` for names that have no such counterpart.
pub fn twin(name: &ServerName) -> Option<ServerName> {
    let ServerName::Exact(host) = name else { return None };
    let twin = match host.as_str().strip_prefix("www.") {
        Some(rest) => HostName::new(rest).ok().filter(|rest| rest.as_str().contains('.')),
        None => HostName::new(&format!("www.{host}")).ok(),
    };
    twin.map(ServerName::Exact)
}
