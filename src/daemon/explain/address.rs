//! A request as the user of `ingressd explain` writes it, and the server of a model that takes it.
//! It must not know objects.

use std::sync::Arc;

use regex::bytes::RegexBuilder;
use url::Url;

use super::expression::matches_host;
use ingressd_model::request_path::{decoded, resolved};
use ingressd_model::{Server, ServerName};
use ingressd_translate::host_with_wildcard;

/// What `crates/nginx/templates/strict_paths.hbs` refuses of a path as it was sent; that needs
/// PCRE for speed.
const AMBIGUOUS: &str = r"//|/(?:\.|%(?:25)*2e){1,2}(?:[/;]|%(?:25)*3b|\z)|%(?:25)*(?:2f|5c)|[\\#]";

/// Host and path of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Address {
    host: String,
    /// The path as it was sent.
    sent: String,
    /// The path as nginx compares it; `None` where it refuses it.
    path: Option<String>,
    /// The path as it was sent, with the query.
    target: String,
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
    /// The longest that is taken: what nginx takes of a request line where nobody raised that.
    pub const LONGEST: usize = 8192;

    /// Reads `https://shop.example/cart`; scheme, port and query do not matter, and may be absent.
    /// `*` is a host that no object has.
    pub fn read(text: &str) -> Option<Self> {
        let rest = text.split_once("://").map_or(text, |(_, rest)| rest);
        let is_word = !text.contains(|letter: char| letter.is_whitespace() || letter.is_control());
        let (authority, behind) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
        let url = Url::parse(&format!("http://{authority}/")).ok();
        // Other programs resolve paths in other ways than nginx.
        let url = url.filter(|url| is_word && text.len() <= Address::LONGEST && url.path() == "/")?;
        let host = url.host_str()?.to_ascii_lowercase();
        // nginx leaves out the dot that ends a name.
        let host = host.strip_suffix('.').filter(|host| !host.is_empty()).unwrap_or(&host).to_owned();
        let sent = behind.split(['?', '#']).next().filter(|sent| !sent.is_empty()).unwrap_or("/").to_owned();
        let path = decoded(&sent).and_then(|path| resolved(&path));
        let target = behind.split('#').next().unwrap_or_default();
        let target = if target.starts_with('/') { target.to_owned() } else { format!("/{target}") };
        Some(Address { host, path, sent, target, written: text.to_owned() })
    }

    /// The host, in small letters.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// The path as nginx compares it; `None` where it refuses the request, whatever its host is.
    pub fn path(&self) -> Option<&str> {
        self.path.as_deref()
    }

    /// The path as it was sent.
    pub fn sent(&self) -> &str {
        &self.sent
    }

    /// The path as it was sent, with the query.
    pub fn target(&self) -> &str {
        &self.target
    }

    /// Whether it is to be sent by TLS, and to which port where that is written.
    pub fn scheme_and_port(&self) -> (bool, Option<u16>) {
        let (scheme, rest) = self.written.split_once("://").unwrap_or(("http", &self.written));
        let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
        let port = authority.rsplit_once(':').and_then(|(_, port)| port.parse().ok());
        (scheme.eq_ignore_ascii_case("https"), port)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_sent_as_it_is_written() {
        for (text, target, is_https, port) in [
            ("https://shop.example:8443/a%2f?x=/1#y", "/a%2f?x=/1", true, Some(8443)),
            ("HTTPS://[2001:db8::1]", "/", true, None),
            ("shop.example?x", "/?x", false, None),
            ("http://[2001:db8::1]:81/?", "/?", false, Some(81)),
        ] {
            let address = Address::read(text).unwrap();
            assert_eq!((address.target(), address.scheme_and_port()), (target, (is_https, port)), "{text}");
        }
    }

    #[test]
    fn an_address_is_a_host_and_the_path_that_nginx_compares() {
        for (text, expected) in [
            ("https://Shop.example:8443/cart?x=1#y", Some("shop.example /cart")),
            ("shop.example", Some("shop.example /")),
            ("shop.example./", Some("shop.example /")),
            ("http://shop.example//a/./b/../c%20d%2fe", Some("shop.example /a/c d/e")),
            ("shop.example/a%2f..%2fb/.", Some("shop.example /b/")),
            ("shop.example?x=/y", Some("shop.example /")),
            // Slashes that follow each other are one before `..` counts.
            ("shop.example/a//../b", Some("shop.example /b")),
            ("shop.example/a%2f..%2f..%2fb", Some("shop.example 400")),
            ("shop.example/../a", Some("shop.example 400")),
            ("shop.example/%2E%2e/a", Some("shop.example 400")),
            ("shop.example/100%", Some("shop.example 400")),
            ("shop.example/%zz", Some("shop.example 400")),
            ("shop.example/%00", Some("shop.example 400")),
            ("shop.example/%25%3f%23", Some("shop.example /%?#")),
            ("shop.example\\a/b", None),
            ("*/x", Some("* /x")),
            ("192.0.2.1/x", Some("192.0.2.1 /x")),
            ("", None),
            ("a b/x", None),
            ("a\n/x", None),
            (&format!("a/{}", "x".repeat(Address::LONGEST)), None),
        ] {
            let read = Address::read(text);
            let read = read.map(|address| format!("{} {}", address.host(), address.path().unwrap_or("400")));
            assert_eq!(read.as_deref(), expected, "{text:?}");
        }
    }
}
