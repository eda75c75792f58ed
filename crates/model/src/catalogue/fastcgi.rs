//! Directives about FastCGI applications. Locations set all of them, so that none of the host's
//! applies and other servers need not override them.

use super::context::HTTP_TO_LOCATION;
use super::{Context, Contexts, DirectiveRow, Form, Module, rows};

const fn row(name: &'static str, form: Form) -> DirectiveRow {
    DirectiveRow::new(name, HTTP_TO_LOCATION, form).of(Module::FastCgi)
}

const LOCATIONS: Contexts = Contexts::of(&[Context::Location, Context::LocationIf]);

rows! {
    FASTCGI_BIND = row("fastcgi_bind", Form::Words).default("off");
    FASTCGI_BUFFER_SIZE = row("fastcgi_buffer_size", Form::Size).default("4k");
    FASTCGI_BUFFERING = row("fastcgi_buffering", Form::Switch).default("on");
    FASTCGI_BUFFERS = row("fastcgi_buffers", Form::NumberAndSize).default("8 4k");
    FASTCGI_BUSY_BUFFERS_SIZE = row("fastcgi_busy_buffers_size", Form::Size).default("8k");
    FASTCGI_CACHE = row("fastcgi_cache", Form::Word).default("off");
    FASTCGI_CONNECT_TIMEOUT = row("fastcgi_connect_timeout", Form::Time).default("60s");
    FASTCGI_FORCE_RANGES = row("fastcgi_force_ranges", Form::Switch).default("off");
    FASTCGI_HIDE_HEADER = row("fastcgi_hide_header", Form::Word);
    FASTCGI_IGNORE_CLIENT_ABORT = row("fastcgi_ignore_client_abort", Form::Switch).default("off");
    FASTCGI_IGNORE_HEADERS = row("fastcgi_ignore_headers", Form::Words);
    FASTCGI_INDEX = row("fastcgi_index", Form::Word);
    FASTCGI_INTERCEPT_ERRORS = row("fastcgi_intercept_errors", Form::Switch).default("off");
    FASTCGI_KEEP_CONN = row("fastcgi_keep_conn", Form::Switch).default("off");
    FASTCGI_LIMIT_RATE = row("fastcgi_limit_rate", Form::Size).default("0");
    FASTCGI_MAX_TEMP_FILE_SIZE = row("fastcgi_max_temp_file_size", Form::Size).default("1024m");
    FASTCGI_NEXT_UPSTREAM = row("fastcgi_next_upstream", Form::Words).default("error timeout");
    FASTCGI_NEXT_UPSTREAM_TIMEOUT = row("fastcgi_next_upstream_timeout", Form::Time).default("0");
    FASTCGI_NEXT_UPSTREAM_TRIES = row("fastcgi_next_upstream_tries", Form::Number).default("0");
    FASTCGI_PARAM = row("fastcgi_param", Form::Words);
    FASTCGI_PASS = DirectiveRow::new("fastcgi_pass", LOCATIONS, Form::Text).of(Module::FastCgi);
    FASTCGI_PASS_HEADER = row("fastcgi_pass_header", Form::Word);
    FASTCGI_PASS_REQUEST_BODY = row("fastcgi_pass_request_body", Form::Switch).default("on");
    FASTCGI_PASS_REQUEST_HEADERS = row("fastcgi_pass_request_headers", Form::Switch).default("on");
    FASTCGI_READ_TIMEOUT = row("fastcgi_read_timeout", Form::Time).default("60s");
    FASTCGI_REQUEST_BUFFERING = row("fastcgi_request_buffering", Form::Switch).default("on");
    FASTCGI_SEND_TIMEOUT = row("fastcgi_send_timeout", Form::Time).default("60s");
    FASTCGI_STORE = row("fastcgi_store", Form::Word).default("off");
}
