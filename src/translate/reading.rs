//! What the annotations of one Ingress ask for, typed; it must not know paths, hosts or backends.

use std::sync::Arc;

use super::value::Whereabouts;
use super::{Canary, Dialect};
use crate::finding::Finding;
use crate::model::{
    AuthenticationPolicy, Authority, BackendTls, Balance, Behaviour, Certificate, ClientCertificates, ConnectionReuse,
    CookiePath, Directive, MirrorPolicy, Origin, PasswordFile, Protocol, RedirectUrl, RewriteTarget, ServerName,
    SessionCookie, Snippet,
};

/// What an object asks of the certificates of clients, for the hosts that it has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ClientRule {
    /// This.
    Good(Arc<ClientCertificates>),
    /// Something that cannot be applied; the findings say why, and the routes of the object are closed.
    Broken,
}

/// What an object says of the hosts that it has. One object decides each of these for a host.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HostOptions {
    /// Directives of the server, sorted by name, each at most once; each is decided for itself.
    pub directives: Vec<Directive>,
    /// Where requests for `/` are sent.
    pub app_root: Option<AppRoot>,
    /// Further names of each of them.
    pub aliases: Option<HostAliases>,
    /// Requests for the host with `www.` in front, or for the one without it, are sent to them; the field that asks for it.
    pub redirects_www: Option<Origin>,
    /// What is asked of the certificates of clients.
    pub client_rule: Option<ClientRule>,
    /// What snippets ask for: they count for the routes of the namespace.
    pub snippets: Vec<Arc<Snippet>>,
}

/// Where requests for `/` are sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AppRoot {
    /// A path of the same host.
    pub target: RedirectUrl,
    /// The field that asks for it.
    pub origin: Origin,
}

/// Further names of a host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostAliases {
    /// The names, each once.
    pub names: Vec<ServerName>,
    /// What its expressions may cost a request together.
    pub weight: u32,
    /// The field that has them.
    pub origin: Origin,
}

/// Which answers another backend gives.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ErrorOptions {
    /// Those with these statuses, each once, in order.
    pub statuses: Vec<u16>,
    /// The field that lists them.
    pub statuses_at: Option<Origin>,
    /// Only those of nginx's own, and not those of the backend.
    pub passes_backend_errors: bool,
    /// The Service that gives them, and the field that names it; without it that of the settings.
    pub default_backend: Option<(Arc<str>, Origin)>,
}

/// A cookie that keeps clients at one endpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestedSession {
    /// The cookie.
    pub cookie: Arc<SessionCookie>,
    /// For which requests clients send it; `None` follows the path of the route.
    pub path: Option<CookiePath>,
}

/// How TLS is spoken to backends, with what that needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestedBackendTls {
    /// How it is spoken.
    pub tls: Arc<BackendTls>,
    /// The field that asked for it.
    pub origin: Origin,
    /// The authority that it names.
    pub authority: Option<Arc<Authority>>,
    /// The certificate that it names.
    pub certificate: Option<Arc<Certificate>>,
}

/// A service that a URL names, before it is known which endpoints it has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestedService {
    /// The field that asked for it.
    pub origin: Origin,
    /// The administrator asked for it, for all objects.
    pub is_everywhere: bool,
    /// Where it is.
    pub whereabouts: Whereabouts,
    /// How it is spoken to.
    pub protocol: Protocol,
    /// How long connections to it are kept, where not as everywhere.
    pub reuse: Option<Arc<ConnectionReuse>>,
}

/// A service that gets copies of requests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestedMirror {
    /// The service.
    pub service: RequestedService,
    /// What it gets.
    pub policy: Arc<MirrorPolicy>,
}

/// A service that says who may pass.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestedAuthentication {
    /// The service.
    pub service: RequestedService,
    /// What it is asked, and what follows.
    pub policy: Arc<AuthenticationPolicy>,
}

/// The annotations of one object after every value was proven.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Reading {
    /// What applies to every route of the object as it stands. `rewrite` is always `None` here: it needs the path.
    pub behaviour: Behaviour,
    /// Paths of the object are regular expressions.
    pub use_regex: bool,
    /// Paths are replaced by this before the request goes to the backend.
    pub rewrite_target: Option<RewriteTarget>,
    /// How backends are spoken to; `None` follows the Service's `appProtocol`, then HTTP.
    pub protocol: Option<Protocol>,
    /// All requests are redirected instead of being sent to a backend.
    pub redirect: Option<(u16, RedirectUrl)>,
    /// How an endpoint of its backends is chosen; `None` takes each in its turn.
    pub balance: Option<Arc<Balance>>,
    /// The cookie of its sessions, but for the path; `path` is the one that the object names, if it does.
    pub session: Option<RequestedSession>,
    /// Clients may change sides of a canary, whatever their session.
    pub changes_side: bool,
    /// What the object says of the hosts that it has.
    pub host: HostOptions,
    /// How TLS is spoken to its backends, where they speak it.
    pub backend_tls: Option<Arc<RequestedBackendTls>>,
    /// Which answers another backend gives.
    pub errors: ErrorOptions,
    /// Backends are reached by the cluster address of their Service.
    pub by_cluster_address: bool,
    /// TLS of its hosts goes to the backend of their path `/` unopened, where that is its own: the field that asks for it.
    pub passthrough: Option<Origin>,
    /// The object takes some of the requests for the paths of another one.
    pub canary: Option<Arc<Canary>>,
    /// The service that the administrator names for all objects is not asked.
    pub opts_out: bool,
    /// The service that says who may pass.
    pub authentication: Option<Arc<RequestedAuthentication>>,
    /// The service that gets copies of the requests.
    pub mirror: Option<Arc<RequestedMirror>>,
    /// The password file that `behaviour.basic_authentication` names.
    pub password_file: Option<Arc<PasswordFile>>,
    /// Something that protects the routes is wrong: they answer 503. The finding says what.
    pub closed: bool,
    /// The object version cannot be served as written.
    pub refused: bool,
    /// What is wrong with the values.
    pub findings: Vec<Finding>,
}

/// What the administrator asks for where no object has a say.
#[derive(Debug)]
pub struct Everywhere {
    /// Whose semantics count.
    pub dialect: Dialect,
    /// How requests are served.
    pub behaviour: Arc<Behaviour>,
    /// Something that protects everything is wrong.
    pub closed: bool,
    /// The service that is asked about clients.
    pub authentication: Option<Arc<RequestedAuthentication>>,
}
