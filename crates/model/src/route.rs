//! A route: a path, and what handles its requests.

use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use super::catalogue::{Module, REWRITE_LOG};
use super::{
    Argument, Behaviour, Branch, Directive, ErrorPages, HostName, Origin, Pattern, RewriteTarget, Split, StandIn,
    TargetPart, UpstreamId, UrlPath,
};

/// Which request paths a route matches.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PathMatch {
    /// Exactly this path. With `redirect_to_slash` the path ends in `/`, and the same path without
    /// it answers 301.
    Exact {
        path: UrlPath,
        /// Whether the path without its slash is redirected, as in ingress-nginx.
        redirect_to_slash: bool,
    },
    /// This path and paths below it, by element. A trailing slash in `path` is significant only
    /// together with `redirect_to_slash` or when another route of the server has the same path
    /// without it.
    Prefix {
        path: UrlPath,
        /// Whether the path ends in `/`, and the same path without it answers 301, as in
        /// ingress-nginx.
        redirect_to_slash: bool,
    },
    /// Paths that match this expression, anchored at the start and case-insensitive; tried in the
    /// order of the routes.
    Regex(Pattern),
}

impl PathMatch {
    /// Whether it is a prefix of this path, by element, and does not redirect it.
    pub fn is_above(&self, other: &str) -> bool {
        let PathMatch::Prefix { path, redirect_to_slash } = self else { return false };
        match other.strip_prefix(path.as_str().trim_end_matches('/')) {
            Some("") => !(*redirect_to_slash && path.as_str().ends_with('/')),
            Some(rest) => rest.starts_with('/'),
            None => false,
        }
    }
}

/// The protocol of a backend.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Protocol {
    /// HTTP/1.1, with upgrades to WebSocket.
    Http,
    /// HTTP/1.1 over TLS.
    Https,
    /// gRPC over cleartext HTTP/2.
    Grpc,
    /// gRPC over TLS.
    Grpcs,
    /// HTTP/1.1, by TLS when the client's request came by TLS.
    AutoHttp,
    /// FastCGI.
    FastCgi,
    /// Connections as they come, of a TCP service or a host with TLS passthrough.
    Tcp,
    /// Datagrams of a UDP service.
    Udp,
}

impl Protocol {
    /// The nginx module for the protocol.
    pub const fn module(self) -> Module {
        match self {
            Protocol::Http | Protocol::Https | Protocol::AutoHttp => Module::Proxy,
            Protocol::Grpc | Protocol::Grpcs => Module::Grpc,
            Protocol::FastCgi => Module::FastCgi,
            Protocol::Tcp | Protocol::Udp => Module::Stream,
        }
    }

    /// Whether it is that of a TCP or UDP service, which nginx serves apart from hosts.
    pub const fn is_of_stream(self) -> bool {
        matches!(self, Protocol::Tcp | Protocol::Udp)
    }

    /// Whether endpoints are contacted by TLS, at least for some requests.
    pub const fn has_tls(self) -> bool {
        match self {
            Protocol::Https | Protocol::Grpcs | Protocol::AutoHttp => true,
            Protocol::Http | Protocol::Grpc | Protocol::FastCgi | Protocol::Tcp | Protocol::Udp => false,
        }
    }
}

/// The action for a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// Pass it to an endpoint of an upstream.
    Proxy {
        upstream: UpstreamId,
        /// The requests for which something else is done, if any.
        split: Option<Arc<Split>>,
    },
    Redirect {
        /// 300 to 308.
        status: u16,
        /// The target: a URL whose host is a text or that of the request, or a path.
        location: RewriteTarget,
    },
    /// Redirect it, with 302, to the URL that the rewrite of the behaviour makes of its path; the
    /// query is added.
    ToRewritten,
    /// Redirect it to the same path of another host.
    ToHost {
        /// 301, 302, 307 or 308.
        status: u16,
        host: HostName,
    },
    /// Respond with a status and a short text: 404 where nothing is configured, 503 where
    /// something is wrong.
    Respond { status: u16 },
    /// Respond 503, because a fault of the object that defines the route closes it until it is
    /// corrected. A route whose backend has no endpoints is not closed: it counts as served.
    Closed,
}

impl Action {
    /// The main upstream, to which requests go unless a split says otherwise.
    pub fn upstream(&self) -> Option<&UpstreamId> {
        match self {
            Action::Proxy { upstream, .. } => Some(upstream),
            Action::Redirect { .. }
            | Action::ToRewritten
            | Action::ToHost { .. }
            | Action::Respond { .. }
            | Action::Closed => None,
        }
    }

    /// All upstreams that may get requests, perhaps one several times.
    pub fn upstreams(&self) -> impl Iterator<Item = &UpstreamId> {
        self.upstream().into_iter().chain(self.split().into_iter().flat_map(Split::upstreams))
    }

    /// The traffic split, if any.
    pub fn split(&self) -> Option<&Split> {
        match self {
            Action::Proxy { split, .. } => split.as_deref(),
            Action::Redirect { .. }
            | Action::ToRewritten
            | Action::ToHost { .. }
            | Action::Respond { .. }
            | Action::Closed => None,
        }
    }

    /// The nginx module that passes requests to the backend.
    pub fn module(&self) -> Option<Module> {
        self.upstream().map(|upstream| upstream.protocol.module())
    }

    /// Whether the backend speaks gRPC.
    pub fn is_grpc(&self) -> bool {
        self.module() == Some(Module::Grpc)
    }
}

/// What is done with requests, and the policy for them. Routes share it: requests that belong to
/// it get the same, whichever path and conditions led them there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Handler {
    /// The object and field that define it.
    pub origin: Origin,
    pub action: Action,
    /// The behaviour; shared by the handlers of one object.
    pub behaviour: Arc<Behaviour>,
    /// Error pages of another backend.
    pub errors: Option<Arc<ErrorPages>>,
}

/// One path of one host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Route {
    /// The object and field that define it.
    pub origin: Origin,
    /// The requests that it matches; for a server's fallback, `Prefix` of `/`.
    pub path: PathMatch,
    /// Conditions in order: the first that a request meets decides who handles it. The list is
    /// complete: those of the next less specific path follow where this one has no handler for the
    /// rest.
    pub branches: Vec<Branch<Arc<Handler>>>,
    /// Handles what meets none of them.
    pub otherwise: Arc<Handler>,
}

/// Most routes have no branch, and are what their handler is.
impl Deref for Route {
    type Target = Handler;

    fn deref(&self) -> &Handler {
        &self.otherwise
    }
}

impl DerefMut for Route {
    fn deref_mut(&mut self) -> &mut Handler {
        Arc::make_mut(&mut self.otherwise)
    }
}

impl Route {
    /// A path all of whose requests one handler takes.
    pub fn new(path: PathMatch, handler: Handler) -> Self {
        let origin = handler.origin.clone();
        Route { origin, path, branches: Vec::new(), otherwise: Arc::new(handler) }
    }

    /// A path, and what happens to all of its requests.
    pub fn plain(origin: Origin, path: PathMatch, action: Action) -> Self {
        Route::new(path, Handler { origin, action, behaviour: Arc::default(), errors: None })
    }

    /// All its handlers, perhaps one several times.
    pub fn handlers(&self) -> impl Iterator<Item = &Handler> + Clone {
        self.branches.iter().map(|branch| &*branch.then).chain([&*self.otherwise])
    }

    /// The handlers that its object defines; others are those of less specific paths.
    pub fn own(&self) -> impl Iterator<Item = &Handler> + Clone {
        self.handlers().filter(|handler| handler.origin == self.origin)
    }

    /// All its handlers, to be exchanged.
    pub fn handlers_mut(&mut self) -> impl Iterator<Item = &mut Arc<Handler>> {
        self.branches.iter_mut().map(|branch| &mut branch.then).chain([&mut self.otherwise])
    }
}

impl Handler {
    /// The service that says who may pass.
    pub fn decider(&self) -> Option<&UpstreamId> {
        self.behaviour.external_authentication.as_deref().map(|external| &external.service)
    }

    /// All upstreams without whose endpoints it may answer 503, perhaps one several times.
    pub fn upstreams(&self) -> impl Iterator<Item = &UpstreamId> {
        self.action.upstreams().chain(self.decider())
    }

    /// Whether it answers 503 because one of these has no endpoints: the service that says who may
    /// pass, or its own, where no other backend stands in.
    pub fn lacks_endpoints(&self, is_empty: impl Fn(&UpstreamId) -> bool) -> bool {
        let own = self.action.upstream().filter(|_| !self.has_stand_in());
        self.action != Action::Closed && own.into_iter().chain(self.decider()).any(is_empty)
    }

    /// The backend whose page replaces an answer of nginx itself with this status, if that has no
    /// text of its own.
    pub fn page(&self, status: u16) -> Option<&UpstreamId> {
        let pages = self.errors.as_deref().filter(|pages| pages.stand_in != StandIn::Always);
        pages.filter(|pages| pages.statuses.contains(&status)).map(|pages| &pages.upstream)
    }

    /// Whether another backend takes its requests while its upstream has no endpoints.
    pub fn has_stand_in(&self) -> bool {
        let waits = |pages: &ErrorPages| pages.stand_in == StandIn::WithoutEndpoints;
        self.action.upstream().is_some() && self.errors.as_deref().is_some_and(waits)
    }

    /// Whether nginx would write what it has decoded of the path into a line of a request, of an
    /// answer or of a record, without encoding it. Then paths with control characters, which could
    /// end that line and begin others, have to be refused.
    pub fn writes_decoded_path(&self) -> bool {
        let is_reported = |parts: &[TargetPart]| parts.iter().any(TargetPart::is_decoded);
        let Behaviour { directives, rewrite, .. } = &*self.behaviour;
        // nginx encodes what it has captured in a redirect and in a query, but no variable.
        let has_variable = |parts: &[TargetPart]| {
            parts.iter().any(|part| part.is_decoded() && !matches!(part, TargetPart::Capture(_)))
        };
        let target = rewrite.as_ref().map(|rewrite| &rewrite.target);
        let is_in_line = match &self.action {
            Action::Proxy { .. } => {
                self.behaviour.texts().any(|text| is_reported(text.parts()))
                    || target.is_some_and(|target| has_variable(target.query()))
            }
            Action::ToRewritten => target.is_some_and(|target| has_variable(target.parts())),
            // Where this is not the target of a rewrite, nginx encodes nothing.
            Action::Redirect { location, .. } => is_reported(location.parts()),
            Action::ToHost { .. } | Action::Respond { .. } | Action::Closed => false,
        };
        let is_logged = |said: &Directive| *said.row == REWRITE_LOG && said.arguments == [Argument::Switch(true)];
        is_in_line || directives.iter().any(is_logged)
    }

    /// What handles its requests meanwhile. Sessions are those of its own upstream.
    pub fn stand_in(&self) -> Option<Handler> {
        let pages = self.errors.as_deref().filter(|_| self.has_stand_in())?;
        let action = Action::Proxy { upstream: pages.upstream.clone(), split: None };
        let errors = Some(Arc::new(ErrorPages { stand_in: StandIn::Always, ..pages.clone() }));
        let behaviour = match self.behaviour.session {
            Some(_) => Arc::new(Behaviour { session: None, ..(*self.behaviour).clone() }),
            None => Arc::clone(&self.behaviour),
        };
        Some(Handler { action, errors, behaviour, origin: self.origin.clone() })
    }
}
