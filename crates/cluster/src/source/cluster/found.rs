//! An object from the API server, decoded or not.

use std::sync::Arc;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use k8s_openapi::{Metadata, Resource};
use serde::de::DeserializeOwned;
use serde_json::Value;

/// A kind of object with a Rust type.
pub trait Known:
    kube::Resource<DynamicType = ()> + Resource + Metadata<Ty = ObjectMeta> + DeserializeOwned + Send + Sync + 'static
{
}

impl<K> Known for K where
    K: kube::Resource<DynamicType = ()>
        + Resource
        + Metadata<Ty = ObjectMeta>
        + DeserializeOwned
        + Send
        + Sync
        + 'static
{
}

/// An object whose name is known even when the rest cannot be decoded.
#[derive(Debug)]
pub struct Found<K> {
    /// Its namespace, empty when it has none.
    pub namespace: String,
    pub name: String,
    /// Its `resourceVersion`.
    pub position: Option<String>,
    /// The object, or what is known of one that cannot be decoded.
    pub object: Result<K, Undecodable>,
}

/// An object that cannot be decoded.
#[derive(Debug)]
pub struct Undecodable {
    pub why: String,
    pub uid: Option<Arc<str>>,
    /// Its `status`, in any form.
    pub status: Option<Value>,
}

impl<K: Known> Found<K> {
    /// From a decoded object; `None` when it has no name.
    pub fn typed(object: K) -> Option<Self> {
        let metadata = Metadata::metadata(&object);
        Some(Found {
            namespace: metadata.namespace.clone().unwrap_or_default(),
            name: metadata.name.clone()?,
            position: metadata.resource_version.clone(),
            object: Ok(object),
        })
    }

    /// From any value in the place of an object; `None` when it has no name.
    pub fn of(value: Value) -> Option<Self> {
        let text = |pointer: &str| value.pointer(pointer).and_then(Value::as_str).map(str::to_owned);
        let name = text("/metadata/name")?;
        let (namespace, position) = (text("/metadata/namespace"), text("/metadata/resourceVersion"));
        let object = K::deserialize(&value).map_err(|error| Undecodable {
            why: error.to_string(),
            uid: text("/metadata/uid").map(Arc::from),
            status: value.get("status").cloned(),
        });
        Some(Found { namespace: namespace.unwrap_or_default(), name, position, object })
    }
}
