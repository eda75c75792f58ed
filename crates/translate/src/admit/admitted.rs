//! An object that is served, or of which closed paths are left.

use std::sync::Arc;

use crate::attach::Attached;
use crate::read::path::PathType;
use crate::read::rule::{Backend, Rule, RulePath};
use crate::read::since::Since;
use crate::value::excerpt;
use crate::{EndpointMode, ExpressionScope, Options, Policy};
use ingressd_model::finding::{Finding, Reason};
use ingressd_model::{Field, HostName, ObjectId, Origin, Refused, ServerName};

/// An attached object within the limits, or one that is left out but for closed paths.
#[derive(Debug, Clone)]
pub struct Admitted<'a> {
    pub attached: &'a Attached<'a>,
    /// What counts of its options.
    pub policy: Policy,
    /// Whether the object protects its routes, or was meant to: their requests must never reach
    /// less protected routes.
    pub is_protected: bool,
    /// When the object is left out: the indices of rules whose paths stay closed; `None` for all
    /// other objects.
    pub closed_rules: Option<Arc<[usize]>>,
}

impl<'a> Admitted<'a> {
    /// An object of which everything is served.
    pub fn of(attached: &'a Attached<'a>, is_protected: bool) -> Self {
        Admitted { attached, policy: attached.policy.clone(), is_protected, closed_rules: None }
    }

    /// Its identity.
    pub fn id(&self) -> &'a Arc<ObjectId> {
        &self.attached.intent.of.id
    }

    /// Its rules with their indices.
    pub fn rules(&self) -> impl Iterator<Item = (usize, &'a Rule)> + use<'a> {
        let closed = self.closed_rules.clone();
        let rules = self.attached.rules.iter().enumerate();
        rules.filter(move |(number, _)| closed.as_ref().is_none_or(|closed| closed.binary_search(number).is_ok()))
    }

    /// The paths of a rule with their indices and backends.
    pub fn paths(&self, rule: usize) -> impl Iterator<Item = (usize, &'a RulePath, Backend<'a>)> + use<'a> {
        let paths = self.attached.rules.get(rule).into_iter().flat_map(|rule| rule.paths.iter());
        paths.enumerate().map(|(number, path)| (number, path, Backend::from(&path.backend)))
    }

    /// The age of its claims.
    pub fn since(&self) -> Since<'a> {
        Since::of(&self.attached.intent.of)
    }

    /// The backend for requests that none of its paths matches.
    pub fn default_backend(&self) -> Option<Backend<'a>> {
        let rest = self.attached.intent.rest.as_deref().filter(|_| self.closed_rules.is_none());
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
        let host = excerpt(self.attached.rules.get(rule).map_or("", |rule| &rule.host));
        Finding::new(Reason::InvalidHost, origin, format!("host {host} is refused: {refused}"))
    }

    /// The host to which it redirects requests for this one, which has `www.` or lacks it, and the
    /// field that asks for it; nothing when a rule of its own names this one.
    pub fn redirect_of(&self, name: &ServerName) -> Option<(HostName, Origin)> {
        let asked = self.policy.reading.host.redirects_www.as_ref()?;
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
        self.attached.class.endpoints.unwrap_or(options.endpoints)
    }

    /// Whether its paths of this type are regular expressions by its own request, whatever else
    /// the host has.
    pub fn is_regex(&self, kind: PathType) -> bool {
        self.attached.class.dialect.expressions == ExpressionScope::Object
            && self.policy.reading.use_regex
            && kind == PathType::ImplementationSpecific
    }
}
