//! Logs and traces: the administrator decides about them; it must not know where they go.

use crate::translate::annotation::{Family, Trust, nothing_to_finish, unserved};

const TRACING: &str = "tracing is not served yet";

pub static FAMILY: Family = Family {
    title: "Logs and traces",
    rows: &[
        unserved(
            "enable-access-log",
            "false",
            "Whether requests are logged. Not read here: the administrator decides.",
            "not served yet; the administrator decides about logs",
        )
        .unless("true"),
        unserved("enable-opentelemetry", "true", "Traces requests. Not served yet.", TRACING).unless("false"),
        unserved(
            "enable-rewrite-log",
            "true",
            "Logs rewrites. Not served.",
            "not served; the error log of the node belongs to the administrator",
        )
        .unless("false"),
        unserved("opentelemetry-operation-name", "shop", "Name of the span. Not served yet.", TRACING)
            .trust(Trust::Medium),
        unserved(
            "opentelemetry-trust-incoming-span",
            "true",
            "Trusts the trace of the client. Not served yet.",
            TRACING,
        ),
    ],
    finish: nothing_to_finish,
};
