//! Further names of hosts: whoever has a rule for a host has it for the aliases of the host too.
//!
//! An alias is a host like any other: it has an owner, counts in budgets, and a certificate is chosen for it. So the rules are
//! written down once more, for the alias, and everything that comes after sees ordinary rules.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use k8s_openapi::api::networking::v1::{Ingress, IngressRule};

use super::site::younger;
use super::{ClassRule, HostAliases, host, order};
use crate::finding::{Finding, Reason};
use crate::model::{Field, HostName, ObjectId, Origin, ServerName};
use crate::source::{Snapshot, Stored};

/// Objects with rules that were written down once more.
#[derive(Debug)]
pub struct Expanded {
    /// What was read, with the further rules.
    pub snapshot: Snapshot,
    /// How many rules each object has itself, and the field that the others come from.
    fields: HashMap<Arc<ObjectId>, (u16, Origin)>,
}

/// An Ingress with what it says of the names of its hosts.
pub type Named<'a> = (&'a Stored<Ingress>, &'a ClassRule, Option<&'a HostAliases>);

impl Expanded {
    /// The objects with the aliases of their hosts; `None` where nobody names any. What the oldest object of a namespace says of a
    /// host counts.
    pub fn of(snapshot: &Snapshot, objects: &[Named<'_>], findings: &mut Vec<Finding>) -> Option<Self> {
        let mut naming: Vec<_> =
            objects.iter().filter_map(|(stored, _, aliases)| Some((*stored, (*aliases)?))).collect();
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
        let of_rules = |(stored, ..): &Named<'_>| {
            let namespace = Arc::clone(&stored.id.namespace);
            hosts(stored).map(move |name| (Arc::clone(&namespace), name)).collect::<Vec<_>>()
        };
        let named: BTreeSet<(Arc<str>, ServerName)> = objects.iter().flat_map(of_rules).collect();
        let edited = expanded.snapshot.ingresses.edit();
        for (stored, ..) in objects {
            let further = further_rules(stored, &decided, &named);
            let index = edited.binary_search_by(|other| other.id.cmp(&stored.id));
            if let (Some((_, origin)), Ok(index)) = (further.first(), index) {
                let own = rules(stored).len();
                let field = (super::position(own), origin.clone());
                expanded.fields.insert(Arc::clone(&stored.id), field);
                let object = Arc::make_mut(&mut edited[index].object);
                if let Some(rules) = object.spec.as_mut().and_then(|spec| spec.rules.as_mut()) {
                    rules.extend(further.into_iter().map(|(rule, _)| rule));
                }
            }
        }
        Some(expanded)
    }

    /// Whatever is said of a rule that the object does not have itself is said of the field that it comes from.
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
    stored.object.spec.as_ref().and_then(|spec| spec.rules.as_deref()).unwrap_or_default()
}

fn hosts(stored: &Stored<Ingress>) -> impl Iterator<Item = ServerName> {
    rules(stored).iter().filter_map(|rule| host::server_name(rule.host.as_deref()?).ok())
}

/// The rules of an object for the aliases of its hosts, each with the field that names the alias. What the namespace has a rule for
/// anyway is no alias.
fn further_rules(
    stored: &Stored<Ingress>,
    decided: &BTreeMap<(&str, ServerName), (&Stored<Ingress>, &HostAliases)>,
    named: &BTreeSet<(Arc<str>, ServerName)>,
) -> Vec<(IngressRule, Origin)> {
    let is_named = |alias: &ServerName| named.contains(&(Arc::clone(&stored.id.namespace), alias.clone()));
    let mut further = Vec::new();
    for rule in rules(stored) {
        let Some(name) = rule.host.as_deref().and_then(|written| host::server_name(written).ok()) else { continue };
        let Some((_, aliases)) = decided.get(&(&*stored.id.namespace, name)) else { continue };
        for alias in aliases.names.iter().filter(|alias| !is_named(alias)) {
            further.push((IngressRule { host: Some(host::written(alias)), ..rule.clone() }, aliases.origin.clone()));
        }
    }
    further
}

/// The name with `www.` in front, or without it; `None` for names that have none such.
pub fn with_or_without_www(name: &ServerName) -> Option<HostName> {
    let ServerName::Exact(host) = name else { return None };
    match host.as_str().strip_prefix("www.") {
        Some(rest) => HostName::new(rest).ok().filter(|rest| rest.as_str().contains('.')),
        None => HostName::new(&format!("www.{host}")).ok(),
    }
}
