//! Parses the `externalName` of a Service. Nothing is resolved here.

use std::net::IpAddr;

use ingressd_model::HostName;

/// The meaning of a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ExternalName {
    /// A name for DNS.
    Name(HostName),
    /// An address, which the caller still has to check.
    Address(IpAddr),
}

impl ExternalName {
    /// Parses the name, or returns one clause why it is refused. A trailing dot is allowed.
    ///
    /// A numeric last label is refused, as URL parsers do: `2130706433`, `0x7f.1` and `127.1` are
    /// addresses to some resolvers, and would bypass the check of addresses.
    pub fn read(text: &str) -> Result<Self, &'static str> {
        let name = text.strip_suffix('.').unwrap_or(text).to_ascii_lowercase();
        if let Ok(address) = name.parse::<IpAddr>() {
            return Ok(ExternalName::Address(address));
        }
        let last = name.rsplit('.').next().unwrap_or_default();
        let is_hexadecimal = |digits: &str| digits.bytes().all(|byte| byte.is_ascii_hexdigit());
        if last.bytes().all(|byte| byte.is_ascii_digit()) || last.strip_prefix("0x").is_some_and(is_hexadecimal) {
            return Err("it is neither a name nor an address in the usual notation");
        }
        if name == "localhost" || name.ends_with(".localhost") || name == "localhost.localdomain" {
            return Err("it is a name of this host itself");
        }
        if name == "ingressd" || name.starts_with("ingressd.") {
            return Err("names that begin with ingressd. are reserved for upstreams");
        }
        HostName::new(&name).map(ExternalName::Name).map_err(|_| "it is not a DNS name")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_addresses() {
        for (text, expected) in
            [("Backend.example.net.", "backend.example.net"), ("db", "db"), ("a_b.example.com", "a_b.example.com")]
        {
            assert_eq!(ExternalName::read(text), Ok(ExternalName::Name(HostName::new(expected).unwrap())), "{text}");
        }
        for text in ["192.0.2.7", "2001:db8::1", "127.0.0.1", "192.0.2.7."] {
            assert!(matches!(ExternalName::read(text), Ok(ExternalName::Address(_))), "{text}");
        }
    }

    #[test]
    fn refused() {
        let cases = [
            "",
            ".",
            "..",
            "localhost",
            "LOCALHOST.",
            "a.localhost",
            "localhost.localdomain",
            "2130706433",
            "0x7f.1",
            "127.1",
            "0177.0.0.1",
            "0x7f000001",
            "0x",
            "[::1]",
            "ingressd.team-a.web.80",
            "a b",
            "a;b",
            "a/b",
            "a:80",
            "unix:/run/x",
            "$host",
            "a\n.com",
            "-a.com",
        ];
        for text in cases {
            assert!(ExternalName::read(text).is_err(), "{text:?}");
        }
    }
}
