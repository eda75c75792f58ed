//! Authentication by another service: where it is asked, and what follows from its answer.

use std::sync::Arc;
use std::time::Duration;

use super::{HeaderName, Origin, Refused, Template, UpstreamId};

/// Clients are let in whom another service lets in.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ExternalAuthentication {
    /// The field that asked for it.
    pub origin: Origin,
    /// The service.
    pub service: UpstreamId,
    /// What it is asked, and what follows.
    pub policy: Arc<AuthenticationPolicy>,
}

impl ExternalAuthentication {
    /// Whether both let in the same clients with the same effect, whoever asked for it.
    pub fn is_like(&self, other: &Self) -> bool {
        self.service == other.service && (Arc::ptr_eq(&self.policy, &other.policy) || self.policy == other.policy)
    }
}

/// What the service is asked, and what follows from its answer.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct AuthenticationPolicy {
    /// Its `Host` header.
    pub host: Template,
    /// Path and query of the question.
    pub target: Template,
    /// The method of the question.
    pub method: HeaderName,
    /// Where clients are sent whom it does not know, with the address that brings them back.
    pub sign_in: Option<Template>,
    /// Headers of its answer that the backend is told.
    pub response_headers: Vec<HeaderName>,
    /// Headers of the question besides those that it always has.
    pub request_headers: Vec<(HeaderName, Template)>,
    /// `X-Auth-Request-Redirect`; `None` is the address that the client asked for.
    pub request_redirect: Option<Template>,
    /// Its answers are remembered.
    pub memory: Option<AnswerMemory>,
    /// Its cookies reach clients whatever becomes of their request.
    pub always_sets_cookie: bool,
}

/// Answers that are remembered.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct AnswerMemory {
    /// Requests for which this is the same get the same answer.
    pub key: Template,
    /// For how long; statuses that nobody names are not remembered.
    pub durations: Vec<AnswerDuration>,
}

/// For how long answers of some statuses are remembered.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct AnswerDuration {
    statuses: Vec<u16>,
    duration: Duration,
}

/// The longest time for which an answer may be remembered.
pub const LONGEST_MEMORY: Duration = Duration::from_secs(7 * 24 * 3600);

impl AnswerDuration {
    /// Proves both: without a status, those of 200, 301 and 302 are meant.
    pub fn new(statuses: Vec<u16>, duration: Duration) -> Result<Self, Refused> {
        match statuses.iter().all(|status| (200..600).contains(status)) {
            false => Err(Refused::because("a status is a number from 200 to 599")),
            true if duration > LONGEST_MEMORY => Err(Refused::because("nothing is remembered for longer than a week")),
            true => Ok(AnswerDuration { statuses, duration }),
        }
    }

    /// The statuses.
    pub fn statuses(&self) -> &[u16] {
        &self.statuses
    }

    /// How long.
    pub const fn duration(&self) -> Duration {
        self.duration
    }
}

/// How several ways of choosing clients go together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Satisfy {
    /// Whoever is let in by one has to be let in by all.
    #[default]
    All,
    /// One of them is enough.
    Any,
}
