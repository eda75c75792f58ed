//! What one Ingress asks for, in plain words for display.

use std::sync::Arc;

use crate::INGRESS_NGINX;
use crate::read::port::{self, PortReference};
use crate::resolve::endpoint::{self, Slices};
use crate::value::host;
use ingressd_model::{ObjectId, ServerName, Transport};
use ingressd_objects::{Ingress, IngressBackend, IngressPath, IngressRule, Snapshot, Stored};

/// The requests of an Ingress, as written.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Asked<'a> {
    pub class: Option<&'a str>,
    /// The host of each rule; `*` for a missing one.
    pub rules: Vec<&'a str>,
    /// Its paths in order, and last the default backend.
    pub routes: Vec<AskedRoute<'a>>,
    /// The entries of `spec.tls`.
    pub tls: Vec<AskedTls<'a>>,
}

/// A path of an Ingress.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AskedRoute<'a> {
    /// The index of its rule; `None` for the default backend.
    pub rule: Option<usize>,
    /// The host; `*` for a missing one.
    pub host: &'a str,
    pub path: &'a str,
    /// Its type: `Prefix`, `Exact`, ...
    pub path_type: &'a str,
    /// The Service; `None` for another kind of backend.
    pub service: Option<&'a str>,
    /// The port of the Service, as written.
    pub port: Option<String>,
    /// The number of ready endpoints of that port; `None` when the Service or port does not exist.
    pub endpoints: Option<usize>,
}

/// An entry of `spec.tls`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AskedTls<'a> {
    /// Its hosts; an empty list means those of the rules.
    pub hosts: Vec<&'a str>,
    /// The Secret with the certificate.
    pub secret: Option<&'a str>,
}

/// The text for a missing host.
const EVERY_HOST: &str = "*";

/// Reads what an Ingress asks for, and counts the endpoints; `None` when the Ingress does not
/// exist.
pub fn asked<'a>(snapshot: &'a Snapshot, id: &ObjectId) -> Option<Asked<'a>> {
    let stored = find(snapshot, id)?;
    let object = &stored.object;
    let namespace = &*stored.id.namespace;
    let behind = Behind { snapshot, namespace, slices: Slices::new(snapshot) };
    let mut routes = Vec::new();
    for (number, rule) in object.rules.iter().enumerate() {
        let paths = rule.paths.iter();
        routes.extend(paths.map(|path| AskedRoute { rule: Some(number), host: host_of(rule), ..behind.route(path) }));
    }
    routes.extend(object.default_backend.as_deref().map(|backend| behind.to(backend)));
    let tls = object.tls.iter().map(|entry| AskedTls {
        hosts: entry.hosts.iter().map(|host| &**host).collect(),
        secret: entry.secret_name.as_deref(),
    });
    let rules = object.rules.iter().map(host_of).collect();
    Some(Asked { class: object.class_name.as_deref(), rules, routes, tls: tls.collect() })
}

/// The hosts of an Ingress as written, each once.
pub fn asked_hosts<'a>(snapshot: &'a Snapshot, id: &ObjectId) -> Vec<&'a str> {
    let rules = find(snapshot, id).into_iter().flat_map(rules);
    let mut hosts: Vec<_> = rules.map(host_of).collect();
    hosts.sort_unstable();
    hosts.dedup();
    hosts
}

/// The Ingresses with a rule for one of these hosts or, for the catch-all, with a default backend.
pub fn askers<'a>(snapshot: &'a Snapshot, hosts: &[ServerName]) -> impl Iterator<Item = &'a Arc<ObjectId>> {
    let written: Vec<_> = hosts.iter().map(host::written).collect();
    let asks = move |stored: &&Stored<Ingress>| {
        let has_default = stored.object.default_backend.is_some();
        written.iter().any(|written| {
            (has_default && written == EVERY_HOST)
                || rules(stored).any(|rule| host_of(rule).eq_ignore_ascii_case(written))
        })
    };
    snapshot.ingresses.iter().filter(asks).map(|stored| &stored.id)
}

fn find<'a>(snapshot: &'a Snapshot, id: &ObjectId) -> Option<&'a Stored<Ingress>> {
    snapshot.ingresses.find(&id.namespace, &id.name)
}

fn rules(stored: &Stored<Ingress>) -> impl Iterator<Item = &IngressRule> {
    stored.object.rules.iter()
}

fn host_of(rule: &IngressRule) -> &str {
    rule.host.as_deref().filter(|host| !host.is_empty()).unwrap_or(EVERY_HOST)
}

/// The host with this spelling and the wildcard host that contains it, each as rules write it;
/// empty for an invalid host.
pub fn host_with_wildcard(written: &str) -> Vec<(ServerName, String)> {
    let name = host::server_name(if written == EVERY_HOST { "" } else { written }).ok();
    let wildcard = name.as_ref().and_then(host::wildcard_above);
    name.into_iter().chain(wildcard).map(|name| (name.clone(), host::written(&name))).collect()
}

/// The Services of one namespace, with their endpoints.
struct Behind<'a> {
    snapshot: &'a Snapshot,
    namespace: &'a str,
    slices: Slices<'a>,
}

impl<'a> Behind<'a> {
    fn route(&self, path: &'a IngressPath) -> AskedRoute<'a> {
        let written = path.path.as_deref().unwrap_or("/");
        AskedRoute { path: written, path_type: &path.path_type, ..self.to(&path.backend) }
    }

    fn to(&self, backend: &'a IngressBackend) -> AskedRoute<'a> {
        let port = PortReference::read(backend.port_name.as_deref(), backend.port_number);
        let service = backend.service.as_deref();
        let endpoints = service.zip(port.as_ref()).and_then(|(service, port)| self.endpoints(service, port));
        AskedRoute {
            rule: None,
            host: EVERY_HOST,
            path: "/",
            path_type: "default backend",
            service,
            port: port.map(|port| match port {
                PortReference::Name(name) => name.to_owned(),
                port => port.written(),
            }),
            endpoints,
        }
    }

    fn endpoints(&self, service: &str, port: &PortReference<'_>) -> Option<usize> {
        let stored = self.snapshot.service(self.namespace, service)?;
        // A backend may also name the target port, which only one of the dialects allows.
        let port = port::find(&stored.object, port, Transport::Tcp, &INGRESS_NGINX)?;
        Some(endpoint::find(self.slices.of(self.namespace, service), &stored.object, port).len())
    }
}
