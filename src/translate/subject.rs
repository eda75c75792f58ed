//! An Ingress of our classes, with its dialect and its annotations.

use std::borrow::Cow;
use std::sync::Arc;

use super::claims::Since;
use super::memory::KnownObject;
use super::path::PathType;
use super::rule::{Backend, Rule, RulePath};
use super::{ClassRule, Dialect, EndpointMode, Options, Reading};
use ingressd_model::finding::{Finding, Reason};
use ingressd_model::{Behaviour, Field, HostName, ObjectId, Origin, ServerName};
use ingressd_objects::{Ingress, IngressPath, IngressRule, Stored};

/// An Ingress of our classes.
#[derive(Debug, Clone)]
pub struct Subject<'a> {
    /// The object.
    pub stored: &'a Stored<Ingress>,
    /// The class rule that selects it, with its dialect.
    pub rule: &'a ClassRule,
    /// The reading of its annotations.
    pub reading: Arc<Reading>,
    /// The behaviour of all its paths.
    pub behaviour: Arc<Behaviour>,
    /// All its rules, parsed.
    pub read: Arc<[Rule]>,
    /// Whether the object protects its routes, or was meant to: their requests must never reach
    /// less protected routes.
    pub is_protected: bool,
    /// When the object is left out: the indices of rules whose paths stay closed; `None` for all
    /// other objects.
    pub closed_rules: Option<Arc<[usize]>>,
}

impl<'a> Subject<'a> {
    /// Its identity.
    pub fn id(&self) -> &'a Arc<ObjectId> {
        &self.stored.id
    }

    /// Its rules with their indices.
    pub fn rules(&self) -> impl Iterator<Item = (usize, &'a IngressRule)> + use<'a> {
        let closed = self.closed_rules.clone();
        let rules = self.stored.object.rules.iter().enumerate();
        rules.filter(move |(number, _)| closed.as_ref().is_none_or(|closed| closed.binary_search(number).is_ok()))
    }

    /// Its parsed rules with their indices.
    pub fn read(&self) -> impl Iterator<Item = (usize, &Rule)> {
        self.rules().filter_map(|(number, _)| Some((number, self.read.get(number)?)))
    }

    /// The parsed paths of a rule with their indices and backends.
    pub fn paths(&self, rule: usize) -> impl Iterator<Item = (usize, &RulePath, Backend<'a>)> {
        let written = self.stored.object.rules.get(rule).into_iter().flat_map(paths);
        let read = self.read.get(rule).into_iter().flat_map(|rule| &rule.paths);
        written.zip(read).map(|((number, entry), read)| (number, read, Backend::of(&entry.backend)))
    }

    /// The age of its claims.
    pub fn since(&self) -> Since<'a> {
        Since::of(self.stored)
    }

    /// The backend for requests that none of its paths matches.
    pub fn default_backend(&self) -> Option<Backend<'a>> {
        let default = self.stored.object.default_backend.as_deref().filter(|_| self.closed_rules.is_none());
        default.map(Backend::of)
    }

    /// Whether it handles requests for unknown hosts.
    pub fn is_for_all_hosts(&self) -> bool {
        self.default_backend().is_some() && self.rules().next().is_none()
    }

    /// The fields by which it claims a host.
    pub fn fields_of(&self, name: &ServerName) -> impl Iterator<Item = Origin> {
        let rules = self.read().filter(move |(_, rule)| rule.name.as_ref() == Ok(name));
        let rules = rules.map(move |(number, _)| Origin::field(self.id(), Field::Rule(super::position(number))));
        let all_hosts = self.field_of_all_hosts().filter(|_| *name == ServerName::CatchAll);
        rules.chain(all_hosts).chain(self.redirect_of(name).map(|(_, origin)| origin))
    }

    /// The host to which it redirects requests for this one, which has `www.` or lacks it, and the
    /// field that asks for it; nothing when a rule of its own names this one.
    pub fn redirect_of(&self, name: &ServerName) -> Option<(HostName, Origin)> {
        let asked = self.reading.host.redirects_www.as_ref()?;
        let mut to = None;
        for (_, rule) in self.read() {
            match &rule.name {
                Ok(own) if own == name => return None,
                Ok(ServerName::Exact(host)) if rule.twin().as_ref() == Some(name) => to = to.or(Some(host)),
                _ => {}
            }
        }
        Some((to?.clone(), asked.clone()))
    }

    /// The field by which it claims unknown hosts, if it does.
    pub fn field_of_all_hosts(&self) -> Option<Origin> {
        self.is_for_all_hosts().then(|| Origin::field(self.id(), Field::DefaultBackend))
    }

    /// Whether it handles requests that none of its paths matches.
    pub fn takes_the_rest(&self) -> bool {
        self.default_backend().is_some()
    }

    /// How its backends are reached.
    pub fn mode(&self, options: &Options) -> EndpointMode {
        self.rule.endpoints.unwrap_or(options.endpoints)
    }

    /// Whether its paths of this type are regular expressions by its own request, whatever else
    /// the host has.
    pub fn is_regex(&self, kind: PathType) -> bool {
        self.rule.dialect == Dialect::Specification
            && self.reading.use_regex
            && kind == PathType::ImplementationSpecific
    }

    /// The findings about its paths, and whether the rest of this version can be served while
    /// there is no earlier one: that is so unless requests would reach other routes than intended.
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

    fn fault(&self, read: &RulePath, entry: &IngressPath) -> Option<(&'static str, Reason, String)> {
        if let Err(refused) = &read.path {
            return Some(("path", Reason::InvalidPath, format!("it is refused: {refused}")));
        }
        let Some(kind) = read.kind else {
            let note = format!("{:?} is not one of Exact, Prefix, ImplementationSpecific", entry.path_type);
            return Some(("pathType", Reason::InvalidPath, note));
        };
        let has_groups = match self.rule.dialect {
            Dialect::Specification => self.is_regex(kind),
            Dialect::IngressNginx => self.reading.use_regex || self.reading.rewrite_target.is_some(),
        };
        if self.reading.has_captures() && !has_groups {
            let note = "an annotation refers to captures such as $1, but this path is not a regular expression; \
                set use-regex and the type ImplementationSpecific";
            return Some(("path", Reason::RefusedValue, note.to_owned()));
        }
        None
    }
}

/// An Ingress of our classes that is not served now.
#[derive(Debug, Clone)]
pub struct Withheld<'a> {
    /// The object.
    pub stored: &'a Stored<Ingress>,
    /// The class rule that selects it, with its dialect.
    pub class: &'a ClassRule,
    /// What is known about it.
    pub known: KnownObject,
}

impl Withheld<'_> {
    /// The rules that name a host.
    pub fn rules_of(&self, name: &ServerName) -> impl Iterator<Item = &Rule> {
        self.known.rules.iter().filter(move |rule| rule.name.as_ref() == Ok(name))
    }

    /// The age of its claim on a host.
    pub fn since(&self, name: &ServerName) -> Since<'_> {
        Since::of(self.stored).implied(self.rules_of(name).next().is_none())
    }

    /// Whether it would take all requests of one of its hosts that no path matches: by its default
    /// backend, or because it redirects a host that it names by no rule.
    pub fn takes_the_rest_of(&self, name: &ServerName) -> bool {
        self.stored.object.default_backend.is_some() || self.rules_of(name).next().is_none()
    }

    /// The hosts that it names, perhaps repeated.
    pub fn hosts(&self) -> impl Iterator<Item = Cow<'_, ServerName>> {
        let rules = &self.known.rules;
        let named = rules.iter().filter_map(|rule| rule.name.as_ref().ok());
        let twins = self.known.reading.host.redirects_www.as_ref().map(|_| rules.iter().filter_map(Rule::twin));
        named.map(Cow::Borrowed).chain(twins.into_iter().flatten().map(Cow::Owned))
    }
}

impl<'a> From<&Subject<'a>> for Withheld<'a> {
    fn from(subject: &Subject<'a>) -> Self {
        let (reading, behaviour) = (Arc::clone(&subject.reading), Arc::clone(&subject.behaviour));
        let known = KnownObject { reading, behaviour, rules: Arc::clone(&subject.read) };
        Withheld { stored: subject.stored, class: subject.rule, known }
    }
}

/// The paths of a rule with their indices.
pub fn paths(rule: &IngressRule) -> impl Iterator<Item = (usize, &IngressPath)> {
    rule.paths.iter().enumerate()
}
