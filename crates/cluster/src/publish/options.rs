//! The administrator's settings for publishing, and the times that follow from them.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use super::address::{Address, Refused};
use super::documentation::Documentation;

/// The prefixes of entries that name an interface or a type of a Node's addresses.
const INTERFACE: &str = "interface:";
const NODE: &str = "node:";

/// The longest name of an interface in bytes, as in the kernel.
const LONGEST_INTERFACE: usize = 15;

/// Where the published addresses come from.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Mode {
    /// Each node publishes its own addresses.
    #[default]
    Nodes,
    /// All nodes publish the same addresses, which move among them or are announced by all of
    /// them.
    Fixed,
    /// The addresses of a Service are copied.
    Service,
}

impl Mode {
    /// Its name in the settings.
    pub const fn name(self) -> &'static str {
        match self {
            Mode::Nodes => "nodes",
            Mode::Fixed => "fixed",
            Mode::Service => "service",
        }
    }
}

/// A type of a Node's addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NodeAddress {
    /// Addresses within the cluster.
    InternalIp,
    /// Addresses for the outside.
    ExternalIp,
}

impl NodeAddress {
    /// Its name in the Kubernetes API.
    pub const fn name(self) -> &'static str {
        match self {
            NodeAddress::InternalIp => "InternalIP",
            NodeAddress::ExternalIp => "ExternalIP",
        }
    }
}

/// An entry of `publish.addresses`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Announced {
    /// The source addresses by which this host reaches the rest of the world, one for each address
    /// family.
    Automatic,
    /// All permanent addresses of an interface.
    Interface(Arc<str>),
    /// Addresses of the Node object of this host.
    Node(NodeAddress),
    /// A fixed address.
    Fixed(Address),
}

impl FromStr for Announced {
    type Err = Refused;

    fn from_str(text: &str) -> Result<Self, Refused> {
        if text == "auto" {
            return Ok(Announced::Automatic);
        }
        if let Some(name) = text.strip_prefix(INTERFACE) {
            let is_plain = |byte: u8| byte.is_ascii_graphic() && byte != b'/' && byte != b':';
            return match (1..=LONGEST_INTERFACE).contains(&name.len()) && name.bytes().all(is_plain) {
                true => Ok(Announced::Interface(name.into())),
                false => Err(Refused::because(format!("{name:?} is not a name of an interface"))),
            };
        }
        match text.strip_prefix(NODE) {
            Some(sort) => [NodeAddress::InternalIp, NodeAddress::ExternalIp]
                .into_iter()
                .find(|known| known.name() == sort)
                .map(Announced::Node)
                .ok_or_else(|| Refused::because(format!("{text:?} is neither node:InternalIP nor node:ExternalIP"))),
            None => text.parse().map(Announced::Fixed),
        }
    }
}

impl fmt::Display for Announced {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Announced::Automatic => formatter.write_str("auto"),
            Announced::Interface(name) => write!(formatter, "{INTERFACE}{name}"),
            Announced::Node(sort) => write!(formatter, "{NODE}{}", sort.name()),
            Announced::Fixed(address) => address.fmt(formatter),
        }
    }
}

/// The administrator's settings for publishing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// Where the published addresses come from.
    pub mode: Mode,
    /// Where clients reach this node, or all nodes; unused when a Service's addresses are copied.
    pub addresses: Vec<Announced>,
    /// On which addresses nginx listens; an own address of this host that is not among them is not
    /// published.
    pub listened: Vec<IpAddr>,
    /// The Service, by namespace and name, whose addresses are copied.
    pub service: Option<(Arc<str>, Arc<str>)>,
    /// The name of the Node object of this host; `None` for the name of this node.
    pub node_object: Option<Arc<str>>,
    /// The name of this node; `None` for the host name.
    pub node: Option<Arc<str>>,
    /// Whether addresses are written into statuses.
    pub status: bool,
    /// Whether the nodes wait for an order of the administrator before they write statuses.
    pub hold: bool,
    /// Whether Events are written.
    pub events: bool,
    /// The namespace of the Leases.
    pub namespace: Arc<str>,
    /// The name of the leader's Lease; groups of nodes that serve different things have different
    /// ones.
    pub lease: Arc<str>,
    /// How long a Lease is valid without a renewal.
    pub lease_duration: Duration,
    /// How long a node keeps its addresses after a clean stop.
    pub grace: Duration,
    /// Status writes per second.
    pub status_rate: u32,
    /// The burst of status writes.
    pub status_burst: u32,
    /// Events per second.
    pub event_rate: u32,
    pub event_burst: u32,
    /// Where Events link to the explanation of their reasons.
    pub documentation: Documentation,
}

impl Options {
    /// Whether nginx takes connections to this address of the host.
    pub fn listens_on(&self, address: IpAddr) -> bool {
        // `[::]` takes no connections of IPv4: it is `ipv6only=on` by default.
        let takes = |listened: &IpAddr| match listened.is_unspecified() {
            true => listened.is_ipv4() == address.is_ipv4(),
            false => *listened == address,
        };
        self.listened.iter().any(takes)
    }
}

/// The defaults of the settings, which a test of these compares.
impl Default for Options {
    fn default() -> Self {
        Options {
            mode: Mode::Nodes,
            addresses: vec![Announced::Automatic],
            listened: vec![Ipv4Addr::UNSPECIFIED.into(), Ipv6Addr::UNSPECIFIED.into()],
            service: None,
            node_object: None,
            node: None,
            status: true,
            hold: false,
            events: true,
            namespace: "ingressd".into(),
            lease: "ingressd".into(),
            lease_duration: Duration::from_secs(15),
            grace: Duration::from_secs(300),
            status_rate: 20,
            status_burst: 50,
            event_rate: 10,
            event_burst: 50,
            documentation: Documentation::default(),
        }
    }
}

/// The longest name of a field manager in characters, as in the Kubernetes API.
const LONGEST_MANAGER: usize = 128;

impl Options {
    /// The field manager of all nodes of a group. Any leader owns what another one of the group
    /// wrote, and nothing of what another group wrote, which may publish the same addresses: a
    /// host may have an instance of each.
    pub fn manager(&self) -> String {
        let name = format!("ingressd/{}/{}", self.namespace, self.lease);
        name.chars().take(LONGEST_MANAGER).collect()
    }
}

/// The times of a Lease, in the proportions that the controllers of Kubernetes use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timing {
    /// How long an unchanged record is valid.
    pub duration: Duration,
    /// How often the holder renews it.
    pub renew: Duration,
    /// How long after its last success the holder still considers itself the holder. This is
    /// shorter than the duration, so that it gives up before another candidate can take over.
    pub deadline: Duration,
    /// The pause after a failure, or after reading another holder's record.
    pub retry: Duration,
}

impl Timing {
    /// The times for a Lease of this duration.
    pub fn of(duration: Duration) -> Self {
        Timing { duration, renew: duration / 3, deadline: duration * 2 / 3, retry: duration * 2 / 15 }
    }
}

impl Options {
    /// The times of the Leases.
    pub fn timing(&self) -> Timing {
        Timing::of(self.lease_duration)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_stand_in_order() {
        for seconds in [3, 15, 60] {
            let Timing { duration, renew, deadline, retry } = Timing::of(Duration::from_secs(seconds));
            assert!(retry < renew && renew < deadline && deadline < duration, "{seconds}");
            // A failed renewal is tried again before the holder gives up.
            assert!(renew + retry < deadline);
        }
    }

    #[test]
    fn entries_are_read_as_they_are_shown() {
        for (text, is_known) in [
            ("auto", true),
            ("interface:eth0", true),
            ("interface:bond0.100", true),
            ("node:InternalIP", true),
            ("node:ExternalIP", true),
            ("192.0.2.1", true),
            ("2001:db8::1", true),
            ("edge.example.com", true),
            ("interface:", false),
            ("interface:eth0:1", false),
            ("interface:a/b", false),
            ("interface:sixteen-letters-", false),
            ("node:internalip", false),
            ("node:Hostname", false),
            ("127.0.0.1", false),
            ("Auto", false),
        ] {
            let read = text.parse::<Announced>().ok().map(|entry| entry.to_string());
            assert_eq!(read.as_deref(), is_known.then_some(text), "{text}");
        }
    }
}
