//! Hosts with TLS passthrough: their connections go to the endpoints without TLS being terminated.

use super::{Origin, ServerName, StreamPolicy, UpstreamId};

/// A host with TLS passthrough.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Passthrough {
    /// The host; never the catch-all, because connections are selected by the server name in the
    /// handshake.
    pub name: ServerName,
    /// The path that asks for passthrough.
    pub origin: Origin,
    /// The upstream; with `None` each connection is closed at once.
    pub upstream: Option<UpstreamId>,
}

impl Passthrough {
    /// How many connections to the hosts of one namespace a worker may have, when they may take
    /// this many of the worker's connections: nginx connects to itself for each, so four belong to
    /// it, which the workers share.
    pub const fn connections(share: u32) -> u32 {
        if share < 4 { 1 } else { share / 4 }
    }
}

/// All hosts with TLS passthrough.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Passthroughs {
    /// Sorted by name.
    pub hosts: Vec<Passthrough>,
    /// Timeouts and retries of their connections.
    pub policy: StreamPolicy,
}

impl Default for Passthroughs {
    /// No host.
    fn default() -> Self {
        Passthroughs { hosts: Vec::new(), policy: StreamPolicy::empty() }
    }
}
