//! The keys of the sections `access` and `http`: which clients are allowed, and the daemon's own
//! endpoints.

use super::table::Row;
use super::value::{Form, Setting, on_off_or_dialect, put};
use crate::model::HostName;
use crate::translate::Scope;

/// Their keys.
pub const ROWS: &[Row] = &[
    Row {
        key: "access.allowlist",
        scope: Scope::Route,
        form: Form::List,
        default: "[]",
        doc: "Clients that are let in, except where an annotation says otherwise. Empty lets in everybody.",
        set: |settings, value| put(&mut settings.translate.allowlist, value),
    },
    Row {
        key: "access.denylist",
        scope: Scope::Route,
        form: Form::List,
        default: "[]",
        doc: "Clients that are turned away, except where an annotation says otherwise.",
        set: |settings, value| put(&mut settings.translate.denylist, value),
    },
    Row {
        key: "access.max-trust",
        scope: Scope::Node,
        form: Form::Text,
        default: r#""high""#,
        doc: "How far whoever may write an Ingress is trusted: `low`, `medium`, `high` or `critical`, as ingress-nginx ranks annotations (`annotations-risk-level`). One that needs more is refused like a bad value, with a finding; the reference of annotations says how much each needs.",
        set: |settings, value| put(&mut settings.translate.max_trust, value),
    },
    Row {
        key: "access.no-authentication",
        scope: Scope::Route,
        form: Form::List,
        default: r#"["/.well-known/acme-challenge"]"#,
        doc: "Paths whose routes, and those below them, ask nobody for a password and no service whether a request may pass, whatever annotations say: certificate authorities have to reach them. Lists of addresses and client certificates count all the same.",
        set: |settings, value| put(&mut settings.translate.no_authentication, value),
    },
    Row {
        key: "access.strict-paths",
        scope: Scope::Route,
        form: Form::Text,
        default: r#""dialect""#,
        doc: "Whether requests are refused with 400 whose path nginx and a backend may read differently, on all routes of a namespace on a host where one of them is protected (by addresses, a password or another service) and another is not, or otherwise; routes of other namespaces on the host are not concerned: encoded slashes (`%2F`), backslashes, empty and dot segments (`//`, `/../`, `/%2e%2e/`), and `#`. `on`, `off`, or `dialect` for what the dialect of the protected route's class does (the specification refuses them, ingress-nginx does not). docs/security.md lists them.",
        set: |settings, value| {
            settings.translate.strict_paths = on_off_or_dialect(value)?;
            Ok(())
        },
    },
    Row {
        key: "access.trusted-proxies",
        scope: Scope::Server,
        form: Form::List,
        default: "[]",
        doc: "Proxies in front of this host whose X-Forwarded headers are believed, and whose other headers about the client, such as `Forwarded` or `CF-Connecting-IP`, reach backends; docs/security.md lists them. Empty believes nobody. With `listen.proxy-protocol` they are believed what they tell by that protocol, and no header of a request.",
        set: |settings, value| put(&mut settings.translate.trusted_proxies, value),
    },
    Row {
        key: "access.append-forwarded-for",
        scope: Scope::Server,
        form: Form::Boolean,
        default: "false",
        doc: "Append the address of the client to the X-Forwarded-For of a trusted proxy instead of replacing the header. With `listen.proxy-protocol` it is replaced all the same, because the client wrote it.",
        set: |settings, value| put(&mut settings.translate.append_forwarded_for, value),
    },
    Row {
        key: "http.address",
        scope: Scope::Node,
        form: Form::Text,
        default: r#""127.0.0.1:10254""#,
        doc: "Address for /healthz, /readyz, /metrics and /status.json.",
        set: |settings, value| put(&mut settings.http.address, value),
    },
    Row {
        key: "http.remote",
        scope: Scope::Node,
        form: Form::Boolean,
        default: "false",
        doc: "Whether `http.address` may be one that other machines reach. What is served names hosts, objects and findings of every tenant, without authentication.",
        set: |settings, value| put(&mut settings.http.remote, value),
    },
    Row {
        key: "http.hosts",
        scope: Scope::Node,
        form: Form::List,
        default: "[]",
        doc: "Host names by which the endpoints of `http.address` may be asked, besides IP addresses and `localhost`. Whoever asks by another one gets 421: a page in a browser could else read them by a name of its own that leads here.",
        set: |settings, value| {
            let hosts: Vec<String> = Setting::read(value)?;
            let host = |name: &String| HostName::new(name).map_err(|why| format!("{name:?} is no host name: {why}"));
            settings.http.hosts = hosts.iter().map(host).collect::<Result<_, _>>()?;
            Ok(())
        },
    },
];
