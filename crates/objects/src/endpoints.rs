//! The fields of an EndpointSlice that are used, kept small because clusters have many slices.

use std::net::IpAddr;

use k8s_openapi::api::discovery::v1::{self as api, EndpointSlice};

use super::unread::SERVICE_NAME;
use ingressd_model::Transport;

/// A family of addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Family {
    /// IPv4.
    Four,
    /// IPv6.
    Six,
}

/// The state of an endpoint, from its conditions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Condition {
    Ready,
    /// It is terminating and still serves, which is used when no endpoint is ready.
    Draining,
    /// It is neither.
    Unready,
}

/// An address of an endpoint of a Service. Nearly all endpoints have one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Endpoint {
    /// The address, of the slice's family.
    pub address: IpAddr,
    /// Its state.
    pub condition: Condition,
    /// The node that it runs on.
    pub node: Option<Box<str>>,
    /// The object behind it, usually a pod; equal in slices of both address families.
    pub target: Option<Box<str>>,
}

/// A port that the endpoints of a slice listen on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EndpointPort {
    /// Its name; empty for the only port of a Service.
    pub name: Box<str>,
    /// Its number; `None` means all ports.
    pub number: Option<i32>,
    /// Its protocol; `None` when it is neither TCP nor UDP.
    pub transport: Option<Transport>,
}

/// The endpoints of one EndpointSlice.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Endpoints {
    pub uid: Option<Box<str>>,
    /// The Service that it belongs to, by the label `kubernetes.io/service-name`.
    pub service: Option<Box<str>>,
    /// The family of all addresses; `None` when they are names.
    pub family: Option<Family>,
    pub ports: Box<[EndpointPort]>,
    pub endpoints: Box<[Endpoint]>,
}

impl Family {
    /// The family of an address.
    pub fn of(address: IpAddr) -> Self {
        match address {
            IpAddr::V4(_) => Family::Four,
            IpAddr::V6(_) => Family::Six,
        }
    }

    /// The family with this name in the API.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "IPv4" => Some(Family::Four),
            "IPv6" => Some(Family::Six),
            _ => None,
        }
    }

    /// Its name in the API.
    pub fn name(self) -> &'static str {
        match self {
            Family::Four => "IPv4",
            Family::Six => "IPv6",
        }
    }
}

impl From<EndpointSlice> for Endpoints {
    fn from(slice: EndpointSlice) -> Self {
        let family = Family::named(&slice.address_type);
        let labels = slice.metadata.labels.as_ref();
        Endpoints {
            uid: slice.metadata.uid.map(Into::into),
            service: labels.and_then(|labels| labels.get(SERVICE_NAME)).map(|service| service.as_str().into()),
            family,
            ports: slice.ports.unwrap_or_default().into_iter().map(port).collect(),
            endpoints: slice.endpoints.into_iter().flatten().flat_map(|one| endpoints(one, family)).collect(),
        }
    }
}

/// The protocol with this name in the API: TCP when a port names none; `None` when it is neither
/// TCP nor UDP.
pub(super) fn transport(protocol: Option<&str>) -> Option<Transport> {
    match protocol {
        None | Some("" | "TCP") => Some(Transport::Tcp),
        Some("UDP") => Some(Transport::Udp),
        Some(_) => None,
    }
}

fn port(port: api::EndpointPort) -> EndpointPort {
    EndpointPort {
        transport: transport(port.protocol.as_deref()),
        name: port.name.unwrap_or_default().into(),
        number: port.port,
    }
}

fn endpoints(endpoint: api::Endpoint, family: Option<Family>) -> impl Iterator<Item = Endpoint> {
    let parsed = endpoint.addresses.into_iter().filter_map(|address| address.parse::<IpAddr>().ok());
    let target: Option<Box<str>> = endpoint.target_ref.and_then(|target| {
        let namespace = target.namespace.unwrap_or_default();
        // Names contain no slash.
        Some(format!("{}/{namespace}/{}", target.kind?, target.name?).into())
    });
    let (condition, node) = (condition(endpoint.conditions.as_ref()), endpoint.node_name.map(Box::from));
    let of_family = parsed.filter(move |address| Some(Family::of(*address)) == family);
    of_family.map(move |address| Endpoint { address, condition, node: node.clone(), target: target.clone() })
}

/// Without conditions an endpoint is ready (`EndpointConditions` of the Kubernetes API).
fn condition(conditions: Option<&api::EndpointConditions>) -> Condition {
    let Some(conditions) = conditions else { return Condition::Ready };
    match conditions {
        _ if conditions.ready.unwrap_or(true) => Condition::Ready,
        _ if conditions.terminating == Some(true) && conditions.serving == Some(true) => Condition::Draining,
        _ => Condition::Unready,
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::discovery::v1::EndpointConditions;
    use serde_json::{Value, json};

    use super::{Condition, Endpoints, Family, Transport, condition};

    fn read(slice: Value) -> Endpoints {
        Endpoints::from(serde_json::from_value::<super::EndpointSlice>(slice).unwrap())
    }

    #[test]
    fn addresses_of_the_family_and_the_label_are_kept() {
        let slice = json!({
            "metadata": { "name": "x", "uid": "u", "labels": { "kubernetes.io/service-name": "shop", "other": "label" } },
            "addressType": "IPv6",
            "endpoints": [{
                "addresses": ["fd00::1", "10.0.0.1", "no address", "fd00::2"],
                "nodeName": "n",
                "targetRef": { "kind": "Pod", "namespace": "a", "name": "p" },
            }],
            "ports": [{ "name": "http", "port": 80 }, { "port": 53, "protocol": "UDP" }],
        });
        let read = read(slice);
        assert_eq!(
            (read.uid.as_deref(), read.service.as_deref(), read.family),
            (Some("u"), Some("shop"), Some(Family::Six))
        );
        let addresses: Vec<_> = read.endpoints.iter().map(|endpoint| endpoint.address.to_string()).collect();
        assert_eq!(addresses, ["fd00::1", "fd00::2"]);
        for endpoint in &read.endpoints {
            assert_eq!((endpoint.node.as_deref(), endpoint.target.as_deref()), (Some("n"), Some("Pod/a/p")));
        }
        let ports: Vec<_> = read.ports.iter().map(|port| (&*port.name, port.number, port.transport)).collect();
        assert_eq!(ports, [("http", Some(80), Some(Transport::Tcp)), ("", Some(53), Some(Transport::Udp))]);
    }

    #[test]
    fn names_have_no_family() {
        let read = read(json!({
            "metadata": {}, "addressType": "FQDN", "endpoints": [{ "addresses": ["10.0.0.1", "a.example"] }]
        }));
        assert_eq!((read.family, read.service), (None, None));
        assert!(read.endpoints.is_empty());
    }

    #[test]
    fn conditions() {
        let table = [
            (None, None, None, Condition::Ready),
            (Some(true), None, Some(true), Condition::Ready),
            (Some(false), Some(true), Some(true), Condition::Draining),
            (Some(false), Some(false), Some(true), Condition::Unready),
            (Some(false), Some(true), Some(false), Condition::Unready),
            (Some(false), Some(true), None, Condition::Unready),
            (Some(false), None, None, Condition::Unready),
        ];
        assert_eq!(condition(None), Condition::Ready);
        for (ready, serving, terminating, expected) in table {
            let conditions = EndpointConditions { ready, serving, terminating };
            assert_eq!(condition(Some(&conditions)), expected, "{conditions:?}");
        }
    }
}
