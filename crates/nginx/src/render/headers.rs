//! Which client headers reach a backend, and which are replaced: one table, from which the lists
//! in configuration and the documentation are made.

use std::fmt::Write as _;

use super::family::Family;

/// A header of requests to backends, as a row of the table.
#[derive(Debug)]
pub struct Header {
    pub name: &'static str,
    /// Its value in the usual list of headers.
    pub usual: Value,
    /// Its value in the detailed list of headers, that of the ingress-nginx dialect.
    pub detailed: Value,
    /// What it means, or who trusts it, for the documentation.
    pub about: &'static str,
}

/// The value of a header for a backend: a text in nginx's language, and its description for the
/// documentation.
#[derive(Debug, Clone, Copy)]
pub enum Value {
    /// Always set to this.
    Set(&'static str, &'static str),
    /// Always set to this, where the backend speaks HTTP/1.1.
    SetByHttp(&'static str, &'static str),
    /// The first, or the second where the headers of some proxy are trusted.
    SetOrTrusted(&'static str, &'static str, &'static str),
    /// The first, or the second where some proxy is trusted, also by the PROXY protocol.
    Scheme(&'static str, &'static str, &'static str),
    /// Removed from all requests.
    Cleared,
    /// Removed, unless a trusted proxy sends it.
    ClearedUnlessTrusted,
    /// Passed on as the client sends it.
    Passed,
}

use Value::{Cleared, ClearedUnlessTrusted, Passed, Scheme, Set, SetByHttp, SetOrTrusted};

/// The value grows with each pass through this node: it contains the received value four times and
/// one more character, so its lengths are 1, 5, 21, 85, 341, 1365, 5461. The next one exceeds
/// nginx's `large_client_header_buffers`, so that a request in a loop ends with 400. This needs no
/// counter and no condition in each server, which would cost as much memory as a location.
const HOPS: &str = "\"1$http_x_ingress_hops$http_x_ingress_hops$http_x_ingress_hops$http_x_ingress_hops\"";

/// The value of headers with the scheme.
const SCHEME: Value = Scheme("$scheme", "$ingressd_scheme", "`http` or `https`");

/// Every header that a backend might trust, in the order in which they are written.
pub const HEADERS: &[Header] = &[
    header("Host", Set("$ingressd_host", "the host that was asked for, with the port that the client names"), "host"),
    Header {
        detailed: Set("$ingressd_request_id", "what the client sends, else a random number"),
        ..header("X-Request-ID", Passed, "for logs")
    },
    header("X-Real-IP", Set("$remote_addr", "the client's address"), "client"),
    header("X-Forwarded-Host", Set("$ingressd_host", "as `Host`"), "host"),
    Header {
        detailed: Set("$http_x_forwarded_for", "`X-Forwarded-For` as it came"),
        ..header("X-Original-Forwarded-For", ClearedUnlessTrusted, "for logs")
    },
    Header {
        detailed: Set("$http_x_forwarded_host", "`X-Forwarded-Host` as it came"),
        ..header("X-Original-Forwarded-Host", ClearedUnlessTrusted, "for logs")
    },
    header("X-Ingress-Hops", Set(HOPS, "a mark for each pass"), "ends loops"),
    header("Upgrade", SetByHttp("$ingressd_upgrade", "what the client sends, but not `h2c`"), "WebSockets"),
    header("Connection", SetByHttp("$ingressd_connection", "`upgrade` with `Upgrade`, else nothing"), "WebSockets"),
    header("Proxy", Cleared, "a variable of CGI that chooses a proxy (httpoxy)"),
    header(
        "X-Forwarded-For",
        SetOrTrusted("$remote_addr", "$ingressd_forwarded_for", "the client's address"),
        "client",
    ),
    header("X-Forwarded-Port", SetOrTrusted("$ingressd_port", "$ingressd_port", "the port of nginx"), "URL"),
    header("X-Forwarded-Proto", SCHEME, "scheme"),
    Header { detailed: SCHEME, ..header("X-Forwarded-Scheme", ClearedUnlessTrusted, "scheme") },
    Header { detailed: SCHEME, ..header("X-Scheme", ClearedUnlessTrusted, "scheme") },
    header("Forwarded", ClearedUnlessTrusted, "client, host and scheme (RFC 7239): Spring, Jetty, ASP.NET"),
    header("X-Forwarded-Prefix", ClearedUnlessTrusted, "beginning of the path: Spring, Werkzeug, Symfony"),
    header("X-Forwarded-Server", ClearedUnlessTrusted, "host: Jetty"),
    header("X-Forwarded-Ssl", ClearedUnlessTrusted, "scheme: Rack, Spring, gunicorn"),
    header("X-Forwarded-Protocol", ClearedUnlessTrusted, "scheme: gunicorn"),
    header("X-Original-URL", ClearedUnlessTrusted, "path: Symfony, Laminas, IIS"),
    header("X-Rewrite-URL", ClearedUnlessTrusted, "path: Symfony, Laminas, IIS"),
    header("Client-IP", ClearedUnlessTrusted, "client: Rails, PHP"),
    header("X-Client-IP", ClearedUnlessTrusted, "client"),
    header("X-Cluster-Client-IP", ClearedUnlessTrusted, "client"),
    header("True-Client-IP", ClearedUnlessTrusted, "client, as Akamai and Cloudflare tell it"),
    header("CF-Connecting-IP", ClearedUnlessTrusted, "client, as Cloudflare tells it"),
    header("X-Forwarded-Client-Cert", ClearedUnlessTrusted, "certificate of the client, as Envoy tells it"),
    header("ssl-client-cert", ClearedUnlessTrusted, "certificate of the client, as ingress-nginx tells it"),
    header("ssl-client-issuer-dn", ClearedUnlessTrusted, "the same"),
    header("ssl-client-subject-dn", ClearedUnlessTrusted, "the same"),
    header("ssl-client-verify", ClearedUnlessTrusted, "the same"),
    header("Authorization", Passed, "password or token; cleared on routes where nginx itself asks for a password"),
    header("Cookie", Passed, "session"),
    header(
        "X-Forwarded-User",
        Passed,
        "user, as a proxy that signs users in tells it; so are `X-Auth-Request-*` and `Remote-User`",
    ),
    header("X-HTTP-Method-Override", Passed, "method: Rails, Spring, Laravel where they are asked to"),
];

/// A header with the same value in both lists.
const fn header(name: &'static str, value: Value, about: &'static str) -> Header {
    Header { name, usual: value, detailed: value, about }
}

impl Header {
    /// The variable with the value that a trusted proxy sends.
    fn trusted(&self) -> String {
        format!("$ingressd_trusted_{}", self.variable())
    }

    /// Its name as part of nginx's variable names.
    fn variable(&self) -> String {
        self.name.to_ascii_lowercase().replace('-', "_")
    }
}

/// Who is trusted to name clients.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trusted {
    /// No client.
    Nobody,
    /// Proxies that speak the PROXY protocol, which tells the scheme by a port.
    Protocol,
    /// Proxies, by their headers.
    Headers,
}

/// Which list of headers the backends of a host get.
#[derive(Debug, Clone, Copy)]
pub struct HeaderList {
    /// Whether it has the headers of the ingress-nginx dialect.
    pub detailed: bool,
    /// Whose words about clients it passes on.
    pub trusted: Trusted,
}

impl HeaderList {
    /// Its lines for backends of a family, each with the name that its directive sets.
    pub fn lines(self, family: Family) -> impl Iterator<Item = (String, String)> {
        HEADERS.iter().filter_map(move |header| {
            let value = self.value(header, family)?;
            Some(match family {
                Family::Proxy => (header.name.to_owned(), format!("    proxy_set_header {} {value};\n", header.name)),
                Family::Grpc => (header.name.to_owned(), format!("    grpc_set_header {} {value};\n", header.name)),
                Family::FastCgi => {
                    let name = format!("HTTP_{}", header.variable().to_ascii_uppercase());
                    let line = format!("    fastcgi_param {name} {value} if_not_empty;\n");
                    (name, line)
                }
            })
        })
    }

    /// The value of a header; `None` where it is passed on.
    fn value(self, header: &Header, family: Family) -> Option<String> {
        Some(match if self.detailed { header.detailed } else { header.usual } {
            SetByHttp(..) if family != Family::Proxy => return None,
            SetOrTrusted(_, trusted, _) if self.trusted == Trusted::Headers => trusted.to_owned(),
            Scheme(_, trusted, _) if self.trusted != Trusted::Nobody => trusted.to_owned(),
            ClearedUnlessTrusted if self.trusted == Trusted::Headers => header.trusted(),
            Set(value, _) | SetByHttp(value, _) | SetOrTrusted(value, ..) | Scheme(value, ..) => value.to_owned(),
            Cleared | ClearedUnlessTrusted => "\"\"".to_owned(),
            Passed => return None,
        })
    }

    /// What tells it from the others.
    pub const fn key(self, family: Family) -> [usize; 3] {
        [family as usize, self.detailed as usize, self.trusted as usize]
    }
}

/// The text of the template `trusted`, which keeps what a trusted proxy sends.
pub fn trusted() -> String {
    let mut trusted = String::from("    uninitialized_variable_warn off;\n    if ($ingressd_trusted) {\n");
    for header in HEADERS.iter().filter(|header| matches!(header.usual, ClearedUnlessTrusted)) {
        let _ = writeln!(trusted, "        set {} $http_{};", header.trusted(), header.variable());
    }
    trusted + "    }\n"
}

/// The table in Markdown, for the documentation.
pub fn document() -> String {
    let mut text = String::from(
        "| header | what the backend gets | with the ingress-nginx dialect | from `access.trusted-proxies` | about |\n\
         | --- | --- | --- | --- | --- |\n",
    );
    let words = |value: Value| match value {
        Set("$ingressd_host", words) => (words, "`X-Forwarded-Host`, else the same"),
        Set(_, words) | SetByHttp(_, words) => (words, "the same"),
        SetOrTrusted(_, _, words) | Scheme(_, _, words) => (words, "what they tell of the client"),
        Cleared => ("nothing", "nothing"),
        ClearedUnlessTrusted => ("nothing", "what they send"),
        Passed => ("what the client sends", "the same"),
    };
    for header in HEADERS {
        let ((usual, trusted), (detailed, detailed_trusted)) = (words(header.usual), words(header.detailed));
        let detailed = if detailed == usual { "the same" } else { detailed };
        let trusted = match detailed_trusted == trusted {
            true => trusted.to_owned(),
            false => format!("{trusted}; with the ingress-nginx dialect {detailed_trusted}"),
        };
        let _ = writeln!(text, "| `{}` | {usual} | {detailed} | {trusted} | {} |", header.name, header.about);
    }
    text
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn no_header_is_written_twice() {
        let names: BTreeSet<_> = HEADERS.iter().map(|header| header.name.to_ascii_lowercase()).collect();
        assert_eq!(names.len(), HEADERS.len());
    }

    #[test]
    fn what_one_of_them_says_clients_cannot_forge_with_the_other() {
        // A header that passes in both lists is for the backend to judge; a request ID in logs is
        // not security relevant.
        for header in HEADERS.iter().filter(|header| header.name != "X-Request-ID") {
            let passes = [header.usual, header.detailed].map(|value| matches!(value, Passed));
            assert_eq!(passes[0], passes[1], "{}", header.name);
        }
    }
}
