//! TCP and UDP services: a listener and the upstream of its connections.

use std::sync::Arc;
use std::time::Duration;

use super::{Directive, Endpoint, Listener, Origin, Port};

/// The identity of a Service port's endpoints. Its parts contain no dots, as Kubernetes
/// guarantees.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StreamUpstreamId {
    /// Namespace of the Service.
    pub namespace: Arc<str>,
    /// Name of the Service.
    pub service: Arc<str>,
    /// Number and protocol of the Service's port.
    pub port: Port,
    /// How the endpoints were found, see [`super::UpstreamIdentity::mode`].
    pub mode: &'static str,
}

/// A port of a Service with its endpoints.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StreamUpstream {
    /// Its identity.
    pub id: StreamUpstreamId,
    /// The Service.
    pub origin: Origin,
    /// The addresses of its endpoints, sorted, without duplicates. When empty, every connection is
    /// closed at once.
    pub endpoints: Vec<Endpoint>,
    /// How many upstreams share the connections of one.
    pub sharers: u32,
}

impl StreamUpstream {
    /// How many connections or sessions a worker may have to it, when they may take this many of
    /// the worker's connections: each takes one to the client and one to the endpoint.
    pub const fn connections(&self, share: u32) -> u32 {
        at_least_one(share / 2 / at_least_one(self.sharers))
    }

    /// How many a worker may have to each endpoint. nginx counts by endpoint, and goes on to the
    /// next one when one has enough, so the sum is what counts.
    pub fn connections_of_endpoint(&self, share: u32) -> u32 {
        let endpoints = u32::try_from(self.endpoints.len()).unwrap_or(u32::MAX);
        self.connections(share).div_ceil(endpoints.max(1))
    }
}

/// nginx takes 0 for no ceiling.
const fn at_least_one(number: u32) -> u32 {
    if number == 0 { 1 } else { number }
}

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
    pub upstream: StreamUpstreamId,
    /// Whether endpoints get a header of the PROXY protocol; never with UDP.
    pub sends_proxy_protocol: bool,
    /// Timeouts and retries.
    pub policy: StreamPolicy,
}
