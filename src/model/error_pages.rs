//! Which answers another backend gives in the place of a route's own.

use std::sync::Arc;

use super::{Origin, UpstreamId};

/// A backend that answers in the place of a route's own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ErrorPages {
    /// The backend. Its status is what the client gets.
    pub upstream: UpstreamId,
    /// For answers with these statuses, from 400 to 599, each once, in order.
    pub statuses: Vec<u16>,
    /// Also for those of the route's own backend, and not only for nginx's.
    pub intercepts: bool,
    /// The route's own backend is away: it takes all requests.
    pub stands_in: bool,
    /// The Service of the route's own backend, and its port as the object names it, which the other one is told.
    pub service: Arc<str>,
    /// See `service`.
    pub port: Arc<str>,
    /// The field that asked for it.
    pub origin: Origin,
}
