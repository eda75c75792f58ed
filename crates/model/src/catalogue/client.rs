//! Directives about requests of clients and their connections.

use super::context::{HTTP_SERVER, HTTP_TO_LOCATION, SERVER};
use super::{Contexts, DirectiveRow, Form, InTemplate, InTests, Module, Version, rows};

const fn row(name: &'static str, contexts: Contexts, form: Form) -> DirectiveRow {
    DirectiveRow::new(name, contexts, form)
}

rows! {
    /// The largest request body; 0 switches the check off.
    pub CLIENT_MAX_BODY_SIZE = row("client_max_body_size", HTTP_TO_LOCATION, Form::Size).default("1m").reset().by_route().shared();
    CHUNKED_TRANSFER_ENCODING = row("chunked_transfer_encoding", HTTP_TO_LOCATION, Form::Switch).default("on").reset();
    /// The buffer for a request body before it is written to a file.
    pub CLIENT_BODY_BUFFER_SIZE =
        row("client_body_buffer_size", HTTP_TO_LOCATION, Form::Size).default("16k").reset().by_route().in_template(InTemplate::Detailed);
    CLIENT_BODY_IN_FILE_ONLY = row("client_body_in_file_only", HTTP_TO_LOCATION, Form::Word).default("off").reset();
    CLIENT_BODY_TEMP_PATH = row("client_body_temp_path", HTTP_TO_LOCATION, Form::Words).tests(InTests::Always);
    /// The timeout between two parts of a request body.
    pub CLIENT_BODY_TIMEOUT = row("client_body_timeout", HTTP_TO_LOCATION, Form::Time).default("60s").by_server();
    /// The buffer for the head of a request.
    pub CLIENT_HEADER_BUFFER_SIZE = row("client_header_buffer_size", HTTP_SERVER, Form::Size).default("1k").by_server();
    /// The timeout for the head of a request.
    pub CLIENT_HEADER_TIMEOUT = row("client_header_timeout", HTTP_SERVER, Form::Time).default("60s").by_server();
    /// Whether headers with invalid names are dropped.
    pub IGNORE_INVALID_HEADERS = row("ignore_invalid_headers", HTTP_SERVER, Form::Switch).default("on").reset().by_server();
    /// How many requests a connection may have.
    pub KEEPALIVE_REQUESTS = row("keepalive_requests", HTTP_TO_LOCATION, Form::Number).default("1000").by_server();
    /// How long a connection may be idle.
    pub KEEPALIVE_TIMEOUT = row("keepalive_timeout", HTTP_TO_LOCATION, Form::Time).default("75s").by_server();
    /// How long a connection stays open after its last request at least, so that a request that is
    /// under way arrives.
    pub KEEPALIVE_MIN_TIMEOUT =
        row("keepalive_min_timeout", HTTP_TO_LOCATION, Form::Time).since(Version(1, 27, 4)).default("0s");
    /// The buffers for larger heads of requests.
    pub LARGE_CLIENT_HEADER_BUFFERS =
        row("large_client_header_buffers", HTTP_SERVER, Form::NumberAndSize).default("4 8k").by_server();
    MERGE_SLASHES = row("merge_slashes", HTTP_SERVER, Form::Switch).default("on").reset();
    MIRROR = row("mirror", HTTP_TO_LOCATION, Form::Word).of(Module::Mirror).default("off").reset();
    MIRROR_REQUEST_BODY = row("mirror_request_body", HTTP_TO_LOCATION, Form::Switch).of(Module::Mirror).default("on");
    /// Whether names of headers may have underscores.
    pub UNDERSCORES_IN_HEADERS = row("underscores_in_headers", HTTP_SERVER, Form::Switch).default("off").reset().by_server();
    REAL_IP_HEADER = row("real_ip_header", HTTP_TO_LOCATION, Form::Word).of(Module::RealIp).default("X-Real-IP");
    REAL_IP_RECURSIVE = row("real_ip_recursive", HTTP_TO_LOCATION, Form::Switch).of(Module::RealIp).default("off");
    SET_REAL_IP_FROM = row("set_real_ip_from", HTTP_TO_LOCATION, Form::Word).of(Module::RealIp);
    /// Whether a server offers HTTP/2; in earlier versions this is a parameter of `listen`.
    pub HTTP2 = row("http2", HTTP_SERVER, Form::Switch).of(Module::Http2).since(Version(1, 25, 1)).default("off");
    /// How many requests of a connection are handled at the same time.
    pub HTTP2_MAX_CONCURRENT_STREAMS =
        row("http2_max_concurrent_streams", HTTP_SERVER, Form::Number).of(Module::Http2).default("128").by_server();
    LISTEN = row("listen", SERVER, Form::Words);
    SERVER_NAME = row("server_name", SERVER, Form::Words);
}
