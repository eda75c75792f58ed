//! The directives of nginx that a plain setting may become: since when, where, from which module; nothing of who asks.
//!
//! Gate, rendering, documentation and tests follow from these rows. What needs more than one directive is a
//! structured part of [`Behaviour`](super::Behaviour) instead.

use std::fmt;
use std::time::Duration;

use super::{ByteSize, Ciphers, Origin, Text};

/// A version of nginx.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version(pub u16, pub u16, pub u16);

impl fmt::Display for Version {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}.{}.{}", self.0, self.1, self.2)
    }
}

/// Parts of nginx that a build may lack.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Module {
    /// `ngx_http_proxy_module`.
    Proxy,
    /// `ngx_http_grpc_module`.
    Grpc,
    /// `ngx_http_access_module`.
    Access,
    /// `ngx_http_auth_basic_module`.
    AuthBasic,
    /// `ngx_http_limit_req_module`.
    LimitReq,
    /// `ngx_http_limit_conn_module`.
    LimitConn,
    /// `ngx_http_geo_module`.
    Geo,
    /// `ngx_http_map_module`.
    Map,
    /// `ngx_http_rewrite_module`.
    Rewrite,
    /// `ngx_http_realip_module`.
    RealIp,
    /// `ngx_http_ssl_module`.
    Ssl,
    /// `ngx_http_v2_module`.
    Http2,
    /// `ngx_http_stub_status_module`.
    StubStatus,
    /// `ngx_http_upstream_keepalive_module`.
    UpstreamKeepalive,
    /// `ngx_stream_module`: TCP and UDP.
    Stream,
    /// `ngx_stream_realip_module`.
    StreamRealIp,
}

/// A directive of nginx.
#[derive(Debug, PartialEq, Eq, Hash)]
pub struct DirectiveRow {
    /// Its name.
    pub name: &'static str,
    /// The first version that has it.
    pub since: Version,
    /// The module that brings it; `None` for the core.
    pub module: Option<Module>,
    /// Its twin for gRPC backends, where there is one.
    pub grpc: Option<&'static str>,
    /// Leaving it out would open something: the gate closes the route instead.
    pub security: bool,
}

/// One argument of a directive.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Argument {
    /// A keyword of nginx.
    Word(&'static str),
    /// A number.
    Number(u64),
    /// A size.
    Size(ByteSize),
    /// A time.
    Time(Duration),
    /// `on` or `off`.
    Switch(bool),
    /// Ciphers.
    Ciphers(Ciphers),
    /// Text of users.
    Text(Text),
}

/// A directive with its arguments.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Directive {
    /// Which one.
    pub row: &'static DirectiveRow,
    /// Its arguments.
    pub arguments: Vec<Argument>,
    /// The field that asked for it.
    pub origin: Origin,
}

const ANY: Version = Version(1, 18, 0);

const fn proxy(name: &'static str, grpc: Option<&'static str>) -> DirectiveRow {
    DirectiveRow { name, since: ANY, module: Some(Module::Proxy), grpc, security: false }
}

/// Largest request body; 0 switches the check off.
pub static CLIENT_MAX_BODY_SIZE: DirectiveRow =
    DirectiveRow { name: "client_max_body_size", since: ANY, module: None, grpc: None, security: false };
/// Memory for a request body before it goes to a file.
pub static CLIENT_BODY_BUFFER_SIZE: DirectiveRow =
    DirectiveRow { name: "client_body_buffer_size", since: ANY, module: None, grpc: None, security: false };
/// Time to connect to an endpoint.
pub static PROXY_CONNECT_TIMEOUT: DirectiveRow = proxy("proxy_connect_timeout", Some("grpc_connect_timeout"));
/// Time between two reads from an endpoint.
pub static PROXY_READ_TIMEOUT: DirectiveRow = proxy("proxy_read_timeout", Some("grpc_read_timeout"));
/// Time between two writes to an endpoint.
pub static PROXY_SEND_TIMEOUT: DirectiveRow = proxy("proxy_send_timeout", Some("grpc_send_timeout"));
/// Whether answers are collected before they go to the client.
pub static PROXY_BUFFERING: DirectiveRow = proxy("proxy_buffering", None);
/// Buffer for the head of an answer.
pub static PROXY_BUFFER_SIZE: DirectiveRow = proxy("proxy_buffer_size", Some("grpc_buffer_size"));
/// Number and size of the buffers for one answer.
pub static PROXY_BUFFERS: DirectiveRow = proxy("proxy_buffers", None);
/// How much may be on its way to the client while the answer is still being read.
pub static PROXY_BUSY_BUFFERS_SIZE: DirectiveRow = proxy("proxy_busy_buffers_size", None);
/// Largest temporary file for an answer.
pub static PROXY_MAX_TEMP_FILE_SIZE: DirectiveRow = proxy("proxy_max_temp_file_size", None);
/// Whether request bodies are read completely before an endpoint is asked.
pub static PROXY_REQUEST_BUFFERING: DirectiveRow = proxy("proxy_request_buffering", None);
/// Protocol version towards endpoints.
pub static PROXY_HTTP_VERSION: DirectiveRow = proxy("proxy_http_version", None);
/// When another endpoint is tried.
pub static PROXY_NEXT_UPSTREAM: DirectiveRow = proxy("proxy_next_upstream", Some("grpc_next_upstream"));
/// Time limit for trying other endpoints.
pub static PROXY_NEXT_UPSTREAM_TIMEOUT: DirectiveRow =
    proxy("proxy_next_upstream_timeout", Some("grpc_next_upstream_timeout"));
/// How many endpoints are tried.
pub static PROXY_NEXT_UPSTREAM_TRIES: DirectiveRow =
    proxy("proxy_next_upstream_tries", Some("grpc_next_upstream_tries"));

/// Changes `Domain` of the cookies of backends.
pub static PROXY_COOKIE_DOMAIN: DirectiveRow = proxy("proxy_cookie_domain", None);
/// Changes `Path` of the cookies of backends.
pub static PROXY_COOKIE_PATH: DirectiveRow = proxy("proxy_cookie_path", None);
/// Changes redirects of backends.
pub static PROXY_REDIRECT: DirectiveRow = proxy("proxy_redirect", None);
/// Whether redirects of nginx's own have scheme and host.
pub static ABSOLUTE_REDIRECT: DirectiveRow = client("absolute_redirect");
/// Bytes a second of an answer.
pub static LIMIT_RATE: DirectiveRow = client("limit_rate");
/// How much of an answer is sent before that counts.
pub static LIMIT_RATE_AFTER: DirectiveRow = client("limit_rate_after");
/// Whether redirects of nginx's own have the port of the connection.
pub static PORT_IN_REDIRECT: DirectiveRow = client("port_in_redirect");

/// Whether requests are logged, and where.
pub static ACCESS_LOG: DirectiveRow = client("access_log");
/// Whether what becomes of paths is told in the error log.
pub static REWRITE_LOG: DirectiveRow = DirectiveRow { module: Some(Module::Rewrite), ..client("rewrite_log") };

const fn client(name: &'static str) -> DirectiveRow {
    DirectiveRow { name, since: ANY, module: None, grpc: None, security: false }
}

const fn ssl(name: &'static str) -> DirectiveRow {
    DirectiveRow { module: Some(Module::Ssl), ..client(name) }
}

/// Time for the next part of a request body to come.
pub static CLIENT_BODY_TIMEOUT: DirectiveRow = client("client_body_timeout");
/// Buffer for the head of a request.
pub static CLIENT_HEADER_BUFFER_SIZE: DirectiveRow = client("client_header_buffer_size");
/// Time for the head of a request to come.
pub static CLIENT_HEADER_TIMEOUT: DirectiveRow = client("client_header_timeout");
/// Whether headers with names that nginx holds to be invalid are dropped.
pub static IGNORE_INVALID_HEADERS: DirectiveRow = client("ignore_invalid_headers");
/// How many requests a connection may have.
pub static KEEPALIVE_REQUESTS: DirectiveRow = client("keepalive_requests");
/// How long a connection may be idle.
pub static KEEPALIVE_TIMEOUT: DirectiveRow = client("keepalive_timeout");
/// Buffers for heads of requests that are larger.
pub static LARGE_CLIENT_HEADER_BUFFERS: DirectiveRow = client("large_client_header_buffers");
/// Ciphers of clients, up to TLS 1.2.
pub static SSL_CIPHERS: DirectiveRow = ssl("ssl_ciphers");
/// Whether the order of our ciphers counts, and not that of the client.
pub static SSL_PREFER_SERVER_CIPHERS: DirectiveRow = ssl("ssl_prefer_server_ciphers");
/// Whether names of headers may have underscores.
pub static UNDERSCORES_IN_HEADERS: DirectiveRow = client("underscores_in_headers");

/// How answers are gathered for TLS.
pub static SSL_BUFFER_SIZE: DirectiveRow = ssl("ssl_buffer_size");
/// Curves of clients.
pub static SSL_ECDH_CURVE: DirectiveRow = ssl("ssl_ecdh_curve");
/// Whether requests may come with the first message of TLS 1.3, which anybody may send again.
pub static SSL_EARLY_DATA: DirectiveRow = ssl("ssl_early_data");
/// Whether clients that ask for no host that is known are turned away before a certificate is shown.
pub static SSL_REJECT_HANDSHAKE: DirectiveRow =
    DirectiveRow { since: Version(1, 19, 4), ..ssl("ssl_reject_handshake") };
/// How many requests of a connection are answered at once.
pub static HTTP2_MAX_CONCURRENT_STREAMS: DirectiveRow =
    DirectiveRow { module: Some(Module::Http2), ..client("http2_max_concurrent_streams") };
/// Headers of backends that nginx would replace.
pub static PROXY_PASS_HEADER: DirectiveRow = proxy("proxy_pass_header", None);
/// The same of gRPC.
pub static GRPC_PASS_HEADER: DirectiveRow = DirectiveRow { module: Some(Module::Grpc), ..client("grpc_pass_header") };
/// Whether answers are compressed.
pub static GZIP: DirectiveRow = client("gzip");
/// How much.
pub static GZIP_COMP_LEVEL: DirectiveRow = client("gzip_comp_level");
/// From which size.
pub static GZIP_MIN_LENGTH: DirectiveRow = client("gzip_min_length");
/// Whether answers to proxies are.
pub static GZIP_PROXIED: DirectiveRow = client("gzip_proxied");
/// Of which media types.
pub static GZIP_TYPES: DirectiveRow = client("gzip_types");
/// Whether caches are told that it depends on the client.
pub static GZIP_VARY: DirectiveRow = client("gzip_vary");

/// Rows of whole servers, which no route sets for itself, sorted by name.
pub static OF_SERVERS: &[&DirectiveRow] = &[
    &CLIENT_BODY_TIMEOUT,
    &CLIENT_HEADER_BUFFER_SIZE,
    &CLIENT_HEADER_TIMEOUT,
    &GRPC_PASS_HEADER,
    &GZIP,
    &GZIP_COMP_LEVEL,
    &GZIP_MIN_LENGTH,
    &GZIP_PROXIED,
    &GZIP_TYPES,
    &GZIP_VARY,
    &HTTP2_MAX_CONCURRENT_STREAMS,
    &IGNORE_INVALID_HEADERS,
    &KEEPALIVE_REQUESTS,
    &KEEPALIVE_TIMEOUT,
    &LARGE_CLIENT_HEADER_BUFFERS,
    &PROXY_PASS_HEADER,
    &SSL_BUFFER_SIZE,
    &SSL_CIPHERS,
    &SSL_EARLY_DATA,
    &SSL_ECDH_CURVE,
    &SSL_PREFER_SERVER_CIPHERS,
    &SSL_REJECT_HANDSHAKE,
    &UNDERSCORES_IN_HEADERS,
];

/// Rows of routes, sorted by name.
pub static ALL: &[&DirectiveRow] = &[
    &ABSOLUTE_REDIRECT,
    &ACCESS_LOG,
    &CLIENT_BODY_BUFFER_SIZE,
    &CLIENT_MAX_BODY_SIZE,
    &LIMIT_RATE,
    &LIMIT_RATE_AFTER,
    &PORT_IN_REDIRECT,
    &PROXY_BUFFER_SIZE,
    &PROXY_BUFFERING,
    &PROXY_BUFFERS,
    &PROXY_BUSY_BUFFERS_SIZE,
    &PROXY_CONNECT_TIMEOUT,
    &PROXY_COOKIE_DOMAIN,
    &PROXY_COOKIE_PATH,
    &PROXY_HTTP_VERSION,
    &PROXY_MAX_TEMP_FILE_SIZE,
    &PROXY_NEXT_UPSTREAM,
    &PROXY_NEXT_UPSTREAM_TIMEOUT,
    &PROXY_NEXT_UPSTREAM_TRIES,
    &PROXY_READ_TIMEOUT,
    &PROXY_REDIRECT,
    &PROXY_REQUEST_BUFFERING,
    &PROXY_SEND_TIMEOUT,
    &REWRITE_LOG,
];
