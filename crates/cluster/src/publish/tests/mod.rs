//! Several nodes on one API server double, with simulated time.

mod api;
mod events;
mod orders;
mod refusals;
mod renewals;
mod statuses;

use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::Service;
use k8s_openapi::api::networking::v1::Ingress;
use tokio::sync::watch;
use tokio::time::sleep;

use self::api::{Availability, FakeApi};
use super::served::in_place;
use super::{Address, Announced, Counts, Options, Publisher, Revision, Served, Statuses};
use crate::publish::status::{IngressAddresses, StatusStrategy};
use crate::publish::statuses::{Outputs, Parts};
use crate::publish::trouble::Board;
use crate::publish::writer::Writer;
use crate::source::cluster::Clients;
use ingressd_model::finding::{Finding, Reason};
use ingressd_model::{Kind, ObjectId, Origin};
use ingressd_objects::{Published, Snapshot, Stored, Version};

/// The duration of a Lease in these tests, and of the grace period.
const LEASE: Duration = Duration::from_secs(15);
const GRACE: Duration = Duration::from_secs(60);

/// How often the inputs of the nodes are refreshed.
const STEP: Duration = Duration::from_millis(100);

struct Node {
    name: &'static str,
    availability: watch::Sender<Availability>,
    publisher: Option<Publisher>,
    served: watch::Sender<Option<Served>>,
    serving: bool,
    drained: bool,
    /// Whether it sees changes.
    follows: bool,
    /// Whether it can read the objects.
    informed: bool,
    findings: Vec<Finding>,
}

/// An Ingress as the daemon keeps it. Its annotations stand for its content here.
fn stored(ingress: Ingress) -> Stored<ingressd_objects::Ingress> {
    Stored {
        id: Arc::new(ObjectId::new(Kind::INGRESS, "shop", ingress.metadata.name.as_deref().unwrap())),
        version: Version(format!("{:?}", ingress.metadata.annotations).into()),
        published: Some(Arc::new(Published::new(ingress.metadata.resource_version.clone(), ingress.status.clone()))),
        object: Arc::new(ingress.into()),
        place: None,
    }
}

/// A Service as the daemon would keep it if it published something there.
fn stored_service(mut service: Service) -> Stored<ingressd_objects::Service> {
    let status = serde_json::to_value(service.status.take()).unwrap();
    Stored {
        id: Arc::new(ObjectId::new(Kind::SERVICE, "shop", service.metadata.name.as_deref().unwrap())),
        version: Version("1".into()),
        published: Some(Arc::new(Published::take_whole(&mut service.metadata, status))),
        object: Arc::new(service.into()),
        place: None,
    }
}

impl Node {
    /// The state that the daemon would report now.
    fn served(&self, api: &FakeApi) -> Served {
        if !self.informed {
            let (serving, drained) = (self.serving, self.drained);
            return Served { generation: Some(1), serving, drained, phase: "serving".into(), ..Served::default() };
        }
        let ingresses: Vec<_> = api.ingresses().into_iter().map(stored).collect();
        let services: Vec<_> = api.services().into_iter().map(stored_service).collect();
        let revision = |stored: &Stored<_>| Revision::of(stored.revision());
        let of_ingresses = ingresses.iter().map(|stored| (&stored.id, &stored.version));
        let all = of_ingresses.chain(services.iter().map(|stored| (&stored.id, &stored.version)));
        Served {
            informed: true,
            states: all.map(|(id, version)| in_place(id, version)).collect(),
            confirmed: true,
            observed: ingresses.iter().filter_map(revision).max(),
            pinned: None,
            statuses: Statuses::default(),
            claim_order: Arc::default(),
            snapshot: Arc::new(Snapshot {
                ingresses: ingresses.into(),
                services: services.into(),
                ..Snapshot::default()
            }),
            findings: self.findings.clone().into(),
            generation: Some(1),
            serving: self.serving,
            drained: self.drained,
            phase: "serving".into(),
            settings: None,
            nginx: "1.22.1".into(),
        }
    }
}

struct World {
    api: FakeApi,
    nodes: Vec<Node>,
    /// The settings of nodes that are started from now on, without their names and addresses.
    options: Options,
}

impl World {
    /// The writer of a strategy on the node "one".
    fn writer<S: StatusStrategy>(&self, client: kube::Client, strategy: S) -> Writer<S> {
        let (identity, options) = ("one_0".into(), Arc::new(self.options.clone()));
        let (counts, outputs, trouble) = (Counts::default(), Outputs::default(), Board::default().trouble(S::TROUBLE));
        Writer::new(strategy, Parts { client, identity, options, counts, outputs, trouble })
    }

    fn new() -> Self {
        let options = Options { lease_duration: LEASE, grace: GRACE, status_rate: 20, ..Options::default() };
        World { api: FakeApi::default(), nodes: Vec::new(), options }
    }

    /// A world with one object and two nodes, of which the first leads.
    async fn of_two() -> Self {
        let mut world = World::new();
        world.api.add_ingress("a");
        world.start("one");
        world.seconds(1).await;
        world.start("two");
        world.seconds(5).await;
        world
    }

    /// Starts or restarts a node. Its address ends in its index.
    fn start(&mut self, name: &'static str) {
        let place = match self.nodes.iter().position(|node| node.name == name) {
            Some(place) => place,
            None => {
                self.nodes.push(Node {
                    name,
                    availability: watch::Sender::default(),
                    publisher: None,
                    served: watch::Sender::default(),
                    serving: true,
                    drained: false,
                    follows: true,
                    informed: true,
                    findings: Vec::new(),
                });
                self.nodes.len() - 1
            }
        };
        let address: Address = format!("192.0.2.{}", place + 1).parse().unwrap();
        let options = Options { addresses: vec![Announced::Fixed(address)], ..self.options.clone() };
        let node = &mut self.nodes[place];
        node.served = watch::channel(Some(node.served(&self.api))).0;
        let clients = Clients::of(&self.api.client_of(name, node.availability.subscribe()));
        let identity = format!("{name}_0").into();
        let served = node.served.subscribe();
        let publisher = Publisher::start(
            &clients,
            identity,
            &"run".into(),
            (options, Statuses::default()),
            &Counts::default(),
            served,
        );
        node.publisher = Some(publisher);
    }

    fn node(&mut self, name: &str) -> &mut Node {
        self.nodes.iter_mut().find(|node| node.name == name).unwrap()
    }

    /// Sets how the API responds to all nodes.
    fn set_availability(&self, availability: Availability) {
        for node in &self.nodes {
            node.availability.send_replace(availability);
        }
    }

    /// Lets time pass; after each step the addresses of all objects must satisfy this.
    async fn pass(&mut self, time: Duration, mut must: impl FnMut(&[String])) {
        let end = tokio::time::Instant::now() + time;
        while tokio::time::Instant::now() < end {
            for node in
                self.nodes.iter().filter(|node| node.follows && *node.availability.borrow() == Availability::Well)
            {
                node.served.send_replace(Some(node.served(&self.api)));
            }
            sleep(STEP).await;
            must(&self.addresses());
        }
    }

    /// Lets time pass.
    async fn seconds(&mut self, seconds: u64) {
        self.pass(Duration::from_secs(seconds), |_| {}).await;
    }

    /// The addresses of each object, by name.
    fn addresses(&self) -> Vec<String> {
        let text = |ingress| {
            let published = IngressAddresses.current(stored(ingress).published.as_ref().unwrap());
            published.0.iter().map(ToString::to_string).collect::<Vec<_>>().join(",")
        };
        self.api.ingresses().into_iter().map(text).collect()
    }

    /// The nodes that consider themselves the leader.
    fn leaders(&self) -> Vec<&'static str> {
        let leads = |node: &&Node| node.publisher.as_ref().is_some_and(|publisher| publisher.outlook().view().leads);
        self.nodes.iter().filter(leads).map(|node| node.name).collect()
    }
}

fn is_not_empty(addresses: &[String]) {
    assert!(addresses.iter().all(|addresses| !addresses.is_empty()), "{addresses:?}");
}

#[tokio::test(start_paused = true)]
async fn a_single_node_publishes_its_address_at_once() {
    let mut world = World::new();
    world.api.add_ingress("a");
    world.start("one");
    world.seconds(1).await;
    assert_eq!((world.addresses(), world.leaders()), (vec!["192.0.2.1".to_owned()], vec!["one"]));
    world.api.add_ingress("b");
    world.seconds(1).await;
    assert_eq!(world.addresses(), ["192.0.2.1", "192.0.2.1"]);
    let before = world.api.status_writes();
    world.seconds(120).await;
    assert_eq!(world.api.status_writes(), before, "nothing changes, nothing is written");
}

#[tokio::test(start_paused = true)]
async fn nodes_share_the_work_and_one_of_them_writes() {
    let mut world = World::new();
    world.api.add_ingress("a");
    for name in ["one", "two", "three"] {
        world.start(name);
    }
    world.seconds(5).await;
    assert_eq!(world.addresses(), ["192.0.2.1,192.0.2.2,192.0.2.3"]);
    let leaders = world.leaders();
    assert_eq!(leaders.len(), 1);
    world.api.add_ingress("b");
    world.seconds(3).await;
    assert_eq!(world.addresses(), ["192.0.2.1,192.0.2.2,192.0.2.3"; 2]);
    assert!(world.api.status_writers().iter().all(|node| *node == leaders[0]));
}

#[tokio::test(start_paused = true)]
async fn a_killed_leader_is_replaced_and_withdrawn() {
    let mut world = World::of_two().await;
    assert_eq!((world.addresses(), world.leaders()), (vec!["192.0.2.1,192.0.2.2".to_owned()], vec!["one"]));
    world.node("one").publisher = None;
    world.pass(LEASE * 2 / 3, |addresses| assert_eq!(addresses, ["192.0.2.1,192.0.2.2"])).await;
    world.pass(LEASE, is_not_empty).await;
    assert_eq!((world.addresses(), world.leaders()), (vec!["192.0.2.2".to_owned()], vec!["two"]));
    // It comes back, and no object loses an address.
    world.start("one");
    world.pass(Duration::from_secs(5), is_not_empty).await;
    assert_eq!((world.addresses(), world.leaders()), (vec!["192.0.2.1,192.0.2.2".to_owned()], vec!["two"]));
}

#[tokio::test(start_paused = true)]
async fn a_stop_in_good_order_hands_over_at_once_and_keeps_the_address() {
    let mut world = World::of_two().await;
    let publisher = world.node("one").publisher.take().unwrap();
    publisher.stop().await;
    world.pass(GRACE - Duration::from_secs(5), |addresses| assert_eq!(addresses, ["192.0.2.1,192.0.2.2"])).await;
    assert_eq!(world.leaders(), ["two"]);
    world.seconds(6).await;
    assert_eq!(world.addresses(), ["192.0.2.2"]);
    // An upgrade: it is stopped, and started within the grace period.
    world.start("one");
    world.seconds(5).await;
    assert_eq!(world.addresses(), ["192.0.2.1,192.0.2.2"]);
    world.node("one").publisher.take().unwrap().stop().await;
    world.seconds(20).await;
    world.start("one");
    world.pass(Duration::from_secs(120), |addresses| assert_eq!(addresses, ["192.0.2.1,192.0.2.2"])).await;
}

#[tokio::test(start_paused = true)]
async fn a_node_that_is_stopped_before_its_first_record_leaves_its_last_one_all_the_same() {
    let mut world = World::of_two().await;
    world.node("one").publisher = None;
    world.seconds(2 * LEASE.as_secs()).await;
    assert_eq!(world.addresses(), ["192.0.2.2"]);
    world.start("one");
    world.node("one").publisher.take().unwrap().stop().await;
    world.seconds(5).await;
    assert_eq!(world.addresses(), ["192.0.2.1,192.0.2.2"], "nginx serves there");
    world.seconds(GRACE.as_secs()).await;
    assert_eq!(world.addresses(), ["192.0.2.2"]);
}

#[tokio::test(start_paused = true)]
async fn a_node_whose_nginx_ends_with_it_is_withdrawn_at_once() {
    let mut world = World::of_two().await;
    world.node("one").serving = false;
    let served = world.nodes[0].served(&world.api);
    world.nodes[0].served.send_replace(Some(served));
    world.node("one").publisher.take().unwrap().stop().await;
    world.seconds(2).await;
    assert_eq!(world.addresses(), ["192.0.2.2"]);
}

#[tokio::test(start_paused = true)]
async fn without_a_grace_period_a_stop_withdraws_the_node_at_once() {
    for serving in [true, false] {
        let mut world = World::new();
        world.options.grace = Duration::ZERO;
        world.api.add_ingress("a");
        world.start("one");
        world.seconds(1).await;
        world.start("two");
        world.seconds(5).await;
        assert_eq!(world.addresses(), ["192.0.2.1,192.0.2.2"]);
        world.node("one").serving = serving;
        let served = world.nodes[0].served(&world.api);
        world.nodes[0].served.send_replace(Some(served));
        world.node("one").publisher.take().unwrap().stop().await;
        world.seconds(2).await;
        assert_eq!(world.addresses(), ["192.0.2.2"], "nginx serves: {serving}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_leader_that_cannot_reach_the_api_gives_up_before_another_takes_over() {
    for availability in [Availability::Away, Availability::Broken] {
        let mut world = World::of_two().await;
        world.node("one").availability.send_replace(availability);
        for _ in 0..400 {
            world.pass(STEP, is_not_empty).await;
            assert!(world.leaders().len() <= 1, "{:?}", world.leaders());
        }
        assert_eq!((world.addresses(), world.leaders()), (vec!["192.0.2.2".to_owned()], vec!["two"]));
        world.node("one").availability.send_replace(Availability::Well);
        world.pass(Duration::from_secs(30), is_not_empty).await;
        assert_eq!((world.addresses(), world.leaders()), (vec!["192.0.2.1,192.0.2.2".to_owned()], vec!["two"]));
    }
}

#[tokio::test(start_paused = true)]
async fn what_a_former_leader_wrote_changes_nothing_when_it_comes_late() {
    let mut world = World::of_two().await;
    // While cut off, it still notices a new object, and its write remains in progress for a long
    // time.
    world.api.add_ingress("b");
    let api = world.api.clone();
    let one = world.node("one");
    one.availability.send_replace(Availability::Late);
    one.served.send_replace(Some(one.served(&api)));
    world.pass(LEASE * 3, |addresses| assert!(!addresses[0].is_empty())).await;
    assert_eq!((world.addresses(), world.leaders()), (vec!["192.0.2.2".to_owned(); 2], vec!["two"]));
    let before = world.api.status_writers().len();
    world.node("one").availability.send_replace(Availability::Well);
    world.pass(Duration::from_secs(30), is_not_empty).await;
    assert_eq!((world.addresses(), world.leaders()), (vec!["192.0.2.1,192.0.2.2".to_owned(); 2], vec!["two"]));
    let writers = &world.api.status_writers()[before..];
    assert!(writers.iter().all(|node| node == "two"), "{writers:?}");
}

#[tokio::test(start_paused = true)]
async fn an_api_that_was_away_for_everybody_withdraws_nobody() {
    for minutes in [1, 5] {
        let mut world = World::new();
        world.api.add_ingress("a");
        for name in ["one", "two", "three"] {
            world.start(name);
        }
        world.seconds(10).await;
        world.set_availability(Availability::Away);
        world.seconds(60 * minutes).await;
        world.set_availability(Availability::Well);
        let all = "192.0.2.1,192.0.2.2,192.0.2.3";
        world.pass(Duration::from_secs(60), |addresses| assert_eq!(addresses, [all])).await;
        assert_eq!(world.leaders().len(), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn a_drained_node_and_one_whose_nginx_is_down_are_withdrawn_within_two_seconds() {
    for leader_goes in [true, false] {
        for is_drain in [true, false] {
            let mut world = World::of_two().await;
            let (goes, stays) = if leader_goes { ("one", "192.0.2.2") } else { ("two", "192.0.2.1") };
            let node = world.node(goes);
            if is_drain {
                node.drained = true;
            } else {
                node.serving = false;
            }
            world.pass(Duration::from_secs(2), is_not_empty).await;
            assert_eq!(world.addresses(), [stays]);
            let node = world.node(goes);
            (node.drained, node.serving) = (false, true);
            world.pass(Duration::from_secs(2), is_not_empty).await;
            assert_eq!(world.addresses(), ["192.0.2.1,192.0.2.2"]);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_node_is_published_only_in_objects_that_it_serves() {
    let mut world = World::of_two().await;
    // It goes on serving, but an older generation.
    world.node("two").follows = false;
    world.api.add_ingress("b");
    world.seconds(10).await;
    assert_eq!(world.addresses(), ["192.0.2.1,192.0.2.2", "192.0.2.1"]);
    // The leader's nginx is down; what the other node does not serve is served by none.
    world.node("one").serving = false;
    world.seconds(2).await;
    assert_eq!(world.addresses(), ["192.0.2.2", ""]);
    world.node("two").follows = true;
    world.seconds(2).await;
    assert_eq!(world.addresses(), ["192.0.2.2", "192.0.2.2"]);
}

#[tokio::test(start_paused = true)]
async fn a_node_that_cannot_read_the_objects_keeps_what_it_has_and_leads_nobody() {
    let mut world = World::of_two().await;
    let both = "192.0.2.1,192.0.2.2";
    world.node("two").publisher.take().unwrap().stop().await;
    world.node("two").informed = false;
    world.start("two");
    world.pass(2 * GRACE, |addresses| assert_eq!(addresses, [both])).await;
    world.api.add_ingress("b");
    world.seconds(5).await;
    assert_eq!(world.addresses(), [both, "192.0.2.1"]);
    world.node("one").publisher = None;
    world.seconds(3 * LEASE.as_secs()).await;
    assert_eq!((world.addresses(), world.leaders()), (vec![both.to_owned(), "192.0.2.1".to_owned()], Vec::new()));
    world.start("one");
    world.seconds(2).await;
    world.node("two").drained = true;
    world.seconds(2).await;
    assert_eq!((world.addresses(), world.leaders()), (vec!["192.0.2.1".to_owned(); 2], vec!["one"]));
    let two = world.node("two");
    (two.informed, two.drained) = (true, false);
    world.seconds(2).await;
    assert_eq!(world.addresses(), [both, both]);
}

#[tokio::test(start_paused = true)]
async fn the_record_of_a_node_that_is_gone_publishes_nothing() {
    let mut world = World::new();
    world.api.add_ingress("a");
    world.start("one");
    world.seconds(3).await;
    world.node("one").publisher.take().unwrap().stop().await;
    world.node("one").follows = false;
    let mut later = World { api: world.api.clone(), ..World::new() };
    later.start("other");
    later.seconds(2 * GRACE.as_secs()).await;
    // Both have the address that ends in 1; only the new node is known to be alive.
    assert_eq!(later.addresses(), ["192.0.2.1"]);
    later.api.add_ingress("b");
    later.seconds(2).await;
    assert_eq!(later.addresses(), ["192.0.2.1", "192.0.2.1"]);
}

#[tokio::test(start_paused = true)]
async fn another_controller_that_flips_the_status_is_left_alone_and_reported() {
    let mut world = World::new();
    world.api.add_ingress("a");
    world.api.add_ingress("b");
    world.start("one");
    world.seconds(1).await;
    for _ in 0..600 {
        world.api.overwrite("a", "203.0.113.9");
        world.seconds(1).await;
    }
    let flips = world.api.status_writes().iter().filter(|name| **name == "a").count();
    assert!((5..=12).contains(&flips), "{flips} writes in ten minutes");
    let reported = world.api.events();
    let reported: Vec<_> =
        reported.iter().filter(|event| event.reason.as_deref() == Some("StatusContention")).collect();
    assert_eq!(reported.len(), 1, "{reported:?}");
    assert_eq!(world.addresses()[1], "192.0.2.1");
    assert_eq!(world.nodes[0].publisher.as_ref().unwrap().outlook().findings().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn many_objects_are_written_at_a_steady_pace_and_the_newest_first() {
    let mut world = World::new();
    for number in 0..400 {
        world.api.add_ingress(&format!("old-{number:03}"));
    }
    world.start("one");
    world.seconds(2).await;
    world.api.add_ingress("new");
    let before = world.api.status_writes().len();
    assert!((50..=110).contains(&before), "{before} writes in two seconds");
    world.pass(Duration::from_millis(300), |_| {}).await;
    let since = &world.api.status_writes()[before..];
    assert!(since.iter().take(8).any(|name| name == "new"), "{since:?}");
    world.seconds(20).await;
    is_not_empty(&world.addresses());
}

#[tokio::test(start_paused = true)]
async fn what_was_withdrawn_because_a_node_was_out_comes_back_as_fast_as_it_went() {
    const OBJECTS: usize = 400;
    let mut world = World::new();
    for number in 0..OBJECTS {
        world.api.add_ingress(&format!("a-{number:03}"));
    }
    world.start("one");
    world.seconds(30).await;
    let addressed = |world: &World| world.addresses().iter().filter(|addresses| !addresses.is_empty()).count();
    assert_eq!(addressed(&world), OBJECTS);
    // The second time it has to stay for two seconds first.
    for seconds in [2, 4] {
        world.node("one").serving = false;
        world.seconds(2).await;
        assert_eq!(addressed(&world), 0);
        world.node("one").serving = true;
        world.seconds(seconds).await;
        assert_eq!(addressed(&world), OBJECTS);
    }
    // New addresses are written at the limited rate.
    let before = world.api.status_writes().len();
    for number in 0..OBJECTS {
        world.api.add_ingress(&format!("b-{number:03}"));
    }
    world.seconds(2).await;
    let since = world.api.status_writes().len() - before;
    assert!((50..=110).contains(&since), "{since} writes in two seconds");
}
