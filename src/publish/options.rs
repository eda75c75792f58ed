//! What the administrator decides about publishing, and the times that follow from it; it must not know how settings are written.

use std::net::{IpAddr, UdpSocket};
use std::sync::Arc;
use std::time::Duration;

use super::address::Address;

/// Addresses of documentation: no packet is ever sent there, but the route to them is the default route.
const ELSEWHERE: [(&str, &str); 2] = [("0.0.0.0:0", "192.0.2.1:9"), ("[::]:0", "[2001:db8::1]:9")];

/// An entry of the list of addresses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Announced {
    /// The addresses from which this host reaches the rest of the world, one for each family.
    Automatic,
    /// This one.
    Fixed(Address),
}

/// Everything that the administrator decides about publishing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// Where clients reach this node.
    pub addresses: Vec<Announced>,
    /// The name of this node among the others; `None` for the host name.
    pub node: Option<Arc<str>>,
    /// Whether addresses are written into objects.
    pub status: bool,
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
}

impl Default for Options {
    fn default() -> Self {
        Options {
            addresses: vec![Announced::Automatic],
            node: None,
            status: true,
            events: true,
            namespace: "ingressd".into(),
            lease: "ingressd".into(),
            lease_duration: Duration::from_secs(15),
            grace: Duration::from_secs(300),
            status_rate: 20,
            status_burst: 50,
            event_rate: 10,
            event_burst: 50,
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

    /// The addresses of this node now, sorted; those of the default route may come and go.
    pub fn current_addresses(&self) -> Vec<Address> {
        let mut addresses = Vec::new();
        for announced in &self.addresses {
            match announced {
                Announced::Automatic => addresses.extend(of_default_route()),
                Announced::Fixed(address) => addresses.push(address.clone()),
            }
        }
        addresses.sort();
        addresses.dedup();
        addresses
    }
}

/// The source addresses that the kernel would choose; a socket that is connected but never written to asks it.
fn of_default_route() -> impl Iterator<Item = Address> {
    let source = |(any, elsewhere): (&str, &str)| -> Option<IpAddr> {
        let socket = UdpSocket::bind(any).ok()?;
        socket.connect(elsewhere).ok()?;
        Some(socket.local_addr().ok()?.ip())
    };
    ELSEWHERE.into_iter().filter_map(source).filter_map(|address| address.try_into().ok())
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
    fn addresses_are_sorted_and_named_once() {
        let fixed = |text: &str| Announced::Fixed(text.parse().unwrap());
        let addresses = vec![fixed("edge.example"), fixed("192.0.2.1"), fixed("192.0.2.1")];
        let options = Options { addresses, ..Options::default() };
        let texts: Vec<_> = options.current_addresses().iter().map(ToString::to_string).collect();
        assert_eq!(texts, ["192.0.2.1", "edge.example"]);
    }
}
