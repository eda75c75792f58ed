//! The API server double with the objects of these tests.

use std::ops::Deref;

use k8s_openapi::api::core::v1::Service;
use k8s_openapi::api::events::v1::Event;
use k8s_openapi::api::networking::v1::Ingress;
use serde_json::json;

pub use crate::source::cluster::double::{Availability, Double, Refusal};

/// The double; clones are the same one.
#[derive(Clone, Default)]
pub struct FakeApi(Double);

impl Deref for FakeApi {
    type Target = Double;

    fn deref(&self) -> &Double {
        &self.0
    }
}

impl FakeApi {
    /// Creates an Ingress, as a user would.
    pub fn add_ingress(&self, name: &str) {
        let created = jiff::Timestamp::from_second(self.version() as i64).unwrap().to_string();
        let uid = format!("uid-{name}");
        let metadata = json!({ "namespace": "shop", "name": name, "uid": uid, "creationTimestamp": created });
        let kind = json!({ "apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "metadata": metadata });
        self.put("ingresses", kind);
    }

    /// Sets the address of an Ingress, as another controller would.
    pub fn overwrite(&self, name: &str, address: &str) {
        let status = json!({ "loadBalancer": { "ingress": [{ "ip": address }] } });
        self.edit("ingresses", "shop", name, |object| object["status"] = status);
    }

    /// Changes the content of an Ingress, as a user would.
    pub fn change(&self, name: &str, content: &str) {
        let annotations = json!({ "content": content });
        self.edit("ingresses", "shop", name, |object| object["metadata"]["annotations"] = annotations);
    }

    /// All Ingresses.
    pub fn ingresses(&self) -> Vec<Ingress> {
        self.objects("ingresses", "shop")
    }

    /// All Services.
    pub fn services(&self) -> Vec<Service> {
        self.objects("services", "shop")
    }

    /// The Service of this name.
    pub fn service(&self, name: &str) -> Service {
        self.services().into_iter().find(|service| service.metadata.name.as_deref() == Some(name)).unwrap()
    }

    /// All Events about objects of one namespace.
    pub fn events(&self) -> Vec<Event> {
        self.objects("events", "shop")
    }
}
