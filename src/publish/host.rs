//! The addresses of this host as its kernel knows them, and word of their changes; it must not know what they are for.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::net::{IpAddr, Ipv6Addr, UdpSocket};
use std::os::fd::AsRawFd as _;

use nix::errno::Errno;
use nix::ifaddrs::getifaddrs;
use nix::net::if_::InterfaceFlags;
use nix::sys::socket::{AddressFamily, NetlinkAddr, SockFlag, SockProtocol, SockType, bind, socket};
use tokio::net::UnixDatagram;

use super::address::Address;

/// Addresses of documentation: no packet is ever sent there, but the route to them is the default route.
const ELSEWHERE: [(&str, &str); 2] = [("0.0.0.0:0", "192.0.2.1:9"), ("[::]:0", "[2001:db8::1]:9")];

/// Where the kernel tells what sort of IPv6 addresses there are.
const IPV6_ADDRESSES: &str = "/proc/net/if_inet6";

/// Marks of an IPv6 address that is not, or not for long, one to be reached by: temporary, without its check for duplicates or
/// having failed it, deprecated. They are the kernel's `IFA_F_*`.
const FLEETING: u32 = 0x01 | 0x08 | 0x20 | 0x40;

/// The groups in which the kernel tells of changes to interfaces, addresses and routes: `RTMGRP_*`.
const GROUPS: u32 = 0x1 | 0x10 | 0x40 | 0x100 | 0x400;

/// What is known of this host.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Host {
    /// The addresses from which it reaches the rest of the world, at most one for each family.
    pub sources: Vec<IpAddr>,
    /// Its interfaces by name.
    pub interfaces: BTreeMap<String, Interface>,
}

/// An interface.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Interface {
    /// Whether it is up and connected.
    pub running: bool,
    /// Its addresses, and whether they last.
    pub addresses: BTreeSet<(IpAddr, bool)>,
}

impl Host {
    /// Looks. What the kernel does not tell is not there.
    pub fn look() -> Self {
        let fleeting = std::fs::read_to_string(IPV6_ADDRESSES).map(|text| fleeting(&text)).unwrap_or_default();
        let mut host = Host::default();
        for entry in getifaddrs().into_iter().flatten() {
            // Addresses may have labels of their own, which begin with the interface's name.
            let name = entry.interface_name.split(':').next().unwrap_or_default();
            let interface = host.interfaces.entry(name.to_owned()).or_default();
            interface.running |= entry.flags.contains(InterfaceFlags::IFF_UP | InterfaceFlags::IFF_RUNNING);
            let Some(address) = entry.address else { continue };
            let four = address.as_sockaddr_in().map(|four| IpAddr::V4(four.ip()));
            let found = four.or_else(|| address.as_sockaddr_in6().map(|six| IpAddr::V6(six.ip())));
            interface.addresses.extend(found.map(|address| (address, !fleeting.contains(&address))));
        }
        host.sources = sources().map(|source| host.lasting(source)).collect();
        host
    }

    /// The address, or one that lasts of the same interface when it does not: what a host uses to ask others is not what others
    /// should keep.
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

/// The source addresses that the kernel would choose; a socket that is connected but never written to asks it.
fn sources() -> impl Iterator<Item = IpAddr> {
    let source = |(any, elsewhere): (&str, &str)| -> Option<IpAddr> {
        let socket = UdpSocket::bind(any).ok()?;
        socket.connect(elsewhere).ok()?;
        Some(socket.local_addr().ok()?.ip())
    };
    ELSEWHERE.into_iter().filter_map(source)
}

/// The addresses with such marks. A line is: address, number of the interface, length of the prefix, scope, marks, name.
fn fleeting(text: &str) -> BTreeSet<IpAddr> {
    let marked = |line: &str| -> Option<IpAddr> {
        let words: Vec<_> = line.split_whitespace().collect();
        let marks = u32::from_str_radix(words.get(4)?, 16).ok()?;
        let address = u128::from_str_radix(words.first()?, 16).ok()?;
        (marks & FLEETING != 0).then_some(IpAddr::V6(Ipv6Addr::from_bits(address)))
    };
    text.lines().filter_map(marked).collect()
}

/// Word of changes to interfaces, addresses and routes. To receive it takes no more of a socket than that it has datagrams, which
/// is what the type stands for.
#[derive(Debug)]
pub struct Changes(UnixDatagram);

impl Changes {
    /// Begins to listen, in the network of this thread.
    ///
    /// # Errors
    ///
    /// What the system says, as when such sockets are not allowed.
    pub fn open() -> io::Result<Self> {
        let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
        let socket = socket(AddressFamily::Netlink, SockType::Datagram, flags, SockProtocol::NetlinkRoute)?;
        bind(socket.as_raw_fd(), &NetlinkAddr::new(0, GROUPS))?;
        Ok(Changes(UnixDatagram::from_std(socket.into())?))
    }

    /// Waits until something changed. What it was is not told: whoever waits looks again.
    ///
    /// # Errors
    ///
    /// What the system says.
    pub async fn next(&mut self) -> io::Result<()> {
        let mut message = [0; 8192];
        let mut received = self.0.recv(&mut message).await;
        loop {
            match received.map_err(|error| (error.raw_os_error().map(Errno::from_raw), error)) {
                // More than it holds for us happened, of which a part is lost: a look tells all of it.
                Ok(_) | Err((Some(Errno::EINTR | Errno::ENOBUFS), _)) => {}
                Err((Some(Errno::EAGAIN), _)) => return Ok(()),
                Err((_, error)) => return Err(error),
            }
            received = self.0.try_recv(&mut message);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "\
fe800000000000000000000000000001 04 40 20 80     eth0
20010db8000000000000000000000001 04 40 00 80     eth0
20010db800000000a1b2c3d4e5f60708 04 40 00 01     eth0
20010db8000000010000000000000001 04 40 00 a0     eth0
20010db8000000020000000000000001 04 40 00 40     eth0
not a line
";

    fn address(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn addresses_that_do_not_last_are_told_by_their_marks() {
        let expected = ["2001:db8::a1b2:c3d4:e5f6:708", "2001:db8:0:1::1", "2001:db8:0:2::1"].map(address);
        assert_eq!(fleeting(TABLE), BTreeSet::from(expected));
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

    #[test]
    fn the_loopback_interface_is_there() {
        let host = Host::look();
        let loopback = host.interfaces.get("lo").expect("every Linux has it");
        let known: Vec<_> = loopback.addresses.iter().filter(|(address, _)| address.is_loopback()).collect();
        assert_eq!(known.is_empty(), !loopback.running, "{host:?}");
    }
}
