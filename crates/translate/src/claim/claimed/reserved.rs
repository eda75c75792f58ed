//! Keeps reserved hosts, which are not served now, from wildcards and expressions of others.

use std::collections::HashSet;
use std::sync::Arc;

use crate::claim::claims::Claims;
use crate::value::host;
use ingressd_model::{Server, ServerName};

/// Lists hosts that are claimed but not served in the catch-all server, which gets their requests
/// as it does without expressions and without younger wildcards of other namespaces. The servers
/// come sorted.
pub fn reserve(servers: &mut Vec<Arc<Server>>, claims: &Claims) {
    let has_expressions = servers.last().is_some_and(|last| matches!(last.name, ServerName::Expression(_)));
    if !has_expressions && !servers.iter().any(|server| matches!(server.name, ServerName::Wildcard(_))) {
        return;
    }
    let served: HashSet<_> = servers.iter().map(|server| &server.name).collect();
    let is_kept = |name: &ServerName| match host::wildcard_above(name).filter(|wildcard| served.contains(wildcard)) {
        Some(wildcard) => claims.is_older_than_wildcard(name, &wildcard),
        None => has_expressions,
    };
    let is_host = |name: &&ServerName| matches!(name, ServerName::Exact(_) | ServerName::Wildcard(_));
    let unserved = claims.hosts().filter(is_host).filter(|name| !served.contains(name));
    let reserved: Vec<_> = unserved.filter(|name| is_kept(name)).cloned().collect();
    if reserved.is_empty() {
        return;
    }
    if servers.first().is_none_or(|first| first.name != ServerName::CatchAll) {
        servers.splice(0..0, Server::of_unknown_hosts().map(Arc::new));
    }
    if let Some(first) = servers.first_mut().filter(|first| first.name == ServerName::CatchAll) {
        Arc::make_mut(first).reserved = reserved;
    }
}
