//! What of the attached objects is served: whether they can be, and whether their demands are
//! within the limits of objects and namespaces.

pub mod admission;
pub mod admitted;
pub mod canary;
mod demand;
pub mod servable;
mod shares;
#[cfg(test)]
mod tests;
mod zones;

pub use admission::{admit, close_refused};
pub use demand::longest_chain;

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

/// A budget that is counted in single things, without a limit of all namespaces together.
const fn budget(key: &'static str, limit: fn(&Limits) -> u64, used: fn(&Cost) -> u64) -> Budget {
    Budget { key, what: ("", ""), unit: 1, limit, used, total: None }
}

impl Budget {
    const fn what(self, one: &'static str, many: &'static str) -> Self {
        Budget { what: (one, many), ..self }
    }

    const fn unit(self, unit: u64) -> Self {
        Budget { unit, ..self }
    }

    const fn total(self, key: &'static str, limit: fn(&Limits) -> u64) -> Self {
        Budget { total: Some(Total { key, limit }), ..self }
    }
}

const MIB: u64 = 1 << 20;

/// The budgets that decide which objects are served.
const BUDGETS: &[Budget] = &[
    budget("limits.namespace-hosts", |limits| limits.namespace.hosts, |cost| cost.hosts).what("host", "hosts"),
    budget("limits.namespace-routes", |limits| limits.namespace.routes, |cost| cost.routes).what("path", "paths"),
    budget("limits.namespace-upstreams", |limits| limits.namespace.upstreams, |cost| cost.upstreams)
        .what("port of a Service", "ports of Services"),
    budget("limits.namespace-certificates", |limits| limits.namespace.certificates, |cost| cost.certificates)
        .what("Secret with a certificate", "Secrets with certificates"),
    budget("limits.namespace-files", |limits| limits.namespace.files, |cost| cost.files).what("file", "files"),
    budget("limits.namespace-zones-mib", |limits| limits.namespace.zones, |cost| cost.zones * zones::SMALLEST)
        .what("MiB of shared memory for limits", "MiB of shared memory for limits")
        .unit(MIB),
    budget("limits.namespace-configuration-mib", |limits| limits.namespace.configuration, |cost| cost.configuration)
        .what("MiB of configuration", "MiB of configuration")
        .unit(MIB)
        .total("limits.node-configuration-mib", |limits| limits.node.configuration),
    budget("limits.namespace-memory-mib", |limits| limits.namespace.memory, |cost| cost.memory)
        .what("MiB of nginx's memory", "MiB of nginx's memory")
        .unit(MIB)
        .total("limits.node-memory-mib", |limits| limits.node.memory),
    budget("limits.namespace-test-seconds", |limits| limits.namespace.test, |cost| cost.test)
        .what("second of nginx's tests", "seconds of nginx's tests")
        .unit(1_000_000)
        .total("limits.node-test-seconds", |limits| limits.node.test),
];

/// The key of how many endpoints the upstreams of a namespace may have, which takes out no object.
pub const ENDPOINTS_OF_NAMESPACE: &str = "limits.namespace-endpoints";

/// The keys of budgets with a finding before they are used up.
pub fn keys() -> impl Iterator<Item = &'static str> {
    let of = |budget: &Budget| [Some(budget.key), budget.total.as_ref().map(|total| total.key)];
    BUDGETS.iter().flat_map(of).flatten().chain([ENDPOINTS_OF_NAMESPACE])
}

/// The finding for the administrator that a namespace will soon have used up a budget.
pub fn near(namespace: &str, key: &'static str, (one, many): Noun, used: u64, limit: u64) -> Finding {
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
