//! What a translation gets from this host in addition to the settings: its addresses, clock,
//! memory and certificate.

use std::collections::BTreeSet;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use procfs::Current as _;

use super::certificate;
use ingressd_cluster::publish::{Address, Announced};
use ingressd_config::Settings;
use ingressd_model::Certificate;
use ingressd_translate::{Options, World};

/// The options of a translation on this host.
pub fn of_host(settings: &Settings) -> Options {
    let mut options = settings.translate_options();
    let memory = procfs::Meminfo::current().ok().map(|memory| memory.mem_total);
    options.limits.fit(memory, settings.apply.confirm_timeout);
    options
}

/// The options of other settings, with the same additions of this host.
pub fn under(host: &Options, settings: &Settings) -> Options {
    let Options { fills_in_class, limits, .. } = host.clone();
    Options { fills_in_class, limits, ..settings.translate_options() }
}

/// The world as this host sees it now, without names and other nodes; hosts without a certificate
/// get this one.
pub fn world(settings: &Settings, certificate: Certificate) -> World {
    let own_addresses = own_addresses(settings, &BTreeSet::new());
    World { now: now(), own_addresses, self_signed: Some(Arc::new(certificate)), ..World::default() }
}

/// The addresses of this host and of the other nodes, sorted, each with the ports of our own
/// listeners. Requests to any of these would come back to a node for ever. Ports of other programs
/// on this host are not among them.
pub fn own_addresses(settings: &Settings, peers: &BTreeSet<IpAddr>) -> Vec<SocketAddr> {
    let published = settings.publish.addresses.iter().filter_map(|announced| match announced {
        Announced::Fixed(Address::Ip(address)) => Some(*address),
        _ => None,
    });
    let all = addresses().chain(published).chain(peers.iter().copied());
    let ours = all.map(|address| SocketAddr::new(address, settings.translate.listeners.http_port));
    let own: BTreeSet<_> = settings.own_listeners().into_iter().chain(ours).collect();
    own.into_iter().collect()
}

/// The same for commands that write nothing.
///
/// # Errors
///
/// When there is no certificate, and none can be generated.
pub fn to_look_with(settings: &Settings) -> Result<(Options, World), certificate::Error> {
    Ok((of_host(settings), world(settings, certificate::as_in(&settings.apply.state)?)))
}

/// The time in seconds since 1970.
pub fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_secs()).unwrap_or(i64::MAX)
}

/// The addresses of this host's interfaces; empty when the system does not report them.
fn addresses() -> impl Iterator<Item = IpAddr> {
    let interfaces = nix::ifaddrs::getifaddrs().into_iter().flatten();
    interfaces.filter_map(|interface| {
        let address = interface.address?;
        let four = address.as_sockaddr_in().map(|four| IpAddr::V4(four.ip()));
        four.or_else(|| address.as_sockaddr_in6().map(|six| IpAddr::V6(six.ip())))
    })
}
