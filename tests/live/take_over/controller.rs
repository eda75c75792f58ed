//! A program that writes statuses as the controller of ingress-nginx does, as the flags of its
//! Deployment say.

use std::time::Duration;

use kube::api::{DynamicObject, ListParams, PostParams};
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::interval;

use rig::cluster::history::addresses;
use rig::cluster::objects::Objects;

/// The Deployment that it belongs to.
pub const NAME: &str = "ingress-nginx-controller";

/// The field manager of the controller.
pub const MANAGER: &str = "nginx-ingress-controller";

/// How often it compares; the controller does it every minute.
const PERIOD: Duration = Duration::from_millis(100);

/// A pod of the controller, which leads if any does.
pub struct Controller {
    objects: Objects,
    served: Objects,
    pod: String,
    flags: Vec<String>,
    stop: watch::Sender<bool>,
    task: JoinHandle<()>,
}

impl Controller {
    /// Starts a pod of this name, with the flags that the Deployment has now, which publishes this
    /// address in Ingresses of its own namespace.
    pub async fn start(objects: &Objects, pod: &str, address: &'static str) -> Self {
        Controller::start_for(objects, objects, pod, address).await
    }

    /// The same for Ingresses of another namespace.
    pub async fn start_for(objects: &Objects, served: &Objects, pod: &str, address: &'static str) -> Self {
        let objects = objects.in_namespace(objects.namespace());
        let deployment = objects.get("Deployment", NAME).await;
        let arguments = &deployment["spec"]["template"]["spec"]["containers"][0]["args"];
        let flags: Vec<_> =
            arguments.as_array().unwrap().iter().map(|word| word.as_str().unwrap().to_owned()).collect();
        objects
            .apply(json!({
                "apiVersion": "v1", "kind": "Pod", "metadata": {"name": pod, "labels": {"app": NAME}},
                "spec": {"nodeName": objects.node(), "terminationGracePeriodSeconds": 0,
                         "containers": [{"name": "controller", "image": "none"}]}
            }))
            .await;
        let (stop, stopped) = watch::channel(false);
        let (own, writes) = (served.in_namespace(served.namespace()), is_on(&flags, "update-status"));
        let task = tokio::spawn(async move {
            if writes {
                sync(&own, address, stopped).await;
            }
        });
        let served = served.in_namespace(served.namespace());
        Controller { objects, served, pod: pod.to_owned(), flags, stop, task }
    }

    /// Asks it to end, and waits until it has. The last pod takes its only address with it, unless
    /// it was told not to.
    pub async fn stop(self) {
        self.stop.send_replace(true);
        self.task.await.unwrap();
        let pods = self.objects.list("Pod").await;
        let pods = pods.iter().filter(|pod| pod["metadata"]["labels"]["app"] == NAME).count();
        if is_on(&self.flags, "update-status") && is_on(&self.flags, "update-status-on-shutdown") && pods <= 1 {
            write(&self.served, &json!([])).await;
        }
        self.objects.delete("Pod", &self.pod).await;
        self.objects.gone("Pod", &self.pod).await;
    }

    /// Ends it at once, as when its node dies.
    pub async fn crash(self) {
        self.task.abort();
        let _ = self.task.await;
        self.objects.delete("Pod", &self.pod).await;
    }
}

/// Both are on unless a flag says otherwise; the last one counts.
fn is_on(flags: &[String], name: &str) -> bool {
    !flags
        .iter()
        .rev()
        .find(|flag| flag.starts_with(&format!("--{name}=")))
        .is_some_and(|flag| flag.ends_with("=false"))
}

async fn sync(objects: &Objects, address: &str, mut stopped: watch::Receiver<bool>) {
    let mut ticks = interval(PERIOD);
    loop {
        tokio::select! {
            _ = ticks.tick() => write(objects, &json!([{ "ip": address }])).await,
            () = asked(&mut stopped) => return,
        }
    }
}

async fn asked(stopped: &mut watch::Receiver<bool>) {
    let _ = stopped.wait_for(|stopped| *stopped).await;
}

/// Writes where something else stands, over the version that it reads then.
async fn write(objects: &Objects, addresses_of_pods: &Value) {
    let api = objects.api("Ingress");
    let wanted = addresses(&json!({ "status": { "loadBalancer": { "ingress": addresses_of_pods } } }));
    let class = objects.class("nginx");
    for ingress in api.list(&ListParams::default()).await.unwrap().items {
        let is_ours = |ingress: &Value| {
            let legacy = &ingress["metadata"]["annotations"]["kubernetes.io/ingress.class"];
            ingress["spec"]["ingressClassName"] == class || legacy == "nginx"
        };
        let listed = serde_json::to_value(&ingress).unwrap();
        if !is_ours(&listed) || addresses(&listed) == wanted {
            continue;
        }
        let Ok(Some(mut current)) = api.get_opt(&ingress.metadata.name.unwrap()).await else { continue };
        current.data["status"] = json!({ "loadBalancer": { "ingress": addresses_of_pods } });
        let parameters = PostParams { field_manager: Some(MANAGER.to_owned()), ..PostParams::default() };
        let name = current.metadata.name.clone().unwrap();
        // A conflict is left to the next time.
        let _: Result<DynamicObject, _> = api.replace_status(&name, &parameters, &current).await;
    }
}
