//! Mirrored requests: where copies go and what they contain. It must not know who asked for them.

use std::sync::Arc;

use super::{Origin, Template, UpstreamId};

/// Another service gets a copy of each request; its responses are ignored.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Mirror {
    /// The field that it comes from.
    pub origin: Origin,
    pub service: UpstreamId,
    /// The content of the copies.
    pub policy: Arc<MirrorPolicy>,
}

/// The content of a copy.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct MirrorPolicy {
    /// Its `Host` header.
    pub host: Template,
    /// Path and query.
    pub target: Template,
    /// Whether it contains the body of the request.
    pub has_body: bool,
}
