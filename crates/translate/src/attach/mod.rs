//! Attaches what objects ask for to their class and to what counts for them, and a host's aliases
//! to its rules.

pub mod aliases;
pub mod canary;
pub mod policies;
pub mod subject;

use std::sync::Arc;

use crate::read::intent::{Intent, TlsSpec};
use crate::read::rule::Rule;
use crate::{ClassRule, Policy};
use ingressd_model::finding::Finding;
use ingressd_model::{Field, ObjectId, Origin};

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
}

/// Moves findings about rules for aliases to the field that names the aliases. The objects are
/// sorted by name.
pub fn relate(objects: &[Attached<'_>], findings: &mut [Finding]) {
    if objects.iter().all(|object| object.implied_at.is_none()) {
        return;
    }
    for finding in findings {
        let (Field::Rule(rule) | Field::Path(rule, ..)) = finding.origin.field else { continue };
        let Ok(index) = objects.binary_search_by(|object| object.intent.of.id.cmp(&finding.origin.object)) else {
            continue;
        };
        let object = &objects[index];
        if let Some(origin) = object.implied_at.as_ref().filter(|_| usize::from(rule) >= object.intent.rules.len()) {
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
