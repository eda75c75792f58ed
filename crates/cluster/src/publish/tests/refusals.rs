//! An API that refuses writes, some or all, and then accepts them again.

use super::api::Refusal;
use super::*;
use crate::source::cluster::double::Fault;

/// Ways in which an API refuses for a time: conflict, not found, too many requests, forbidden,
/// internal error.
const REFUSALS: [Refusal; 5] = [
    Refusal { code: 403, reason: "Forbidden", after: 0 },
    Refusal { code: 404, reason: "NotFound", after: 0 },
    Refusal { code: 409, reason: "Conflict", after: 0 },
    Refusal { code: 429, reason: "TooManyRequests", after: 7 },
    Refusal { code: 500, reason: "InternalError", after: 0 },
];

/// Long enough for every pause to reach its limit.
const MINUTES: u64 = 5;

fn world(objects: usize) -> World {
    let mut world = World::new();
    for number in 0..objects {
        world.api.add_ingress(&format!("a-{number:02}"));
    }
    world.start("one");
    world
}

#[tokio::test(start_paused = true)]
async fn what_is_refused_is_asked_seldom_and_written_when_the_api_relents() {
    for refusal in REFUSALS {
        for objects in [1, 40] {
            let mut world = world(objects);
            world.api.refuse("/status", refusal);
            world.api.refuse("/events", refusal);
            world.seconds(60 * MINUTES).await;
            let what = format!("{refusal:?} of {objects}");
            assert!(world.api.status_writes().is_empty() && world.api.events().is_empty(), "{what}");
            assert_eq!(world.leaders(), ["one"], "{what}: the Lease is another matter");
            for path in ["/status", "/events"] {
                let refused = world.api.refused(path).len();
                // Each object is tried once, and then once in half a minute.
                assert!((8..=16 * objects).contains(&refused), "{what}: {refused} calls to {path}");
            }
            world.api.relent();
            world.seconds(60).await;
            assert_eq!(world.addresses(), vec!["192.0.2.1"; objects], "{what}");
            assert_eq!(world.api.events().len(), objects, "{what}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_read_in_vain_solves_nothing() {
    let mut world = World::new();
    world.api.fail("leases", "create", Some(Fault::Status(404)));
    world.start("one");
    let outlook = world.node("one").publisher.as_ref().unwrap().outlook().clone();
    let fails = || outlook.findings().iter().any(|finding| finding.note.contains("the Lease of the leader cannot"));
    world.seconds(5).await;
    // The Lease is found to be missing, and while it is written that is not solved yet.
    world.api.fail("leases", "create", Some(Fault::Silence));
    for _ in 0..600 {
        assert!(fails(), "it is not solved");
        world.pass(STEP, |_| {}).await;
    }
    world.api.fail("leases", "create", None);
    world.seconds(15).await;
    assert!(!fails());
    assert_eq!(world.leaders(), ["one"]);
}

#[tokio::test(start_paused = true)]
async fn an_api_that_asks_for_time_gets_it() {
    let mut world = world(1);
    let after = 20;
    for path in ["/status", "/events"] {
        world.api.refuse(path, Refusal { code: 429, reason: "TooManyRequests", after });
    }
    world.seconds(60).await;
    for path in ["/status", "/events"] {
        let times = world.api.refused(path);
        let gaps: Vec<_> = times.windows(2).map(|pair| (pair[1] - pair[0]).as_secs()).collect();
        assert!(!gaps.is_empty() && gaps.iter().all(|gap| *gap >= after.into()), "{path}: {gaps:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn one_object_that_is_refused_keeps_no_other_waiting() {
    for refusal in REFUSALS {
        let mut world = world(1);
        world.api.add_ingress("bad");
        world.api.refuse("/ingresses/bad/status", refusal);
        // By now it was tried six times.
        world.seconds(65).await;
        for number in 0..20 {
            let name = format!("new-{number:02}");
            world.api.add_ingress(&name);
            // A pause that the API itself asks for is kept, though.
            world.seconds(2 + u64::from(refusal.after)).await;
            assert_eq!(world.api.status_writes().last(), Some(&name), "{refusal:?}");
        }
        let refused = world.api.refused("/bad/").len();
        assert!((4..=20).contains(&refused), "{refusal:?}: {refused} calls");
        world.api.relent();
        world.seconds(35).await;
        assert!(world.addresses().iter().all(|addresses| addresses == "192.0.2.1"), "{refusal:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn without_a_lease_nobody_leads_and_nothing_is_lost() {
    for refusal in REFUSALS {
        let mut world = world(1);
        world.seconds(5).await;
        assert_eq!((world.addresses(), world.leaders()), (vec!["192.0.2.1".to_owned()], vec!["one"]));
        world.api.refuse("/leases", refusal);
        world.api.add_ingress("b");
        world.seconds(60 * MINUTES).await;
        assert!(world.leaders().is_empty(), "{refusal:?}");
        assert_eq!(world.addresses()[0], "192.0.2.1", "{refusal:?}");
        // Two Leases (the member's and the leader's), each tried every two seconds.
        let refused = world.api.refused("/leases").len() as u64;
        assert!((30 * MINUTES..=61 * MINUTES).contains(&refused), "{refusal:?}: {refused} calls");
        world.api.relent();
        world.seconds(LEASE.as_secs()).await;
        assert_eq!((world.addresses(), world.leaders()), (vec!["192.0.2.1".to_owned(); 2], vec!["one"]), "{refusal:?}");
    }
}

/// The number of findings about publishing.
fn findings(world: &World, name: &str) -> usize {
    let node = world.nodes.iter().find(|node| node.name == name).unwrap();
    node.publisher.as_ref().unwrap().outlook().findings().len()
}

#[tokio::test(start_paused = true)]
async fn a_failed_write_that_is_not_needed_any_more_is_no_trouble() {
    let refusal = REFUSALS[0];
    // The node is drained, so that nothing has to be written.
    let mut world = world(1);
    world.api.refuse("/status", refusal);
    world.seconds(10).await;
    assert_eq!(findings(&world, "one"), 1);
    world.node("one").drained = true;
    world.seconds(1).await;
    assert_eq!(findings(&world, "one"), 0);
    // Another node leads, and writes.
    let mut world = World::of_two().await;
    world.api.refuse("/status", refusal);
    world.api.add_ingress("b");
    world.seconds(5).await;
    assert_eq!((findings(&world, "one"), findings(&world, "two")), (1, 0));
    world.node("one").availability.send_replace(Availability::Away);
    world.seconds(3 * LEASE.as_secs()).await;
    world.api.relent();
    world.node("one").availability.send_replace(Availability::Well);
    world.seconds(60).await;
    assert_eq!((world.leaders(), world.addresses()), (vec!["two"], vec!["192.0.2.1,192.0.2.2".to_owned(); 2]));
    assert_eq!((findings(&world, "one"), findings(&world, "two")), (0, 0));
}
