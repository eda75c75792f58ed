//! Asks the kernel by netlink for the routes to pods.

use std::collections::BTreeSet;
use std::ffi::CString;
use std::net::IpAddr;

use futures_util::TryStreamExt as _;
use ipnet::IpNet;
use nix::errno::Errno;
use rtnetlink::packet_route::route::{RouteAddress, RouteAttribute, RouteFlags, RouteMessage, RouteType};
use rtnetlink::{Handle, RouteMessageBuilder};

use super::connections::spread;
use crate::doctor::facts::{Network, Route};
use ingressd_cluster::source::cluster::probe::NodeNetworks;
use ingressd_objects::Snapshot;

/// The most networks that are looked up.
const MOST: usize = 1000;

/// The most single addresses in the place of unknown networks.
const SAMPLE: usize = 16;

/// The routes to the pod networks of all Nodes; when no Node has one, as with some network
/// plugins, to a sample of endpoints.
pub async fn look(nodes: Option<&Result<Vec<NodeNetworks>, String>>, snapshot: Option<&Snapshot>) -> Vec<Network> {
    let nodes = nodes.and_then(|nodes| nodes.as_ref().ok()).map(Vec::as_slice).unwrap_or_default();
    let of_nodes = nodes.iter().flat_map(|node| node.pods.iter().map(|network| (*network, node.name.clone())));
    let mut wanted: Vec<(IpNet, String)> = of_nodes.take(MOST).collect();
    if wanted.is_empty() {
        let pods: BTreeSet<_> = snapshot.into_iter().flat_map(super::objects::any_pods).map(|pod| pod.ip()).collect();
        let pods = spread(&Vec::from_iter(pods), SAMPLE);
        wanted = pods.into_iter().map(|address| (IpNet::from(address), String::new())).collect();
    }
    if wanted.is_empty() {
        return Vec::new();
    }
    let Ok((connection, handle, _)) = rtnetlink::new_connection() else { return Vec::new() };
    let task = tokio::spawn(connection);
    let mut networks = Vec::new();
    for (network, node) in wanted {
        let route = look_up(&handle, inside(network)).await;
        networks.push(Network { network, node, route });
    }
    task.abort();
    networks
}

/// An address of a network that a pod may have: the first one is the network's own, and usually
/// the second that of the bridge.
fn inside(network: IpNet) -> IpAddr {
    network.hosts().nth(1).unwrap_or(network.addr())
}

async fn look_up(handle: &Handle, address: IpAddr) -> Result<Route, String> {
    let length = if address.is_ipv4() { 32 } else { 128 };
    let request = RouteMessageBuilder::<IpAddr>::new().destination_prefix(address, length);
    let mut request = request.map_err(|error| error.to_string())?.build();
    // This asks for the matching entry instead of its result for this address, because only the
    // entry shows the default route.
    request.header.flags |= RouteFlags::FibMatch;
    let mut answers = std::pin::pin!(handle.route().get(request).execute());
    match answers.try_next().await {
        Ok(Some(message)) => route(&message),
        Ok(None) => Err("the kernel does not tell".to_owned()),
        Err(rtnetlink::Error::NetlinkError(error)) => Err(Errno::from_raw(-error.raw_code()).desc().to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

fn route(message: &RouteMessage) -> Result<Route, String> {
    match message.header.kind {
        RouteType::Unreachable => return Err("a route says unreachable".to_owned()),
        RouteType::BlackHole => return Err("a route says blackhole".to_owned()),
        RouteType::Prohibit => return Err("a route says prohibit".to_owned()),
        _ => {}
    }
    let (mut gateway, mut interface) = (None, None);
    let mut read = |attributes: &[RouteAttribute]| {
        for attribute in attributes {
            match attribute {
                RouteAttribute::Gateway(RouteAddress::Inet(address)) => gateway = Some(IpAddr::V4(*address)),
                RouteAttribute::Gateway(RouteAddress::Inet6(address)) => gateway = Some(IpAddr::V6(*address)),
                RouteAttribute::Oif(index) => interface = name(*index),
                _ => {}
            }
        }
    };
    read(&message.attributes);
    for attribute in &message.attributes {
        if let RouteAttribute::MultiPath(ways) = attribute
            && let Some(way) = ways.first()
        {
            read(&way.attributes);
            interface = interface.or_else(|| name(way.interface_index));
            break;
        }
    }
    let local = message.header.kind == RouteType::Local;
    Ok(Route { prefix: message.header.destination_prefix_length, gateway, interface, local })
}

fn name(index: u32) -> Option<String> {
    nix::net::if_::if_indextoname(index).ok().and_then(|name: CString| name.into_string().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_that_a_pod_may_have_is_looked_for() {
        for (network, expected) in [
            ("10.244.1.0/24", "10.244.1.2"),
            ("10.0.0.7/32", "10.0.0.7"),
            ("fd00::/64", "fd00::1"),
            ("10.0.0.4/31", "10.0.0.5"),
        ] {
            assert_eq!(inside(network.parse().unwrap()), expected.parse::<IpAddr>().unwrap(), "{network}");
        }
    }

    #[tokio::test]
    async fn loopback_is_on_this_host() {
        let (connection, handle, _) = rtnetlink::new_connection().unwrap();
        let task = tokio::spawn(connection);
        let route = look_up(&handle, "127.0.0.1".parse().unwrap()).await.unwrap();
        assert!(route.local && route.prefix >= 8, "{route:?}");
        task.abort();
    }
}
