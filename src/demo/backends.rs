//! The backends of the demo: those that its examples name, and one for each port of a Service that
//! has no EndpointSlices.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};

use serde_json::{Value, json};
use tokio::task::JoinSet;

use super::examples::{Examples, SERVICE};
use super::session::{DemoError, listen};
use ingressd_echo::Echo;

/// The backends of the examples: name, last byte of the loopback address, port, whether it uses
/// TLS.
const EXAMPLES: &[(&str, u8, u16, bool)] =
    &[("web", 1, 18081, false), ("web", 2, 18081, false), ("api", 1, 18082, false), ("vault", 1, 18443, true)];

/// A namespace, the name of a Service in it, and that of a port.
type PortOf = (String, String, String);

/// Running backends, which end when they are dropped.
#[derive(Default)]
pub struct Backends {
    tasks: JoinSet<()>,
    /// Those for Services without EndpointSlices, with their ports.
    supplied: BTreeMap<PortOf, u16>,
}

impl Backends {
    /// Starts those of the examples.
    pub async fn start() -> Result<Self, DemoError> {
        let mut backends = Backends::default();
        for (name, host, port, tls) in EXAMPLES {
            let listener = listen(SocketAddr::from(([127, 0, 0, *host], *port))).await?;
            let echo = if *tls { Echo::tls(name)? } else { Echo::plain(name) };
            backends.tasks.spawn(echo.serve(listener));
        }
        Ok(backends)
    }

    /// Starts a backend for each port of a Service without EndpointSlices, and returns slices that
    /// name them.
    pub async fn supply(&mut self, examples: &Examples) -> Result<Vec<Value>, DemoError> {
        let mut slices = Vec::new();
        for ((namespace, name), ports) in examples.missing_backends() {
            let mut of_slice = Vec::new();
            for port in ports {
                let number = self.one((namespace.clone(), name.clone(), port.clone())).await?;
                of_slice.push(json!({ "name": port, "port": number, "protocol": "TCP" }));
            }
            slices.push(json!({
                "apiVersion": "discovery.k8s.io/v1",
                "kind": "EndpointSlice",
                "metadata": { "name": format!("{name}-demo"), "namespace": namespace, "labels": { SERVICE: name } },
                "addressType": "IPv4",
                "ports": of_slice,
                "endpoints": [{ "addresses": [Ipv4Addr::LOCALHOST.to_string()] }],
            }));
        }
        Ok(slices)
    }

    /// The port of a backend, which is started where it does not run yet. Whether the Ingress asks
    /// for TLS does not matter to it.
    async fn one(&mut self, of: PortOf) -> Result<u16, DemoError> {
        if let Some(port) = self.supplied.get(&of) {
            return Ok(*port);
        }
        let any = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let listener = listen(any).await?;
        let address = listener.local_addr().map_err(|source| DemoError::Listen { address: any, source })?;
        self.tasks.spawn(Echo::with_and_without_tls(&of.1)?.serve(listener));
        self.supplied.insert(of, address.port());
        Ok(address.port())
    }
}
