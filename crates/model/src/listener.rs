//! Listeners: the addresses and ports to which clients connect.

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

/// The protocol of a port.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Transport {
    /// Connections.
    Tcp,
    /// Datagrams; those of one client form a session.
    Udp,
}

impl Transport {
    /// Its name in Kubernetes.
    pub const fn name(self) -> &'static str {
        match self {
            Transport::Tcp => "TCP",
            Transport::Udp => "UDP",
        }
    }
}

/// A port of the host or of a Service.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Port {
    /// Its protocol.
    pub transport: Transport,
    pub number: u16,
}

impl Port {
    /// Reads what [`fmt::Display`] writes.
    pub fn parse(text: &str) -> Option<Self> {
        let (transport, number) = text.split_once(" port ")?;
        let transport = [Transport::Tcp, Transport::Udp].into_iter().find(|known| known.name() == transport)?;
        number.parse().ok().map(|number| Port { transport, number })
    }
}

impl fmt::Display for Port {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} port {}", self.transport.name(), self.number)
    }
}

/// What a listener serves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Serves {
    /// Hosts by plain HTTP.
    Http,
    /// Hosts by TLS, which is terminated here.
    Https,
    /// Hosts by TLS, which is terminated here or passed through, by the name in its handshake.
    Passthrough,
    /// One TCP or UDP service.
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

/// A listener: addresses and a port to which clients connect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listener {
    /// Addresses of the host; an unspecified one (`0.0.0.0`, `::`) stands for all of its family.
    pub addresses: Arc<[IpAddr]>,
    pub port: Port,
    /// What is served.
    pub serves: Serves,
    /// Whether clients must begin with a header of the PROXY protocol; never with UDP.
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

/// The listeners for hosts, as the administrator configures them together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostListeners {
    /// The addresses, on which TCP and UDP services listen too; by default unspecified IPv4 and
    /// IPv6.
    pub addresses: Vec<IpAddr>,
    /// The port for HTTP; 0 means none.
    pub http_port: u16,
    /// The port for HTTPS; 0 means none.
    pub https_port: u16,
    /// Whether clients must begin with a header of the PROXY protocol, on both ports.
    pub proxy_protocol: bool,
}

impl HostListeners {
    /// All listeners.
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

impl HostListeners {
    /// Before anything is put in: what the rows of the settings say is its default.
    pub fn empty() -> Self {
        HostListeners { addresses: Vec::new(), http_port: 0, https_port: 0, proxy_protocol: false }
    }
}
