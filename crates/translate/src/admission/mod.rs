//! What an API server should refuse at admission, as policies for it and as findings.

mod check;
mod checks;
mod document;
mod expression;
mod hosts;
mod manifests;
#[cfg(test)]
mod tests;

pub use check::{Check, Submitted};
pub use document::{not_judged, policies};
pub use expression::{Abilities, form as form_expression};

use std::collections::BTreeMap;
use std::str::FromStr;
use std::sync::Arc;

use crate::annotation::{OnError, Row, Table};
use crate::select;
use crate::{ANNOTATIONS, Options};
use ingressd_model::finding::{Finding, Reason, Severity};
use ingressd_model::{Origin, Refused};
use ingressd_objects::{Ingress, Snapshot, Stored};

/// The policies, by object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Policy {
    /// Values of annotations.
    Values,
    /// The trust that annotations need.
    Trust,
    /// Unknown keys.
    Unknown,
    /// Keys that are known and not supported.
    Unserved,
    /// Characters of paths.
    Paths,
    /// The hosts that a namespace may have.
    Hosts,
}

impl Policy {
    /// All policies, in order.
    pub const ALL: [Policy; 6] =
        [Policy::Values, Policy::Trust, Policy::Unknown, Policy::Unserved, Policy::Paths, Policy::Hosts];

    pub const fn name(self) -> &'static str {
        match self {
            Policy::Values => "values",
            Policy::Trust => "trust",
            Policy::Unknown => "unknown",
            Policy::Unserved => "unserved",
            Policy::Paths => "paths",
            Policy::Hosts => "hosts",
        }
    }

    /// What it refuses; one clause for people.
    pub const fn about(self) -> &'static str {
        match self {
            Policy::Values => {
                "values that their annotations do not take, and annotations that are not served and would close routes or have the object refused"
            }
            Policy::Trust => "annotations that need more trust than `access.max-trust` says",
            Policy::Unknown => "unknown annotations with our prefixes, such as misspelt ones",
            Policy::Unserved => "annotations that are known and have no effect here, or none without another one",
            Policy::Paths => "paths with control characters, and paths that are too long for nginx",
            Policy::Hosts => "hosts that `hosts.allowed` does not let the namespace have; nothing where that is empty",
        }
    }

    /// The default action: what has no effect is no reason to refuse a manifest that works
    /// elsewhere.
    pub const fn usual_action(self) -> Action {
        match self {
            Policy::Unknown | Policy::Unserved => Action::Warn,
            Policy::Values | Policy::Trust | Policy::Paths | Policy::Hosts => Action::Deny,
        }
    }
}

/// What happens to an object that violates a policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// It is refused.
    Deny,
    /// The user who applies it is warned.
    Warn,
    /// It is recorded in the audit log of the API server.
    Audit,
    /// The policy does not exist.
    Off,
}

impl Action {
    const ALL: [(Action, &'static str); 4] =
        [(Action::Deny, "deny"), (Action::Warn, "warn"), (Action::Audit, "audit"), (Action::Off, "off")];

    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(action, _)| *action == self).map_or("", |(_, name)| name)
    }
}

/// A policy and its action: `values=warn`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Choice(pub Policy, pub Action);

impl FromStr for Choice {
    type Err = Refused;

    fn from_str(text: &str) -> Result<Self, Refused> {
        let (policy, action) = text.split_once('=').ok_or(Refused::because("it is not of the form POLICY=ACTION"))?;
        let found = Policy::ALL.into_iter().find(|known| known.name() == policy);
        let names = Policy::ALL.map(Policy::name).join(", ");
        let policy = found.ok_or_else(|| Refused(format!("{policy:?} is not one of {names}").into()))?;
        let found = Action::ALL.iter().find(|(_, name)| *name == action);
        let names = Action::ALL.map(|(_, name)| name).join(", ");
        let (action, _) = found.ok_or_else(|| Refused(format!("{action:?} is not one of {names}").into()))?;
        Ok(Choice(policy, *action))
    }
}

/// The policies with their settings.
#[derive(Debug)]
pub struct Admission<'a> {
    /// The administrator's settings.
    pub options: &'a Options,
    /// Names of IngressClasses that are ours.
    pub classes: Vec<Arc<str>>,
    /// The prefix of the policies' names.
    pub name: &'a str,
    /// Actions that differ from the defaults; the last one for a policy counts.
    pub choices: Vec<Choice>,
    /// The CEL features of the API server.
    pub abilities: Abilities,
}

/// The rows that are checked.
const TABLE: &Table = &ANNOTATIONS;

impl Admission<'_> {
    /// The action of a policy.
    fn action(&self, policy: Policy) -> Action {
        let choice = self.choices.iter().rev().find(|Choice(chosen, _)| *chosen == policy);
        choice.map_or(policy.usual_action(), |Choice(_, action)| *action)
    }

    /// The name of a policy in the cluster.
    fn name_of(&self, policy: Policy) -> String {
        format!("{}-{}", self.name, policy.name())
    }

    /// The checks of a policy; empty when its action is `off`.
    fn checks(&self, policy: Policy) -> Vec<Check<'_>> {
        let options = self.options;
        match policy {
            _ if self.action(policy) == Action::Off => Vec::new(),
            Policy::Values => checks::values(TABLE, options, self.abilities),
            Policy::Trust => checks::trust(TABLE, options.max_trust),
            Policy::Unknown => checks::unknown(TABLE),
            Policy::Unserved => {
                let alone = checks::alone(TABLE, options);
                let is_skipped =
                    |row: &Row| matches!(row.on_error, OnError::Skip | OnError::WithholdCors | OnError::WithholdCopies);
                checks::not_served(TABLE, is_skipped).into_iter().chain(alone).collect()
            }
            Policy::Paths => checks::paths(),
            Policy::Hosts => hosts::checks(&options.allowed_hosts),
        }
    }

    /// Whether the object is of our classes. The given names count in addition to those of the
    /// snapshot.
    fn is_ours(&self, ingress: &Stored<Ingress>, snapshot: &Snapshot) -> bool {
        let named = ingress.object.class_name.as_deref();
        named.is_some_and(|named| self.classes.iter().any(|class| **class == *named))
            || select::is_ours(ingress, snapshot, self.options)
    }

    /// How many of the objects are checked.
    pub fn count(&self, snapshot: &Snapshot) -> usize {
        snapshot.ingresses.iter().filter(|ingress| self.is_ours(ingress, snapshot)).count()
    }

    /// The findings of the policies about the objects, sorted.
    pub fn judge(&self, snapshot: &Snapshot) -> Vec<Finding> {
        let all: BTreeMap<Policy, Vec<Check<'_>>> =
            Policy::ALL.into_iter().map(|policy| (policy, self.checks(policy))).collect();
        let mut findings = Vec::new();
        for ingress in snapshot.ingresses.iter().filter(|ingress| self.is_ours(ingress, snapshot)) {
            let submitted = Submitted::new(ingress, snapshot);
            for (policy, check) in
                all.iter().flat_map(|(policy, checks)| checks.iter().map(move |check| (policy, check)))
            {
                for field in (check.wrong)(&submitted) {
                    findings.push(self.finding(*policy, Origin::field(&ingress.id, field), &check.message));
                }
            }
        }
        findings.sort();
        findings
    }

    fn finding(&self, policy: Policy, origin: Origin, message: &str) -> Finding {
        let name = self.name_of(policy);
        let (severity, does) = match self.action(policy) {
            Action::Deny => (Severity::Error, "refuses it"),
            Action::Warn => (Severity::Warning, "warns of it"),
            Action::Audit | Action::Off => (Severity::Info, "notes it"),
        };
        let note = format!("ValidatingAdmissionPolicy {name} {does}: {message}");
        Finding { severity, ..Finding::new(Reason::NotAdmitted, origin, note) }
    }
}
