//! All routes with what becomes of their requests, host by host.

use super::{InForce, passes};
use ingressd_model::{CertificateId, Field, ObjectId, PathMatch, Route, Server, TlsTermination};
use ingressd_nginx::render::{has_own_tls, to_https};
use ingressd_translate::written_host;

/// A route for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed<'f> {
    /// The host, `*` for all that nobody has.
    pub host: String,
    /// Its path, and how it is compared where not as a prefix; empty for all other requests.
    pub path: String,
    /// The object that has it.
    pub object: &'f ObjectId,
    /// The same for people.
    pub from: String,
    /// What becomes of a request, also by the name that its Service stands for.
    pub does: String,
}

/// A host for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedHost {
    pub host: String,
    /// How it is served beside its routes.
    pub does: Vec<String>,
}

impl InForce {
    /// The routes that objects have, in order.
    pub fn listed(&self) -> impl Iterator<Item = Listed<'_>> {
        self.servers().iter().flat_map(|server| routes(server).map(|route| self.listing(server, route)))
    }

    fn listing<'f>(&self, server: &Server, route: &'f Route) -> Listed<'f> {
        let path = match &route.path {
            _ if std::ptr::eq(route, &server.fallback) => "all else".to_owned(),
            PathMatch::Exact { path, .. } => format!("exactly {}", path.as_str()),
            PathMatch::Prefix { path, .. } => path.as_str().to_owned(),
            PathMatch::Regex(pattern) => format!("expression {}", pattern.as_str()),
        };
        let object = &*route.origin.object;
        let mut does = self.does(route);
        let named = route.action.upstream().and_then(|id| self.snapshot.service(&id.namespace, &id.service));
        if let Some(name) = named.and_then(|service| service.object.external_name.as_deref()) {
            does += &format!(", which stands for {name}");
        }
        let own_tls = has_own_tls(server, self.sites_beside.sockets());
        if let Some(redirect) = to_https(route, route, own_tls, &self.settings.gate.global.plain_paths) {
            does += &format!("; over plain http it is answered {}, to the same address by https", redirect.status);
        }
        Listed { host: written_host(&server.name), path, object, from: object.to_string(), does }
    }

    /// The hosts, with what is not about single routes.
    pub fn listed_hosts(&self) -> impl Iterator<Item = ListedHost> {
        let hosts = self.servers().iter().map(|server| {
            let tls = match &server.tls {
                TlsTermination::Own(CertificateId::Secret(secret)) => Some(format!("its certificate is in {secret}")),
                TlsTermination::Own(CertificateId::SelfSigned) => Some("it has a certificate of its own".to_owned()),
                TlsTermination::DefaultDeclared => Some("it has the default certificate".to_owned()),
                TlsTermination::Default => None,
            };
            ListedHost { host: written_host(&server.name), does: tls.into_iter().collect() }
        });
        let passed = self.model.passthroughs.hosts.iter().map(|passed| {
            let does = format!("on its TLS socket {}, by {}", passes(passed), passed.origin);
            ListedHost { host: written_host(&passed.name), does: vec![does] }
        });
        hosts.chain(passed)
    }
}

/// The routes of a server that objects have.
fn routes(server: &Server) -> impl Iterator<Item = &Route> {
    let fallback = Some(&server.fallback).filter(|route| route.origin.field == Field::DefaultBackend);
    server.routes.iter().chain(fallback)
}
