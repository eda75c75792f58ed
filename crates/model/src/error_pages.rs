//! Error pages: responses of another backend in the place of a route's own.

use std::sync::Arc;

use super::{Origin, UpstreamId};

/// When the backend of error pages takes all requests of a route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StandIn {
    Never,
    /// While the upstream of the route has no endpoints.
    WithoutEndpoints,
    /// The Service of the route is not there, so that the route leads to this backend.
    Always,
}

/// A backend that responds in the place of a route's own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ErrorPages {
    /// The backend. The client gets the status of its response.
    pub upstream: UpstreamId,
    /// The statuses that it replaces, from 400 to 599, in order without duplicates.
    pub statuses: Vec<u16>,
    /// Whether it also replaces responses of the route's own backend, and not only nginx's.
    pub intercepts: bool,
    pub stand_in: StandIn,
    /// The Service of the route's own backend, which the other backend gets in a header.
    pub service: Arc<str>,
    /// The port of that Service, as the object names it.
    pub port: Arc<str>,
    /// The field that asked for it.
    pub origin: Origin,
}

impl ErrorPages {
    /// The status by which a location without endpoints hands its requests to the location of the
    /// backend that stands in. nginx itself has no use for it.
    pub const WITHOUT_ENDPOINTS: u16 = 598;
}
