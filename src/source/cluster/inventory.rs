//! Lists what a migration is judged by, once, with the rights of an administrator; of Secrets it asks for names alone.

use k8s_openapi::api::core::v1::Secret;
use kube::Api;
use kube::api::{ApiResource, DynamicObject, GroupVersionKind, ListParams};
use serde_json::{Value, json};

use super::administrator::{Administrator, AdministratorError, failure};

/// How many objects are asked for at once.
const PAGE: u32 = 500;

/// Group, version and kind of what is listed.
const KINDS: &[(&str, &str, &str)] = &[
    ("networking.k8s.io", "v1", "IngressClass"),
    ("networking.k8s.io", "v1", "Ingress"),
    ("apps", "v1", "Deployment"),
    ("apps", "v1", "DaemonSet"),
    ("", "v1", "ConfigMap"),
    ("", "v1", "Service"),
    ("", "v1", "Namespace"),
];

impl Administrator {
    /// The objects of all namespaces that a migration is judged by.
    ///
    /// # Errors
    ///
    /// What the API server says.
    pub async fn inventory(&self) -> Result<Vec<Value>, AdministratorError> {
        let mut objects = Vec::new();
        for (group, version, kind) in KINDS {
            let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind));
            let api = Api::<DynamicObject>::all_with(self.client.clone(), &resource);
            let mut parameters = ListParams::default().limit(PAGE);
            loop {
                let page = api.list(&parameters).await;
                let page = page.map_err(|error| failure(format!("{kind} objects cannot be listed"), &error))?;
                objects.extend(page.items.iter().filter_map(|object| {
                    let mut value = serde_json::to_value(object).ok()?;
                    value["apiVersion"] = json!(resource.api_version);
                    value["kind"] = json!(kind);
                    Some(value)
                }));
                let Some(next) = page.metadata.continue_.filter(|next| !next.is_empty()) else { break };
                parameters = parameters.continue_token(&next);
            }
        }
        objects.extend(self.names_of_secrets().await?);
        Ok(objects)
    }

    /// Secrets without what is in them.
    async fn names_of_secrets(&self) -> Result<Vec<Value>, AdministratorError> {
        let api = Api::<Secret>::all(self.client.clone());
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
