//! Who is told what by which node.

use super::*;
use crate::daemon::cycle::Product;
use ingressd_apply::Pin;
use ingressd_cluster::publish::Offer;
use ingressd_model::{Kind, ObjectId, Version, WorkingVersion};

fn working(version: &str, routes: u32) -> WorkingVersion {
    WorkingVersion::whole(Version(version.into()), Vec::new(), routes)
}

fn of(name: &str, working: WorkingVersion) -> Arc<ObjectState> {
    Arc::new(ObjectState::of(&Arc::new(ObjectId::new(Kind::INGRESS, "shop", name)), working))
}

fn accepted(name: &str, version: &str, routes: u32) -> Arc<ObjectState> {
    of(name, working(version, routes))
}

/// The objects that are ours, those that are served, those that this node lacks, and those that
/// are closed.
fn reported(publication: &Publication) -> [String; 4] {
    let served = publication.served();
    let names = |has: &dyn Fn(&&Arc<ObjectState>) -> bool| {
        served.states.iter().filter(has).map(|state| &*state.id.name).collect::<Vec<_>>().join(",")
    };
    let offer = |state: &ObjectState| served.offer(Some(state), None);
    [
        names(&|state| served.accepts(state)),
        names(&|state| offer(state) == Offer::Served),
        names(&|state| served.unserved().has(&state.id, None, None)),
        names(&|state| offer(state) == Offer::Closed),
    ]
}

fn observed(revision: u64) -> Observed {
    Observed { snapshot: Some(Arc::default()), revision, ..Observed::default() }
}

fn report(states: Vec<Arc<ObjectState>>) -> Report {
    let outcome = Outcome::Unchanged { generation: 1 };
    Report { product: Product { states, ..Product::default() }, ..Report::of(outcome) }
}

#[tokio::test]
async fn what_has_no_route_is_not_served() {
    let mut publication =
        Publication::start((&Settings::default(), Statuses::default()), None, &Counts::default(), None).await;
    publication.read(&observed(1));
    publication.began();
    publication.concluded(&report(vec![accepted("a", "1", 0), accepted("b", "1", 1)]), None, Instant::now());
    assert_eq!(reported(&publication), ["b", "b", "a", ""]);
}

#[tokio::test]
async fn what_an_earlier_run_served_is_distinguished_from_what_changed_meanwhile() {
    let mut publication =
        Publication::start((&Settings::default(), Statuses::default()), None, &Counts::default(), None).await;
    let objects = vec![accepted("a", "1", 1), accepted("b", "1", 1), accepted("gone", "1", 1)];
    publication.found(&Contents { objects, ..Contents::default() }, Instant::now());
    publication.read(&observed(1));
    for expected in [[true, false, false]; 2] {
        publication.began();
        let now = vec![accepted("a", "1", 1), accepted("b", "2", 1), accepted("c", "1", 1)];
        publication.concluded(&report(now), None, Instant::now());
        let served = publication.served().states.iter().filter_map(|state| state.served.as_ref());
        assert_eq!(served.map(|served| served.is_earlier).collect::<Vec<_>>(), expected);
    }
}

#[tokio::test]
async fn what_this_nginx_leaves_out_is_ours_and_lacking() {
    let mut publication =
        Publication::start((&Settings::default(), Statuses::default()), None, &Counts::default(), None).await;
    let mut conclude = |served| {
        publication.read(&observed(1));
        publication.began();
        let taken = of("taken", WorkingVersion { served, ..working("1", 2) });
        let objects = vec![accepted("a", "1", 1), accepted("refused", "1", 0), taken];
        publication.concluded(&report(objects), None, Instant::now());
        reported(&publication)
    };
    assert_eq!(conclude(0), ["a,taken", "a", "refused,taken", ""]);
    assert_eq!(conclude(2), ["a,taken", "a,taken", "refused", ""]);
}

#[tokio::test]
async fn what_is_closed_is_ours_and_neither_served_nor_lacking() {
    let mut publication =
        Publication::start((&Settings::default(), Statuses::default()), None, &Counts::default(), None).await;
    let mut conclude = |routes, closed, is_taken: bool| {
        publication.read(&observed(1));
        publication.began();
        let object = of("a", WorkingVersion { closed, ..working("1", routes) });
        let failed = Outcome::Failed { why: "the disk is full".to_owned() };
        let report = report(vec![object]);
        let report = if is_taken { report } else { Report { outcome: failed, ..report } };
        publication.concluded(&report, None, Instant::now());
        reported(&publication)
    };
    for (what, routes, closed, is_taken, expected) in [
        ("some of it is closed", 1, 1, true, ["a", "a", "", ""]),
        ("all of it", 0, 2, true, ["a", "", "", "a"]),
        // nginx goes on answering 503: the address is not withdrawn because the disk is full.
        ("mended, which nginx was not told", 2, 0, false, ["a", "", "", "a"]),
        ("mended", 2, 0, true, ["a", "a", "", ""]),
        ("another's", 0, 0, true, ["", "", "a", ""]),
    ] {
        assert_eq!(conclude(routes, closed, is_taken), expected, "{what}");
    }
}

#[tokio::test]
async fn what_changes_nothing_of_any_object_is_the_same_list_for_all_who_read_it() {
    let mut publication =
        Publication::start((&Settings::default(), Statuses::default()), None, &Counts::default(), None).await;
    let mut conclude = |version: &str| {
        publication.read(&observed(1));
        publication.began();
        let report = report(vec![accepted("a", "1", 1), accepted("b", version, 1)]);
        publication.concluded(&report, None, Instant::now());
        Arc::clone(&publication.served().states)
    };
    let (first, again, other) = (conclude("1"), conclude("1"), conclude("2"));
    assert!(Arc::ptr_eq(&first, &again) && !Arc::ptr_eq(&again, &other));
    let same: Vec<_> = again.iter().zip(&*other).map(|(one, other)| Arc::ptr_eq(one, other)).collect();
    assert_eq!(same, [true, false], "what stays is not looked at again");
}

#[tokio::test]
async fn a_change_that_failed_withdraws_nothing() {
    let mut publication =
        Publication::start((&Settings::default(), Statuses::default()), None, &Counts::default(), None).await;
    let failed = |names: &[&str]| {
        let accepted = names.iter().map(|name| accepted(name, "1", 1)).collect();
        Report { outcome: Outcome::Failed { why: "the disk is full".to_owned() }, ..report(accepted) }
    };
    let both = || vec![accepted("a", "1", 1), accepted("b", "1", 1)];
    // After a start only the source tells what is served.
    for (report, expected) in
        [(failed(&["a"]), "a"), (report(both()), "a,b"), (failed(&["a", "c"]), "a,b,c"), (report(Vec::new()), "")]
    {
        publication.read(&observed(1));
        publication.began();
        publication.concluded(&report, None, Instant::now());
        assert_eq!(reported(&publication)[0], expected);
    }
}

#[tokio::test]
async fn an_nginx_that_runs_and_says_nothing_for_a_moment_may_well_serve() {
    let mut publication =
        Publication::start((&Settings::default(), Statuses::default()), None, &Counts::default(), None).await;
    let status = |master, served| Status { master, generation: Some(2), served, ..Status::default() };
    let (good, silent) = (status(Some(1), Some(2)), status(Some(1), None));
    let began = Instant::now();
    for (what, status, seconds, expected) in [
        ("nothing was heard yet", &silent, 0, false),
        ("it answers", &good, 1, true),
        ("silence begins", &silent, 10, true),
        ("silence goes on", &silent, 14, true),
        ("too long", &silent, 15, false),
        ("and longer", &silent, 16, false),
        ("it answers again", &good, 20, true),
        ("another silence", &silent, 21, true),
        ("another generation", &status(Some(1), Some(1)), 22, false),
        ("silence after that", &silent, 23, false),
        ("it answers once more", &good, 24, true),
        ("it does not run", &status(None, None), 25, false),
    ] {
        publication.report(status, false, began + Duration::from_secs(seconds));
        assert_eq!(publication.served().serving, expected, "{what}");
    }
}

#[tokio::test]
async fn what_was_read_of_one_server_is_not_sent_to_another() {
    let mut publication =
        Publication::start((&Settings::default(), Statuses::default()), None, &Counts::default(), None).await;
    let mut watch = WatchHealth::new(ingressd_model::Kind::INGRESS, None, Need::Required);
    let heard = |watch: &WatchHealth| Observed { watches: vec![watch.clone()].into(), ..observed(1) };
    watch.heard = Some(Instant::now());
    assert!(!publication.read(&heard(&watch)));
    publication.began();
    publication.forget(Instant::now());
    // The running cycle and earlier snapshots belong to the other cluster.
    publication.concluded(&report(vec![accepted("a", "1", 1)]), None, Instant::now());
    assert!(!publication.read(&heard(&watch)), "nothing came from the new one yet");
    publication.began();
    publication.concluded(&report(vec![accepted("a", "1", 1)]), None, Instant::now());
    assert!(!publication.served().informed && publication.served().states.is_empty());
    // Now it has read everything, and the objects may be the same: that needs a cycle all the
    // same.
    watch.heard = Some(Instant::now() + Duration::from_secs(1));
    assert!(publication.read(&heard(&watch)) && !publication.read(&heard(&watch)));
    publication.began();
    publication.concluded(&report(vec![accepted("a", "1", 1)]), None, Instant::now());
    assert!(publication.served().informed && publication.served().states.len() == 1);
}

#[tokio::test]
async fn a_pinned_generation_of_the_time_before_a_restore_has_no_revision_that_counts() {
    let mut publication =
        Publication::start((&Settings::default(), Statuses::default()), None, &Counts::default(), None).await;
    for (position, revision, expected) in [(Some(10), 9, 9), (Some(10), 11, 0), (None, 11, 11)] {
        let snapshot = Some(Arc::new(Snapshot { position, ..Snapshot::default() }));
        publication.read(&Observed { snapshot, ..observed(1) });
        let contents = Some(Arc::new(Contents { revision: Some(revision), ..Contents::default() }));
        let pin = Pin { generation: 1, since: 0 };
        publication.pin(Some(&Pinned { pin, waiting: None, contents }), Instant::now());
        assert_eq!(publication.served().observed, Some(Revision(expected)), "{revision} of {position:?}");
    }
}

#[test]
fn nodes_of_one_machine_differ_by_their_names() {
    assert!(identity(Some("edge-1")).starts_with("edge-1_"));
    assert_ne!(identity(Some("edge-1")), identity(Some("edge-2")));
    assert_ne!(identity(None).chars().next(), Some('_'));
}
