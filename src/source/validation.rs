//! What an API server checks and fills in before it stores an object, for objects that never met one; it must not know what objects are used for.

use std::borrow::Cow;
use std::net::{Ipv4Addr, Ipv6Addr};

use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::{ConfigMap, Node, Secret, Service};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use k8s_openapi::api::networking::v1::{HTTPIngressPath, Ingress, IngressBackend, IngressClass};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

use crate::finding::Reason;
use crate::model::Field;

const LEGACY_CLASS: &str = "kubernetes.io/ingress.class";

/// Something wrong with an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// What sort of thing it is.
    pub reason: Reason,
    /// Where.
    pub field: Field,
    /// What is wrong and the remedy.
    pub note: String,
}

impl Problem {
    /// The object is not of the form it must have.
    pub fn undecodable(note: impl Into<String>) -> Self {
        Problem { reason: Reason::Undecodable, field: Field::Object, note: note.into() }
    }

    fn at(path: impl Into<Cow<'static, str>>, note: impl Into<String>) -> Self {
        Problem { reason: Reason::Undecodable, field: Field::Other(path.into()), note: note.into() }
    }
}

/// What an API server does before it stores an object.
pub trait Validate {
    /// Fills in what may be left out.
    fn complete(&mut self) {}

    /// Collects what is wrong.
    fn validate(&self, _problems: &mut Vec<Problem>) {}
}

impl Validate for IngressClass {}
impl Validate for ConfigMap {}
impl Validate for Node {}

impl Validate for Secret {
    fn complete(&mut self) {
        let plain = self.string_data.take().unwrap_or_default();
        let plain = plain.into_iter().map(|(key, value)| (key, ByteString(value.into_bytes())));
        self.data.get_or_insert_default().extend(plain);
    }
}

impl Validate for Service {
    fn complete(&mut self) {
        for port in self.spec.iter_mut().flat_map(|spec| spec.ports.iter_mut().flatten()) {
            port.protocol.get_or_insert_with(|| "TCP".to_owned());
            port.target_port.get_or_insert(IntOrString::Int(port.port));
        }
    }

    fn validate(&self, problems: &mut Vec<Problem>) {
        let ports = self.spec.iter().flat_map(|spec| spec.ports.iter().flatten());
        for (index, port) in ports.enumerate() {
            if !is_port(port.port) {
                problems.push(Problem::at(format!("spec.ports[{index}].port"), "ports go from 1 to 65535"));
            }
            if port.name.as_deref().is_some_and(|name| !is_label(name)) {
                problems.push(Problem::at(format!("spec.ports[{index}].name"), "it is not a DNS label"));
            }
        }
    }
}

impl Validate for EndpointSlice {
    fn validate(&self, problems: &mut Vec<Problem>) {
        let fits = |address: &str| match self.address_type.as_str() {
            "IPv4" => address.parse::<Ipv4Addr>().is_ok(),
            "IPv6" => address.parse::<Ipv6Addr>().is_ok(),
            "FQDN" => is_subdomain(address),
            _ => false,
        };
        for (index, endpoint) in self.endpoints.iter().flatten().enumerate() {
            if let Some(address) = endpoint.addresses.iter().find(|address| !fits(address)) {
                let note = format!("{address:?} is not of the addressType {:?}", self.address_type);
                problems.push(Problem::at(format!("endpoints[{index}].addresses"), note));
            }
        }
        for (index, port) in self.ports.iter().flatten().enumerate() {
            if port.port.is_some_and(|port| !is_port(port)) {
                problems.push(Problem::at(format!("ports[{index}].port"), "ports go from 1 to 65535"));
            }
        }
    }
}

impl Validate for Ingress {
    fn validate(&self, problems: &mut Vec<Problem>) {
        let Some(spec) = &self.spec else {
            return problems.push(Problem::at("spec", "it is missing: an Ingress needs rules or a defaultBackend"));
        };
        let rules = spec.rules.as_deref().unwrap_or_default();
        if rules.is_empty() && spec.default_backend.is_none() {
            problems.push(Problem::at("spec", "an Ingress needs rules or a defaultBackend"));
        }
        let legacy = self.metadata.annotations.as_ref().and_then(|annotations| annotations.get(LEGACY_CLASS));
        if let (Some(legacy), Some(class)) = (legacy, &spec.ingress_class_name)
            && legacy != class
        {
            let note = format!("it names another class than spec.ingressClassName ({class:?}): keep one of them");
            let field = Field::Annotation(LEGACY_CLASS.into());
            problems.push(Problem { reason: Reason::RefusedValue, field, note });
        }
        if spec.ingress_class_name.as_deref().is_some_and(|class| !is_subdomain(class)) {
            problems.push(Problem::at("spec.ingressClassName", "it is not a DNS name"));
        }
        if let Some(default) = &spec.default_backend {
            backend(default, problems, |part| Field::Other(format!("spec.defaultBackend.{part}").into()));
        }
        for (index, tls) in (0..).zip(spec.tls.iter().flatten()) {
            if tls.secret_name.as_deref().is_some_and(|name| !name.is_empty() && !is_subdomain(name)) {
                let note = "secretName is not a DNS name".to_owned();
                problems.push(Problem { reason: Reason::Undecodable, field: Field::Tls(index), note });
            }
        }
        for (rule, entry) in (0..).zip(rules) {
            for (index, path) in (0..).zip(entry.http.iter().flat_map(|http| &http.paths)) {
                self::path(path, rule, index, problems);
            }
        }
    }
}

fn path(path: &HTTPIngressPath, rule: u16, index: u16, problems: &mut Vec<Problem>) {
    let written = path.path.as_deref().unwrap_or_default();
    let mut refuse = |part, note: &str| {
        let field = Field::Path(rule, index, part);
        problems.push(Problem { reason: Reason::InvalidPath, field, note: note.to_owned() });
    };
    match path.path_type.as_str() {
        "Exact" | "Prefix" if !written.starts_with('/') => refuse("path", "it must begin with /"),
        "Exact" | "Prefix" => {
            let forbidden = ["//", "/./", "/../", "%2f", "%2F"].iter().find(|part| written.contains(**part));
            if let Some(part) = forbidden {
                refuse("path", &format!("it must not contain {part}"));
            } else if written.ends_with("/..") || written.ends_with("/.") {
                refuse("path", "it must not end with a dot segment");
            }
        }
        "ImplementationSpecific" if !written.is_empty() && !written.starts_with('/') => {
            refuse("path", "it must begin with /");
        }
        "ImplementationSpecific" => {}
        "" => refuse("pathType", "it is missing: write Exact, Prefix or ImplementationSpecific"),
        _ => refuse("pathType", "it must be Exact, Prefix or ImplementationSpecific"),
    }
    backend(&path.backend, problems, |part| Field::Path(rule, index, part));
}

fn backend(backend: &IngressBackend, problems: &mut Vec<Problem>, field: impl Fn(&'static str) -> Field) {
    let mut refuse = |part, note: &str| {
        problems.push(Problem { reason: Reason::Undecodable, field: field(part), note: note.to_owned() });
    };
    let service = match (&backend.service, &backend.resource) {
        (Some(service), None) => service,
        (None, Some(_)) => return,
        (Some(_), Some(_)) => return refuse("backend", "it names a service and a resource: keep one of them"),
        (None, None) => return refuse("backend", "it names neither a service nor a resource"),
    };
    if !is_label(&service.name) {
        refuse("backend.service.name", "it is not a DNS label");
    }
    match service.port.as_ref().map(|port| (port.name.as_deref().filter(|name| !name.is_empty()), port.number)) {
        Some((Some(name), None | Some(0))) if is_label(name) => {}
        Some((None, Some(number))) if is_port(number) => {}
        Some((Some(_), Some(_))) => refuse("backend.service.port", "it has a name and a number: keep one of them"),
        _ => refuse("backend.service.port", "it needs a number from 1 to 65535 or a name"),
    }
}

fn is_port(number: i32) -> bool {
    (1..=65535).contains(&number)
}

/// Whether it is a label of RFC 1123: lower-case letters, digits and inner hyphens, at most 63.
pub fn is_label(name: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let inner = name.bytes().all(|byte| fits(byte) || byte == b'-');
    inner && name.len() <= 63 && name.bytes().next().is_some_and(fits) && name.bytes().last().is_some_and(fits)
}

/// Whether it is a list of such labels with dots between them, at most 253 characters; labels may be long here.
pub fn is_subdomain(name: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let part = |part: &str| {
        let inner = part.bytes().all(|byte| fits(byte) || byte == b'-');
        inner && part.bytes().next().is_some_and(fits) && part.bytes().last().is_some_and(fits)
    };
    name.len() <= 253 && name.split('.').all(part)
}
