//! Leaves out of checked objects what nobody reads, because all of them stay in memory; it must not know who reads the rest.

use k8s_openapi::api::core::v1::{ConfigMap, Node, ObjectReference, Secret, Service};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use k8s_openapi::api::networking::v1::{Ingress, IngressClass};

/// The label of a slice that names its Service; the name of the slice says nothing.
pub const SERVICE_NAME: &str = "kubernetes.io/service-name";

/// An object that holds more than is read. A map with a single key takes half a kilobyte.
pub trait DropUnread {
    /// Leaves out what is not read.
    fn drop_unread(&mut self) {}
}

impl DropUnread for IngressClass {}
impl DropUnread for Secret {}
impl DropUnread for ConfigMap {}
impl DropUnread for Node {}

/// The elements of a list, which gives back the room it has for more: decoding leaves room for four, and an endpoint takes
/// a third of a kilobyte.
fn fit<T>(list: &mut Option<Vec<T>>) -> &mut [T] {
    let Some(list) = list else { return &mut [] };
    list.shrink_to_fit();
    list
}

impl DropUnread for Ingress {
    fn drop_unread(&mut self) {
        self.metadata.labels = None;
        self.status = None;
        let Some(spec) = &mut self.spec else { return };
        for tls in fit(&mut spec.tls) {
            fit(&mut tls.hosts);
        }
        for rule in fit(&mut spec.rules) {
            if let Some(http) = &mut rule.http {
                http.paths.shrink_to_fit();
            }
        }
    }
}

impl DropUnread for EndpointSlice {
    fn drop_unread(&mut self) {
        if let Some(labels) = self.metadata.labels.as_mut().filter(|labels| labels.len() > 1) {
            labels.retain(|key, _| key == SERVICE_NAME);
        }
        fit(&mut self.ports);
        for endpoint in fit(&mut self.endpoints) {
            endpoint.addresses.shrink_to_fit();
            if let Some(pod) = &mut endpoint.target_ref {
                let (kind, namespace, name) = (pod.kind.take(), pod.namespace.take(), pod.name.take());
                *pod = ObjectReference { kind, namespace, name, ..ObjectReference::default() };
            }
        }
    }
}

impl DropUnread for Service {
    fn drop_unread(&mut self) {
        self.metadata.labels = None;
        if let Some(spec) = &mut self.spec {
            spec.selector = None;
            fit(&mut spec.ports);
        }
    }
}
