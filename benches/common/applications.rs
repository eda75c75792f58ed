//! Manifests of many similar applications, as a cluster would have them.

use std::net::Ipv4Addr;
use std::sync::LazyLock;

use serde_json::Value;

use rig::ECHO;
use rig::manifests::{in_namespace, secret};

/// Every how many-th host has TLS.
const TLS_EVERY: usize = 10;
/// Key pairs that are shared: making one for each host would measure the making.
const KEY_PAIRS: usize = 4;
/// Pod addresses of one revision of all applications.
const ADDRESSES: usize = 12_000;
/// Room for pod addresses in 10.244.0.0/16, the first 256 left out. It has no divisor in common
/// with [`ADDRESSES`], so that no revision of an application has the addresses of an earlier one.
const ADDRESS_SPACE: usize = 65_003;

/// How many namespaces share the applications.
pub const NAMESPACES: usize = 50;

/// Numbers of applications whose second path may be edited end so.
pub const EDITED: usize = 3;

/// What applications are called.
const NAMES: [&str; 8] = ["api", "shop", "billing", "user-portal", "web", "notification-service", "auth", "reports"];

struct KeyPair {
    certificate: Vec<u8>,
    chain: String,
    key: String,
}

static KEYS: LazyLock<Vec<KeyPair>> = LazyLock::new(|| {
    let make = |_| {
        let made = rcgen::generate_simple_self_signed(["*.bench.example".to_owned()]).unwrap();
        KeyPair { certificate: made.cert.der().to_vec(), chain: made.cert.pem(), key: made.signing_key.serialize_pem() }
    };
    (0..KEY_PAIRS).map(make).collect()
});

/// One host with the paths `/` and `/api`, a Service and an EndpointSlice with two endpoints;
/// every tenth with a certificate.
#[derive(Debug, Clone, Default)]
pub struct Application {
    /// Tells it apart from the others.
    pub number: usize,
    /// Counts edits of the second path.
    pub path_revision: usize,
    /// Counts replacements of the endpoints.
    pub endpoint_revision: usize,
    /// Counts replacements of the certificate.
    pub certificate_revision: usize,
}

impl Application {
    /// The application of this number, as first deployed.
    pub fn new(number: usize) -> Self {
        Application { number, ..Application::default() }
    }

    /// Its host.
    pub fn host(&self) -> String {
        format!("{}.bench.example", self.name())
    }

    /// Whether its host has a certificate, and plain requests are redirected.
    pub fn has_tls(&self) -> bool {
        self.number.is_multiple_of(TLS_EVERY)
    }

    /// The URL of a path.
    pub fn url(&self, path: &str) -> String {
        format!("{}://{}{path}", if self.has_tls() { "https" } else { "http" }, self.host())
    }

    /// Its first path: all others, except where an edit of the second is to be seen from outside.
    fn first_path(&self) -> &'static str {
        if self.number % 10 == EDITED { "/app" } else { "/" }
    }

    /// Its second path.
    pub fn second_path(&self) -> String {
        match self.path_revision {
            0 => "/api".to_owned(),
            revision => format!("/api-{revision}"),
        }
    }

    /// The addresses of its pods.
    pub fn addresses(&self) -> [Ipv4Addr; 2] {
        [0, 1].map(|pod| {
            let index = (self.endpoint_revision * ADDRESSES + self.number * 2 + pod) % ADDRESS_SPACE + 256;
            let [_, _, high, low] = u32::try_from(index).unwrap().to_be_bytes();
            Ipv4Addr::new(10, 244, high, low)
        })
    }

    /// Its certificate, DER.
    pub fn certificate(&self) -> &'static [u8] {
        &self.key_pair().certificate
    }

    fn key_pair(&self) -> &'static KeyPair {
        &KEYS[(self.number / TLS_EVERY + self.certificate_revision) % KEY_PAIRS]
    }

    /// Names differ in length, as those of a real cluster do.
    fn name(&self) -> String {
        format!("{}-{:05}", NAMES[self.number % NAMES.len()], self.number)
    }

    /// Its namespace.
    pub fn namespace(&self) -> String {
        format!("team-{:02}", self.number % NAMESPACES)
    }

    /// The file of its Ingress, Service and EndpointSlice.
    pub fn file(&self) -> String {
        format!("{}.yaml", self.name())
    }

    /// What stands in [`Application::file`].
    pub fn text(&self) -> String {
        let (name, namespace, host) = (self.name(), self.namespace(), self.host());
        let (first, second) = (self.first_path(), self.second_path());
        let tls = match self.has_tls() {
            true => format!("  tls:\n  - hosts: [{host}]\n    secretName: {name}\n"),
            false => String::new(),
        };
        let [first_pod, second_pod] = self.addresses();
        format!(
            r"apiVersion: networking.k8s.io/v1
kind: Ingress
metadata:
  name: {name}
  namespace: {namespace}
  labels:
    app.kubernetes.io/name: {name}
  annotations:
    nginx.ingress.kubernetes.io/proxy-body-size: 8m
spec:
  ingressClassName: ingressd
{tls}  rules:
  - host: {host}
    http:
      paths:
      - path: {first}
        pathType: Prefix
        backend:
          service:
            name: {name}
            port:
              name: http
      - path: {second}
        pathType: Prefix
        backend:
          service:
            name: {name}
            port:
              number: 80
---
apiVersion: v1
kind: Service
metadata:
  name: {name}
  namespace: {namespace}
  labels:
    app.kubernetes.io/name: {name}
spec:
  selector:
    app.kubernetes.io/name: {name}
  ports:
  - name: http
    port: 80
    targetPort: {ECHO}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata:
  name: {name}-x7k2p
  namespace: {namespace}
  labels:
    kubernetes.io/service-name: {name}
addressType: IPv4
endpoints:
- addresses: [{first_pod}]
  conditions: {{ready: true, serving: true, terminating: false}}
- addresses: [{second_pod}]
  conditions: {{ready: true, serving: true, terminating: false}}
ports:
- name: http
  port: {ECHO}
  protocol: TCP
"
        )
    }

    /// The file of its Secret.
    pub fn secret_file(&self) -> String {
        format!("{}-tls.yaml", self.name())
    }

    /// Its Secret, when it has one.
    pub fn secret(&self) -> Option<Value> {
        let pair = self.has_tls().then(|| self.key_pair())?;
        let secret = secret(&self.name(), "kubernetes.io/tls", &[("tls.crt", &pair.chain), ("tls.key", &pair.key)]);
        Some(in_namespace(&self.namespace(), secret))
    }
}
