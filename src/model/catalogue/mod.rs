//! What is known about directives of nginx: where they may stand, since when, from which module, how they are written, what the host's
//! `http` level may say about them; nothing of who asks for one.
//!
//! Gate, rendering, scratch tests, doctor, documentation and tests follow from these rows. What needs more than one directive is a
//! structured part of [`Behaviour`](super::Behaviour) instead.

mod access;
mod client;
mod context;
mod fastcgi;
mod foreign;
mod form;
mod grpc;
mod main;
mod proxy;
mod response;
mod routing;
mod stream;
mod tls;

use std::fmt;
use std::hash::{Hash, Hasher};
use std::time::Duration;

pub use access::*;
pub use client::*;
pub use context::{Context, Contexts};
pub use foreign::*;
pub use form::Form;
pub use grpc::*;
pub(crate) use main::EVENTS;
pub use proxy::*;
pub use response::*;
pub use routing::*;
pub use tls::*;

use super::{ByteSize, Ciphers, Origin, Text};

/// A version of nginx.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version(pub u16, pub u16, pub u16);

impl fmt::Display for Version {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}.{}.{}", self.0, self.1, self.2)
    }
}

/// The oldest version that is known to do what is needed.
pub const OLDEST: Version = Version(1, 18, 0);

/// Parts of nginx that a build may lack.
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
    /// `ngx_http_upstream_least_conn_module`.
    UpstreamLeastConn,
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
    /// `ngx_http_headers_more_filter_module`, which is not part of nginx itself.
    HeadersMore,
    /// `ngx_http_brotli_filter_module`, which is not part of nginx itself either.
    Brotli,
    /// `ngx_http_modsecurity_module`, which is not either.
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
}

/// Who may ask for it by an annotation, or by a key of a ConfigMap.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AskedFor {
    /// Nobody.
    Never,
    /// For whole servers.
    ByServer,
    /// For single routes.
    ByRoute,
}

/// When the template of a server says it, whatever objects ask for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Said {
    /// It does not, or only where something asks for it.
    Never,
    /// In every server.
    Always,
    /// Where a route speaks gRPC.
    Grpc,
    /// Where requests are handed over in detail.
    Detailed,
}

/// What becomes of it where the host's `http` level says it: servers inherit what they do not say themselves.
#[derive(Debug, Clone, Copy)]
pub enum Inherited {
    /// It stays: it describes the host, or means nothing to our servers, or they always say it themselves.
    Stays,
    /// It stays because nginx has no way to except servers from it.
    Permanent,
    /// Our servers take it back.
    TakenBack(Instead),
}

/// What a server says in the place of what the `http` level says.
#[derive(Debug, Clone, Copy)]
pub struct Instead {
    /// By another directive than the one that is taken back.
    pub by: Option<&'static DirectiveRow>,
    /// Its arguments, as nginx reads them. Behind `ingressd` the name of the instance is put.
    pub arguments: &'static str,
    /// The host protects its sites with it, and may believe that ours are protected too.
    pub protects: bool,
    /// Only servers that ask for certificates of clients have to: it would let other clients in, or none.
    pub of_client_certificates: bool,
}

/// Whether a test of some of our files takes it from the host's own configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InTests {
    /// As what is not in the catalogue: from the `http` level, unless nginx refuses all of that.
    AsUsual,
    /// In any case: a test could not read our files, or would touch folders that are not its own.
    Always,
    /// Never: it is the host's sites and logs.
    Never,
}

/// A directive of nginx in contexts where it means one thing.
#[derive(Debug, Clone, Copy)]
pub struct DirectiveRow {
    /// Its name.
    pub name: &'static str,
    /// Where it may stand.
    pub contexts: Contexts,
    /// How it is written.
    pub form: Form,
    /// The first version that has it.
    pub since: Version,
    /// The module that brings it; `None` for the core.
    pub module: Option<Module>,
    /// What nginx does where nobody says it, as it would be said; empty where that cannot be said.
    pub default: &'static str,
    /// Its twin for gRPC backends, where there is one.
    pub grpc: Option<&'static str>,
    /// Its twin for FastCGI, where there is one.
    pub fastcgi: Option<&'static str>,
    /// Leaving it out would open something: the gate closes the route instead.
    pub security: bool,
    /// Who may ask for it.
    pub asked_for: AskedFor,
    /// A server may say it for all of its locations: it depends on no other, and the server's template does not say it.
    pub is_shared: bool,
    /// nginx refuses it where it contradicts one of these.
    pub contradicts: &'static [&'static str],
    /// When the template of a server says it.
    pub said: Said,
    /// What becomes of it where the host's `http` level says it.
    pub inherited: Inherited,
    /// Whether a test of some of our files takes it from the host's own configuration.
    pub in_tests: InTests,
}

impl DirectiveRow {
    /// What it is called where a module hands requests over to a backend; `None` where it means nothing for that.
    pub fn name_by(&self, module: Option<Module>) -> Option<&'static str> {
        match module {
            Some(Module::Grpc) if self.module == Some(Module::Proxy) => self.grpc,
            Some(Module::FastCgi) if self.module == Some(Module::Proxy) => self.fastcgi,
            _ => Some(self.name),
        }
    }

    const fn new(name: &'static str, contexts: Contexts, form: Form) -> Self {
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
            said: Said::Never,
            inherited: Inherited::Stays,
            in_tests: InTests::AsUsual,
        }
    }

    const fn of(self, module: Module) -> Self {
        DirectiveRow { module: Some(module), ..self }
    }

    const fn since(self, since: Version) -> Self {
        DirectiveRow { since, ..self }
    }

    const fn default(self, default: &'static str) -> Self {
        DirectiveRow { default, ..self }
    }

    const fn twin(self, name: &'static str) -> Self {
        DirectiveRow { grpc: Some(name), ..self }
    }

    const fn fastcgi(self, name: &'static str) -> Self {
        DirectiveRow { fastcgi: Some(name), ..self }
    }

    const fn by_route(self) -> Self {
        DirectiveRow { asked_for: AskedFor::ByRoute, ..self }
    }

    const fn by_server(self) -> Self {
        DirectiveRow { asked_for: AskedFor::ByServer, ..self }
    }

    const fn shared(self) -> Self {
        DirectiveRow { is_shared: true, ..self }
    }

    const fn contradicts(self, contradicts: &'static [&'static str]) -> Self {
        DirectiveRow { contradicts, ..self }
    }

    const fn said(self, said: Said) -> Self {
        DirectiveRow { said, ..self }
    }

    const fn tests(self, in_tests: InTests) -> Self {
        DirectiveRow { in_tests, ..self }
    }

    const fn permanent(self) -> Self {
        DirectiveRow { inherited: Inherited::Permanent, ..self }
    }

    /// Servers say its default where the host says something else.
    const fn reset(self) -> Self {
        self.reset_to(self.default)
    }

    const fn reset_to(self, arguments: &'static str) -> Self {
        let reset = Instead { by: None, arguments, protects: false, of_client_certificates: false };
        DirectiveRow { inherited: Inherited::TakenBack(reset), ..self }
    }

    /// The same for what protects sites.
    const fn protection(self, by: Option<&'static DirectiveRow>, arguments: &'static str) -> Self {
        let reset = Instead { by, arguments, protects: true, of_client_certificates: false };
        DirectiveRow { inherited: Inherited::TakenBack(reset), ..self }
    }

    /// The same for what counts only where clients are asked for certificates.
    const fn reset_of_client_certificates(self, arguments: &'static str) -> Self {
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

/// Rows, each with a name of its own and in the list of the file.
macro_rules! rows {
    ($($(#[$documentation:meta])* $visibility:vis $name:ident = $row:expr;)*) => {
        $($(#[$documentation])* $visibility static $name: DirectiveRow = $row;)*

        pub(super) static ROWS: &[&DirectiveRow] = &[$(&$name),*];
    };
}
use rows;

/// Every row, by what it is about.
pub fn all() -> impl Iterator<Item = &'static DirectiveRow> {
    let files = [
        access::ROWS,
        client::ROWS,
        tls::ROWS,
        response::ROWS,
        proxy::ROWS,
        grpc::ROWS,
        fastcgi::ROWS,
        routing::ROWS,
        foreign::ROWS,
        main::ROWS,
        stream::ROWS,
    ];
    files.into_iter().flatten().copied()
}

/// The row of a directive in a context, if it is known and may stand there.
pub fn find(name: &str, context: Context) -> Option<&'static DirectiveRow> {
    all().find(|row| row.name == name && row.contexts.hold(context))
}

/// What may be asked for so.
pub fn asked_for(by: AskedFor) -> impl Iterator<Item = &'static DirectiveRow> {
    all().filter(move |row| row.asked_for == by)
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

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn a_name_has_one_row_in_each_context() {
        for context in Context::ALL {
            let mut seen = BTreeSet::new();
            for row in all().filter(|row| row.contexts.hold(context)) {
                assert!(seen.insert(row.name), "{} is there twice in {context:?}", row.name);
            }
        }
    }

    #[test]
    fn rows_refer_to_rows_and_hold_words_of_their_form() {
        for row in all() {
            let is_known = |name: &&str| all().any(|other| other.name == *name);
            assert!(row.grpc.iter().chain(&row.fastcgi).chain(row.contradicts).all(is_known), "{}", row.name);
            assert!(row.contexts != Contexts::NONE && row.since >= OLDEST, "{}", row.name);
            let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
            assert!(row.default.is_empty() || row.form.fits(&words(row.default), false), "{}", row.name);
            if let Inherited::TakenBack(reset) = row.inherited {
                assert!(row.contexts.hold(Context::Http) && row.contexts.hold(Context::Server), "{}", row.name);
                assert!(!reset.arguments.is_empty(), "{}", row.name);
                let by = reset.by.unwrap_or(row);
                assert!(by.form.fits(&words(reset.arguments), false), "{}: {}", row.name, reset.arguments);
            }
            for other in row.contradicts {
                let other = all().find(|row| row.name == *other).unwrap();
                assert!(other.contradicts.contains(&row.name), "{} and {}", row.name, other.name);
            }
        }
    }

    #[test]
    fn what_is_asked_for_has_a_default_and_stands_in_servers() {
        assert!(asked_for(AskedFor::ByRoute).count() > 10 && asked_for(AskedFor::ByServer).count() > 5);
        for row in all().filter(|row| row.asked_for != AskedFor::Never) {
            assert!(!row.default.is_empty(), "{}", row.name);
            assert!(row.contexts.hold(Context::Server), "{}", row.name);
            let in_locations = row.contexts.hold(Context::Location);
            assert!(in_locations || row.asked_for == AskedFor::ByServer, "{}", row.name);
            assert!(!row.is_shared || (row.said == Said::Never && row.contradicts.is_empty()), "{}", row.name);
        }
    }
}
