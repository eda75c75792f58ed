//! Answers when a backend has none: not served yet; it must not know the backends.

use crate::translate::annotation::{Effect, Family, Gives, Row, Scope, always, nothing_to_finish, unless_true};

pub static FAMILY: Family = Family {
    title: "Errors",
    rows: &[
        Row {
            key: "custom-http-errors",
            documentation: "Statuses whose answers the default backend replaces. Not served yet.",
            tries: &[("404,503", Gives::Refused("as they are"))],
            effect: Effect::Missing {
                asks: always,
                instead: "not served yet; errors of the backend go to the client as they are",
            },
            ..Row::DEFAULT
        },
        Row {
            key: "default-backend",
            scope: Scope::Upstream,
            documentation: "Service that answers when the one of the path cannot. Not served yet: such requests are \
                answered 503.",
            tries: &[("fallback", Gives::Refused("answered 503"))],
            effect: Effect::Missing {
                asks: always,
                instead: "not served yet; requests without an endpoint are answered 503",
            },
            ..Row::DEFAULT
        },
        Row {
            key: "disable-proxy-intercept-errors",
            documentation: "Lets errors of the backend through. They go through anyway.",
            tries: &[("false", Gives::Refused("as they are")), ("true", Gives::Nothing)],
            effect: Effect::Missing {
                asks: unless_true,
                instead: "not served yet; errors of the backend go to the client as they are",
            },
            ..Row::DEFAULT
        },
    ],
    finish: nothing_to_finish,
};
