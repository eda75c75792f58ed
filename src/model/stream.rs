//! TCP and UDP services: a listener and where its connections go.

use std::sync::Arc;
use std::time::Duration;

use super::{Endpoint, Listener, Origin, Port};

/// Names the endpoints of a Service's port; parts hold no dots, as Kubernetes guarantees.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StreamUpstreamId {
    /// Namespace of the Service.
    pub namespace: Arc<str>,
    /// Name of the Service.
    pub service: Arc<str>,
    /// Number and protocol of the Service's port.
    pub port: Port,
    /// How the endpoints were found, see [`super::UpstreamId::mode`].
    pub mode: &'static str,
}

/// A port of a Service with its endpoints.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StreamUpstream {
    /// Its name.
    pub id: StreamUpstreamId,
    /// The Service.
    pub origin: Origin,
    /// Where connections go: addresses, sorted, each once. With none every connection is closed at once.
    pub endpoints: Vec<Endpoint>,
}

/// When a connection or session ends, and when another endpoint is tried.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StreamPolicy {
    /// How long nothing may be sent in either direction.
    pub timeout: Duration,
    /// Whether another endpoint is tried where one cannot be connected to.
    pub next_upstream: bool,
    /// For how long others are tried; zero for no bound.
    pub next_upstream_timeout: Duration,
    /// How many are tried; 0 for all.
    pub next_upstream_tries: u32,
    /// How many datagrams answer one of a client; after the last the session ends. 0 expects none.
    pub responses: u32,
    /// How long a header of the PROXY protocol is waited for.
    pub header_timeout: Duration,
}

/// How long nginx waits for a header of the PROXY protocol by itself.
const HEADER_TIMEOUT: Duration = Duration::from_secs(30);

impl StreamPolicy {
    /// How long a header of the PROXY protocol is waited for, where there is one and nginx does not do it by itself.
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
        }
    }
}

/// A listener and what its connections go to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stream {
    /// The listener, of which each port has one.
    pub listener: Listener,
    /// Who asks for it.
    pub origin: Origin,
    /// Where connections go.
    pub upstream: StreamUpstreamId,
    /// Whether endpoints get a header of the PROXY protocol; never with UDP.
    pub sends_proxy_protocol: bool,
    /// When they end.
    pub policy: StreamPolicy,
}
