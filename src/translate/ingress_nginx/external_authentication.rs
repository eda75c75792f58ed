//! Authentication by another service: not served yet, and closed rather than left out; it must not know that service.

use crate::translate::annotation::{
    Effect, Family, Gives, OnError, Row, Trust, always, nothing_to_finish, unless_false,
};

pub static FAMILY: Family = Family {
    title: "External authentication",
    rows: &[
        Row {
            key: "auth-always-set-cookie",
            documentation: "Passes cookies of auth-url on with every status. It has no effect without auth-url.",
            tries: &[("true", Gives::Refused("belongs to auth-url")), ("false", Gives::Nothing)],
            effect: Effect::Missing { asks: unless_false, instead: "it belongs to auth-url, which is not served yet" },
            ..Row::DEFAULT
        },
        Row {
            key: "auth-cache-duration",
            trust: Trust::Medium,
            documentation: "How long answers of auth-url are remembered. It has no effect without auth-url.",
            tries: &[("200 5m", Gives::Refused("belongs to auth-url"))],
            effect: Effect::Missing { asks: always, instead: "it belongs to auth-url, which is not served yet" },
            ..Row::DEFAULT
        },
        Row {
            key: "auth-cache-key",
            trust: Trust::Medium,
            documentation: "Remembers answers of auth-url by this key. It has no effect without auth-url.",
            tries: &[("$remote_user", Gives::Refused("belongs to auth-url"))],
            effect: Effect::Missing { asks: always, instead: "it belongs to auth-url, which is not served yet" },
            ..Row::DEFAULT
        },
        Row {
            key: "auth-keepalive",
            documentation: "Idle connections to auth-url. It has no effect without auth-url.",
            tries: &[("8", Gives::Refused("belongs to auth-url"))],
            effect: Effect::Missing { asks: always, instead: "it belongs to auth-url, which is not served yet" },
            ..Row::DEFAULT
        },
        Row {
            key: "auth-keepalive-requests",
            documentation: "Requests over one connection to auth-url. It has no effect without auth-url.",
            tries: &[("1000", Gives::Refused("belongs to auth-url"))],
            effect: Effect::Missing { asks: always, instead: "it belongs to auth-url, which is not served yet" },
            ..Row::DEFAULT
        },
        Row {
            key: "auth-keepalive-share-vars",
            documentation: "Shares variables with the question to auth-url. It has no effect without auth-url.",
            tries: &[("true", Gives::Refused("belongs to auth-url")), ("false", Gives::Nothing)],
            effect: Effect::Missing { asks: unless_false, instead: "it belongs to auth-url, which is not served yet" },
            ..Row::DEFAULT
        },
        Row {
            key: "auth-keepalive-timeout",
            documentation: "Seconds that an idle connection to auth-url is kept. It has no effect without auth-url.",
            tries: &[("60", Gives::Refused("belongs to auth-url"))],
            effect: Effect::Missing { asks: always, instead: "it belongs to auth-url, which is not served yet" },
            ..Row::DEFAULT
        },
        Row {
            key: "auth-method",
            documentation: "Method of the question to auth-url. It has no effect without auth-url, which is not served \
                yet.",
            tries: &[("GET", Gives::Refused("belongs to auth-url")), ("GET; }", Gives::Refused("belongs to auth-url"))],
            effect: Effect::Missing { asks: always, instead: "it belongs to auth-url, which is not served yet" },
            ..Row::DEFAULT
        },
        Row {
            key: "auth-proxy-set-headers",
            trust: Trust::Medium,
            documentation: "ConfigMap with headers for auth-url. It has no effect without auth-url.",
            tries: &[("default/headers", Gives::Refused("belongs to auth-url"))],
            effect: Effect::Missing { asks: always, instead: "it belongs to auth-url, which is not served yet" },
            ..Row::DEFAULT
        },
        Row {
            key: "auth-request-redirect",
            trust: Trust::Medium,
            documentation: "Value of X-Auth-Request-Redirect for auth-url. It has no effect without auth-url.",
            tries: &[("https://example.com", Gives::Refused("belongs to auth-url"))],
            effect: Effect::Missing { asks: always, instead: "it belongs to auth-url, which is not served yet" },
            ..Row::DEFAULT
        },
        Row {
            key: "auth-response-headers",
            trust: Trust::Medium,
            documentation: "Headers of the answer of auth-url that the backend is told. It has no effect without \
                auth-url.",
            tries: &[("X-User", Gives::Refused("belongs to auth-url"))],
            effect: Effect::Missing { asks: always, instead: "it belongs to auth-url, which is not served yet" },
            ..Row::DEFAULT
        },
        Row {
            key: "auth-signin",
            trust: Trust::High,
            documentation: "Where clients go to sign in when auth-url says 401. It has no effect without auth-url, \
                which is not served yet.",
            tries: &[("https://auth.example.com/start", Gives::Refused("belongs to auth-url"))],
            effect: Effect::Missing { asks: always, instead: "it belongs to auth-url, which is not served yet" },
            ..Row::DEFAULT
        },
        Row {
            key: "auth-signin-redirect-param",
            trust: Trust::Medium,
            documentation: "Name of the parameter that brings clients back. It has no effect without auth-signin.",
            tries: &[("rd", Gives::Refused("belongs to auth-url"))],
            effect: Effect::Missing { asks: always, instead: "it belongs to auth-url, which is not served yet" },
            ..Row::DEFAULT
        },
        Row {
            key: "auth-url",
            trust: Trust::High,
            on_error: OnError::Close,
            documentation: "Asks this URL whether a request may pass. Not served yet; because the routes would be open \
                without it, they answer 503.",
            tries: &[("https://auth.example.com/check", Gives::Refused("routes answer 503"))],
            effect: Effect::Missing {
                asks: always,
                instead: "external authentication is not served yet; use auth-type: basic or an address list",
            },
            ..Row::DEFAULT
        },
        Row {
            key: "enable-global-auth",
            on_error: OnError::Close,
            documentation: "Whether the external authentication of the administrator applies. There is none yet: false \
                asks for nothing, and true closes the routes.",
            tries: &[("true", Gives::Refused("routes answer 503")), ("false", Gives::Nothing)],
            effect: Effect::Missing {
                asks: unless_false,
                instead: "external authentication for all hosts is not served yet; use auth-type: basic or an address \
                    list",
            },
            ..Row::DEFAULT
        },
    ],
    finish: nothing_to_finish,
};
