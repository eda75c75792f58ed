//! The keys of the section `publish`; it must not know files or layers.

use std::sync::Arc;
use std::time::Duration;

use toml_edit::Value;

use super::table::Row;
use super::value::{Form, Setting as _, put};
use crate::source::is_namespace;

/// The least duration of a Lease: renewals must have the time to fail once.
const SHORTEST_LEASE: Duration = Duration::from_secs(3);

/// Its keys.
pub const ROWS: &[Row] = &[
    Row {
        key: "publish.addresses",
        form: Form::List,
        default: r#"["auto"]"#,
        doc: "Where clients reach this node, as the status of Ingresses tells it: IP addresses, host names, or `auto` for the addresses from which this host reaches the rest of the world, one for each family. Loopback and link-local addresses are refused.",
        set: |settings, value| put(&mut settings.publish.addresses, value),
    },
    Row {
        key: "publish.node",
        form: Form::Text,
        default: r#""""#,
        doc: "Name of this node in Leases and Events. Empty takes the host name.",
        set: |settings, value| put(&mut settings.publish.node, value),
    },
    Row {
        key: "publish.status",
        form: Form::Boolean,
        default: "true",
        doc: "Whether addresses are written into the status of Ingresses. Switched off, this node still tells the others of itself, and writes nothing when it leads.",
        set: |settings, value| put(&mut settings.publish.status, value),
    },
    Row {
        key: "publish.events",
        form: Form::Boolean,
        default: "true",
        doc: "Whether Events are written about what is wrong with objects and about their being served.",
        set: |settings, value| put(&mut settings.publish.events, value),
    },
    Row {
        key: "publish.namespace",
        form: Form::Text,
        default: r#""ingressd""#,
        doc: "Namespace of the Leases. It must exist, and the credentials must allow Leases in it.",
        set: |settings, value| name(&mut settings.publish.namespace, value),
    },
    Row {
        key: "publish.lease",
        form: Form::Text,
        default: r#""ingressd""#,
        doc: "Name of the Lease that the leader holds. Nodes with the same name share their work: their addresses stand together in the status of Ingresses. Nodes that serve other classes or namespaces take another name.",
        set: |settings, value| name(&mut settings.publish.lease, value),
    },
    Row {
        key: "publish.lease-duration",
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
        form: Form::Duration,
        default: r#""5m""#,
        doc: "How long the addresses of this node stay published after the daemon was stopped in good order: nginx goes on serving, and an upgrade must not take the node out. To take it out, use `ingressd drain`.",
        set: |settings, value| put(&mut settings.publish.grace, value),
    },
    Row {
        key: "publish.status-rate",
        form: Form::Number,
        default: "20",
        doc: "Writes of status each second; addresses that must not be used any more are withdrawn ten times as fast.",
        set: |settings, value| rate(&mut settings.publish.status_rate, value),
    },
    Row {
        key: "publish.status-burst",
        form: Form::Number,
        default: "50",
        doc: "Writes of status at once after a time of rest.",
        set: |settings, value| rate(&mut settings.publish.status_burst, value),
    },
    Row {
        key: "publish.event-rate",
        form: Form::Number,
        default: "10",
        doc: "Events each second.",
        set: |settings, value| rate(&mut settings.publish.event_rate, value),
    },
    Row {
        key: "publish.event-burst",
        form: Form::Number,
        default: "50",
        doc: "Events at once after a time of rest.",
        set: |settings, value| rate(&mut settings.publish.event_burst, value),
    },
];

fn name(slot: &mut Arc<str>, value: &Value) -> Result<(), String> {
    let name = String::read(value)?;
    if !is_namespace(&name) {
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
