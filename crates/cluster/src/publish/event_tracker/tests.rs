//! Which Events are due after which findings, and when.

use k8s_openapi::api::networking::v1::IngressLoadBalancerIngress;

use super::*;
use crate::publish::served::in_place;
use ingressd_model::finding::Reason;
use ingressd_model::{Field, Kind, Origin, WorkingVersion};
use ingressd_objects::{Ingress, Published, Snapshot, Stored};

fn finding(name: &str, note: &str) -> Finding {
    let id = Arc::new(ObjectId::new(Kind::INGRESS, "shop", name));
    Finding::new(Reason::MissingService, Origin::field(&id, Field::Rule(0)), note)
}

/// A look, and another one when what is wrong has lasted for long enough.
fn look(tracker: &mut EventTracker, served: &Served, others: &[Finding], now: Instant) -> usize {
    tracker.update(served, others, now) + tracker.update(served, others, now + LASTING)
}

fn spread(tracker: &mut EventTracker) -> Vec<String> {
    let now = Instant::now() + SETTLING * 100;
    let notices = std::iter::from_fn(|| tracker.queue.take(now));
    notices
        .map(|notice| format!("{} {} {}", notice.reason, notice.regarding.name.as_deref().unwrap(), notice.name))
        .collect()
}

#[test]
fn a_finding_is_reported_when_it_appears_and_when_it_comes_back() {
    let now = Instant::now();
    let mut tracker = EventTracker::default();
    let with = |findings: &[Finding]| Served { findings: findings.into(), ..Served::default() };
    let (a, b) = (finding("a", "x"), finding("b", "x"));
    let info = Finding { severity: Severity::Info, ..finding("c", "x") };
    let host = Finding::new(Reason::NginxDown, Origin::object(&Arc::new(ObjectId::new(Kind::HOST, "", "nginx"))), "x");
    assert_eq!(look(&mut tracker, &with(&[a.clone(), info, host]), &[], now), 0);
    let first = spread(&mut tracker);
    assert!(first.len() == 1 && first[0].starts_with("MissingService a a."), "{first:?}");
    look(&mut tracker, &with(std::slice::from_ref(&a)), std::slice::from_ref(&b), now + LASTING);
    assert_eq!(spread(&mut tracker).len(), 1, "only what is new");
    tracker.update(&with(&[]), std::slice::from_ref(&b), now + LASTING);
    look(&mut tracker, &with(&[a]), &[b], now + LASTING);
    let again = spread(&mut tracker);
    assert!(again.len() == 1 && again != first, "{again:?}");
}

#[test]
fn what_ends_at_once_is_not_reported_and_nothing_else_has_to_happen_for_what_lasts() {
    let now = Instant::now();
    let mut tracker = EventTracker::default();
    let with = |findings: &[Finding]| Served { findings: findings.into(), ..Served::default() };
    let (short, long) = (finding("short", "there is no IngressClass"), finding("long", "x"));
    tracker.update(&with(&[short, long.clone()]), &[], now);
    let served = with(&[long]);
    tracker.update(&served, &[], now + LASTING / 2);
    assert_eq!((tracker.take(now), tracker.is_due(now + LASTING / 2)), (None, false));
    assert_eq!((tracker.due(now), tracker.is_due(now + LASTING)), (Some(now + LASTING), true));
    tracker.update(&served, &[], now + LASTING);
    let reported = spread(&mut tracker);
    assert!(reported.len() == 1 && reported[0].starts_with("MissingService long "), "{reported:?}");
    assert_eq!((tracker.due(now), tracker.is_due(now + LASTING)), (None, false));
}

#[test]
fn what_an_earlier_leader_may_have_reported_is_reported_anew_when_it_comes_back() {
    let now = Instant::now();
    let with = |findings: &[Finding]| Served { findings: findings.into(), ..Served::default() };
    let found = with(&[finding("a", "x")]);
    let (mut earlier, mut tracker) = (EventTracker::default(), EventTracker::default());
    look(&mut earlier, &found, &[], now);
    tracker.update(&found, &[], now);
    tracker.update(&with(&[]), &[], now + LASTING / 2);
    look(&mut tracker, &found, &[], now + LASTING);
    let (reported, again) = (spread(&mut earlier), spread(&mut tracker));
    assert!(reported.len() == 1 && again.len() == 1 && reported != again, "{reported:?} {again:?}");
}

#[test]
fn names_of_earlier_events_are_passed_over_for_news_that_no_leader_can_have_written() {
    let now = Instant::now();
    let mut tracker = EventTracker::default();
    let with = |findings: &[Finding]| Served { findings: findings.into(), ..Served::default() };
    let (old, new) = (finding("old", "x"), finding("new", "x"));
    look(&mut tracker, &with(std::slice::from_ref(&old)), &[], now);
    let mut notice = tracker.take(now).unwrap();
    assert!(!notice.rename(), "it may have been told by whoever led before");
    look(&mut tracker, &with(&[old, new]), &[], now + SETTLING);
    let mut notice = tracker.take(now).unwrap();
    let name = notice.name.clone();
    for number in 1..=9 {
        assert!(notice.rename());
        assert_eq!(notice.name, format!("{name}.{number}"));
    }
    assert!(!notice.rename(), "not for ever");
    look(&mut tracker, &with(&[finding("newer", "x")]), &[], now + SETTLING);
    let notice = tracker.take(now).unwrap();
    tracker.defer(notice, now + SETTLING);
    assert_eq!((tracker.take(now), tracker.due(now)), (None, Some(now + SETTLING)), "its namespace rests");
    let mut notice = tracker.take(now + SETTLING).unwrap();
    assert!(!notice.rename(), "it may have been spread when no answer came");
}

#[test]
fn one_object_cannot_fill_the_cluster_with_events() {
    let now = Instant::now();
    let mut tracker = EventTracker::default();
    let mut findings: Vec<_> = (0..30).map(|number| finding("a", &number.to_string())).collect();
    findings.push(finding("b", "x"));
    let suppressed = look(&mut tracker, &Served { findings: findings.into(), ..Served::default() }, &[], now);
    let reported = spread(&mut tracker);
    assert_eq!((suppressed, reported.len()), (0, MOST_OF_OBJECT + 2));
    assert_eq!(
        reported.iter().filter(|reported| reported.starts_with("MoreFindings a ")).count(),
        1,
        "and how many more there are"
    );
    let another = Served { findings: [finding("a", "another")].into(), ..Served::default() };
    assert_eq!(look(&mut tracker, &another, &[], now), 1);
    let later = Served { findings: [finding("a", "later")].into(), ..Served::default() };
    assert_eq!(look(&mut tracker, &later, &[], now + PER_OBJECT.1), 0);
}

#[test]
fn one_namespace_cannot_take_all_places() {
    let mut tracker = EventTracker::default();
    let of = |namespace: &str, number: usize| {
        let id = Arc::new(ObjectId::new(Kind::INGRESS, namespace, &number.to_string()));
        Finding::new(Reason::MissingService, Origin::object(&id), "x")
    };
    let findings: Vec<_> = (0..5000).map(|number| of("aa", number)).chain([of("zz", 0), of("zz", 1)]).collect();
    look(&mut tracker, &Served { findings: findings.into(), ..Served::default() }, &[], Instant::now());
    let now = Instant::now();
    let mut next = || tracker.take(now).unwrap().namespace().to_owned();
    assert_eq!([(); 5].map(|()| next()), ["aa", "zz", "aa", "zz", "aa"]);
}

#[test]
fn what_comes_later_has_its_turn_before_all_that_others_wait_for() {
    let now = Instant::now();
    let mut tracker = EventTracker::default();
    let of = |namespace: &str, number: usize| {
        let id = Arc::new(ObjectId::new(Kind::INGRESS, namespace, &number.to_string()));
        Finding::new(Reason::MissingService, Origin::object(&id), "x")
    };
    let mut findings: Vec<_> = (0..20_000).map(|number| of("aa", number)).collect();
    let with = |findings: &[Finding]| Served { findings: findings.into(), ..Served::default() };
    look(&mut tracker, &with(&findings), &[], now);
    assert!((0..7).all(|_| tracker.take(now).is_some_and(|notice| notice.namespace() == "aa")));
    findings.extend((0..100).map(|number| of("zz", number)));
    look(&mut tracker, &with(&findings), &[], now);
    let now = now + LASTING;
    let (mut writes, mut reported) = (Vec::new(), 0);
    while reported < 100 {
        if tracker.is_due(now) {
            tracker.update(&with(&findings), &[], now);
        }
        reported += usize::from(tracker.take(now).unwrap().namespace() == "zz");
        writes.push(reported);
    }
    assert_eq!((writes[1], writes.len()), (1, 200), "each other write is one of it");
}

fn serving(version: &str, confirmed: &str, has_address: bool) -> Served {
    let (stored, state) = object("a", version, confirmed, has_address);
    let snapshot = Arc::new(Snapshot { ingresses: vec![stored].into(), ..Snapshot::default() });
    Served { snapshot, states: [state].into(), confirmed: true, serving: true, ..Served::default() }
}

fn object(name: &str, version: &str, confirmed: &str, has_address: bool) -> (Stored<Ingress>, Arc<ObjectState>) {
    let id = Arc::new(ObjectId::new(Kind::INGRESS, "shop", name));
    let mut published = Published::default();
    if has_address {
        let entry = IngressLoadBalancerIngress { ip: Some("192.0.2.1".into()), ..Default::default() };
        published.status.get_or_insert_default().load_balancer.get_or_insert_default().ingress = Some(vec![entry]);
    }
    let stored = Stored {
        id: Arc::clone(&id),
        version: Version(version.into()),
        object: Arc::new(Ingress::default()),
        published: Some(Arc::new(published)),
        place: None,
    };
    let state = in_place(&id, &Version(confirmed.into()));
    (stored, Arc::new(ObjectState { uid: Some(format!("uid-{name}").into()), ..ObjectState::clone(&state) }))
}

/// The same with other versions in place.
fn with(served: &Served, change: impl Fn(ServedVersion) -> ServedVersion) -> Served {
    let states = served
        .states
        .iter()
        .map(|state| Arc::new(ObjectState { served: state.served.clone().map(&change), ..ObjectState::clone(state) }));
    Served { states: states.collect(), ..served.clone() }
}

/// The same with so many routes that answer 503.
fn closing(served: &Served, unanswered: u32) -> Served {
    with(served, |served| {
        let what = Arc::new(WorkingVersion { unanswered, ..WorkingVersion::clone(&served.what) });
        ServedVersion { what, ..served }
    })
}

/// A state with this many served objects and a finding about each.
fn bulk(objects: usize) -> Served {
    let names: Vec<_> = (0..objects).map(|number| format!("{number:04}")).collect();
    let (stored, states): (Vec<_>, Vec<_>) = names.iter().map(|name| object(name, "1", "1", false)).unzip();
    Served {
        snapshot: Arc::new(Snapshot { ingresses: stored.into(), ..Snapshot::default() }),
        states: states.into(),
        confirmed: true,
        serving: true,
        findings: names.iter().map(|name| finding(name, "x")).collect(),
        ..Served::default()
    }
}

#[test]
fn what_finds_no_room_is_reported_when_there_is_some() {
    let now = Instant::now();
    let mut tracker = EventTracker::default();
    let mut served = bulk(5000);
    assert_eq!(look(&mut tracker, &served, &[], now), 0, "waiting is not being suppressed");
    let now = now + LASTING;
    // Addresses are written sooner than Events; that does not make a served version old.
    let (stored, _): (Vec<_>, Vec<_>) = (0..5000).map(|number| object(&format!("{number:04}"), "1", "1", true)).unzip();
    served.snapshot = Arc::new(Snapshot { ingresses: stored.into(), ..Snapshot::default() });
    let (mut reported, mut looks) = (Vec::new(), 0);
    loop {
        if tracker.is_due(now) {
            looks += 1;
            assert_eq!(tracker.update(&served, &[], now), 0);
            assert!(!tracker.is_due(now), "one look is enough until more was spread");
        }
        let Some(notice) = tracker.take(now) else { break };
        reported.push((notice.reason, notice.name.clone()));
    }
    let first = reported[..6000].iter().filter(|(reason, _)| *reason == "MissingService").count();
    assert!(first >= 4500, "what is wrong goes first: {first}");
    assert_eq!(reported.iter().collect::<HashSet<_>>().len(), 10_000, "of {}", reported.len());
    assert!(looks <= 20, "{looks}");
    assert_eq!((tracker.update(&served, &[], now), tracker.take(now)), (0, None));
}

#[test]
fn a_new_warning_does_not_wait_for_what_is_good() {
    let now = Instant::now();
    let mut tracker = EventTracker::default();
    let served = Served { findings: Arc::default(), ..bulk(5000) };
    tracker.update(&served, &[], now);
    let synced = tracker.take(now).unwrap();
    // It is about the object that was judged, whatever was read meanwhile.
    assert_eq!(
        (synced.reason, synced.regarding.uid),
        ("Synced", Some(format!("uid-{}", synced.regarding.name.unwrap())))
    );
    look(&mut tracker, &served, &[finding("0007", "x")], now);
    assert_eq!(tracker.take(now).unwrap().reason, "MissingService");
}

#[test]
fn what_is_closed_is_not_reported_as_served() {
    let cause = "nginx answers 503 on 1 of 2 routes: spec.rules[0]: there is none";
    let now = Instant::now();
    for (closed, findings, expected) in [
        (0, vec![finding("a", "there is none")], "nginx serves it"),
        (2, Vec::new(), "nginx passes no request on for 2 of 2 routes; see the other Events"),
        (1, vec![finding("b", "x"), finding("a", "there is none")], cause),
    ] {
        let mut served = closing(&serving("1", "1", false), closed);
        let mut tracker = EventTracker::default();
        served.findings = findings.into();
        look(&mut tracker, &served, &[], now);
        let mut reported = || std::iter::from_fn(|| tracker.take(now)).find(|notice| notice.reason == "Synced");
        let first = reported().unwrap();
        assert_eq!(first.note, expected);
        // Once all its routes answer, that is told; what fails again has its own Event.
        let mut again = |closed| {
            look(&mut tracker, &closing(&served, closed), &[], now);
            std::iter::from_fn(|| tracker.take(now)).find(|notice| notice.reason == "Synced")
        };
        let whole = again(0);
        assert_eq!(whole.as_ref().map(|notice| &*notice.note), (closed > 0).then_some("nginx serves it"));
        assert!(whole.is_none_or(|notice| notice.name != first.name));
        assert_eq!((again(1), again(0)), (None, None));
    }
}

#[test]
fn what_is_mended_while_it_finds_no_room_is_not_reported() {
    let now = Instant::now();
    let mut tracker = EventTracker::default();
    let served = bulk(5000);
    look(&mut tracker, &served, &[], now);
    tracker.update(&Served { findings: Arc::default(), ..served }, &[], now);
    let warnings = spread(&mut tracker).into_iter().filter(|reported| reported.starts_with("MissingService")).count();
    assert!((1..5000).contains(&warnings), "{warnings}");
}

#[test]
fn versions_that_were_confirmed_without_a_leader_are_reported_by_the_next_one() {
    let (now, lease) = (Instant::now(), Duration::from_secs(15));
    let earlier = || with(&serving("1", "1", true), |served| ServedVersion { is_earlier: true, ..served });
    for (what, served, at, expected) in [
        ("a moment ago", serving("1", "1", true), now, 1),
        ("in the time of another leader", serving("1", "1", true), now + lease * 2, 0),
        ("by the run before", earlier(), now, 0),
    ] {
        let mut tracker = EventTracker::new(lease);
        tracker.update(&served, &[], at);
        assert_eq!(spread(&mut tracker).len(), expected, "{what}");
    }
}

#[test]
fn a_leader_that_was_none_for_a_moment_repeats_nothing_and_reports_what_is_new() {
    let now = Instant::now();
    for (version, expected) in [("1", 0), ("2", 1)] {
        let mut tracker = EventTracker::new(Duration::from_secs(15));
        tracker.update(&serving("1", "1", false), &[], now);
        assert_eq!(spread(&mut tracker).len(), 1);
        tracker.rest();
        tracker.rest();
        tracker.update(&serving(version, version, true), &[], now);
        assert_eq!(spread(&mut tracker).len(), expected, "version {version}");
        tracker.update(&serving(version, version, true), &[], now);
        assert_eq!(spread(&mut tracker).len(), 0);
    }
}

#[test]
fn each_version_is_reported_as_served_once() {
    let now = Instant::now();
    let mut tracker = EventTracker::default();
    for (what, served, expected) in [
        ("a new version that is not served yet", serving("2", "1", false), 0),
        ("a new object", serving("2", "2", false), 1),
        ("the same, with the address that we wrote", serving("2", "2", true), 0),
        ("a new version, not served", serving("3", "2", true), 0),
        ("a new version", serving("3", "3", true), 1),
        ("nginx is down", Served { serving: false, ..serving("4", "4", true) }, 0),
        ("it is up again", serving("4", "4", true), 1),
    ] {
        tracker.update(&served, &[], now);
        assert_eq!(spread(&mut tracker).len(), expected, "{what}");
    }
    // A new leader does not repeat what the previous one reported, and reports what is served
    // since then.
    let mut tracker = EventTracker::default();
    for (what, served, expected) in [
        ("an earlier version is served", serving("4", "3", true), 0),
        ("the newest is served", serving("4", "4", true), 1),
    ] {
        tracker.update(&served, &[], now);
        assert_eq!(spread(&mut tracker).len(), expected, "{what}");
    }
    let mut tracker = EventTracker::default();
    tracker.update(&serving("4", "4", true), &[], now);
    assert_eq!(spread(&mut tracker).len(), 0);
}
