//! Logs and traces: the administrator decides about them; it must not know where they go.

use crate::translate::annotation::{
    Effect, Family, Gives, Row, Trust, always, nothing_to_finish, unless_false, unless_true,
};

pub static FAMILY: Family = Family {
    title: "Logs and traces",
    rows: &[
        Row {
            key: "enable-access-log",
            documentation: "Whether requests are logged. Not read here: the administrator decides.",
            tries: &[("false", Gives::Refused("the administrator decides")), ("true", Gives::Nothing)],
            effect: Effect::Missing {
                asks: unless_true,
                instead: "not served yet; the administrator decides about logs",
            },
            ..Row::DEFAULT
        },
        Row {
            key: "enable-opentelemetry",
            documentation: "Traces requests. Not served yet.",
            tries: &[("true", Gives::Refused("not served yet")), ("false", Gives::Nothing)],
            effect: Effect::Missing { asks: unless_false, instead: "tracing is not served yet" },
            ..Row::DEFAULT
        },
        Row {
            key: "enable-rewrite-log",
            documentation: "Logs rewrites. Not served.",
            tries: &[("true", Gives::Refused("administrator")), ("false", Gives::Nothing)],
            effect: Effect::Missing {
                asks: unless_false,
                instead: "not served; the error log of the node belongs to the administrator",
            },
            ..Row::DEFAULT
        },
        Row {
            key: "opentelemetry-operation-name",
            trust: Trust::Medium,
            documentation: "Name of the span. Not served yet.",
            tries: &[("shop", Gives::Refused("not served yet"))],
            effect: Effect::Missing { asks: always, instead: "tracing is not served yet" },
            ..Row::DEFAULT
        },
        Row {
            key: "opentelemetry-trust-incoming-span",
            documentation: "Trusts the trace of the client. Not served yet.",
            tries: &[("true", Gives::Refused("not served yet"))],
            effect: Effect::Missing { asks: always, instead: "tracing is not served yet" },
            ..Row::DEFAULT
        },
    ],
    finish: nothing_to_finish,
};
