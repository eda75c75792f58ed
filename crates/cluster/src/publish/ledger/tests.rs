//! Which statuses are written when, in step by step scenarios.

mod series;

use std::collections::BTreeSet;

use k8s_openapi::api::networking::v1::{IngressLoadBalancerIngress, IngressLoadBalancerStatus, IngressStatus};

use super::*;
use crate::publish::member::Member;
use crate::publish::members::Life;
use crate::publish::served::in_place;
use ingressd_model::Kind;
use ingressd_objects::{Ingress, Lists, Published, rows};

const A: &str = "192.0.2.1";
const B: &str = "192.0.2.2";
const FOREIGN: &str = "203.0.113.9";

/// An Ingress of this name and revision with these addresses; younger ones have higher ages.
fn ingress(name: &str, revision: u64, content: u64, addresses: &[&str], created: i64) -> Stored<Ingress> {
    let entry = |text: &&str| IngressLoadBalancerIngress { ip: Some((*text).into()), ..Default::default() };
    let list = addresses.iter().map(entry).collect();
    let object = Ingress {
        uid: Some(format!("uid-{name}").into()),
        created: Some(Timestamp::from_second(created).unwrap()),
        ..Ingress::default()
    };
    let published = Published {
        revision: Some(revision.to_string().into()),
        status: Some(IngressStatus { load_balancer: Some(IngressLoadBalancerStatus { ingress: Some(list) }) }),
        ..Published::default()
    };
    let id = Arc::new(ObjectId::new(Kind::INGRESS, "shop", name));
    let version = Version(content.to_string().into());
    Stored { id, version, object: Arc::new(object), published: Some(Arc::new(published)), place: None }
}

fn served(ingresses: Vec<Stored<Ingress>>, observed: u128) -> Served {
    let states = ingresses.iter().map(|stored| in_place(&stored.id, &stored.version));
    Served {
        states: states.collect(),
        confirmed: true,
        observed: Some(Revision(observed)),
        snapshot: Arc::new(Snapshot { ingresses: ingresses.into(), ..Snapshot::default() }),
        serving: true,
        ..Served::default()
    }
}

/// A node without addresses that serves.
fn member() -> Member {
    Member::serving_at("a", &[])
}

fn nodes(published: bool) -> Nodes {
    nodes_with(published, false, None)
}

/// This node, published or not, and another one, alive or not.
fn nodes_with(published: bool, is_alive: bool, observed: Option<Revision>) -> Nodes {
    let us = Member { addresses: vec![A.parse().unwrap()], serving: published, ..member() };
    let other = Member { identity: "b".into(), addresses: vec![B.parse().unwrap()], observed, ..us.clone() };
    let other = Arc::new(Member { serving: is_alive || published, ..other });
    let life = if is_alive { Life::Alive } else { Life::Expired };
    Nodes::new(&us, [(&other, life)].into_iter(), &BTreeSet::new())
}

fn empty() -> Ledger {
    Ledger::new(IngressAddresses, Arc::default())
}

fn plan(ledger: &mut Ledger, served: &Served, now: Instant) -> Plan {
    ledger.plan(served, &nodes(true), &UnderWay::new(), now)
}

/// The names and addresses of the planned writes.
fn shown(plan: &Plan) -> Vec<String> {
    let shown = |write: &Write| {
        let addresses: Vec<_> = write.content.iter().map(ToString::to_string).collect();
        format!("{} {}", write.id.name, addresses.join(","))
    };
    plan.writes.iter().map(shown).collect()
}

#[test]
fn withdrawals_come_first_and_then_the_newest() {
    let objects = vec![
        ingress("a-old", 1, 1, &[], 100),
        ingress("b-new", 2, 1, &[], 300),
        ingress("c-done", 3, 1, &[A], 200),
        ingress("d-dead", 4, 1, &[A, B], 50),
        ingress("e-foreign", 5, 1, &[FOREIGN], 60),
    ];
    let plan = plan(&mut empty(), &served(objects, 10), Instant::now());
    let expected = ["d-dead 192.0.2.1", "b-new 192.0.2.1", "a-old 192.0.2.1", "e-foreign 192.0.2.1"];
    assert_eq!(shown(&plan), expected);
}

#[test]
fn what_did_not_change_is_not_looked_at() {
    let now = Instant::now();
    let mut ledger = empty();
    let all: Vec<_> = (0..1000).map(|number| ingress(&format!("i{number:03}"), 5, 1, &[A, B], 0)).collect();
    let served = served(all, 10);
    let mut looked_at = |served: &Served, nodes: &Nodes| {
        assert_eq!(shown(&ledger.plan(served, nodes, &UnderWay::new(), now)), [""; 0]);
        ledger.looked_at
    };
    let progress = |observed| nodes_with(true, true, Some(Revision(observed)));
    assert_eq!(looked_at(&served, &progress(20)), 1000);
    let later = Served { observed: Some(Revision(11)), findings: [].into(), ..served.clone() };
    assert_eq!(looked_at(&later, &progress(20)), 0);
    // A status, and a state.
    let mut snapshot = Snapshot::clone(&served.snapshot);
    snapshot.ingresses.edit()[7].published = ingress("i007", 12, 1, &[A, B], 0).published;
    let reported = Served { snapshot: Arc::new(snapshot), ..later };
    assert_eq!(looked_at(&reported, &progress(20)), 1);
    let mut states = reported.states.to_vec();
    states[3] = Arc::new(ObjectState::clone(&states[3]));
    let closed = Served { states: states.into(), ..reported };
    assert_eq!(looked_at(&closed, &progress(20)), 1);
    // Another node has come further, and is taken as it is when it has fallen behind.
    assert_eq!([4, 20, 21, 20].map(|observed| looked_at(&closed, &progress(observed))), [1000, 1000, 0, 1000]);
}

#[test]
fn only_what_we_wrote_is_withdrawn_and_only_once() {
    let now = Instant::now();
    let mut ledger = empty();
    let mut served = served(vec![ingress("a", 1, 1, &[A], 0), ingress("b", 2, 1, &[FOREIGN], 0)], 10);
    let states = std::mem::take(&mut served.states);
    let first = plan(&mut ledger, &served, now);
    assert_eq!(shown(&first), ["a "]);
    // The address turned out not to be ours: the API left it as it was.
    ledger.wrote(&first.writes[0], Some("1"));
    assert_eq!(shown(&plan(&mut ledger, &served, now)), [""; 0]);
    // nginx does not run any more.
    let mut ledger = empty();
    served.states = states;
    let plan = ledger.plan(&served, &nodes(false), &UnderWay::new(), now);
    // An address in an object of ours may be one that a node had before.
    assert_eq!(shown(&plan), ["a ", "b "]);
    assert!(plan.writes[0].urgent && !plan.writes[1].urgent);
}

/// The same, with managers that applied something.
fn applied_by(stored: Stored<Ingress>, names: &[&str]) -> Stored<Ingress> {
    let published = Published::clone(stored.published.as_ref().unwrap());
    let appliers = Some(names.iter().map(|name| Box::from(*name)).collect());
    Stored { published: Some(Arc::new(Published { appliers, ..published })), ..stored }
}

#[test]
fn what_others_applied_stays_unless_the_address_of_a_node_stands_in_an_object_of_ours() {
    const OURS: &str = "ingressd/ingressd/ingressd";
    for (what, appliers, addresses, accepted, expected) in [
        ("ours, in an object that is not any more", &[OURS][..], &[A][..], false, Some(false)),
        ("ours, of a node that nobody knows any more", &[OURS], &[FOREIGN], false, Some(false)),
        ("another instance's", &["ingressd/other/ingressd"], &[A], false, None),
        ("written by another controller before us", &[], &[A], true, Some(true)),
        ("somebody else's", &[], &[FOREIGN], true, None),
        ("ours", &[OURS], &[A], true, Some(false)),
    ] {
        let mut ledger = Ledger::new(IngressAddresses, OURS.into());
        let mut served = served(vec![applied_by(ingress("a", 5, 1, addresses, 0), appliers)], 10);
        if !accepted {
            served.states = Arc::default();
        }
        // The only node that serves is lost.
        let plan = ledger.plan(&served, &nodes(false), &UnderWay::new(), Instant::now());
        let theirs: Vec<_> = plan.writes.iter().map(|write| (write.content.len(), write.theirs)).collect();
        assert_eq!(theirs, expected.map(|theirs| (0, theirs)).into_iter().collect::<Vec<_>>(), "{what}");
    }
}

#[test]
fn failing_writes_go_behind_others_also_when_their_objects_change() {
    let now = Instant::now();
    let mut ledger = empty();
    let objects = |revision| {
        let bad = ["y-bad", "z-bad"].map(|name| ingress(name, revision, revision, &[], 900));
        served([ingress("a-good", 1, 1, &[], 0)].into_iter().chain(bad).collect(), 100)
    };
    let away = || Failure::Away { why: String::new(), code: Some(500), retry_after: Duration::ZERO };
    let first = plan(&mut ledger, &objects(5), now);
    assert_eq!(shown(&first), ["y-bad 192.0.2.1", "z-bad 192.0.2.1", "a-good 192.0.2.1"]);
    for write in first.writes.iter().filter(|write| write.id.name.ends_with("bad")) {
        ledger.failed(write, &away(), now);
    }
    let later = plan(&mut ledger, &objects(6), now);
    assert_eq!(shown(&later), ["a-good 192.0.2.1", "y-bad 192.0.2.1", "z-bad 192.0.2.1"]);
    ledger.wrote(&later.writes[1], Some("7"));
    let overwritten = served(vec![ingress("y-bad", 8, 6, &[FOREIGN], 900)], 100);
    assert!(!plan(&mut ledger, &overwritten, now).writes[0].failed);
}

#[test]
fn nothing_is_published_before_the_generation_that_carries_it() {
    let now = Instant::now();
    let mut ledger = empty();
    // Content of revision 11 is not in a generation that was made at revision 10.
    assert_eq!(shown(&plan(&mut ledger, &served(vec![ingress("a", 11, 1, &[], 0)], 10), now)), [""; 0]);
    assert_eq!(shown(&plan(&mut ledger, &served(vec![ingress("a", 11, 1, &[], 0)], 11), now)), ["a 192.0.2.1"]);
    // A later revision with the same content does not need a newer generation.
    assert_eq!(shown(&plan(&mut ledger, &served(vec![ingress("a", 20, 1, &[], 0)], 11), now)), ["a 192.0.2.1"]);
    // A new content is not served yet, but the previous one is.
    assert_eq!(shown(&plan(&mut ledger, &served(vec![ingress("a", 21, 2, &[A], 0)], 11), now)), [""; 0]);
}

#[test]
fn what_became_ours_without_changing_is_served_by_those_who_know_of_that() {
    let now = Instant::now();
    let mut ledger = empty();
    let foreign = Served { states: Arc::default(), ..served(vec![ingress("a", 5, 1, &[], 0)], 10) };
    let other = |observed| {
        let us = Member { identity: "a".into(), addresses: vec![A.parse().unwrap()], ..member() };
        let other = Member { identity: "b".into(), addresses: vec![B.parse().unwrap()], observed, ..us.clone() };
        Nodes::new(&us, [(&Arc::new(other), Life::Alive)].into_iter(), &BTreeSet::new())
    };
    let mut shown = |served: &Served, observed| {
        let plan = ledger.plan(served, &other(Some(Revision(observed))), &UnderWay::new(), now);
        self::shown(&plan)
    };
    assert_eq!(shown(&foreign, 10), [""; 0]);
    // The class came at revision 12, which the other node has not seen yet: it does not help that
    // it knows the object.
    let ours = served(vec![ingress("a", 5, 1, &[], 0)], 12);
    assert_eq!(shown(&ours, 10), ["a 192.0.2.1"]);
    assert_eq!(shown(&ours, 12), ["a 192.0.2.1,192.0.2.2"]);
    // An object that was not compared yet belongs to no one else: a new object exists before the
    // generation that has it.
    let new = served(vec![ingress("n", 15, 1, &[], 0)], 20);
    let unread = Served { states: Arc::default(), observed: Some(Revision(14)), ..new.clone() };
    assert_eq!(shown(&unread, 15), [""; 0]);
    assert_eq!(shown(&new, 15), ["n 192.0.2.1,192.0.2.2"]);
    // An object that existed before is not new: it came with its namespace, of which the other
    // node has to know.
    let both = served(vec![ingress("came", 7, 1, &[], 0), ingress("n", 15, 1, &[A, B], 0)], 22);
    assert_eq!(shown(&both, 20), ["came 192.0.2.1"]);
    assert_eq!(shown(&both, 22), ["came 192.0.2.1,192.0.2.2"]);
}

#[test]
fn what_we_wrote_where_nothing_is_served_any_more_is_withdrawn() {
    let now = Instant::now();
    let mut ledger = empty();
    let us = Member { addresses: vec![A.parse().unwrap()], ..member() };
    let observed = Some(Revision(10));
    let other = Member { identity: "b".into(), addresses: vec![B.parse().unwrap()], observed, ..us.clone() };
    let nodes = Nodes::new(&us, [(&Arc::new(other), Life::Alive)].into_iter(), &BTreeSet::new());
    let mut plan = |served: &Served| ledger.plan(served, &nodes, &UnderWay::new(), now);
    let mut objects = vec![ingress("a", 1, 1, &[A, B], 0), ingress("b", 2, 1, &[A, B], 0)];
    let inside = served(objects.clone(), 10);
    assert_eq!(shown(&plan(&inside)), [""; 0]);
    // The previous generation is still in force and serves b; c never was ours.
    let mut outside = Lists::default();
    *outside.list_mut::<rows::Ingress>() = vec![objects.remove(1), ingress("c", 3, 1, &[FOREIGN], 0)].into();
    let snapshot = Snapshot { ingresses: objects.into(), outside, ..Snapshot::default() };
    let left = Served { snapshot: Arc::new(snapshot), ..inside };
    let second = plan(&left);
    assert_eq!((shown(&second), second.writes[0].urgent), (vec!["b ".to_owned()], true));
    ledger.wrote(&second.writes[0], Some("11"));
    assert_eq!(shown(&ledger.plan(&left, &nodes, &UnderWay::new(), now)), [""; 0]);
}

#[test]
fn what_was_written_counts_until_the_cache_has_it() {
    let now = Instant::now();
    let mut ledger = empty();
    let first = plan(&mut ledger, &served(vec![ingress("a", 5, 1, &[], 0)], 10), now);
    ledger.wrote(&first.writes[0], Some("8"));
    let behind = served(vec![ingress("a", 5, 1, &[], 0)], 10);
    assert_eq!(shown(&plan(&mut ledger, &behind, now)), [""; 0]);
    let caught_up = served(vec![ingress("a", 8, 1, &[A], 0)], 10);
    assert_eq!(shown(&plan(&mut ledger, &caught_up, now)), [""; 0]);
    // An object that is being written is not written twice, and is compared again when its desired
    // status changed.
    let overtaken = served(vec![ingress("a", 9, 1, &[FOREIGN], 0)], 10);
    for (addresses, seen, left_out) in [
        (&[A][..], &behind, false),
        (&[], &behind, true),
        (&[A], &caught_up, false),
        // Another controller wrote before we know that our write succeeded.
        (&[A], &overtaken, true),
    ] {
        let addresses = addresses.iter().map(|text| text.parse().unwrap()).collect();
        let write = Write { content: addresses, ..first.writes[0].clone() };
        let under_way = UnderWay::from([(Arc::clone(&write.id), write)]);
        let expected = Plan { left_out, ..Plan::default() };
        assert_eq!(ledger.plan(seen, &nodes(true), &under_way, now), expected);
    }
}

#[test]
fn a_write_is_for_one_version_and_is_decided_anew_for_another() {
    let now = Instant::now();
    let mut ledger = empty();
    let first = plan(&mut ledger, &served(vec![ingress("a", 5, 1, &[], 0)], 10), now);
    assert_eq!(&*first.writes[0].at, "5");
    let conflict = Failure::Conflict(String::new());
    assert!(ledger.is_outdated(&first.writes[0], &conflict));
    ledger.failed(&first.writes[0], &conflict, now);
    assert!(!ledger.is_outdated(&first.writes[0], &conflict), "once more would have another cause");
    let waiting = plan(&mut ledger, &served(vec![ingress("a", 5, 1, &[], 0)], 10), now);
    assert_eq!((waiting.writes.len(), waiting.next), (0, Some(now + RETRY)));
    let newer = plan(&mut ledger, &served(vec![ingress("a", 6, 1, &[FOREIGN], 0)], 10), now);
    assert_eq!((&*newer.writes[0].at, ledger.is_clear()), ("6", true));
    // The cache is behind what we wrote, and the next write is based on what we wrote.
    ledger.wrote(&newer.writes[0], Some("8"));
    let behind = served(vec![ingress("a", 6, 1, &[FOREIGN], 0)], 10);
    let withdrawn = ledger.plan(&behind, &nodes(false), &HashMap::new(), now);
    assert_eq!((shown(&withdrawn), &*withdrawn.writes[0].at), (vec!["a ".to_owned()], "8"));
}

#[test]
fn who_keeps_overwriting_it_is_left_alone_for_a_growing_time() {
    let mut now = Instant::now();
    let mut ledger = empty();
    let mut revision = 5;
    let mut waited = Vec::new();
    for _ in 0..6 {
        let flipped = served(vec![ingress("a", revision, 1, &[FOREIGN], 0)], 10);
        let began = now;
        let mut next = plan(&mut ledger, &flipped, now);
        while next.writes.is_empty() {
            assert_eq!(next.contended.len(), 1, "it is told");
            now = next.next.unwrap();
            next = plan(&mut ledger, &flipped, now);
        }
        waited.push((now - began).as_secs());
        ledger.sent(&next.writes[0], now);
        ledger.wrote(&next.writes[0], Some(&(revision + 1).to_string()));
        revision += 2;
    }
    assert_eq!(waited, [0, 0, 0, 0, 10, 20]);
    // Changes by its owner meanwhile wait as well, before the object is served and after.
    for (observed, later) in [(revision, 0), (revision + 1, 0), (revision + 1, 40)] {
        let changed = served(vec![ingress("a", revision + 1, 2, &[FOREIGN], 0)], observed.into());
        let writes = shown(&plan(&mut ledger, &changed, now + Duration::from_secs(later)));
        assert_eq!(writes.is_empty(), later == 0, "{writes:?}");
    }
}

#[test]
fn an_object_that_waits_with_one_list_of_addresses_does_not_wait_with_another() {
    let now = Instant::now();
    let flipped = |revision| served(vec![ingress("a", revision, 1, &[A, FOREIGN], 0)], 10);
    // Another controller overwrites it again and again, and failed writes are not tried again at
    // once.
    let mut contended = empty();
    for number in 0..4 {
        let plan = plan(&mut contended, &flipped(5 + 2 * number), now);
        contended.sent(&plan.writes[0], now);
        contended.wrote(&plan.writes[0], Some(&(6 + 2 * number).to_string()));
    }
    let mut refused = empty();
    let write = plan(&mut refused, &flipped(13), now).writes.remove(0);
    refused.failed(&write, &Failure::Refused(String::new()), now);
    for mut ledger in [contended, refused] {
        assert!(plan(&mut ledger, &flipped(13), now).writes.is_empty());
        // The node goes down: its address is withdrawn at once.
        let withdrawn = ledger.plan(&flipped(13), &nodes(false), &UnderWay::new(), now);
        assert_eq!(shown(&withdrawn), ["a "]);
        assert!(withdrawn.writes[0].urgent);
    }
}

#[test]
fn a_manager_that_restores_the_address_of_a_withdrawn_node_is_left_alone_too() {
    let now = Instant::now();
    let mut ledger = empty();
    // The other node is gone, and another controller insists on its address.
    for number in 0..4 {
        let plan = plan(&mut ledger, &served(vec![ingress("a", 5 + 2 * number, 1, &[A, B], 0)], 10), now);
        assert!(plan.writes[0].urgent);
        ledger.sent(&plan.writes[0], now);
        ledger.wrote(&plan.writes[0], Some(&(6 + 2 * number).to_string()));
    }
    let flipped = served(vec![ingress("a", 13, 1, &[A, B], 0)], 10);
    assert!(plan(&mut ledger, &flipped, now).writes.is_empty());
}

#[test]
fn what_fails_is_tried_ever_more_seldom() {
    let away = Failure::Away { why: String::new(), code: Some(500), retry_after: Duration::ZERO };
    for (failure, longest) in
        [(Failure::Refused(String::new()), 600), (Failure::Conflict(String::new()), 30), (away, 30)]
    {
        let (began, mut now) = (Instant::now(), Instant::now());
        let mut ledger = empty();
        let served = served(vec![ingress("a", 5, 1, &[], 0)], 10);
        let mut pauses = Vec::new();
        for _ in 0..12 {
            let due = plan(&mut ledger, &served, now);
            assert_eq!(due.writes.len(), 1, "{failure:?} after {:?}", now - began);
            ledger.failed(&due.writes[0], &failure, now);
            let waiting = plan(&mut ledger, &served, now);
            assert!(waiting.writes.is_empty() && !ledger.is_clear());
            pauses.push((waiting.next.unwrap() - now).as_secs());
            now = waiting.next.unwrap();
        }
        assert_eq!((pauses[..4].to_vec(), *pauses.last().unwrap()), (vec![2, 4, 8, 16], longest), "{failure:?}");
        let due = plan(&mut ledger, &served, now);
        ledger.wrote(&due.writes[0], Some("6"));
        assert!(ledger.is_clear());
    }
}
