//! TCP and UDP services: a listener and the upstream of its connections.

use std::sync::Arc;
use std::time::Duration;

use super::{Directive, Listener, Origin, UpstreamId};

/// Timeouts and retries of connections and UDP sessions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StreamPolicy {
    /// The timeout between two reads or writes, in either direction.
    pub timeout: Duration,
    /// Whether another endpoint is tried when a connection to one fails.
    pub next_upstream: bool,
    /// For how long others are tried; zero means no limit.
    pub next_upstream_timeout: Duration,
    /// How many are tried; 0 means all.
    pub next_upstream_tries: u32,
    /// How many datagrams respond to one of a client; after the last the session ends. With 0 none
    /// are expected.
    pub responses: u32,
    /// The timeout for the header of the PROXY protocol.
    pub header_timeout: Duration,
    /// What the server of each service says besides.
    pub directives: Arc<[Directive]>,
}

/// nginx's own default of that timeout.
const HEADER_TIMEOUT: Duration = Duration::from_secs(30);

impl StreamPolicy {
    /// The timeout for the header of the PROXY protocol, when there is one and it is not nginx's
    /// default.
    pub fn header_timeout(&self, proxy_protocol: bool) -> Option<Duration> {
        Some(self.header_timeout).filter(|timeout| proxy_protocol && *timeout != HEADER_TIMEOUT)
    }
}

impl StreamPolicy {
    /// Before anything is put in: what the rows of the settings say is its default.
    pub fn empty() -> Self {
        StreamPolicy {
            timeout: Duration::ZERO,
            next_upstream: false,
            next_upstream_timeout: Duration::ZERO,
            next_upstream_tries: 0,
            responses: 0,
            header_timeout: Duration::ZERO,
            directives: Arc::default(),
        }
    }
}

/// A listener with the upstream of its connections.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stream {
    /// The listener; there is one for each port.
    pub listener: Listener,
    /// The origin of the service.
    pub origin: Origin,
    pub upstream: UpstreamId,
    /// Whether endpoints get a header of the PROXY protocol; never with UDP.
    pub sends_proxy_protocol: bool,
    /// Timeouts and retries.
    pub policy: StreamPolicy,
}
