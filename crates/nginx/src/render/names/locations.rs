//! Names of the locations of a path: its handlers, and what stands in for endpoints.

use super::{BACKEND, hash, upstream_hash};
use crate::render::file_set::FilePath;
use ingressd_model::{PathMatch, Route, Test, UpstreamId};

/// The folder of files that stand in for endpoints.
pub const EMPTY: &str = "empty/";

/// The file that the locations of an upstream include while it has no endpoints.
pub fn empty_file(id: &UpstreamId) -> FilePath {
    format!("{EMPTY}{}.conf", upstream_hash(id)).into()
}

/// The same for locations whose requests another backend takes meanwhile.
pub fn stand_in_file(id: &UpstreamId) -> FilePath {
    format!("{EMPTY}{}-stand-in.conf", upstream_hash(id)).into()
}

/// The location for the requests of a route while its upstream has no endpoints.
pub fn stand_in(route: &Route) -> String {
    let (kind, path) = match &route.path {
        PathMatch::Exact { path, .. } => ("exact", path.as_str()),
        PathMatch::Prefix { path, .. } => ("prefix", path.as_str()),
        PathMatch::Regex(pattern) => ("expression", pattern.as_str()),
    };
    format!("@{}_ingressd_stand_in", hash(&[kind, path, &route.origin.to_string()]))
}

/// The location of a handler that conditions lead to.
pub fn handler(number: usize) -> String {
    format!("@{number}_ingressd_handler")
}

/// The location for its requests while its upstream has no endpoints.
pub fn stand_in_of_handler(number: usize) -> String {
    format!("@{number}_ingressd_handler_stand_in")
}

/// The variable with the location of the handler of a request, by the conditions that lead there.
pub fn branches(branches: &[(&[Test], String)], rest: &str) -> String {
    format!("branches_{}", hash(&[&format!("{branches:?}"), rest]))
}

/// The variable that says whether a host has an upstream without endpoints in a slot of its shared
/// server.
pub fn empty_hosts(variables: &str, slot: usize) -> String {
    format!("empty{}_{slot}", variables.strip_prefix(BACKEND).unwrap_or(variables))
}

/// The file that asks for it.
pub fn empty_question_file(variables: &str, slot: usize) -> FilePath {
    format!("{EMPTY}if_{}.conf", empty_hosts(variables, slot)).into()
}

/// The file with the hosts for which that is so. Hashes of upstreams have no underscore.
pub fn empty_hosts_file(variables: &str, slot: usize) -> FilePath {
    format!("{EMPTY}{}.conf", empty_hosts(variables, slot)).into()
}
