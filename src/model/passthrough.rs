//! Hosts whose TLS goes unopened to their endpoints.

use super::{Origin, ServerName, StreamPolicy, StreamUpstreamId};

/// A host whose TLS is not opened here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Passthrough {
    /// The host, never that of all others: what connections ask for is the name in their handshake.
    pub name: ServerName,
    /// The path that passes it through.
    pub origin: Origin,
    /// Where connections go; with `None` each is closed at once.
    pub upstream: Option<StreamUpstreamId>,
}

/// All such hosts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Passthroughs {
    /// Sorted by name.
    pub hosts: Vec<Passthrough>,
    /// When their connections end.
    pub policy: StreamPolicy,
}
