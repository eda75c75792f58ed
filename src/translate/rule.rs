//! The hosts and paths of an object, read once for each version of it; it must not know who gets them.

use std::sync::Arc;

use k8s_openapi::api::networking::v1::{Ingress, IngressBackend};

use super::path::{self, PathType};
use super::port::PortReference;
use super::{host, subject};
use crate::model::{Refused, ServerName, UrlPath};

/// A rule as it is understood.
#[derive(Debug, PartialEq, Eq)]
pub struct Rule {
    /// The server that it is for.
    pub name: Result<ServerName, Refused>,
    /// The host as it is written; `*` for all that nobody has.
    pub host: Arc<str>,
    /// Its paths in their order.
    pub paths: Box<[RulePath]>,
}

/// A path of a rule.
#[derive(Debug, PartialEq, Eq)]
pub struct RulePath {
    /// The path.
    pub path: Result<UrlPath, Refused>,
    /// Its type; `None` where it is none.
    pub kind: Option<PathType>,
}

impl RulePath {
    /// Path and type, where both can be read.
    pub fn parts(&self) -> Option<(&UrlPath, PathType)> {
        Some((self.path.as_ref().ok()?, self.kind?))
    }
}

/// Where requests are to go, as an object writes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Backend<'a> {
    /// The Service; `None` where it is something else.
    pub service: Option<&'a str>,
    /// The port of the Service; `None` where none is named that can exist.
    pub port: Option<PortReference<'a>>,
}

impl<'a> Backend<'a> {
    /// That of an Ingress.
    pub fn of(backend: &'a IngressBackend) -> Self {
        let service = backend.service.as_ref();
        let port = service.and_then(|service| PortReference::read(service.port.as_ref()));
        Backend { service: service.map(|service| &*service.name), port }
    }
}

/// Reads all rules of an object.
pub fn read(ingress: &Ingress) -> Arc<[Rule]> {
    let rules = ingress.spec.as_ref().and_then(|spec| spec.rules.as_deref()).unwrap_or_default();
    let rules = rules.iter().map(|rule| {
        let written = rule.host.as_deref().unwrap_or_default();
        let name = host::of_rule(rule.host.as_deref());
        // As nearly all are written: then there is one text of it.
        let host = match &name {
            Ok(ServerName::Exact(host)) if host.as_str() == written => host.text(),
            Ok(ServerName::CatchAll) => "*".into(),
            _ => written.into(),
        };
        let paths = subject::paths(rule)
            .map(|(_, entry)| RulePath { path: path::read(entry), kind: PathType::read(&entry.path_type) });
        Rule { name, host, paths: paths.collect() }
    });
    rules.collect()
}
