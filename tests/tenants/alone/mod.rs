//! Attacks that need settings, backends or clients of their own, with one test for each.

mod addresses;
mod answers;
mod clients;
mod connections;
mod draining;
mod effort;
mod expressions;
mod memory;
mod names;
mod owners;
mod ports;
mod relays;
mod slow;

use serde_json::{Map, Value, json};

use crate::scene::{Dialect, Order, Ownership, Scene};
use crate::stage::taken;
use rig::Rig;
use rig::manifests::ingress;

/// One scene for each dialect, the attacker's objects younger.
fn scenes(name: &str) -> [Scene; 2] {
    [
        Scene::new(name, Dialect::Specification, Ownership::Namespace, Order::Young),
        Scene::new(name, Dialect::IngressNginx, Ownership::Shared, Order::Young),
    ]
}

/// Writes the Services of scenes.
fn write_services(rig: &Rig, scenes: &[Scene]) {
    rig.manifests.write("services.yaml", &scenes.iter().flat_map(Scene::services).collect::<Vec<_>>());
}

fn config_map(namespace: &str, name: &str, entries: &[(&str, &str)]) -> Value {
    let data: Map<_, _> = entries.iter().map(|(key, value)| ((*key).to_owned(), json!(value))).collect();
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"namespace": namespace, "name": name}, "data": data})
}

/// Writes objects into a file and waits until nginx serves them; the daemon has to run.
async fn apply(rig: &mut Rig, name: &str, objects: Vec<Value>) -> Value {
    let marker = ingress(name).host(&format!("{name}.marker.test"), "web").build();
    rig.manifests.write(&format!("{name}.yaml"), &[objects, vec![marker]].concat());
    taken(rig, name).await
}
