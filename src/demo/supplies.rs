//! What is not among the manifests of the demo, and is served beside them: classes, certificates,
//! and EndpointSlices with backends.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde_json::{Value, json};

use super::backends::Backends;
use super::certificates::Authority;
use super::examples::Examples;
use super::session::DemoError;

/// Namespace and name of the Secret for hosts without a certificate of their own.
pub const DEFAULT_CERTIFICATE: (&str, &str) = ("ingressd-demo", "default-certificate");

/// A Secret for TLS, by namespace and name, and its hosts.
type Wanted = ((String, String), Vec<String>);

/// What the manifests lack.
pub struct Supplies {
    authority: Authority,
    backends: Backends,
    /// The certificates that were made.
    secrets: BTreeMap<Wanted, Value>,
    /// The file that the daemon reads.
    file: PathBuf,
}

impl Supplies {
    /// With the backends that run.
    pub fn new(authority: Authority, backends: Backends, file: PathBuf) -> Self {
        Supplies { authority, backends, secrets: BTreeMap::new(), file }
    }

    /// Writes what these manifests lack.
    pub async fn write(&mut self, examples: &Examples) -> Result<(), DemoError> {
        let mut documents = self.backends.supply(examples).await?;
        documents.extend(examples.missing_classes().iter().map(|name| class(name)));
        let mut hosts = examples.hosts();
        hosts.push("localhost".to_owned());
        let (namespace, name) = DEFAULT_CERTIFICATE;
        let of_default = ((namespace.to_owned(), name.to_owned()), hosts);
        for wanted in examples.missing_certificates().into_iter().chain([of_default]) {
            // A certificate is made once, so that nothing changes as long as the manifests do not.
            if !self.secrets.contains_key(&wanted) {
                let ((namespace, name), hosts) = &wanted;
                self.secrets.insert(wanted.clone(), self.authority.secret(namespace, name, hosts)?);
            }
            documents.extend(self.secrets.get(&wanted).cloned());
        }
        let text = documents.iter().map(Value::to_string).collect::<Vec<_>>().join("\n---\n");
        match std::fs::read_to_string(&self.file) {
            Ok(known) if known == text => Ok(()),
            _ => {
                std::fs::write(&self.file, text).map_err(|source| DemoError::Write { path: self.file.clone(), source })
            }
        }
    }
}

/// A class that Ingresses name: that of ingressd by the name that the documentation has, and any
/// other that of ingress-nginx.
fn class(name: &str) -> Value {
    let controller = if name == "ingressd" { "ingressd/nginx" } else { "k8s.io/ingress-nginx" };
    json!({
        "apiVersion": "networking.k8s.io/v1",
        "kind": "IngressClass",
        "metadata": { "name": name },
        "spec": { "controller": controller },
    })
}
