//! Ports of Services and of their slices.

use crate::Dialect;
use ingressd_model::{Protocol, Transport};
use ingressd_objects::{Endpoints, Service, ServicePort, TargetPort};

/// How a backend refers to a port of its Service.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PortReference<'a> {
    Number(u16),
    Name(&'a str),
    /// The first port: the daemon's default backend names none.
    First,
}

impl<'a> PortReference<'a> {
    /// Parses the port of a backend; `None` when it names none.
    pub fn read(name: Option<&'a str>, written: Option<i32>) -> Option<Self> {
        match name.filter(|name| !name.is_empty()) {
            Some(name) => Some(PortReference::Name(name)),
            None => written.and_then(number).map(PortReference::Number),
        }
    }

    /// The port as a user would write it.
    pub fn written(&self) -> String {
        match self {
            PortReference::Number(number) => number.to_string(),
            PortReference::Name(name) => format!("{name:?}"),
            PortReference::First => "1".to_owned(),
        }
    }
}

/// A port of a Service, by number or name and by protocol. In the ingress-nginx dialect a target
/// port is accepted too, when the Service has no port of that number or name.
pub fn find<'s>(
    service: &'s Service,
    wanted: &PortReference<'_>,
    transport: Transport,
    dialect: &Dialect,
) -> Option<&'s ServicePort> {
    let mut ports = service.ports.iter().filter(|port| port.transport == Some(transport));
    let by_port = |port: &&ServicePort| match wanted {
        PortReference::Number(number) => port.number == i32::from(*number),
        PortReference::Name(name) => *port.name == **name,
        PortReference::First => true,
    };
    let by_target = |port: &&ServicePort| match (wanted, &port.target) {
        (PortReference::Number(number), Some(TargetPort::Number(target))) => *target == i32::from(*number),
        (PortReference::Name(name), Some(TargetPort::Name(target))) => **target == **name,
        _ => false,
    };
    ports.clone().find(by_port).or_else(|| dialect.accepts_target_ports.then(|| ports.find(by_target)).flatten())
}

/// The port of a slice's endpoints: the one with the same name; the only one for a port without a
/// name; else a numeric target port, for slices written by hand without ports.
pub fn of_slice(slice: &Endpoints, port: &ServicePort) -> Option<u16> {
    let ports = &slice.ports;
    let mut candidates = ports.iter().filter(|candidate| candidate.transport == port.transport);
    let named = candidates.clone().find(|candidate| candidate.name == port.name);
    let only = match (port.name.is_empty(), candidates.next(), candidates.next()) {
        (true, Some(only), None) => Some(only),
        _ => None,
    };
    match (named.or(only), &port.target) {
        (Some(found), _) => found.number.and_then(number),
        (None, Some(TargetPort::Number(target))) if ports.is_empty() => number(*target),
        _ => None,
    }
}

/// The port of the host that a Service of type ExternalName names: its target port where that is a
/// number, else its own.
pub fn outside(port: &ServicePort) -> Option<u16> {
    let target = match port.target {
        Some(TargetPort::Number(target)) => number(target),
        _ => None,
    };
    target.or_else(|| number(port.number))
}

/// The protocol of the application behind the port, by `appProtocol`.
pub fn protocol(port: &ServicePort) -> Option<Protocol> {
    match port.application.as_deref()? {
        "grpc" | "kubernetes.io/h2c" => Some(Protocol::Grpc),
        "https" | "kubernetes.io/wss" => Some(Protocol::Https),
        "http" | "kubernetes.io/ws" => Some(Protocol::Http),
        _ => None,
    }
}

/// A valid port number.
pub fn number(port: i32) -> Option<u16> {
    u16::try_from(port).ok().filter(|port| *port > 0)
}
