//! Keeps reserved hosts, which are not served now, from the expressions of others.

use std::collections::HashSet;
use std::sync::Arc;

use crate::model::{Server, ServerName};
use crate::translate::claims::Claims;
use crate::translate::host;

/// Lists hosts that are claimed but not served in the catch-all server, which gets their requests
/// as it does without expressions. The servers come sorted.
pub fn reserve(servers: &mut Vec<Arc<Server>>, claims: &Claims) {
    if !servers.last().is_some_and(|last| matches!(last.name, ServerName::Expression(_))) {
        return;
    }
    let served: HashSet<_> = servers.iter().map(|server| &server.name).collect();
    let is_served = |name: &ServerName| {
        served.contains(name) || host::wildcard_above(name).is_some_and(|wildcard| served.contains(&wildcard))
    };
    let is_host = |name: &&ServerName| matches!(name, ServerName::Exact(_) | ServerName::Wildcard(_));
    let reserved: Vec<_> = claims.hosts().filter(is_host).filter(|name| !is_served(name)).cloned().collect();
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
