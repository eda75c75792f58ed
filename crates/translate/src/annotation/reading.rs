//! What counts for one object, as typed values.

use std::sync::Arc;

use crate::Dialect;
use crate::value::ServiceAddress;
use ingressd_model::finding::Finding;
use ingressd_model::{
    AuthenticationPolicy, Authority, BackendTls, Balance, Behaviour, Certificate, ClientCertificates, ConnectionReuse,
    CookiePath, Directive, MirrorPolicy, Origin, PasswordFile, Port, Protocol, RedirectUrl, RewriteTarget, ServerName,
    SessionCookie, Share, Snippet, StreamPolicy, Test,
};

/// The client certificate rule of an object for its hosts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ClientRule {
    /// A valid rule.
    Good(Arc<ClientCertificates>),
    /// A rule that cannot be applied; the findings say why, and the routes of the object are
    /// closed.
    Broken,
}

/// The options of an object for its hosts. For each option of a host one object decides.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HostOptions {
    /// Directives of the server, sorted by name, without duplicates; each is decided separately.
    pub directives: Vec<Directive>,
    /// The redirect of requests for `/`.
    pub app_root: Option<AppRoot>,
    /// Aliases of each host.
    pub aliases: Option<HostAliases>,
    /// The field that asks to redirect requests from the host with `www.` to the one without it,
    /// or the reverse.
    pub redirects_www: Option<Origin>,
    /// The client certificate rule.
    pub client_rule: Option<ClientRule>,
    /// Snippets, which apply to the routes of the namespace.
    pub snippets: Vec<Arc<Snippet>>,
}

/// The redirect of requests for `/`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AppRoot {
    /// A path of the same host.
    pub target: RedirectUrl,
    /// The field that asks for it.
    pub origin: Origin,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostAliases {
    /// The names, without duplicates.
    pub names: Vec<ServerName>,
    /// The total weight of expressions among them.
    pub weight: u32,
    /// The field with them.
    pub origin: Origin,
}

/// The error pages of an object.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ErrorOptions {
    /// The statuses, in order without duplicates.
    pub statuses: Vec<u16>,
    /// The field that lists them.
    pub statuses_at: Option<Origin>,
    /// Whether only nginx's own errors are replaced, and not those of the backend.
    pub passes_backend_errors: bool,
    /// The Service for the error pages, and the field that names it; otherwise that of the
    /// settings.
    pub default_backend: Option<(Arc<str>, Origin)>,
}

/// A session cookie.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestedSession {
    pub cookie: Arc<SessionCookie>,
    /// Its `Path`; `None` follows the path of the route.
    pub path: Option<CookiePath>,
}

/// TLS settings for backends, with the certificates that they need.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestedBackendTls {
    /// The settings.
    pub tls: Arc<BackendTls>,
    /// The field that asks for them.
    pub origin: Origin,
    /// The CA.
    pub authority: Option<Arc<Authority>>,
    /// The client certificate.
    pub certificate: Option<Arc<Certificate>>,
}

/// A service that is given by a URL, before it is resolved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestedService {
    /// The field that asks for it.
    pub origin: Origin,
    /// Whether the administrator asks for it, for all objects.
    pub is_global: bool,
    pub address: ServiceAddress,
    pub protocol: Protocol,
    /// How long connections to it are kept, when that differs from the general setting.
    pub reuse: Option<Arc<ConnectionReuse>>,
}

/// A target of mirrored requests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestedMirror {
    pub service: RequestedService,
    /// The content of the copies.
    pub policy: Arc<MirrorPolicy>,
}

/// An external authentication service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestedAuthentication {
    pub service: RequestedService,
    /// The subrequest and the effect of its response.
    pub policy: Arc<AuthenticationPolicy>,
}

/// The annotations of one object as checked values.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Reading {
    /// The behaviour of all routes of the object. `rewrite` is always `None` here, because it
    /// depends on the path.
    pub behaviour: Behaviour,
    /// Whether the paths of the object are regular expressions.
    pub use_regex: bool,
    /// The target of rewritten paths.
    pub rewrite_target: Option<RewriteTarget>,
    /// The protocol of backends; `None` follows the Service's `appProtocol`, then HTTP.
    pub protocol: Option<Protocol>,
    /// The redirect of all requests, instead of a backend.
    pub redirect: Option<(u16, RewriteTarget)>,
    /// How an endpoint is selected; `None` leaves it to nginx's usual way.
    pub balance: Option<Arc<Balance>>,
    /// The session cookie; its `path` is set when the object sets it.
    pub session: Option<RequestedSession>,
    /// Whether clients may change sides of a canary, whatever their session is.
    pub changes_side: bool,
    /// The options for its hosts.
    pub host: HostOptions,
    /// TCP and UDP services.
    pub streams: Vec<RequestedStream>,
    /// The TLS settings for its backends.
    pub backend_tls: Option<Arc<RequestedBackendTls>>,
    /// The error pages.
    pub errors: ErrorOptions,
    /// Whether backends are reached by the cluster IP of their Service.
    pub by_cluster_address: bool,
    /// The field that asks for TLS passthrough to the backend of the path `/`.
    pub passthrough: Option<Origin>,
    /// The canary, if the object is one.
    pub canary: Option<Arc<Canary>>,
    /// Whether the object opts out of the authentication service for all objects.
    pub opts_out: bool,
    /// The external authentication service.
    pub authentication: Option<Arc<RequestedAuthentication>>,
    /// The target of mirrored requests.
    pub mirror: Option<Arc<RequestedMirror>>,
    /// The password file that `behaviour.basic_authentication` names.
    pub password_file: Option<Arc<PasswordFile>>,
    /// Whether a value that protects the routes is invalid, so that they answer 503. A finding
    /// says which.
    pub closed: bool,
    /// Whether the object version cannot be served as written.
    pub refused: bool,
    /// Whether a value is left out or has no effect, as a whole or in part.
    pub falls_short: bool,
    /// The findings about the values.
    pub findings: Vec<Finding>,
}

impl Reading {
    /// Whether any text of an object with this behaviour holds groups of the path.
    pub fn has_captures(&self, behaviour: &Behaviour) -> bool {
        let redirect = self.redirect.as_ref().map(|(_, location)| location);
        let prefix = behaviour.backend_headers.as_ref().and_then(|headers| headers.prefix.as_ref());
        let prefix = prefix.filter(|_| self.rewrite_target.is_some());
        let texts = behaviour.texts().chain(prefix).chain(&self.rewrite_target).chain(redirect);
        texts.into_iter().any(RewriteTarget::has_captures)
    }
}

/// What counts where no object has a say.
#[derive(Debug, Clone)]
pub struct CommonPolicy {
    pub dialect: &'static Dialect,
    pub policy: Policy,
}

/// What counts for an object.
#[derive(Debug, Clone)]
pub struct Policy {
    /// Its options, but for the behaviour.
    pub reading: Arc<Reading>,
    /// The behaviour of all its routes.
    pub behaviour: Arc<Behaviour>,
}

/// The requests that go to the backends of a canary; all others go to those of the main object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Canary {
    /// The field that asks for it.
    pub origin: Origin,
    /// The tests in order, and whether requests that pass go to the canary.
    pub tests: Vec<(Test, bool)>,
    /// Its share of the requests that pass no test.
    pub share: Share,
}

/// A TCP or UDP service that an object asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestedStream {
    /// The field that asks for it.
    pub origin: Origin,
    /// The port of the host.
    pub wanted: Port,
    /// Whether clients must begin with a header of the PROXY protocol.
    pub accepts_proxy_protocol: bool,
    /// The Service, of the same namespace.
    pub service: Arc<str>,
    /// The number of its port.
    pub port: u16,
    /// Whether endpoints get a header of the PROXY protocol.
    pub sends_proxy_protocol: bool,
    /// Timeouts and retries.
    pub policy: StreamPolicy,
}
