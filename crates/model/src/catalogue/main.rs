//! Directives of `nginx.conf` that are needed to test our files as the running nginx reads them.

use super::context::{HTTP_TO_LOCATION, MAIN};
use super::{Context, Contexts, DirectiveRow, Form, InTests, rows};

const fn row(name: &'static str, form: Form) -> DirectiveRow {
    DirectiveRow::new(name, MAIN, form).tests(InTests::Always)
}

const fn folder(name: &'static str) -> DirectiveRow {
    DirectiveRow::new(name, HTTP_TO_LOCATION, Form::Words).tests(InTests::Always)
}

const ERROR_LOGS: Contexts = Contexts::of(&[
    Context::Main,
    Context::Http,
    Context::Server,
    Context::Location,
    Context::Stream,
    Context::StreamServer,
]);

rows! {
    LOAD_MODULE = row("load_module", Form::Text);
    USER = row("user", Form::Words);
    /// The block about connections.
    pub EVENTS = row("events", Form::Block);
    THREAD_POOL = row("thread_pool", Form::Words);
    PCRE_JIT = row("pcre_jit", Form::Switch).default("off");
    FASTCGI_TEMP_PATH = folder("fastcgi_temp_path");
    UWSGI_TEMP_PATH = folder("uwsgi_temp_path");
    SCGI_TEMP_PATH = folder("scgi_temp_path");
    ERROR_LOG = DirectiveRow::new("error_log", ERROR_LOGS, Form::Words).tests(InTests::Never);
}
