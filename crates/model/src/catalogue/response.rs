//! Directives about responses. The status 599 is never used, so one `error_page` for it overrides
//! all of the `http` level.

use super::context::{HTTP_TO_IF, HTTP_TO_LOCATION};
use super::{Contexts, DirectiveRow, Form, InTemplate, Module, Version, rows};

const fn row(name: &'static str, contexts: Contexts, form: Form) -> DirectiveRow {
    DirectiveRow::new(name, contexts, form)
}

/// A header that is never sent: a list with this header only replaces the list of the `http` level
/// and has no effect.
const NO_HEADER: &str = "X-Ingressd-None \"\"";

rows! {
    /// Whether nginx's own redirects have scheme and host.
    pub ABSOLUTE_REDIRECT = row("absolute_redirect", HTTP_TO_LOCATION, Form::Switch).default("on").reset().by_route();
    ADD_AFTER_BODY = row("add_after_body", HTTP_TO_LOCATION, Form::Text).reset_to("\"\"");
    ADD_BEFORE_BODY = row("add_before_body", HTTP_TO_LOCATION, Form::Text).reset_to("\"\"");
    ADD_HEADER = row("add_header", HTTP_TO_IF, Form::Words).reset_to(NO_HEADER);
    ADD_HEADER_INHERIT = row("add_header_inherit", HTTP_TO_IF, Form::Word).since(Version(1, 29, 3)).default("on").reset();
    // The list could be replaced by one without effect, but then every response would be chunked.
    ADD_TRAILER = row("add_trailer", HTTP_TO_IF, Form::Words).permanent();
    /// How files are read and written; only `threads` leaves the worker free meanwhile.
    pub AIO = row("aio", HTTP_TO_LOCATION, Form::Word).of(Module::Threads).default("off").by_server();
    /// Whether files of answers that do not fit into memory are written so.
    pub AIO_WRITE = row("aio_write", HTTP_TO_LOCATION, Form::Switch).of(Module::Threads).default("off").by_server();
    CHARSET = row("charset", HTTP_TO_IF, Form::Word).default("off").reset();
    /// What nginx says of answers whose type it does not know.
    pub DEFAULT_TYPE = row("default_type", HTTP_TO_LOCATION, Form::Word).default("text/plain").in_template(InTemplate::Always);
    ERROR_PAGE = row("error_page", HTTP_TO_IF, Form::Words).reset_to("599 /");
    RECURSIVE_ERROR_PAGES = row("recursive_error_pages", HTTP_TO_LOCATION, Form::Switch).default("off").reset();
    EXPIRES = row("expires", HTTP_TO_IF, Form::Words).default("off").reset();
    GUNZIP = row("gunzip", HTTP_TO_LOCATION, Form::Switch).of(Module::Gunzip).default("off").reset();
    /// Whether responses are compressed.
    pub GZIP = row("gzip", HTTP_TO_IF, Form::Switch).default("off").reset().by_server();
    /// The compression level.
    pub GZIP_COMP_LEVEL = row("gzip_comp_level", HTTP_TO_LOCATION, Form::Number).default("1").by_server();
    GZIP_DISABLE = row("gzip_disable", HTTP_TO_LOCATION, Form::Words);
    /// The smallest response that is compressed.
    pub GZIP_MIN_LENGTH = row("gzip_min_length", HTTP_TO_LOCATION, Form::Number).default("20").by_server();
    /// Whether responses to proxies are compressed.
    pub GZIP_PROXIED = row("gzip_proxied", HTTP_TO_LOCATION, Form::Words).default("off").by_server();
    /// The media types that are compressed.
    pub GZIP_TYPES = row("gzip_types", HTTP_TO_LOCATION, Form::Words).default("text/html").by_server();
    /// Whether `Vary: Accept-Encoding` is set.
    pub GZIP_VARY = row("gzip_vary", HTTP_TO_LOCATION, Form::Switch).default("off").by_server();
    /// Whether nginx's own redirects have the port of the connection.
    pub PORT_IN_REDIRECT = row("port_in_redirect", HTTP_TO_LOCATION, Form::Switch).default("on").in_template(InTemplate::Always).by_route();
    SERVER_NAME_IN_REDIRECT = row("server_name_in_redirect", HTTP_TO_LOCATION, Form::Switch).default("off").reset();
    SERVER_TOKENS = row("server_tokens", HTTP_TO_LOCATION, Form::Word).default("on").in_template(InTemplate::Always);
    SLICE = row("slice", HTTP_TO_LOCATION, Form::Size).default("0").reset();
    SSI = row("ssi", HTTP_TO_IF, Form::Switch).default("off").reset();
    SUB_FILTER = row("sub_filter", HTTP_TO_LOCATION, Form::Words).of(Module::Sub).permanent();
    SUB_FILTER_LAST_MODIFIED =
        row("sub_filter_last_modified", HTTP_TO_LOCATION, Form::Switch).of(Module::Sub).default("off");
    SUB_FILTER_ONCE = row("sub_filter_once", HTTP_TO_LOCATION, Form::Switch).of(Module::Sub).default("on");
    SUB_FILTER_TYPES = row("sub_filter_types", HTTP_TO_LOCATION, Form::Words).of(Module::Sub).default("text/html");
    USERID = row("userid", HTTP_TO_LOCATION, Form::Word).default("off").reset();
}
