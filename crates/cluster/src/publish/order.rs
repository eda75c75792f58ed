//! The administrator's order to all nodes of a group whether they write addresses into statuses,
//! and the node's answer. It must not know why it was given.

use k8s_openapi::api::coordination::v1::Lease;
use kube::Resource as _;
use serde_json::{Value, json};

use super::member::GROUP_LABEL;

const ORDER: &str = "ingressd/status";

/// Whether the nodes of a group write addresses into statuses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// They leave every status as it is.
    Hold,
    /// They write statuses.
    Publish,
}

impl Order {
    /// The word in the Lease.
    pub const fn name(self) -> &'static str {
        match self {
            Order::Hold => "hold",
            Order::Publish => "publish",
        }
    }

    /// The name of the Lease with the order. The names of groups and nodes contain no dot.
    pub fn lease_name(group: &str) -> String {
        format!("{group}.status")
    }

    /// The order in a Lease; `None` for the Leases of nodes and for unknown words.
    pub fn read(lease: &Lease) -> Option<Self> {
        let group = lease.metadata.labels.as_ref()?.get(GROUP_LABEL)?;
        if *lease.metadata.name.as_ref()? != Order::lease_name(group) {
            return None;
        }
        let word = lease.metadata.annotations.as_ref()?.get(ORDER)?;
        [Order::Hold, Order::Publish].into_iter().find(|order| order.name() == word)
    }

    /// The Lease with this order. All nodes watch the Leases of their group.
    pub fn lease(self, namespace: &str, group: &str) -> Value {
        json!({
            "apiVersion": Lease::api_version(&()),
            "kind": Lease::kind(&()),
            "metadata": {
                "namespace": namespace,
                "name": Order::lease_name(group),
                "labels": { GROUP_LABEL: group },
                "annotations": { ORDER: self.name() },
            },
        })
    }
}

/// Whether a node writes statuses when it leads.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Writes {
    /// It writes.
    #[default]
    Now,
    /// It waits for an order, and no write is in progress any more.
    Held,
    /// Its settings forbid it.
    Never,
}

impl Writes {
    /// All values.
    pub const ALL: [Writes; 3] = [Writes::Now, Writes::Held, Writes::Never];

    /// The word for people and machines.
    pub const fn name(self) -> &'static str {
        match self {
            Writes::Now => "now",
            Writes::Held => "held",
            Writes::Never => "never",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_is_read_where_it_was_written_and_nowhere_else() {
        let lease = |change: fn(&mut Value)| {
            let mut lease = Order::Hold.lease("edge", "ingressd");
            change(&mut lease);
            Order::read(&serde_json::from_value(lease).unwrap())
        };
        assert_eq!(lease(|_| {}), Some(Order::Hold));
        assert_eq!(lease(|lease| lease["metadata"]["annotations"][ORDER] = json!("publish")), Some(Order::Publish));
        assert_eq!(lease(|lease| lease["metadata"]["annotations"][ORDER] = json!("perhaps")), None);
        assert_eq!(lease(|lease| lease["metadata"]["labels"][GROUP_LABEL] = json!("other")), None);
        assert_eq!(lease(|lease| lease["metadata"]["name"] = json!("ingressd-edge-1-0123456789")), None);
    }
}
