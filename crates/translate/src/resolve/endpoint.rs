//! Finds the endpoints of a Service port in its EndpointSlices.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::net::SocketAddr;
use std::sync::OnceLock;

use crate::read::port;
use ingressd_objects::{Condition, Endpoints, Family, Service, ServicePort, Snapshot, Stored};

/// The slices of all Services. Those of a namespace are indexed when one of its Services is looked
/// up first.
#[derive(Debug, Default)]
pub struct Slices<'a>(BTreeMap<&'a str, OfNamespace<'a>>);

/// The slices of one namespace, and their index by Service once it is needed.
#[derive(Debug)]
struct OfNamespace<'a> {
    all: &'a [Stored<Endpoints>],
    by_service: OnceLock<HashMap<&'a str, Vec<&'a Endpoints>>>,
}

impl<'a> Slices<'a> {
    /// The slices of a snapshot, in its order.
    pub fn new(snapshot: &'a Snapshot) -> Self {
        let (mut namespaces, mut rest) = (BTreeMap::new(), &snapshot.endpoint_slices[..]);
        while let Some(first) = rest.first() {
            let namespace = &*first.id.namespace;
            let (all, others) = rest.split_at(rest.partition_point(|slice| *slice.id.namespace <= *namespace));
            namespaces.insert(namespace, OfNamespace { all, by_service: OnceLock::new() });
            rest = others;
        }
        Slices(namespaces)
    }

    /// The slices of a Service.
    pub fn of(&self, namespace: &str, service: &str) -> &[&'a Endpoints] {
        let slices = self.0.get(namespace).and_then(|own| own.by_service.get_or_init(|| own.index()).get(service));
        slices.map(Vec::as_slice).unwrap_or_default()
    }
}

impl<'a> OfNamespace<'a> {
    fn index(&self) -> HashMap<&'a str, Vec<&'a Endpoints>> {
        let mut index = HashMap::<_, Vec<_>>::new();
        for slice in self.all {
            let service = slice.object.service.as_deref();
            service.into_iter().for_each(|service| index.entry(service).or_default().push(&*slice.object));
        }
        index
    }
}

/// One endpoint: a pod, or an address without one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Found<'a> {
    /// Where it listens.
    pub address: SocketAddr,
    /// The node that it runs on.
    pub node: Option<&'a str>,
}

/// The endpoints of a Service port, sorted by address, without duplicates: those that are ready,
/// or else those that still serve while they terminate.
pub fn find<'a>(slices: &[&'a Endpoints], service: &Service, port: &ServicePort) -> Vec<Found<'a>> {
    let ready = collect(slices, service, port, Condition::Ready);
    match ready.is_empty() {
        true => collect(slices, service, port, Condition::Draining),
        false => ready,
    }
}

/// The preferred address family of a Service: its first one, or IPv4 when it names none.
pub fn preferred(service: &Service) -> Family {
    service.family.unwrap_or(Family::Four)
}

fn collect<'a>(slices: &[&'a Endpoints], service: &Service, port: &ServicePort, wanted: Condition) -> Vec<Found<'a>> {
    let preferred = preferred(service);
    let mut by_address = BTreeMap::new();
    // A pod may have an address of each family; requests should be distributed to pods, not to
    // addresses.
    let mut pods_in_preferred = BTreeSet::new();
    for slice in slices {
        let Some(family) = slice.family else { continue };
        let Some(port) = port::of_slice(slice, port) else { continue };
        for endpoint in slice.endpoints.iter().filter(|endpoint| endpoint.condition == wanted) {
            let pod = endpoint.target.as_deref();
            let found = Found { address: SocketAddr::new(endpoint.address, port), node: endpoint.node.as_deref() };
            if let (true, Some(pod)) = (family == preferred, pod) {
                pods_in_preferred.insert(pod);
            }
            by_address.entry(found.address).or_insert((found, pod));
        }
    }
    let is_duplicate = |found: &Found<'_>, pod: Option<_>| {
        Family::of(found.address.ip()) != preferred && pod.is_some_and(|pod| pods_in_preferred.contains(&pod))
    };
    by_address.into_values().filter(|(found, pod)| !is_duplicate(found, *pod)).map(|(found, _)| found).collect()
}
