//! Authentication by another service: the subrequest, and the effect of its response.

use std::sync::Arc;
use std::time::Duration;

use super::{HeaderName, Origin, Refused, Template, UpstreamId};

/// Clients are authenticated by another service.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ExternalAuthentication {
    /// The field that it comes from.
    pub origin: Origin,
    pub service: UpstreamId,
    /// The subrequest and the effect of its response.
    pub policy: Arc<AuthenticationPolicy>,
}

impl ExternalAuthentication {
    /// Whether both have the same effect, also when they come from different fields.
    pub fn is_like(&self, other: &Self) -> bool {
        self.service == other.service && (Arc::ptr_eq(&self.policy, &other.policy) || self.policy == other.policy)
    }
}

/// The subrequest and the effect of its response.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct AuthenticationPolicy {
    /// The `Host` header of the subrequest.
    pub host: Template,
    /// The path and query of the subrequest.
    pub target: Template,
    /// The method of the subrequest.
    pub method: HeaderName,
    /// The URL that unauthenticated clients are redirected to, with a parameter that leads back.
    pub sign_in: Option<Template>,
    /// Response headers of the service that the backend gets.
    pub response_headers: Vec<HeaderName>,
    /// Additional headers of the subrequest.
    pub request_headers: Vec<(HeaderName, Template)>,
    /// `X-Auth-Request-Redirect`; `None` means the URL that the client requested.
    pub request_redirect: Option<Template>,
    /// How its responses are cached.
    pub memory: Option<AnswerMemory>,
    /// Whether its cookies are passed to clients whatever the status of their response is.
    pub always_sets_cookie: bool,
}

/// A cache for responses of the service.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct AnswerMemory {
    /// The key: requests with the same key get the same response.
    pub key: Template,
    /// For how long; statuses that are not listed are not cached.
    pub durations: Vec<AnswerDuration>,
}

/// For how long responses with some statuses are cached.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct AnswerDuration {
    statuses: Vec<u16>,
    duration: Duration,
}

/// The longest time for which a response may be cached.
pub const LONGEST_MEMORY: Duration = Duration::from_secs(7 * 24 * 3600);

impl AnswerDuration {
    /// Checks both; no status means 200, 301 and 302.
    pub fn new(statuses: Vec<u16>, duration: Duration) -> Result<Self, Refused> {
        match statuses.iter().all(|status| (200..600).contains(status)) {
            false => Err(Refused::because("a status is a number from 200 to 599")),
            true if duration > LONGEST_MEMORY => Err(Refused::because("nothing is remembered for longer than a week")),
            true => Ok(AnswerDuration { statuses, duration }),
        }
    }

    pub fn statuses(&self) -> &[u16] {
        &self.statuses
    }

    /// The time.
    pub const fn duration(&self) -> Duration {
        self.duration
    }
}

/// How several checks of clients are combined (`satisfy`).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Satisfy {
    /// All checks must succeed.
    #[default]
    All,
    /// One check is enough.
    Any,
}
