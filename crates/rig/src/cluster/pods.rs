//! Pods as objects without containers, whose status the test writes; the real controllers make
//! EndpointSlices of them.

use std::collections::BTreeSet;
use std::net::IpAddr;

use serde_json::{Value, json};

use super::objects::Objects;
use crate::client::get;
use crate::manifests::ingress;
use crate::{ECHO, wait};

impl Objects {
    /// Writes a Service in front of ready pods at these addresses, and waits until its slices name
    /// them.
    pub async fn serve(&self, service: &str, addresses: &[&str]) {
        self.apply(json!({
            "apiVersion": "v1", "kind": "Service", "metadata": {"name": service},
            "spec": {"selector": {"app": service}, "ports": [{"name": "http", "port": 80, "targetPort": ECHO}]}
        }))
        .await;
        self.set_pods(service, addresses).await;
    }

    /// Writes the Service `web` and the Ingress `shop` in front of it.
    pub async fn serve_shop(&self) {
        self.serve("web", &["10.244.0.1"]).await;
        self.apply(ingress("shop").host("shop.example", "web")).await;
    }

    /// Adds a host of the Service `web`, and waits until it is served.
    pub async fn add_host(&self, name: &str) {
        let host = format!("{name}.example");
        self.apply(ingress(name).host(&host, "web")).await;
        get(&format!("http://{host}/")).send_until(&host, |reply| reply.status == 200).await;
    }

    /// Makes these the addresses of a Service's pods, and waits until its slices name them and no
    /// others. Old pods go when the new ones are there, as in an update of a Deployment.
    pub async fn set_pods(&self, service: &str, addresses: &[&str]) {
        for address in addresses {
            self.add_pod(service, address).await;
        }
        let named = |ready: &BTreeSet<_>| parsed(addresses).is_subset(ready);
        self.slices_when(service, named).await;
        let wanted: BTreeSet<_> = addresses.iter().map(|address| pod_name(service, address)).collect();
        for pod in self.list("Pod").await {
            let name = pod["metadata"]["name"].as_str().unwrap();
            if pod["metadata"]["labels"]["app"] == service && !wanted.contains(name) {
                self.delete("Pod", name).await;
            }
        }
        self.slices_are(service, addresses).await;
    }

    /// Adds a ready pod to a Service.
    pub async fn add_pod(&self, service: &str, address: &str) {
        let name = pod_name(service, address);
        self.apply(json!({
            "apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "labels": {"app": service}},
            // No kubelet is there to say that it has ended: it needs no time for that.
            "spec": {"nodeName": self.node(), "terminationGracePeriodSeconds": 0,
                     "containers": [{"name": "echo", "image": "none"}]}
        }))
        .await;
        self.set_pod_status(service, address, true).await;
    }

    /// Makes a pod ready or not.
    pub async fn set_pod_status(&self, service: &str, address: &str, ready: bool) {
        let ready = if ready { "True" } else { "False" };
        let status = json!({
            "phase": "Running", "podIP": address, "podIPs": [{"ip": address}],
            "conditions": [{"type": "Ready", "status": ready}]
        });
        self.set_status("Pod", &pod_name(service, address), status).await;
    }

    /// Waits until the slices of a Service name these addresses as ready, and no others.
    pub async fn slices_are(&self, service: &str, addresses: &[&str]) {
        self.slices_when(service, |ready| *ready == parsed(addresses)).await;
    }

    async fn slices_when(&self, service: &str, right: impl Fn(&BTreeSet<IpAddr>) -> bool) {
        let ready = async || ready_addresses(service, &self.list("EndpointSlice").await);
        wait::until_right(&format!("the slices of Service {service}"), ready, right).await;
    }
}

fn parsed(addresses: &[&str]) -> BTreeSet<IpAddr> {
    addresses.iter().map(|address| address.parse().unwrap()).collect()
}

fn ready_addresses(service: &str, slices: &[Value]) -> BTreeSet<IpAddr> {
    let of_service = slices.iter().filter(|slice| slice["metadata"]["labels"]["kubernetes.io/service-name"] == service);
    let endpoints = of_service.flat_map(|slice| slice["endpoints"].as_array().into_iter().flatten());
    let ready = endpoints.filter(|endpoint| endpoint["conditions"]["ready"] != false);
    let addresses = ready.flat_map(|endpoint| endpoint["addresses"].as_array().into_iter().flatten());
    addresses.map(|address| address.as_str().unwrap().parse().unwrap()).collect()
}

fn pod_name(service: &str, address: &str) -> String {
    format!("{service}-{}", address.replace(['.', ':'], "-"))
}
