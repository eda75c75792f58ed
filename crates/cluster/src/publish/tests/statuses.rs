//! A second kind, with a status of another form, through the same ledger and writer.

use std::sync::Arc;

use k8s_openapi::api::core::v1::Service;
use serde_json::{Value, json};

use super::api::FakeApi;
use super::{Counts, World};
use crate::publish::address::Address;
use crate::publish::served::Served;
use crate::publish::status::{Content, Object, Situation, StatusStrategy, entries};
use crate::publish::statuses::Outputs;
use crate::publish::trouble::Board;
use crate::publish::writer::{Inputs, Writer};

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

/// The strategy of Services, whose statuses are read from the double.
struct OfServices(FakeApi);

impl StatusStrategy for OfServices {
    type Kind = Service;
    type Content = Reached;

    const TROUBLE: &'static str = "the status of Services cannot be written";

    fn objects<'a>(&'a self, served: &'a Served) -> impl Iterator<Item = Object<'a, Reached>> + Send {
        served.snapshot.services.iter().filter_map(|stored| {
            let status = self.0.service(&stored.id.name).status.unwrap_or_default();
            let entries = status.load_balancer.and_then(|balancer| balancer.ingress).unwrap_or_default();
            let addresses = entries.into_iter().filter_map(|entry| entry.ip?.parse().ok()).collect();
            let conditions = status.conditions.unwrap_or_default();
            Some(Object {
                id: &stored.id,
                uid: stored.object.uid.as_deref()?,
                version: &stored.version,
                published: stored.published.as_deref()?,
                created: None,
                is_inside: true,
                current: Reached {
                    addresses,
                    is_reported: conditions.iter().any(|condition| condition.type_ == "Served"),
                },
                is_plain: true,
            })
        })
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
    let strategy = OfServices(world.api.clone());
    let options = Arc::new(world.options.clone());
    let trouble = Board::default().trouble("the status of Services cannot be written");
    let writer = Writer::new(strategy, client, "one_0".into(), options, Counts::default(), Outputs::default(), trouble);
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
