//! The fields of a Service that are used, kept small because clusters have many.

use std::net::IpAddr;

use k8s_openapi::api::core::v1::{self as api, LoadBalancerIngress, LoadBalancerStatus, ServiceSpec, ServiceStatus};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use serde::{Deserialize, Serialize};

use super::endpoints::transport;
use super::{Family, StringMap};
use ingressd_model::Transport;

/// The used fields of a Service. On disk it has the form of the API.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "api::Service", into = "api::Service")]
pub struct Service {
    pub uid: Option<Box<str>>,
    pub annotations: StringMap,
    /// Its `externalName`, empty when that is missing; `None` for other types of Services.
    pub external_name: Option<Box<str>>,
    /// Its first address family; `None` when it names none.
    pub family: Option<Family>,
    /// Its cluster IP; `None` when it is headless or new.
    pub cluster_address: Option<IpAddr>,
    /// The IP addresses of its load balancer, without host names.
    pub balancer_addresses: Box<[IpAddr]>,
    /// Whether nodes drop external requests when they have no endpoint themselves
    /// (`externalTrafficPolicy: Local`).
    pub is_local: bool,
    pub ports: Box<[ServicePort]>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ServicePort {
    /// Its name; empty for the only port of a Service.
    pub name: Box<str>,
    pub number: i32,
    /// Its protocol; `None` when it is neither TCP nor UDP.
    pub transport: Option<Transport>,
    /// The target port.
    pub target: Option<TargetPort>,
    pub node_port: Option<i32>,
    /// The application protocol (`appProtocol`).
    pub application: Option<Box<str>>,
}

/// The target port of a Service port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TargetPort {
    Number(i32),
    /// By the name of a container port.
    Name(Box<str>),
}

impl From<api::Service> for Service {
    fn from(service: api::Service) -> Self {
        let spec = service.spec.unwrap_or_default();
        let balancer = service.status.and_then(|status| status.load_balancer).unwrap_or_default();
        let given = balancer.ingress.into_iter().flatten();
        let family = spec.ip_families.and_then(|families| Family::named(families.first()?));
        Service {
            uid: service.metadata.uid.map(Into::into),
            annotations: service.metadata.annotations.into(),
            external_name: (spec.type_.as_deref() == Some("ExternalName"))
                .then(|| spec.external_name.unwrap_or_default().into()),
            family,
            cluster_address: spec.cluster_ip.and_then(|text| text.parse().ok()),
            balancer_addresses: given.filter_map(|entry| entry.ip?.parse().ok()).collect(),
            is_local: spec.external_traffic_policy.as_deref() == Some("Local"),
            ports: spec.ports.into_iter().flatten().map(ServicePort::from).collect(),
        }
    }
}

impl From<api::ServicePort> for ServicePort {
    fn from(port: api::ServicePort) -> Self {
        let target = port.target_port.map(|target| match target {
            IntOrString::Int(number) => TargetPort::Number(number),
            IntOrString::String(name) => TargetPort::Name(name.into()),
        });
        ServicePort {
            transport: transport(port.protocol.as_deref()),
            name: port.name.unwrap_or_default().into(),
            number: port.port,
            target,
            node_port: port.node_port,
            application: port.app_protocol.map(Into::into),
        }
    }
}

impl From<Service> for api::Service {
    fn from(service: Service) -> Self {
        let entry = |address: &IpAddr| LoadBalancerIngress { ip: Some(address.to_string()), ..Default::default() };
        let balancer = LoadBalancerStatus { ingress: Some(service.balancer_addresses.iter().map(entry).collect()) };
        let spec = ServiceSpec {
            type_: service.external_name.as_ref().map(|_| "ExternalName".to_owned()),
            external_name: service.external_name.map(Into::into),
            ip_families: service.family.map(|family| vec![family.name().to_owned()]),
            cluster_ip: service.cluster_address.map(|address| address.to_string()),
            external_traffic_policy: service.is_local.then(|| "Local".to_owned()),
            ports: Some(service.ports.into_iter().map(api::ServicePort::from).collect()),
            ..ServiceSpec::default()
        };
        api::Service {
            metadata: ObjectMeta {
                uid: service.uid.map(Into::into),
                annotations: service.annotations.into(),
                ..ObjectMeta::default()
            },
            spec: Some(spec),
            status: Some(ServiceStatus { load_balancer: Some(balancer), ..ServiceStatus::default() }),
        }
    }
}

impl From<ServicePort> for api::ServicePort {
    fn from(port: ServicePort) -> Self {
        let target_port = port.target.map(|target| match target {
            TargetPort::Number(number) => IntOrString::Int(number),
            TargetPort::Name(name) => IntOrString::String(name.into()),
        });
        api::ServicePort {
            app_protocol: port.application.map(Into::into),
            name: Some(port.name.into()).filter(|name: &String| !name.is_empty()),
            node_port: port.node_port,
            port: port.number,
            protocol: match port.transport {
                Some(Transport::Tcp) => None,
                Some(Transport::Udp) => Some("UDP".to_owned()),
                // The name of any other protocol does not matter.
                None => Some("SCTP".to_owned()),
            },
            target_port,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{Family, Service, TargetPort, Transport};

    fn read(service: Value) -> Service {
        serde_json::from_value(service).unwrap()
    }

    #[test]
    fn what_is_read_is_kept() {
        let service = read(json!({
            "metadata": { "name": "x", "uid": "u", "annotations": { "a": "b" }, "labels": { "other": "label" } },
            "spec": {
                "type": "LoadBalancer", "clusterIP": "10.96.0.1", "ipFamilies": ["IPv6", "IPv4"],
                "externalTrafficPolicy": "Local", "externalName": "not.of.this.type",
                "ports": [
                    { "name": "web", "port": 80, "targetPort": 8080, "nodePort": 30080, "appProtocol": "grpc" },
                    { "port": 443, "targetPort": "https", "protocol": "TCP" },
                    { "port": 53, "protocol": "UDP" },
                ],
            },
            "status": { "loadBalancer": { "ingress": [{ "ip": "192.0.2.1" }, { "hostname": "a.example" }, { "ip": "x" }] } },
        }));
        assert_eq!((service.uid.as_deref(), service.external_name.as_deref()), (Some("u"), None));
        assert_eq!(service.annotations.get("a"), Some("b"));
        assert_eq!((service.family, service.is_local), (Some(Family::Six), true));
        assert_eq!(service.cluster_address.unwrap().to_string(), "10.96.0.1");
        assert_eq!(*service.balancer_addresses, ["192.0.2.1".parse::<std::net::IpAddr>().unwrap()]);
        let [web, https, dns] = &*service.ports else { panic!("{service:?}") };
        assert_eq!(
            (&*web.name, web.number, web.transport, web.node_port),
            ("web", 80, Some(Transport::Tcp), Some(30080))
        );
        assert_eq!((&web.target, web.application.as_deref()), (&Some(TargetPort::Number(8080)), Some("grpc")));
        assert_eq!((https.transport, &https.target), (Some(Transport::Tcp), &Some(TargetPort::Name("https".into()))));
        assert_eq!((&*dns.name, dns.transport, &dns.target), ("", Some(Transport::Udp), &None));
    }

    #[test]
    fn what_is_written_is_read_again() {
        let rows = [
            json!({ "metadata": {} }),
            json!({ "metadata": {}, "spec": { "type": "ExternalName", "externalName": "a.example" } }),
            json!({ "metadata": {}, "spec": { "type": "ExternalName" } }),
            json!({ "metadata": {}, "spec": { "clusterIP": "None" } }),
            json!({
                "metadata": { "uid": "u", "annotations": { "a": "b" } },
                "spec": {
                    "clusterIP": "fd00::1", "ipFamilies": ["IPv4"], "externalTrafficPolicy": "Local",
                    "ports": [
                        { "name": "web", "port": 80, "targetPort": 8080, "nodePort": 30080, "appProtocol": "grpc" },
                        { "port": 443, "targetPort": "https", "protocol": "SCTP" },
                        { "name": "dns", "port": 53, "protocol": "UDP" },
                    ],
                },
                "status": { "loadBalancer": { "ingress": [{ "ip": "192.0.2.1" }] } },
            }),
        ];
        for row in rows {
            let service = read(row.clone());
            let written = serde_json::to_value(&service).unwrap();
            assert_eq!(read(written.clone()), service, "{row} became {written}");
        }
    }

    #[test]
    fn an_external_name_is_one_of_its_type_alone() {
        let name = |spec: Value| read(json!({ "metadata": {}, "spec": spec })).external_name;
        assert_eq!(name(json!({ "type": "ExternalName", "externalName": "a.example" })).as_deref(), Some("a.example"));
        assert_eq!(name(json!({ "type": "ExternalName" })).as_deref(), Some(""));
        assert_eq!(name(json!({ "type": "ClusterIP", "externalName": "a.example" })), None);
        assert_eq!(name(json!({ "externalName": "a.example" })), None);
    }
}
