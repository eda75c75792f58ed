//! TCP and UDP services: the upstream of the connections to each port. It must not know who gets a
//! port.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::net::IpAddr;
use std::sync::Arc;

use crate::read::stream::StreamClaim;
use crate::resolve::backend::{BackendReference, Backends};
use crate::resolve::reached::{UpstreamRole, UpstreamUse};
use crate::resolve::resolution::Note;
use crate::{Options, SPECIFICATION};
use ingressd_model::finding::Finding;
use ingressd_model::{Listener, Protocol, Serves, Stream, Transport, Upstream};

/// The settings with the ports of the administrator's services among our own ports: a connection
/// that goes back to one of them would loop. Those of objects are none: backends of others must
/// not depend on them, and addresses of this node are no backends.
pub fn with_ports<'o>(options: &'o Options, claims: &[StreamClaim<'_>]) -> Cow<'o, Options> {
    let own: Vec<_> = claims.iter().filter(|claim| claim.since.is_none()).map(|claim| claim.wanted.number).collect();
    let mut options = Cow::Borrowed(options);
    if !own.is_empty() {
        options.to_mut().own_ports.extend(own);
    }
    options
}

/// The services of these claims. A Service without endpoints keeps its port, so that little
/// changes when it gets some.
pub fn build<'a>(
    claims: &[StreamClaim<'a>],
    backends: &mut Backends<'a>,
    options: &Options,
    findings: &mut Vec<Finding>,
    uses: &mut Vec<UpstreamUse>,
) -> Vec<Stream> {
    let mut streams = Vec::with_capacity(claims.len());
    let addresses: Arc<[IpAddr]> = options.listeners.addresses.clone().into();
    for claim in claims {
        let reference = BackendReference {
            namespace: claim.namespace,
            service: claim.service,
            port: claim.port,
            dialect: &SPECIFICATION,
            mode: options.endpoints,
            by_cluster_address: false,
            protocol: Some(match claim.wanted.transport {
                Transport::Tcp => Protocol::Tcp,
                Transport::Udp => Protocol::Udp,
            }),
            balance: None,
            tls: None,
            reuse: None,
        };
        let resolution = backends.resolve(&reference);
        let report = |(reason, note): &Note| Finding::new(*reason, claim.origin.clone(), Arc::clone(note));
        findings.extend(resolution.notes.iter().map(report));
        let Some(upstream) = &resolution.target else { continue };
        uses.push(UpstreamUse {
            upstream: upstream.id.clone(),
            origin: claim.origin.clone(),
            role: UpstreamRole::Backend,
        });
        streams.push(Stream {
            listener: Listener {
                addresses: Arc::clone(&addresses),
                port: claim.wanted,
                serves: Serves::Stream,
                proxy_protocol: claim.accepts_proxy_protocol,
            },
            origin: claim.origin.clone(),
            upstream: upstream.id.clone(),
            sends_proxy_protocol: claim.sends_proxy_protocol,
            policy: claim.policy.clone(),
        });
    }
    streams
}

/// The services of objects of one namespace share the connections that each of the administrator's
/// may have: a namespace does not get more of them by more services.
pub fn share_connections(claims: &[StreamClaim<'_>], streams: &[Stream], upstreams: &mut [Arc<Upstream>]) {
    let asked: HashSet<_> = claims.iter().filter(|claim| claim.since.is_some()).map(|claim| claim.wanted).collect();
    let (of_objects, others): (Vec<_>, Vec<_>) =
        streams.iter().partition(|stream| asked.contains(&stream.listener.port));
    let others: BTreeSet<_> = others.iter().map(|stream| &stream.upstream).collect();
    let shared: BTreeSet<_> = of_objects.iter().map(|stream| &stream.upstream).collect();
    let mut counts = BTreeMap::<&str, u32>::new();
    let shared: Vec<_> = shared.into_iter().filter(|id| !others.contains(id)).collect();
    shared.iter().for_each(|id| *counts.entry(&id.namespace).or_default() += 1);
    for upstream in upstreams.iter_mut().filter(|upstream| shared.contains(&&upstream.id)) {
        Arc::make_mut(upstream).sharers = counts[&*upstream.id.namespace];
    }
}
