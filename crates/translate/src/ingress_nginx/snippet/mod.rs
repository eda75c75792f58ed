//! Reads snippets of nginx's configuration into values where the administrator allows them; they
//! are never copied. It must not know who is allowed to write them.

mod alternatives;
mod condition;
mod directives;
mod forms;
mod headers;
mod location;
mod question;
mod reader;
mod refused;
mod servers;
mod statements;
mod streams;
mod tables;
#[cfg(test)]
mod tests;
mod text;

pub use alternatives::alternatives;
pub use directives::document;
pub use streams::directives as of_streams;
pub use tables::tables;
pub use text::variables;

use super::external_authentication::ASKS;
use crate::SnippetKind;
use crate::annotation::{Family, OnError, Row, Scope, SnippetRow, Trust, nothing_to_finish, unserved};

const SNIPPETS: &str = "raw configuration is not read, because it hands the node to whoever may write an Ingress; use the annotation for \
    what it does, or ask the administrator, whose snippets.allowed may let this namespace write the directives in docs/snippets.md";

const STREAMS: &str = "raw configuration is not read, because it hands the node to whoever may write an Ingress; have the service in a \
    ConfigMap of TCP or UDP services, or ask the administrator, whose snippets.allowed may let this namespace open ports as docs/snippets.md says";

const fn snippet(key: &'static str, example: &'static str, documentation: &'static str, row: SnippetRow) -> Row {
    let instead = if matches!(row.kind, SnippetKind::Stream) { STREAMS } else { SNIPPETS };
    let unserved = unserved(key, example, documentation, instead);
    unserved.trust(Trust::Critical).on_error(OnError::Refuse).snippet(row).stands_alone()
}

pub static FAMILY: Family = Family {
    title: "Raw configuration",
    rows: &[
        snippet(
            "auth-snippet",
            "proxy_set_header X y;",
            "Directives for the request to auth-url. They are used only where the administrator's `snippets.allowed` names the namespace; elsewhere the object is refused, because the snippet may be a protection.",
            SnippetRow { kind: SnippetKind::Auth, read: question::read },
        )
        .counts_with(ASKS),
        snippet(
            "configuration-snippet",
            "deny all;",
            "Directives for the location. They are used only where the administrator's `snippets.allowed` names the namespace; elsewhere the object is refused, because the snippet may be a protection.",
            SnippetRow { kind: SnippetKind::Configuration, read: reader::of_location },
        ),
        snippet(
            "server-snippet",
            "return 403;",
            "Directives for the server: they apply to the routes of the namespace on the hosts of the object. They are used only where the administrator's `snippets.allowed` names the namespace; elsewhere the object is refused, because the snippet may be a protection.",
            SnippetRow { kind: SnippetKind::Server, read: reader::of_host },
        )
        .scope(Scope::Server),
        snippet(
            "stream-snippet",
            "server { listen 5432; proxy_pass postgres.shop.svc:5432; }",
            "Servers of TCP and UDP services of the namespace. They are used only where the administrator's `snippets.allowed` names the namespace and the ports; elsewhere the object is refused, because the snippet may be a protection.",
            SnippetRow { kind: SnippetKind::Stream, read: servers::read },
        )
        .counts_on_canary(),
    ],
    finish: nothing_to_finish,
};
