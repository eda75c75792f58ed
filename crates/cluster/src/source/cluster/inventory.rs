//! Lists the objects that a migration is judged by, once, with the rights of an administrator. Of
//! Secrets it requests the names only.

use k8s_openapi::api::core::v1::Secret;
use kube::api::{ApiResource, DynamicObject, GroupVersionKind, ListParams};
use kube::core::Request;
use kube::{Api, Resource as _};
use serde_json::{Value, json};

use super::administrator::{Administrator, AdministratorError, failure};
use super::depth;

/// The number of objects on a page of a list.
const PAGE: u32 = 500;

/// Group, version, kind and the name of the resource.
pub(super) type Listed = (&'static str, &'static str, &'static str, &'static str);

pub(super) const CONFIG_MAP: Listed = ("", "v1", "ConfigMap", "configmaps");
pub(super) const INGRESS: Listed = ("networking.k8s.io", "v1", "Ingress", "ingresses");
pub(super) const INGRESS_CLASS: Listed = ("networking.k8s.io", "v1", "IngressClass", "ingressclasses");
pub(super) const NAMESPACE: Listed = ("", "v1", "Namespace", "namespaces");
pub(super) const SERVICE: Listed = ("", "v1", "Service", "services");

/// Kinds that say to which controller Ingresses belong, and that run the controller.
const WHO_SERVES: &[Listed] = &[
    INGRESS_CLASS,
    INGRESS,
    ("apps", "v1", "Deployment", "deployments"),
    ("apps", "v1", "DaemonSet", "daemonsets"),
    NAMESPACE,
];

/// Further kinds that influence what is served.
const WHAT_IS_SERVED: &[Listed] = &[CONFIG_MAP, SERVICE];

/// Which objects are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    /// What says to which controller Ingresses belong, and what runs it.
    WhoServes,
    /// That, and what influences what is served.
    WhatIsServed,
}

impl Extent {
    /// The names of the resources, as kubectl takes them. Of Secrets only the names are read.
    pub fn resources(self) -> String {
        let more = if self == Extent::WhatIsServed { WHAT_IS_SERVED } else { &[] };
        WHO_SERVES.iter().chain(more).map(|(.., resource)| *resource).collect::<Vec<_>>().join(",")
    }
}

impl Administrator {
    /// Lists the objects of all namespaces that a migration is judged by.
    ///
    /// # Errors
    ///
    /// The error of the API server.
    pub async fn inventory(&self) -> Result<Vec<Value>, AdministratorError> {
        let mut objects = self.who_serves().await?;
        for kind in WHAT_IS_SERVED {
            objects.extend(self.list(kind, None).await?);
        }
        objects.extend(self.names_of_secrets(None).await?);
        Ok(objects)
    }

    /// Lists the objects of all namespaces that say to which controller Ingresses belong, and that
    /// run the controller.
    ///
    /// # Errors
    ///
    /// The error of the API server.
    pub async fn who_serves(&self) -> Result<Vec<Value>, AdministratorError> {
        let mut objects = Vec::new();
        for kind in WHO_SERVES {
            objects.extend(self.list(kind, None).await?);
        }
        Ok(objects)
    }

    /// Lists the Ingresses of all namespaces.
    ///
    /// # Errors
    ///
    /// The error of the API server.
    pub async fn ingresses(&self) -> Result<Vec<Value>, AdministratorError> {
        self.list(&INGRESS, None).await
    }

    /// Lists the objects of a kind, in this namespace or in all.
    pub(super) async fn list(
        &self,
        (group, version, kind, _): &Listed,
        namespace: Option<&str>,
    ) -> Result<Vec<Value>, AdministratorError> {
        let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind));
        let url = DynamicObject::url_path(&resource, namespace);
        let mut parameters = ListParams::default().limit(PAGE);
        let mut objects = Vec::new();
        loop {
            let request = Request::new(&url).list(&parameters).map_err(kube::Error::BuildRequest);
            let page = async {
                let text = self.client.request_text(request?).await?;
                depth::read::<Value>(&text).map_err(kube::Error::SerdeError)
            };
            let mut page = page.await.map_err(|error| failure(format!("{kind} objects cannot be listed"), &error))?;
            if let Value::Array(items) = page["items"].take() {
                objects.extend(items.into_iter().filter(Value::is_object).map(|mut object| {
                    object["apiVersion"] = json!(resource.api_version);
                    object["kind"] = json!(kind);
                    object
                }));
            }
            match page["metadata"]["continue"].as_str().filter(|next| !next.is_empty()) {
                Some(next) => parameters = parameters.continue_token(next),
                None => return Ok(objects),
            }
        }
    }

    /// Reads one object; none where it does not exist.
    pub(super) async fn get(
        &self,
        (group, version, kind, _): &Listed,
        namespace: &str,
        name: &str,
    ) -> Result<Vec<Value>, AdministratorError> {
        let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind));
        let api: Api<DynamicObject> = Api::namespaced_with(self.client.clone(), namespace, &resource);
        let found = api.get_opt(name).await;
        let found = found.map_err(|error| failure(format!("{kind} {namespace}/{name} cannot be read"), &error))?;
        Ok(found.and_then(|object| serde_json::to_value(object).ok()).into_iter().collect())
    }

    /// Lists the names of Secrets, without their data, in this namespace or in all.
    pub(super) async fn names_of_secrets(&self, namespace: Option<&str>) -> Result<Vec<Value>, AdministratorError> {
        let api = match namespace {
            Some(namespace) => Api::<Secret>::namespaced(self.client.clone(), namespace),
            None => Api::all(self.client.clone()),
        };
        let mut parameters = ListParams::default().limit(PAGE);
        let mut names = Vec::new();
        loop {
            let page = api.list_metadata(&parameters).await;
            let page = page.map_err(|error| failure("names of Secrets cannot be listed".to_owned(), &error))?;
            names.extend(page.items.iter().map(|secret| {
                let (namespace, name) = (&secret.metadata.namespace, &secret.metadata.name);
                json!({ "apiVersion": "v1", "kind": "Secret", "metadata": { "namespace": namespace, "name": name } })
            }));
            match page.metadata.continue_.filter(|next| !next.is_empty()) {
                Some(next) => parameters = parameters.continue_token(&next),
                None => return Ok(names),
            }
        }
    }
}
