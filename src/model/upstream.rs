//! Groups of endpoints.

use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;

use super::{BackendTls, Balance, Origin, Protocol};

/// Names an upstream; parts hold no dots, as Kubernetes guarantees for namespaces, Services and port names.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct UpstreamId {
    /// Namespace of the Service.
    pub namespace: Arc<str>,
    /// Name of the Service.
    pub service: Arc<str>,
    /// Number of the Service's port; one that objects name differently is still one upstream.
    pub port: Arc<str>,
    /// How the endpoints were found, when not by pod address: `nodeport`, `clusterip`, `loadbalancer`, `auto`; else empty.
    pub mode: &'static str,
    /// How the endpoints are spoken to. Idle connections are kept by upstream: one that has spoken HTTP/1.1 must never be
    /// taken for gRPC, nor one without TLS for one with it.
    pub protocol: Protocol,
    /// How one of them is chosen; `None` takes each in its turn.
    pub balance: Option<Arc<Balance>>,
    /// How TLS is spoken where it is not without verifying. Idle connections and sessions of TLS are kept by upstream: what one client
    /// certificate opened must not take requests for which another one was meant.
    pub tls: Option<Arc<BackendTls>>,
}

/// Names are made of it: those of upstreams that nobody says anything about stay what they were.
impl fmt::Debug for UpstreamId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let UpstreamId { namespace, service, port, mode, protocol, balance, tls } = self;
        let mut all = formatter.debug_struct("UpstreamId");
        all.field("namespace", namespace).field("service", service).field("port", port).field("mode", mode);
        all.field("protocol", protocol).field("balance", balance);
        if tls.is_some() {
            all.field("tls", tls);
        }
        all.finish()
    }
}

/// One address that takes requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Endpoint {
    /// Address and port.
    pub address: SocketAddr,
    /// Share of the requests, 1 by default.
    pub weight: u32,
}

/// A Service port with its endpoints.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Upstream {
    /// Its name.
    pub id: UpstreamId,
    /// The Service.
    pub origin: Origin,
    /// Where requests go: addresses, sorted, each once; never empty.
    pub endpoints: Vec<Endpoint>,
}
