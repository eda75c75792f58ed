//! What the records of nodes, which change every few seconds, cost the leader and the API server.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use k8s_openapi::api::networking::v1::Ingress;
use serde_json::Value;
use tokio::time::sleep;

use super::{Counts, World};
use crate::publish::Statuses;
use crate::publish::address::Address;
use crate::publish::served::Served;
use crate::publish::status::{IngressAddresses, Situation, StatusStrategy};
use crate::publish::writer::Inputs;
use crate::publish::{Outlook, Publisher};
use crate::source::cluster::Clients;
use ingressd_objects::Published;

/// The strategy of Ingresses, which counts how often an object is looked at.
struct Counting(Arc<AtomicUsize>);

impl StatusStrategy for Counting {
    type Kind = Ingress;
    type Content = Vec<Address>;

    const TROUBLE: &'static str = IngressAddresses::TROUBLE;

    fn current(&self, published: &Published) -> (Vec<Address>, bool) {
        self.0.fetch_add(1, Ordering::Relaxed);
        IngressAddresses.current(published)
    }

    fn content(&self, situation: Situation<'_>) -> Vec<Address> {
        situation.addresses
    }

    fn status(&self, content: &Vec<Address>) -> Value {
        IngressAddresses.status(content)
    }
}

#[tokio::test(start_paused = true)]
async fn a_renewal_that_changes_nothing_but_its_time_makes_no_plan() {
    let mut world = World::of_two().await;
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
    let plans = Arc::<AtomicUsize>::default();
    let writer = world.writer(client, Counting(Arc::clone(&plans)));
    let writing = tokio::spawn(writer.run(inputs));
    world.seconds(2).await;
    let before = plans.load(Ordering::Relaxed);
    assert!(before > 0 && world.leaders() == ["one"]);
    // The daemons have nothing to say, and both renew their Leases many times.
    let version = world.api.version();
    sleep(Duration::from_secs(120)).await;
    assert!(world.api.version() > version + 40, "{} writes", world.api.version() - version);
    assert_eq!(plans.load(Ordering::Relaxed), before);
    // What a record says is followed at once.
    world.node("two").serving = false;
    let node = world.node("two");
    let api = node.served.borrow().clone().map(|served| Served { serving: false, ..served });
    node.served.send_replace(api);
    sleep(Duration::from_secs(1)).await;
    assert_eq!(world.addresses(), ["192.0.2.1"]);
    assert!(plans.load(Ordering::Relaxed) > before && !writing.is_finished());
}

#[tokio::test(start_paused = true)]
async fn of_two_hosts_with_one_identity_one_leads_and_both_are_reported() {
    let mut world = World::new();
    world.api.add_ingress("a");
    world.start("one");
    world.seconds(5).await;
    let node = world.node("one");
    let (outlook, availability) = (node.publisher.as_ref().unwrap().outlook().clone(), node.availability.subscribe());
    let served = node.served.subscribe();
    let clients = Clients::of(&world.api.client_of("one", availability));
    let counts = Counts::default();
    let duplicate = Publisher::start(
        &clients,
        "one_0".into(),
        &"other".into(),
        (world.options.clone(), Statuses::default()),
        &counts,
        served,
    );
    let is_reported = |outlook: &Outlook| outlook.findings().iter().any(|finding| finding.note.contains("machine ID"));
    world.seconds(15).await;
    for _ in 0..60 {
        world.seconds(1).await;
        assert!(world.leaders() == ["one"] && !duplicate.outlook().view().leads);
        assert!(is_reported(&outlook) && is_reported(duplicate.outlook()));
    }
    drop(duplicate);
    world.seconds(60).await;
    assert!(!is_reported(&outlook));
}

#[tokio::test(start_paused = true)]
async fn a_node_that_comes_and_goes_is_followed_ever_more_slowly() {
    let mut world = World::of_two().await;
    let before = world.api.status_writes().len();
    for turn in 0..60 {
        world.node("two").serving = turn % 2 == 1;
        world.seconds(1).await;
    }
    assert_eq!(world.addresses(), ["192.0.2.1"]);
    let writes = world.api.status_writes().len() - before;
    assert!(writes <= 4, "{writes} writes for one object");
    // It stays.
    world.seconds(70).await;
    assert_eq!(world.addresses(), ["192.0.2.1,192.0.2.2"]);
}
