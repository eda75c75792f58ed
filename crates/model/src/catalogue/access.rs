//! Directives about access control and limits.

use super::context::{HTTP, HTTP_TO_IF, HTTP_TO_LOCATION};
use super::{Contexts, DirectiveRow, Form, Module, rows};

const fn row(name: &'static str, contexts: Contexts, form: Form, module: Module) -> DirectiveRow {
    DirectiveRow::new(name, contexts, form).of(module)
}

/// Zones without a key, in which nothing is counted; the name of the instance is inserted behind
/// `ingressd`.
const UNLIMITED_REQUESTS: &str = "zone=ingressd\u{2}_unlimited_requests";
const UNLIMITED_CONNECTIONS: &str = "ingressd\u{2}_unlimited_connections 1";

rows! {
    /// Allows clients by address.
    pub(crate) ALLOW = row("allow", HTTP_TO_LOCATION, Form::Word, Module::Access).protection(None, "all");
    DENY = row("deny", HTTP_TO_LOCATION, Form::Word, Module::Access).protection(Some(&ALLOW), "all");
    AUTH_BASIC = row("auth_basic", HTTP_TO_LOCATION, Form::Text, Module::AuthBasic).default("off").protection(None, "off");
    AUTH_BASIC_USER_FILE = row("auth_basic_user_file", HTTP_TO_LOCATION, Form::Path, Module::AuthBasic);
    AUTH_REQUEST = row("auth_request", HTTP_TO_LOCATION, Form::Word, Module::AuthRequest).default("off").protection(None, "off");
    AUTH_REQUEST_SET = row("auth_request_set", HTTP_TO_LOCATION, Form::Words, Module::AuthRequest);
    LIMIT_CONN = row("limit_conn", HTTP_TO_LOCATION, Form::Words, Module::LimitConn).protection(None, UNLIMITED_CONNECTIONS);
    LIMIT_REQ = row("limit_req", HTTP_TO_LOCATION, Form::Words, Module::LimitReq).protection(None, UNLIMITED_REQUESTS);
    LIMIT_CONN_STATUS = row("limit_conn_status", HTTP_TO_LOCATION, Form::Number, Module::LimitConn).default("503");
    LIMIT_CONN_ZONE = row("limit_conn_zone", HTTP, Form::Words, Module::LimitConn);
    LIMIT_REQ_STATUS = row("limit_req_status", HTTP_TO_LOCATION, Form::Number, Module::LimitReq).default("503");
    LIMIT_REQ_ZONE = row("limit_req_zone", HTTP, Form::Words, Module::LimitReq);
    AUTH_DELAY = DirectiveRow::new("auth_delay", HTTP_TO_LOCATION, Form::Time).default("0s").reset();
    LIMIT_CONN_DRY_RUN = row("limit_conn_dry_run", HTTP_TO_LOCATION, Form::Switch, Module::LimitConn).default("off").reset();
    LIMIT_REQ_DRY_RUN = row("limit_req_dry_run", HTTP_TO_LOCATION, Form::Switch, Module::LimitReq).default("off").reset();
    SATISFY = DirectiveRow::new("satisfy", HTTP_TO_LOCATION, Form::Word).default("all").reset();
    /// Bytes per second of a response.
    pub LIMIT_RATE = DirectiveRow::new("limit_rate", HTTP_TO_IF, Form::Size).default("0").reset().by_route();
    /// How much of a response is sent before the limit applies.
    pub LIMIT_RATE_AFTER = DirectiveRow::new("limit_rate_after", HTTP_TO_IF, Form::Size).default("0").by_route();
}
