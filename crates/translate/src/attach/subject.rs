//! An Ingress of our classes, with its dialect and its annotations.

use std::sync::Arc;

use super::Attached;
use crate::read::intent::{Intent, TlsSpec};
use crate::read::path::PathType;
use crate::read::rule::{Backend, Rule, RulePath};
use crate::read::since::Since;
use crate::value::excerpt;
use crate::{ClassRule, EndpointMode, ExpressionScope, Options, Reading};
use ingressd_model::finding::{Finding, Reason};
use ingressd_model::{Behaviour, Field, HostName, ObjectId, Origin, Refused, ServerName};

/// An Ingress of our classes.
#[derive(Debug, Clone)]
pub struct Subject<'a> {
    /// What it says.
    pub intent: &'a Arc<Intent>,
    /// The class rule that selects it, with its dialect.
    pub rule: &'a ClassRule,
    /// The options that it sets.
    pub reading: Arc<Reading>,
    /// The behaviour of all its paths.
    pub behaviour: Arc<Behaviour>,
    /// All its rules, with those for aliases of its hosts.
    pub read: &'a Arc<[Rule]>,
    /// Its TLS entries.
    pub tls: &'a [TlsSpec],
    /// Whether the object protects its routes, or was meant to: their requests must never reach
    /// less protected routes.
    pub is_protected: bool,
    /// When the object is left out: the indices of rules whose paths stay closed; `None` for all
    /// other objects.
    pub closed_rules: Option<Arc<[usize]>>,
}

impl<'a> Subject<'a> {
    /// What is served of an attached object.
    pub fn of(attached: &'a Attached<'a>, is_protected: bool) -> Self {
        let Attached { intent, class, policy, rules, tls, .. } = attached;
        Subject {
            intent,
            rule: class,
            reading: Arc::clone(&policy.reading),
            behaviour: Arc::clone(&policy.behaviour),
            read: rules,
            tls,
            is_protected,
            closed_rules: None,
        }
    }

    /// Its identity.
    pub fn id(&self) -> &'a Arc<ObjectId> {
        &self.intent.of.id
    }

    /// Its rules with their indices.
    pub fn rules(&self) -> impl Iterator<Item = (usize, &'a Rule)> + use<'a> {
        let closed = self.closed_rules.clone();
        let rules = self.read.iter().enumerate();
        rules.filter(move |(number, _)| closed.as_ref().is_none_or(|closed| closed.binary_search(number).is_ok()))
    }

    /// The paths of a rule with their indices and backends.
    pub fn paths(&self, rule: usize) -> impl Iterator<Item = (usize, &'a RulePath, Backend<'a>)> + use<'a> {
        let paths = self.read.get(rule).into_iter().flat_map(|rule| rule.paths.iter());
        paths.enumerate().map(|(number, path)| (number, path, Backend::from(&path.backend)))
    }

    /// The age of its claims.
    pub fn since(&self) -> Since<'a> {
        Since::of(&self.intent.of)
    }

    /// The backend for requests that none of its paths matches.
    pub fn default_backend(&self) -> Option<Backend<'a>> {
        let rest = self.intent.rest.as_deref().filter(|_| self.closed_rules.is_none());
        rest.map(Backend::from)
    }

    /// Whether it handles requests for unknown hosts.
    pub fn is_for_all_hosts(&self) -> bool {
        self.default_backend().is_some() && self.rules().next().is_none()
    }

    /// The fields by which it claims a host.
    pub fn fields_of(&self, name: &ServerName) -> impl Iterator<Item = Origin> {
        let rules = self.rules().filter(move |(_, rule)| rule.name.as_ref() == Ok(name));
        let rules = rules.map(move |(number, _)| Origin::field(self.id(), Field::Rule(crate::position(number))));
        let all_hosts = self.field_of_all_hosts().filter(|_| *name == ServerName::CatchAll);
        rules.chain(all_hosts).chain(self.redirect_of(name).map(|(_, origin)| origin))
    }

    /// The finding about the host of a rule.
    pub fn invalid_host(&self, rule: usize, refused: &Refused) -> Finding {
        let origin = Origin::field(self.id(), Field::Rule(crate::position(rule)));
        let host = excerpt(self.read.get(rule).map_or("", |rule| &rule.host));
        Finding::new(Reason::InvalidHost, origin, format!("host {host} is refused: {refused}"))
    }

    /// The host to which it redirects requests for this one, which has `www.` or lacks it, and the
    /// field that asks for it; nothing when a rule of its own names this one.
    pub fn redirect_of(&self, name: &ServerName) -> Option<(HostName, Origin)> {
        let asked = self.reading.host.redirects_www.as_ref()?;
        let mut to = None;
        for (_, rule) in self.rules() {
            match &rule.name {
                Ok(own) if own == name => return None,
                Ok(ServerName::Exact(host)) if rule.counterpart().as_ref() == Some(name) => to = to.or(Some(host)),
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
        self.rule.dialect.expressions == ExpressionScope::Object
            && self.reading.use_regex
            && kind == PathType::ImplementationSpecific
    }
}

/// An Ingress of our classes that is not served now.
#[derive(Debug, Clone)]
pub struct Withheld<'a> {
    /// What it says.
    pub intent: &'a Arc<Intent>,
    /// The class rule that selects it, with its dialect.
    pub class: &'a ClassRule,
    /// All its rules, with those for aliases of its hosts.
    pub rules: &'a [Rule],
    /// The options that count.
    pub reading: Arc<Reading>,
}

impl<'a> Withheld<'a> {
    pub fn namespace(&self) -> &'a Arc<str> {
        &self.intent.of.id.namespace
    }

    /// The rules that name a host.
    pub fn rules_of(&self, name: &ServerName) -> impl Iterator<Item = &'a Rule> {
        self.rules.iter().filter(move |rule| rule.name.as_ref() == Ok(name))
    }

    /// Whether it claims a host by an annotation, and by no rule.
    fn is_implied(&self, name: &ServerName) -> bool {
        self.rules_of(name).next().is_none() && !(self.rules.is_empty() && *name == ServerName::CatchAll)
    }

    /// The age of its claim on a host.
    pub fn since(&self, name: &ServerName) -> Since<'a> {
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
        let counterparts = self.reading.host.redirects_www.as_ref();
        let counterparts = counterparts.map(|_| self.rules.iter().filter_map(Rule::counterpart));
        // An object without rules claims what no object names.
        let rest = self.intent.rest.iter().filter(|_| self.rules.is_empty()).map(|_| ServerName::CatchAll);
        named.chain(counterparts.into_iter().flatten()).chain(rest)
    }
}

impl<'a> From<&'a Attached<'a>> for Withheld<'a> {
    fn from(attached: &'a Attached<'a>) -> Self {
        let Attached { intent, class, policy, rules, .. } = attached;
        Withheld { intent, class, rules, reading: Arc::clone(&policy.reading) }
    }
}

impl<'a> From<&Subject<'a>> for Withheld<'a> {
    fn from(subject: &Subject<'a>) -> Self {
        let Subject { intent, rule: class, read: rules, .. } = *subject;
        Withheld { intent, class, rules, reading: Arc::clone(&subject.reading) }
    }
}
