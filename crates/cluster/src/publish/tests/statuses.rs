//! A second kind, with a status of another form, through the same ledger and writer.

use k8s_openapi::api::core::v1::Service;
use serde_json::{Value, json};

use super::World;
use super::api::FakeApi;
use crate::publish::address::Address;
use crate::publish::status::{Content, Situation, StatusStrategy, entries};
use crate::publish::writer::Inputs;
use ingressd_objects::Published;

/// Addresses, and a condition about them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Reached {
    addresses: Vec<Address>,
    is_reported: bool,
}

impl Content for Reached {
    fn addresses(&self) -> &[Address] {
        &self.addresses
    }
}

/// The strategy of Services.
struct OfServices;

impl StatusStrategy for OfServices {
    type Kind = Service;
    type Content = Reached;

    const TROUBLE: &'static str = "the status of Services cannot be written";

    fn current(&self, published: &Published) -> (Reached, bool) {
        let status = published.whole.as_ref().map(|whole| (**whole).clone()).unwrap_or_default();
        let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
        let entries = list(&status["loadBalancer"]["ingress"]);
        let addresses = entries.iter().filter_map(|entry| entry["ip"].as_str()?.parse().ok()).collect();
        let is_reported = list(&status["conditions"]).iter().any(|condition| condition["type"] == "Served");
        (Reached { addresses, is_reported }, true)
    }

    fn content(&self, situation: Situation<'_>) -> Reached {
        Reached { is_reported: !situation.addresses.is_empty(), addresses: situation.addresses }
    }

    fn status(&self, content: &Reached) -> Value {
        let condition = json!({
            "type": "Served", "status": "True", "reason": "Served", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z",
        });
        json!({ "loadBalancer": { "ingress": entries(&content.addresses) }, "conditions": [condition] })
    }
}

#[tokio::test(start_paused = true)]
async fn another_kind_is_written_as_its_strategy_says_and_withdrawn_with_the_node() {
    let mut world = World::new();
    world.api.add_ingress("a");
    let metadata = json!({ "namespace": "shop", "name": "web", "uid": "uid-web" });
    world.api.put("services", json!({ "apiVersion": "v1", "kind": "Service", "metadata": metadata }));
    world.start("one");
    let node = world.node("one");
    let outlook = node.publisher.as_ref().unwrap().outlook().clone();
    let inputs = Inputs {
        served: node.served.subscribe(),
        members: outlook.members,
        leadership: outlook.leadership,
        place: outlook.place,
    };
    let availability = node.availability.subscribe();
    let client = world.api.client_of("one", availability);
    let writer = world.writer(client, OfServices);
    let writing = tokio::spawn(writer.run(inputs));
    let shown = |api: &FakeApi| {
        let status = serde_json::to_value(api.service("web").status).unwrap();
        (status["loadBalancer"]["ingress"][0]["ip"].clone(), status["conditions"][0]["type"].clone())
    };
    world.seconds(3).await;
    assert_eq!(shown(&world.api), (json!("192.0.2.1"), json!("Served")));
    assert_eq!(world.addresses(), ["192.0.2.1"]);
    // A correct status is not written again, and one that is removed is.
    let writes = world.api.status_writes().len();
    world.seconds(60).await;
    assert_eq!(world.api.status_writes().len(), writes);
    world.api.edit("services", "shop", "web", |service| service["status"]["conditions"] = json!([]));
    world.seconds(3).await;
    assert_eq!(shown(&world.api).1, json!("Served"));
    world.node("one").serving = false;
    world.seconds(3).await;
    assert_eq!(shown(&world.api), (Value::Null, Value::Null));
    assert!(!writing.is_finished());
}
