//! Annotations about cross-origin resource sharing; any mistake keeps other origins out.

use std::sync::{Arc, LazyLock};

use crate::annotation::{
    Ceiling, Compared, Context, Draft, Entry, Family, Form, Gives, OnError, Row, Trust, built_in, put,
};
use crate::bounds;
use crate::value::{
    ALL, HEADER_NAME_OR_ALL, METHOD_OR_ALL, ORIGIN, boolean, header_names, header_names_or_all, integer, methods,
    methods_or_all, origins,
};
use ingressd_model::finding::{Finding, Reason, Severity};
use ingressd_model::{Cors, HeaderName, OriginPattern, Refused};

/// The defaults for what is allowed. A text of the wrong form would give an empty list, which
/// allows nothing.
const DEFAULT_METHODS: &str = "GET, PUT, POST, DELETE, PATCH, OPTIONS";
const DEFAULT_HEADERS: &str = "DNT, Keep-Alive, User-Agent, X-Requested-With, If-Modified-Since, Cache-Control, Content-Type, \
                               Range, Authorization";
const DEFAULT_CREDENTIALS: &str = "true";
/// Twenty days, in seconds.
const DEFAULT_MAX_AGE: &str = "1728000";

static METHODS: LazyLock<Vec<HeaderName>> = LazyLock::new(|| built_in(DEFAULT_METHODS, methods));
static HEADERS: LazyLock<Vec<HeaderName>> = LazyLock::new(|| built_in(DEFAULT_HEADERS, header_names));

const BUT_ALL: &str = "whether * is among them, with which the default list counts";
const ENABLED: &[(&str, &str)] = &[("enable-cors", "true")];

/// A row that depends on enable-cors.
const fn belonging(key: &'static str, form: Form) -> Row {
    Row::new(key, form).counts_with(ENABLED).beside(ENABLED)
}

pub static FAMILY: Family = Family {
    title: "Cross-origin requests (CORS)",
    rows: &[
        belonging("cors-allow-credentials", Form::Boolean)
            .compared(Compared::StricterValues(
                "Where the value cannot be used no CORS headers are sent; ingress-nginx takes it for true.",
                "",
            ))
            .default(DEFAULT_CREDENTIALS)
            .on_error(OnError::WithholdCors)
            .documentation("Whether browsers may send cookies and passwords.")
            .tries(&[
                ("true", Gives::Sets("credentials: allowed")),
                ("false", Gives::Sets("credentials: not allowed")),
                ("no", Gives::Refused("no CORS headers")),
            ])
            .part(|draft, entry| put(&mut draft.cors.credentials, boolean(entry.value))),
        belonging("cors-allow-headers", Form::Partly(&Form::List(&HEADER_NAME_OR_ALL), BUT_ALL))
            .default(DEFAULT_HEADERS)
            .trust(Trust::Medium)
            .documentation(
                "Request headers that scripts may set, a comma-separated list. With * among them, or another mistake, \
                 they are the default ones.",
            )
            .tries(&[
                ("X-Token, Content-Type", Gives::Sets("allowed headers: X-Token, Content-Type")),
                ("*", Gives::LeftOut("the default list counts")),
                ("X-Token\r\nX-Evil: 1", Gives::Refused("not a header name")),
            ])
            .part(|draft, entry| {
                draft.cors.headers = without_all(draft, entry, header_names_or_all(entry.value)?)?;
                Ok(())
            }),
        belonging("cors-allow-methods", Form::Partly(&Form::List(&METHOD_OR_ALL), BUT_ALL))
            .default(DEFAULT_METHODS)
            .trust(Trust::Medium)
            .documentation(
                "Methods that scripts may use, a comma-separated list. With * among them, or another mistake, they are \
                 the default ones.",
            )
            .tries(&[
                ("GET, POST", Gives::Sets("allowed methods: GET, POST")),
                ("GET, *", Gives::LeftOut("the default list counts")),
                ("GET; POST", Gives::Refused("not a method")),
            ])
            .part(|draft, entry| {
                draft.cors.methods = without_all(draft, entry, methods_or_all(entry.value)?)?;
                Ok(())
            }),
        belonging("cors-allow-origin", Form::Some(&ORIGIN))
            .compared(Compared::StricterValues(
                "Where no origin can be used, no other origin is admitted; ingress-nginx admits every origin then.",
                "",
            ))
            .default("*")
            .trust(Trust::Medium)
            .on_error(OnError::WithholdCors)
            .documentation(
                "Origins that are admitted: a comma-separated list of scheme://host or scheme://host:port, with *. in \
                 front of the host for one more label, null, or * for every origin. An invalid origin is left out with \
                 a finding; where none is left, no other origin is admitted.",
            )
            .tries(&[
                ("https://example.com", Gives::Sets("other origins: https://example.com")),
                ("https://*.example.com:8443, null", Gives::Sets("other origins: https://*.example.com:8443, null")),
                ("*", Gives::Sets("other origins: *")),
                ("example.com", Gives::Refused("no CORS headers")),
                ("https://example.com/", Gives::Refused("not an origin")),
            ])
            .part(|draft, entry| {
                let (origins, left_out) = origins(entry.value)?;
                if let Some(refused) = left_out {
                    let note = format!("{refused}; it is left out, and the other origins of the list are let in");
                    draft.find(Reason::InvalidValue, entry.origin(), note);
                }
                draft.cors.origins = Some(origins);
                draft.cors.origins_at = Some(entry.origin());
                Ok(())
            }),
        belonging("cors-expose-headers", Form::List(&HEADER_NAME_OR_ALL))
            .trust(Trust::Medium)
            .documentation(
                "Response headers that scripts may read, a comma-separated list in which * stands for all. None by \
                 default.",
            )
            .tries(&[
                ("X-Total, ETag", Gives::Sets("exposed headers: X-Total, ETag")),
                ("*", Gives::Sets("exposed headers: *")),
                ("*, X-Total", Gives::Sets("exposed headers: *, X-Total")),
                ("X Total", Gives::Refused("not a header name")),
            ])
            .part(|draft, entry| put(&mut draft.cors.expose, header_names_or_all(entry.value))),
        belonging("cors-max-age", Form::Integer { least: 0, most: u32::MAX as u64 })
            .default(DEFAULT_MAX_AGE)
            .ceiling(Ceiling::NotNeeded("browsers keep it, as long as they like"))
            .documentation("For how many seconds browsers may remember a preflight.")
            .tries(&[("600", Gives::Sets("preflight is good for 600 s")), ("1h", Gives::Refused("whole number"))])
            .part(|draft, entry| put(&mut draft.cors.max_age, max_age(entry.value))),
        Row::new("enable-cors", Form::Boolean)
            .documentation(
                "Allows scripts of other origins to use the routes: nginx answers preflight requests, and adds to \
                 responses the headers that the keys beginning with cors- describe.",
            )
            .tries(&[
                ("true", Gives::Sets("other origins: *")),
                ("false", Gives::Nothing),
                ("yes", Gives::Refused("not true or false")),
            ])
            .part(|draft, entry| put(&mut draft.cors.enabled, boolean(entry.value))),
    ],
    finish,
};

/// A list; `None`, which is the default one, where `*` is in it, as in ingress-nginx.
fn without_all(
    draft: &mut Draft,
    entry: &Entry<'_>,
    list: Vec<HeaderName>,
) -> Result<Option<Vec<HeaderName>>, Refused> {
    if list.iter().any(|name| name.as_str() == ALL) {
        let refused = Refused::because("* does not stand for all here, and the default list counts; write the names");
        return draft.leave_out(entry, &refused).map(|()| None);
    }
    Ok(Some(list))
}

fn max_age(value: &str) -> Result<u64, Refused> {
    integer(value, 0, u32::MAX.into())
}

fn finish(draft: &mut Draft, context: &Context<'_>) {
    let requested = std::mem::take(&mut draft.cors);
    if !requested.enabled || requested.withheld {
        return;
    }
    let count = requested.origins.as_ref().map_or(0, Vec::len);
    if let Some(origin) = requested.origins_at {
        let most = context.options.limits.object.origins;
        if u64::try_from(count).is_ok_and(|count| count > most) {
            let note = format!(
                "{count} origins are more than the {most} that limits.object-origins allows; no CORS headers are sent until \
                 it is corrected"
            );
            let finding = Finding::new(Reason::InvalidValue, origin, note);
            draft.report(Finding { severity: Severity::Error, ..finding });
            return;
        }
        draft.reading.findings.extend(bounds::ORIGINS.near(count, most, || origin));
    }
    draft.reading.behaviour.cors = Some(Arc::new(Cors {
        origins: requested.origins.unwrap_or_else(|| vec![OriginPattern::Any]),
        methods: requested.methods.unwrap_or_else(|| METHODS.clone()),
        has_default_headers: requested.headers.is_none(),
        headers: requested.headers.unwrap_or_else(|| HEADERS.clone()),
        expose: requested.expose.unwrap_or_default(),
        credentials: requested.credentials.unwrap_or_else(|| built_in(DEFAULT_CREDENTIALS, boolean)),
        max_age: requested.max_age.unwrap_or_else(|| built_in(DEFAULT_MAX_AGE, max_age)),
    }));
}
