//! What modules that are not part of nginx impose on servers.

use super::context::{HTTP_TO_IF, HTTP_TO_LOCATION};
use super::{Contexts, DirectiveRow, Form, Module, rows};

const fn row(name: &'static str, contexts: Contexts, form: Form) -> DirectiveRow {
    DirectiveRow::new(name, contexts, form)
}

const fn lua(name: &'static str) -> DirectiveRow {
    row(name, HTTP_TO_IF, Form::Any).permanent()
}

const fn headers(name: &'static str) -> DirectiveRow {
    row(name, HTTP_TO_IF, Form::Words).of(Module::HeadersMore).permanent()
}

rows! {
    MODSECURITY = row("modsecurity", HTTP_TO_LOCATION, Form::Switch).default("off").protection(None, "off");
    BROTLI = row("brotli", HTTP_TO_IF, Form::Switch).default("off").reset();
    ZSTD = row("zstd", HTTP_TO_IF, Form::Switch).default("off").reset();
    ACCESS_BY_LUA_BLOCK = lua("access_by_lua_block");
    ACCESS_BY_LUA_FILE = lua("access_by_lua_file");
    BODY_FILTER_BY_LUA_BLOCK = lua("body_filter_by_lua_block");
    BODY_FILTER_BY_LUA_FILE = lua("body_filter_by_lua_file");
    HEADER_FILTER_BY_LUA_BLOCK = lua("header_filter_by_lua_block");
    HEADER_FILTER_BY_LUA_FILE = lua("header_filter_by_lua_file");
    REWRITE_BY_LUA_BLOCK = lua("rewrite_by_lua_block");
    REWRITE_BY_LUA_FILE = lua("rewrite_by_lua_file");
    MORE_CLEAR_HEADERS = headers("more_clear_headers");
    MORE_CLEAR_INPUT_HEADERS = headers("more_clear_input_headers");
    MORE_SET_HEADERS = headers("more_set_headers");
    MORE_SET_INPUT_HEADERS = headers("more_set_input_headers");
}
