//! Whether an expression matches, as far as this is known without PCRE.

use regex::bytes::RegexBuilder;

use ingressd_model::expression::LIMITS;

/// No expression needs more memory than this.
const LARGEST: usize = 1 << 18;

/// The shortest host that no expression takes.
const TOO_LONG: usize = 254;

/// Whether nginx finds the expression in this text; `None` where only PCRE can read it.
pub fn matches(source: &str, text: &str, is_cased: bool) -> Option<bool> {
    let source = source.strip_prefix(LIMITS).unwrap_or(source);
    let mut builder = RegexBuilder::new(source);
    let expression = builder.unicode(false).case_insensitive(!is_cased).size_limit(LARGEST).build();
    expression.ok().map(|expression| expression.is_match(text.as_bytes()))
}

/// The same for the expression of a host: an address means the node, and a text that is longer
/// than any host is no host.
pub fn matches_host(source: &str, host: &str) -> Option<bool> {
    let is_address = host.starts_with('[') || host.bytes().all(|byte| byte == b'.' || byte.is_ascii_digit());
    match is_address || host.len() >= TOO_LONG {
        true => Some(false),
        false => matches(source, host, false),
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
            (r"^shop\d+\.example$", "shop.example", Some(false)),
            ("^(?!www)", "shop.example", None),
            ("^(?!www)", "192.0.2.1", Some(false)),
            (".", "[2001:db8::1]", Some(false)),
            (".", &"a".repeat(254), Some(false)),
        ] {
            assert_eq!(matches_host(expression, host), expected, "{expression} {host}");
        }
        assert_eq!(matches(&format!("{LIMITS}^/A"), "/a", true), Some(false));
    }
}
