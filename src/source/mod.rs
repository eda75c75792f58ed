//! Reads the cluster or manifests, as sorted, immutable snapshots. It must not know what the
//! objects mean.

pub mod cluster;
mod collection;
pub mod directory;
mod document;
mod endpoints;
mod fields;
mod file;
mod identity;
mod ingress;
mod inventory;
mod kind;
mod list;
mod manifest;
mod namespace;
pub mod place;
mod selector;
mod service;
mod snapshot;
mod string_map;
mod unread;
mod validation;
mod watch;
pub mod yaml;

pub use directory::{Directory, NeverRead};
pub use endpoints::{Condition, Endpoint, EndpointPort, Endpoints, Family};
pub use ingress::{Ingress, IngressBackend, IngressPath, IngressRule, IngressTls};
pub use inventory::{Container, Inventory, Workload};
pub use kind::{Permission, Row};
pub use list::List;
pub use namespace::Namespace;
pub use selector::{LabelCondition, Selector};
pub use service::{Service, ServicePort, TargetPort};
pub use snapshot::{LeftOut, Published, Snapshot, SourceFile, SourceLocation, Stored, Version};
pub use string_map::StringMap;
pub use watch::{DirectorySource, WatchError};
