//! Endpoints of a Service port from its slices.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::net::SocketAddr;

use super::port;
use crate::source::{Condition, Endpoints, Family, Service, ServicePort, Snapshot, Stored};

/// Slices by namespace and name of their Service.
#[derive(Debug, Default)]
pub struct SliceIndex<'a>(HashMap<&'a str, HashMap<&'a str, Vec<&'a Endpoints>>>);

impl<'a> SliceIndex<'a> {
    /// Indexes all slices of a snapshot, in its order.
    pub fn new(snapshot: &'a Snapshot) -> Self {
        SliceIndex::of_slices(&snapshot.endpoint_slices)
    }

    /// Indexes these slices, in their order.
    pub fn of_slices(slices: &'a [Stored<Endpoints>]) -> Self {
        let mut index = HashMap::<_, HashMap<_, Vec<_>>>::new();
        for slice in slices {
            if let Some(service) = slice.object.service.as_deref() {
                let of_namespace = index.entry(&*slice.id.namespace).or_default();
                of_namespace.entry(service).or_default().push(&*slice.object);
            }
        }
        SliceIndex(index)
    }

    /// The slices of a Service.
    pub fn of(&self, namespace: &str, service: &str) -> &[&'a Endpoints] {
        let slices = self.0.get(namespace).and_then(|of_namespace| of_namespace.get(service));
        slices.map(Vec::as_slice).unwrap_or_default()
    }
}

/// One server: a pod, or an address that names none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Found<'a> {
    /// Where it listens.
    pub address: SocketAddr,
    /// The node that it runs on.
    pub node: Option<&'a str>,
}

/// The servers of a Service port, sorted by address, each once: those that are ready, else those that still serve
/// while they terminate.
pub fn find<'a>(slices: &[&'a Endpoints], service: &Service, port: &ServicePort) -> Vec<Found<'a>> {
    let ready = collect(slices, service, port, Condition::Ready);
    match ready.is_empty() {
        true => collect(slices, service, port, Condition::Draining),
        false => ready,
    }
}

/// The family that counts first for a Service: its first one, IPv4 when it names none.
pub fn preferred(service: &Service) -> Family {
    service.family.unwrap_or(Family::Four)
}

fn collect<'a>(slices: &[&'a Endpoints], service: &Service, port: &ServicePort, wanted: Condition) -> Vec<Found<'a>> {
    let preferred = preferred(service);
    let mut by_address = BTreeMap::new();
    // A pod has an address of each family; requests should be shared by pods, not by addresses.
    let mut pods_in_preferred = BTreeSet::new();
    for slice in slices {
        let Some(family) = slice.family else { continue };
        let Some(port) = port::of_slice(slice, port) else { continue };
        for endpoint in slice.endpoints.iter().filter(|endpoint| endpoint.condition == wanted) {
            let pod = endpoint.target.as_deref();
            for address in &endpoint.addresses {
                let found = Found { address: SocketAddr::new(*address, port), node: endpoint.node.as_deref() };
                if let (true, Some(pod)) = (family == preferred, pod) {
                    pods_in_preferred.insert(pod);
                }
                by_address.entry(found.address).or_insert((found, pod));
            }
        }
    }
    let is_twin = |found: &Found<'_>, pod: Option<_>| {
        Family::of(found.address.ip()) != preferred && pod.is_some_and(|pod| pods_in_preferred.contains(&pod))
    };
    by_address.into_values().filter(|(found, pod)| !is_twin(found, *pod)).map(|(found, _)| found).collect()
}
