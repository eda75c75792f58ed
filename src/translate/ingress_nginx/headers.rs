//! Headers, cookies and redirects between client and backend: not served yet; it must not know who sends them.

use crate::translate::annotation::{
    Effect, Family, Gives, Row, Scope, Trust, always, nothing_to_finish, unless_false, unless_off,
};

pub static FAMILY: Family = Family {
    title: "Headers and cookies",
    rows: &[
        Row {
            key: "connection-proxy-header",
            scope: Scope::Upstream,
            documentation: "Fixed Connection header for the backend. Not served: connections are kept, and upgraded \
                for WebSocket.",
            tries: &[("keep-alive", Gives::Refused("upgraded for WebSocket"))],
            effect: Effect::Missing {
                asks: always,
                instead: "not served; connections to backends are kept, and upgraded for WebSocket",
            },
            ..Row::DEFAULT
        },
        Row {
            key: "custom-headers",
            trust: Trust::Medium,
            documentation: "ConfigMap with headers for answers. Not served yet.",
            tries: &[("default/headers", Gives::Refused("let the backend"))],
            effect: Effect::Missing { asks: always, instead: "not served yet; let the backend set the headers" },
            ..Row::DEFAULT
        },
        Row {
            key: "fastcgi-index",
            scope: Scope::Upstream,
            trust: Trust::Medium,
            documentation: "File name for FastCGI. Not served.",
            tries: &[("index.php", Gives::Refused("FastCGI is not served"))],
            effect: Effect::Missing {
                asks: always,
                instead: "FastCGI is not served; put a web server in front of it and use HTTP",
            },
            ..Row::DEFAULT
        },
        Row {
            key: "fastcgi-params-configmap",
            scope: Scope::Upstream,
            trust: Trust::Medium,
            documentation: "Parameters for FastCGI. Not served.",
            tries: &[("default/params", Gives::Refused("FastCGI is not served"))],
            effect: Effect::Missing {
                asks: always,
                instead: "FastCGI is not served; put a web server in front of it and use HTTP",
            },
            ..Row::DEFAULT
        },
        Row {
            key: "http2-push-preload",
            documentation: "Pushes what Link headers name. nginx and browsers have given push up.",
            tries: &[("true", Gives::Refused("given server push up")), ("false", Gives::Nothing)],
            effect: Effect::Missing {
                asks: unless_false,
                instead: "nginx and browsers have given server push up; remove it",
            },
            ..Row::DEFAULT
        },
        Row {
            key: "proxy-cookie-domain",
            trust: Trust::Medium,
            documentation: "Changes the domain of cookies. Not served yet.",
            tries: &[("localhost example.com", Gives::Refused("let the backend")), ("off", Gives::Nothing)],
            effect: Effect::Missing { asks: unless_off, instead: "not served yet; let the backend set the domain" },
            ..Row::DEFAULT
        },
        Row {
            key: "proxy-cookie-path",
            trust: Trust::Medium,
            documentation: "Changes the path of cookies. Not served yet.",
            tries: &[("/one /two", Gives::Refused("let the backend")), ("off", Gives::Nothing)],
            effect: Effect::Missing { asks: unless_off, instead: "not served yet; let the backend set the path" },
            ..Row::DEFAULT
        },
        Row {
            key: "proxy-redirect-from",
            trust: Trust::Medium,
            documentation: "Changes redirects of the backend that begin like this. Not served yet.",
            tries: &[("http://backend", Gives::Refused("as they are")), ("off", Gives::Nothing)],
            effect: Effect::Missing {
                asks: unless_off,
                instead: "not served yet; redirects of the backend go to the client as they are",
            },
            ..Row::DEFAULT
        },
        Row {
            key: "proxy-redirect-to",
            trust: Trust::Medium,
            documentation: "What proxy-redirect-from becomes. Not served yet.",
            tries: &[("https://example.com", Gives::Refused("as they are")), ("off", Gives::Nothing)],
            effect: Effect::Missing {
                asks: unless_off,
                instead: "not served yet; redirects of the backend go to the client as they are",
            },
            ..Row::DEFAULT
        },
        Row {
            key: "upstream-vhost",
            scope: Scope::Upstream,
            documentation: "Host header for the backend. Not served yet: the backend is told the host that the client \
                asked for.",
            tries: &[("internal.example.com", Gives::Refused("host that the client asked for"))],
            effect: Effect::Missing {
                asks: always,
                instead: "not served yet; the backend is told the host that the client asked for",
            },
            ..Row::DEFAULT
        },
    ],
    finish: nothing_to_finish,
};
