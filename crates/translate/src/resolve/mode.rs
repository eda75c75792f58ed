//! The modes of reaching a Service: by pods, nodes, cluster IP or load balancer.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};

use k8s_openapi::api::core::v1::Node;

use super::endpoint::{self, Slices};
use super::target::Chosen;
use crate::read::port;
use crate::{EndpointMode, Options};
use ingressd_model::{Endpoint, ObjectId};
use ingressd_objects::{Family, Service, ServicePort, Snapshot};

/// The annotation of a Service that selects its mode.
pub const ANNOTATION: &str = "ingressd/endpoints";
/// The label of nodes that must not get external requests.
const EXCLUDED: &str = "node.kubernetes.io/exclude-from-external-load-balancers";

/// Why a mode gives no address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unreachable {
    /// No endpoint is ready.
    NoEndpoints,
    /// The Service does not have what the mode needs; one clause says what.
    Mode(String),
}

/// A port of a Service with everything that is needed to reach it.
#[derive(Debug, Clone, Copy)]
pub struct Reach<'a> {
    pub snapshot: &'a Snapshot,
    /// Slices by Service.
    pub slices: &'a Slices<'a>,
    /// The administrator's settings.
    pub options: &'a Options,
    /// The identity of the Service.
    pub id: &'a ObjectId,
    pub service: &'a Service,
    pub port: &'a ServicePort,
}

/// Parses the value of [`ANNOTATION`].
pub fn parse(value: &str) -> Option<EndpointMode> {
    match value {
        "pod" => Some(EndpointMode::Pod),
        "nodeport" => Some(EndpointMode::NodePort),
        "clusterip" => Some(EndpointMode::ClusterIp),
        "loadbalancer" => Some(EndpointMode::LoadBalancer),
        "auto" => Some(EndpointMode::Auto),
        _ => None,
    }
}

/// The part of an upstream's name for the mode.
pub const fn name(mode: EndpointMode) -> &'static str {
    match mode {
        EndpointMode::Pod => "",
        EndpointMode::NodePort => "nodeport",
        EndpointMode::ClusterIp => "clusterip",
        EndpointMode::LoadBalancer => "loadbalancer",
        EndpointMode::Auto => "auto",
    }
}

impl Reach<'_> {
    /// The addresses of the port in this mode, sorted, without duplicates, never empty; and who
    /// chose them.
    pub fn by(&self, mode: EndpointMode) -> Result<(Vec<Endpoint>, Chosen), Unreachable> {
        match mode {
            EndpointMode::Pod => self.by_pod().map(by_tenant),
            EndpointMode::NodePort => self.by_node().map(by_cluster),
            EndpointMode::ClusterIp => self.by_cluster_address().map(by_cluster),
            EndpointMode::LoadBalancer => self.by_load_balancer().map(by_cluster),
            EndpointMode::Auto => self.by_any(),
        }
    }

    /// The addresses to which the cluster's own proxy sends requests that use an address of the
    /// cluster.
    pub fn behind(&self) -> impl Iterator<Item = SocketAddr> {
        let slices = self.slices.of(&self.id.namespace, &self.id.name);
        endpoint::find(slices, self.service, self.port).into_iter().map(|found| found.address)
    }

    fn by_pod(&self) -> Result<Vec<Endpoint>, Unreachable> {
        let slices = self.slices.of(&self.id.namespace, &self.id.name);
        let found = endpoint::find(slices, self.service, self.port);
        plain(found.into_iter().map(|found| found.address)).ok_or(Unreachable::NoEndpoints)
    }

    /// The nodes whose kube-proxy gets the requests. With `externalTrafficPolicy: Local` other
    /// nodes would drop requests, and a node with two pods should get twice as many.
    fn by_node(&self) -> Result<Vec<Endpoint>, Unreachable> {
        let Some(node_port) = self.port.node_port.and_then(port::number) else {
            return Err(Unreachable::Mode("it has no node port; make it of type NodePort".to_owned()));
        };
        let nodes = self.snapshot.nodes.iter().filter(|node| takes_requests(&node.object));
        let local = self.service.is_local.then(|| {
            let slices = self.slices.of(&self.id.namespace, &self.id.name);
            let mut weights = BTreeMap::<&str, u32>::new();
            for found in endpoint::find(slices, self.service, self.port) {
                *weights.entry(found.node.unwrap_or_default()).or_default() += 1;
            }
            weights
        });
        let mut endpoints: Vec<_> = nodes
            .filter_map(|node| {
                let weight = match &local {
                    Some(weights) => *weights.get(&*node.id.name)?,
                    None => 1,
                };
                let address = internal_address(&node.object, endpoint::preferred(self.service))?;
                Some(Endpoint { address: SocketAddr::new(address, node_port), weight })
            })
            .collect();
        endpoints.sort();
        endpoints.dedup_by_key(|endpoint| endpoint.address);
        match (endpoints.is_empty(), local.is_some()) {
            (false, _) => Ok(endpoints),
            (true, true) => Err(Unreachable::NoEndpoints),
            (true, false) => Err(Unreachable::Mode("no node is ready and accepts requests from outside".to_owned())),
        }
    }

    fn by_cluster_address(&self) -> Result<Vec<Endpoint>, Unreachable> {
        let target =
            self.service_port().zip(self.service.cluster_address).map(|(port, address)| SocketAddr::new(address, port));
        plain(target.into_iter())
            .ok_or_else(|| Unreachable::Mode("it has no cluster address, because it is headless or new".to_owned()))
    }

    fn by_load_balancer(&self) -> Result<Vec<Endpoint>, Unreachable> {
        let addresses = self.service.balancer_addresses.iter();
        let port = self.service_port();
        plain(addresses.filter_map(|address| port.map(|port| SocketAddr::new(*address, port))))
            .ok_or_else(|| Unreachable::Mode("no load balancer has given it an IP address".to_owned()))
    }

    /// Node addresses are always reachable; cluster IPs and pod addresses are used only within the
    /// networks that the settings name.
    fn by_any(&self) -> Result<(Vec<Endpoint>, Chosen), Unreachable> {
        let reachable = |endpoints: &Vec<Endpoint>| {
            let within = |address: IpAddr| self.options.reachable.iter().any(|network| network.contains(&address));
            endpoints.iter().all(|endpoint| within(endpoint.address.ip()))
        };
        let within = |endpoints: Result<Vec<Endpoint>, Unreachable>| endpoints.ok().filter(reachable);
        let first = self.by_load_balancer().ok().or_else(|| self.by_node().ok());
        let first = first.or_else(|| within(self.by_cluster_address())).map(by_cluster);
        first.or_else(|| within(self.by_pod()).map(by_tenant)).ok_or_else(|| {
            let note = "it has no address of a load balancer, no node port, and no address in a network of \
                        upstreams.reachable";
            Unreachable::Mode(note.to_owned())
        })
    }

    fn service_port(&self) -> Option<u16> {
        port::number(self.port.number)
    }
}

fn by_tenant(endpoints: Vec<Endpoint>) -> (Vec<Endpoint>, Chosen) {
    (endpoints, Chosen::ByTenant)
}

fn by_cluster(endpoints: Vec<Endpoint>) -> (Vec<Endpoint>, Chosen) {
    (endpoints, Chosen::ByCluster)
}

fn plain(addresses: impl Iterator<Item = SocketAddr>) -> Option<Vec<Endpoint>> {
    let mut endpoints: Vec<_> = addresses.map(|address| Endpoint { address, weight: 1 }).collect();
    endpoints.sort();
    endpoints.dedup();
    (!endpoints.is_empty()).then_some(endpoints)
}

fn takes_requests(node: &Node) -> bool {
    let conditions = node.status.as_ref().and_then(|status| status.conditions.as_deref()).unwrap_or_default();
    let ready = conditions.iter().any(|condition| condition.type_ == "Ready" && condition.status == "True");
    ready && !node.metadata.labels.as_ref().is_some_and(|labels| labels.contains_key(EXCLUDED))
}

fn internal_address(node: &Node, preferred: Family) -> Option<IpAddr> {
    let addresses = node.status.as_ref().and_then(|status| status.addresses.as_deref()).unwrap_or_default();
    let internal = addresses.iter().filter(|address| address.type_ == "InternalIP");
    let parsed = internal.filter_map(|address| address.address.parse::<IpAddr>().ok());
    // The first with the smallest key: an address of the preferred family if there is one.
    parsed.min_by_key(|address| Family::of(*address) != preferred)
}
