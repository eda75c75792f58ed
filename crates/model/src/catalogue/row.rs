//! A row of the catalogue of directives, and a directive as it is written.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::time::Duration;

use super::{Contexts, Form};
use crate::{ByteSize, Ciphers, Origin, RewriteTarget, Text};

/// A version of nginx.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version(pub u16, pub u16, pub u16);

impl fmt::Display for Version {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}.{}.{}", self.0, self.1, self.2)
    }
}

impl Version {
    /// Reads `1.22.1`, also with what a distribution adds behind it.
    pub fn read(text: &str) -> Option<Self> {
        let mut numbers = text.split(|character: char| !character.is_ascii_digit()).map(str::parse);
        let mut number = || numbers.next()?.ok();
        Some(Version(number()?, number()?, number()?))
    }
}

/// The oldest supported version.
pub const OLDEST: Version = Version(1, 18, 0);

/// Modules of nginx that a build may lack.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Module {
    /// `ngx_http_proxy_module`.
    Proxy,
    /// `ngx_http_grpc_module`.
    Grpc,
    /// `ngx_http_fastcgi_module`.
    FastCgi,
    /// `ngx_http_access_module`.
    Access,
    /// `ngx_http_auth_basic_module`.
    AuthBasic,
    /// `ngx_http_auth_request_module`.
    AuthRequest,
    /// `ngx_http_limit_req_module`.
    LimitReq,
    /// `ngx_http_limit_conn_module`.
    LimitConn,
    /// `ngx_http_geo_module`.
    Geo,
    /// `ngx_http_map_module`.
    Map,
    /// `ngx_http_split_clients_module`.
    SplitClients,
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
    /// `ngx_http_upstream_hash_module`.
    UpstreamHash,
    /// `ngx_http_upstream_random_module`.
    UpstreamRandom,
    /// `ngx_http_upstream_keepalive_module`.
    UpstreamKeepalive,
    /// `ngx_http_mirror_module`.
    Mirror,
    /// `ngx_http_sub_module`.
    Sub,
    /// `ngx_http_gunzip_module`.
    Gunzip,
    /// `ngx_http_headers_more_filter_module`, a third-party module.
    HeadersMore,
    /// `ngx_http_brotli_filter_module`, a third-party module.
    Brotli,
    /// `ngx_http_modsecurity_module`, a third-party module.
    ModSecurity,
    /// `ngx_http_geoip2_module`, which is not either.
    GeoIp2,
    /// Threads beside the workers, by which files are read and written.
    Threads,
    /// `ngx_stream_module`: TCP and UDP.
    Stream,
    /// `ngx_stream_realip_module`.
    StreamRealIp,
    /// `ngx_stream_ssl_preread_module`.
    StreamSslPreread,
    /// `ngx_stream_map_module`.
    StreamMap,
    /// `ngx_stream_geo_module`.
    StreamGeo,
    /// `ngx_stream_upstream_random_module`.
    StreamUpstreamRandom,
}

/// Whether an annotation, or a key of a ConfigMap, can set the directive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AskedFor {
    /// It cannot.
    Never,
    /// For whole servers.
    ByServer,
    /// For single routes.
    ByRoute,
}

/// When the server template writes the directive without being asked by an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InTemplate {
    /// Never, or only when something asks for it.
    Never,
    /// In every server.
    Always,
    /// Where a route speaks gRPC.
    Grpc,
    /// When the host uses the detailed headers of the ingress-nginx dialect.
    Detailed,
}

/// What happens when the host's `http` level sets the directive, which servers would inherit.
#[derive(Debug, Clone, Copy)]
pub enum Inherited {
    /// It is inherited: it describes the host, or does not matter to our servers, or they always
    /// set it themselves.
    Stays,
    /// It is inherited, because a server cannot override it.
    Permanent,
    /// Our servers override it.
    TakenBack(Instead),
}

/// How a server overrides a directive of the `http` level.
#[derive(Debug, Clone, Copy)]
pub struct Instead {
    /// The overriding directive, when it is another one.
    pub by: Option<&'static DirectiveRow>,
    /// Its arguments, as they are written. The name of the instance is inserted behind `ingressd`.
    pub arguments: &'static str,
    /// Whether the host protects its sites by the directive, and may believe that ours are
    /// protected too.
    pub protects: bool,
    /// Whether it is overridden only in servers that request client certificates: inherited it
    /// would let other clients in, or none.
    pub of_client_certificates: bool,
}

/// Whether a scratch test of some of our files takes it from the host's configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InTests {
    /// As a directive that is not in the catalogue: from the `http` level, unless nginx refuses
    /// that.
    AsUsual,
    /// Always: without it a test could not read our files, or would use folders that are not its
    /// own.
    Always,
    /// Never: it belongs to the host's sites and logs.
    Never,
}

/// A directive of nginx, in the contexts where it has one meaning.
#[derive(Debug, Clone, Copy)]
pub struct DirectiveRow {
    pub name: &'static str,
    /// Where it may stand.
    pub contexts: Contexts,
    /// How it is written.
    pub form: Form,
    /// The first version that has it.
    pub since: Version,
    /// Its module; `None` for the core.
    pub module: Option<Module>,
    /// nginx's default, as it would be written; empty where it cannot be written.
    pub default: &'static str,
    /// Its counterpart for gRPC backends, if there is one.
    pub grpc: Option<&'static str>,
    /// Its counterpart for FastCGI, if there is one.
    pub fastcgi: Option<&'static str>,
    /// Whether leaving it out would remove a protection: the gate closes the route instead.
    pub security: bool,
    /// Whether an annotation or key can set it.
    pub asked_for: AskedFor,
    /// Whether a server may set it for all of its locations: it depends on no other directive, and
    /// the server template does not write it.
    pub is_shared: bool,
    /// Directives that it must not contradict, or nginx refuses it.
    pub contradicts: &'static [&'static str],
    /// When the server template writes it.
    pub in_template: InTemplate,
    /// What happens when the host's `http` level sets it.
    pub inherited: Inherited,
    /// Whether a scratch test of some of our files takes it from the host's configuration.
    pub in_tests: InTests,
}

impl DirectiveRow {
    /// Its name for the module that passes requests to a backend; `None` where it has no meaning
    /// for that.
    pub fn name_by(&self, module: Option<Module>) -> Option<&'static str> {
        match module {
            Some(Module::Grpc) if self.module == Some(Module::Proxy) => self.grpc,
            Some(Module::FastCgi) if self.module == Some(Module::Proxy) => self.fastcgi,
            _ => Some(self.name),
        }
    }

    pub(super) const fn new(name: &'static str, contexts: Contexts, form: Form) -> Self {
        DirectiveRow {
            name,
            contexts,
            form,
            since: OLDEST,
            module: None,
            default: "",
            grpc: None,
            fastcgi: None,
            security: false,
            asked_for: AskedFor::Never,
            is_shared: false,
            contradicts: &[],
            in_template: InTemplate::Never,
            inherited: Inherited::Stays,
            in_tests: InTests::AsUsual,
        }
    }

    pub(super) const fn of(self, module: Module) -> Self {
        DirectiveRow { module: Some(module), ..self }
    }

    pub(super) const fn since(self, since: Version) -> Self {
        DirectiveRow { since, ..self }
    }

    pub(super) const fn default(self, default: &'static str) -> Self {
        DirectiveRow { default, ..self }
    }

    pub(super) const fn grpc(self, name: &'static str) -> Self {
        DirectiveRow { grpc: Some(name), ..self }
    }

    pub(super) const fn fastcgi(self, name: &'static str) -> Self {
        DirectiveRow { fastcgi: Some(name), ..self }
    }

    pub(super) const fn by_route(self) -> Self {
        DirectiveRow { asked_for: AskedFor::ByRoute, ..self }
    }

    pub(super) const fn by_server(self) -> Self {
        DirectiveRow { asked_for: AskedFor::ByServer, ..self }
    }

    pub(super) const fn shared(self) -> Self {
        DirectiveRow { is_shared: true, ..self }
    }

    pub(super) const fn contradicts(self, contradicts: &'static [&'static str]) -> Self {
        DirectiveRow { contradicts, ..self }
    }

    pub(super) const fn in_template(self, in_template: InTemplate) -> Self {
        DirectiveRow { in_template, ..self }
    }

    pub(super) const fn tests(self, in_tests: InTests) -> Self {
        DirectiveRow { in_tests, ..self }
    }

    pub(super) const fn permanent(self) -> Self {
        DirectiveRow { inherited: Inherited::Permanent, ..self }
    }

    /// Servers set its default where the host sets something else.
    pub(super) const fn reset(self) -> Self {
        self.reset_to(self.default)
    }

    pub(super) const fn reset_to(self, arguments: &'static str) -> Self {
        let reset = Instead { by: None, arguments, protects: false, of_client_certificates: false };
        DirectiveRow { inherited: Inherited::TakenBack(reset), ..self }
    }

    /// The same for a directive that protects sites.
    pub(super) const fn protection(self, by: Option<&'static DirectiveRow>, arguments: &'static str) -> Self {
        let reset = Instead { by, arguments, protects: true, of_client_certificates: false };
        DirectiveRow { inherited: Inherited::TakenBack(reset), ..self }
    }

    /// The same for a directive that matters only where client certificates are requested.
    pub(super) const fn reset_of_client_certificates(self, arguments: &'static str) -> Self {
        let reset = Instead { by: None, arguments, protects: false, of_client_certificates: true };
        DirectiveRow { inherited: Inherited::TakenBack(reset), ..self }
    }
}

/// There is one row for each name in a context.
impl PartialEq for DirectiveRow {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name && self.contexts == other.contexts
    }
}

impl Eq for DirectiveRow {}

impl Hash for DirectiveRow {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name.hash(state);
    }
}

/// One argument of a directive.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Argument {
    /// A keyword of nginx.
    Word(&'static str),
    Number(u64),
    Size(ByteSize),
    Time(Duration),
    /// `on` or `off`.
    Switch(bool),
    Ciphers(Ciphers),
    /// Text of users.
    Text(Text),
    /// The same with groups of the path and variables.
    Target(RewriteTarget),
}

/// A directive with its arguments.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Directive {
    /// Which one.
    pub row: &'static DirectiveRow,
    pub arguments: Vec<Argument>,
    /// The field that asked for it.
    pub origin: Origin,
}

/// Declares rows, each as a constant and in the list of the file.
macro_rules! rows {
    ($($(#[$documentation:meta])* $visibility:vis $name:ident = $row:expr;)*) => {
        $($(#[$documentation])* $visibility static $name: DirectiveRow = $row;)*

        pub(super) static ROWS: &[&DirectiveRow] = &[$(&$name),*];
    };
}
pub(super) use rows;
