//! Decides which addresses may be upstreams.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use crate::{Options, World};

/// Addresses of cloud metadata services with a machine's credentials, besides link-local
/// addresses.
const METADATA: [IpAddr; 5] = [
    IpAddr::V4(Ipv4Addr::new(100, 100, 100, 200)),
    IpAddr::V4(Ipv4Addr::new(168, 63, 129, 16)),
    IpAddr::V4(Ipv4Addr::new(192, 0, 0, 192)),
    IpAddr::V6(Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254)),
    IpAddr::V6(Ipv6Addr::new(0xfd20, 0xce, 0, 0, 0, 0, 0, 0x254)),
];

/// Who chose an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Chosen {
    /// A tenant who may write EndpointSlices or Services in the namespace: it may be any address.
    ByTenant,
    /// The cluster: an address of a node with a node port, a cluster IP, or the address of a load
    /// balancer. On a node of the cluster the address may be its own; then the cluster's proxy
    /// listens there and not a program of the node.
    ByCluster,
}

/// Why this address may not be an upstream, as one clause; `None` when it may.
///
/// Our own listeners are refused even where local upstreams are allowed, because requests would
/// loop.
pub fn forbidden(target: SocketAddr, chosen: Chosen, options: &Options, world: &World) -> Option<&'static str> {
    let address = embedded(target.ip());
    let is_own = |own: &SocketAddr| own.port() == target.port() && own.ip().to_canonical() == address;
    let is_own_address = world.own_addresses.iter().any(|own| own.ip().to_canonical() == address);
    let is_ours = is_own_address || address.is_loopback() || address.is_unspecified();
    let is_listed = |listed: &SocketAddr| listed.port() == target.port() && listed.ip().to_canonical() == address;
    if world.own_addresses.iter().any(is_own) || (is_ours && options.own_ports.contains(&target.port())) {
        return Some("it is a port of ingressd or its nginx, on this or another node");
    }
    if is_this_network(address) || address.is_multicast() || address == IpAddr::V4(Ipv4Addr::BROADCAST) {
        return Some("it is not the address of one host");
    }
    let link_local = match address {
        IpAddr::V4(address) => address.is_link_local(),
        IpAddr::V6(address) => address.is_unicast_link_local(),
    };
    match (address.is_loopback(), link_local) {
        _ if METADATA.contains(&address) => Some(
            "it is the address of a metadata service, which has secrets of the \
                                                  machine",
        ),
        _ if options.local_upstreams || options.own_upstreams.iter().any(is_listed) => None,
        (true, _) => Some("it is a loopback address"),
        (_, true) => Some("it is a link-local address"),
        _ if target.port() == 0 => Some("its port is 0"),
        _ if is_own_address && chosen == Chosen::ByTenant => Some(
            "it is an address of this or another edge node; for a pod with hostNetwork the administrator can list \
             address and port in upstreams.own-addresses",
        ),
        _ => None,
    }
}

/// `0.0.0.0/8` and `::`, which a system may interpret as itself.
fn is_this_network(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => address.octets()[0] == 0,
        IpAddr::V6(address) => address.is_unspecified(),
    }
}

/// The IPv4 address in an IPv6 address: mapped, compatible, translated (RFC 2765, and NAT64 with
/// its well-known and its local prefix) or tunnelled (6to4).
fn embedded(address: IpAddr) -> IpAddr {
    let IpAddr::V6(six) = address else { return address };
    let segments = six.segments();
    let last = Ipv4Addr::from((u32::from(segments[6]) << 16) | u32::from(segments[7]));
    match segments[..6] {
        [0, 0, 0, 0, 0, 0xffff] | [0, 0, 0, 0, 0xffff, 0] | [0x64, 0xff9b, 0, 0, 0, 0] | [0x64, 0xff9b, 1, ..] => {
            IpAddr::V4(last)
        }
        [0x2002, high, low, ..] => IpAddr::V4(Ipv4Addr::from((u32::from(high) << 16) | u32::from(low))),
        // `::` and `::1` are addresses of their own.
        [0, 0, 0, 0, 0, 0] if u32::from(last) > 1 => IpAddr::V4(last),
        _ => address,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets() {
        let own_addresses = vec!["192.0.2.1:80".parse().unwrap(), "[2001:db8::2]:80".parse().unwrap()];
        let world = World { own_addresses, ..World::default() };
        let options = Options {
            own_upstreams: [
                "192.0.2.1:9100",
                "127.0.0.1:9100",
                "192.0.2.1:443",
                "169.254.9.9:80",
                "100.100.100.200:80",
            ]
            .map(|listed| listed.parse().unwrap())
            .to_vec(),
            own_ports: vec![80, 443],
            ..Options::default()
        };
        let local = Options { local_upstreams: true, ..options.clone() };
        // Each row: an address, whether it is allowed, and whether it is allowed with local
        // upstreams.
        let cases = [
            ("10.244.0.1:80", true, true),
            ("[2001:db8::1]:8080", true, true),
            ("127.0.0.1:8080", false, true),
            ("127.9.9.9:8080", false, true),
            ("[::1]:8080", false, true),
            ("[::ffff:127.0.0.1]:8080", false, true),
            ("[::127.0.0.1]:8080", false, true),
            ("[64:ff9b::7f00:1]:8080", false, true),
            ("[::ffff:0:127.0.0.1]:8080", false, true),
            ("[64:ff9b:1::7f00:1]:8080", false, true),
            ("[2002:7f00:1::]:8080", false, true),
            ("[2002:cb00:7101::1]:8080", true, true),
            ("169.254.169.254:80", false, true),
            ("[64:ff9b::a9fe:a9fe]:80", false, true),
            ("100.100.100.200:80", false, false),
            ("[fd00:ec2::254]:80", false, false),
            ("0.0.0.1:8080", false, false),
            ("[fe80::1]:8080", false, true),
            ("0.0.0.0:8080", false, false),
            ("[::]:8080", false, false),
            ("224.0.0.1:8080", false, false),
            ("[ff02::1]:8080", false, false),
            ("255.255.255.255:8080", false, false),
            ("192.0.2.1:80", false, false),
            ("192.0.2.1:443", false, false),
            ("192.0.2.1:8080", false, true),
            ("[::ffff:192.0.2.1]:8080", false, true),
            ("[64:ff9b::c000:201]:8080", false, true),
            ("[2001:db8::2]:8080", false, true),
            // Addresses that the administrator lists, but never those that would loop, nor
            // metadata services.
            ("192.0.2.1:9100", true, true),
            ("[::ffff:192.0.2.1]:9100", true, true),
            ("127.0.0.1:9100", true, true),
            ("127.0.0.1:9101", false, true),
            ("169.254.9.9:80", true, true),
            ("127.0.0.1:443", false, false),
        ];
        for (target, allowed, locally) in cases {
            let target = target.parse().unwrap();
            let is_allowed = |options| forbidden(target, Chosen::ByTenant, options, &world).is_none();
            assert_eq!(is_allowed(&options), allowed, "{target}");
            assert_eq!(is_allowed(&local), locally, "{target}, local upstreams");
        }
        // Addresses that the cluster chose may belong to this node, but must neither loop nor be
        // metadata services.
        for (target, allowed) in [
            ("192.0.2.1:30080", true),
            ("192.0.2.1:443", false),
            ("127.0.0.1:30080", false),
            ("100.100.100.200:30080", false),
        ] {
            let is_allowed = forbidden(target.parse().unwrap(), Chosen::ByCluster, &options, &world).is_none();
            assert_eq!(is_allowed, allowed, "{target}, chosen by the cluster");
        }
    }
}
