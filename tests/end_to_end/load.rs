//! One minute of changes of routes and endpoints, of which clients notice nothing.

use rig::minute::{self, Change};
use serde_json::Value;

/// The file of an object.
fn file(kind: &str, name: &str) -> String {
    format!("{kind}-{name}.yaml")
}

fn file_of(object: &Value) -> String {
    file(object["kind"].as_str().unwrap(), object["metadata"]["name"].as_str().unwrap())
}

#[test]
fn no_request_fails_while_routes_and_endpoints_change() {
    rig::run(async |rig| {
        // This is the rig's own Service, which has its pods in the same file.
        rig.manifests.remove("web.yaml");
        for object in minute::objects() {
            rig.manifests.write(&file_of(&object), &[object]);
        }
        rig.start().await;
        let manifests = &rig.manifests;
        let make = async |change| match change {
            Change::Apply(object) => manifests.write(&file_of(&object), &[object]),
            Change::Delete(name) => manifests.remove(&file("Ingress", name)),
        };
        minute::spend(&mut rig.daemon, make).await;
    });
}
