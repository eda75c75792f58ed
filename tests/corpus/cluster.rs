//! The objects that a cluster adds to manifests: endpoints of Services, and Secrets that other
//! programs make.

use std::collections::BTreeMap;
use std::net::IpAddr;

use serde_json::{Value, json};

use crate::project::{Project, annotation, list};
use rig::authority::Authority;
use rig::manifests::{endpoint_slice, in_namespace, secret, tls_secret};
use rig::{ECHO, ECHO_TLS};

/// The first network of 10.244.0.0/16 in which clients are, and no pods.
const CLIENTS: u8 = 200;

/// A cluster.
pub struct Cluster {
    /// What it adds.
    pub objects: Vec<Value>,
    /// Which Service of which project an address belongs to.
    services: BTreeMap<IpAddr, (String, String)>,
}

impl Cluster {
    /// The one in which the projects are, whose clients have certificates of this authority.
    pub fn of(projects: &[Project], clients: &Authority) -> Self {
        let mut cluster = Cluster { objects: Vec::new(), services: BTreeMap::new() };
        let services = projects.iter().flat_map(|project| project.of_kind("Service").map(move |one| (project, one)));
        for ((project, service), number) in services.zip(1_u8..) {
            assert!(number < CLIENTS, "there are more Services than networks for pods");
            cluster.add_pods(project, service, number);
        }
        projects.iter().for_each(|project| cluster.add_secrets(project, clients));
        cluster
    }

    /// Which Service of a project has an address.
    pub fn service(&self, project: &Project, address: IpAddr) -> Option<&str> {
        let (owner, service) = self.services.get(&address)?;
        (*owner == project.name).then_some(service)
    }

    /// Two pods for each Service.
    fn add_pods(&mut self, project: &Project, service: &Value, number: u8) {
        let name = service["metadata"]["name"].as_str().unwrap();
        let addresses = [1, 2].map(|pod| format!("10.244.{number}.{pod}"));
        let mut slice = endpoint_slice(name, &addresses.each_ref().map(String::as_str), 0);
        let ports = list(&service["spec"]["ports"]).iter();
        slice["ports"] = ports.map(|port| json!({"name": port["name"], "port": target(port)})).collect();
        self.objects.push(in_namespace(service["metadata"]["namespace"].as_str().unwrap(), slice));
        let own = service["spec"]["clusterIP"].as_str().filter(|address| *address != "None").map(str::to_owned);
        for address in addresses.into_iter().chain(own) {
            self.services.insert(address.parse().unwrap(), (project.name.clone(), name.to_owned()));
        }
    }

    /// Certificates of hosts, and authorities of clients and backends, that manifests name and do
    /// not hold.
    fn add_secrets(&mut self, project: &Project, clients: &Authority) {
        let mut made = BTreeMap::new();
        for ingress in project.of_kind("Ingress") {
            for entry in list(&ingress["spec"]["tls"]) {
                let Some(name) = entry["secretName"].as_str() else { continue };
                let hosts: Vec<_> = list(&entry["hosts"]).iter().filter_map(Value::as_str).collect();
                let all: &mut Vec<&str> = made.entry((namespace(ingress), name)).or_default();
                all.extend(hosts.into_iter().filter(|host| !all.contains(host)).collect::<Vec<_>>());
            }
            let short = |key| annotation(ingress, key).map(|name| name.rsplit('/').next().unwrap_or(name));
            let authority = clients.pem();
            let backends = clients.signs("nginx", 8);
            let named = [
                (short("auth-tls-secret"), vec![("ca.crt", &*authority)]),
                (short("proxy-ssl-secret"), vec![("tls.crt", &*backends.chain), ("tls.key", &*backends.key)]),
            ];
            for (name, data) in named {
                let made = name.map(|name| in_namespace(namespace(ingress), secret(name, "Opaque", &data)));
                self.objects.extend(made);
            }
        }
        let made = made.into_iter().map(|((namespace, name), hosts)| in_namespace(namespace, tls_secret(name, &hosts)));
        self.objects.extend(made);
    }
}

fn namespace(object: &Value) -> &str {
    object["metadata"]["namespace"].as_str().unwrap()
}

/// The port of a pod: pods listen with TLS where the name of the port says so.
fn target(port: &Value) -> Value {
    match &port["targetPort"] {
        Value::String(name) if name.starts_with("https") => json!(ECHO_TLS),
        Value::String(_) => json!(ECHO),
        number => number.clone(),
    }
}
