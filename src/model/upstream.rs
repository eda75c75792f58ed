//! Groups of endpoints; it must not know how they were found.

use std::net::SocketAddr;
use std::sync::Arc;

use super::{HostName, Origin};

/// How a backend is spoken to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Protocol {
    /// HTTP/1.1, with upgrades to WebSocket.
    Http,
    /// HTTP/1.1 over TLS.
    Https,
    /// gRPC over cleartext HTTP/2.
    Grpc,
    /// gRPC over TLS.
    Grpcs,
}

impl Protocol {
    /// Whether it is gRPC, in cleartext or over TLS.
    pub const fn is_grpc(self) -> bool {
        matches!(self, Protocol::Grpc | Protocol::Grpcs)
    }

    /// Whether it is spoken over TLS.
    pub const fn is_tls(self) -> bool {
        matches!(self, Protocol::Https | Protocol::Grpcs)
    }

    /// The word for it, as in a URL.
    pub const fn name(self) -> &'static str {
        match self {
            Protocol::Http => "http",
            Protocol::Https => "https",
            Protocol::Grpc => "grpc",
            Protocol::Grpcs => "grpcs",
        }
    }
}

/// Names an upstream; parts hold no dots, as Kubernetes guarantees for namespaces, Services and port names.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct UpstreamId {
    /// Namespace of the Service.
    pub namespace: Arc<str>,
    /// Name of the Service.
    pub service: Arc<str>,
    /// Number of the Service's port; one that objects name differently is still one upstream.
    pub port: Arc<str>,
    /// How the endpoints were found, when not by pod address: `nodeport`, `clusterip`, `loadbalancer`, `auto`; else empty.
    pub mode: &'static str,
    /// How the endpoints are spoken to. Connections are kept by address, and one that speaks HTTP/1.1 cannot take a call
    /// of gRPC: each protocol has an upstream of its own.
    pub protocol: Protocol,
}

/// One address that takes requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Endpoint {
    /// Address and port.
    pub address: SocketAddr,
    /// Share of the requests, 1 by default.
    pub weight: u32,
}

/// Where requests go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Endpoints {
    /// Known addresses, sorted, without duplicates; never empty.
    Addresses(Vec<Endpoint>),
    /// A name that nginx resolves while it runs.
    Name {
        /// The name.
        host: HostName,
        /// The port.
        port: u16,
    },
}

/// A Service port with its endpoints.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Upstream {
    /// Its name.
    pub id: UpstreamId,
    /// The Service.
    pub origin: Origin,
    /// Where requests go.
    pub endpoints: Endpoints,
}
