//! What of the attached objects is served: whether they can be, and whether their demands are
//! within the limits of objects and namespaces. It must not know who gets the hosts.

pub mod admission;
mod demand;
mod endpoints;
pub mod servable;
mod shares;
#[cfg(test)]
mod tests;
mod zones;

pub use admission::{admit, close_refused};
pub use demand::longest_chain;
pub use endpoints::bound as bound_endpoints;

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::bounds::{Bound, is_near};
use crate::{Limits, Namespaces, bounds};
use ingressd_model::cost::Cost;
use ingressd_model::finding::{Finding, Reason, count};
use ingressd_model::{HostName, Kind, ObjectId, Origin};

/// What is counted, in words: one of it, and many.
type Noun = (&'static str, &'static str);

/// A budget of a namespace.
struct Budget {
    /// The key of its setting.
    key: &'static str,
    what: Noun,
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
        what: ("host", "hosts"),
        unit: 1,
        limit: |limits| limits.namespace.hosts,
        used: |cost| cost.hosts,
        total: None,
    },
    Budget {
        key: "limits.namespace-routes",
        what: ("path", "paths"),
        unit: 1,
        limit: |limits| limits.namespace.routes,
        used: |cost| cost.routes,
        total: None,
    },
    Budget {
        key: "limits.namespace-upstreams",
        what: ("port of a Service", "ports of Services"),
        unit: 1,
        limit: |limits| limits.namespace.upstreams,
        used: |cost| cost.upstreams,
        total: None,
    },
    Budget {
        key: "limits.namespace-certificates",
        what: ("Secret with a certificate", "Secrets with certificates"),
        unit: 1,
        limit: |limits| limits.namespace.certificates,
        used: |cost| cost.certificates,
        total: None,
    },
    Budget {
        key: "limits.namespace-files",
        what: ("file", "files"),
        unit: 1,
        limit: |limits| limits.namespace.files,
        used: |cost| cost.files,
        total: None,
    },
    Budget {
        key: "limits.namespace-zones-mib",
        what: ("MiB of shared memory for limits", "MiB of shared memory for limits"),
        unit: MIB,
        limit: |limits| limits.namespace.zones,
        used: |cost| cost.zones * zones::SMALLEST,
        total: None,
    },
    Budget {
        key: "limits.namespace-configuration-mib",
        what: ("MiB of configuration", "MiB of configuration"),
        unit: MIB,
        limit: |limits| limits.namespace.configuration,
        used: |cost| cost.configuration,
        total: Some(Total { key: "limits.node-configuration-mib", limit: |limits| limits.node.configuration }),
    },
    Budget {
        key: "limits.namespace-memory-mib",
        what: ("MiB of nginx's memory", "MiB of nginx's memory"),
        unit: MIB,
        limit: |limits| limits.namespace.memory,
        used: |cost| cost.memory,
        total: Some(Total { key: "limits.node-memory-mib", limit: |limits| limits.node.memory }),
    },
    Budget {
        key: "limits.namespace-test-seconds",
        what: ("second of nginx's tests", "seconds of nginx's tests"),
        unit: 1_000_000,
        limit: |limits| limits.namespace.test,
        used: |cost| cost.test,
        total: Some(Total { key: "limits.node-test-seconds", limit: |limits| limits.node.test }),
    },
];

/// The keys of budgets with a finding before they are used up.
pub fn keys() -> impl Iterator<Item = &'static str> {
    let of = |budget: &Budget| [Some(budget.key), budget.total.as_ref().map(|total| total.key)];
    BUDGETS.iter().flat_map(of).flatten().chain([endpoints::OF_NAMESPACE])
}

/// The finding for the administrator that a namespace will soon have used up a budget.
fn near(namespace: &str, key: &'static str, (one, many): Noun, used: u64, limit: u64) -> Finding {
    let origin = Origin::object(&Arc::new(ObjectId::new(Kind::SETTINGS, "", key)));
    let note = format!("the namespace {namespace:?} has {used} of the {} that it may have", count(limit, one, many));
    Finding::new(Reason::NearBudget, origin, note)
}

/// Tells of namespaces that have nearly as many names as are resolved.
pub fn near_names(names: &BTreeMap<HostName, Namespaces>, limits: &Limits) -> Vec<Finding> {
    let most = u64::try_from(limits.names_of_namespace).unwrap_or(u64::MAX);
    let mut counts = BTreeMap::<&Arc<str>, usize>::new();
    for namespace in names.values().flatten() {
        *counts.entry(namespace).or_default() += 1;
    }
    let counts = counts.into_iter().map(|(namespace, count)| (&**namespace, count));
    near_of_namespaces(&bounds::NAMES, most, counts).collect()
}

/// Tells the administrator of namespaces with nearly as much as a limit allows.
pub fn near_of_namespaces<'n>(
    bound: &'static Bound,
    most: u64,
    counts: impl Iterator<Item = (&'n str, usize)>,
) -> impl Iterator<Item = Finding> {
    counts.filter_map(move |(namespace, count)| {
        let note = bound.note(count, most)?;
        let origin = Origin::object(&Arc::new(ObjectId::new(Kind::SETTINGS, "", bound.key)));
        Some(Finding::new(Reason::NearBudget, origin, format!("namespace {namespace:?}: {note}")))
    })
}

/// Tells the administrator that all namespaces together will soon have used up what the node has.
fn near_total(key: &'static str, (one, many): Noun, used: u64, limit: u64) -> Finding {
    let origin = Origin::object(&Arc::new(ObjectId::new(Kind::SETTINGS, "", key)));
    let note = format!(
        "all namespaces together ask for {used} of the {} that there are; when they ask for more, each gets a fair share, \
         and the newest objects of those that ask for more than their share are not served",
        count(limit, one, many)
    );
    Finding::new(Reason::NearBudget, origin, note)
}
