//! Changes that take many hosts away.

use k8s_openapi::api::networking::v1::IngressClass;

use super::*;

/// Objects of one class, each with a host of its own, which are served while the class is there.
#[derive(Default)]
struct Hosts {
    most: usize,
    earlier: Vec<Arc<ObjectState>>,
    served: Vec<String>,
    secrets: Vec<String>,
}

fn cluster(objects: usize, has_class: bool) -> Snapshot {
    let names: Vec<_> = (0..objects).map(|number| format!("i{number:02}@1")).collect();
    let mut snapshot = snapshot(&names.iter().map(String::as_str).collect::<Vec<_>>());
    if has_class {
        snapshot.ingress_classes.edit().push(Stored {
            id: Arc::new(ObjectId::new(Kind::INGRESS_CLASS, "", "nginx")),
            version: Version("1".into()),
            object: Arc::new(IngressClass::default()),
            published: None,
            place: None,
        });
    }
    snapshot
}

fn states(snapshot: &Snapshot) -> Vec<Arc<ObjectState>> {
    let served = snapshot.ingresses.iter().filter(|_| !snapshot.ingress_classes.is_empty());
    let states = served.map(|stored| {
        let hosts = vec![format!("{}.test", stored.id.name).into()];
        Arc::new(ObjectState::of(&stored.id, WorkingVersion::whole(stored.version.clone(), hosts, 1)))
    });
    states.collect()
}

impl Stages for Hosts {
    fn judge(&self, _: &Snapshot) -> Arc<str> {
        "nginx".into()
    }

    fn make(&mut self, snapshot: &Snapshot) -> Product {
        let states = states(snapshot);
        self.served = states.iter().map(|state| state.id.name.to_string()).collect();
        self.secrets =
            snapshot.secrets.iter().map(|stored| format!("{}@{}", stored.id.name, stored.version.0)).collect();
        Product { states, ..Product::default() }
    }

    fn apply(&mut self, _: &FileSet) -> Outcome {
        // What is in place now is not of the earlier run any more.
        self.earlier.clear();
        Outcome::Confirmed { generation: 1, test: TEST, reload: TEST, written: 1 }
    }

    fn most_removed(&self) -> usize {
        self.most
    }

    fn states_of_earlier_run(&self) -> Vec<Arc<ObjectState>> {
        self.earlier.clone()
    }

    fn begin_weighing(&mut self) -> bool {
        true
    }

    fn end_weighing(&mut self) {}

    fn settle(&mut self, _: &Arc<Claims>) {}

    fn stop_sharing(&mut self, _: &str) -> bool {
        false
    }

    fn resume_sharing(&mut self) {}
}

fn reported(report: &Report) -> Vec<(Kind, String)> {
    let found = report.product.findings.iter().filter(|finding| finding.reason == Reason::HostsRemoved);
    found.map(|finding| (finding.origin.object.kind, finding.note.split("; ").next().unwrap().to_owned())).collect()
}

fn words(kind: Kind, words: &str) -> Vec<(Kind, String)> {
    vec![(kind, words.to_owned())]
}

#[test]
fn a_class_that_is_deleted_is_one_error_until_the_hosts_are_back() {
    let state = tempfile::tempdir().unwrap();
    let (mut cycle, mut hosts) = (Cycle::open(state.path(), None).unwrap(), Hosts::default());
    assert!(reported(&cycle.turn(&cluster(20, true), &mut hosts)).is_empty());
    let gone = words(Kind::INGRESS_CLASS, "20 of 20 hosts are no longer served: IngressClass nginx is gone");
    assert_eq!(reported(&cycle.turn(&cluster(20, false), &mut hosts)), gone);
    assert_eq!(reported(&cycle.turn(&cluster(21, false), &mut hosts)), gone, "it is told on");
    assert!(reported(&cycle.turn(&cluster(20, true), &mut hosts)).is_empty());
    // A few, or few of many, are what happens every day.
    assert!(reported(&cycle.turn(&cluster(11, true), &mut hosts)).is_empty());
    let words = words(
        Kind::HOST,
        "11 of 11 hosts are no longer served: 11 objects are gone or no longer in a namespace that is served",
    );
    assert_eq!(reported(&cycle.turn(&cluster(0, true), &mut hosts)), words);
}

#[test]
fn what_went_while_the_daemon_was_away_is_reported() {
    let state = tempfile::tempdir().unwrap();
    let mut hosts = Hosts { earlier: states(&cluster(20, true)), ..Hosts::default() };
    let report = Cycle::open(state.path(), None).unwrap().turn(&cluster(20, false), &mut hosts);
    assert_eq!(
        reported(&report),
        words(Kind::HOST, "20 of 20 hosts are no longer served: objects or settings were changed")
    );
}

#[test]
fn a_removal_is_held_until_the_administrator_lets_it_pass() {
    let state = tempfile::tempdir().unwrap();
    let (mut cycle, mut hosts) = (Cycle::open(state.path(), None).unwrap(), Hosts { most: 5, ..Hosts::default() });
    cycle.turn(&cluster(20, true), &mut hosts);
    assert!(!cycle.let_pass(), "nothing is held");
    // As many as the settings allow go at once.
    cycle.turn(&cluster(15, true), &mut hosts);
    assert_eq!(hosts.served.len(), 15);
    let held =
        |why: &str| format!("15 of 15 hosts are served only because hosts.most-removed-at-once holds a change: {why}");
    let report = cycle.turn(&cluster(15, false), &mut hosts);
    let by_class = held("IngressClass nginx is gone");
    assert_eq!((reported(&report), hosts.served.len()), (words(Kind::INGRESS_CLASS, &by_class), 15));
    // Other changes are applied.
    cycle.turn(&cluster(16, false), &mut hosts);
    assert_eq!(hosts.served.len(), 16);
    assert!(reported(&cycle.turn(&cluster(16, true), &mut hosts)).is_empty(), "what was gone is back");
    let report = cycle.turn(&cluster(1, true), &mut hosts);
    assert!(reported(&report)[0].1.contains("15 objects are gone"), "{report:?}");
    assert_eq!(hosts.served.len(), 16);
    assert!(cycle.let_pass());
    cycle.turn(&cluster(1, true), &mut hosts);
    assert_eq!(hosts.served, ["i00"]);
    assert!(!cycle.let_pass());
}

#[test]
fn what_is_held_has_the_secrets_that_it_needs() {
    let state = tempfile::tempdir().unwrap();
    let (mut cycle, mut hosts) = (knowing(state.path()), Hosts { most: 5, ..Hosts::default() });
    let with =
        |snapshot: Snapshot, secrets: &[&str]| Snapshot { secrets: super::snapshot(secrets).secrets, ..snapshot };
    let all = || referring(cluster(20, true), "i07", &["secret-a", "secret-b"]);
    cycle.turn(&with(all(), &["secret-a@1", "secret-b@1"]), &mut hosts);
    // The source keeps only what the newest versions need, and what is held.
    let report = cycle.turn(&cluster(0, true), &mut hosts);
    assert_eq!((hosts.served.len(), &*hosts.secrets.join(" ")), (20, "secret-a@1 secret-b@1"));
    assert_eq!(report.held, ["secret-a", "secret-b"].map(|name| ObjectId::clone(&id(name))).into());
    cycle.turn(&with(cluster(0, true), &["secret-a@2"]), &mut hosts);
    assert_eq!(hosts.secrets, ["secret-a@2", "secret-b@1"], "one that exists is served as it is now");
    assert!(cycle.let_pass());
    let report = cycle.turn(&cluster(0, true), &mut hosts);
    assert_eq!((hosts.served.len(), hosts.secrets.len(), report.held.len()), (0, 0, 0));
}
