//! The options of a translation that come from this host in addition to the settings: its
//! addresses, clock, memory and certificate.

use std::collections::BTreeSet;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use procfs::Current as _;

use super::certificate;
use ingressd_cluster::publish::{Address, Announced};
use ingressd_config::Settings;
use ingressd_model::Certificate;

/// The options of a translation on this host now, with this default certificate.
pub fn of_host(settings: &Settings, certificate: Certificate) -> ingressd_translate::Options {
    let mut options = settings.translate_options();
    options.self_signed = Some(Arc::new(certificate));
    options.now = now();
    options.own_addresses = own_addresses(settings, &BTreeSet::new());
    let memory = procfs::Meminfo::current().ok().map(|memory| memory.mem_total);
    options.limits.fit(memory, settings.apply.confirm_timeout);
    options
}

/// The options of other settings, with the same additions of this host.
pub fn under(host: &ingressd_translate::Options, settings: &Settings) -> ingressd_translate::Options {
    let ingressd_translate::Options { fills_in_class, own_addresses, claim_orders, self_signed, limits, now, .. } =
        host.clone();
    let options = settings.translate_options();
    ingressd_translate::Options { fills_in_class, own_addresses, claim_orders, self_signed, limits, now, ..options }
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
    let own: BTreeSet<_> = settings.translate_options().own_addresses.into_iter().chain(ours).collect();
    own.into_iter().collect()
}

/// The same for commands that write nothing.
///
/// # Errors
///
/// When there is no certificate, and none can be generated.
pub fn to_look_with(settings: &Settings) -> Result<ingressd_translate::Options, certificate::Error> {
    Ok(of_host(settings, certificate::as_in(&settings.apply.state)?))
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
