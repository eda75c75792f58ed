//! What asks for a port of the host: TCP and UDP services of objects and ConfigMaps.

use super::since::Since;
use crate::read::port::PortReference;
use ingressd_model::{Origin, Port, StreamPolicy};

/// A claim on a port of the host, for a Service.
#[derive(Debug, Clone)]
pub struct StreamClaim<'a> {
    pub origin: Origin,
    /// Since when an object asks for it; `None` for the administrator, who comes first.
    pub since: Option<Since<'a>>,
    /// The port of the host.
    pub wanted: Port,
    /// Whether clients must begin with a header of the PROXY protocol.
    pub accepts_proxy_protocol: bool,
    /// The namespace of the Service.
    pub namespace: &'a str,
    pub service: &'a str,
    pub port: PortReference<'a>,
    /// Whether endpoints get a header of the PROXY protocol.
    pub sends_proxy_protocol: bool,
    /// Timeouts and retries.
    pub policy: StreamPolicy,
}
