//! The addresses of this host, and which of them it uses as source addresses.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, UdpSocket};

use super::address::Address;

/// Addresses reserved for documentation: no packet is ever sent there, but the route to them is
/// the default route.
const ELSEWHERE: [(&str, &str); 2] = [("0.0.0.0:0", "192.0.2.1:9"), ("[::]:0", "[2001:db8::1]:9")];

/// What is known about this host's network.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Host {
    /// The source addresses of connections to the rest of the world, at most one for each address
    /// family.
    pub sources: Vec<IpAddr>,
    /// Its interfaces by name.
    pub interfaces: BTreeMap<String, Interface>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Interface {
    /// Whether it is up and has a carrier.
    pub running: bool,
    /// Its addresses, and whether each is permanent.
    pub addresses: BTreeSet<(IpAddr, bool)>,
}

impl Host {
    /// Whether this is known to be an address of the host.
    pub fn has(&self, address: IpAddr) -> bool {
        let mut interfaces = self.interfaces.values();
        interfaces.any(|interface| [true, false].iter().any(|lasts| interface.addresses.contains(&(address, *lasts))))
    }

    /// A host with these interfaces.
    pub fn with(interfaces: BTreeMap<String, Interface>) -> Self {
        let mut host = Host { sources: Vec::new(), interfaces };
        host.sources = sources().map(|source| host.lasting(source)).collect();
        host
    }

    /// The address, or a permanent one of the same interface when it is temporary: a source
    /// address that changes soon must not be published.
    fn lasting(&self, source: IpAddr) -> IpAddr {
        let its = |interface: &&Interface| interface.addresses.contains(&(source, false));
        let Some(interface) = self.interfaces.values().find(its) else { return source };
        let network = |address: IpAddr| match address {
            IpAddr::V6(six) => six.to_bits() >> 64,
            IpAddr::V4(_) => 0,
        };
        let others = interface.addresses.iter().filter(|(address, lasts)| {
            *lasts && address.is_ipv4() == source.is_ipv4() && Address::try_from(*address).is_ok()
        });
        let best = others.map(|(address, _)| *address).max_by_key(|address| network(*address) == network(source));
        best.unwrap_or(source)
    }
}

/// Asks the kernel for source addresses, by connecting a UDP socket without sending anything.
fn sources() -> impl Iterator<Item = IpAddr> {
    let source = |(any, elsewhere): (&str, &str)| -> Option<IpAddr> {
        let socket = UdpSocket::bind(any).ok()?;
        socket.connect(elsewhere).ok()?;
        Some(socket.local_addr().ok()?.ip())
    };
    ELSEWHERE.into_iter().filter_map(source)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn a_temporary_source_stands_for_the_lasting_address_beside_it() {
        let addresses = [
            ("fe80::1", true),
            ("192.0.2.1", true),
            ("2001:db8:0:9::1", true),
            ("2001:db8::1", true),
            ("2001:db8::a1b2", false),
        ];
        let addresses = addresses.map(|(text, lasts)| (address(text), lasts)).into();
        let interfaces = BTreeMap::from([("eth0".to_owned(), Interface { running: true, addresses })]);
        let host = Host { interfaces, ..Host::default() };
        for (source, expected) in [
            ("2001:db8::a1b2", "2001:db8::1"),
            ("2001:db8::1", "2001:db8::1"),
            ("192.0.2.1", "192.0.2.1"),
            ("203.0.113.1", "203.0.113.1"),
        ] {
            assert_eq!(host.lasting(address(source)), address(expected), "{source}");
        }
    }
}
