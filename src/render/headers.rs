//! Which headers of a client reach a backend, and what is said in their place: one table, of which templates and documentation
//! are made.

use std::fmt::Write as _;

/// A header of requests to backends.
#[derive(Debug)]
pub struct Header {
    /// Its name.
    pub name: &'static str,
    /// What the backend gets with the usual headers.
    pub usual: Value,
    /// What it gets with the detailed ones.
    pub detailed: Value,
    /// What it tells, or who believes it, for the documentation.
    pub about: &'static str,
}

/// What a backend gets in a header. Texts are nginx's, and words for those who read the documentation.
#[derive(Debug, Clone, Copy)]
pub enum Value {
    /// Always this.
    Set(&'static str, &'static str),
    /// Always this, where HTTP/1.1 is spoken to the backend.
    SetByHttp(&'static str, &'static str),
    /// The first, and the second where headers of somebody are believed.
    SetOrTold(&'static str, &'static str, &'static str),
    /// The same, and the second also where somebody is believed by the PROXY protocol.
    Scheme(&'static str, &'static str, &'static str),
    /// Nothing, whoever sends it.
    Cleared,
    /// Nothing, but what a believed peer sends.
    ClearedUnlessTold,
    /// What the client sends.
    Passed,
}

use Value::{Cleared, ClearedUnlessTold, Passed, Scheme, Set, SetByHttp, SetOrTold};

/// Each pass makes four of what came and adds one: 1, 5, 21, 85, 341, 1365, 5461. The next one is longer than nginx reads
/// (`large_client_header_buffers`), which ends a request that goes round and round with 400. So nobody counts or compares, and
/// no server has a condition of its own, which would cost as much memory as a location.
const HOPS: &str = "\"1$http_x_ingress_hops$http_x_ingress_hops$http_x_ingress_hops$http_x_ingress_hops\"";

/// What is told of the scheme; the second also where the PROXY protocol is believed.
const SCHEME: Value = Scheme("$scheme", "$ingressd_scheme", "`http` or `https`");

/// Every header that a backend might believe, in the order in which they are written.
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
        ..header("X-Original-Forwarded-For", ClearedUnlessTold, "for logs")
    },
    Header {
        detailed: Set("$http_x_forwarded_host", "`X-Forwarded-Host` as it came"),
        ..header("X-Original-Forwarded-Host", ClearedUnlessTold, "for logs")
    },
    header("X-Ingress-Hops", Set(HOPS, "a mark for each pass"), "ends loops"),
    header("Upgrade", SetByHttp("$ingressd_upgrade", "what the client sends, but not `h2c`"), "WebSockets"),
    header("Connection", SetByHttp("$ingressd_connection", "`upgrade` with `Upgrade`, else nothing"), "WebSockets"),
    header("Proxy", Cleared, "a variable of CGI that chooses a proxy (httpoxy)"),
    header("X-Forwarded-For", SetOrTold("$remote_addr", "$ingressd_forwarded_for", "the client's address"), "client"),
    header("X-Forwarded-Port", SetOrTold("$ingressd_port", "$ingressd_port", "the port of nginx"), "URL"),
    header("X-Forwarded-Proto", SCHEME, "scheme"),
    Header { detailed: SCHEME, ..header("X-Forwarded-Scheme", ClearedUnlessTold, "scheme") },
    Header { detailed: SCHEME, ..header("X-Scheme", ClearedUnlessTold, "scheme") },
    header("Forwarded", ClearedUnlessTold, "client, host and scheme (RFC 7239): Spring, Jetty, ASP.NET"),
    header("X-Forwarded-Prefix", ClearedUnlessTold, "beginning of the path: Spring, Werkzeug, Symfony"),
    header("X-Forwarded-Server", ClearedUnlessTold, "host: Jetty"),
    header("X-Forwarded-Ssl", ClearedUnlessTold, "scheme: Rack, Spring, gunicorn"),
    header("X-Forwarded-Protocol", ClearedUnlessTold, "scheme: gunicorn"),
    header("X-Original-URL", ClearedUnlessTold, "path: Symfony, Laminas, IIS"),
    header("X-Rewrite-URL", ClearedUnlessTold, "path: Symfony, Laminas, IIS"),
    header("Client-IP", ClearedUnlessTold, "client: Rails, PHP"),
    header("X-Client-IP", ClearedUnlessTold, "client"),
    header("X-Cluster-Client-IP", ClearedUnlessTold, "client"),
    header("True-Client-IP", ClearedUnlessTold, "client, as Akamai and Cloudflare tell it"),
    header("CF-Connecting-IP", ClearedUnlessTold, "client, as Cloudflare tells it"),
    header("X-Forwarded-Client-Cert", ClearedUnlessTold, "certificate of the client, as Envoy tells it"),
    header("ssl-client-cert", ClearedUnlessTold, "certificate of the client, as ingress-nginx tells it"),
    header("ssl-client-issuer-dn", ClearedUnlessTold, "the same"),
    header("ssl-client-subject-dn", ClearedUnlessTold, "the same"),
    header("ssl-client-verify", ClearedUnlessTold, "the same"),
    header("Authorization", Passed, "password or token; cleared on routes where nginx itself asks for a password"),
    header("Cookie", Passed, "session"),
    header(
        "X-Forwarded-User",
        Passed,
        "user, as a proxy that signs users in tells it; so are `X-Auth-Request-*` and `Remote-User`",
    ),
    header("X-HTTP-Method-Override", Passed, "method: Rails, Spring, Laravel where they are asked to"),
];

/// A header of which backends get the same with both.
const fn header(name: &'static str, value: Value, about: &'static str) -> Header {
    Header { name, usual: value, detailed: value, about }
}

impl Header {
    /// The variable with what a believed peer sends.
    fn told(&self) -> String {
        format!("$ingressd_told_{}", self.variable())
    }

    /// Its name as nginx has it in the names of variables.
    fn variable(&self) -> String {
        self.name.to_ascii_lowercase().replace('-', "_")
    }
}

/// What is spoken to a backend.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Spoken {
    Http,
    Grpc,
    FastCgi,
}

/// Who is believed about clients.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Believed {
    /// Nobody.
    Nobody,
    /// Whoever speaks the PROXY protocol, which tells of the scheme by a port.
    Protocol,
    /// Proxies, by their headers.
    Headers,
}

/// Templates of headers: name, what is spoken, whether the headers are the detailed ones, who is believed.
const LISTS: [(&str, Spoken, bool, Believed); 18] = [
    ("proxy_headers", Spoken::Http, false, Believed::Nobody),
    ("proxy_headers_by_port", Spoken::Http, false, Believed::Protocol),
    ("proxy_headers_told", Spoken::Http, false, Believed::Headers),
    ("proxy_headers_detailed", Spoken::Http, true, Believed::Nobody),
    ("proxy_headers_detailed_by_port", Spoken::Http, true, Believed::Protocol),
    ("proxy_headers_detailed_told", Spoken::Http, true, Believed::Headers),
    ("grpc_headers", Spoken::Grpc, false, Believed::Nobody),
    ("grpc_headers_by_port", Spoken::Grpc, false, Believed::Protocol),
    ("grpc_headers_told", Spoken::Grpc, false, Believed::Headers),
    ("grpc_headers_detailed", Spoken::Grpc, true, Believed::Nobody),
    ("grpc_headers_detailed_by_port", Spoken::Grpc, true, Believed::Protocol),
    ("grpc_headers_detailed_told", Spoken::Grpc, true, Believed::Headers),
    ("fastcgi_headers", Spoken::FastCgi, false, Believed::Nobody),
    ("fastcgi_headers_by_port", Spoken::FastCgi, false, Believed::Protocol),
    ("fastcgi_headers_told", Spoken::FastCgi, false, Believed::Headers),
    ("fastcgi_headers_detailed", Spoken::FastCgi, true, Believed::Nobody),
    ("fastcgi_headers_detailed_by_port", Spoken::FastCgi, true, Believed::Protocol),
    ("fastcgi_headers_detailed_told", Spoken::FastCgi, true, Believed::Headers),
];

/// The text of every template that is made of the table, by name.
pub fn templates() -> Vec<(&'static str, String)> {
    let list = |spoken: Spoken, detailed: bool, believed: Believed| {
        let line = |header: &Header| {
            let value = match if detailed { header.detailed } else { header.usual } {
                SetByHttp(..) if spoken != Spoken::Http => return None,
                SetOrTold(_, told, _) if believed == Believed::Headers => told.to_owned(),
                Scheme(_, told, _) if believed != Believed::Nobody => told.to_owned(),
                ClearedUnlessTold if believed == Believed::Headers => header.told(),
                Set(value, _) | SetByHttp(value, _) | SetOrTold(value, ..) | Scheme(value, ..) => value.to_owned(),
                Cleared | ClearedUnlessTold => "\"\"".to_owned(),
                Passed => return None,
            };
            let name = header.name;
            Some(match spoken {
                Spoken::Http => format!("    proxy_set_header {name} {value};\n"),
                Spoken::Grpc => format!("    grpc_set_header {name} {value};\n"),
                Spoken::FastCgi => {
                    let name = header.variable().to_ascii_uppercase();
                    format!("    fastcgi_param HTTP_{name} {value} if_not_empty;\n")
                }
            })
        };
        HEADERS.iter().filter_map(line).collect::<String>()
    };
    let mut told = String::from("    uninitialized_variable_warn off;\n    if ($ingressd_trusted) {\n");
    for header in HEADERS.iter().filter(|header| matches!(header.usual, ClearedUnlessTold)) {
        let _ = writeln!(told, "        set {} $http_{};", header.told(), header.variable());
    }
    told.push_str("    }\n");
    let lists = LISTS.map(|(name, spoken, detailed, believed)| (name, list(spoken, detailed, believed)));
    lists.into_iter().chain([("told", told)]).collect()
}

/// The table for the documentation, in Markdown.
pub fn document() -> String {
    let mut text = String::from(
        "| header | what the backend gets | with the ingress-nginx dialect | from `access.trusted-proxies` | about |\n\
         | --- | --- | --- | --- | --- |\n",
    );
    let words = |value: Value| match value {
        Set("$ingressd_host", words) => (words, "`X-Forwarded-Host`, else the same"),
        Set(_, words) | SetByHttp(_, words) => (words, "the same"),
        SetOrTold(_, _, words) | Scheme(_, _, words) => (words, "what they tell of the client"),
        Cleared => ("nothing", "nothing"),
        ClearedUnlessTold => ("nothing", "what they send"),
        Passed => ("what the client sends", "the same"),
    };
    for header in HEADERS {
        let ((usual, told), (detailed, detailed_told)) = (words(header.usual), words(header.detailed));
        let detailed = if detailed == usual { "the same" } else { detailed };
        let told = match detailed_told == told {
            true => told.to_owned(),
            false => format!("{told}; with the ingress-nginx dialect {detailed_told}"),
        };
        let _ = writeln!(text, "| `{}` | {usual} | {detailed} | {told} | {} |", header.name, header.about);
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
    fn what_one_of_them_tells_clients_cannot_forge_with_the_other() {
        // What passes with both is for the backend to judge; what identifies a request in logs is nobody's to believe.
        for header in HEADERS.iter().filter(|header| header.name != "X-Request-ID") {
            let passes = [header.usual, header.detailed].map(|value| matches!(value, Passed));
            assert_eq!(passes[0], passes[1], "{}", header.name);
        }
    }
}
