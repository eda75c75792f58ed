//! The options of a translation that come from this host, beside the settings: its addresses, its
//! clock, its memory and its certificate.

use std::collections::BTreeSet;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use procfs::Current as _;

use super::certificate;
use crate::config::Settings;
use crate::model::Certificate;
use crate::publish::{Address, Announced};
use crate::translate;

/// The options of a translation on this host, now; the certificate is for hosts that have none.
pub fn of_host(settings: &Settings, certificate: Certificate) -> translate::Options {
    let mut options = settings.translate_options();
    options.self_signed = Some(Arc::new(certificate));
    options.now = now();
    options.own_addresses = own_addresses(settings, &BTreeSet::new());
    let memory = procfs::Meminfo::current().ok().map(|memory| memory.mem_total);
    options.limits.fit(memory, settings.apply.confirm_timeout);
    options
}

/// The options of other settings, with what this host adds to them.
pub fn under(host: &translate::Options, settings: &Settings) -> translate::Options {
    let translate::Options { own_addresses, claim_orders, self_signed, limits, now, .. } = host.clone();
    translate::Options { own_addresses, claim_orders, self_signed, limits, now, ..settings.translate_options() }
}

/// The addresses of this host and of the other nodes, each with a port of our own listeners,
/// sorted. The ports of our listeners count on each of these addresses, because a request sent to
/// one would come back for ever. Other programs that listen there would take nginx for the node
/// itself.
pub fn own_addresses(settings: &Settings, peers: &BTreeSet<IpAddr>) -> Vec<SocketAddr> {
    let published = settings.publish.addresses.iter().filter_map(|announced| match announced {
        Announced::Fixed(Address::Ip(address)) => Some(*address),
        _ => None,
    });
    let all = addresses().chain(published).chain(peers.iter().copied());
    let ours = all.map(|address| SocketAddr::new(address, settings.gate.http_port));
    let own: BTreeSet<_> = settings.translate_options().own_addresses.into_iter().chain(ours).collect();
    own.into_iter().collect()
}

/// The same for those who only look, and write nothing.
///
/// # Errors
///
/// When there is no certificate, and none can be made.
pub fn to_look_with(settings: &Settings) -> Result<translate::Options, certificate::Error> {
    Ok(of_host(settings, certificate::as_in(&settings.apply.state)?))
}

/// Seconds since 1970.
pub fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_secs()).unwrap_or(i64::MAX)
}

/// The addresses of this host's interfaces; none when the system does not tell.
fn addresses() -> impl Iterator<Item = IpAddr> {
    let interfaces = nix::ifaddrs::getifaddrs().into_iter().flatten();
    interfaces.filter_map(|interface| {
        let address = interface.address?;
        let four = address.as_sockaddr_in().map(|four| IpAddr::V4(four.ip()));
        four.or_else(|| address.as_sockaddr_in6().map(|six| IpAddr::V6(six.ip())))
    })
}
