//! Checks whether the demands of objects and namespaces are within the administrator's limits.

mod admission;
mod demand;
mod endpoints;
mod shares;
#[cfg(test)]
mod tests;
mod zones;

pub use admission::{admit, close_refused};
pub use endpoints::{bound as bound_endpoints, bound_one as bound_endpoints_of};

use std::sync::Arc;

use super::Limits;
use crate::finding::{Finding, Reason};
use crate::model::cost::Cost;
use crate::model::{Kind, ObjectId, Origin};

/// A budget of a namespace.
struct Budget {
    /// The key of its setting.
    key: &'static str,
    /// What is counted, in words.
    what: &'static str,
    /// How many units of the count are one unit of the setting.
    unit: u64,
    limit: fn(&Limits) -> u64,
    used: fn(&Cost) -> u64,
    /// The limit of all namespaces together.
    total: Option<Total>,
}

/// The limit of all namespaces together.
struct Total {
    /// The key of its setting.
    key: &'static str,
    limit: fn(&Limits) -> u64,
}

const MIB: u64 = 1 << 20;

/// The budgets that decide which objects are served.
const BUDGETS: &[Budget] = &[
    Budget {
        key: "limits.namespace-hosts",
        what: "hosts",
        unit: 1,
        limit: |limits| limits.namespace.hosts,
        used: |cost| cost.hosts,
        total: None,
    },
    Budget {
        key: "limits.namespace-routes",
        what: "paths",
        unit: 1,
        limit: |limits| limits.namespace.routes,
        used: |cost| cost.routes,
        total: None,
    },
    Budget {
        key: "limits.namespace-upstreams",
        what: "ports of Services",
        unit: 1,
        limit: |limits| limits.namespace.upstreams,
        used: |cost| cost.upstreams,
        total: None,
    },
    Budget {
        key: "limits.namespace-certificates",
        what: "Secrets with certificates",
        unit: 1,
        limit: |limits| limits.namespace.certificates,
        used: |cost| cost.certificates,
        total: None,
    },
    Budget {
        key: "limits.namespace-files",
        what: "files",
        unit: 1,
        limit: |limits| limits.namespace.files,
        used: |cost| cost.files,
        total: None,
    },
    Budget {
        key: "limits.namespace-zones-mib",
        what: "MiB of shared memory for limits",
        unit: MIB,
        limit: |limits| limits.namespace.zones,
        used: |cost| cost.zones * zones::SMALLEST,
        total: None,
    },
    Budget {
        key: "limits.namespace-configuration-mib",
        what: "MiB of configuration",
        unit: MIB,
        limit: |limits| limits.namespace.configuration,
        used: |cost| cost.configuration,
        total: Some(Total { key: "limits.node-configuration-mib", limit: |limits| limits.node.configuration }),
    },
    Budget {
        key: "limits.namespace-memory-mib",
        what: "MiB of nginx's memory",
        unit: MIB,
        limit: |limits| limits.namespace.memory,
        used: |cost| cost.memory,
        total: Some(Total { key: "limits.node-memory-mib", limit: |limits| limits.node.memory }),
    },
    Budget {
        key: "limits.namespace-test-seconds",
        what: "seconds of nginx's tests",
        unit: 1_000_000,
        limit: |limits| limits.namespace.test,
        used: |cost| cost.test,
        total: Some(Total { key: "limits.node-test-seconds", limit: |limits| limits.node.test }),
    },
];

/// Whether four fifths of a budget are used.
fn is_near(used: u64, limit: u64) -> bool {
    used.saturating_mul(5) > limit.saturating_mul(4)
}

/// The finding for the administrator that a namespace will soon have used up a budget.
fn near(namespace: &str, key: &'static str, what: &str, used: u64, limit: u64) -> Finding {
    let origin = Origin::object(&Arc::new(ObjectId::new(Kind::Settings, "", key)));
    let note = format!("the namespace {namespace:?} has {used} {what} of {limit} that it may have");
    Finding::new(Reason::NearBudget, origin, note)
}

/// The finding for the administrator that all namespaces together will soon have used up the
/// node's limit.
fn near_total(key: &'static str, what: &str, used: u64, limit: u64) -> Finding {
    let origin = Origin::object(&Arc::new(ObjectId::new(Kind::Settings, "", key)));
    let note = format!(
        "all namespaces together ask for {used} {what} of {limit} that there are; of more, each gets a fair share, and those that \
         ask for more than that go without their newest objects"
    );
    Finding::new(Reason::NearBudget, origin, note)
}
