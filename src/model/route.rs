//! A path and what happens to its requests.

use std::sync::Arc;

use super::catalogue::Module;
use super::{Behaviour, ErrorPages, HostName, Origin, Pattern, RedirectUrl, Split, UpstreamId, UrlPath};

/// Which request paths a route takes.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PathMatch {
    /// This path alone. `redirect_to_slash`: the path ends in `/`, and the same path without it answers 301.
    Exact {
        /// The path.
        path: UrlPath,
        /// A quirk of the ingress-nginx dialect.
        redirect_to_slash: bool,
    },
    /// This path and those below it, by element; a trailing slash in `path` is significant only together with
    /// `redirect_to_slash` or when another route of the server has the same path without it.
    Prefix {
        /// The path.
        path: UrlPath,
        /// A quirk of the ingress-nginx dialect: the path ends in `/`, and the same path without it answers 301.
        redirect_to_slash: bool,
    },
    /// Paths that match this expression, anchored at the start, case-insensitive; tried in the order of the routes.
    Regex(Pattern),
}

/// How a backend is spoken to.
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
    /// HTTP/1.1, over TLS where the client uses it.
    AutoHttp,
    /// FastCGI.
    FastCgi,
}

impl Protocol {
    /// The module that speaks it.
    pub const fn module(self) -> Module {
        match self {
            Protocol::Http | Protocol::Https | Protocol::AutoHttp => Module::Proxy,
            Protocol::Grpc | Protocol::Grpcs => Module::Grpc,
            Protocol::FastCgi => Module::FastCgi,
        }
    }

    /// Whether TLS is spoken to endpoints, at least for some requests.
    pub const fn has_tls(self) -> bool {
        match self {
            Protocol::Https | Protocol::Grpcs | Protocol::AutoHttp => true,
            Protocol::Http | Protocol::Grpc | Protocol::FastCgi => false,
        }
    }
}

/// What is done with a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// It goes to an endpoint of an upstream.
    Proxy {
        /// Where to, and how.
        upstream: UpstreamId,
        /// With which requests something else is done.
        split: Option<Arc<Split>>,
    },
    /// It is redirected.
    Redirect {
        /// 300 to 308.
        status: u16,
        /// Where to.
        location: RedirectUrl,
    },
    /// It is redirected to the same path of another host.
    ToHost {
        /// 301, 302, 307 or 308.
        status: u16,
        /// The host.
        host: HostName,
    },
    /// It is answered with a status and a short text: 404 where nothing is configured, 503 where something is wrong.
    Respond {
        /// The status.
        status: u16,
    },
    /// It is answered with 503, because something of the object that asked for the route closes it until that is mended. A route whose
    /// backend is away is none of these: it is served.
    Closed,
}

impl Action {
    /// The upstream that requests go to unless a split says otherwise.
    pub fn upstream(&self) -> Option<&UpstreamId> {
        match self {
            Action::Proxy { upstream, .. } => Some(upstream),
            Action::Redirect { .. } | Action::ToHost { .. } | Action::Respond { .. } | Action::Closed => None,
        }
    }

    /// What sends requests elsewhere.
    pub fn split(&self) -> Option<&Split> {
        match self {
            Action::Proxy { split, .. } => split.as_deref(),
            Action::Redirect { .. } | Action::ToHost { .. } | Action::Respond { .. } | Action::Closed => None,
        }
    }

    /// The module that hands requests over to a backend.
    pub fn module(&self) -> Option<Module> {
        self.upstream().map(|upstream| upstream.protocol.module())
    }

    /// Whether requests go to a backend that speaks gRPC.
    pub fn is_grpc(&self) -> bool {
        self.module() == Some(Module::Grpc)
    }
}

/// One path of one host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Route {
    /// The object and field that asked for it.
    pub origin: Origin,
    /// Which requests it takes; for a server's fallback, `Prefix` of `/`.
    pub path: PathMatch,
    /// What is done with them.
    pub action: Action,
    /// How it is done; shared by the routes of one object.
    pub behaviour: Arc<Behaviour>,
    /// Which answers another backend gives.
    pub errors: Option<Arc<ErrorPages>>,
}
