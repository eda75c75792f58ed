//! A request as somebody writes it, and what of a model takes it; this must not know who wrote
//! that.

use std::sync::Arc;

use regex::bytes::{Regex, RegexBuilder};
use url::Url;

use crate::model::{PathMatch, Route, Server, ServerName};
use crate::translate::host_with_wildcard;

/// No expression needs more memory than this.
const LARGEST_EXPRESSION: usize = 1 << 18;

/// The longest that is taken.
const LONGEST: usize = 480;

/// Host and path of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Address {
    host: String,
    path: String,
    /// As it was written.
    written: String,
}

impl Address {
    /// Reads `https://shop.example/cart`; scheme, port and query do not matter, and may be absent.
    /// `*` is a host that nobody has.
    pub fn read(text: &str) -> Option<Self> {
        let rest = text.split_once("://").map_or(text, |(_, rest)| rest);
        let is_word = !text.contains(|letter: char| letter.is_whitespace() || letter.is_control());
        let url = Url::parse(&format!("http://{rest}")).ok().filter(|_| is_word && text.len() <= LONGEST)?;
        let mut path = decoded(url.path());
        while path.contains("//") {
            path = path.replace("//", "/");
        }
        Some(Address { host: url.host_str()?.to_ascii_lowercase(), path, written: text.to_owned() })
    }

    /// The host, in small letters.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// The path as nginx compares it.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// What was read.
    pub fn written(&self) -> &str {
        &self.written
    }

    /// The server that takes it: that of the host, of the wildcard above it, of an expression, or
    /// of all others, which also takes hosts that are reserved.
    pub fn server<'s>(&self, servers: &'s [Arc<Server>]) -> Option<&'s Server> {
        let find =
            |name: &ServerName| servers.iter().find(|server| server.name == *name || server.reserved.contains(name));
        let named = host_with_wildcard(&self.host).into_iter().find_map(|(name, _)| find(&name));
        let by_expression = || {
            let takes = |server: &&Arc<Server>| match &server.name {
                ServerName::Expression(source) => {
                    expression(source.as_str()).is_some_and(|expression| expression.is_match(self.host.as_bytes()))
                }
                _ => false,
            };
            servers.iter().filter(takes).min_by_key(|server| server.order)
        };
        let found = named.or_else(by_expression).or_else(|| find(&ServerName::CatchAll));
        found.map(Arc::as_ref)
    }

    /// The route that takes it, and an expression that would take it before if it matches, which
    /// cannot be told here.
    pub fn route<'s>(&self, server: &'s Server) -> (&'s Route, Option<&'s str>) {
        let mut unsure = None;
        for route in &server.routes {
            match self.is_taken(&route.path) {
                Some(true) => return (route, unsure),
                Some(false) => {}
                None => {
                    if let PathMatch::Regex(pattern) = &route.path {
                        unsure = unsure.or(Some(pattern.as_str()));
                    }
                }
            }
        }
        (&server.fallback, unsure)
    }

    fn is_taken(&self, path: &PathMatch) -> Option<bool> {
        match path {
            PathMatch::Exact { path, redirect_to_slash } => {
                let bare = path.as_str().trim_end_matches('/');
                Some(self.path == path.as_str() || (*redirect_to_slash && self.path == bare))
            }
            PathMatch::Prefix { path, .. } => {
                let rest = self.path.strip_prefix(path.as_str().trim_end_matches('/'));
                Some(rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/')))
            }
            PathMatch::Regex(pattern) => {
                let anchored = format!("^(?:{})", pattern.as_str());
                expression(&anchored).map(|expression| expression.is_match(self.path.as_bytes()))
            }
        }
    }
}

/// As nginx compares without regard to small letters; `None` for what only PCRE reads.
fn expression(source: &str) -> Option<Regex> {
    RegexBuilder::new(source).case_insensitive(true).unicode(false).size_limit(LARGEST_EXPRESSION).build().ok()
}

/// A path without the escapes of URLs.
fn decoded(path: &str) -> String {
    let (mut bytes, mut rest) = (Vec::new(), path.as_bytes());
    while let [byte, behind @ ..] = rest {
        let code = behind.get(..2).filter(|_| *byte == b'%');
        let code = code.and_then(|code| u8::from_str_radix(std::str::from_utf8(code).ok()?, 16).ok());
        bytes.push(code.unwrap_or(*byte));
        rest = if code.is_some() { &behind[2..] } else { behind };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::HostName;

    #[test]
    fn a_reserved_host_is_taken_by_the_server_of_all_others() {
        let host = |name: &str| HostName::new(name).unwrap();
        let wildcard = ServerName::Wildcard(host("corp.example"));
        let rest = Server::of_unknown_hosts().unwrap();
        let around = Server { name: wildcard.clone(), ..rest.clone() };
        let rest = Server { reserved: vec![ServerName::Exact(host("shop.corp.example"))], ..rest };
        let servers = [rest, around].map(Arc::new);
        for (address, expected) in [
            ("shop.corp.example", &ServerName::CatchAll),
            ("cart.corp.example", &wildcard),
            ("*", &ServerName::CatchAll),
        ] {
            let server = Address::read(address).unwrap().server(&servers).map(|server| &server.name);
            assert_eq!(server, Some(expected), "{address}");
        }
    }

    #[test]
    fn an_address_is_a_host_and_the_path_that_nginx_compares() {
        for (text, expected) in [
            ("https://Shop.example:8443/cart?x=1#y", Some("shop.example /cart")),
            ("shop.example", Some("shop.example /")),
            ("http://shop.example//a/./b/../c%20d%2fe", Some("shop.example /a/c d/e")),
            ("shop.example/100%", Some("shop.example /100%")),
            ("*/x", Some("* /x")),
            ("192.0.2.1/x", Some("192.0.2.1 /x")),
            ("", None),
            ("a b/x", None),
            ("a\n/x", None),
            (&format!("a/{}", "x".repeat(500)), None),
        ] {
            let read = Address::read(text).map(|address| format!("{} {}", address.host(), address.path()));
            assert_eq!(read.as_deref(), expected, "{text:?}");
        }
    }
}
