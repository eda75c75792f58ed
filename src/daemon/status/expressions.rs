//! Which expressions take a host that nobody has by name, in the order in which nginx tries them; it must not know whose they are.

use regex::bytes::RegexBuilder;

use crate::model::ServerName;
use crate::translate::Claims;

/// No expression needs more memory than this.
const LARGEST: usize = 1 << 18;

/// An expression that takes a host, or may.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Taking {
    pub name: ServerName,
    /// Whether it can be told: some only nginx can read.
    pub is_certain: bool,
}

/// The expressions for a host, the one that nginx tries first before the others.
pub fn taking(claims: &Claims, host: &str) -> Vec<Taking> {
    let mut found: Vec<_> = claims
        .hosts()
        .filter_map(|name| {
            let ServerName::Expression(expression) = name else { return None };
            let is_certain = takes(expression.as_str(), host)?;
            let oldest = claims.of(name).iter().map(|claimant| claimant.number).min()?;
            Some((oldest, Taking { name: name.clone(), is_certain }))
        })
        .collect();
    found.sort_by_key(|(oldest, _)| *oldest);
    found.into_iter().map(|(_, taking)| taking).collect()
}

/// Whether that is certain; `None` where it takes another host.
fn takes(expression: &str, host: &str) -> Option<bool> {
    let expression = RegexBuilder::new(expression).unicode(false).case_insensitive(true).size_limit(LARGEST).build();
    match expression {
        Ok(expression) => expression.is_match(host.as_bytes()).then_some(true),
        Err(_) => Some(false),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expressions_match_as_nginx_matches_them() {
        for (expression, host, expected) in [
            (r"^shop\d+\.example$", "shop7.example", Some(true)),
            (r"^SHOP", "shop7.example", Some(true)),
            (r"^shop\d+\.example$", "shop.example", None),
            ("^(?!www)", "shop.example", Some(false)),
        ] {
            assert_eq!(takes(expression, host), expected, "{expression} {host}");
        }
    }
}
