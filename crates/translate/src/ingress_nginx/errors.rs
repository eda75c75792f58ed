//! Annotations about error pages of another backend.

use std::sync::Arc;

use crate::annotation::{
    Elsewhere, Family, Form, Gives, OnError, Row, SOMETHING, Scope, Shape, nothing_to_finish, put,
};
use crate::value::{boolean, entries, excerpt};
use ingressd_model::{ErrorPages, Refused, is_label};

/// The annotation that names a Service.
pub const BACKEND: &str = "default-backend";

/// A status that nginx does not accept in `error_page`.
const IMPOSSIBLE: u16 = 499;

/// The most statuses, each of which needs a location of the host.
const MOST: usize = 32;

/// A status that can have an error page.
const STATUS: Shape = Shape { name: "a status from 400 to 599", pattern: "[+]?0*[45][0-9][0-9]", ..Shape::DEFAULT };

/// The name of a Service.
const SERVICE: Shape =
    Shape { name: "the name of a Service", pattern: "[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?", ..Shape::DEFAULT };

pub static FAMILY: Family = Family {
    title: "Errors",
    rows: &[
        Row::new(
            "custom-http-errors",
            Form::Partly(
                &Form::List(&STATUS),
                "that nginx cannot answer 499, that 598 is taken, and how many statuses there are",
            ),
        )
        .elsewhere(&[Elsewhere::Refuse])
        .on_error(OnError::Refuse)
        .documentation("Statuses, a comma-separated list, for which the default backend makes the response: that of default-backend, or else that of the settings. It gets a request for / with the method and query of the client's request, and with the status in X-Code, what the client accepts in X-Format, the path in X-Original-URI, and X-Namespace, X-Ingress-Name, X-Service-Name and X-Service-Port. The client gets the status of its response. Requests to an authentication service are not affected.")
        .tries(&[
            ("404,503", Gives::Sets("other answers for 404, 503")),
            ("503, 404,404", Gives::Sets("other answers for 404, 503")),
            ("499", Gives::Refused("nginx cannot")),
            ("598", Gives::Refused("uses 598")),
            ("200", Gives::Refused("not a status from 400 to 599")),
            ("404 503", Gives::Refused("not a status")),
        ])
        .part(|draft, entry| {
            draft.reading.errors.statuses = statuses(entry.value)?;
            draft.reading.errors.statuses_at = Some(entry.origin());
            Ok(())
        }),
        Row::new("default-backend", Form::Text(&SERVICE))
            .elsewhere(&[Elsewhere::Refuse])
            .scope(Scope::Upstream)
            .on_error(OnError::Refuse)
            .documentation("A Service of the same namespace that gets requests while the Service of the path has no endpoint, and that makes the responses for custom-http-errors. Its first port is used. It gets the status 503 in X-Code, and the other headers of custom-http-errors.")
            .tries(&[
                ("fallback", Gives::Sets("default backend fallback")),
                ("other/fallback", Gives::Refused("not the name of a Service")),
                ("a;b", Gives::Refused("not the name of a Service")),
            ])
            .part(|draft, entry| {
                let name = entry.value.trim();
                match is_label(name) {
                    true => put(&mut draft.reading.errors.default_backend, Ok((Arc::from(name), entry.origin()))),
                    false => Err(Refused::because("it is not the name of a Service of the namespace")),
                }
            }),
        Row::new("disable-proxy-intercept-errors", Form::Boolean)
            .counts_with(&[("custom-http-errors", SOMETHING)])
            .documentation(
                "With true, custom-http-errors replaces only errors that nginx itself makes, and errors of the backend \
                 reach the client.",
            )
            .beside(&[("custom-http-errors", "404")])
            .tries(&[
                ("true", Gives::Sets("errors of the backend go through")),
                ("false", Gives::Sets("other answers for 404")),
                ("no", Gives::Refused("not true or false")),
            ])
            .part(|draft, entry| put(&mut draft.reading.errors.passes_backend_errors, boolean(entry.value))),
    ],
    finish: nothing_to_finish,
};

fn statuses(value: &str) -> Result<Vec<u16>, Refused> {
    let mut statuses = Vec::new();
    for item in entries(value)? {
        match item.parse::<u16>() {
            Ok(ErrorPages::WITHOUT_ENDPOINTS) => {
                return Err(Refused::because("ingressd itself uses 598; leave it out"));
            }
            Ok(IMPOSSIBLE) => return Err(Refused::because("nginx cannot give another answer for 499")),
            Ok(status) if (400..600).contains(&status) => statuses.push(status),
            _ => return Err(Refused(format!("{} is not a status from 400 to 599", excerpt(item)).into())),
        }
    }
    statuses.sort_unstable();
    statuses.dedup();
    match statuses.len() > MOST {
        true => Err(Refused::because("more than 32 statuses")),
        false => Ok(statuses),
    }
}
