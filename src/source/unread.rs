//! Leaves out of checked objects what nobody reads, because all of them stay in memory; it must not know who reads the rest.

use k8s_openapi::api::core::v1::{ConfigMap, Node, Secret, Service};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use k8s_openapi::api::networking::v1::{Ingress, IngressClass};

/// An object that holds more than is read. A map with a single key takes half a kilobyte.
pub trait DropUnread {
    /// Leaves out what is not read.
    fn drop_unread(&mut self) {}
}

impl DropUnread for IngressClass {}
impl DropUnread for EndpointSlice {}
impl DropUnread for Secret {}
impl DropUnread for ConfigMap {}
impl DropUnread for Node {}

impl DropUnread for Ingress {
    fn drop_unread(&mut self) {
        self.metadata.labels = None;
        self.status = None;
    }
}

impl DropUnread for Service {
    fn drop_unread(&mut self) {
        self.metadata.labels = None;
        if let Some(spec) = &mut self.spec {
            spec.selector = None;
        }
    }
}
