//! A stand-in for ingress-nginx as its chart installs it: the objects, a program that writes
//! statuses as its flags say, and an nginx that answers as the controller does.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::{Value, json};
use tokio::time::{Duration, sleep};

use super::clients::Clients;
use super::controller::{Controller, NAME};
use crate::surroundings::Surroundings;
use rig::cluster::administrator;
use rig::cluster::history::History;
use rig::cluster::objects::Objects;
use rig::daemon::{Daemon, Source};
use rig::manifests::{Manifests, classes, in_namespace, ingress, secret, service_at, tls_secret};
use rig::nginx::Nginx;
use rig::{open_to_all, wait};

/// Where it runs.
const NAMESPACE: &str = "ingress-nginx";

/// What it serves.
pub const INGRESSES: [&str; 4] = ["shop", "cart", "tools", "admin"];

/// Where clients reach it.
const PORT: u16 = 80;

/// A backend that answers alike each time.
const BACKEND: &str = "server { listen 10.244.0.9:8081; access_log off; location / { return 200 \"$uri\\n\"; } }\n";

/// The time between two looks at the Deployment.
const PAUSE: Duration = Duration::from_millis(50);

/// The stand-in. What runs ends with it.
pub struct StandIn {
    address: &'static str,
    own: Objects,
    ending: Arc<AtomicBool>,
    _daemon: Daemon,
    nginx: Nginx,
}

impl StandIn {
    /// Writes the objects, and starts what answers at this address and writes it into statuses.
    pub async fn start(around: &Surroundings, address: &'static str) -> Self {
        let own = Objects::new(administrator(&around.plane).await, NAMESPACE).await;
        own.apply_all([deployment(), config_map(), service()]).await;
        let ip = json!({ "loadBalancer": { "ingress": [{ "ip": address }] } });
        own.set_status("Service", NAME, ip).await;
        let served = served();
        around.objects.apply_all(served.clone()).await;
        let (daemon, nginx) = answer(around, served).await;
        let ending = Arc::new(AtomicBool::new(false));
        let (its, others, is_over) =
            (own.in_namespace(NAMESPACE), around.objects.in_namespace("default"), Arc::clone(&ending));
        // It goes on while the test waits for a command.
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(roll_out(its, others, address, &is_over));
        });
        for name in INGRESSES {
            around.objects.until_published(name, &[address]).await;
        }
        own.apply(webhook()).await;
        StandIn { address, own, ending, _daemon: daemon, nginx }
    }

    /// Clients of one host, who go where its status leads them.
    pub fn clients(&self, status: Arc<History<Vec<String>>>) -> Clients {
        Clients::start("cart.example", status, (self.address, PORT))
    }

    /// What `kubectl logs` would print.
    pub fn log(&self) -> String {
        std::fs::read_to_string(self.nginx.prefix().join("log/access.log")).unwrap()
    }

    /// Waits until no pod of it is there.
    pub async fn until_off(&self) {
        let pods = async || self.own.list("Pod").await.len();
        wait::until_right("the pods of the controller", pods, |count| *count == 0).await;
    }
}

impl Drop for StandIn {
    fn drop(&mut self) {
        self.ending.store(true, Ordering::Relaxed);
    }
}

/// Stands in for the controller of Deployments: with other flags it starts a new pod before it
/// ends the old one, and with no replicas it ends all.
async fn roll_out(own: Objects, served: Objects, address: &'static str, is_over: &AtomicBool) {
    let (mut pod, mut number) = (None::<Controller>, 0);
    while !is_over.load(Ordering::Relaxed) {
        let deployment = own.get("Deployment", NAME).await;
        let generation = &deployment["metadata"]["generation"];
        if deployment["status"]["observedGeneration"] != *generation {
            let wanted = deployment["spec"]["replicas"].as_u64().unwrap_or(1);
            let mut next = None;
            if wanted > 0 {
                number += 1;
                let name = format!("controller-{number}");
                next = Some(Controller::start_for(&own, &served, &name, address).await);
            }
            if let Some(old) = std::mem::replace(&mut pod, next) {
                old.stop().await;
            }
            let status = json!({
                "observedGeneration": generation, "replicas": wanted, "updatedReplicas": wanted,
                "readyReplicas": wanted, "availableReplicas": wanted,
            });
            own.set_status("Deployment", NAME, status).await;
        }
        sleep(PAUSE).await;
    }
}

/// Ingresses, and what they need.
fn served() -> Vec<Value> {
    let of_class = |name: &str| ingress(name).class("nginx").host(&format!("{name}.example"), "web");
    let shop = of_class("shop").tls(&["shop.example"], "shop-tls").annotation("proxy-read-timeout", "120");
    let tools = of_class("tools").annotation("app-root", "/app").annotation("enable-cors", "true");
    let admin = of_class("admin").annotation("auth-type", "basic").annotation("auth-secret", "users");
    let users = secret("users", "Opaque", &[("auth", "nobody:$apr1$......$9R2Ty9mVKkmJ7TyKsnNEK.\n")]);
    let mut served = Vec::from(service_at("web", &["10.244.0.9"], 8081));
    served.extend([tls_secret("shop-tls", &["shop.example"]), users]);
    served.extend([shop, of_class("cart"), tools, admin].map(Value::from));
    served
}

/// Starts what answers as the controller does: another ingressd, with the same objects in a
/// folder, of which the cluster knows nothing.
async fn answer(around: &Surroundings, served: Vec<Value>) -> (Daemon, Nginx) {
    let folder = around.folder().join("controller");
    std::fs::create_dir(&folder).unwrap();
    open_to_all(&folder);
    let nginx = Nginx::prepare(&folder.join("nginx"));
    nginx.write_site("backend", BACKEND);
    let manifests = Manifests::new(&folder.join("manifests"));
    manifests.write("served.yaml", &served);
    manifests.write("classes.yaml", &classes());
    manifests.write("settings.yaml", &[in_namespace(NAMESPACE, config_map())]);
    let mut daemon = Daemon::prepare(&folder, &nginx, Source::from(&manifests));
    daemon.set("ingress-nginx.configmap", &format!("{NAMESPACE}/{NAME}"));
    nginx.start();
    daemon.start();
    daemon.ready().await;
    (daemon, nginx)
}

fn config_map() -> Value {
    let data = json!({ "proxy-body-size": "8m", "hsts-max-age": "3600" });
    json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": NAME }, "data": data })
}

fn service() -> Value {
    let ports = json!([{ "name": "http", "port": 80, "targetPort": "http" }, { "name": "https", "port": 443, "targetPort": "https" }]);
    let spec = json!({ "type": "LoadBalancer", "selector": { "app": NAME }, "ports": ports });
    json!({ "apiVersion": "v1", "kind": "Service", "metadata": { "name": NAME }, "spec": spec })
}

fn deployment() -> Value {
    let labels = json!({ "app": NAME });
    let container = json!({
        "name": "controller", "image": "registry.k8s.io/ingress-nginx/controller:v1.12.1",
        "args": [
            "/nginx-ingress-controller",
            "--publish-service=$(POD_NAMESPACE)/ingress-nginx-controller",
            "--election-id=ingress-nginx-leader",
            "--controller-class=k8s.io/ingress-nginx",
            "--ingress-class=nginx",
            "--configmap=$(POD_NAMESPACE)/ingress-nginx-controller",
            "--validating-webhook=:8443",
            "--validating-webhook-certificate=/usr/local/certificates/cert",
            "--validating-webhook-key=/usr/local/certificates/key",
        ],
        "env": [{ "name": "POD_NAMESPACE", "valueFrom": { "fieldRef": { "fieldPath": "metadata.namespace" } } }],
    });
    let template = json!({ "metadata": { "labels": labels }, "spec": { "containers": [container] } });
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": { "name": NAME },
        "spec": { "selector": { "matchLabels": labels }, "template": template },
    })
}

/// The admission webhook of the controller. No pod answers it.
fn webhook() -> Value {
    let service = json!({ "namespace": NAMESPACE, "name": "ingress-nginx-controller-admission", "path": "/networking/v1/ingresses" });
    json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
        "metadata": { "name": "ingress-nginx-admission" },
        "webhooks": [{
            "name": "validate.nginx.ingress.kubernetes.io", "matchPolicy": "Equivalent", "failurePolicy": "Fail", "sideEffects": "None",
            "admissionReviewVersions": ["v1"], "clientConfig": { "service": service },
            "rules": [{
                "apiGroups": ["networking.k8s.io"], "apiVersions": ["v1"], "operations": ["CREATE", "UPDATE"], "resources": ["ingresses"],
            }],
        }],
    })
}
