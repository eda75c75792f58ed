//! What objects of Kubernetes are to us: the kinds, the parts of objects that are kept, snapshots,
//! and the manifests that objects are decoded from.

mod any_list;
mod collection;
pub mod directory;
mod document;
mod endpoints;
mod fields;
mod file;
pub mod identity;
mod ingress;
mod inventory;
mod kind;
mod list;
mod manifest;
mod namespace;
mod needs;
pub mod place;
pub mod rows;
mod secret;
mod selector;
mod service;
mod snapshot;
mod string_map;
mod unread;
mod validation;
pub mod yaml;

pub use ingressd_model::Version;

pub use any_list::{AnyList, Entry, Lists};
pub use directory::{Directory, NeverRead};
pub use endpoints::{Condition, Endpoint, EndpointPort, Endpoints, Family};
pub use ingress::{Ingress, IngressBackend, IngressPath, IngressRule, IngressTls};
pub use inventory::{CLUSTER, Container, Inventory, Workload};
pub use kind::{Kept, KindRow, Kinds, Lasting, Permission, ROWS, Row};
pub use list::List;
pub use namespace::Namespace;
pub use needs::Needs;
pub use secret::Secret;
pub use selector::{LabelCondition, Selector};
pub use service::{Service, ServicePort, TargetPort};
pub use snapshot::{LeftOut, Published, Snapshot, SourceFile, SourceLocation, Stored};
pub use string_map::StringMap;
pub use unread::DropUnread;
pub use validation::{Problem, Validate};
