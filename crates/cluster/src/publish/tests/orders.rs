//! Nodes that wait for an order before they write statuses, and an order that stops them.

use super::World;
use crate::publish::{Order, Writes};

/// The address that another controller wrote.
const OTHER: &str = "203.0.113.9";

impl World {
    fn order(&self, order: Order) {
        self.api.put("leases", order.lease(&self.options.namespace, &self.options.lease));
    }

    /// What each node's Lease says about writing statuses.
    fn writes(&mut self) -> Vec<Option<Writes>> {
        let outlook = self.node("two").publisher.as_ref().unwrap().outlook().clone();
        outlook.view().members.iter().map(|peer| peer.member.writes).collect()
    }
}

/// Two nodes that wait for an order, beside another controller.
async fn waiting() -> World {
    let mut world = World::new();
    world.options.hold = true;
    world.api.add_ingress("a");
    world.api.overwrite("a", OTHER);
    world.start("one");
    world.start("two");
    world.seconds(10).await;
    assert_eq!((world.addresses(), world.leaders().len()), (vec![OTHER.to_owned()], 1));
    world
}

#[tokio::test(start_paused = true)]
async fn statuses_are_left_alone_until_there_is_an_order() {
    let mut world = waiting().await;
    assert_eq!(world.writes(), [Some(Writes::Held); 2]);
    assert!(world.api.status_writes().is_empty());
    world.order(Order::Publish);
    world.seconds(3).await;
    assert_eq!(
        (world.addresses(), world.writes()),
        (vec!["192.0.2.1,192.0.2.2".to_owned()], vec![Some(Writes::Now); 2])
    );
}

#[tokio::test(start_paused = true)]
async fn an_order_to_hold_takes_precedence_over_settings_for_each_leader() {
    let mut world = waiting().await;
    world.order(Order::Publish);
    world.seconds(3).await;
    world.order(Order::Hold);
    world.seconds(3).await;
    assert_eq!(world.writes(), [Some(Writes::Held); 2]);
    let before = world.api.status_writes().len();
    world.api.overwrite("a", OTHER);
    world.options.hold = false;
    // The leader ends, the former leader comes back, and neither remembers the order.
    for name in ["one", "two"] {
        world.node(name).publisher.take().unwrap().stop().await;
        world.seconds(30).await;
        world.start(name);
        world.seconds(30).await;
    }
    assert_eq!((world.addresses(), world.api.status_writes().len()), (vec![OTHER.to_owned()], before));
    // Without an order the settings count.
    world.api.delete("leases", &world.options.namespace, &Order::lease_name(&world.options.lease));
    world.seconds(3).await;
    assert_eq!(world.addresses(), ["192.0.2.1,192.0.2.2"]);
}

#[tokio::test(start_paused = true)]
async fn a_node_that_never_writes_says_so() {
    let mut world = World::new();
    world.options.status = false;
    world.api.add_ingress("a");
    world.start("two");
    world.seconds(3).await;
    world.order(Order::Publish);
    world.seconds(3).await;
    assert_eq!((world.addresses(), world.writes()), (vec![String::new()], vec![Some(Writes::Never)]));
}
