//! The keys of the section `publish`.

use std::sync::Arc;
use std::time::Duration;

use config::Value;

use super::table::{SettingRow, row};
use super::value::{Setting as _, count, put};
use ingressd_model::{is_label, is_subdomain};
use ingressd_translate::Scope;

/// The shortest duration of a Lease: a renewal must be able to fail once.
const SHORTEST_LEASE: Duration = Duration::from_secs(3);

/// Its keys.
pub const ROWS: &[SettingRow] = &[
    row!("publish.mode", Scope::Node, r#""nodes""#, publish.mode)
        .doc("Which addresses are written into the status of Ingresses. `nodes`: the addresses of all nodes that serve the object, as `publish.addresses` of each node has them. `fixed`: the same addresses whichever node serves the object, as for an address that moves between the nodes (keepalived) or that all nodes announce (BGP); `publish.addresses` has to be equal on all nodes. `service`: the addresses of the Service in `publish.service`. In each mode an object has an address only while a node serves it."),
    row!("publish.addresses", Scope::Node, r#"["auto"]"#, publish.addresses)
        .doc("Where clients reach this node, by at most 16 entries: an IP address; a host name; `auto` for the source addresses of the default routes, one for each address family; `interface:NAME` for all permanent addresses of an interface that is up; `node:InternalIP` or `node:ExternalIP` for addresses of this host's Node object. The daemon follows changes. Addresses that other machines cannot use (loopback, link-local, unspecified, multicast, reserved) are refused, and so are addresses of this host on which nginx does not listen (`listen.addresses`). With the mode `fixed` only IP addresses and host names are allowed; with `service` the setting is not used."),
    row!("publish.service", Scope::Node, r#""""#, publish.service, |service, value| {
        put(service, value)?;
        match service.as_ref().filter(|(namespace, name)| !is_label(namespace) || !is_label(name)) {
            Some((namespace, name)) => Err(format!("{namespace}/{name} is no name of a Service")),
            None => Ok(()),
        }
    })
        .doc("Service, as namespace/name, whose addresses are published with the mode `service`: those in its status and its `externalIPs`. The daemon follows changes. The Service need not be in a namespace that is served."),
    row!("publish.node-object", Scope::Node, r#""""#, publish.node_object, |node, value| {
        put(node, value)?;
        match node.as_ref().filter(|name| !is_subdomain(name)) {
            Some(name) => Err(format!("{name:?} is no name of a Node")),
            None => Ok(()),
        }
    })
        .doc("Name of the Node object of this host, for `node:InternalIP` and `node:ExternalIP` among the addresses. Empty takes the name of this node (`publish.node`) in lower case."),
    row!("publish.node", Scope::Node, r#""""#, publish.node)
        .doc("Name of this node in Leases and Events. Empty takes the host name."),
    row!("publish.status", Scope::Node, "true", publish.status)
        .doc("Whether this node writes addresses into the status of Ingresses. With false it still has a Lease, and writes no status when it is the leader."),
    row!("publish.hold", Scope::Node, "false", publish.hold)
        .doc("Whether addresses are held back until `ingressd migrate take-over`, as while another controller still serves the same Ingresses. The node serves and has its Lease as usual. The last run of that command, or of its `--undo`, overrides this setting on all nodes of the group."),
    row!("publish.events", Scope::Node, "true", publish.events)
        .doc("Whether Events are written about findings of objects, and when nginx serves a version of an object."),
    row!("publish.namespace", Scope::Node, r#""ingressd""#, publish.namespace, name)
        .doc("Namespace of the Leases. It must exist, and the credentials must allow Leases in it."),
    row!("publish.lease", Scope::Node, r#""ingressd""#, publish.lease, name)
        .doc("Name of the Lease that the leader holds. Nodes with the same name are one group, whose addresses are published together. Give nodes that serve other classes or namespaces another name."),
    row!("publish.lease-duration", Scope::Node, r#""15s""#, publish.lease_duration, |time, value| {
        put(time, value)?;
        match *time < SHORTEST_LEASE || time.subsec_nanos() != 0 {
            true => Err("it takes at least 3 s, in whole seconds".to_owned()),
            false => Ok(()),
        }
    })
        .doc("How long a node counts as alive, and as the leader, without renewing its Lease; at least 3 s, in whole seconds. Nodes renew their Leases three times in this time."),
    row!("publish.grace-period", Scope::Node, r#""5m""#, publish.grace, |time, value| {
        put(time, value)?;
        match time.subsec_nanos() {
            0 => Ok(()),
            _ => Err("it takes whole seconds".to_owned()),
        }
    })
        .doc("How long the addresses of this node stay published after the daemon was stopped, in whole seconds, because nginx goes on serving, for example during an upgrade. With `0s` they are withdrawn at the stop. To take the node out of service, use `ingressd drain`."),
    row!("publish.status-rate", Scope::Node, "20", publish.status_rate, count)
        .doc("Writes of statuses in a second. The limit does not apply when addresses are withdrawn and restored: that is done as fast as the API server answers."),
    row!("publish.status-burst", Scope::Node, "50", publish.status_burst, count)
        .doc("Writes of statuses at once after a time without writes."),
    row!("publish.event-rate", Scope::Node, "10", publish.event_rate, count).doc("Events in a second."),
    row!("publish.event-burst", Scope::Node, "50", publish.event_burst, count)
        .doc("Events at once after a time without Events."),
    row!("publish.documentation", Scope::Node, r#""auto""#, publish.documentation)
        .doc("Base of the links in Events, for readers without access to a node: the URL below which the pages of this documentation are, such as `https://docs.example/ingressd/`. The page and its anchor are appended: `findings.md#missingservice`. `auto` is the folder of this version in the repository that ingressd was built from. With an empty value, or where the build names no repository, Events have no link. Each has its remedy without one."),
];

fn name(slot: &mut Arc<str>, value: &Value) -> Result<(), String> {
    let name = String::read(value)?;
    if !is_label(&name) {
        return Err(format!("{name:?} is not a name of lower-case letters, digits and hyphens"));
    }
    *slot = name.into();
    Ok(())
}
