//! Annotations about logs and traces, about which the administrator decides.

use crate::annotation::{Family, Form, Gives, Row, Trust, nothing_to_finish, unserved};
use crate::value::arguments::switch;
use crate::value::boolean;
use ingressd_model::Argument;
use ingressd_model::catalogue::{ACCESS_LOG, REWRITE_LOG};

const TRACING: &str = "no release of Debian or Ubuntu has nginx's module for OpenTelemetry: with nginx and nginx-module-otel of nginx.org set \
    otel_exporter and otel_trace in the block http of nginx.conf, which all hosts inherit, or have the backends trace, which get the \
    headers of their clients' traces";

pub static FAMILY: Family = Family {
    title: "Logs and traces",
    rows: &[
        Row::new("enable-access-log", Form::Boolean)
            .documentation("Whether requests are logged, where the administrator has switched the access log on (section access-log of the settings). The default is true.")
            .tries(&[
                ("false", Gives::Sets("access_log off;")),
                ("true", Gives::Nothing),
                ("no", Gives::Refused("not true or false")),
            ])
            .part(|draft, entry| {
                if !boolean(entry.value)? {
                    draft.directive(&ACCESS_LOG, vec![Argument::Word("off")], entry.origin());
                }
                Ok(())
            }),
        unserved("enable-opentelemetry", "true", "Traces requests. Not served.", TRACING).unless("false"),
        Row::new("enable-rewrite-log", Form::Boolean)
            .documentation("Whether nginx logs rewrites of paths. The lines are in the error log of the node, where its level is notice or lower (error_log in nginx.conf). With true, paths with control characters, such as %0A, are answered with 400, because they could forge lines there.")
            .tries(&[
                ("true", Gives::Sets("rewrite_log on;")),
                ("false", Gives::Sets("rewrite_log off;")),
                ("yes", Gives::Refused("not true or false")),
            ])
            .directive(&REWRITE_LOG, switch),
        unserved("opentelemetry-operation-name", "shop", "Name of the span. Not served.", TRACING).trust(Trust::Medium),
        unserved("opentelemetry-trust-incoming-span", "true", "Trusts the trace of the client. Not served.", TRACING),
    ],
    finish: nothing_to_finish,
};
