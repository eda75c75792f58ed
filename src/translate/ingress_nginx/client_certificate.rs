//! Certificates of clients: not served yet, and closed rather than left out; it must not know how they are verified.

use crate::translate::annotation::{
    Effect, Family, Gives, OnError, Row, Scope, Trust, always, nothing_to_finish, unless_false, unless_off,
};

pub static FAMILY: Family = Family {
    title: "Client certificates",
    rows: &[
        Row {
            key: "auth-tls-error-page",
            scope: Scope::Server,
            trust: Trust::High,
            documentation: "Where clients without a good certificate are sent. It has no effect without \
                auth-tls-secret.",
            tries: &[("https://example.com/sorry", Gives::Refused("belongs to auth-tls-secret"))],
            effect: Effect::Missing { asks: always, instead: "it belongs to auth-tls-secret, which is not served yet" },
            ..Row::DEFAULT
        },
        Row {
            key: "auth-tls-match-cn",
            scope: Scope::Server,
            trust: Trust::High,
            on_error: OnError::Close,
            documentation: "Demands a certificate with this common name. Not served yet; because the routes would be \
                open without it, they answer 503.",
            tries: &[("CN=client", Gives::Refused("routes answer 503"))],
            effect: Effect::Missing {
                asks: always,
                instead: "client certificates are not served yet; use auth-type: basic or an address list",
            },
            ..Row::DEFAULT
        },
        Row {
            key: "auth-tls-pass-certificate-to-upstream",
            scope: Scope::Server,
            documentation: "Tells the backend the certificate. It has no effect without auth-tls-secret.",
            tries: &[("true", Gives::Refused("belongs to auth-tls-secret")), ("false", Gives::Nothing)],
            effect: Effect::Missing {
                asks: unless_false,
                instead: "it belongs to auth-tls-secret, which is not served yet",
            },
            ..Row::DEFAULT
        },
        Row {
            key: "auth-tls-secret",
            scope: Scope::Server,
            trust: Trust::Medium,
            on_error: OnError::Close,
            documentation: "Demands a certificate that the authority in this Secret has signed. Not served yet; \
                because the routes would be open without it, the routes of this object answer 503.",
            tries: &[("default/authority", Gives::Refused("routes answer 503"))],
            effect: Effect::Missing {
                asks: always,
                instead: "client certificates are not served yet; use auth-type: basic or an address list",
            },
            ..Row::DEFAULT
        },
        Row {
            key: "auth-tls-verify-client",
            scope: Scope::Server,
            trust: Trust::Medium,
            on_error: OnError::Close,
            documentation: "Whether a certificate is demanded. Not served yet: off asks for nothing, all else closes \
                the routes.",
            tries: &[("on", Gives::Refused("routes answer 503")), ("off", Gives::Nothing)],
            effect: Effect::Missing {
                asks: unless_off,
                instead: "client certificates are not served yet; use auth-type: basic or an address list",
            },
            ..Row::DEFAULT
        },
        Row {
            key: "auth-tls-verify-depth",
            scope: Scope::Server,
            documentation: "How long a chain may be. It has no effect without auth-tls-secret.",
            tries: &[("1", Gives::Refused("belongs to auth-tls-secret"))],
            effect: Effect::Missing { asks: always, instead: "it belongs to auth-tls-secret, which is not served yet" },
            ..Row::DEFAULT
        },
    ],
    finish: nothing_to_finish,
};
