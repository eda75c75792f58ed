//! The keys of the section `hosts`; it must not know files or layers.

use std::time::Duration;

use super::table::Row;
use super::value::{Form, Setting as _, put};

/// Its keys.
pub const ROWS: &[Row] = &[
    Row {
        key: "hosts.ownership",
        form: Form::Text,
        default: r#""dialect""#,
        doc: "Whose a host is when several namespaces ask for it. `namespace`: that of the namespace that asked first, and what others ask for is refused; so is a host within a wildcard host of another namespace that is older. `shared`: several namespaces have paths of one host, each path is that of the namespace that asked for it first, and a younger one below it takes no requests from what is protected. `dialect`: `shared` for classes of ingress-nginx, whose users rely on it, `namespace` for others. A class overrides it with `ownership`.",
        set: |settings, value| put(&mut settings.translate.ownership, value),
    },
    Row {
        key: "hosts.grace",
        form: Form::Duration,
        default: r#""5m""#,
        doc: "How long a host, or a path of a shared host, stays reserved for its namespace after the last object that asked for it is gone, so that one that is deleted and created again does not lose it to somebody who waits for that.",
        set: |settings, value| {
            let grace = Duration::read(value)?;
            settings.translate.host_grace = i64::try_from(grace.as_secs()).unwrap_or(i64::MAX);
            Ok(())
        },
    },
    Row {
        key: "hosts.catch-all",
        form: Form::List,
        default: "[]",
        doc: "Namespaces whose objects without a host may take all requests for hosts that nobody has although `default-backend` is set, and bring the certificate for them. Objects without a host of other namespaces have paths there, beside the `default-backend` and with the default certificate.",
        set: |settings, value| put(&mut settings.translate.catch_all, value),
    },
];
