//! All routes with what becomes of their requests, host by host.

use super::InForce;
use ingressd_model::{Field, ObjectId, PathMatch, Route, Server};
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
    /// What becomes of a request.
    pub does: String,
}

impl InForce {
    /// The routes that objects have, in order.
    pub fn listed(&self) -> impl Iterator<Item = Listed<'_>> {
        self.servers.iter().flat_map(|server| routes(server).map(|route| self.listing(server, route)))
    }

    fn listing<'f>(&self, server: &Server, route: &'f Route) -> Listed<'f> {
        let path = match &route.path {
            _ if std::ptr::eq(route, &server.fallback) => "all else".to_owned(),
            PathMatch::Exact { path, .. } => format!("exactly {}", path.as_str()),
            PathMatch::Prefix { path, .. } => path.as_str().to_owned(),
            PathMatch::Regex(pattern) => format!("expression {}", pattern.as_str()),
        };
        let object = &*route.origin.object;
        Listed { host: written_host(&server.name), path, object, from: object.to_string(), does: self.does(route) }
    }
}

/// The routes of a server that objects have.
fn routes(server: &Server) -> impl Iterator<Item = &Route> {
    let fallback = Some(&server.fallback).filter(|route| route.origin.field == Field::DefaultBackend);
    server.routes.iter().chain(fallback)
}
