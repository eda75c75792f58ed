//! Directives about TCP and UDP services.

use super::{Context, Contexts, DirectiveRow, Form, InTests, Module, Version, rows};

const fn row(name: &'static str, contexts: Contexts, form: Form) -> DirectiveRow {
    DirectiveRow::new(name, contexts, form).of(Module::Stream)
}

const STREAM: Contexts = Contexts::of(&[Context::Stream]);
const SERVER: Contexts = Contexts::of(&[Context::StreamServer]);
const BOTH: Contexts = Contexts::of(&[Context::Stream, Context::StreamServer]);

rows! {
    STREAM_BLOCK_SERVER = row("server", Contexts::of(&[Context::Stream, Context::StreamUpstream]), Form::Any);
    STREAM_ACCESS_LOG = row("access_log", BOTH, Form::Words).default("off").tests(InTests::Never);
    STREAM_LOG_FORMAT = row("log_format", STREAM, Form::Words);
    STREAM_UPSTREAM = row("upstream", STREAM, Form::Block);
    /// Selects endpoints at random.
    pub STREAM_RANDOM = row("random", Contexts::of(&[Context::StreamUpstream]), Form::Words).of(Module::StreamUpstreamRandom);
    STREAM_LISTEN = row("listen", SERVER, Form::Words);
    STREAM_SET_REAL_IP_FROM = row("set_real_ip_from", BOTH, Form::Word).of(Module::StreamRealIp);
    STREAM_PROXY_TIMEOUT = row("proxy_timeout", BOTH, Form::Time).default("10m");
    STREAM_PROXY_NEXT_UPSTREAM = row("proxy_next_upstream", BOTH, Form::Switch).default("on");
    STREAM_PROXY_NEXT_UPSTREAM_TIMEOUT = row("proxy_next_upstream_timeout", BOTH, Form::Time).default("0");
    STREAM_PROXY_NEXT_UPSTREAM_TRIES = row("proxy_next_upstream_tries", BOTH, Form::Number).default("0");
    STREAM_PROXY_RESPONSES = row("proxy_responses", BOTH, Form::Number);
    STREAM_PROXY_PROTOCOL = row("proxy_protocol", BOTH, Form::Switch).default("off");
    STREAM_PROXY_PROTOCOL_TIMEOUT = row("proxy_protocol_timeout", BOTH, Form::Time).default("30s");
    STREAM_SSL_PREREAD = row("ssl_preread", BOTH, Form::Switch).of(Module::StreamSslPreread).default("off");
    STREAM_MAP = row("map", STREAM, Form::Block).of(Module::StreamMap);
    STREAM_MAP_HASH_MAX_SIZE = row("map_hash_max_size", STREAM, Form::Number).of(Module::StreamMap);
    STREAM_MAP_HASH_BUCKET_SIZE = row("map_hash_bucket_size", STREAM, Form::Number).of(Module::StreamMap);
    STREAM_GEO = row("geo", STREAM, Form::Block).of(Module::StreamGeo);
    STREAM_ALLOW = row("allow", BOTH, Form::Word);
    STREAM_DENY = row("deny", BOTH, Form::Word);
    STREAM_PREREAD_BUFFER_SIZE = row("preread_buffer_size", BOTH, Form::Size).default("16k");
    STREAM_PREREAD_TIMEOUT = row("preread_timeout", BOTH, Form::Time).default("30s");
    STREAM_PROXY_BUFFER_SIZE = row("proxy_buffer_size", BOTH, Form::Size).default("16k");
    STREAM_PROXY_CONNECT_TIMEOUT = row("proxy_connect_timeout", BOTH, Form::Time).default("60s");
    STREAM_PROXY_DOWNLOAD_RATE = row("proxy_download_rate", BOTH, Form::Size).default("0");
    STREAM_PROXY_HALF_CLOSE = row("proxy_half_close", BOTH, Form::Switch).since(Version(1, 21, 4)).default("off");
    STREAM_PROXY_REQUESTS = row("proxy_requests", BOTH, Form::Number).default("0");
    STREAM_PROXY_SOCKET_KEEPALIVE = row("proxy_socket_keepalive", BOTH, Form::Switch).default("off");
    STREAM_PROXY_UPLOAD_RATE = row("proxy_upload_rate", BOTH, Form::Size).default("0");
    STREAM_TCP_NODELAY = row("tcp_nodelay", BOTH, Form::Switch).default("on");
    STREAM_PROXY_PASS = row("proxy_pass", SERVER, Form::Text);
}
