//! Copies of requests: where they go and what is in them; it must not know who asked for them.

use std::sync::Arc;

use super::{Origin, Template, UpstreamId};

/// Another service gets a copy of each request. Its answers are thrown away.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Mirror {
    /// The field that asked for it.
    pub origin: Origin,
    /// The service.
    pub service: UpstreamId,
    /// What it gets.
    pub policy: Arc<MirrorPolicy>,
}

/// What is in a copy.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct MirrorPolicy {
    /// Its `Host` header.
    pub host: Template,
    /// Path and query.
    pub target: Template,
    /// Whether it has the body of the request.
    pub has_body: bool,
}
