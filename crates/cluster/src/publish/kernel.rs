//! Reads the interfaces of this host and their addresses from the kernel, by netlink.

use std::collections::BTreeMap;
use std::io;
use std::net::IpAddr;

use futures_util::stream::BoxStream;
use futures_util::{FutureExt as _, StreamExt as _, TryStreamExt as _};
use rtnetlink::packet_route::address::{AddressAttribute, AddressFlags, AddressMessage};
use rtnetlink::packet_route::link::{LinkAttribute, LinkFlags, LinkMessage};
use rtnetlink::{Handle, MulticastGroup};
use tokio::task::JoinSet;

use super::host::Interface;

/// The netlink groups that report changes of addresses and of routes.
const GROUPS: [MulticastGroup; 5] = [
    MulticastGroup::Link,
    MulticastGroup::Ipv4Ifaddr,
    MulticastGroup::Ipv4Route,
    MulticastGroup::Ipv6Ifaddr,
    MulticastGroup::Ipv6Route,
];

/// Flags of IPv6 addresses that must not be published: temporary (secondary in the kernel's
/// terms), deprecated, or not passed by duplicate address detection.
const FLEETING: AddressFlags = AddressFlags::Secondary
    .union(AddressFlags::Tentative)
    .union(AddressFlags::Dadfailed)
    .union(AddressFlags::Deprecated);

/// The index of the loopback interface, in every network namespace.
const LOOPBACK: u32 = 1;

/// A netlink connection to the kernel.
pub struct Kernel {
    handle: Handle,
    /// A stream with an item for each change.
    reported: BoxStream<'static, ()>,
    /// The task of the connection; it ends when this is dropped.
    _connection: JoinSet<()>,
}

impl Kernel {
    /// Begins to listen, in the network namespace of this thread.
    ///
    /// # Errors
    ///
    /// The error of the system, for example when netlink sockets are not allowed.
    pub fn open() -> io::Result<Self> {
        let (connection, handle, reported) = rtnetlink::new_multicast_connection(&GROUPS)?;
        let mut task = JoinSet::new();
        task.spawn(connection);
        Ok(Kernel { handle, reported: reported.map(drop).boxed(), _connection: task })
    }

    /// All interfaces by name. Messages may be lost when very much changes, so callers set a
    /// deadline.
    ///
    /// # Errors
    ///
    /// The error of the kernel, for example when the connection has ended.
    pub async fn interfaces(&mut self) -> Result<BTreeMap<String, Interface>, rtnetlink::Error> {
        let links: Vec<_> = self.handle.link().get().execute().try_collect().await?;
        let mut interfaces: BTreeMap<_, _> = links.iter().filter_map(named).collect();
        let mut addresses = std::pin::pin!(self.handle.address().get().execute());
        while let Some(message) = addresses.try_next().await? {
            if let (Some((_, interface)), Some(found)) = (interfaces.get_mut(&message.header.index), address(&message))
            {
                interface.addresses.insert(found);
            }
        }
        // The end of the connection would cut the list short without an error; this request would
        // then fail.
        self.handle.link().get().match_index(LOOPBACK).execute().try_collect::<Vec<_>>().await?;
        Ok(interfaces.into_values().collect())
    }

    /// Waits for a change; returns `false` when the connection has ended. Callers then look again,
    /// because the change itself is not returned.
    pub async fn changed(&mut self) -> bool {
        self.reported.next().await.is_some()
    }

    /// Drops pending events, because the next look sees their effects.
    pub fn forget(&mut self) {
        while let Some(Some(())) = self.reported.next().now_or_never() {}
    }
}

/// An interface with its index.
fn named(link: &LinkMessage) -> Option<(u32, (String, Interface))> {
    let name = link.attributes.iter().find_map(|attribute| match attribute {
        LinkAttribute::IfName(name) => Some(name.clone()),
        _ => None,
    })?;
    let running = link.header.flags.contains(LinkFlags::Up | LinkFlags::Running);
    Some((link.header.index, (name, Interface { running, ..Interface::default() })))
}

/// An address of an interface, and whether it is permanent.
fn address(message: &AddressMessage) -> Option<(IpAddr, bool)> {
    let mut flags = AddressFlags::from_bits_retain(message.header.flags.bits().into());
    let (mut local, mut other) = (None, None);
    for attribute in &message.attributes {
        match attribute {
            AddressAttribute::Local(address) => local = Some(*address),
            // On a point-to-point link `Address` is the peer's; elsewhere it is ours.
            AddressAttribute::Address(address) => other = Some(*address),
            AddressAttribute::Flags(all) => flags = *all,
            _ => {}
        }
    }
    let address = local.or(other)?;
    Some((address, address.is_ipv4() || !flags.intersects(FLEETING)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(attributes: Vec<AddressAttribute>) -> Option<(IpAddr, bool)> {
        let mut message = AddressMessage::default();
        message.attributes = attributes;
        address(&message)
    }

    #[test]
    fn ipv6_addresses_that_do_not_last_are_recognized_by_their_marks() {
        let [six, four, peer] = ["2001:db8::1", "192.0.2.1", "192.0.2.2"].map(|text| text.parse::<IpAddr>().unwrap());
        for (flags, lasts) in [
            (AddressFlags::Permanent, true),
            (AddressFlags::StablePrivacy | AddressFlags::Managetempaddr, true),
            (AddressFlags::Secondary, false),
            (AddressFlags::Permanent | AddressFlags::Dadfailed, false),
            (AddressFlags::Permanent | AddressFlags::Tentative, false),
            (AddressFlags::Deprecated, false),
        ] {
            let attributes = |address| vec![AddressAttribute::Address(address), AddressAttribute::Flags(flags)];
            assert_eq!(of(attributes(six)), Some((six, lasts)), "{flags:?}");
            // A secondary IPv4 address of a network is published like the first.
            assert_eq!(of(attributes(four)), Some((four, true)), "{flags:?}");
        }
        assert_eq!(of(vec![AddressAttribute::Address(peer), AddressAttribute::Local(four)]), Some((four, true)));
        assert_eq!(of(Vec::new()), None);
    }

    #[tokio::test]
    async fn the_loopback_interface_is_there() {
        let interfaces = Kernel::open().unwrap().interfaces().await.unwrap();
        let loopback = interfaces.get("lo").expect("every Linux has it");
        let known = loopback.addresses.iter().any(|(address, lasts)| address.is_loopback() && *lasts);
        assert_eq!(known, loopback.running, "{interfaces:?}");
    }
}
