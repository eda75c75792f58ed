//! What a route does besides choosing a backend.

use std::sync::Arc;

use super::{
    AccessList, AnswerHeader, BackendHeaders, BasicAuthentication, ClientLimits, Directive, ExternalAuthentication,
    FastCgi, Firewall, HeaderName, ListMark, Mirror, OriginUrl, Pattern, RewriteTarget, Satisfy, Session, Snippet,
};

/// Everything about a route that is not its path or its backend. The default changes nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Behaviour {
    /// Plain settings of the proxy, each a row of the catalogue; sorted by name, each at most once.
    pub directives: Vec<Directive>,
    /// The path is replaced before the request goes to the backend.
    pub rewrite: Option<Rewrite>,
    /// What backends are told otherwise than all others.
    pub backend_headers: Option<Arc<BackendHeaders>>,
    /// What backends are told that speak FastCGI.
    pub fastcgi: Option<Arc<FastCgi>>,
    /// Another service gets copies of requests.
    pub mirror: Option<Arc<Mirror>>,
    /// Headers of answers in the place of those of backends; each name once.
    pub answer_headers: Option<Arc<[AnswerHeader]>>,
    /// Requests over plain HTTP are sent to https.
    pub https_redirect: Option<HttpsRedirect>,
    /// Browsers of other origins are allowed in.
    pub cors: Option<Arc<Cors>>,
    /// Clients without a session are given one.
    pub session: Option<Session>,
    /// Clients are chosen by address.
    pub access: Option<Arc<AccessList>>,
    /// Clients must give a name and a password.
    pub basic_authentication: Option<Arc<BasicAuthentication>>,
    /// Clients must be let in by another service.
    pub external_authentication: Option<Arc<ExternalAuthentication>>,
    /// How these three go together.
    pub satisfy: Satisfy,
    /// How much each client may ask for.
    pub limits: Option<Arc<ClientLimits>>,
    /// A firewall looks into requests.
    pub firewall: Option<Arc<Firewall>>,
    /// What snippets ask for, those about the whole host first.
    pub snippets: Vec<Arc<Snippet>>,
    /// Clients or requests are chosen, or nobody is let in, and so no path of the namespace's on the host may mean one thing here and another to a backend.
    pub strict_paths: bool,
}

impl Behaviour {
    /// Whether both choose clients alike.
    pub fn protects_like(&self, other: &Behaviour) -> bool {
        let same_list = match (&self.access, &other.access) {
            // Lists may be long, and routes of an object share theirs.
            (Some(one), Some(other)) => Arc::ptr_eq(one, other) || one == other,
            (one, other) => one.is_none() && other.is_none(),
        };
        let same_service = match (&self.external_authentication, &other.external_authentication) {
            (Some(one), Some(other)) => one.is_like(other),
            (one, other) => one.is_none() && other.is_none(),
        };
        same_list
            && same_service
            && self.satisfy == other.satisfy
            && self.strict_paths == other.strict_paths
            && self.firewall == other.firewall
            && self.basic_authentication == other.basic_authentication
    }

    /// The list of addresses that is written elsewhere and referred to. What is written elsewhere decides before anybody else is
    /// asked, so that it stands in the location where one of several ways is enough.
    pub fn referred_list(&self) -> Option<ListMark> {
        self.access.as_deref().and_then(AccessList::mark).filter(|_| self.satisfy == Satisfy::All)
    }
}

/// Sends requests over plain HTTP to https with status `status`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct HttpsRedirect {
    /// 301, 302, 307 or 308.
    pub status: u16,
    /// One trailing slash of the request target is left out, a quirk of the ingress-nginx dialect.
    pub strip_trailing_slash: bool,
    /// Also when the server has no certificate of its own (TLS ends in front of this node).
    pub forced: bool,
}

/// Replaces the path.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Rewrite {
    /// What of the path is matched: its captures are what the target refers to.
    pub pattern: RewritePattern,
    /// What the matched path becomes.
    pub target: RewriteTarget,
}

/// The left side of a rewrite.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum RewritePattern {
    /// The route's own path as an expression, matched case-insensitively and anywhere in the path, as ingress-nginx does.
    Unanchored(Pattern),
    /// The route's own path as an expression, matched from the start.
    Anchored(Pattern),
    /// The whole path, whatever it is; the target may not refer to captures.
    Whole,
}

/// Which origins of a request are allowed.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum OriginPattern {
    /// `*`: every origin, answered with `*`.
    Any,
    /// `null`.
    Null,
    /// This origin.
    Exact(OriginUrl),
    /// Hosts with exactly one more label in front: `https://*.example.com`.
    Wildcard(OriginUrl),
}

/// Cross-origin resource sharing, as the Fetch standard describes it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Cors {
    /// The allowed origins; never empty.
    pub origins: Vec<OriginPattern>,
    /// `Access-Control-Allow-Methods`.
    pub methods: Vec<HeaderName>,
    /// `Access-Control-Allow-Headers`.
    pub headers: Vec<HeaderName>,
    /// These are the dialect's own, which it joins without blanks.
    pub has_default_headers: bool,
    /// `Access-Control-Expose-Headers`; a single `*` stands for all.
    pub expose: Vec<HeaderName>,
    /// `Access-Control-Allow-Credentials`.
    pub credentials: bool,
    /// `Access-Control-Max-Age` in seconds.
    pub max_age: u64,
}
