//! The keys of the section `publish`.

use std::sync::Arc;
use std::time::Duration;

use config::Value;

use super::table::Row;
use super::value::{Form, Setting as _, put};
use ingressd_model::{is_label, is_subdomain};
use ingressd_translate::Scope;

/// The shortest duration of a Lease: a renewal must be able to fail once.
const SHORTEST_LEASE: Duration = Duration::from_secs(3);

/// Its keys.
pub const ROWS: &[Row] = &[
    Row {
        key: "publish.mode",
        scope: Scope::Node,
        form: Form::Text,
        default: r#""nodes""#,
        doc: "Which addresses are written into the status of Ingresses. `nodes`: the addresses of all nodes that serve the object, as `publish.addresses` of each node has them. `fixed`: the same addresses whichever node serves the object, as for an address that moves between the nodes (keepalived) or that all nodes announce (BGP); `publish.addresses` has to be equal on all nodes. `service`: the addresses of the Service in `publish.service`. In each mode an object has an address only while a node serves it.",
        set: |settings, value| put(&mut settings.publish.mode, value),
    },
    Row {
        key: "publish.addresses",
        scope: Scope::Node,
        form: Form::List,
        default: r#"["auto"]"#,
        doc: "Where clients reach this node, by at most 16 entries: an IP address; a host name; `auto` for the source addresses of the default routes, one for each address family; `interface:NAME` for all permanent addresses of an interface that is up; `node:InternalIP` or `node:ExternalIP` for addresses of this host's Node object. The daemon follows changes. Addresses that other machines cannot use (loopback, link-local, unspecified, multicast, reserved) are refused, and so are addresses of this host on which nginx does not listen (`listen.addresses`). With the mode `fixed` only IP addresses and host names are allowed; with `service` the setting is not used.",
        set: |settings, value| put(&mut settings.publish.addresses, value),
    },
    Row {
        key: "publish.service",
        scope: Scope::Node,
        form: Form::Text,
        default: r#""""#,
        doc: "Service, as namespace/name, whose addresses are published with the mode `service`: those in its status and its `externalIPs`. The daemon follows changes. The Service need not be in a namespace that is served.",
        set: |settings, value| {
            put(&mut settings.publish.service, value)?;
            let wrong = |(namespace, name): &(Arc<str>, Arc<str>)| !is_label(namespace) || !is_label(name);
            match settings.publish.service.as_ref().filter(|service| wrong(service)) {
                Some((namespace, name)) => Err(format!("{namespace}/{name} is no name of a Service")),
                None => Ok(()),
            }
        },
    },
    Row {
        key: "publish.node-object",
        scope: Scope::Node,
        form: Form::Text,
        default: r#""""#,
        doc: "Name of the Node object of this host, for `node:InternalIP` and `node:ExternalIP` among the addresses. Empty takes the name of this node (`publish.node`) in lower case.",
        set: |settings, value| {
            put(&mut settings.publish.node_object, value)?;
            match settings.publish.node_object.as_ref().filter(|name| !is_subdomain(name)) {
                Some(name) => Err(format!("{name:?} is no name of a Node")),
                None => Ok(()),
            }
        },
    },
    Row {
        key: "publish.node",
        scope: Scope::Node,
        form: Form::Text,
        default: r#""""#,
        doc: "Name of this node in Leases and Events. Empty takes the host name.",
        set: |settings, value| put(&mut settings.publish.node, value),
    },
    Row {
        key: "publish.status",
        scope: Scope::Node,
        form: Form::Boolean,
        default: "true",
        doc: "Whether this node writes addresses into the status of Ingresses. With false it still has a Lease, and writes no status when it is the leader.",
        set: |settings, value| put(&mut settings.publish.status, value),
    },
    Row {
        key: "publish.hold",
        scope: Scope::Node,
        form: Form::Boolean,
        default: "false",
        doc: "Whether addresses are held back until `ingressd migrate take-over`, as while another controller still serves the same Ingresses. The node serves and has its Lease as usual. The last run of that command, or of its `--undo`, overrides this setting on all nodes of the group.",
        set: |settings, value| put(&mut settings.publish.hold, value),
    },
    Row {
        key: "publish.events",
        scope: Scope::Node,
        form: Form::Boolean,
        default: "true",
        doc: "Whether Events are written about findings of objects, and when nginx serves a version of an object.",
        set: |settings, value| put(&mut settings.publish.events, value),
    },
    Row {
        key: "publish.namespace",
        scope: Scope::Node,
        form: Form::Text,
        default: r#""ingressd""#,
        doc: "Namespace of the Leases. It must exist, and the credentials must allow Leases in it.",
        set: |settings, value| name(&mut settings.publish.namespace, value),
    },
    Row {
        key: "publish.lease",
        scope: Scope::Node,
        form: Form::Text,
        default: r#""ingressd""#,
        doc: "Name of the Lease that the leader holds. Nodes with the same name are one group, whose addresses are published together. Give nodes that serve other classes or namespaces another name.",
        set: |settings, value| name(&mut settings.publish.lease, value),
    },
    Row {
        key: "publish.lease-duration",
        scope: Scope::Node,
        form: Form::Duration,
        default: r#""15s""#,
        doc: "How long a node counts as alive, and as the leader, without renewing its Lease; at least 3 s, in whole seconds. Nodes renew their Leases three times in this time.",
        set: |settings, value| {
            let duration = Duration::read(value)?;
            if duration < SHORTEST_LEASE || duration.subsec_nanos() != 0 {
                return Err("it takes at least 3 s, in whole seconds".to_owned());
            }
            settings.publish.lease_duration = duration;
            Ok(())
        },
    },
    Row {
        key: "publish.grace-period",
        scope: Scope::Node,
        form: Form::Duration,
        default: r#""5m""#,
        doc: "How long the addresses of this node stay published after the daemon was stopped, in whole seconds, because nginx goes on serving, for example during an upgrade. With `0s` they are withdrawn at the stop. To take the node out of service, use `ingressd drain`.",
        set: |settings, value| {
            let mut grace = Duration::ZERO;
            put(&mut grace, value)?;
            if grace.subsec_nanos() != 0 {
                return Err("it takes whole seconds".to_owned());
            }
            settings.publish.grace = grace;
            Ok(())
        },
    },
    Row {
        key: "publish.status-rate",
        scope: Scope::Node,
        form: Form::Number,
        default: "20",
        doc: "Writes of statuses in a second. The limit does not apply when addresses are withdrawn and restored: that is done as fast as the API server answers.",
        set: |settings, value| rate(&mut settings.publish.status_rate, value),
    },
    Row {
        key: "publish.status-burst",
        scope: Scope::Node,
        form: Form::Number,
        default: "50",
        doc: "Writes of statuses at once after a time without writes.",
        set: |settings, value| rate(&mut settings.publish.status_burst, value),
    },
    Row {
        key: "publish.event-rate",
        scope: Scope::Node,
        form: Form::Number,
        default: "10",
        doc: "Events in a second.",
        set: |settings, value| rate(&mut settings.publish.event_rate, value),
    },
    Row {
        key: "publish.event-burst",
        scope: Scope::Node,
        form: Form::Number,
        default: "50",
        doc: "Events at once after a time without Events.",
        set: |settings, value| rate(&mut settings.publish.event_burst, value),
    },
    Row {
        key: "publish.documentation",
        scope: Scope::Node,
        form: Form::Text,
        default: r#""auto""#,
        doc: "Base of the links in Events, for readers without access to a node: the URL below which the pages of this documentation are, such as `https://docs.example/ingressd/`. The page and its anchor are appended: `findings.md#missingservice`. `auto` is the folder of this version in the repository that ingressd was built from. With an empty value, or where the build names no repository, Events have no link. Each has its remedy without one.",
        set: |settings, value| put(&mut settings.publish.documentation, value),
    },
];

fn name(slot: &mut Arc<str>, value: &Value) -> Result<(), String> {
    let name = String::read(value)?;
    if !is_label(&name) {
        return Err(format!("{name:?} is not a name of lower-case letters, digits and hyphens"));
    }
    *slot = name.into();
    Ok(())
}

fn rate(slot: &mut u32, value: &Value) -> Result<(), String> {
    match u32::read(value)? {
        0 => Err("it takes at least 1".to_owned()),
        number => {
            *slot = number;
            Ok(())
        }
    }
}
