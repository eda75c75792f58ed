//! The estimated cost of namespaces for nginx, for people and for Prometheus: the largest and the
//! sum.

use std::sync::atomic::AtomicU64;
use std::sync::{Arc, OnceLock};

use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;
use serde_json::{Value, json};

use super::metrics::Labels;
use ingressd_model::cost::{Cost, by_namespace};
use ingressd_model::{Model, Tables};

/// How many namespaces are named: those with the most memory.
const NAMED: usize = 10;

/// The name of the rest; no namespace can have it.
const OTHERS: &str = "(others)";

/// What each namespace costs, estimated when somebody first asks: of most generations nobody does.
#[derive(Debug, Default)]
pub struct Estimate {
    /// What is estimated.
    pub model: Arc<Model>,
    /// The tables beside it.
    pub tables: Arc<Tables>,
    /// The answer, once somebody has asked.
    pub costs: OnceLock<Vec<(Arc<str>, Cost)>>,
}

impl Estimate {
    /// The cost of each namespace, sorted by name.
    pub fn costs(&self) -> &[(Arc<str>, Cost)] {
        self.costs.get_or_init(|| by_namespace(&self.model, &self.tables))
    }
}

/// A number for each namespace: its name in metrics and in the status, its description, and how
/// many make one unit.
struct Column {
    metric: &'static str,
    member: &'static str,
    help: &'static str,
    unit: f64,
    of: fn(&Cost) -> u64,
}

const fn column(metric: &'static str, member: &'static str, of: fn(&Cost) -> u64) -> Column {
    Column { metric, member, help: "", unit: 1.0, of }
}

impl Column {
    const fn help(self, help: &'static str) -> Column {
        Column { help, ..self }
    }

    const fn in_units(self, unit: f64) -> Column {
        Column { unit, ..self }
    }

    /// The number, an estimate, so that a loss of precision does not matter.
    fn number(&self, cost: &Cost) -> f64 {
        (self.of)(cost) as f64 / self.unit
    }
}

const COLUMNS: &[Column] = &[
    column("estimated_memory_bytes", "memory_bytes", |cost| cost.memory)
        .help("Memory of nginx's master, as estimated, for the namespaces that need the most"),
    column("estimated_configuration_bytes", "configuration_bytes", |cost| cost.configuration)
        .help("Configuration of nginx, as estimated"),
    column("estimated_zone_bytes", "zone_bytes", |cost| cost.zone_bytes)
        .help("Shared memory in which clients are counted"),
    column("estimated_test_seconds", "test_seconds", |cost| cost.test)
        .in_units(1e6)
        .help("Processor time that nginx needs to read the configuration, as estimated"),
    column("estimated_files", "files", |cost| cost.files).help("Files of a generation"),
    column("namespace_hosts", "hosts", |cost| cost.hosts)
        .help("Hosts that nginx has a server for, also those that are closed"),
    column("namespace_routes", "routes", |cost| cost.routes)
        .help("Paths of hosts, default backends included, also those that are closed"),
    column("namespace_upstreams", "upstreams", |cost| cost.upstreams)
        .help("Ports of Services that nginx has an upstream for"),
    column("namespace_endpoints", "endpoints", |cost| cost.endpoints).help("Endpoints of those ports"),
    column("namespace_certificates", "certificates", |cost| cost.certificates)
        .help("Secrets with certificates that are served"),
];

/// The largest by memory, the rest as one, and the sum.
fn largest(costs: &[(Arc<str>, Cost)]) -> (Vec<(&str, Cost)>, Cost) {
    let mut sorted: Vec<_> = costs.iter().map(|(namespace, cost)| (&**namespace, *cost)).collect();
    sorted.sort_by(|left, right| right.1.memory.cmp(&left.1.memory).then(left.0.cmp(right.0)));
    let sum = |costs: &[(&str, Cost)]| {
        costs.iter().fold(Cost::default(), |mut sum, (_, cost)| {
            sum += *cost;
            sum
        })
    };
    let all = sum(&sorted);
    if sorted.len() > NAMED + 1 {
        let rest = sum(&sorted[NAMED..]);
        sorted.truncate(NAMED);
        sorted.push((OTHERS, rest));
    }
    (sorted, all)
}

fn members(cost: &Cost) -> serde_json::Map<String, Value> {
    let member = |column: &Column| {
        let value = match column.unit == 1.0 {
            true => json!((column.of)(cost)),
            false => json!(column.number(cost)),
        };
        (column.member.to_owned(), value)
    };
    COLUMNS.iter().map(member).collect()
}

/// The part of `/status.json` about costs. Member names are a contract.
pub fn json(costs: &[(Arc<str>, Cost)]) -> Value {
    let (largest, all) = largest(costs);
    let namespaces = largest.iter().map(|(namespace, cost)| {
        let mut members = members(cost);
        members.insert("namespace".to_owned(), json!(namespace));
        Value::Object(members)
    });
    json!({ "total": members(&all), "namespaces": namespaces.collect::<Vec<_>>() })
}

/// Adds the numbers of the largest namespaces and of the rest; the sum over `namespace` is the
/// total.
pub fn register(registry: &mut Registry, costs: &[(Arc<str>, Cost)]) {
    let (largest, _) = largest(costs);
    for column in COLUMNS {
        let numbers = Family::<Labels<1, String>, Gauge<f64, AtomicU64>>::default();
        for (namespace, cost) in &largest {
            numbers.get_or_create(&[("namespace", (*namespace).to_owned())]).set(column.number(cost));
        }
        registry.register(column.metric, column.help, numbers);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_are_named_and_the_rest_stands_together() {
        let cost = |memory| Cost { memory, hosts: 1, test: 1_500_000, ..Cost::default() };
        let costs: Vec<_> = (0..30).map(|number| (Arc::from(format!("n{number}")), cost(number))).collect();
        let shown = json(&costs);
        let namespaces = shown["namespaces"].as_array().expect("a list");
        let names: Vec<_> = namespaces.iter().filter_map(|namespace| namespace["namespace"].as_str()).collect();
        assert_eq!(names, ["n29", "n28", "n27", "n26", "n25", "n24", "n23", "n22", "n21", "n20", "(others)"]);
        assert_eq!((&namespaces[10]["hosts"], &shown["total"]["memory_bytes"]), (&json!(20), &json!(435)));
        assert_eq!(shown["total"]["test_seconds"], 45.0);
        let mut registry = Registry::default();
        register(&mut registry, &costs);
        let mut text = String::new();
        prometheus_client::encoding::text::encode(&mut text, &registry).expect("text");
        assert_eq!(text.lines().filter(|line| line.starts_with("namespace_hosts{")).count(), 11, "{text}");
        assert!(text.contains("estimated_test_seconds{namespace=\"n29\"} 1.5\n"), "{text}");
    }
}
