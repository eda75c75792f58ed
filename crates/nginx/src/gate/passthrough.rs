//! Whether this nginx can pass TLS of some hosts through, and on which sockets it listens then. It
//! must not know how server names are told apart.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::sync::Arc;

use crate::{Capabilities, ConnectedBy, GateOptions, Inside, Listen, Preread};
use ingressd_model::catalogue::Module;
use ingressd_model::finding::{Finding, Reason, count};
use ingressd_model::{Model, Serves, Transport};

use super::sockets::Sockets;
use super::taken::places;
use super::{Node, host, routes, streams};

/// Why TLS passthrough is impossible.
type Obstacle = (Reason, String);

/// Puts a stream server in front of a listener for TLS passthrough where some host needs it;
/// without such a host nothing changes. Where it is impossible, those hosts are closed, and all
/// others are served as before.
pub fn fit(model: &mut Model, sockets: &mut Sockets, node: &Node<'_>, findings: &mut Vec<Finding>) -> Option<Preread> {
    let served: BTreeSet<_> = model.servers.iter().map(|server| &server.name).collect();
    model.passthroughs.hosts.retain(|host| served.contains(&host.name));
    let trusts_proxies = !model.forwarded.trusted.is_empty();
    let inside = inside(trusts_proxies, node.options);
    if model.passthroughs.hosts.is_empty() {
        stay(inside, sockets, node);
        return None;
    }
    let listeners = model.listeners.iter().filter(|listener| listener.serves == Serves::Passthrough);
    let (mut outside, mut proxy_protocol) = (Vec::new(), false);
    for listener in listeners {
        proxy_protocol |= listener.proxy_protocol;
        let has = |address: &SocketAddr| sockets.listens.iter().any(|listen| listen.address == *address);
        outside.extend(listener.sockets().filter(has));
    }
    let obstacle = lacking(model, node).or_else(|| occupied(&outside, node));
    if let Some((reason, words)) = obstacle {
        close(model, reason, &words, findings);
        stay(inside, sockets, node);
        return None;
    }
    sockets.listens.retain(|listen| !outside.contains(&listen.address));
    sockets.listens.extend(inside);
    let is_set = |name: &str| node.other_sites.stream_directives.contains(name);
    Some(Preread {
        listens: outside,
        proxy_protocol,
        port: node.options.passthrough_port,
        sizes_tables: !is_set("map_hash_max_size") && !is_set("map_hash_bucket_size"),
    })
}

/// The sockets on which TLS is terminated that comes through the stream server.
fn inside(trusts_proxies: bool, options: &GateOptions) -> Vec<Listen> {
    let listen = |address, connected_by| Listen {
        address: SocketAddr::new(address, options.passthrough_port),
        ssl: true,
        proxy_protocol: true,
        default_server: true,
        connected_by,
    };
    let clients = listen(Inside::HTTPS, ConnectedBy::Inside);
    [clients].into_iter().chain(trusts_proxies.then(|| listen(Inside::TRUSTED, ConnectedBy::InsideTrusted))).collect()
}

/// Keeps listening inside for one more generation: workers of the current one have accepted
/// connections that they have yet to pass on.
fn stay(inside: Vec<Listen>, sockets: &mut Sockets, node: &Node<'_>) {
    let has_tls = sockets.listens.iter().any(|listen| listen.ssl);
    if node.options.has_passthrough && has_tls && node.capabilities.has(Module::RealIp) {
        sockets.listens.extend(inside);
    }
}

/// What nginx lacks for passthrough.
fn lacking(model: &Model, node: &Node<'_>) -> Option<Obstacle> {
    if let Some(words) = streams::impossible(node) {
        return Some((Reason::MissingCapability, words));
    }
    // Without the last ones the addresses of clients would be unknown, and address lists would let
    // in whom they should not.
    let needed = [
        (true, Module::StreamSslPreread),
        (true, Module::StreamMap),
        (!model.forwarded.trusted.is_empty(), Module::StreamGeo),
        (true, Module::RealIp),
        (model.has_proxy_protocol(), Module::StreamRealIp),
    ];
    let missing = needed.into_iter().find(|(is_needed, module)| *is_needed && !node.capabilities.has(*module));
    let words = |module| {
        format!(
            "this nginx has no {}; install a build with it, as all distributions have it",
            Capabilities::name(module)
        )
    };
    missing.map(|(_, module)| (Reason::MissingCapability, words(module)))
}

/// Who uses an address that is needed: nginx gives it to `http` or to `stream`, never to both.
fn occupied(outside: &[SocketAddr], node: &Node<'_>) -> Option<Obstacle> {
    let Node { other_sites, options, .. } = *node;
    let conflict = |words: String| Some((Reason::HostConflict, words));
    if outside.is_empty() {
        return conflict("nginx serves no TLS here".to_owned());
    }
    let site = other_sites.listens.iter().find(|site| outside.iter().any(|own| streams::meet(*own, site.address)));
    if let Some(site) = site {
        return conflict(format!(
            "{} listens on {} and would lose its connections; give that site another address or port",
            site.place, site.address
        ));
    }
    let port = options.passthrough_port;
    let is_inside = |address: SocketAddr| {
        Inside::ALL.into_iter().any(|inside| streams::overlap(inside, address.ip())) && address.port() == port
    };
    let sites = other_sites.listens.iter().map(|site| (site.place.as_str(), site.address));
    let streams = other_sites.stream_listens.iter().filter(|other| other.transport == Transport::Tcp);
    let streams = streams.map(|other| (other.place.as_str(), other.address));
    let programs = other_sites.occupied.iter().filter(|(transport, _)| *transport == Transport::Tcp);
    let programs = programs.map(|(_, address)| ("another program of this host", *address));
    let mut all = sites.chain(streams).chain(programs);
    let (who, address) = all.find(|(_, address)| is_inside(*address))?;
    conflict(format!(
        "{who} uses {address}, which nginx needs for passthrough; set listen.passthrough-port to another \
                      port"
    ))
}

/// Closes the hosts: to terminate TLS that should be passed through would be something else than
/// what the object asks for.
fn close(model: &mut Model, reason: Reason, words: &str, findings: &mut Vec<Finding>) {
    let passthroughs = std::mem::take(&mut model.passthroughs.hosts);
    let hosts = count(passthroughs.len(), "host", "hosts");
    let reported = format!("TLS of {hosts} cannot be passed through, so that the answer is 503: {words}");
    findings.push(Finding::new(reason, host(), reported));
    let note: Arc<str> = format!("TLS of the host cannot be passed through, so it answers 503: {words}").into();
    let reported = |place| Finding::new(Reason::ClosedRoute, place, Arc::clone(&note));
    findings.extend(passthroughs.iter().map(|passthrough| reported(passthrough.origin.clone())));
    let closed: BTreeMap<_, _> = passthroughs.iter().map(|passthrough| (&passthrough.name, passthrough)).collect();
    for server in &mut model.servers {
        let Some(passthrough) = closed.get(&server.name) else { continue };
        let others = places(server).filter(|place| place.object != passthrough.origin.object);
        findings.extend(others.map(reported));
        *server = Arc::new(routes::closed(server));
    }
}
