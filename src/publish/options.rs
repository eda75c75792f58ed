//! What the administrator decides about publishing, and the times that follow from it.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use super::address::{Address, Refused};
use super::documentation::Documentation;

/// What begins an entry that names an interface, or what sort of a Node's addresses is meant.
const INTERFACE: &str = "interface:";
const NODE: &str = "node:";

/// Longest name of an interface in bytes, as the kernel has it.
const LONGEST_INTERFACE: usize = 15;

/// Where the addresses come from that are published.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Mode {
    /// Each node has its own.
    #[default]
    Nodes,
    /// All nodes publish the same ones, which move among them or are announced by all of them.
    Fixed,
    /// Those of a Service are copied.
    Service,
}

impl Mode {
    /// Its word.
    pub const fn name(self) -> &'static str {
        match self {
            Mode::Nodes => "nodes",
            Mode::Fixed => "fixed",
            Mode::Service => "service",
        }
    }
}

/// Which of a Node's addresses are meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NodeAddress {
    /// Those within the cluster.
    InternalIp,
    /// Those for everybody.
    ExternalIp,
}

impl NodeAddress {
    /// What Kubernetes calls them.
    pub const fn name(self) -> &'static str {
        match self {
            NodeAddress::InternalIp => "InternalIP",
            NodeAddress::ExternalIp => "ExternalIP",
        }
    }
}

/// An entry of the list of addresses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Announced {
    /// The addresses from which this host reaches the rest of the world, one for each family.
    Automatic,
    /// All lasting addresses of an interface.
    Interface(Arc<str>),
    /// Addresses of the Node object of this host.
    Node(NodeAddress),
    /// This one.
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

/// Everything that the administrator decides about publishing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// Where the addresses come from.
    pub mode: Mode,
    /// Where clients reach this node, or all nodes; without a meaning when those of a Service are copied.
    pub addresses: Vec<Announced>,
    /// The Service, by namespace and name, whose addresses are copied.
    pub service: Option<(Arc<str>, Arc<str>)>,
    /// The name of the Node object of this host; `None` for the name of this node.
    pub node_object: Option<Arc<str>>,
    /// The name of this node among the others; `None` for the host name.
    pub node: Option<Arc<str>>,
    /// Whether addresses are written into objects.
    pub status: bool,
    /// Whether that waits for an order of the administrator, as long as there is none.
    pub hold: bool,
    /// Whether Events are written.
    pub events: bool,
    /// Namespace of the Leases.
    pub namespace: Arc<str>,
    /// Name of the leader's Lease; it tells groups of nodes apart that serve different things.
    pub lease: Arc<str>,
    /// How long a Lease counts that is not renewed.
    pub lease_duration: Duration,
    /// How long a node that was stopped in good order keeps its addresses.
    pub grace: Duration,
    /// Writes of status each second.
    pub status_rate: u32,
    /// Writes of status at once after a time of rest.
    pub status_burst: u32,
    /// Events each second.
    pub event_rate: u32,
    /// Events at once after a time of rest.
    pub event_burst: u32,
    /// Where Events say that their reasons are explained.
    pub documentation: Documentation,
}

impl Options {
    /// Before anything is put in: what the rows of the settings say is its default.
    pub fn empty() -> Self {
        Options {
            mode: Mode::Nodes,
            addresses: Vec::new(),
            service: None,
            node_object: None,
            node: None,
            status: false,
            hold: false,
            events: false,
            namespace: "".into(),
            lease: "".into(),
            lease_duration: Duration::ZERO,
            grace: Duration::ZERO,
            status_rate: 0,
            status_burst: 0,
            event_rate: 0,
            event_burst: 0,
            documentation: Documentation::default(),
        }
    }
}

/// Most characters of the name of a field manager, as the Kubernetes API has it.
const LONGEST_MANAGER: usize = 128;

impl Options {
    /// The name under which all nodes of a group write, so that any leader owns what any other wrote, and nothing of what
    /// another group did, which may publish the same addresses: a host may have an instance of each.
    pub fn manager(&self) -> String {
        let name = format!("ingressd/{}/{}", self.namespace, self.lease);
        name.chars().take(LONGEST_MANAGER).collect()
    }
}

/// The times of a Lease, in the proportions that the controllers of Kubernetes use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timing {
    /// How long a record counts that does not change.
    pub duration: Duration,
    /// How often the holder renews it.
    pub renew: Duration,
    /// How long after the last success the holder still counts itself as such; shorter than the duration, so that it
    /// gives up before anybody else can take over.
    pub deadline: Duration,
    /// How long after a failure, or after a look at somebody else's record, it is tried again.
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
