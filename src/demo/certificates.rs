//! The demo's own certificate authority, which exists as long as the demo runs.

use std::sync::Arc;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};
use rustls::RootCertStore;
use serde_json::{Value, json};

/// Signs certificates for the demo's hosts.
pub struct Authority {
    issuer: CertifiedIssuer<'static, KeyPair>,
}

impl Authority {
    /// Makes an authority with a new key.
    pub fn new() -> Result<Self, rcgen::Error> {
        let mut parameters = CertificateParams::default();
        parameters.distinguished_name.push(DnType::CommonName, "ingressd demo");
        parameters.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        Ok(Authority { issuer: CertifiedIssuer::self_signed(parameters, KeyPair::generate()?)? })
    }

    /// A TLS Secret with a certificate for these hosts.
    pub fn secret(&self, namespace: &str, name: &str, hosts: &[String]) -> Result<Value, rcgen::Error> {
        let key = KeyPair::generate()?;
        let certificate = CertificateParams::new(hosts.to_vec())?.signed_by(&key, &self.issuer)?;
        Ok(json!({
            "apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/tls",
            "metadata": {"namespace": namespace, "name": name},
            "stringData": {"tls.crt": certificate.pem(), "tls.key": key.serialize_pem()},
        }))
    }

    /// The trusted roots for clients of the demo.
    pub fn roots(&self) -> Arc<RootCertStore> {
        let mut roots = RootCertStore::empty();
        // The certificate was made here, so it can be parsed.
        roots.add_parsable_certificates([self.issuer.der().clone()]);
        Arc::new(roots)
    }
}
