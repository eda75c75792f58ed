//! The keys of the section `publish`.

use std::sync::Arc;
use std::time::Duration;

use config::Value;

use super::table::Row;
use super::value::{Form, Setting as _, put};
use crate::model::{is_label, is_subdomain};
use crate::translate::Scope;

/// The shortest duration of a Lease: a renewal must be able to fail once.
const SHORTEST_LEASE: Duration = Duration::from_secs(3);

/// Its keys.
pub const ROWS: &[Row] = &[
    Row {
        key: "publish.mode",
        scope: Scope::Node,
        form: Form::Text,
        default: r#""nodes""#,
        doc: "Which addresses the status of Ingresses tells: `nodes` those of all nodes that serve the object, each as its own `publish.addresses` say; `fixed` the same ones whichever node serves it, an address that moves among the nodes (keepalived) or that all of them announce (BGP), as `publish.addresses` of all nodes say; `service` those of the Service that `publish.service` names. In each of them an object has an address only while a node serves it.",
        set: |settings, value| put(&mut settings.publish.mode, value),
    },
    Row {
        key: "publish.addresses",
        scope: Scope::Node,
        form: Form::List,
        default: r#"["auto"]"#,
        doc: "Where clients reach this node, at most 16 of: an IP address; a host name; `auto` for the addresses from which this host reaches the rest of the world, one for each family; `interface:NAME` for all lasting addresses of an interface that is up; `node:InternalIP` or `node:ExternalIP` for addresses of this host's Node object. Those that change are followed. Addresses that other machines cannot use (loopback, link-local, unspecified, multicast, reserved) are refused. With the mode `fixed` IP addresses and host names only, the same on all nodes; with `service` none of this counts.",
        set: |settings, value| put(&mut settings.publish.addresses, value),
    },
    Row {
        key: "publish.service",
        scope: Scope::Node,
        form: Form::Text,
        default: r#""""#,
        doc: "Service, as namespace/name, whose addresses are published with the mode `service`: those in its status and its `externalIPs`. They are followed as they change. It need not be in a namespace that is served.",
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
        doc: "Whether addresses are written into the status of Ingresses. Switched off, this node still tells the others of itself, and writes nothing when it leads.",
        set: |settings, value| put(&mut settings.publish.status, value),
    },
    Row {
        key: "publish.hold",
        scope: Scope::Node,
        form: Form::Boolean,
        default: "false",
        doc: "Whether no addresses are written into the status of Ingresses before `ingressd migrate take-over` was run, as while another controller still serves the same Ingresses. Everything else is as usual: the node serves, and tells the others of itself. What that command, or its `--undo`, said last counts for all nodes of the group, whatever stands here.",
        set: |settings, value| put(&mut settings.publish.hold, value),
    },
    Row {
        key: "publish.events",
        scope: Scope::Node,
        form: Form::Boolean,
        default: "true",
        doc: "Whether Events are written about what is wrong with objects and about their being served.",
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
        doc: "Name of the Lease that the leader holds. Nodes with the same name share their work: their addresses stand together in the status of Ingresses. Nodes that serve other classes or namespaces take another name.",
        set: |settings, value| name(&mut settings.publish.lease, value),
    },
    Row {
        key: "publish.lease-duration",
        scope: Scope::Node,
        form: Form::Duration,
        default: r#""15s""#,
        doc: "How long a node counts as alive that does not renew its Lease, and a leader as leading; at least 3 s, in whole seconds. Leases are renewed three times as often.",
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
        doc: "How long the addresses of this node stay published after the daemon was stopped in good order, in whole seconds: nginx goes on serving, and an upgrade must not take the node out. With `0s` they are withdrawn when it stops. To take the node out, use `ingressd drain`.",
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
        doc: "Writes of status each second; addresses that must not be used any more are withdrawn, and later given back, as fast as the API server answers.",
        set: |settings, value| rate(&mut settings.publish.status_rate, value),
    },
    Row {
        key: "publish.status-burst",
        scope: Scope::Node,
        form: Form::Number,
        default: "50",
        doc: "Writes of status at once after a time of rest.",
        set: |settings, value| rate(&mut settings.publish.status_burst, value),
    },
    Row {
        key: "publish.event-rate",
        scope: Scope::Node,
        form: Form::Number,
        default: "10",
        doc: "Events each second.",
        set: |settings, value| rate(&mut settings.publish.event_rate, value),
    },
    Row {
        key: "publish.event-burst",
        scope: Scope::Node,
        form: Form::Number,
        default: "50",
        doc: "Events at once after a time of rest.",
        set: |settings, value| rate(&mut settings.publish.event_burst, value),
    },
    Row {
        key: "publish.documentation",
        scope: Scope::Node,
        form: Form::Text,
        default: r#""auto""#,
        doc: "Where Events link to, for those who have no access to a node: the address below which the pages of this documentation are found, such as `https://docs.example/ingressd/`. The page and the place on it are added: `findings.md#missingservice`. `auto` is the folder of this version in the repository that ingressd was built from, or, where the build names none, the path in it, `docs/`. Empty: Events have no link.",
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
