//! Where clients come to.

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

/// The protocol of a port.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Transport {
    /// Connections.
    Tcp,
    /// Datagrams, of which those of one client are a session.
    Udp,
}

impl Transport {
    /// As Kubernetes writes it.
    pub const fn name(self) -> &'static str {
        match self {
            Transport::Tcp => "TCP",
            Transport::Udp => "UDP",
        }
    }
}

/// A port, of the host or of a Service.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Port {
    /// What is spoken on it.
    pub transport: Transport,
    /// Its number.
    pub number: u16,
}

impl fmt::Display for Port {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} port {}", self.transport.name(), self.number)
    }
}

/// What is served on a listener.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Serves {
    /// Hosts, without TLS.
    Http,
    /// Hosts, over TLS, which is opened here.
    Https,
    /// Hosts, over TLS, which is opened here or passed on unopened, by the name in its handshake.
    Passthrough,
    /// One service, whatever it speaks.
    Stream,
}

impl Serves {
    /// Whether clients begin with TLS.
    pub const fn has_tls(self) -> bool {
        match self {
            Serves::Https | Serves::Passthrough => true,
            Serves::Http | Serves::Stream => false,
        }
    }
}

/// Where clients come to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listener {
    /// Addresses of the host; an unspecified one stands for all of its family.
    pub addresses: Arc<[IpAddr]>,
    /// The port.
    pub port: Port,
    /// What is served.
    pub serves: Serves,
    /// Whether clients begin with a header of the PROXY protocol; never with UDP.
    pub proxy_protocol: bool,
}

impl Listener {
    /// Each address with the port.
    pub fn sockets(&self) -> impl Iterator<Item = SocketAddr> {
        self.addresses.iter().map(|address| SocketAddr::new(*address, self.port.number))
    }

    /// The same, where TLS of some host is passed on unopened.
    pub fn passing(self) -> Self {
        let serves = if self.serves == Serves::Https { Serves::Passthrough } else { self.serves };
        Listener { serves, ..self }
    }
}

/// The listeners for hosts, as the administrator decides about all of them together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostListeners {
    /// Addresses, on which TCP and UDP services listen too; unspecified IPv4 and IPv6 by default.
    pub addresses: Vec<IpAddr>,
    /// Port for HTTP, 0 for none.
    pub http_port: u16,
    /// Port for HTTPS, 0 for none.
    pub https_port: u16,
    /// Whether clients begin with a header of the PROXY protocol, on both ports.
    pub proxy_protocol: bool,
}

impl HostListeners {
    /// Each of them.
    pub fn all(&self) -> Vec<Listener> {
        let addresses: Arc<[IpAddr]> = self.addresses.clone().into();
        let ports = [(self.http_port, Serves::Http), (self.https_port, Serves::Https)];
        let listener = |(number, serves)| Listener {
            addresses: Arc::clone(&addresses),
            port: Port { transport: Transport::Tcp, number },
            serves,
            proxy_protocol: self.proxy_protocol,
        };
        ports.into_iter().filter(|(number, _)| *number != 0).map(listener).collect()
    }

    /// Their ports.
    pub fn ports(&self) -> impl Iterator<Item = u16> + use<> {
        [self.http_port, self.https_port].into_iter().filter(|port| *port != 0)
    }
}

impl Default for HostListeners {
    fn default() -> Self {
        HostListeners {
            addresses: vec![IpAddr::from([0, 0, 0, 0]), IpAddr::from([0u16; 8])],
            http_port: 80,
            https_port: 443,
            proxy_protocol: false,
        }
    }
}
