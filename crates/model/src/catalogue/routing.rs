//! Directives about routing: blocks, variables, and responses of nginx itself.

use super::context::{HTTP, HTTP_TO_IF, HTTP_TO_LOCATION, REWRITING};
use super::{Context, Contexts, DirectiveRow, Form, InTests, Module, Version, rows};

const fn row(name: &'static str, contexts: Contexts, form: Form) -> DirectiveRow {
    DirectiveRow::new(name, contexts, form)
}

const UPSTREAM: Contexts = Contexts::of(&[Context::Upstream]);

rows! {
    SERVER = row("server", Contexts::of(&[Context::Http, Context::Upstream]), Form::Any).tests(InTests::Never);
    LOCATION = row("location", Contexts::of(&[Context::Server, Context::Location]), Form::Block);
    UPSTREAM_BLOCK = row("upstream", HTTP, Form::Block).tests(InTests::Never);
    IF = row("if", Contexts::of(&[Context::Server, Context::Location]), Form::Block).of(Module::Rewrite);
    INCLUDE = row("include", Contexts::of(&[Context::Http, Context::Location]), Form::Path);
    INTERNAL = row("internal", Contexts::of(&[Context::Location]), Form::Nothing);
    BREAK = row("break", REWRITING, Form::Nothing).of(Module::Rewrite);
    RETURN = row("return", REWRITING, Form::Words).of(Module::Rewrite);
    REWRITE = row("rewrite", REWRITING, Form::Words).of(Module::Rewrite);
    SET = row("set", REWRITING, Form::Words).of(Module::Rewrite);
    GEO = row("geo", HTTP, Form::Block).of(Module::Geo);
    MAP = row("map", HTTP, Form::Block).of(Module::Map);
    /// A variable that takes each value for a share of the requests.
    pub SPLIT_CLIENTS = row("split_clients", HTTP, Form::Block).of(Module::SplitClients);
    /// Selects endpoints by a key.
    pub HASH = row("hash", UPSTREAM, Form::Words).of(Module::UpstreamHash);
    /// Selects endpoints at random.
    pub RANDOM = row("random", UPSTREAM, Form::Words).of(Module::UpstreamRandom);
    /// How long a connection to an endpoint is used.
    pub KEEPALIVE_TIME =
        row("keepalive_time", UPSTREAM, Form::Time).of(Module::UpstreamKeepalive).since(Version(1, 19, 10)).default("1h");
    UPSTREAM_KEEPALIVE_TIMEOUT =
        row("keepalive_timeout", UPSTREAM, Form::Time).of(Module::UpstreamKeepalive).default("60s");
    /// The number of idle connections to endpoints.
    pub KEEPALIVE = row("keepalive", UPSTREAM, Form::Words).of(Module::UpstreamKeepalive);
    UPSTREAM_KEEPALIVE_REQUESTS = row("keepalive_requests", UPSTREAM, Form::Number).of(Module::UpstreamKeepalive);
    /// The counters of connections.
    pub STUB_STATUS = row("stub_status", Contexts::of(&[Context::Server, Context::Location]), Form::Nothing).of(Module::StubStatus);
    SERVER_NAMES_HASH_BUCKET_SIZE = row("server_names_hash_bucket_size", HTTP, Form::Size);
    SERVER_NAMES_HASH_MAX_SIZE = row("server_names_hash_max_size", HTTP, Form::Size).default("512");
    VARIABLES_HASH_BUCKET_SIZE = row("variables_hash_bucket_size", HTTP, Form::Size).default("64");
    VARIABLES_HASH_MAX_SIZE = row("variables_hash_max_size", HTTP, Form::Size).default("1024");
    /// Whether requests are logged, and where.
    pub ACCESS_LOG = row("access_log", HTTP_TO_IF, Form::Words).default("logs/access.log").tests(InTests::Never).by_route();
    LOG_SUBREQUEST = row("log_subrequest", HTTP_TO_LOCATION, Form::Switch).default("off");
    /// Whether the rewriting of paths is logged in the error log.
    pub REWRITE_LOG = row("rewrite_log", HTTP_TO_IF, Form::Switch).of(Module::Rewrite).default("off").by_route();
    LOG_FORMAT = row("log_format", HTTP, Form::Words);
}
