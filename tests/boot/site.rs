//! What is served on the machines: a folder of manifests, and a backend that is another site of
//! the same nginx.

use super::machine::{Disk, Machine};

const MANIFESTS: &str = "\
apiVersion: networking.k8s.io/v1
kind: IngressClass
metadata: {name: ingressd}
spec: {controller: ingressd/nginx}
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: NAME, namespace: NAME, annotations: {nginx.ingress.kubernetes.io/proxy-body-sizes: 1m}}
spec:
  ingressClassName: ingressd
  rules:
  - host: NAME.example
    http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: web, port: {number: 80}}}}]}
---
apiVersion: v1
kind: Service
metadata: {name: web, namespace: NAME}
spec: {ports: [{port: 80, targetPort: 8080}]}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: web-1, namespace: NAME, labels: {kubernetes.io/service-name: web}}
addressType: IPv4
ports: [{port: 8080}]
endpoints: [{addresses: [10.244.0.1]}]
";

/// The setting by which the machine's own address may be a backend.
pub const OWN_BACKEND: &str = "upstreams.own-addresses = ['10.244.0.1:8080']";

/// Puts a backend at a pod's address, which the machine has from its boot on.
pub fn put_backend(disk: &Disk) {
    disk.write("/etc/nginx/conf.d/backend.conf", "server { listen 10.244.0.1:8080; return 200 backend; }\n");
    disk.write(
        "/etc/systemd/system/pods.service",
        "[Unit]\nBefore=nginx.service\n[Service]\nType=oneshot\nRemainAfterExit=yes\nExecStart=ip address add 10.244.0.1/32 dev lo\n\
         [Install]\nRequiredBy=nginx.service\n",
    );
    let enabled = disk.run("systemctl enable pods.service");
    assert!(enabled.status.success(), "{}", String::from_utf8_lossy(&enabled.stderr));
}

/// Writes the manifests for a host NAME.example, with one annotation that is a mistake.
pub fn put_manifests(disk: &Disk, folder: &str, name: &str) {
    disk.write(&format!("{folder}/{name}.yaml"), &MANIFESTS.replace("NAME", name));
}

impl Machine {
    /// The status and body of an answer to a request for a host.
    pub fn get(&self, host: &str, port: u16) -> String {
        self.run(&format!("curl --silent --max-time 10 --write-out ' %{{http_code}}' --resolve {host}:{port}:127.0.0.1 http://{host}:{port}/"))
    }
}
