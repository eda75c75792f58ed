//! Lists once what a user may read of the objects that decide what is served. It must not know
//! what they mean.

use std::collections::BTreeSet;

use serde_json::Value;

use super::administrator::{Administrator, AdministratorError};
use super::inventory::{CONFIG_MAP, INGRESS, INGRESS_CLASS, Listed, NAMESPACE, SERVICE};

const ENDPOINT_SLICE: Listed = ("discovery.k8s.io", "v1", "EndpointSlice", "endpointslices");

/// The resource of which only names are read.
const SECRETS: &str = "secrets";

/// What a user may read.
#[derive(Debug, Clone, Default)]
pub struct Readable {
    /// The objects, with kind and version. Secrets have no data.
    pub objects: Vec<Value>,
    /// The namespace that was read, where the user may not read Ingresses and Services of all.
    pub namespace: Option<String>,
    /// The objects that were asked for by name and that the user may not read.
    pub unread_objects: Vec<String>,
    /// The resources that the user may not read there.
    unread: BTreeSet<&'static str>,
}

impl Readable {
    /// Whether nothing is known of a resource, such as `services`.
    pub fn is_unread(&self, resource: &str) -> bool {
        self.unread.contains(resource)
    }

    /// The resources that the user may not read.
    pub fn unread(&self) -> impl Iterator<Item = &'static str> {
        self.unread.iter().copied()
    }

    fn add(&mut self, resource: &'static str, listed: Listing) -> Result<(), AdministratorError> {
        match allowed(listed)? {
            Some(objects) => self.objects.extend(objects),
            None => drop(self.unread.insert(resource)),
        }
        Ok(())
    }
}

type Listing = Result<Vec<Value>, AdministratorError>;

/// What was listed; `None` where the user lacks the right.
fn allowed(listed: Listing) -> Result<Option<Vec<Value>>, AdministratorError> {
    match listed {
        Ok(objects) => Ok(Some(objects)),
        Err(AdministratorError::Api { code: Some(403), .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

impl Administrator {
    /// Lists what this user may read of all that decides what is served: of all namespaces, or
    /// where that is not allowed of this one and the ConfigMaps that are named as namespace and
    /// name.
    ///
    /// # Errors
    ///
    /// When the API server cannot be asked. A right that the user lacks is none.
    pub async fn readable(
        &self,
        namespace: &str,
        config_maps: &[(&str, &str)],
    ) -> Result<Readable, AdministratorError> {
        let mut read = Readable::default();
        for kind in [INGRESS_CLASS, NAMESPACE] {
            read.add(kind.3, self.list(&kind, None).await)?;
        }
        let global = [allowed(self.list(&INGRESS, None).await)?, allowed(self.list(&SERVICE, None).await)?];
        if let [Some(ingresses), Some(services)] = global {
            read.objects.extend(ingresses.into_iter().chain(services));
        } else {
            read.namespace = Some(namespace.to_owned());
            for kind in [INGRESS, SERVICE] {
                read.add(kind.3, self.list(&kind, Some(namespace)).await)?;
            }
        }
        let scope = read.namespace.clone();
        for kind in [ENDPOINT_SLICE, CONFIG_MAP] {
            read.add(kind.3, self.list(&kind, scope.as_deref()).await)?;
        }
        read.add(SECRETS, self.names_of_secrets(scope.as_deref()).await)?;
        let is_listed = |of: &str| scope.as_deref().is_none_or(|scope| scope == of) && !read.is_unread(CONFIG_MAP.3);
        let others: Vec<_> = config_maps.iter().filter(|(of, _)| !is_listed(of)).collect();
        for (of, name) in others {
            match allowed(self.get(&CONFIG_MAP, of, name).await)? {
                Some(objects) => read.objects.extend(objects),
                None => read.unread_objects.push(format!("ConfigMap {of}/{name}")),
            }
        }
        Ok(read)
    }
}
