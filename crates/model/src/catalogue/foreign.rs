//! Directives of third-party modules: what they impose on servers, and what servers use.

use super::context::{HTTP, HTTP_TO_IF, HTTP_TO_LOCATION};
use super::{Contexts, DirectiveRow, Form, Module, rows};

const fn row(name: &'static str, contexts: Contexts, form: Form) -> DirectiveRow {
    DirectiveRow::new(name, contexts, form)
}

const fn lua(name: &'static str) -> DirectiveRow {
    row(name, HTTP_TO_IF, Form::Any).permanent()
}

const fn firewall(name: &'static str, form: Form) -> DirectiveRow {
    row(name, HTTP_TO_LOCATION, form).of(Module::ModSecurity)
}

const fn brotli(name: &'static str, contexts: Contexts, form: Form) -> DirectiveRow {
    row(name, contexts, form).of(Module::Brotli)
}

const fn headers(name: &'static str) -> DirectiveRow {
    row(name, HTTP_TO_IF, Form::Words).of(Module::HeadersMore).permanent()
}

rows! {
    MODSECURITY = firewall("modsecurity", Form::Switch).default("off").protection(None, "off");
    /// Rules of the firewall as text, such as `Include FILE`; those of an outer level are added.
    pub MODSECURITY_RULES = firewall("modsecurity_rules", Form::Text);
    MODSECURITY_RULES_FILE = firewall("modsecurity_rules_file", Form::Text);
    MODSECURITY_RULES_REMOTE = firewall("modsecurity_rules_remote", Form::Words);
    MODSECURITY_TRANSACTION_ID = firewall("modsecurity_transaction_id", Form::Text);
    GEOIP2 = row("geoip2", HTTP, Form::Block).of(Module::GeoIp2);
    /// Whether responses are compressed by Brotli for clients that accept it.
    pub BROTLI = brotli("brotli", HTTP_TO_IF, Form::Switch).default("off").reset().by_server();
    /// The compression level.
    pub BROTLI_COMP_LEVEL = brotli("brotli_comp_level", HTTP_TO_LOCATION, Form::Number).default("6").by_server();
    /// The smallest response that is compressed.
    pub BROTLI_MIN_LENGTH = brotli("brotli_min_length", HTTP_TO_LOCATION, Form::Number).default("20").by_server();
    /// The media types that are compressed.
    pub BROTLI_TYPES = brotli("brotli_types", HTTP_TO_LOCATION, Form::Words).default("text/html").by_server();
    ZSTD = row("zstd", HTTP_TO_IF, Form::Switch).default("off").reset();
    ACCESS_BY_LUA_BLOCK = lua("access_by_lua_block");
    ACCESS_BY_LUA_FILE = lua("access_by_lua_file");
    BODY_FILTER_BY_LUA_BLOCK = lua("body_filter_by_lua_block");
    BODY_FILTER_BY_LUA_FILE = lua("body_filter_by_lua_file");
    HEADER_FILTER_BY_LUA_BLOCK = lua("header_filter_by_lua_block");
    HEADER_FILTER_BY_LUA_FILE = lua("header_filter_by_lua_file");
    REWRITE_BY_LUA_BLOCK = lua("rewrite_by_lua_block");
    REWRITE_BY_LUA_FILE = lua("rewrite_by_lua_file");
    /// Removes response headers of backends and of nginx.
    pub MORE_CLEAR_HEADERS = headers("more_clear_headers");
    MORE_CLEAR_INPUT_HEADERS = headers("more_clear_input_headers");
    MORE_SET_HEADERS = headers("more_set_headers");
    MORE_SET_INPUT_HEADERS = headers("more_set_input_headers");
}
