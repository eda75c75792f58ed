//! The rights that publishing needs, apart from those for statuses, which the table of kinds has.

use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::events::v1::Event;

use crate::source::Permission;

/// For the namespace of the Leases.
pub const LEASES: Permission =
    Permission::of::<Lease>(&["get", "list", "watch", "create", "update"], "who leads and which nodes are there");

/// For all namespaces that are served.
pub const EVENTS: Permission =
    Permission::of::<Event>(&["create"], "what is wrong with objects; may be left out with publish.events = false");
