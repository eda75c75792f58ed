//! TCP and UDP services: which claim gets a port, and the upstream of its connections.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;

use super::backend::{BackendReference, Backends};
use super::claims::Since;
use super::port::PortReference;
use super::subject::Subject;
use super::{Dialect, Options, budget};
use crate::finding::{Finding, Reason};
use crate::model::{
    Listener, Origin, Port, Serves, Stream, StreamPolicy, StreamUpstream, StreamUpstreamId, Transport, shared_namespace,
};

/// What the administrator decides about TCP and UDP services.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StreamOptions {
    /// Namespace and name of the ConfigMap with TCP services in ingress-nginx's form.
    pub tcp_services: Option<(Arc<str>, Arc<str>)>,
    /// The same for UDP services.
    pub udp_services: Option<(Arc<str>, Arc<str>)>,
    /// Timeouts and retries of connections.
    pub policy: StreamPolicy,
    /// TCP ports that are used already, each with the setting that says so.
    pub reserved: Vec<(u16, &'static str)>,
}

impl StreamOptions {
    /// Before anything is put in: what the rows of the settings say is its default.
    pub fn empty() -> Self {
        let policy = StreamPolicy::empty();
        StreamOptions { tcp_services: None, udp_services: None, policy, reserved: Vec::new() }
    }
}

/// A TCP or UDP service that an object asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestedStream {
    /// The field that asks for it.
    pub origin: Origin,
    /// The port of the host.
    pub wanted: Port,
    /// Whether clients must begin with a header of the PROXY protocol.
    pub accepts_proxy_protocol: bool,
    /// The Service, of the same namespace.
    pub service: Arc<str>,
    /// The number of its port.
    pub port: u16,
    /// Whether endpoints get a header of the PROXY protocol.
    pub sends_proxy_protocol: bool,
    /// Timeouts and retries.
    pub policy: StreamPolicy,
}

/// A claim on a port of the host, for a Service.
#[derive(Debug, Clone)]
pub struct StreamClaim<'a> {
    pub origin: Origin,
    /// Since when an object asks for it; `None` for the administrator, who comes first.
    pub since: Option<Since<'a>>,
    /// The port of the host.
    pub wanted: Port,
    /// Whether clients must begin with a header of the PROXY protocol.
    pub accepts_proxy_protocol: bool,
    /// The namespace of the Service.
    pub namespace: &'a str,
    pub service: &'a str,
    pub port: PortReference<'a>,
    /// Whether endpoints get a header of the PROXY protocol.
    pub sends_proxy_protocol: bool,
    /// Timeouts and retries.
    pub policy: StreamPolicy,
}

/// The namespaces of objects that have a port.
pub type PortHolders = BTreeMap<Port, Arc<str>>;

/// The claims of objects.
pub fn of_objects<'s, 'a: 's>(subjects: impl Iterator<Item = &'s Subject<'a>>) -> Vec<StreamClaim<'s>> {
    // What is left of an object that is not served keeps its paths closed, and nothing else.
    let served = subjects.filter(|subject| subject.closed_rules.is_none());
    let all = served.flat_map(|subject| subject.reading.streams.iter().map(move |asked| (subject, asked)));
    let claim = |(subject, asked): (&'s Subject<'a>, &'s RequestedStream)| StreamClaim {
        origin: asked.origin.clone(),
        since: Some(subject.since()),
        wanted: asked.wanted,
        accepts_proxy_protocol: asked.accepts_proxy_protocol,
        namespace: &subject.id().namespace,
        service: &asked.service,
        port: PortReference::Number(asked.port),
        sends_proxy_protocol: asked.sends_proxy_protocol,
        policy: asked.policy.clone(),
    };
    all.map(claim).collect()
}

/// The claims that get their port, sorted by port. The administrator's come first, in the order of
/// objects, then those of the namespace that has the port already, then the oldest. Ports of our
/// own listeners are refused.
pub fn settle<'a>(
    mut claims: Vec<StreamClaim<'a>>,
    options: &StreamOptions,
    holders: &PortHolders,
    findings: &mut Vec<Finding>,
) -> Vec<StreamClaim<'a>> {
    let comes_new = |claim: &StreamClaim<'_>| {
        claim.since.is_some() && holders.get(&claim.wanted).is_none_or(|holder| **holder != *claim.namespace)
    };
    let rank = |claim: &StreamClaim<'a>| (claim.wanted, claim.since.is_some(), comes_new(claim), claim.since);
    claims.sort_by(|one, other| rank(one).cmp(&rank(other)).then_with(|| one.origin.cmp(&other.origin)));
    let mut settled = Vec::<StreamClaim<'_>>::with_capacity(claims.len());
    for claim in claims {
        let port = claim.wanted;
        let is_reserved = |(number, _): &&(u16, _)| port.transport == Transport::Tcp && *number == port.number;
        let holder = match options.reserved.iter().find(is_reserved) {
            Some((_, setting)) => Some(format!("the setting {setting} uses it")),
            None => {
                let holder = settled.last().filter(|last| last.wanted == port);
                holder.map(|holder| match claim.since.is_some() && holder.namespace != claim.namespace {
                    // Objects of one namespace are not told to another.
                    true => "another namespace or the administrator has it".to_owned(),
                    false => format!("{} has it", holder.origin),
                })
            }
        };
        match holder {
            Some(holder) => {
                let note = format!("the service is not served on {port}, because {holder}; use another port");
                findings.push(Finding::new(Reason::PortConflict, claim.origin, note));
            }
            None => settled.push(claim),
        }
    }
    settled
}

/// The namespaces that have ports now.
pub fn holders(settled: &[StreamClaim<'_>]) -> PortHolders {
    let of_objects = settled.iter().filter(|claim| claim.since.is_some());
    of_objects.map(|claim| (claim.wanted, shared_namespace(claim.namespace))).collect()
}

/// The settings with the ports of these claims among our own ports: a connection that goes back to
/// one of them would loop.
pub fn with_ports<'o>(options: &'o Options, claims: &[StreamClaim<'_>]) -> Cow<'o, Options> {
    let mut options = Cow::Borrowed(options);
    if !claims.is_empty() {
        options.to_mut().own_ports.extend(claims.iter().map(|claim| claim.wanted.number));
    }
    options
}

/// Adds the services of these claims and their endpoints to the existing ones, sorted. A Service
/// without endpoints keeps its port, so that little changes when it gets some.
pub fn build<'a>(
    claims: &[StreamClaim<'a>],
    mut upstreams: BTreeMap<StreamUpstreamId, StreamUpstream>,
    backends: &mut Backends<'a>,
    options: &Options,
    findings: &mut Vec<Finding>,
) -> (Vec<Stream>, Vec<StreamUpstream>) {
    let mut streams = Vec::with_capacity(claims.len());
    let addresses: Arc<[IpAddr]> = options.listeners.addresses.clone().into();
    for claim in claims {
        let reference = BackendReference {
            namespace: claim.namespace,
            service: claim.service,
            port: claim.port,
            dialect: Dialect::Specification,
            mode: options.endpoints,
            by_cluster_address: false,
            protocol: None,
            balance: None,
            tls: None,
            reuse: None,
        };
        let mut notes = Vec::new();
        let upstream = backends.stream(&reference, claim.wanted.transport, &mut notes);
        let tell = |(reason, note)| Finding::new(reason, claim.origin.clone(), Arc::clone(note));
        findings.extend(notes.iter().map(|(reason, note)| (*reason, note)).map(tell));
        let Some(upstream) = upstream else { continue };
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
        upstreams.entry(upstream.id.clone()).or_insert(upstream);
    }
    let mut upstreams: Vec<_> = upstreams.into_values().collect();
    for upstream in &mut upstreams {
        let StreamUpstream { id, origin, endpoints } = upstream;
        findings.extend(budget::bound_endpoints_of(origin, &id.port.number.to_string(), endpoints, &options.limits));
    }
    (streams, upstreams)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Kind, ObjectId};

    fn of<'a>(kind: Kind, namespace: &'a str, name: &str, transport: Transport, number: u16) -> StreamClaim<'a> {
        StreamClaim {
            origin: Origin::object(&Arc::new(ObjectId::new(kind, namespace, name))),
            since: None,
            wanted: Port { transport, number },
            accepts_proxy_protocol: false,
            namespace,
            service: "b",
            port: PortReference::First,
            sends_proxy_protocol: false,
            policy: StreamPolicy::empty(),
        }
    }

    #[test]
    fn of_two_the_first_in_the_order_of_objects_has_a_port() {
        let claim = |transport, number, name: &str| of(Kind::ConfigMap, "a", name, transport, number);
        let (tcp, udp) = (Transport::Tcp, Transport::Udp);
        let claims = vec![claim(tcp, 7, "two"), claim(udp, 7, "two"), claim(tcp, 7, "one"), claim(tcp, 6, "two")];
        let mut findings = Vec::new();
        let settled = settle(claims, &StreamOptions::default(), &PortHolders::new(), &mut findings);
        let settled: Vec<_> =
            settled.iter().map(|claim| format!("{} {}", claim.wanted, claim.origin.object.name)).collect();
        assert_eq!(settled, ["TCP port 6 two", "TCP port 7 one", "UDP port 7 two"]);
        let [finding] = &findings[..] else { panic!("{findings:?}") };
        assert_eq!((finding.reason, &*finding.origin.object.name), (Reason::PortConflict, "two"));
        assert!(finding.note.contains("ConfigMap a/one has it"), "{finding}");
    }

    #[test]
    fn the_administrator_comes_first_then_who_has_the_port_then_the_oldest() {
        use crate::source::{Ingress, Stored, Version};
        let stored = |namespace: &str, second: i64| {
            let id = Arc::new(ObjectId::new(Kind::Ingress, namespace, "tcp"));
            let created = Some(jiff::Timestamp::from_second(second).unwrap());
            let object = Arc::new(Ingress { created, ..Ingress::default() });
            Stored { id, version: Version("1".into()), object, published: None, place: None }
        };
        let (old, young) = (stored("old", 1), stored("young", 2));
        fn asked(stored: &Stored<Ingress>) -> StreamClaim<'_> {
            let claim = of(Kind::Ingress, &stored.id.namespace, "tcp", Transport::Tcp, 7);
            StreamClaim { since: Some(Since::of(stored)), ..claim }
        }
        let map = of(Kind::ConfigMap, "z", "tcp", Transport::Tcp, 7);
        let none = PortHolders::new();
        let young_has_it = PortHolders::from([(map.wanted, Arc::from("young"))]);
        for (claims, holders, winner) in [
            (vec![asked(&young), asked(&old)], &none, "old"),
            (vec![asked(&young), asked(&old)], &young_has_it, "young"),
            (vec![asked(&old)], &young_has_it, "old"),
            (vec![asked(&young), map.clone(), asked(&old)], &young_has_it, "z"),
        ] {
            let mut findings = Vec::new();
            let count = claims.len();
            let settled = settle(claims, &StreamOptions::default(), holders, &mut findings);
            let [settled] = &settled[..] else { panic!("{settled:?}") };
            assert_eq!(settled.namespace, winner);
            assert_eq!(findings.len(), count - 1);
            let tells = |finding: &Finding| ["old", "young", "z"].iter().any(|name| finding.note.contains(name));
            assert!(!findings.iter().any(tells), "objects of others are not told: {findings:?}");
        }
    }
}
