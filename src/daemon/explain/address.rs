//! A request as the user of `ingressd explain` writes it, and the server of a model that takes it.
//! It must not know objects.

use std::sync::Arc;

use regex::bytes::RegexBuilder;
use url::Url;

use super::expression::matches_host;
use crate::translate::host_with_wildcard;
use ingressd_model::{Server, ServerName};

/// The longest that is taken.
const LONGEST: usize = 480;

/// What `crates/nginx/templates/strict_paths.hbs` refuses of a path as it was sent; that needs
/// PCRE for speed.
const AMBIGUOUS: &str = r"//|/(?:\.|%(?:25)*2e){1,2}(?:[/;]|%(?:25)*3b|\z)|%(?:25)*(?:2f|5c)|[\\#]";

/// Host and path of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Address {
    host: String,
    /// The path as it was sent.
    sent: String,
    path: String,
    /// As it was written.
    written: String,
}

/// The server that takes a request.
#[derive(Debug, Clone, Copy)]
pub struct Taker<'s> {
    pub server: &'s Server,
    /// The name by which nginx finds it.
    pub name: &'s ServerName,
    /// Whether the host is kept for a namespace that claims it, and of which nothing is served.
    pub is_reserved: bool,
    /// An expression that nginx tries before. Only PCRE can say whether it matches.
    pub unless: Option<&'s str>,
}

impl Address {
    /// Reads `https://shop.example/cart`; scheme, port and query do not matter, and may be absent.
    /// `*` is a host that no object has.
    pub fn read(text: &str) -> Option<Self> {
        let rest = text.split_once("://").map_or(text, |(_, rest)| rest);
        let is_word = !text.contains(|letter: char| letter.is_whitespace() || letter.is_control());
        let url = Url::parse(&format!("http://{rest}")).ok().filter(|_| is_word && text.len() <= LONGEST)?;
        let (host, sent) = (url.host_str()?.to_ascii_lowercase(), url.path().to_owned());
        // nginx leaves out the dot that ends a name.
        let host = host.strip_suffix('.').filter(|host| !host.is_empty()).unwrap_or(&host).to_owned();
        Some(Address { host, path: resolved(&decoded(&sent))?, sent, written: text.to_owned() })
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

    /// Whether nginx and a backend may read the path differently, so that it is refused where
    /// paths are strict.
    pub fn is_ambiguous(&self) -> bool {
        let expression = RegexBuilder::new(AMBIGUOUS).unicode(false).case_insensitive(true).build();
        expression.is_ok_and(|expression| expression.is_match(self.sent.as_bytes()))
    }

    /// The server that takes it: that of the host, of the wildcard above it, of an expression, or
    /// of all others. A host that is reserved goes to the last, before any expression is tried.
    pub fn server<'s>(&self, servers: &'s [Arc<Server>]) -> Option<Taker<'s>> {
        let find = |name: &ServerName| servers.iter().find(|server| server.name == *name).map(Arc::as_ref);
        let rest = find(&ServerName::CatchAll);
        let taken = |server: &'s Server, unless| Some(Taker { server, name: &server.name, is_reserved: false, unless });
        for (name, _) in host_with_wildcard(&self.host) {
            if let Some(server) = find(&name) {
                return taken(server, None);
            }
            let reserved =
                rest.and_then(|rest| Some((rest, rest.reserved.iter().find(|reserved| **reserved == name)?)));
            if let Some((server, name)) = reserved {
                return Some(Taker { server, name, is_reserved: true, unless: None });
            }
        }
        let mut expressions: Vec<_> = servers
            .iter()
            .filter_map(|server| match &server.name {
                ServerName::Expression(source) => Some((server, source.as_str())),
                _ => None,
            })
            .collect();
        expressions.sort_by_key(|(server, _)| server.order);
        let mut unless = None;
        for (server, source) in expressions {
            match matches_host(source, &self.host) {
                Some(true) => return taken(server, unless),
                Some(false) => {}
                None => unless = unless.or(Some(source)),
            }
        }
        rest.and_then(|rest| taken(rest, unless))
    }
}

/// A path without the escapes of URLs.
fn decoded(path: &str) -> Vec<u8> {
    let (mut bytes, mut rest) = (Vec::new(), path.as_bytes());
    while let [byte, behind @ ..] = rest {
        let code = behind.get(..2).filter(|_| *byte == b'%');
        let code = code.and_then(|code| u8::from_str_radix(std::str::from_utf8(code).ok()?, 16).ok());
        bytes.push(code.unwrap_or(*byte));
        rest = if code.is_some() { &behind[2..] } else { behind };
    }
    bytes
}

/// A decoded path as nginx reads it: one slash for several, no `.` and no `..`. `None` for what it
/// refuses, because that leads above `/`.
fn resolved(path: &[u8]) -> Option<String> {
    let (mut parts, mut is_folder) = (Vec::new(), true);
    for part in path.split(|byte| *byte == b'/') {
        is_folder = matches!(part, b"" | b"." | b"..");
        match part {
            b"" | b"." => {}
            b".." => drop(parts.pop()?),
            _ => parts.push(String::from_utf8_lossy(part)),
        }
    }
    let end = if is_folder && !parts.is_empty() { "/" } else { "" };
    Some(format!("/{}{end}", parts.join("/")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_a_host_and_the_path_that_nginx_compares() {
        for (text, expected) in [
            ("https://Shop.example:8443/cart?x=1#y", Some("shop.example /cart")),
            ("shop.example", Some("shop.example /")),
            ("shop.example./", Some("shop.example /")),
            ("http://shop.example//a/./b/../c%20d%2fe", Some("shop.example /a/c d/e")),
            ("shop.example/a%2f..%2fb/.", Some("shop.example /b/")),
            ("shop.example/a%2f..%2f..%2fb", None),
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
