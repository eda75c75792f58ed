//! The expressions that take a host which no object names, in the order in which nginx tries them.
//! It must not know the objects of the expressions.

use crate::daemon::explain::matches_host;
use ingressd_model::ServerName;
use ingressd_translate::Claims;

/// An expression that takes a host, or may.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Taking {
    pub name: ServerName,
    /// Whether that is known: some expressions only nginx can read.
    pub is_certain: bool,
}

/// The expressions for a host, the one that nginx tries first before the others.
pub fn taking(claims: &Claims, host: &str) -> Vec<Taking> {
    let mut found: Vec<_> = claims
        .hosts()
        .filter_map(|name| {
            let ServerName::Expression(expression) = name else { return None };
            let is_certain = match matches_host(expression.as_str(), host) {
                Some(false) => return None,
                takes => takes.is_some(),
            };
            let oldest = claims.of(name).iter().map(|claimant| claimant.number).min()?;
            Some((oldest, Taking { name: name.clone(), is_certain }))
        })
        .collect();
    found.sort_by_key(|(oldest, _)| *oldest);
    found.into_iter().map(|(_, taking)| taking).collect()
}
