//! Chooses the sockets on which we listen beside the host's other sites.

use std::net::{IpAddr, SocketAddr};

use crate::{ConnectedBy, Http2, Listen, OtherSites, SiteListen, StreamListen};
use ingressd_model::catalogue::{self, Module};
use ingressd_model::finding::{Finding, Reason};
use ingressd_model::{Listener, Model, Transport};

use super::{Node, host, streams};

/// The chosen sockets.
pub struct Sockets {
    /// Each socket.
    pub listens: Vec<Listen>,
    /// How HTTP/2 is switched on.
    pub http2: Http2,
    /// Whether another site is the default server of one of our TLS sockets.
    pub default_server_taken: bool,
}

/// Chooses sockets that are compatible with those of other sites.
pub fn choose(model: &Model, node: &Node<'_>, findings: &mut Vec<Finding>) -> Sockets {
    let mut sockets = Sockets { listens: Vec::new(), http2: Http2::Off, default_server_taken: false };
    let tls = match (model.asks_for_tls(), node.capabilities.has(Module::Ssl), &model.default_certificate) {
        (false, ..) => false,
        (_, false, _) => {
            let words = "nginx has no ngx_http_ssl_module, so nothing is served over https; install an nginx with \
                         this module";
            findings.push(Finding::new(Reason::MissingCapability, host(), words));
            false
        }
        // Without a default certificate nginx refuses a default server for TLS.
        (_, true, certificate) => certificate.is_some(),
    };
    for listener in model.listeners.iter().filter(|listener| tls || !listener.serves.has_tls()) {
        for address in listener.sockets() {
            if let Some(listen) = socket(address, listener, node.other_sites, findings) {
                sockets.default_server_taken |= listen.ssl && !listen.default_server;
                sockets.listens.push(listen);
            }
        }
    }
    sockets.http2 = http2(&sockets.listens, node, findings);
    sockets
}

fn socket(
    address: SocketAddr,
    listener: &Listener,
    other_sites: &OtherSites,
    findings: &mut Vec<Finding>,
) -> Option<Listen> {
    let (ssl, proxy_protocol) = (listener.serves.has_tls(), listener.proxy_protocol);
    let mut report = |reason, words: String| findings.push(Finding::new(reason, host(), words));
    if let Some(words) = obstacle(address, ssl, other_sites) {
        report(Reason::HostConflict, words);
        return None;
    }
    let others = || other_sites.listens.iter();
    let same: Vec<_> = others().filter(|other| other.address == address).collect();
    // nginx expects the PROXY protocol of all clients of a socket as soon as one site asks for it.
    if let Some(other) = same.iter().find(|other| other.proxy_protocol != proxy_protocol) {
        let place = &other.place;
        let words = match proxy_protocol {
            true => format!(
                "{place} shares {address} with the cluster's hosts and has no proxy_protocol; because of \
                    listen.proxy-protocol, nginx also closes connections to that site without a header of the PROXY \
                    protocol; give the site another address or port"
            ),
            false => format!(
                "{place} has proxy_protocol on {address}, so nginx also closes connections to hosts of the cluster \
                    without that header, and does not use the client address in it there; set listen.proxy-protocol \
                    and access.trusted-proxies, or give the site another address or port"
            ),
        };
        report(Reason::HostConflict, words);
    }
    let narrower = |other: &&SiteListen| {
        address.ip().is_unspecified()
            && !other.address.ip().is_unspecified()
            && other.address.port() == address.port()
            && other.address.is_ipv4() == address.is_ipv4()
    };
    for other in others().filter(narrower) {
        let words = format!(
            "{} listens on {} itself, so requests to that address go only there; change its listen line to \
                     serve hosts of the cluster there",
            other.place, other.address
        );
        report(Reason::HostConflict, words);
    }
    let default_server = is_default_server(address, &same, report);
    Some(Listen { address, ssl, proxy_protocol, default_server, connected_by: ConnectedBy::Outside })
}

/// Why no host of the cluster is served on an address.
fn obstacle(address: SocketAddr, ssl: bool, other_sites: &OtherSites) -> Option<String> {
    let others = || other_sites.listens.iter();
    let both = |other: &&SiteListen| {
        other.dual_stack && other.address.ip().is_unspecified() && other.address.port() == address.port()
    };
    if address.ip() == IpAddr::from([0, 0, 0, 0])
        && let Some(other) = others().find(both)
        && !others().any(|other| other.address == address)
    {
        return Some(format!(
            "{} also accepts IPv4 on port {} with its IPv6 socket, and so do the hosts of the \
            cluster",
            other.place,
            address.port()
        ));
    }
    let meets = |other: &&StreamListen| other.transport == Transport::Tcp && streams::meet(other.address, address);
    if let Some(other) = other_sites.stream_listens.iter().find(meets) {
        return Some(format!(
            "{} listens on {} in a stream block, and nginx allows an address in only one block, so nothing is served \
                on {address}; give that site another address or port",
            other.place, other.address
        ));
    }
    let other = others().find(|other| other.address == address && other.ssl != ssl)?;
    let (theirs, ours) = if ssl { ("plain HTTP", "https") } else { ("https", "plain HTTP") };
    Some(format!(
        "{} serves {theirs} on {address}, so nothing is served there over {ours}; give that site \
                         another address or port",
        other.place
    ))
}

/// Whether our catch-all server is the default server of an address, beside the sites that listen
/// on the same one. Where no site says `default_server`, nginx takes the first server that it
/// reads.
fn is_default_server(address: SocketAddr, same: &[&SiteListen], mut report: impl FnMut(Reason, String)) -> bool {
    match (same.iter().find(|other| other.default_server), same.first()) {
        (Some(other), _) => {
            let words = format!(
                "{} is the default server of {address}, so requests for unknown hosts go there; remove \
                         default_server there to change that",
                other.place
            );
            report(Reason::DefaultServerTaken, words);
            false
        }
        (None, Some(other)) if other.before_ours => {
            let words = format!(
                "{} is the default server of {address}, because nginx reads it first, so requests for unknown hosts \
                    go there; to change that, have nginx read that site after the files of ingressd",
                other.place
            );
            report(Reason::DefaultServerTaken, words);
            false
        }
        // One of our servers would be first either way; our catch-all is better than any tenant's.
        (None, Some(other)) => {
            let words = format!(
                "{} no longer gets the requests for unknown hosts on {address}, because nginx reads the files of \
                 ingressd first and no site has default_server there; write default_server into the listen line of \
                 the site that is to get them",
                other.place
            );
            report(Reason::HostConflict, words);
            true
        }
        (None, None) => true,
    }
}

fn http2(listens: &[Listen], node: &Node<'_>, findings: &mut Vec<Finding>) -> Http2 {
    let Node { capabilities, other_sites, options } = *node;
    let mut off = |words: String| {
        findings.push(Finding::new(Reason::MissingCapability, host(), words));
        Http2::Off
    };
    if !options.http2 || !listens.iter().any(|listen| listen.ssl) {
        return Http2::Off;
    }
    if !capabilities.has(Module::Http2) {
        return off("nginx has no ngx_http_v2_module, so HTTP/2 is not offered".to_owned());
    }
    if capabilities.knows(&catalogue::HTTP2) {
        return Http2::Directive;
    }
    // The parameter belongs to the socket: ours would switch HTTP/2 on for the other site too.
    let without = |other: &&SiteListen| {
        !other.http2 && listens.iter().any(|listen| listen.ssl && listen.address == other.address)
    };
    match other_sites.listens.iter().find(without) {
        Some(other) => off(format!(
            "{} shares its socket with the cluster's hosts and has no http2, so HTTP/2 is not offered; \
                         add http2 to its listen line",
            other.place
        )),
        None => Http2::Parameter,
    }
}
