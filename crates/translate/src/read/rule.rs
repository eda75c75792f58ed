//! The hosts and paths of an object.

use std::sync::Arc;

use super::intent::Reference;
use super::path::{self, PathType};
use crate::read::port::PortReference;
use crate::value::host;
use ingressd_model::{HostName, Refused, ServerName, Share, Test, UrlPath};

/// A host with its paths.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    /// The server name.
    pub name: Result<ServerName, Refused>,
    /// The host as written; `*` for a missing one.
    pub host: Arc<str>,
    /// Its paths in their order.
    pub paths: Arc<[RulePath]>,
    /// Whether it is not written, but stands for an alias of the host of a rule that is.
    pub is_alias: bool,
}

impl Rule {
    /// The host as written, empty for a missing one, with its paths.
    pub fn read(text: &str, paths: Arc<[RulePath]>) -> Self {
        let name = host::server_name(text);
        // Nearly all hosts are written in canonical form, so that the text can be shared.
        let host = match &name {
            Ok(ServerName::Exact(host)) if host.as_str() == text => host.text(),
            Ok(ServerName::CatchAll) => "*".into(),
            _ => text.into(),
        };
        Rule { name, host, paths, is_alias: false }
    }

    /// Whether its requests have to be like something.
    pub fn has_conditions(&self) -> bool {
        self.paths.iter().any(|path| !path.all.is_empty())
    }

    /// The entries with the path at this index, in the order in which their conditions count.
    pub fn entries(&self, index: usize) -> impl Iterator<Item = &RulePath> {
        let parts = self.paths.get(index).and_then(RulePath::parts);
        self.paths.iter().filter(move |path| parts.is_some() && path.parts() == parts)
    }

    /// The host with or without `www.` that may be redirected to that of this rule. An alias has
    /// none.
    pub fn counterpart(&self) -> Option<ServerName> {
        self.name.as_ref().ok().filter(|_| !self.is_alias).and_then(counterpart)
    }

    /// The host that it names; `None` for all hosts and for an invalid one.
    pub fn named(&self) -> Option<&ServerName> {
        self.name.as_ref().ok().filter(|name| **name != ServerName::CatchAll)
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RulePath {
    pub path: Result<UrlPath, Refused>,
    /// Its type; `None` when it is invalid.
    pub kind: Option<PathType>,
    /// What its requests have to be like. Those that no entry of the object with this path takes
    /// belong to the next less specific path of the host, whoever has it.
    pub all: Box<[Test]>,
    pub backend: Reference,
    /// Other backends, each with its share of the requests.
    pub others: Box<[(Share, Reference)]>,
}

impl RulePath {
    /// The path and its type as written, with a backend.
    pub fn read(path: Option<&str>, kind: &str, backend: Reference) -> Self {
        let (path, kind) = (path::read(path), PathType::read(kind));
        RulePath { path, kind, all: Box::default(), backend, others: Box::default() }
    }

    /// All backends, the main one first.
    pub fn backends(&self) -> impl Iterator<Item = &Reference> {
        [&self.backend].into_iter().chain(self.others.iter().map(|(_, backend)| backend))
    }

    /// The path and its type, when both are valid.
    pub fn parts(&self) -> Option<(&UrlPath, PathType)> {
        Some((self.path.as_ref().ok()?, self.kind?))
    }

    /// The text of the path; empty for one that is refused.
    pub fn text(&self) -> &str {
        self.path.as_ref().map(UrlPath::as_str).unwrap_or_default()
    }
}

/// A backend, as an object names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Backend<'a> {
    /// The Service; `None` for another kind of backend.
    pub service: Option<&'a str>,
    /// The port of the Service; `None` when it names no valid one.
    pub port: Option<PortReference<'a>>,
}

impl<'a> From<&'a Reference> for Backend<'a> {
    fn from(reference: &'a Reference) -> Self {
        Backend { service: reference.service.as_deref(), port: reference.port.reference() }
    }
}

/// The host with `www.` added or removed; `None` for names that have no such counterpart.
pub fn counterpart(name: &ServerName) -> Option<ServerName> {
    let ServerName::Exact(host) = name else { return None };
    let other = match host.as_str().strip_prefix("www.") {
        Some(rest) => HostName::new(rest).ok().filter(|rest| rest.as_str().contains('.')),
        None => HostName::new(&format!("www.{host}")).ok(),
    };
    other.map(ServerName::Exact)
}
