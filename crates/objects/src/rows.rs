//! The types of the rows in the table of kinds, under the names of their kinds.

pub use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Node, Secret, Service};
pub use k8s_openapi::api::discovery::v1::EndpointSlice;
pub use k8s_openapi::api::networking::v1::{Ingress, IngressClass};
