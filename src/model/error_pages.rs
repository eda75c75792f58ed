//! Error pages: responses of another backend in the place of a route's own.

use std::sync::Arc;

use super::{Origin, UpstreamId};

/// A backend that responds in the place of a route's own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ErrorPages {
    /// The backend. The client gets the status of its response.
    pub upstream: UpstreamId,
    /// The statuses that it replaces, from 400 to 599, in order without duplicates.
    pub statuses: Vec<u16>,
    /// Whether it also replaces responses of the route's own backend, and not only nginx's.
    pub intercepts: bool,
    /// Whether it takes all requests, because the route's own backend has no endpoints.
    pub stands_in: bool,
    /// The Service of the route's own backend, which the other backend gets in a header.
    pub service: Arc<str>,
    /// The port of that Service, as the object names it.
    pub port: Arc<str>,
    /// The field that asked for it.
    pub origin: Origin,
}
