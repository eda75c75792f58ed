//! Raw configuration: never read.

use crate::translate::annotation::{Family, OnError, Scope, Trust, nothing_to_finish, unserved};

const SNIPPETS: &str = "raw configuration is never read, because it hands the node to whoever may write an Ingress; use the annotation for what it does, or ask the administrator";

pub static FAMILY: Family = Family {
    title: "Raw configuration",
    rows: &[
        unserved("auth-snippet", "proxy_set_header X y;", "Directives for auth-url. Never read: the object is refused, because what it leaves out may protect something.", SNIPPETS).trust(Trust::Critical).on_error(OnError::Refuse),
        unserved("configuration-snippet", "deny all;", "Directives for the location. Never read: the object is refused, because what it leaves out may protect something.", SNIPPETS).trust(Trust::Critical).on_error(OnError::Refuse),
        unserved("server-snippet", "return 403;", "Directives for the server. Never read: the object is refused, because what it leaves out may protect something.", SNIPPETS).scope(Scope::Server).trust(Trust::Critical).on_error(OnError::Refuse),
        unserved("stream-snippet", "server {}", "Directives outside of HTTP. Never read: the object is refused, because what it leaves out may protect something.", SNIPPETS).scope(Scope::Server).trust(Trust::Critical).on_error(OnError::Refuse),
    ],
    finish: nothing_to_finish,
};
