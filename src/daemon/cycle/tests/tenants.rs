//! Which tenants are blamed for what nginx cannot take as a whole, and which wait for others.

use super::*;
use ingressd_nginx::render::{File, Owners, Part};

mod rewriting;

/// An nginx that takes only a limited amount, and refuses lines of some objects.
struct Tenants {
    /// What a version of an object costs nginx; its file has as many bytes unless these are given.
    costs: Vec<(String, usize)>,
    bytes: Vec<(String, usize)>,
    /// How much nginx takes; `None` when it does not even take what it runs.
    most: Option<usize>,
    /// The cost without any objects.
    fixed: usize,
    /// Beyond this cost nginx is killed and does not run any more.
    deadly: Option<usize>,
    is_down: bool,
    /// How long it takes to find out that something is too much.
    slow: Duration,
    /// Versions with a wrong line.
    bad: fn(&str) -> bool,
    /// Versions that it refuses two by two, in a message that names no line.
    clashes: &'static [[&'static str; 2]],
    /// The time: each test takes [`TEST`], and so does each line that is judged.
    now: Instant,
    /// Whether it tells of files what is wrong with them without applying them.
    proves: bool,
    made: Vec<String>,
    /// Everything that was applied, and how many lines of it were judged.
    applied: Vec<Vec<String>>,
    running: Option<Vec<String>>,
}

impl Default for Tenants {
    fn default() -> Self {
        let none = |_: &str| false;
        let (costs, bytes, most, fixed, bad) = (Vec::new(), Vec::new(), Some(100), 0, none);
        let (made, applied, running, deadly) = (Vec::new(), Vec::new(), None, None);
        let (is_down, proves, clashes) = (false, false, &[][..]);
        let (now, slow) = (Instant::now(), TEST);
        Tenants { costs, bytes, most, fixed, deadly, is_down, slow, bad, clashes, now, proves, made, applied, running }
    }
}

/// How many refused lines one attempt finds.
const LIMIT: usize = 64;

fn of(text: &str) -> (Arc<ObjectId>, Version) {
    let (name, version) = text.split_once('@').unwrap();
    let (namespace, name) = name.split_once('/').unwrap();
    (Arc::new(ObjectId::new(Kind::INGRESS, namespace, name)), Version(version.into()))
}

/// `namespace/name@version` of Ingresses.
fn cluster<S: AsRef<str>>(objects: &[S]) -> Snapshot {
    let mut snapshot = Snapshot::default();
    let mut objects: Vec<_> = objects.iter().map(|text| of(text.as_ref())).collect();
    objects.sort();
    for (id, version) in objects {
        snapshot.ingresses.edit().push(Stored {
            id,
            version,
            object: Arc::new(Ingress::default()),
            published: None,
            place: None,
        });
    }
    snapshot
}

impl Tenants {
    fn costing(costs: &[(&str, usize)]) -> Self {
        let costs = costs.iter().map(|(name, cost)| ((*name).to_owned(), *cost)).collect();
        Tenants { costs, ..Tenants::default() }
    }

    fn running(&self) -> &[String] {
        self.running.as_deref().unwrap_or_default()
    }

    fn cost(&self, names: &[String]) -> usize {
        let costs = names.iter().map(|name| Self::find(&self.costs, name).unwrap_or_default());
        costs.sum::<usize>() + self.fixed
    }

    /// What a test of the files tells, and the time that it takes.
    fn complaints(&mut self) -> Vec<Complaint> {
        let bad = self.made.iter().filter(|name| (self.bad)(name)).take(LIMIT);
        let complaint = |name: &String| Complaint {
            place: Some((name.as_str().into(), Some(7))),
            words: "missing )".into(),
            origin: Some(Origin::object(&of(name).0)),
            ran_before: false,
            candidates: vec![of(name).0],
        };
        let mut complaints: Vec<_> = bad.map(complaint).collect();
        let is_made = |one: &&str| self.made.iter().any(|name| name == one);
        if self.clashes.iter().any(|both| both.iter().all(is_made)) {
            let candidates = self.made.iter().map(|name| of(name).0).collect();
            complaints.push(Complaint {
                place: None,
                words: "a clash".into(),
                origin: None,
                ran_before: false,
                candidates,
            });
        }
        self.now += TEST * u32::try_from(1 + complaints.len()).unwrap();
        complaints
    }

    fn find(list: &[(String, usize)], name: &str) -> Option<usize> {
        list.iter().find(|(known, _)| known == name).map(|(_, number)| *number)
    }
}

impl Stages for Tenants {
    fn now(&self) -> Instant {
        self.now
    }

    fn judge(&self, _: &Snapshot) -> Arc<str> {
        "nginx".into()
    }

    fn make(&mut self, snapshot: &Snapshot) -> Product {
        let name =
            |stored: &Stored<Ingress>| format!("{}/{}@{}", stored.id.namespace, stored.id.name, stored.version.0);
        self.made = snapshot.ingresses.iter().map(name).collect();
        let mut product = Product::default();
        for (stored, name) in snapshot.ingresses.iter().zip(&self.made) {
            let bytes = Self::find(&self.bytes, name).or(Self::find(&self.costs, name)).unwrap_or(1);
            let text = format!("{name}\n{}", "#".repeat(bytes));
            let owners = Owners(vec![(1, Origin::object(&stored.id))]);
            let file = File::plain([Part::Bytes(text.into_bytes().into())], owners, []);
            Arc::make_mut(&mut product.files).files.insert(format!("http/{name}").into(), Arc::new(file));
        }
        product
    }

    fn apply(&mut self, _: &FileSet) -> Outcome {
        let killed = |read| Outcome::Killed { generation: Some(1), why: "it was killed".to_owned(), read };
        if self.is_down {
            return killed(false);
        }
        self.applied.push(self.made.clone());
        let complaints = self.complaints();
        if !complaints.is_empty() {
            return Outcome::Refused { complaints, test: TEST };
        }
        if self.running.as_ref() == Some(&self.made) {
            return Outcome::Unchanged { generation: 1 };
        }
        if self.deadly.is_some_and(|most| self.cost(&self.made) > most) {
            self.is_down = true;
            return killed(true);
        }
        if self.most.is_none_or(|most| self.cost(&self.made) > most) {
            self.now += self.slow - TEST;
            let too_much = Some("it is short of memory".to_owned());
            return Outcome::RolledBack { generation: Some(1), why: "short of memory".to_owned(), too_much };
        }
        self.running = Some(self.made.clone());
        Outcome::Confirmed { generation: 1, test: TEST, reload: TEST, written: 1 }
    }

    fn try_out(&mut self, snapshot: &Snapshot, _: bool) -> Option<Vec<Complaint>> {
        self.proves.then(|| {
            self.make(snapshot);
            self.complaints()
        })
    }

    fn stop_sharing(&mut self, _: &str) -> bool {
        false
    }

    fn resume_sharing(&mut self) {}

    fn settle(&mut self, _: &Arc<ingressd_translate::Claims>) {}

    fn begin_weighing(&mut self) -> bool {
        // Before the first apply nothing is in place.
        self.running.as_ref().is_none_or(|running| self.most.is_some_and(|most| self.cost(running) <= most))
    }

    fn end_weighing(&mut self) {}
}

#[test]
fn an_object_for_which_nginx_is_killed_is_left_out_at_once_and_for_long() {
    let state = tempfile::tempdir().unwrap();
    // The number of bytes misleads: an object without fault is the first candidate.
    let deadly = |version: usize| (format!("evil/a@{version}"), 200);
    let mut tenants = Tenants { costs: (2..9).map(deadly).collect(), deadly: Some(150), ..Tenants::default() };
    tenants.bytes = vec![("large/a@2".into(), 5000)];
    let mut cycle = Cycle::open(state.path(), None).unwrap();
    let all = |version: usize| {
        ["evil/a", "evil/b", "large/a", "one/a", "two/a"].map(|name| format!("{name}@{version}")).to_vec()
    };
    cycle.turn(&cluster(&all(1)), &mut tenants);
    let report = cycle.turn(&cluster(&all(2)), &mut tenants);
    assert!(matches!(report.outcome, Outcome::Killed { read: true, .. }), "{:?}", report.outcome);
    assert_eq!((quarantined(&report), report.attempts), (vec!["Ingress large/a".to_owned()], 1));
    // While nginx does not run no other object is blamed, whatever changes.
    let report = cycle.turn(&cluster(&all(2)), &mut tenants);
    assert_eq!((quarantined(&report).len(), report.attempts), (1, 1));
    tenants.is_down = false;
    let report = cycle.turn(&cluster(&all(2)), &mut tenants);
    assert!(tenants.is_down);
    // Two more are out, so that not each of them needs a start of nginx.
    assert_eq!(quarantined(&report), ["Ingress evil/a", "Ingress evil/b", "Ingress large/a", "Ingress one/a"]);
    tenants.is_down = false;
    let report = cycle.turn(&cluster(&all(2)), &mut tenants);
    assert!(report.outcome.is_in_place());
    assert_eq!(tenants.running(), ["evil/a@1", "evil/b@1", "large/a@1", "one/a@1", "two/a@2"]);
    // Further changes of the candidates wait; those of all others do not.
    for version in 3..9 {
        let report = cycle.turn(&cluster(&all(version)), &mut tenants);
        assert!(report.outcome.is_in_place() && report.again.is_some_and(|again| again > Duration::from_secs(3000)));
        assert_eq!((&*tenants.running()[0], &*tenants.running()[4]), ("evil/a@1", &*format!("two/a@{version}")));
    }
}

fn many(namespace: &str, count: usize) -> Vec<String> {
    (0..count).map(|number| format!("{namespace}/i{number:04}@1")).collect()
}

/// Fifty namespaces with a change each.
fn bulk() -> Vec<String> {
    (0..50).map(|number| format!("n{number:02}/i@1")).collect()
}

/// Cycles until none has to follow.
fn to_the_end(cycle: &mut Cycle, snapshot: &Snapshot, tenants: &mut Tenants) -> Report {
    for _ in 0..1000 {
        let report = cycle.turn(snapshot, tenants);
        let Some(again) = report.again else { return report };
        tenants.now += again;
    }
    panic!("no end")
}

#[test]
fn an_object_that_is_too_much_is_found_and_all_others_are_served() {
    struct Row {
        what: &'static str,
        costs: Vec<(&'static str, usize)>,
        /// Numbers of bytes that mislead about costs.
        bytes: Vec<(&'static str, usize)>,
        others: Vec<String>,
        culprits: &'static [&'static str],
        /// The number of attempts after which all others are served, and after which everything is
        /// known.
        served: usize,
        known: usize,
    }
    let rows = [
        Row {
            what: "one object, and bytes tell",
            costs: vec![("evil/a@1", 200)],
            bytes: vec![],
            others: bulk(),
            culprits: &["Ingress evil/a"],
            served: 2,
            known: 2,
        },
        Row {
            what: "one object among others of its namespace",
            costs: vec![("evil/a@1", 200), ("evil/b@1", 1), ("evil/c@1", 2)],
            bytes: vec![],
            others: bulk(),
            culprits: &["Ingress evil/a"],
            served: 2,
            known: 4,
        },
        Row {
            what: "bytes mislead: the victim's change is much larger",
            costs: vec![("evil/a@1", 200), ("evil/b@1", 1), ("victim/a@1", 9), ("victim/b@1", 9)],
            bytes: vec![("evil/a@1", 3), ("victim/a@1", 5000), ("victim/b@1", 9000)],
            others: bulk(),
            culprits: &["Ingress evil/a"],
            served: 8,
            known: 14,
        },
        Row {
            what: "two in two namespaces",
            costs: vec![("evil/a@1", 200), ("evil/b@1", 1), ("good/a@1", 50), ("worse/a@1", 150), ("worse/b@1", 2)],
            bytes: vec![],
            others: bulk(),
            culprits: &["Ingress evil/a", "Ingress worse/a"],
            served: 9,
            known: 14,
        },
        Row {
            what: "the least of those who are too much together",
            costs: vec![("one/a@1", 60), ("two/a@1", 60)],
            bytes: vec![],
            others: Vec::new(),
            culprits: &["Ingress one/a"],
            served: 2,
            known: 2,
        },
    ];
    for row in rows {
        let state = tempfile::tempdir().unwrap();
        let owned = |list: &[(&str, usize)]| list.iter().map(|(name, number)| ((*name).to_owned(), *number)).collect();
        let mut tenants = Tenants::costing(&row.costs);
        tenants.bytes = owned(&row.bytes);
        let mut cycle = Cycle::open(state.path(), None).unwrap();
        cycle.turn(&cluster(&["base/a@1"]), &mut tenants);
        tenants.applied.clear();
        let all: Vec<_> =
            row.costs.iter().map(|(name, _)| (*name).to_owned()).chain(row.others).chain(["base/a@1".into()]).collect();
        let report = to_the_end(&mut cycle, &cluster(&all), &mut tenants);
        assert!(report.outcome.is_in_place(), "{}", row.what);
        assert_eq!(quarantined(&report), row.culprits, "{}", row.what);
        assert_eq!(tenants.running().len() + row.culprits.len(), all.len(), "{}: {:?}", row.what, tenants.running());
        let of_culprits = |name: &String| row.culprits.contains(&format!("{}", of(name).0).as_str());
        let everybody_else: Vec<_> = all
            .iter()
            .filter(|name| {
                !row.culprits.iter().any(|culprits| {
                    culprits.split_once(' ').unwrap().1.split_once('/').unwrap().0 == name.split_once('/').unwrap().0
                })
            })
            .collect();
        let served = tenants.applied.iter().position(|applied| {
            everybody_else.iter().all(|name| applied.contains(name)) && !applied.iter().any(of_culprits)
        });
        assert!(
            served.is_some_and(|served| served < row.served),
            "{}: {served:?} {:?}",
            row.what,
            tenants.applied.len()
        );
        assert!(tenants.applied.len() <= row.known, "{}: {}", row.what, tenants.applied.len());
        let notes: Vec<_> = report.product.findings.iter().map(|finding| &*finding.note).collect();
        assert!(
            notes.iter().all(|note| note.contains("nginx refuses this version: it is short of memory")),
            "{notes:?}"
        );
    }
}

/// What docs/security.md promises: the changes of namespaces without a candidate wait for one
/// weighing at most, however long a search takes.
#[test]
fn a_change_of_another_namespace_waits_for_one_weighing_at_most() {
    let evil = many("evil", 40);
    let costs = evil.iter().map(|name| (name.clone(), 4)).collect();
    // Bytes mislead, so that the search by namespaces takes long, too.
    let bytes = bulk().into_iter().map(|name| (name, 5000)).collect();
    let mut tenants = Tenants { costs, bytes, slow: Duration::from_secs(18), ..Tenants::default() };
    let state = tempfile::tempdir().unwrap();
    let mut cycle = Cycle::open(state.path(), None).unwrap();
    cycle.turn(&cluster(&["victim/a@0"]), &mut tenants);
    let start = tenants.now;
    cycle.turn(&cluster(&[&evil[..], &bulk(), &["victim/a@0".into()]].concat()), &mut tenants);
    assert!(tenants.now - start <= Duration::from_secs(40), "what was too much, and one weighing");
    let (began, mut weighings) = (tenants.now, 0);
    for version in 1..1000 {
        let victim = format!("victim/a@{version}");
        let all = cluster(&[&evil[..], &bulk(), std::slice::from_ref(&victim)].concat());
        tenants.applied.clear();
        let start = tenants.now;
        let report = cycle.turn(&all, &mut tenants);
        assert!(
            tenants.applied[0].contains(&victim) && tenants.running().contains(&victim),
            "{version}: it goes first"
        );
        assert!(tenants.now - start <= Duration::from_secs(20), "{version}: the next change waits for so long");
        weighings += tenants.applied.len() - 1;
        let Some(again) = report.again else { break };
        tenants.now += again;
    }
    let searched = tenants.now - began;
    assert!(weighings > 8 && searched > Duration::from_secs(120), "{weighings} {searched:?}");
    assert!(bulk().iter().all(|name| tenants.running().contains(name)), "{:?}", tenants.running());
}

#[test]
fn many_that_are_too_much_only_together_cost_few_attempts_and_no_other_namespace() {
    let state = tempfile::tempdir().unwrap();
    let evil = many("evil", 200);
    let mut tenants = Tenants { costs: evil.iter().map(|name| (name.clone(), 1)).collect(), ..Tenants::default() };
    tenants.costs.push(("victim/a@2".into(), 10));
    tenants.most = Some(100);
    let mut cycle = Cycle::open(state.path(), None).unwrap();
    cycle.turn(&cluster(&["victim/a@1"]), &mut tenants);
    let all = [&evil[..], &["victim/a@2".into()]].concat();
    let report = to_the_end(&mut cycle, &cluster(&all), &mut tenants);
    assert!(tenants.applied.len() <= 60, "{}", tenants.applied.len());
    assert!(tenants.running().contains(&"victim/a@2".to_owned()) && quarantined(&report).len() > 100);
    assert!(quarantined(&report).iter().all(|name| name.starts_with("Ingress evil/")), "{:?}", quarantined(&report));
    // The victim's change was served as soon as the namespace was out.
    assert_eq!(tenants.applied[2], ["victim/a@2"]);
}

#[test]
fn the_verdict_survives_a_restart_and_ends_when_the_object_changes() {
    let state = tempfile::tempdir().unwrap();
    let mut tenants = Tenants::costing(&[("evil/a@2", 200)]);
    let mut cycle = Cycle::open(state.path(), None).unwrap();
    cycle.turn(&cluster(&["evil/a@1", "victim/a@1"]), &mut tenants);
    cycle.turn(&cluster(&["evil/a@2", "victim/a@2"]), &mut tenants);
    assert_eq!(tenants.running(), ["evil/a@1", "victim/a@2"]);
    drop(cycle);
    let mut cycle = Cycle::open(state.path(), None).unwrap();
    let report = cycle.turn(&cluster(&["evil/a@2", "victim/a@3"]), &mut tenants);
    assert_eq!((tenants.running().to_vec(), report.attempts), (vec!["evil/a@1".into(), "victim/a@3".into()], 1));
    assert_eq!(quarantined(&report), ["Ingress evil/a"]);
    let report = cycle.turn(&cluster(&["evil/a@3", "victim/a@3"]), &mut tenants);
    assert_eq!((tenants.running().to_vec(), report.attempts), (vec!["evil/a@3".into(), "victim/a@3".into()], 1));
    assert!(quarantined(&report).is_empty());
}

#[test]
fn nobody_is_blamed_where_the_host_is_short_itself() {
    let state = tempfile::tempdir().unwrap();
    let mut tenants = Tenants::default();
    let mut cycle = Cycle::open(state.path(), None).unwrap();
    cycle.turn(&cluster(&["one/a@1", "two/a@1"]), &mut tenants);
    tenants.most = None;
    let report = cycle.turn(&cluster(&["one/a@2", "two/a@2"]), &mut tenants);
    assert_eq!((quarantined(&report), report.attempts), (Vec::new(), 1));
    assert!(matches!(report.outcome, Outcome::RolledBack { .. }));
    tenants.most = Some(100);
    assert!(cycle.turn(&cluster(&["one/a@2", "two/a@2"]), &mut tenants).outcome.is_in_place());
    // The same when nothing ran before, and nginx accepts nothing at all.
    let state = tempfile::tempdir().unwrap();
    let mut tenants = Tenants { fixed: 200, ..Tenants::default() };
    let mut cycle = Cycle::open(state.path(), None).unwrap();
    for attempts in [2, 1, 2] {
        let report = cycle.turn(&cluster(&["one/a@1", "two/a@1", "three/a@1"]), &mut tenants);
        assert_eq!((quarantined(&report), report.attempts), (Vec::new(), attempts));
    }
    tenants.fixed = 0;
    // A search may have begun, and ends without blame.
    let report = to_the_end(&mut cycle, &cluster(&["one/a@1", "two/a@1", "three/a@1"]), &mut tenants);
    assert_eq!(quarantined(&report), [""; 0]);
    assert_eq!(tenants.running().len(), 3);
}

#[test]
fn an_object_that_was_too_much_comes_last_the_next_time() {
    let state = tempfile::tempdir().unwrap();
    let mut tenants = Tenants::costing(&[("evil/a@2", 200), ("evil/a@3", 200), ("evil/a@4", 200)]);
    let mut cycle = Cycle::open(state.path(), None).unwrap();
    cycle.turn(&cluster(&["evil/a@1", "victim/a@1"]), &mut tenants);
    for version in 2..5 {
        tenants.applied.clear();
        let report = cycle.turn(&cluster(&[format!("evil/a@{version}"), format!("victim/a@{version}")]), &mut tenants);
        assert_eq!(tenants.running(), ["evil/a@1".to_owned(), format!("victim/a@{version}")]);
        let first = tenants.applied.iter().position(|applied| *applied == *tenants.running());
        assert_eq!(first, Some(if version == 2 { 1 } else { 0 }), "{version}");
        if report.again.is_none() {
            assert_eq!(quarantined(&report), ["Ingress evil/a"]);
        }
    }
}

#[test]
fn a_thousand_wrong_lines_of_one_namespace_come_after_the_changes_of_others() {
    let state = tempfile::tempdir().unwrap();
    let mut tenants = Tenants { bad: |name| name.starts_with("evil/i") || name == "other/bad@1", ..Tenants::default() };
    let mut cycle = Cycle::open(state.path(), None).unwrap();
    cycle.turn(&cluster(&["victim/a@1"]), &mut tenants);
    tenants.applied.clear();
    let evil = many("evil", 1000);
    let all = |victim: &str| {
        let others = [victim, "other/bad@1", "other/good@1", "evil/good@1"].map(str::to_owned);
        [&evil[..], &others].concat()
    };
    let report = cycle.turn(&cluster(&all("victim/a@2")), &mut tenants);
    let is_served = |applied: &Vec<String>| {
        applied.contains(&"victim/a@2".to_owned()) && !applied.iter().any(|name| (tenants.bad)(name))
    };
    assert_eq!(tenants.applied.iter().position(is_served), Some(2), "one attempt for each other that is refused");
    assert!(report.outcome.is_in_place() && report.attempts <= 4, "{}", report.attempts);
    assert_eq!(report.again, Some(Duration::ZERO), "the others' turn comes before more of it is judged");
    // Changes of others meanwhile are served by the first attempt of the next cycle.
    let mut turns = 1;
    let mut report = report;
    while let Some(again) = report.again {
        (turns, tenants.applied) = (turns + 1, Vec::new());
        tenants.now += again;
        report = cycle.turn(&cluster(&all(&format!("victim/a@{turns}"))), &mut tenants);
        assert!(tenants.applied[0].contains(&format!("victim/a@{turns}")) && report.attempts <= 2);
        assert!(turns <= 1000 / LIMIT + 2, "{turns}");
    }
    assert_eq!(quarantined(&report).len(), 1001);
    let last = format!("victim/a@{turns}");
    assert_eq!(
        tenants.running(),
        ["evil/good@1", "other/good@1", &last],
        "and who is not to blame is served in the end"
    );
    // No namespace waits any more, once its faults are forgotten.
    tenants.now += Duration::from_secs(60);
    cycle.turn(&cluster(&all(&last)), &mut tenants);
    let report =
        cycle.turn(&cluster(&all(&last).into_iter().chain(["evil/late@1".into()]).collect::<Vec<_>>()), &mut tenants);
    assert_eq!((report.attempts, report.again), (1, None));
}
