//! Endpoints of a Service port from its slices; it must not know who refers to the Service.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::net::{IpAddr, SocketAddr};

use k8s_openapi::api::core::v1::{Service, ServicePort};
use k8s_openapi::api::discovery::v1::{Endpoint, EndpointSlice};

use super::port;
use crate::source::{SERVICE_NAME, Snapshot};

/// Slices by namespace and name of their Service.
#[derive(Debug, Default)]
pub struct SliceIndex<'a>(HashMap<&'a str, HashMap<&'a str, Vec<&'a EndpointSlice>>>);

impl<'a> SliceIndex<'a> {
    /// Indexes all slices of a snapshot, in its order.
    pub fn new(snapshot: &'a Snapshot) -> Self {
        let mut index = HashMap::<_, HashMap<_, Vec<_>>>::new();
        for slice in &snapshot.endpoint_slices {
            let labels = slice.object.metadata.labels.as_ref();
            if let Some(service) = labels.and_then(|labels| labels.get(SERVICE_NAME)) {
                let of_namespace = index.entry(&*slice.id.namespace).or_default();
                of_namespace.entry(service.as_str()).or_default().push(&*slice.object);
            }
        }
        SliceIndex(index)
    }

    /// The slices of a Service.
    pub fn of(&self, namespace: &str, service: &str) -> &[&'a EndpointSlice] {
        let slices = self.0.get(namespace).and_then(|of_namespace| of_namespace.get(service));
        slices.map(Vec::as_slice).unwrap_or_default()
    }
}

/// A family of addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Family {
    /// IPv4.
    Four,
    /// IPv6.
    Six,
}

impl Family {
    /// The family of an address.
    pub fn of(address: IpAddr) -> Self {
        match address {
            IpAddr::V4(_) => Family::Four,
            IpAddr::V6(_) => Family::Six,
        }
    }

    /// The family that counts first for a Service: its first one, IPv4 when it names none.
    pub fn preferred(service: &Service) -> Self {
        let families = service.spec.as_ref().and_then(|spec| spec.ip_families.as_deref()).unwrap_or_default();
        match families.first().map(String::as_str) {
            Some("IPv6") => Family::Six,
            _ => Family::Four,
        }
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
pub fn find<'a>(slices: &[&'a EndpointSlice], service: &Service, port: &ServicePort) -> Vec<Found<'a>> {
    let ready = collect(slices, service, port, is_ready);
    match ready.is_empty() {
        true => collect(slices, service, port, is_draining),
        false => ready,
    }
}

fn is_ready(endpoint: &Endpoint) -> bool {
    endpoint.conditions.as_ref().and_then(|conditions| conditions.ready).unwrap_or(true)
}

fn is_draining(endpoint: &Endpoint) -> bool {
    let Some(conditions) = &endpoint.conditions else { return false };
    conditions.terminating == Some(true) && conditions.serving == Some(true)
}

fn collect<'a>(
    slices: &[&'a EndpointSlice],
    service: &Service,
    port: &ServicePort,
    wanted: fn(&Endpoint) -> bool,
) -> Vec<Found<'a>> {
    let preferred = Family::preferred(service);
    let mut by_address = BTreeMap::new();
    // A pod has an address of each family; requests should be shared by pods, not by addresses.
    let mut pods_in_preferred = BTreeSet::new();
    for slice in slices {
        let family = match slice.address_type.as_str() {
            "IPv4" => Family::Four,
            "IPv6" => Family::Six,
            _ => continue,
        };
        let Some(port) = port::of_slice(slice, port) else { continue };
        for endpoint in slice.endpoints.iter().flatten().filter(|endpoint| wanted(endpoint)) {
            let addresses = endpoint.addresses.iter().filter_map(|address| address.parse::<IpAddr>().ok());
            for address in addresses.filter(|address| Family::of(*address) == family) {
                let found = Found { address: SocketAddr::new(address, port), node: endpoint.node_name.as_deref() };
                let pod = pod(endpoint);
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

fn pod(endpoint: &Endpoint) -> Option<(&str, &str, &str)> {
    let target = endpoint.target_ref.as_ref()?;
    Some((target.kind.as_deref()?, target.namespace.as_deref().unwrap_or_default(), target.name.as_deref()?))
}
