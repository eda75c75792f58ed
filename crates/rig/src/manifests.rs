//! The folder of manifests that the daemon watches, and short ways to write objects.

use std::fs;
use std::path::{Path, PathBuf};

use base64::Engine;
use serde_json::{Value, json};

/// A folder of manifests.
pub struct Manifests {
    folder: PathBuf,
}

impl Manifests {
    /// Makes the folder.
    pub fn new(folder: &Path) -> Self {
        fs::create_dir_all(folder).unwrap();
        Manifests { folder: folder.to_owned() }
    }

    /// The folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Writes a file as careful tools do: next to its place, then renamed.
    pub fn write_text(&self, name: &str, text: &str) {
        let hidden = self.folder.join(format!(".{name}.new"));
        fs::write(&hidden, text).unwrap();
        fs::rename(hidden, self.folder.join(name)).unwrap();
    }

    /// Writes objects, each a document of its own; JSON is YAML.
    pub fn write(&self, name: &str, objects: &[Value]) {
        let documents: Vec<_> = objects.iter().map(|object| serde_json::to_string_pretty(object).unwrap()).collect();
        self.write_text(name, &documents.join("\n---\n"));
    }

    /// Removes a file.
    pub fn remove(&self, name: &str) {
        fs::remove_file(self.folder.join(name)).unwrap();
    }
}

/// An Ingress in the making, in namespace `default` and class `ingressd` unless told otherwise.
#[derive(Clone)]
pub struct Ingress(Value);

/// An Ingress of this name.
pub fn ingress(name: &str) -> Ingress {
    Ingress(json!({
        "apiVersion": "networking.k8s.io/v1", "kind": "Ingress",
        "metadata": {"namespace": "default", "name": name, "annotations": {}},
        "spec": {"ingressClassName": "ingressd", "rules": [], "tls": []}
    }))
}

impl Ingress {
    /// Puts it into another namespace.
    pub fn namespace(mut self, namespace: &str) -> Self {
        self.0["metadata"]["namespace"] = json!(namespace);
        self
    }

    /// Gives it another class: `nginx` has the semantics of ingress-nginx.
    pub fn class(mut self, class: &str) -> Self {
        self.0["spec"]["ingressClassName"] = json!(class);
        self
    }

    /// Dates it, `2026-01-01T00:00:00Z`: the older of two objects wins.
    pub fn created(mut self, time: &str) -> Self {
        self.0["metadata"]["creationTimestamp"] = json!(time);
        self
    }

    /// Adds a path (and its type) of a host that goes to port 80 of a Service. An empty host is
    /// the catch-all.
    pub fn path(self, host: &str, path_type: &str, path: &str, service: &str) -> Self {
        self.path_to(host, path_type, path, json!({"service": {"name": service, "port": {"number": 80}}}))
    }

    /// Adds a path with any backend.
    pub fn path_to(mut self, host: &str, path_type: &str, path: &str, backend: Value) -> Self {
        let mut rule = json!({"http": {"paths": [{"path": path, "pathType": path_type, "backend": backend}]}});
        if !host.is_empty() {
            rule["host"] = json!(host);
        }
        self.0["spec"]["rules"].as_array_mut().unwrap().push(rule);
        self
    }

    /// Adds everything below `/` of a host.
    pub fn host(self, host: &str, service: &str) -> Self {
        self.path(host, "Prefix", "/", service)
    }

    /// Sets what takes requests that no rule takes.
    pub fn default_backend(mut self, service: &str) -> Self {
        self.0["spec"]["defaultBackend"] = json!({"service": {"name": service, "port": {"number": 80}}});
        self
    }

    /// Adds TLS for hosts with a Secret.
    pub fn tls(mut self, hosts: &[&str], secret: &str) -> Self {
        self.0["spec"]["tls"].as_array_mut().unwrap().push(json!({"hosts": hosts, "secretName": secret}));
        self
    }

    /// Sets an annotation of ingress-nginx, the key without its prefix.
    pub fn annotation(self, key: &str, value: &str) -> Self {
        self.raw_annotation(&format!("nginx.ingress.kubernetes.io/{key}"), value)
    }

    /// Sets any annotation.
    pub fn raw_annotation(mut self, key: &str, value: &str) -> Self {
        self.0["metadata"]["annotations"][key] = json!(value);
        self
    }

    /// The object.
    pub fn build(self) -> Value {
        self.0
    }
}

impl From<Ingress> for Value {
    fn from(ingress: Ingress) -> Value {
        ingress.0
    }
}

/// The class `ingressd` (specification) and the class `nginx` (semantics of ingress-nginx).
pub fn classes() -> Vec<Value> {
    let class = |name: &str, controller: &str| {
        json!({"apiVersion": "networking.k8s.io/v1", "kind": "IngressClass", "metadata": {"name": name},
               "spec": {"controller": controller}})
    };
    vec![class("ingressd", "ingressd/nginx"), class("nginx", "k8s.io/ingress-nginx")]
}

/// A Service in namespace `default` whose port 80, named `http`, is port `target` of its pods.
pub fn service(name: &str, target: u16) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Service", "metadata": {"namespace": "default", "name": name},
        "spec": {"ports": [{"name": "http", "port": 80, "targetPort": target}]}
    })
}

/// The endpoints of a Service in namespace `default`, all ready, under the port named `http`.
pub fn endpoint_slice(service: &str, addresses: &[&str], port: u16) -> Value {
    let family = if addresses.iter().any(|address| address.contains(':')) { "IPv6" } else { "IPv4" };
    let endpoints: Vec<_> =
        addresses.iter().map(|address| json!({"addresses": [address], "conditions": {"ready": true}})).collect();
    json!({
        "apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice",
        "metadata": {"namespace": "default", "name": format!("{service}-{}", family.to_lowercase()),
                     "labels": {"kubernetes.io/service-name": service}},
        "addressType": family, "endpoints": endpoints, "ports": [{"name": "http", "port": port, "protocol": "TCP"}]
    })
}

/// A Service with its endpoints.
pub fn service_at(name: &str, addresses: &[&str], port: u16) -> [Value; 2] {
    [service(name, port), endpoint_slice(name, addresses, port)]
}

/// Puts an object into another namespace.
pub fn in_namespace(namespace: &str, mut object: Value) -> Value {
    object["metadata"]["namespace"] = json!(namespace);
    object
}

/// A Secret of any type in namespace `default`.
pub fn secret(name: &str, secret_type: &str, data: &[(&str, &str)]) -> Value {
    let encode = |value: &str| base64::engine::general_purpose::STANDARD.encode(value);
    let data: serde_json::Map<_, _> =
        data.iter().map(|(key, value)| ((*key).to_owned(), json!(encode(value)))).collect();
    json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"namespace": "default", "name": name},
           "type": secret_type, "data": data})
}

/// A Secret with a certificate of its own for these hosts.
pub fn tls_secret(name: &str, hosts: &[&str]) -> Value {
    let hosts: Vec<_> = hosts.iter().map(|host| (*host).to_owned()).collect();
    let made = rcgen::generate_simple_self_signed(hosts).unwrap();
    secret(name, "kubernetes.io/tls", &[("tls.crt", &made.cert.pem()), ("tls.key", &made.signing_key.serialize_pem())])
}
