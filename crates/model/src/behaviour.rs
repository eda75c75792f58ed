//! What a route does besides selecting a backend.

use std::sync::Arc;

use super::{
    AccessList, AnswerHeader, Argument, BackendHeaders, BasicAuthentication, ClientLimits, Directive,
    ExternalAuthentication, FastCgi, Firewall, HeaderName, ListMark, Mirror, OriginUrl, Pattern, RewriteTarget,
    Satisfy, Session, Snippet,
};

/// All properties of a route except its path and its backend. The default changes nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Behaviour {
    /// Plain proxy directives, each a row of the catalogue; sorted by name, without duplicates.
    pub directives: Vec<Directive>,
    /// The rewriting of the path for the backend.
    pub rewrite: Option<Rewrite>,
    /// Request headers that differ from the usual ones.
    pub backend_headers: Option<Arc<BackendHeaders>>,
    /// Parameters for a FastCGI application.
    pub fastcgi: Option<Arc<FastCgi>>,
    /// The service that gets copies of requests.
    pub mirror: Option<Arc<Mirror>>,
    /// Response headers in the place of those of backends; each name once.
    pub answer_headers: Option<Arc<[AnswerHeader]>>,
    /// The redirect of plain requests to https.
    pub https_redirect: Option<HttpsRedirect>,
    /// Cross-origin resource sharing.
    pub cors: Option<Arc<Cors>>,
    /// The session affinity.
    pub session: Option<Session>,
    /// Access by client address.
    pub access: Option<Arc<AccessList>>,
    /// Authentication by name and password.
    pub basic_authentication: Option<Arc<BasicAuthentication>>,
    /// Authentication by another service.
    pub external_authentication: Option<Arc<ExternalAuthentication>>,
    /// How these three are combined.
    pub satisfy: Satisfy,
    /// Limits per client.
    pub limits: Option<Arc<ClientLimits>>,
    /// The web application firewall.
    pub firewall: Option<Arc<Firewall>>,
    /// The snippets, those about the whole host first.
    pub snippets: Vec<Arc<Snippet>>,
    /// Whether the route is protected, so that no path of the namespace on the host may be read
    /// differently by nginx and a backend.
    pub strict_paths: bool,
}

impl Behaviour {
    /// Whether both have the same access control.
    pub fn protects_like(&self, other: &Behaviour) -> bool {
        let same_list = match (&self.access, &other.access) {
            // Lists may be long, and the routes of an object share theirs.
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

    /// The texts that nginx makes of a request for its backend and of the answer, but for the new
    /// path.
    pub fn texts(&self) -> impl Iterator<Item = &RewriteTarget> {
        let headers = self.backend_headers.as_deref().into_iter();
        let headers = headers.flat_map(|headers| {
            let prefix = headers.prefix.iter().filter(|_| self.rewrite.is_some());
            headers.host.iter().chain(prefix)
        });
        let arguments = self.directives.iter().flat_map(|directive| &directive.arguments);
        headers.chain(arguments.filter_map(|argument| match argument {
            Argument::Target(text) => Some(text),
            _ => None,
        }))
    }

    /// The long address list that is written elsewhere. It is evaluated before all other checks,
    /// so with `satisfy any` it has to be written in the location instead.
    pub fn referred_list(&self) -> Option<ListMark> {
        self.access.as_deref().and_then(AccessList::mark).filter(|_| self.satisfy == Satisfy::All)
    }
}

/// The redirect of plain requests to https with the status `status`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct HttpsRedirect {
    /// 301, 302, 307 or 308.
    pub status: u16,
    /// Whether one trailing slash of the URI is dropped, as ingress-nginx does.
    pub strip_trailing_slash: bool,
    /// Whether it also applies when the server has no certificate of its own (TLS is terminated in
    /// front of this node).
    pub forced: bool,
}

/// The rewriting of a path.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Rewrite {
    /// The pattern, with the captures that the target refers to.
    pub pattern: RewritePattern,
    /// The new path.
    pub target: RewriteTarget,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum RewritePattern {
    /// The route's path as an expression that is case-insensitive and may match anywhere in the
    /// path, as in ingress-nginx.
    Unanchored(Pattern),
    /// The route's path as an expression, anchored at the start.
    Anchored(Pattern),
    /// Any path; the target must not refer to captures.
    Whole,
}

/// Allowed origins of requests.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum OriginPattern {
    /// `*`: every origin; the response header is `*` too.
    Any,
    Null,
    /// Exactly this origin.
    Exact(OriginUrl),
    /// Origins with exactly one more label in front: `https://*.example.com`.
    Wildcard(OriginUrl),
}

/// Cross-origin resource sharing (CORS), as in the Fetch standard.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Cors {
    /// The allowed origins; never empty.
    pub origins: Vec<OriginPattern>,
    /// `Access-Control-Allow-Methods`.
    pub methods: Vec<HeaderName>,
    /// `Access-Control-Allow-Headers`.
    pub headers: Vec<HeaderName>,
    /// Whether these are ingress-nginx's default headers, which it joins without blanks.
    pub has_default_headers: bool,
    /// `Access-Control-Expose-Headers`; `*` among them means all.
    pub expose: Vec<HeaderName>,
    /// `Access-Control-Allow-Credentials`.
    pub credentials: bool,
    /// `Access-Control-Max-Age` in seconds.
    pub max_age: u64,
}

impl Cors {
    /// The headers that allowed origins get beside their own name, each with its value, which is
    /// empty where there is none.
    pub fn answer_headers(&self) -> [(&'static str, String); 5] {
        let join = |names: &[HeaderName], by| names.iter().map(HeaderName::as_str).collect::<Vec<_>>().join(by);
        [
            ("Access-Control-Allow-Credentials", if self.credentials { "true".to_owned() } else { String::new() }),
            ("Access-Control-Allow-Methods", join(&self.methods, ", ")),
            ("Access-Control-Allow-Headers", join(&self.headers, if self.has_default_headers { "," } else { ", " })),
            ("Access-Control-Expose-Headers", join(&self.expose, ", ")),
            ("Access-Control-Max-Age", self.max_age.to_string()),
        ]
    }

    pub fn allows_any(&self) -> bool {
        self.origins.contains(&OriginPattern::Any)
    }

    /// What needs a variable of its own, because it differs from origin to origin; equal ones
    /// share it.
    pub fn parts(&self) -> impl Iterator<Item = CorsPart> {
        let values = self.answer_headers().into_iter().map(|(_, text)| text).filter(|text| !text.is_empty());
        let parts = [CorsPart::Origins(self.origins.clone())].into_iter().chain(values.map(CorsPart::Text));
        parts.filter(|_| !self.allows_any())
    }
}

/// A variable that CORS needs.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum CorsPart {
    /// The origin of a request if it is among these.
    Origins(Vec<OriginPattern>),
    /// A text for allowed origins.
    Text(String),
}
