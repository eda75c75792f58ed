//! Which headers of a client reach a backend, and what is said in their place: one table, of which templates and documentation are made; it must not know servers.

use std::fmt::Write as _;

/// A header of requests to backends.
#[derive(Debug)]
pub struct Header {
    /// Its name.
    pub name: &'static str,
    /// What the backend gets.
    pub value: Value,
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
    /// The first, and the second where somebody is believed.
    SetOrTold(&'static str, &'static str, &'static str),
    /// Nothing, whoever sends it.
    Cleared,
    /// Nothing, but what a believed peer sends.
    ClearedUnlessTold,
    /// What the client sends.
    Passed,
}

use Value::{Cleared, ClearedUnlessTold, Passed, Set, SetByHttp, SetOrTold};

/// Each pass makes four of what came and adds one: 1, 5, 21, 85, 341, 1365, 5461. The next one is longer than nginx reads
/// (`large_client_header_buffers`), which ends a request that goes round and round with 400. So nobody counts or compares, and
/// no server has a condition of its own, which would cost as much memory as a location.
const HOPS: &str = "\"1$http_x_ingress_hops$http_x_ingress_hops$http_x_ingress_hops$http_x_ingress_hops\"";

/// Every header that a backend might believe, in the order in which they are written.
pub const HEADERS: &[Header] = &[
    header("Host", Set("$ingressd_host", "the host that was asked for, with the port that the client names"), "host"),
    header("X-Request-ID", Set("$ingressd_request_id", "what the client sends, else a random number"), "for logs"),
    header("X-Real-IP", Set("$remote_addr", "the client's address"), "client"),
    header("X-Forwarded-Host", Set("$ingressd_host", "as `Host`"), "host"),
    header("X-Original-Forwarded-For", Set("$http_x_forwarded_for", "`X-Forwarded-For` as it came"), "for logs"),
    header("X-Original-Forwarded-Host", Set("$http_x_forwarded_host", "`X-Forwarded-Host` as it came"), "for logs"),
    header("X-Ingress-Hops", Set(HOPS, "a mark for each pass"), "ends loops"),
    header("Upgrade", SetByHttp("$ingressd_upgrade", "what the client sends, but not `h2c`"), "WebSockets"),
    header("Connection", SetByHttp("$ingressd_connection", "`upgrade` with `Upgrade`, else nothing"), "WebSockets"),
    header("X-Forwarded-For", SetOrTold("$remote_addr", "$ingressd_forwarded_for", "the client's address"), "client"),
    header("X-Forwarded-Port", SetOrTold("$ingressd_port", "$ingressd_port", "the port of nginx"), "URL"),
    header("X-Forwarded-Proto", SetOrTold("$scheme", "$ingressd_scheme", "`http` or `https`"), "scheme"),
    header("X-Forwarded-Scheme", SetOrTold("$scheme", "$ingressd_scheme", "`http` or `https`"), "scheme"),
    header("X-Scheme", SetOrTold("$scheme", "$ingressd_scheme", "`http` or `https`"), "scheme"),
    header("Proxy", Cleared, "a variable of CGI that chooses a proxy (httpoxy)"),
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

const fn header(name: &'static str, value: Value, about: &'static str) -> Header {
    Header { name, value, about }
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

/// The text of every template that is made of the table, by name.
pub fn templates() -> Vec<(&'static str, String)> {
    let lines = |directive: &str, value: &dyn Fn(&Header) -> Option<String>| {
        let line = |header: &Header| Some(format!("    {directive} {} {};\n", header.name, value(header)?));
        HEADERS.iter().filter_map(line).collect::<String>()
    };
    let always = |http: bool| {
        move |header: &Header| match header.value {
            Set(value, _) => Some(value.to_owned()),
            SetByHttp(value, _) if http => Some(value.to_owned()),
            Cleared => Some("\"\"".to_owned()),
            _ => None,
        }
    };
    let client = |header: &Header| match header.value {
        SetOrTold(value, ..) => Some(value.to_owned()),
        ClearedUnlessTold => Some("\"\"".to_owned()),
        _ => None,
    };
    let client_told = |header: &Header| match header.value {
        SetOrTold(_, value, _) => Some(value.to_owned()),
        ClearedUnlessTold => Some(header.told()),
        _ => None,
    };
    let mut told = String::from("    uninitialized_variable_warn off;\n    if ($ingressd_trusted) {\n");
    for header in HEADERS.iter().filter(|header| matches!(header.value, ClearedUnlessTold)) {
        let _ = writeln!(told, "        set {} $http_{};", header.told(), header.variable());
    }
    told.push_str("    }\n");
    vec![
        ("proxy_headers", lines("proxy_set_header", &always(true))),
        ("grpc_headers", lines("grpc_set_header", &always(false))),
        ("proxy_client", lines("proxy_set_header", &client)),
        ("grpc_client", lines("grpc_set_header", &client)),
        ("proxy_client_told", lines("proxy_set_header", &client_told)),
        ("grpc_client_told", lines("grpc_set_header", &client_told)),
        ("told", told),
    ]
}

/// The table for the documentation, in Markdown.
pub fn document() -> String {
    let mut text = String::from(
        "| header | what the backend gets | from `access.trusted-proxies` | about |\n| --- | --- | --- | --- |\n",
    );
    for header in HEADERS {
        let (value, told) = match header.value {
            Set("$ingressd_host", words) => (words, "`X-Forwarded-Host`, else the same"),
            Set(_, words) | SetByHttp(_, words) => (words, "the same"),
            SetOrTold(_, _, words) => (words, "what they tell of the client"),
            Cleared => ("nothing", "nothing"),
            ClearedUnlessTold => ("nothing", "what they send"),
            Passed => ("what the client sends", "the same"),
        };
        let _ = writeln!(text, "| `{}` | {value} | {told} | {} |", header.name, header.about);
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
}
