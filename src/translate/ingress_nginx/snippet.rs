//! Raw configuration: never read; it must not know what is in it.

use crate::translate::annotation::{Effect, Family, Gives, OnError, Row, Scope, Trust, always, nothing_to_finish};

pub static FAMILY: Family = Family {
    title: "Raw configuration",
    rows: &[
        Row {
            key: "auth-snippet",
            trust: Trust::Critical,
            on_error: OnError::Refuse,
            documentation: "Directives for auth-url. Never read: the object is refused, because what it leaves out may \
                protect something.",
            tries: &[("proxy_set_header X y;", Gives::Refused("never read"))],
            effect: Effect::Missing {
                asks: always,
                instead: "raw configuration is never read, because it hands the node to whoever may write an Ingress; \
                    use the annotation for what it does, or ask the administrator",
            },
            ..Row::DEFAULT
        },
        Row {
            key: "configuration-snippet",
            trust: Trust::Critical,
            on_error: OnError::Refuse,
            documentation: "Directives for the location. Never read: the object is refused, because what it leaves out \
                may protect something.",
            tries: &[("deny all;", Gives::Refused("never read"))],
            effect: Effect::Missing {
                asks: always,
                instead: "raw configuration is never read, because it hands the node to whoever may write an Ingress; \
                    use the annotation for what it does, or ask the administrator",
            },
            ..Row::DEFAULT
        },
        Row {
            key: "server-snippet",
            scope: Scope::Server,
            trust: Trust::Critical,
            on_error: OnError::Refuse,
            documentation: "Directives for the server. Never read: the object is refused, because what it leaves out \
                may protect something.",
            tries: &[("return 403;", Gives::Refused("never read"))],
            effect: Effect::Missing {
                asks: always,
                instead: "raw configuration is never read, because it hands the node to whoever may write an Ingress; \
                    use the annotation for what it does, or ask the administrator",
            },
            ..Row::DEFAULT
        },
        Row {
            key: "stream-snippet",
            scope: Scope::Server,
            trust: Trust::Critical,
            on_error: OnError::Refuse,
            documentation: "Directives outside of HTTP. Never read: the object is refused, because what it leaves out \
                may protect something.",
            tries: &[("server {}", Gives::Refused("never read"))],
            effect: Effect::Missing {
                asks: always,
                instead: "raw configuration is never read, because it hands the node to whoever may write an Ingress; \
                    use the annotation for what it does, or ask the administrator",
            },
            ..Row::DEFAULT
        },
    ],
    finish: nothing_to_finish,
};
