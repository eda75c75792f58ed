//! The rights that the repository ships, and subsets of them.

use serde_json::{Value, json};

/// The manifests for the daemon.
const SHIPPED: &str = include_str!("../../../../packaging/rbac/ingressd.yaml");

/// The `rules` of the ClusterRole that the repository ships.
pub fn shipped() -> Value {
    rules("ClusterRole")
}

/// The `rules` of the Role in the namespace of the Leases that the repository ships.
pub fn shipped_for_leases() -> Value {
    rules("Role")
}

fn rules(kind: &str) -> Value {
    let documents = SHIPPED.split("---\n").skip(1).map(|text| -> Value { serde_saphyr::from_str(text).unwrap() });
    let mut roles = documents.filter(|document| document["kind"] == kind);
    roles.next().unwrap()["rules"].clone()
}

/// The same without those for a kind, named as rules do it: `secrets`.
pub fn shipped_without(resource: &str) -> Value {
    let mut rules = shipped();
    for rule in rules.as_array_mut().unwrap() {
        let resources = rule["resources"].as_array_mut().unwrap();
        resources.retain(|name| name != resource);
    }
    let rules: Vec<_> =
        rules.as_array().unwrap().iter().filter(|rule| rule["resources"] != json!([])).cloned().collect();
    json!(rules)
}
