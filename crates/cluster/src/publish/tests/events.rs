//! Which Events are written, by one leader or several in turn.

use super::*;
use ingressd_model::finding::Severity;

/// The reasons of all Events, sorted.
fn reasons(world: &World) -> Vec<String> {
    let mut reasons: Vec<_> = world.api.events().into_iter().filter_map(|event| event.reason).collect();
    reasons.sort();
    reasons
}

#[tokio::test(start_paused = true)]
async fn events_are_written_once_by_the_leader_and_by_no_successor() {
    let mut world = World::new();
    world.api.add_ingress("a");
    let finding = || {
        let id = Arc::new(ObjectId::new(Kind::INGRESS, "shop", "a"));
        Finding::new(Reason::MissingService, Origin::object(&id), "there is no Service")
    };
    for name in ["one", "two"] {
        world.start(name);
        world.node(name).findings = vec![finding()];
        world.seconds(5).await;
    }
    assert_eq!(reasons(&world), ["MissingService", "Synced"]);
    world.node("one").publisher = None;
    world.seconds(40).await;
    assert_eq!(world.leaders(), ["two"]);
    assert_eq!(reasons(&world), ["MissingService", "Synced"]);
    // The finding goes away and comes back.
    world.node("two").findings.clear();
    world.seconds(1).await;
    world.node("two").findings = vec![finding()];
    world.seconds(3).await;
    assert_eq!(reasons(&world), ["MissingService", "MissingService", "Synced"]);
}

#[tokio::test(start_paused = true)]
async fn an_ingress_that_is_seen_before_its_class_gets_no_event_about_that() {
    let mut world = World::new();
    world.api.add_ingress("a");
    world.start("one");
    world.seconds(3).await;
    let id = Arc::new(ObjectId::new(Kind::INGRESS, "shop", "a"));
    let note = "there is no IngressClass \"edge\"; create it or correct the name";
    let finding =
        Finding { severity: Severity::Warning, ..Finding::new(Reason::ForeignClass, Origin::object(&id), note) };
    world.node("one").findings = vec![finding.clone()];
    world.seconds(1).await;
    world.node("one").findings.clear();
    world.seconds(10).await;
    assert_eq!(reasons(&world), ["Synced"]);
    // Where there is none, that is told, although nothing else happens.
    world.node("one").findings = vec![finding];
    world.seconds(3).await;
    assert_eq!(reasons(&world), ["ForeignClass", "Synced"]);
}

#[tokio::test(start_paused = true)]
async fn where_no_status_is_written_events_are_all_the_same() {
    let mut world = World::new();
    world.options.status = false;
    world.api.add_ingress("a");
    world.start("one");
    world.seconds(3).await;
    world.api.change("a", "2");
    world.seconds(3).await;
    assert_eq!((reasons(&world), world.addresses()), (vec!["Synced".to_owned(); 2], vec![String::new()]));
}

#[tokio::test(start_paused = true)]
async fn more_events_than_may_wait_are_written_without_a_pause_although_nothing_changes_meanwhile() {
    const OBJECTS: usize = 3000;
    let mut world = World::new();
    for number in 0..OBJECTS {
        world.api.add_ingress(&format!("a-{number:04}"));
    }
    world.options.event_rate = 1000;
    // It is reported once, and its Lease is renewed later.
    world.start("one");
    sleep(Duration::from_secs(4)).await;
    assert_eq!(world.api.events().len(), OBJECTS);
}

#[tokio::test(start_paused = true)]
async fn nobody_waits_for_the_events_of_another_namespace() {
    let refusal = super::api::Refusal { code: 403, reason: "Forbidden", after: 0 };
    let finding = |namespace: &str, number: usize| {
        let id = Arc::new(ObjectId::new(Kind::INGRESS, namespace, &format!("{namespace}-{number}")));
        Finding::new(Reason::UnknownAnnotation, Origin::object(&id), "x")
    };
    for refused in [false, true] {
        let mut world = World::new();
        if refused {
            // As when a quota of the namespace limits Events.
            world.api.refuse("/namespaces/crowd/events", refusal);
        }
        world.start("one");
        let bulk: Vec<_> = (0..3000).map(|number| finding("crowd", number)).collect();
        world.node("one").findings = bulk.clone();
        world.seconds(30).await;
        world.node("one").findings.extend((0..5).map(|number| finding("shop", number)));
        world.seconds(3).await;
        assert_eq!(reasons(&world).len(), 5, "refused: {refused}");
        let tried = world.api.refused("/namespaces/crowd/events").len();
        assert!(tried <= 7, "it is tried ever more seldom: {tried}");
    }
}

#[tokio::test(start_paused = true)]
async fn each_change_is_reported_as_served_once_also_one_that_takes_another_back() {
    let mut world = World::of_two().await;
    let mut expected = 1;
    assert_eq!(reasons(&world).len(), expected);
    for content in ["2", "1", "2", "1"] {
        world.api.change("a", content);
        world.seconds(1).await;
        expected += 1;
        assert_eq!(reasons(&world).len(), expected);
    }
    // The next leader does not repeat what was reported, and reports what comes back.
    world.node("one").publisher = None;
    world.seconds(2 * LEASE.as_secs()).await;
    assert_eq!((world.leaders(), reasons(&world).len()), (vec!["two"], expected));
    world.api.change("a", "2");
    world.seconds(1).await;
    assert_eq!(reasons(&world).len(), expected + 1);
}

#[tokio::test(start_paused = true)]
async fn a_change_that_two_leaders_see_is_reported_once() {
    let mut world = World::of_two().await;
    // The second node is behind: it sees the change only when it leads.
    world.node("two").follows = false;
    world.api.change("a", "2");
    world.seconds(1).await;
    assert_eq!(reasons(&world), ["Synced", "Synced"]);
    world.node("one").publisher = None;
    while world.leaders() != ["two"] {
        world.seconds(1).await;
    }
    world.node("two").follows = true;
    world.seconds(1).await;
    assert_eq!(reasons(&world), ["Synced", "Synced"]);
}

#[tokio::test(start_paused = true)]
async fn what_breaks_again_is_reported_again_also_after_another_start_and_by_another_leader() {
    let mut world = World::new();
    world.api.add_ingress("a");
    let id = Arc::new(ObjectId::new(Kind::INGRESS, "shop", "a"));
    let findings = vec![Finding::new(Reason::MissingService, Origin::object(&id), "there is no Service")];
    let warnings = |world: &World| reasons(world).iter().filter(|reason| *reason == "MissingService").count();
    world.start("one");
    let (mut name, mut expected) = ("one", 0);
    for ends in [true, true, false, false] {
        world.seconds(70).await;
        for _ in 0..2 {
            world.node(name).findings = findings.clone();
            world.seconds(3).await;
            expected += 1;
            assert_eq!(warnings(&world), expected);
            world.node(name).findings.clear();
            world.seconds(3).await;
        }
        // The finding appears while no node leads, and was reported before.
        world.node(name).findings = findings.clone();
        world.seconds(3).await;
        expected += 1;
        if ends {
            world.node(name).publisher = None;
            name = if name == "one" { "two" } else { "one" };
            world.start(name);
            world.node(name).findings = findings.clone();
        } else {
            world.node(name).availability.send_replace(Availability::Away);
            world.seconds(60).await;
            assert_eq!(world.leaders(), [""; 0]);
            world.node(name).availability.send_replace(Availability::Well);
        }
        world.seconds(50).await;
        assert_eq!((world.leaders(), warnings(&world)), (vec![name], expected));
        for again in [Vec::new(), findings.clone(), Vec::new()] {
            // A new leader knows of no earlier time, and takes the finding for one that was there
            // before.
            expected += usize::from(!again.is_empty() && !ends);
            world.node(name).findings = again;
            world.seconds(3).await;
            assert_eq!(warnings(&world), expected);
        }
    }
}
