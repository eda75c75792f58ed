//! The rights that publishing needs, apart from those for statuses, which the table of kinds has.

use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::events::v1::Event;

use ingressd_objects::Permission;

/// For the namespace of the Leases.
pub const LEASES: Permission = Permission::of::<Lease>(
    &["get", "list", "watch", "create", "update"],
    "which node is the leader, and which nodes \
                                                                            exist",
);

/// For all namespaces that are served.
pub const EVENTS: Permission =
    Permission::of::<Event>(&["create"], "Events about objects; not needed with publish.events = false");
