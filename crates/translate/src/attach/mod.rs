//! Attaches what objects ask for to their class and to what counts for them, and a host's aliases
//! to its rules.

pub mod aliases;
pub mod policies;

use std::collections::HashMap;
use std::sync::Arc;

use crate::read::intent::{Intent, TlsSpec};
use crate::read::rule::Rule;
use crate::read::since::Since;
use crate::{ClassRule, Policy};
use ingressd_model::finding::Finding;
use ingressd_model::{Field, ObjectId, Origin, ServerName};

/// An Ingress of our classes with all its hosts.
#[derive(Debug, Clone)]
pub struct Attached<'o> {
    pub intent: Arc<Intent>,
    /// The class rule that selects it, with its dialect.
    pub class: &'o ClassRule,
    /// What counts of the options.
    pub policy: Policy,
    /// Its rules, and after them those for aliases of its hosts.
    pub rules: Arc<[Rule]>,
    /// Its TLS entries, which also hold for the aliases of the hosts that they list.
    pub tls: Arc<[TlsSpec]>,
    /// The field that names the aliases.
    pub implied_at: Option<Origin>,
}

impl<'o> Attached<'o> {
    /// An object without aliases.
    pub fn new(intent: Arc<Intent>, class: &'o ClassRule, policy: Policy) -> Self {
        let (rules, tls) = (Arc::clone(&intent.rules), Arc::clone(&intent.tls));
        Attached { intent, class, policy, rules, tls, implied_at: None }
    }

    pub fn namespace(&self) -> &Arc<str> {
        &self.intent.of.id.namespace
    }

    /// The rules that name a host.
    pub fn rules_of(&self, name: &ServerName) -> impl Iterator<Item = &Rule> {
        self.rules.iter().filter(move |rule| rule.name.as_ref() == Ok(name))
    }

    /// Whether it claims a host by an option, and by no rule.
    fn is_implied(&self, name: &ServerName) -> bool {
        self.rules_of(name).next().is_none() && !(self.rules.is_empty() && *name == ServerName::CatchAll)
    }

    /// The age of its claim on a host.
    pub fn since(&self, name: &ServerName) -> Since<'_> {
        Since::of(&self.intent.of).implied(self.is_implied(name))
    }

    /// Whether it would take all requests of one of its hosts that no path matches: by its default
    /// backend, or because it redirects a host that it names by no rule.
    pub fn takes_the_rest_of(&self, name: &ServerName) -> bool {
        self.intent.rest.is_some() || self.is_implied(name)
    }

    /// The hosts that it names, perhaps repeated.
    pub fn hosts(&self) -> impl Iterator<Item = ServerName> {
        let named = self.rules.iter().filter_map(|rule| rule.name.clone().ok());
        let counterparts = self.policy.reading.host.redirects_www.as_ref();
        let counterparts = counterparts.map(|_| self.rules.iter().filter_map(Rule::counterpart));
        // An object without rules claims what no object names.
        let rest = self.intent.rest.iter().filter(|_| self.rules.is_empty()).map(|_| ServerName::CatchAll);
        named.chain(counterparts.into_iter().flatten()).chain(rest)
    }
}

/// The objects with aliases: how many rules each has itself, and the field that names the aliases.
pub type Aliased = HashMap<Arc<ObjectId>, (usize, Origin)>;

/// Those of them with aliases.
pub fn aliased(objects: &[Attached<'_>]) -> Aliased {
    let aliased = objects.iter().filter_map(|object| {
        let Attached { intent, implied_at, .. } = object;
        Some((Arc::clone(&intent.of.id), (intent.rules.len(), implied_at.clone()?)))
    });
    aliased.collect()
}

/// Moves findings about rules for aliases to the field that names the aliases.
pub fn relate(aliased: &Aliased, findings: &mut [Finding]) {
    for finding in findings.iter_mut().filter(|_| !aliased.is_empty()) {
        let (Field::Rule(rule) | Field::Path(rule, ..)) = finding.origin.field else { continue };
        if let Some((_, origin)) = aliased.get(&finding.origin.object).filter(|(own, _)| usize::from(rule) >= *own) {
            finding.origin = origin.clone();
        }
    }
}

/// The note for a younger object of the same namespace.
pub fn younger(older: &ObjectId, what: &str) -> String {
    format!("{older} is older and decides about {what}; write the same in both, or use another host")
}

/// The note about something that has no effect on a host for which its namespace has a rule.
pub fn displaced(by: &ObjectId, what: &str, host: &str) -> String {
    format!(
        "{what} has no effect on {host}, because {by} has a rule for this host; give that rule another host, or remove \
         {host} here"
    )
}
