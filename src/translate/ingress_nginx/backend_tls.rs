//! TLS towards backends: its settings are not served yet; it must not know which backends there are.

use crate::translate::annotation::{
    Effect, Family, Gives, OnError, Row, Scope, Trust, always, nothing_to_finish, unless_off,
};

pub static FAMILY: Family = Family {
    title: "TLS towards backends",
    rows: &[
        Row {
            key: "proxy-ssl-ciphers",
            scope: Scope::Upstream,
            trust: Trust::Medium,
            documentation: "Ciphers towards the backend. Not served yet.",
            tries: &[("DEFAULT", Gives::Refused("takes no settings yet"))],
            effect: Effect::Missing {
                asks: always,
                instead: "TLS towards backends takes no settings yet; backend-protocol: HTTPS encrypts without \
                    verifying",
            },
            ..Row::DEFAULT
        },
        Row {
            key: "proxy-ssl-name",
            scope: Scope::Upstream,
            trust: Trust::High,
            documentation: "The name that the certificate of the backend must have. Not served yet.",
            tries: &[("backend.example.com", Gives::Refused("takes no settings yet"))],
            effect: Effect::Missing {
                asks: always,
                instead: "TLS towards backends takes no settings yet; backend-protocol: HTTPS encrypts without \
                    verifying",
            },
            ..Row::DEFAULT
        },
        Row {
            key: "proxy-ssl-protocols",
            scope: Scope::Upstream,
            documentation: "TLS versions towards the backend. Not served yet.",
            tries: &[("TLSv1.3", Gives::Refused("takes no settings yet"))],
            effect: Effect::Missing {
                asks: always,
                instead: "TLS towards backends takes no settings yet; backend-protocol: HTTPS encrypts without \
                    verifying",
            },
            ..Row::DEFAULT
        },
        Row {
            key: "proxy-ssl-secret",
            scope: Scope::Upstream,
            trust: Trust::Medium,
            documentation: "Certificate to show to the backend, and the authority that signed the backend's. Not \
                served yet.",
            tries: &[("default/client", Gives::Refused("takes no settings yet"))],
            effect: Effect::Missing {
                asks: always,
                instead: "TLS towards backends takes no settings yet; backend-protocol: HTTPS encrypts without \
                    verifying",
            },
            ..Row::DEFAULT
        },
        Row {
            key: "proxy-ssl-server-name",
            scope: Scope::Upstream,
            documentation: "Whether the name is sent to the backend (SNI). Not served yet.",
            tries: &[("on", Gives::Refused("takes no settings yet")), ("off", Gives::Nothing)],
            effect: Effect::Missing {
                asks: unless_off,
                instead: "TLS towards backends takes no settings yet; backend-protocol: HTTPS encrypts without \
                    verifying",
            },
            ..Row::DEFAULT
        },
        Row {
            key: "proxy-ssl-verify",
            scope: Scope::Upstream,
            on_error: OnError::Close,
            documentation: "Whether the certificate of the backend is verified. Not served yet; because a false \
                backend could be asked without it, on closes the routes.",
            tries: &[("on", Gives::Refused("routes answer 503")), ("off", Gives::Nothing)],
            effect: Effect::Missing {
                asks: unless_off,
                instead: "verifying the certificates of backends is not served yet",
            },
            ..Row::DEFAULT
        },
        Row {
            key: "proxy-ssl-verify-depth",
            scope: Scope::Upstream,
            documentation: "How long the chain of the backend may be. Not served yet.",
            tries: &[("2", Gives::Refused("takes no settings yet"))],
            effect: Effect::Missing {
                asks: always,
                instead: "TLS towards backends takes no settings yet; backend-protocol: HTTPS encrypts without \
                    verifying",
            },
            ..Row::DEFAULT
        },
    ],
    finish: nothing_to_finish,
};
