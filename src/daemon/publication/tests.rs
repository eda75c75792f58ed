//! Who is told what by which node.

use super::*;
use ingressd_apply::{Pin, ServedObject};
use ingressd_model::Kind;

fn accepted(name: &str, version: &str, routes: u32) -> Accepted {
    let id = Arc::new(ObjectId::new(Kind::Ingress, "shop", name));
    Accepted {
        id,
        version: Version(version.into()),
        hosts: Vec::new(),
        routes,
        parts: 0,
        closed: 0,
        served: routes,
        unanswered: 0,
    }
}

fn observed(revision: u64) -> Observed {
    Observed { snapshot: Some(Arc::default()), revision, ..Observed::default() }
}

fn report(accepted: Vec<Accepted>) -> Report {
    let outcome = Outcome::Unchanged { generation: 1 };
    Report { accepted, ..Report::of(outcome) }
}

#[tokio::test]
async fn what_has_no_route_is_not_served() {
    let mut publication = Publication::start(&Settings::default(), None, &Counts::default(), None).await;
    publication.read(&observed(1));
    publication.began();
    publication.concluded(&report(vec![accepted("a", "1", 0), accepted("b", "1", 1)]), None, Instant::now());
    let Served { accepted, confirmed, .. } = publication.served();
    let names: Vec<_> = accepted.iter().map(|id| &*id.name).collect();
    let confirmed: Vec<_> =
        confirmed.iter().flat_map(|confirmed| confirmed.iter()).map(|confirmed| &*confirmed.id.name).collect();
    assert_eq!((names, confirmed), (vec!["b"], vec!["b"]));
}

#[tokio::test]
async fn what_an_earlier_run_served_is_told_from_what_changed_meanwhile() {
    let mut publication = Publication::start(&Settings::default(), None, &Counts::default(), None).await;
    let object = |name: &str, version: &str| {
        let Accepted { id, version, hosts, routes, .. } = accepted(name, version, 1);
        ServedObject { id, version: version.0, hosts, routes }
    };
    let objects = vec![object("a", "1"), object("b", "1"), object("gone", "1")];
    publication.found(&Contents { objects, ..Contents::default() }, Instant::now());
    publication.read(&observed(1));
    for expected in [[true, false, false]; 2] {
        publication.began();
        let now = vec![accepted("a", "1", 1), accepted("b", "2", 1), accepted("c", "1", 1)];
        publication.concluded(&report(now), None, Instant::now());
        let confirmed = publication.served().confirmed.as_ref().unwrap();
        assert_eq!(confirmed.iter().map(|confirmed| confirmed.earlier).collect::<Vec<_>>(), expected);
    }
}

#[tokio::test]
async fn what_this_nginx_leaves_out_is_ours_and_lacking() {
    let mut publication = Publication::start(&Settings::default(), None, &Counts::default(), None).await;
    let mut conclude = |served| {
        publication.read(&observed(1));
        publication.began();
        let taken = Accepted { served, ..accepted("taken", "1", 2) };
        let objects = vec![accepted("a", "1", 1), accepted("refused", "1", 0), taken];
        publication.concluded(&report(objects), None, Instant::now());
        let Served { accepted, confirmed, unserved, .. } = publication.served();
        let confirmed: Vec<_> =
            confirmed.iter().flat_map(|confirmed| confirmed.iter()).map(|confirmed| &confirmed.id).collect();
        let names =
            |ids: &mut dyn Iterator<Item = &Arc<ObjectId>>| ids.map(|id| id.name.to_string()).collect::<Vec<_>>();
        [names(&mut accepted.iter()), names(&mut confirmed.into_iter()), names(&mut unserved.iter())]
            .map(|names| names.join(","))
    };
    assert_eq!(conclude(0), ["a,taken", "a", "refused,taken"]);
    assert_eq!(conclude(2), ["a,taken", "a,taken", "refused"]);
}

#[tokio::test]
async fn what_is_closed_is_ours_and_neither_served_nor_lacking() {
    let mut publication = Publication::start(&Settings::default(), None, &Counts::default(), None).await;
    let mut conclude = |routes, closed, is_taken: bool| {
        publication.read(&observed(1));
        publication.began();
        let object = Accepted { closed, ..accepted("a", "1", routes) };
        let failed = Outcome::Failed { why: "the disk is full".to_owned() };
        let report = report(vec![object]);
        let report = if is_taken { report } else { Report { outcome: failed, ..report } };
        publication.concluded(&report, None, Instant::now());
        let Served { accepted, confirmed, unserved, closed, .. } = publication.served();
        [accepted.len(), confirmed.as_ref().map_or(0, |confirmed| confirmed.len()), unserved.len(), closed.len()]
    };
    for (what, routes, closed, is_taken, expected) in [
        ("some of it is closed", 1, 1, true, [1, 1, 0, 0]),
        ("all of it", 0, 2, true, [1, 0, 0, 1]),
        // nginx goes on answering 503: the address is not withdrawn because the disk is full.
        ("mended, which nginx was not told", 2, 0, false, [1, 0, 0, 1]),
        ("mended", 2, 0, true, [1, 1, 0, 0]),
        ("another's", 0, 0, true, [0, 0, 1, 0]),
    ] {
        assert_eq!(conclude(routes, closed, is_taken), expected, "{what}");
    }
}

#[tokio::test]
async fn a_change_that_failed_withdraws_nothing() {
    let mut publication = Publication::start(&Settings::default(), None, &Counts::default(), None).await;
    let failed = |names: &[&str]| {
        let accepted = names.iter().map(|name| accepted(name, "1", 1)).collect();
        Report { outcome: Outcome::Failed { why: "the disk is full".to_owned() }, ..report(accepted) }
    };
    let both = || vec![accepted("a", "1", 1), accepted("b", "1", 1)];
    // After a start only the source tells what is served.
    for (report, expected) in
        [(failed(&["a"]), 1), (report(both()), 2), (failed(&["a", "c"]), 3), (report(Vec::new()), 0)]
    {
        publication.read(&observed(1));
        publication.began();
        publication.concluded(&report, None, Instant::now());
        assert_eq!(publication.served().accepted.len(), expected);
    }
}

#[tokio::test]
async fn an_nginx_that_runs_and_says_nothing_for_a_moment_may_well_serve() {
    let mut publication = Publication::start(&Settings::default(), None, &Counts::default(), None).await;
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
        publication.tell(status, false, began + Duration::from_secs(seconds));
        assert_eq!(publication.served().serving, expected, "{what}");
    }
}

#[tokio::test]
async fn what_was_read_of_one_server_is_not_told_to_another() {
    let mut publication = Publication::start(&Settings::default(), None, &Counts::default(), None).await;
    let mut watch = WatchHealth::new(ingressd_model::Kind::Ingress, None, Need::Required);
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
    assert!(!publication.served().informed && publication.served().accepted.is_empty());
    // Now it has read everything, and the objects may be the same: that needs a cycle all the
    // same.
    watch.heard = Some(Instant::now() + Duration::from_secs(1));
    assert!(publication.read(&heard(&watch)) && !publication.read(&heard(&watch)));
    publication.began();
    publication.concluded(&report(vec![accepted("a", "1", 1)]), None, Instant::now());
    assert!(publication.served().informed && publication.served().accepted.len() == 1);
}

#[tokio::test]
async fn a_pinned_generation_of_the_time_before_a_restore_has_no_revision_that_counts() {
    let mut publication = Publication::start(&Settings::default(), None, &Counts::default(), None).await;
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
fn each_version_is_served_since_it_was_first_confirmed() {
    let began = Instant::now();
    let at = |seconds| began + Duration::from_secs(seconds);
    let confirmed = |objects: &[(&str, &str)], before, now| {
        let accepted: Vec<_> = objects.iter().map(|(name, version)| accepted(name, version, 1)).collect();
        confirmed(accepted.iter().map(|accepted| (&accepted.id, &accepted.version, (0, 0))), before, now)
    };
    let first = confirmed(&[("a", "1"), ("b", "1"), ("d", "1")], None, at(1));
    let second = confirmed(&[("b", "1"), ("c", "1"), ("d", "2")], Some(first), at(2));
    let since: Vec<_> =
        second.iter().map(|confirmed| (&*confirmed.id.name, confirmed.since, confirmed.earlier)).collect();
    assert_eq!(since, [("b", at(1), true), ("c", at(2), false), ("d", at(2), false)]);
}

#[test]
fn nodes_of_one_machine_differ_by_their_names() {
    assert!(identity(Some("edge-1")).starts_with("edge-1_"));
    assert_ne!(identity(Some("edge-1")), identity(Some("edge-2")));
    assert_ne!(identity(None).chars().next(), Some('_'));
}
