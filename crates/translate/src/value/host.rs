//! Host names of rules and of certificates.

use std::net::IpAddr;

use ingressd_model::{HostExpression, HostName, Refused, ServerName};

/// The server name for the `host` of a rule: exact, a wildcard of one label, or for an empty host
/// the catch-all.
///
/// An IP address is refused, as by the API server, because a request for an address means the
/// node.
pub fn server_name(host: &str) -> Result<ServerName, Refused> {
    let lower = host.to_ascii_lowercase();
    match lower.strip_prefix("*.") {
        _ if lower.is_empty() => Ok(ServerName::CatchAll),
        _ if lower.parse::<IpAddr>().is_ok() => Err(Refused::because("it is an address; write a name")),
        Some(parent) => HostName::new(parent).map(ServerName::Wildcard),
        None => HostName::new(&lower).map(ServerName::Exact),
    }
}

/// The server name of a rule or an alias, which may be an expression, as [`written`] gives it.
pub fn of_rule(host: Option<&str>) -> Result<ServerName, Refused> {
    let host = host.filter(|host| *host != "*").unwrap_or_default();
    match host.strip_prefix('~') {
        Some(expression) => HostExpression::read(expression).map(ServerName::Expression),
        None => server_name(host),
    }
}

/// The name as in rules; `*` for the catch-all.
pub fn written(name: &ServerName) -> String {
    match name {
        ServerName::CatchAll => "*".to_owned(),
        ServerName::Exact(host) => host.to_string(),
        ServerName::Wildcard(parent) => format!("*.{parent}"),
        ServerName::Expression(expression) => format!("~{expression}"),
    }
}

/// The wildcard host that contains an exact host.
pub fn wildcard_above(name: &ServerName) -> Option<ServerName> {
    let ServerName::Exact(host) = name else { return None };
    let (_, rest) = host.as_str().split_once('.')?;
    HostName::new(rest).ok().map(ServerName::Wildcard)
}

/// The patterns that [`covers`] accepts for a host, in lower case: its own name, and with `*` for
/// its first label.
pub fn patterns(name: &ServerName) -> (Option<String>, Option<String>) {
    let ServerName::Exact(host) = name else {
        return (Some(written(name)).filter(|_| *name != ServerName::CatchAll), None);
    };
    let lower = host.as_str().to_ascii_lowercase();
    let wildcard = lower.split_once('.').map(|(_, rest)| format!("*.{rest}"));
    (Some(lower), wildcard)
}

/// Whether `listed`, from `spec.tls`, is the host of the server itself.
pub fn is_listed(listed: &str, name: &ServerName) -> bool {
    match name {
        ServerName::CatchAll => false,
        ServerName::Exact(host) => listed.eq_ignore_ascii_case(host.as_str()),
        ServerName::Wildcard(parent) => {
            listed.strip_prefix("*.").is_some_and(|listed| listed.eq_ignore_ascii_case(parent.as_str()))
        }
        ServerName::Expression(expression) => listed.strip_prefix('~') == Some(expression.as_str()),
    }
}

/// Whether a name of a certificate or of `spec.tls` covers every request of the server: the name
/// itself, or with `*` for exactly its first label.
pub fn covers(pattern: &str, name: &ServerName) -> bool {
    if is_listed(pattern, name) {
        return true;
    }
    let (ServerName::Exact(host), Some(parent)) = (name, pattern.strip_prefix("*.")) else { return false };
    host.as_str().split_once('.').is_some_and(|(_, rest)| rest.eq_ignore_ascii_case(parent))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        let cases = [
            ("", Some("*")),
            ("Shop.Example.COM", Some("shop.example.com")),
            ("*.Example.com", Some("*.example.com")),
            ("*", None),
            ("*.", None),
            ("a.*.com", None),
            ("a..com", None),
            ("a.com.", None),
            ("a.com\n", None),
            ("a;b.com", None),
            ("192.0.2.1", None),
            ("::1", None),
            ("192.0.2.1.example.com", Some("192.0.2.1.example.com")),
        ];
        for (host, expected) in cases {
            assert_eq!(server_name(host).ok().map(|name| written(&name)).as_deref(), expected, "{host:?}");
        }
    }

    #[test]
    fn coverage_is_by_one_label() {
        let cases = [
            ("a.example.com", "A.example.com", true),
            ("*.example.com", "a.example.com", true),
            ("*.example.com", "b.a.example.com", false),
            ("*.example.com", "example.com", false),
            ("*.example.com", "*.example.com", true),
            ("a.example.com", "*.example.com", false),
            ("*.com", "*.example.com", false),
        ];
        for (pattern, host, expected) in cases {
            assert_eq!(covers(pattern, &server_name(host).unwrap()), expected, "{pattern} {host}");
        }
    }
}
