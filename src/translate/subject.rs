//! An Ingress that is ours, with its dialect and what its annotations ask for.

use std::sync::Arc;

use k8s_openapi::api::networking::v1::{HTTPIngressPath, Ingress, IngressRule, IngressSpec};

use super::claims::Since;
use super::memory::Known;
use super::path::PathType;
use super::rule::{Backend, Rule, RulePath};
use super::{ClassRule, Dialect, EndpointMode, Options, Reading};
use crate::finding::{Finding, Reason};
use crate::model::{Behaviour, Field, ObjectId, Origin, RewriteTarget, ServerName};
use crate::source::Stored;

/// An Ingress that is ours.
#[derive(Debug, Clone)]
pub struct Subject<'a> {
    /// The object.
    pub stored: &'a Stored<Ingress>,
    /// Why it is ours, and whose semantics it has.
    pub rule: &'a ClassRule,
    /// Its annotations.
    pub reading: Arc<Reading>,
    /// What they ask for on every path.
    pub behaviour: Arc<Behaviour>,
    /// Its rules, all of them.
    pub read: Arc<[Rule]>,
    /// Whether the object itself protects its routes, or was meant to: requests for them must never go where less does.
    pub is_protected: bool,
    /// The object is left out, but for the rules of these numbers, whose paths stay closed; `None` for all others.
    pub closed_rules: Option<Arc<[usize]>>,
}

impl<'a> Subject<'a> {
    /// Its name.
    pub fn id(&self) -> &'a Arc<ObjectId> {
        &self.stored.id
    }

    /// What it asks for.
    pub fn spec(&self) -> Option<&'a IngressSpec> {
        self.stored.object.spec.as_ref()
    }

    /// Its rules with their numbers.
    pub fn rules(&self) -> impl Iterator<Item = (usize, &'a IngressRule)> + use<'a> {
        let closed = self.closed_rules.clone();
        let rules = self.spec().and_then(|spec| spec.rules.as_deref()).unwrap_or_default().iter().enumerate();
        rules.filter(move |(number, _)| closed.as_ref().is_none_or(|closed| closed.binary_search(number).is_ok()))
    }

    /// Its rules with their numbers, as they are understood.
    pub fn read(&self) -> impl Iterator<Item = (usize, &Rule)> {
        self.rules().filter_map(|(number, _)| Some((number, self.read.get(number)?)))
    }

    /// The paths of a rule with their numbers, as they are understood, and where their requests are to go.
    pub fn paths(&self, rule: usize) -> impl Iterator<Item = (usize, &RulePath, Backend<'a>)> {
        let written = self.spec().and_then(|spec| spec.rules.as_ref()?.get(rule)).into_iter().flat_map(paths);
        let read = self.read.get(rule).into_iter().flat_map(|rule| &rule.paths);
        written.zip(read).map(|((number, entry), read)| (number, read, Backend::of(&entry.backend)))
    }

    /// Since when it asks for what it asks for.
    pub fn since(&self) -> Since<'a> {
        Since::of(self.stored)
    }

    /// The backend for requests that none of its paths takes.
    pub fn default_backend(&self) -> Option<Backend<'a>> {
        self.spec().filter(|_| self.closed_rules.is_none())?.default_backend.as_ref().map(Backend::of)
    }

    /// Whether it is for the requests of all hosts that nobody has.
    pub fn is_for_all_hosts(&self) -> bool {
        self.default_backend().is_some() && self.rules().next().is_none()
    }

    /// The fields by which it asks for a host.
    pub fn fields_of(&self, name: &ServerName) -> impl Iterator<Item = Origin> {
        let rules = self.read().filter(move |(_, rule)| rule.name.as_ref() == Ok(name));
        let rules = rules.map(move |(number, _)| Origin::field(self.id(), Field::Rule(super::position(number))));
        rules.chain(self.field_of_all_hosts().filter(|_| *name == ServerName::CatchAll))
    }

    /// The field by which it asks for the requests of all hosts that nobody has, where it does.
    pub fn field_of_all_hosts(&self) -> Option<Origin> {
        self.is_for_all_hosts().then(|| Origin::field(self.id(), Field::DefaultBackend))
    }

    /// Whether it says what happens to requests that none of its paths takes.
    pub fn takes_the_rest(&self) -> bool {
        self.default_backend().is_some()
    }

    /// How its backends are reached.
    pub fn mode(&self, options: &Options) -> EndpointMode {
        self.rule.endpoints.unwrap_or(options.endpoints)
    }

    /// Whether the paths of this type are regular expressions by its own will, whatever else the host holds.
    pub fn is_regex(&self, kind: PathType) -> bool {
        self.rule.dialect == Dialect::Specification
            && self.reading.use_regex
            && kind == PathType::ImplementationSpecific
    }

    /// What is wrong with its paths, and whether what is left of this version can be served while there is no earlier one: other paths are,
    /// but not when requests would go elsewhere than they were meant to.
    pub fn faults(&self) -> (Vec<Finding>, bool) {
        let paths = self.rules().flat_map(|(rule, entry)| paths(entry).map(move |(number, path)| (rule, number, path)));
        let paths = paths.filter_map(|(rule, number, written)| {
            Some((rule, number, self.read.get(rule)?.paths.get(number)?, written))
        });
        let mut has_good = false;
        let faults = paths.filter_map(|(rule, number, read, written)| {
            let fault = self.fault(read, written);
            has_good |= fault.is_none();
            fault.map(|(part, reason, note)| {
                let field = Field::Path(super::position(rule), super::position(number), part);
                Finding::new(reason, Origin::field(self.id(), field), note)
            })
        });
        let faults: Vec<_> = faults.collect();
        let is_fit = has_good && faults.iter().all(|fault| fault.reason == Reason::InvalidPath);
        (faults, is_fit)
    }

    fn fault(&self, read: &RulePath, entry: &HTTPIngressPath) -> Option<(&'static str, Reason, String)> {
        if let Err(refused) = &read.path {
            return Some(("path", Reason::InvalidPath, format!("it is refused: {refused}")));
        }
        let Some(kind) = read.kind else {
            let note = format!("{:?} is not one of Exact, Prefix, ImplementationSpecific", entry.path_type);
            return Some(("pathType", Reason::InvalidPath, note));
        };
        let captures = self.reading.rewrite_target.as_ref().is_some_and(RewriteTarget::has_captures);
        if captures && self.rule.dialect == Dialect::Specification && !self.is_regex(kind) {
            let note = "rewrite-target refers to captures, but this path is not a regular expression; \
                set use-regex and the type ImplementationSpecific";
            return Some(("path", Reason::RefusedValue, note.to_owned()));
        }
        None
    }
}

/// An Ingress that is ours and not served now.
#[derive(Debug, Clone)]
pub struct Withheld<'a> {
    /// The object.
    pub stored: &'a Stored<Ingress>,
    /// Why it is ours, and whose semantics it has.
    pub class: &'a ClassRule,
    /// What it asks for.
    pub known: Known,
}

impl Withheld<'_> {
    /// The hosts that it names, as often as it does.
    pub fn hosts(&self) -> impl Iterator<Item = &ServerName> {
        self.known.rules.iter().filter_map(|rule| rule.name.as_ref().ok())
    }
}

impl<'a> From<&Subject<'a>> for Withheld<'a> {
    fn from(subject: &Subject<'a>) -> Self {
        let (reading, behaviour) = (Arc::clone(&subject.reading), Arc::clone(&subject.behaviour));
        let known = Known { reading, behaviour, rules: Arc::clone(&subject.read) };
        Withheld { stored: subject.stored, class: subject.rule, known }
    }
}

/// The paths of a rule with their numbers.
pub fn paths(rule: &IngressRule) -> impl Iterator<Item = (usize, &HTTPIngressPath)> {
    rule.http.iter().flat_map(|http| http.paths.iter().enumerate())
}
