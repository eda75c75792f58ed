//! Directives about HTTP backends.

use super::context::{HTTP, HTTP_TO_IF, HTTP_TO_LOCATION};
use super::{Context, Contexts, DirectiveRow, Form, InTemplate, InTests, Module, Version, rows};

const fn row(name: &'static str, form: Form) -> DirectiveRow {
    DirectiveRow::new(name, HTTP_TO_LOCATION, form).of(Module::Proxy)
}

const LOCATIONS: Contexts = Contexts::of(&[Context::Location, Context::LocationIf]);

/// A header that is never sent: a list with this header only replaces the list of the `http` level
/// and has no effect.
const NO_HEADER: &str = "X-Ingressd-None";

/// A variable that is always empty; see
/// [`CERTIFICATES_BY_VARIABLE`](super::CERTIFICATES_BY_VARIABLE).
pub const NO_CERTIFICATE: &str = "$ingressd\u{2}_nothing";

rows! {
    PROXY_BIND = row("proxy_bind", Form::Words).default("off").reset();
    /// The buffer for the head of a response.
    pub PROXY_BUFFER_SIZE = row("proxy_buffer_size", Form::Size)
        .default("4k")
        .fastcgi("fastcgi_buffer_size")
        .grpc("grpc_buffer_size")
        .contradicts(&["proxy_buffers", "proxy_busy_buffers_size", "proxy_max_temp_file_size"])
        .reset()
        .by_route()
        .in_template(InTemplate::Detailed);
    /// Whether responses are buffered before they are sent to the client.
    pub PROXY_BUFFERING = row("proxy_buffering", Form::Switch).default("on").fastcgi("fastcgi_buffering").reset().by_route().in_template(InTemplate::Detailed);
    /// The number and size of the buffers for one response.
    pub PROXY_BUFFERS = row("proxy_buffers", Form::NumberAndSize)
        .default("8 4k")
        .fastcgi("fastcgi_buffers")
        .contradicts(&["proxy_buffer_size", "proxy_busy_buffers_size", "proxy_max_temp_file_size"])
        .reset()
        .by_route()
        .in_template(InTemplate::Detailed);
    /// How much may be on its way to the client while the response is still being read.
    pub PROXY_BUSY_BUFFERS_SIZE = row("proxy_busy_buffers_size", Form::Size)
        .default("8k")
        .fastcgi("fastcgi_busy_buffers_size")
        .contradicts(&["proxy_buffer_size", "proxy_buffers"])
        .reset()
        .by_route();
    PROXY_CACHE = row("proxy_cache", Form::Word).default("off").reset();
    PROXY_CACHE_KEY = row("proxy_cache_key", Form::Text);
    PROXY_CACHE_PATH = DirectiveRow::new("proxy_cache_path", HTTP, Form::Words).of(Module::Proxy);
    PROXY_CACHE_VALID = row("proxy_cache_valid", Form::Words);
    /// The timeout for connecting to an endpoint.
    pub PROXY_CONNECT_TIMEOUT =
        row("proxy_connect_timeout", Form::Time).default("60s").fastcgi("fastcgi_connect_timeout").grpc("grpc_connect_timeout").by_route().in_template(InTemplate::Always);
    /// Changes the `Domain` of backends' cookies.
    pub PROXY_COOKIE_DOMAIN = row("proxy_cookie_domain", Form::Words).default("off").reset().by_route();
    PROXY_COOKIE_FLAGS = row("proxy_cookie_flags", Form::Words).since(Version(1, 19, 3)).default("off").reset();
    /// Changes the `Path` of backends' cookies.
    pub PROXY_COOKIE_PATH = row("proxy_cookie_path", Form::Words).default("off").reset().by_route();
    PROXY_FORCE_RANGES = row("proxy_force_ranges", Form::Switch).default("off").reset();
    PROXY_HEADERS_HASH_BUCKET_SIZE = row("proxy_headers_hash_bucket_size", Form::Size).default("64").in_template(InTemplate::Always);
    PROXY_HEADERS_HASH_MAX_SIZE = row("proxy_headers_hash_max_size", Form::Size).default("512").reset();
    PROXY_HIDE_HEADER = row("proxy_hide_header", Form::Word).reset_to(NO_HEADER);
    /// The protocol version towards endpoints.
    pub PROXY_HTTP_VERSION = row("proxy_http_version", Form::Word).default("1.0").by_route().in_template(InTemplate::Always);
    PROXY_IGNORE_CLIENT_ABORT = row("proxy_ignore_client_abort", Form::Switch).default("off").reset();
    // The list cannot be empty; this header is one that no backend sends.
    PROXY_IGNORE_HEADERS = row("proxy_ignore_headers", Form::Words).in_template(InTemplate::Always);
    PROXY_INTERCEPT_ERRORS = row("proxy_intercept_errors", Form::Switch).default("off").reset();
    PROXY_LIMIT_RATE = row("proxy_limit_rate", Form::Size).default("0").reset();
    /// The largest temporary file for a response.
    pub PROXY_MAX_TEMP_FILE_SIZE = row("proxy_max_temp_file_size", Form::Size)
        .default("1024m")
        .fastcgi("fastcgi_max_temp_file_size")
        .contradicts(&["proxy_buffer_size", "proxy_buffers"])
        .reset()
        .by_route();
    PROXY_METHOD = row("proxy_method", Form::Text).reset_to("$request_method");
    /// When another endpoint is tried.
    pub PROXY_NEXT_UPSTREAM =
        row("proxy_next_upstream", Form::Words).default("error timeout").fastcgi("fastcgi_next_upstream").grpc("grpc_next_upstream").reset().by_route().shared();
    /// The time limit for trying other endpoints.
    pub PROXY_NEXT_UPSTREAM_TIMEOUT =
        row("proxy_next_upstream_timeout", Form::Time).default("0").fastcgi("fastcgi_next_upstream_timeout").grpc("grpc_next_upstream_timeout").reset().by_route().shared();
    /// How many endpoints are tried.
    pub PROXY_NEXT_UPSTREAM_TRIES = row("proxy_next_upstream_tries", Form::Number)
        .default("0")
        .fastcgi("fastcgi_next_upstream_tries")
        .grpc("grpc_next_upstream_tries")
        .by_route()
        .in_template(InTemplate::Always);
    PROXY_PASS = DirectiveRow::new("proxy_pass", LOCATIONS, Form::Text).of(Module::Proxy);
    /// Headers of backends that nginx would replace otherwise.
    pub PROXY_PASS_HEADER = row("proxy_pass_header", Form::Word).default(NO_HEADER).reset().by_server();
    PROXY_PASS_REQUEST_BODY = row("proxy_pass_request_body", Form::Switch).default("on").reset();
    PROXY_PASS_REQUEST_HEADERS = row("proxy_pass_request_headers", Form::Switch).default("on").reset();
    /// The timeout between two reads from an endpoint.
    pub PROXY_READ_TIMEOUT = row("proxy_read_timeout", Form::Time).default("60s").fastcgi("fastcgi_read_timeout").grpc("grpc_read_timeout").reset().by_route().shared();
    /// Changes the redirects of backends.
    pub PROXY_REDIRECT = row("proxy_redirect", Form::Words).default("default").in_template(InTemplate::Always).by_route();
    /// Whether request bodies are read completely before an endpoint is contacted.
    pub PROXY_REQUEST_BUFFERING = row("proxy_request_buffering", Form::Switch).default("on").fastcgi("fastcgi_request_buffering").reset().by_route().shared();
    /// The timeout between two writes to an endpoint.
    pub PROXY_SEND_TIMEOUT = row("proxy_send_timeout", Form::Time).default("60s").fastcgi("fastcgi_send_timeout").grpc("grpc_send_timeout").reset().by_route().shared();
    PROXY_SET_BODY = row("proxy_set_body", Form::Text).permanent();
    PROXY_SET_HEADER = row("proxy_set_header", Form::Words).in_template(InTemplate::Always);
    PROXY_SSL_CERTIFICATE = row("proxy_ssl_certificate", Form::Path).reset_to(NO_CERTIFICATE);
    PROXY_SSL_CERTIFICATE_KEY = row("proxy_ssl_certificate_key", Form::Path);
    PROXY_SSL_CIPHERS = row("proxy_ssl_ciphers", Form::Text).default("DEFAULT");
    PROXY_SSL_NAME = row("proxy_ssl_name", Form::Text);
    PROXY_SSL_PROTOCOLS = row("proxy_ssl_protocols", Form::Words).default("TLSv1.2 TLSv1.3");
    PROXY_SSL_SERVER_NAME = row("proxy_ssl_server_name", Form::Switch).default("off");
    PROXY_SSL_TRUSTED_CERTIFICATE = row("proxy_ssl_trusted_certificate", Form::Path);
    // Where a variable names the backend, nginx requires the CA file even without TLS.
    PROXY_SSL_VERIFY = row("proxy_ssl_verify", Form::Switch).default("off").reset();
    PROXY_SSL_VERIFY_DEPTH = row("proxy_ssl_verify_depth", Form::Number).default("1");
    PROXY_STORE = row("proxy_store", Form::Word).default("off").reset();
    PROXY_TEMP_FILE_WRITE_SIZE = row("proxy_temp_file_write_size", Form::Size).default("8k").reset();
    PROXY_TEMP_PATH = row("proxy_temp_path", Form::Words).tests(InTests::Always);
    UNINITIALIZED_VARIABLE_WARN = DirectiveRow::new("uninitialized_variable_warn", HTTP_TO_IF, Form::Switch)
        .of(Module::Rewrite)
        .default("on");
}
