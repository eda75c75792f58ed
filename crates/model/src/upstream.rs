//! Upstreams: what is asked in the name of a Service port. Which endpoints there are is in the
//! tables.

use std::cmp::Ordering;
use std::net::SocketAddr;
use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use super::{BackendTls, Balance, HeaderName, Origin, Protocol, Transport};

/// The identity of an upstream, shared by all that refer to it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct UpstreamId(Arc<UpstreamIdentity>);

/// What distinguishes an upstream from others. Its parts contain no dots, as Kubernetes guarantees
/// for namespaces, Services and port names.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct UpstreamIdentity {
    /// Namespace of the Service.
    pub namespace: Arc<str>,
    /// Name of the Service.
    pub service: Arc<str>,
    /// The number of the Service's port: objects that use different names for it share the
    /// upstream.
    pub port: Arc<str>,
    /// How the endpoints were found: empty for pod addresses, or `nodeport`, `clusterip`,
    /// `loadbalancer` or `auto`.
    pub mode: &'static str,
    /// The protocol of the endpoints. nginx keeps idle connections per upstream: an HTTP/1.1
    /// connection must not be reused for gRPC, nor a plain one for TLS.
    pub protocol: Protocol,
    /// How an endpoint is selected; `None` leaves it to nginx's usual way.
    pub balance: Option<Arc<Balance>>,
    /// TLS settings that differ from the default without verification. nginx keeps idle
    /// connections and TLS sessions per upstream: a connection with one client certificate must
    /// not be reused for requests that need another one.
    pub tls: Option<Arc<BackendTls>>,
    /// How long idle connections are kept, where that differs from the administrator's setting.
    pub reuse: Option<Arc<ConnectionReuse>>,
}

/// How connections to endpoints are reused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConnectionReuse {
    /// How many idle connections each worker keeps; 0 keeps none.
    pub connections: u32,
    /// How many requests one connection serves.
    pub requests: u32,
    /// How long a connection may be idle.
    pub timeout: Duration,
}

impl UpstreamId {
    /// A port of a Service as most objects use it.
    pub fn usual(namespace: &str, service: &str, port: &str) -> Self {
        UpstreamIdentity::usual(namespace, service, port).into()
    }
}

impl UpstreamIdentity {
    /// A port of a Service as most objects use it: pods that speak HTTP, in turn.
    pub fn usual(namespace: &str, service: &str, port: &str) -> Self {
        let (namespace, service, port) = (namespace.into(), service.into(), port.into());
        let (mode, protocol) = ("", Protocol::Http);
        UpstreamIdentity { namespace, service, port, mode, protocol, balance: None, tls: None, reuse: None }
    }

    /// Whether connections or datagrams go to it.
    pub const fn transport(&self) -> Transport {
        if matches!(self.protocol, Protocol::Udp) { Transport::Udp } else { Transport::Tcp }
    }

    /// The cookie that names an endpoint, where one does.
    pub fn naming_cookie(&self) -> Option<&HeaderName> {
        match self.balance.as_deref() {
            Some(Balance::Named(cookie)) => Some(cookie),
            _ => None,
        }
    }
}

impl From<UpstreamIdentity> for UpstreamId {
    fn from(identity: UpstreamIdentity) -> Self {
        UpstreamId(Arc::new(identity))
    }
}

/// Most that are compared are the same in memory.
impl Ord for UpstreamId {
    fn cmp(&self, other: &Self) -> Ordering {
        if Arc::ptr_eq(&self.0, &other.0) { Ordering::Equal } else { self.0.cmp(&other.0) }
    }
}

impl PartialOrd for UpstreamId {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Deref for UpstreamId {
    type Target = UpstreamIdentity;

    fn deref(&self) -> &UpstreamIdentity {
        &self.0
    }
}

/// The address of an endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Endpoint {
    /// Address and port.
    pub address: SocketAddr,
    /// Its weight, 1 by default.
    pub weight: u32,
}

/// A port of a Service whose endpoints get requests or connections.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Upstream {
    /// Its identity.
    pub id: UpstreamId,
    /// The Service.
    pub origin: Origin,
    /// The UID of the Service, where clients get names of its endpoints: nobody outside the
    /// cluster knows it, so that a name does not tell the address.
    pub uid: Option<Arc<str>>,
    /// How many upstreams of TCP and UDP services share the connections that one may have.
    pub sharers: u32,
}

impl Upstream {
    /// How many connections or sessions a worker may have to it, when they may take this many of
    /// the worker's connections: each takes one to the client and one to the endpoint.
    pub const fn connections(&self, share: u32) -> u32 {
        at_least_one(share / 2 / at_least_one(self.sharers))
    }

    /// How many a worker may have to each of so many endpoints. nginx counts by endpoint, and goes
    /// on to the next one when one has enough, so the sum is what counts.
    pub fn connections_of_endpoint(&self, share: u32, endpoints: usize) -> u32 {
        let endpoints = u32::try_from(endpoints).unwrap_or(u32::MAX);
        self.connections(share).div_ceil(endpoints.max(1))
    }
}

/// nginx takes 0 for no ceiling.
const fn at_least_one(number: u32) -> u32 {
    if number == 0 { 1 } else { number }
}
