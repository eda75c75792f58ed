//! The fields of a Namespace that are used, kept small because clusters have many.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1 as api;
use serde::{Deserialize, Serialize};

/// The used fields of a Namespace.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Namespace {
    pub uid: Option<Box<str>>,
    pub labels: BTreeMap<String, String>,
}

impl From<api::Namespace> for Namespace {
    fn from(namespace: api::Namespace) -> Self {
        let metadata = namespace.metadata;
        Namespace { uid: metadata.uid.map(Into::into), labels: metadata.labels.unwrap_or_default() }
    }
}
