//! The checks and defaults that an API server applies before it stores an object, for objects from
//! files.

use std::borrow::Cow;
use std::net::{Ipv4Addr, Ipv6Addr};

use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Node, Secret, Service};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use k8s_openapi::api::networking::v1::{HTTPIngressPath, Ingress, IngressBackend, IngressClass};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

use ingressd_model::finding::Reason;
use ingressd_model::{Field, is_label, is_subdomain};

/// The label that every Namespace gets from the API server.
const NAMESPACE_NAME: &str = "kubernetes.io/metadata.name";

const LEGACY_CLASS: &str = "kubernetes.io/ingress.class";

/// A problem of an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    pub reason: Reason,
    pub field: Field,
    /// What is wrong, and the remedy.
    pub note: String,
}

impl Problem {
    /// The object does not have the required form.
    pub fn undecodable(note: impl Into<String>) -> Self {
        Problem { reason: Reason::Undecodable, field: Field::Object, note: note.into() }
    }

    /// The reason of the first of them.
    pub fn first_reason(problems: &[Problem]) -> Reason {
        problems.first().map_or(Reason::Undecodable, |problem| problem.reason)
    }

    fn at(path: impl Into<Cow<'static, str>>, note: impl Into<String>) -> Self {
        Problem { reason: Reason::Undecodable, field: Field::Other(path.into()), note: note.into() }
    }
}

/// What an API server does before it stores an object.
pub trait Validate {
    /// Fills in defaults.
    fn complete(&mut self) {}

    /// Collects problems.
    fn validate(&self, _problems: &mut Vec<Problem>) {}
}

impl Validate for IngressClass {}
impl Validate for ConfigMap {}
impl Validate for Node {}

impl Validate for Namespace {
    fn complete(&mut self) {
        if let Some(name) = self.metadata.name.clone() {
            self.metadata.labels.get_or_insert_default().insert(NAMESPACE_NAME.to_owned(), name);
        }
    }
}

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

#[cfg(test)]
mod tests {
    use serde::de::DeserializeOwned;
    use serde_json::{Value, json};

    use super::*;

    fn problems<K: DeserializeOwned + Validate>(object: Value) -> Vec<String> {
        let object: K = serde_json::from_value(object).unwrap();
        let mut problems = Vec::new();
        object.validate(&mut problems);
        problems.iter().map(|problem| format!("{} {}", problem.field, problem.reason)).collect()
    }

    fn with_path(path: Value) -> Value {
        json!({"metadata": {"name": "a"}, "spec": {"rules": [{"http": {"paths": [path]}}]}})
    }

    #[test]
    fn paths_and_backends() {
        let backend = json!({"service": {"name": "web", "port": {"number": 80}}});
        let path = |path: &str, kind: &str| with_path(json!({"path": path, "pathType": kind, "backend": backend}));
        let at = "spec.rules[0].http.paths[0]";
        let rows = [
            ("/a", "Prefix", None),
            ("/", "Exact", None),
            ("a", "Prefix", Some("path InvalidPath")),
            ("", "Exact", Some("path InvalidPath")),
            ("/a//b", "Prefix", Some("path InvalidPath")),
            ("/a/./b", "Prefix", Some("path InvalidPath")),
            ("/a/../b", "Exact", Some("path InvalidPath")),
            ("/a%2fb", "Prefix", Some("path InvalidPath")),
            ("/a%2Fb", "Prefix", Some("path InvalidPath")),
            ("/a/..", "Prefix", Some("path InvalidPath")),
            ("/a/.", "Prefix", Some("path InvalidPath")),
            ("/a/...", "Prefix", None),
            ("", "ImplementationSpecific", None),
            ("/a(/|$)(.*)", "ImplementationSpecific", None),
            ("a", "ImplementationSpecific", Some("path InvalidPath")),
            ("/a", "", Some("pathType InvalidPath")),
            ("/a", "Regex", Some("pathType InvalidPath")),
        ];
        for (written, kind, expected) in rows {
            let expected = Vec::from_iter(expected.map(|expected| format!("{at}.{expected}")));
            assert_eq!(problems::<Ingress>(path(written, kind)), expected, "{written:?} {kind}");
        }
        let resource = json!({"apiGroup": "x", "kind": "Bucket", "name": "b"});
        let service = |name: &str, port: Value| json!({"service": {"name": name, "port": port}});
        let rows = [
            (service("web", json!({"name": "http"})), None),
            (service("web", json!({"number": 65535})), None),
            (json!({"resource": resource}), None),
            (json!({}), Some("backend")),
            (json!({"resource": resource, "service": {"name": "web", "port": {"number": 80}}}), Some("backend")),
            (service("Web", json!({"number": 80})), Some("backend.service.name")),
            (service("a.b", json!({"number": 80})), Some("backend.service.name")),
            (service("web", json!({"number": 0})), Some("backend.service.port")),
            (service("web", json!({"number": 65536})), Some("backend.service.port")),
            (service("web", json!({"name": "http", "number": 80})), Some("backend.service.port")),
            (service("web", json!({"name": "Http"})), Some("backend.service.port")),
            (service("web", json!({})), Some("backend.service.port")),
        ];
        for (backend, expected) in rows {
            let found = problems::<Ingress>(with_path(json!({"path": "/", "pathType": "Prefix", "backend": backend})));
            let expected = Vec::from_iter(expected.map(|part| format!("{at}.{part} Undecodable")));
            assert_eq!(found, expected, "{backend}");
        }
    }

    #[test]
    fn ingresses_as_a_whole() {
        let default = json!({"service": {"name": "web", "port": {"number": 80}}});
        let class = |annotation: &str, class: &str| {
            json!({"metadata": {"annotations": {LEGACY_CLASS: annotation}},
                   "spec": {"ingressClassName": class, "defaultBackend": default}})
        };
        let legacy = format!("metadata.annotations[{LEGACY_CLASS}] RefusedValue");
        let rows = [
            (json!({"metadata": {}}), vec!["spec Undecodable"]),
            (json!({"metadata": {}, "spec": {}}), vec!["spec Undecodable"]),
            (json!({"metadata": {}, "spec": {"defaultBackend": default}}), vec![]),
            (json!({"metadata": {}, "spec": {"defaultBackend": {}}}), vec!["spec.defaultBackend.backend Undecodable"]),
            (class("nginx", "nginx"), vec![]),
            (class("nginx", "other"), vec![legacy.as_str()]),
            (class("Nginx", "Nginx"), vec!["spec.ingressClassName Undecodable"]),
            (
                json!({"metadata": {}, "spec": {"defaultBackend": default, "tls": [{}, {"secretName": "../key"}]}}),
                vec!["spec.tls[1] Undecodable"],
            ),
        ];
        for (object, expected) in rows {
            assert_eq!(problems::<Ingress>(object.clone()), expected, "{object}");
        }
    }

    #[test]
    fn services_and_slices() {
        let service = |port: Value| json!({"metadata": {}, "spec": {"ports": [{"port": 80}, port]}});
        for (port, expected) in [
            (json!({"port": 443, "name": "https"}), None),
            (json!({"port": 0}), Some("spec.ports[1].port Undecodable")),
            (json!({"port": 65536}), Some("spec.ports[1].port Undecodable")),
            (json!({"port": 80, "name": "Http"}), Some("spec.ports[1].name Undecodable")),
        ] {
            assert_eq!(problems::<Service>(service(port.clone())), Vec::from_iter(expected), "{port}");
        }
        let slice = |family: &str, address: &str, port: i32| json!({"metadata": {}, "addressType": family, "endpoints": [{"addresses": [address]}], "ports": [{"port": port}]});
        for (family, address, port, expected) in [
            ("IPv4", "10.0.0.1", 80, None),
            ("IPv6", "2001:db8::1", 80, None),
            ("FQDN", "a.example", 80, None),
            ("IPv4", "2001:db8::1", 80, Some("endpoints[0].addresses Undecodable")),
            ("IPv6", "10.0.0.1", 80, Some("endpoints[0].addresses Undecodable")),
            ("IPv4", "10.0.0.1; evil", 80, Some("endpoints[0].addresses Undecodable")),
            ("FQDN", "a b", 80, Some("endpoints[0].addresses Undecodable")),
            ("Pigeon", "10.0.0.1", 80, Some("endpoints[0].addresses Undecodable")),
            ("IPv4", "10.0.0.1", 70000, Some("ports[0].port Undecodable")),
        ] {
            let found = problems::<EndpointSlice>(slice(family, address, port));
            assert_eq!(found, Vec::from_iter(expected), "{family} {address} {port}");
        }
    }

    #[test]
    fn what_an_api_server_fills_in() {
        let mut service: Service = serde_json::from_value(
            json!({"metadata": {}, "spec": {"ports": [{"port": 80}, {"port": 53, "protocol": "UDP", "targetPort": "dns"}]}}),
        )
        .unwrap();
        service.complete();
        let filled = serde_json::to_value(service).unwrap();
        assert_eq!(filled["spec"]["ports"][0], json!({"port": 80, "protocol": "TCP", "targetPort": 80}));
        assert_eq!(filled["spec"]["ports"][1], json!({"port": 53, "protocol": "UDP", "targetPort": "dns"}));
        let mut secret: Secret = serde_json::from_value(
            json!({"metadata": {}, "data": {"a": "MQ==", "b": "MQ=="}, "stringData": {"b": "2"}}),
        )
        .unwrap();
        secret.complete();
        let data = secret.data.unwrap();
        assert_eq!((data["a"].0.as_slice(), data["b"].0.as_slice(), secret.string_data), (&b"1"[..], &b"2"[..], None));
    }
}
