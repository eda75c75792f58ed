//! A host name and what is served under it; it must not know how nginx selects servers.

use std::collections::HashMap;

use super::{Action, CertificateId, Field, HostName, ObjectId, Origin, Route};

/// The requests that a server takes.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ServerName {
    /// Hosts that no other server takes.
    CatchAll,
    /// This host alone.
    Exact(HostName),
    /// Hosts with exactly one more label in front of this name: `*.example.com` holds `example.com`.
    Wildcard(HostName),
}

/// How a server terminates TLS.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TlsTermination {
    /// The host asked for no certificate: it is served with the default one, and nobody is sent there.
    Default,
    /// The host is listed under `spec.tls` but has no usable certificate: the default one, and redirects apply.
    DefaultDeclared,
    /// The host has its own certificate.
    Own(CertificateId),
}

/// One host with its routes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Server {
    /// Which requests it takes.
    pub name: ServerName,
    /// The oldest object that defines this host, named in the file that is rendered for it.
    pub origin: Origin,
    /// Its certificate.
    pub tls: TlsTermination,
    /// Value of `Strict-Transport-Security` on answers over TLS, for example `max-age=31536000; includeSubDomains`
    /// as seconds, include-subdomains, preload; `None` sends none.
    pub hsts: Option<Hsts>,
    /// Routes in the order in which they win: exact paths, then regular expressions in their order of trial, then
    /// prefixes from the longest to the shortest.
    pub routes: Vec<Route>,
    /// What happens to requests that no route takes.
    pub fallback: Route,
}

/// The policy of RFC 6797.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Hsts {
    /// `max-age` in seconds.
    pub max_age: u64,
    /// `includeSubDomains`.
    pub include_subdomains: bool,
    /// `preload`.
    pub preload: bool,
}

impl Server {
    /// Whether a path that means one thing to nginx and another to a backend could pass by what protects a route: some
    /// route asks for it, and another one, which goes to a backend, is not protected in the same way.
    pub fn needs_strict_paths(&self) -> bool {
        let all = || self.routes.iter().chain([&self.fallback]);
        let protection = |route: &'_ Route| {
            let behaviour = &route.behaviour;
            (behaviour.strict_paths, behaviour.access.clone(), behaviour.basic_authentication.clone())
        };
        let strict = all().filter(|route| route.behaviour.strict_paths);
        strict.map(protection).any(|wanted| {
            all().any(|other| matches!(other.action, Action::Proxy { .. }) && protection(other) != wanted)
        })
    }

    /// How many routes are each object's own. A fallback is when the object says so.
    pub fn routes_by_object<'a>(servers: impl Iterator<Item = &'a Server> + Clone) -> HashMap<&'a ObjectId, u32> {
        let own = |server: &&Server| server.fallback.origin.field == Field::DefaultBackend;
        let fallbacks = servers.clone().filter(own).map(|server| &server.fallback);
        let mut routes = HashMap::new();
        for route in servers.flat_map(|server| &server.routes).chain(fallbacks) {
            *routes.entry(&*route.origin.object).or_default() += 1;
        }
        routes
    }
}
