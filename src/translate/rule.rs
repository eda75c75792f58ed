//! The hosts and paths of an object, parsed once for each version. It must not know who gets them.

use std::sync::Arc;

use super::path::{self, PathType};
use super::port::PortReference;
use super::{aliases, host, subject};
use ingressd_model::{Refused, ServerName, UrlPath};
use ingressd_objects::{Ingress, IngressBackend};

/// A parsed rule.
#[derive(Debug, PartialEq, Eq)]
pub struct Rule {
    /// The server name.
    pub name: Result<ServerName, Refused>,
    /// The host as written; `*` for a missing one.
    pub host: Arc<str>,
    /// Its paths in their order.
    pub paths: Box<[RulePath]>,
    /// Whether it stands for an alias of a host.
    is_alias: bool,
}

impl Rule {
    /// The host with or without `www.` that may be redirected to that of this rule. An alias has
    /// none.
    pub fn twin(&self) -> Option<ServerName> {
        self.name.as_ref().ok().filter(|_| !self.is_alias).and_then(aliases::twin)
    }
}

#[derive(Debug, PartialEq, Eq)]
pub struct RulePath {
    pub path: Result<UrlPath, Refused>,
    /// Its type; `None` when it is invalid.
    pub kind: Option<PathType>,
}

impl RulePath {
    /// The path and its type, when both are valid.
    pub fn parts(&self) -> Option<(&UrlPath, PathType)> {
        Some((self.path.as_ref().ok()?, self.kind?))
    }
}

/// A backend, as an object writes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Backend<'a> {
    /// The Service; `None` for another kind of backend.
    pub service: Option<&'a str>,
    /// The port of the Service; `None` when it names no valid one.
    pub port: Option<PortReference<'a>>,
}

impl<'a> Backend<'a> {
    /// The backend of an Ingress.
    pub fn of(backend: &'a IngressBackend) -> Self {
        let port = PortReference::read(backend.port_name.as_deref(), backend.port_number);
        Backend { service: backend.service.as_deref(), port }
    }
}

/// Parses all rules of an object.
pub fn read(ingress: &Ingress) -> Arc<[Rule]> {
    let rules = ingress.rules.iter().map(|rule| {
        let written = rule.host.as_deref().unwrap_or_default();
        let name = host::of_rule(rule.host.as_deref());
        // Nearly all hosts are written in canonical form, so that the text can be shared.
        let host = match &name {
            Ok(ServerName::Exact(host)) if host.as_str() == written => host.text(),
            Ok(ServerName::CatchAll) => "*".into(),
            _ => written.into(),
        };
        let paths = subject::paths(rule)
            .map(|(_, entry)| RulePath { path: path::read(entry), kind: PathType::read(&entry.path_type) });
        Rule { name, host, paths: paths.collect(), is_alias: rule.is_alias }
    });
    rules.collect()
}
