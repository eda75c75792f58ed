//! What the demo has to know about the manifests: hosts, what is missing beside them, and requests
//! to try.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::request::ExampleRequest;
use ingressd_objects::yaml;

/// The annotation with requests to try.
const TRY: &str = "demo.ingressd/try";

/// The label of an EndpointSlice with the name of its Service.
pub const SERVICE: &str = "kubernetes.io/service-name";

/// The manifests of a folder when it was read.
#[derive(Debug, Default)]
pub struct Examples {
    documents: Vec<Value>,
}

/// Why the examples cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ExamplesError {
    /// A file or folder cannot be read.
    #[error("cannot read {}: {source}; name a folder of manifests", path.display())]
    Read {
        path: PathBuf,
        /// The error of the system.
        source: std::io::Error,
    },
    /// A request to try cannot be parsed.
    #[error("the annotation {TRY} of Ingress {ingress} cannot be used: {why}")]
    Request {
        /// The object.
        ingress: String,
        /// The mistake; one clause.
        why: String,
    },
}

impl Examples {
    /// Reads a folder. Invalid YAML is skipped: the daemon reports it.
    pub fn read(folder: &Path) -> Result<Self, ExamplesError> {
        let failed = |path: &Path| {
            let path = path.to_owned();
            move |source| ExamplesError::Read { path, source }
        };
        let entries = std::fs::read_dir(folder).map_err(failed(folder))?;
        let mut files: Vec<_> =
            entries.filter_map(Result::ok).map(|entry| entry.path()).filter(|path| is_yaml(path)).collect();
        files.sort();
        let mut documents = Vec::new();
        for file in files {
            let text = std::fs::read_to_string(&file).map_err(failed(&file))?;
            documents.extend(yaml::values(&text));
        }
        Ok(Examples { documents })
    }

    fn of_kind(&self, kind: &str) -> impl Iterator<Item = &Value> {
        self.documents.iter().filter(move |document| document["kind"] == *kind)
    }

    /// The hosts of all rules, sorted, without duplicates.
    pub fn hosts(&self) -> Vec<String> {
        let rules = self.of_kind("Ingress").flat_map(|ingress| items(&ingress["spec"]["rules"]));
        let mut hosts: Vec<_> = rules.filter_map(|rule| rule["host"].as_str().map(str::to_owned)).collect();
        hosts.sort();
        hosts.dedup();
        hosts
    }

    /// Secrets for TLS that are in no manifest: namespace and name, with their hosts.
    pub fn missing_certificates(&self) -> BTreeMap<(String, String), Vec<String>> {
        let mut missing: BTreeMap<_, Vec<String>> = BTreeMap::new();
        for ingress in self.of_kind("Ingress") {
            for tls in items(&ingress["spec"]["tls"]) {
                let Some(secret) = tls["secretName"].as_str() else { continue };
                let hosts = items(&tls["hosts"]).filter_map(Value::as_str).map(str::to_owned);
                missing.entry((namespace(ingress), secret.to_owned())).or_default().extend(hosts);
            }
        }
        for secret in self.of_kind("Secret") {
            missing.remove(&(namespace(secret), text(&secret["metadata"]["name"])));
        }
        missing
    }

    /// Services of pods without EndpointSlices: namespace and name, with the names of their TCP
    /// ports.
    pub fn missing_backends(&self) -> BTreeMap<(String, String), Vec<String>> {
        let has_pods = |service: &&Value| service["spec"]["type"] != "ExternalName";
        let mut missing: BTreeMap<_, _> = self
            .of_kind("Service")
            .filter(has_pods)
            .map(|service| {
                let is_tcp = |port: &&Value| port["protocol"].as_str().is_none_or(|protocol| protocol == "TCP");
                let ports = items(&service["spec"]["ports"]).filter(is_tcp).map(|port| text(&port["name"]));
                ((namespace(service), text(&service["metadata"]["name"])), ports.collect())
            })
            .collect();
        for slice in self.of_kind("EndpointSlice") {
            missing.remove(&(namespace(slice), text(&slice["metadata"]["labels"][SERVICE])));
        }
        missing
    }

    /// Classes that Ingresses name and that are in no manifest.
    pub fn missing_classes(&self) -> Vec<String> {
        let mut missing: Vec<_> = self
            .of_kind("Ingress")
            .filter_map(|ingress| ingress["spec"]["ingressClassName"].as_str().map(str::to_owned))
            .collect();
        missing.sort();
        missing.dedup();
        let classes: Vec<_> = self.of_kind("IngressClass").collect();
        missing.retain(|name| !classes.iter().any(|class| class["metadata"]["name"] == **name));
        missing
    }

    /// The requests to try, by Ingress, in the order of the files.
    pub fn requests(&self) -> Result<Vec<(String, Vec<ExampleRequest>)>, ExamplesError> {
        let mut requests = Vec::new();
        for ingress in self.of_kind("Ingress") {
            let Some(lines) = ingress["metadata"]["annotations"][TRY].as_str() else { continue };
            let name = text(&ingress["metadata"]["name"]);
            let parsed: Result<Vec<_>, _> =
                lines.lines().filter(|line| !line.trim().is_empty()).map(ExampleRequest::parse).collect();
            let parsed = parsed.map_err(|why| ExamplesError::Request { ingress: name.clone(), why })?;
            requests.push((name, parsed));
        }
        Ok(requests)
    }
}

fn is_yaml(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending == "yaml" || ending == "yml" || ending == "json")
}

fn items(list: &Value) -> impl Iterator<Item = &Value> {
    list.as_array().into_iter().flatten()
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn namespace(object: &Value) -> String {
    object["metadata"]["namespace"].as_str().unwrap_or("default").to_owned()
}
