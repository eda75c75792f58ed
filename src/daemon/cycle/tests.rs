//! The search for culprits, with files and an nginx that are simulated by rules.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use super::*;
use ingressd_config::Settings;
use ingressd_model::{Field, Kind, Origin, WorkingVersion};
use ingressd_objects::{Ingress, IngressTls, LeftOut, Secret, Stored, Version};
use ingressd_translate::Readers;

mod following;
mod kept;
mod removals;
mod series;
mod shared_hosts;
mod tenants;

fn id(text: &str) -> Arc<ObjectId> {
    let kind = if text.starts_with("secret") { Kind::SECRET } else { Kind::INGRESS };
    Arc::new(ObjectId::new(kind, "shop", text))
}

const TEST: Duration = Duration::from_millis(20);

/// `name@version`, sorted by name.
fn snapshot(objects: &[&str]) -> Snapshot {
    let mut snapshot = Snapshot::default();
    for (name, version) in objects.iter().map(|text| text.split_once('@').unwrap()) {
        let version = Version(version.into());
        match name.starts_with("secret") {
            true => snapshot.secrets.edit().push(Stored {
                id: id(name),
                version,
                object: Arc::new(Secret::default()),
                published: None,
                place: None,
            }),
            false => snapshot.ingresses.edit().push(Stored {
                id: id(name),
                version,
                object: Arc::new(Ingress::default()),
                published: None,
                place: None,
            }),
        }
    }
    snapshot
}

/// A cycle that knows what Ingresses need.
fn knowing(state: &Path) -> Cycle {
    let mut cycle = Cycle::open(state, None).unwrap();
    cycle.keep(Kinds::default(), Settings::default().needs(Readers::default()));
    cycle
}

/// The same with an Ingress that refers to these Secrets.
fn referring(mut snapshot: Snapshot, name: &str, secrets: &[&str]) -> Snapshot {
    let index = snapshot.ingresses.position("shop", name).unwrap();
    let tls = secrets.iter().map(|secret| IngressTls { secret_name: Some((*secret).into()), ..IngressTls::default() });
    snapshot.ingresses.edit()[index].object = Arc::new(Ingress { tls: tls.collect(), ..Ingress::default() });
    snapshot
}

fn names(snapshot: &Snapshot) -> Vec<String> {
    let ingresses = snapshot.ingresses.iter().map(|stored| format!("{}@{}", stored.id.name, stored.version.0));
    let secrets = snapshot.secrets.iter().map(|stored| format!("{}@{}", stored.id.name, stored.version.0));
    ingresses.chain(secrets).collect()
}

/// An nginx that refuses these object versions. `shared` names the candidates of every complaint;
/// without it the culprit is known.
#[derive(Default)]
struct Rules {
    bad: BTreeSet<&'static str>,
    /// Versions that the translation refuses.
    unfit: BTreeSet<&'static str>,
    shared: Vec<&'static str>,
    /// Versions that close routes of their own.
    closing: BTreeSet<&'static str>,
    /// Versions that are refused with the administrator's templates only; `None` without such
    /// templates.
    bad_by_templates: Option<BTreeSet<&'static str>>,
    /// Whether everything is refused.
    hopeless: bool,
    /// Whether all objects share a file, until sharing stops; `true` when nginx refuses that as
    /// such.
    shares: Option<bool>,
    sharing_refused: bool,
    judge: &'static str,
    made: Vec<String>,
    applied: Vec<Vec<String>>,
}

/// A time that does not pass.
fn still() -> Instant {
    static STILL: LazyLock<Instant> = LazyLock::new(Instant::now);
    *STILL
}

impl Stages for Rules {
    fn now(&self) -> Instant {
        still()
    }

    fn judge(&self, _: &Snapshot) -> Arc<str> {
        self.judge.into()
    }

    fn make(&mut self, snapshot: &Snapshot) -> Product {
        self.made = names(snapshot);
        let unfit = self.made.iter().filter(|name| self.unfit.contains(name.as_str()));
        let refused: Vec<_> = unfit.map(|name| name.split_once('@').unwrap()).collect();
        let findings = refused
            .iter()
            .map(|(name, version)| Finding::new(Reason::RefusedValue, Origin::object(&id(name)), *version));
        let accepted = |id: &Arc<ObjectId>, version: &Version| {
            let closed = u32::from(self.closing.contains(format!("{}@{}", id.name, version.0).as_str()));
            let whole = WorkingVersion::whole(version.clone(), Vec::new(), 1);
            Arc::new(ObjectState::of(id, WorkingVersion { closed, ..whole }))
        };
        let ingresses = snapshot.ingresses.iter().map(|stored| accepted(&stored.id, &stored.version));
        // Which Secrets are served usually follows from the files, of which there are none here.
        let secrets = snapshot.secrets.iter().map(|stored| accepted(&stored.id, &stored.version));
        Product {
            findings: findings.collect(),
            states: ingresses.chain(secrets).collect(),
            refused: refused
                .iter()
                .map(|(name, version)| RefusedVersion {
                    id: id(name),
                    version: Version((*version).into()),
                    why: Reason::RefusedValue,
                })
                .collect(),
            ..Product::default()
        }
    }

    fn begin_weighing(&mut self) -> bool {
        true
    }

    fn end_weighing(&mut self) {}

    fn settle(&mut self, _: &Arc<ingressd_translate::Claims>) {}

    fn stop_sharing(&mut self, _: &str) -> bool {
        self.shares.is_some() && !std::mem::replace(&mut self.sharing_refused, true)
    }

    fn resume_sharing(&mut self) {
        self.sharing_refused = false;
    }

    fn apply(&mut self, _: &FileSet) -> Outcome {
        self.applied.push(self.made.clone());
        let is_bad = |name: &String| self.bad.contains(name.as_str());
        if let (Some(is_refused), false) = (self.shares, self.sharing_refused)
            && (is_refused || self.made.iter().any(is_bad))
        {
            let candidates = self.made.iter().map(|name| id(name.split_once('@').unwrap().0)).collect();
            let complaint = Complaint { place: None, words: "no room".into(), candidates, ..Complaint::default() };
            return Outcome::Refused { complaints: vec![complaint], test: TEST };
        }
        let by_templates = |name: &str| self.bad_by_templates.as_ref().is_some_and(|bad| bad.contains(name));
        let complaints = self.complaints(|name| self.hopeless || self.bad.contains(name) || by_templates(name));
        match complaints.is_empty() {
            true => Outcome::Unchanged { generation: 1 },
            false => Outcome::Refused { complaints, test: TEST },
        }
    }

    fn has_templates(&self) -> bool {
        self.bad_by_templates.is_some()
    }

    fn try_out(&mut self, snapshot: &Snapshot, has_templates: bool) -> Option<Vec<Complaint>> {
        if has_templates {
            return None;
        }
        assert_eq!(names(snapshot), self.made, "the same objects are asked about");
        Some(self.complaints(|name| self.hopeless || self.bad.contains(name)))
    }
}

impl Rules {
    fn complaints(&self, is_bad: impl Fn(&str) -> bool) -> Vec<Complaint> {
        let culprits: Vec<_> = self.made.iter().filter(|name| is_bad(name)).collect();
        let complaint = |name: &String| {
            let object = id(name.split_once('@').unwrap().0);
            let shared = !self.shared.is_empty();
            Complaint {
                place: Some(("http/shop.conf".into(), Some(7))),
                words: "unknown variable".into(),
                origin: (!shared).then(|| Origin::field(&object, Field::Rule(2))),
                ran_before: false,
                candidates: if shared { self.shared.iter().map(|name| id(name)).collect() } else { vec![object] },
            }
        };
        // Like a real nginx, it stops at the first error in a shared file.
        let reported = if self.shared.is_empty() { culprits.len() } else { 1 };
        culprits.into_iter().take(reported).map(complaint).collect()
    }
}

fn quarantined(report: &Report) -> Vec<String> {
    let findings = report.product.findings.iter().filter(|finding| finding.reason == Reason::Quarantined);
    findings.map(|finding| format!("{}", finding.origin)).collect()
}

#[test]
fn the_last_good_version_takes_the_place_of_a_bad_one() {
    let state = tempfile::tempdir().unwrap();
    let mut cycle = Cycle::open(state.path(), None).unwrap();
    let mut rules = Rules { bad: ["b@2"].into(), ..Rules::default() };
    assert!(quarantined(&cycle.turn(&snapshot(&["a@1", "b@1", "c@1"]), &mut rules)).is_empty());
    let report = cycle.turn(&snapshot(&["a@2", "b@2", "c@1"]), &mut rules);
    assert_eq!(rules.made, ["a@2", "b@1", "c@1"], "everybody else's change goes through");
    assert_eq!(quarantined(&report), ["Ingress shop/b: spec.rules[2]"]);
    assert!(report.product.findings[0].note.contains("unknown variable"), "{}", report.product.findings[0].note);
    assert_eq!(report.attempts, 2);
    // The version stays in quarantine and costs no further attempt.
    let report = cycle.turn(&snapshot(&["a@3", "b@2", "c@1"]), &mut rules);
    assert_eq!((report.attempts, quarantined(&report).len()), (1, 1));
    assert_eq!(rules.made, ["a@3", "b@1", "c@1"]);
    // A new version is tried again.
    let report = cycle.turn(&snapshot(&["a@3", "b@3", "c@1"]), &mut rules);
    assert_eq!((report.attempts, quarantined(&report).len()), (1, 0));
    assert_eq!(rules.made, ["a@3", "b@3", "c@1"]);
}

#[test]
fn a_version_that_closes_routes_is_not_good_while_there_is_an_earlier_one() {
    let state = tempfile::tempdir().unwrap();
    let mut rules = Rules { bad: ["b@3", "c@2"].into(), closing: ["b@2", "c@1"].into(), ..Rules::default() };
    let mut cycle = Cycle::open(state.path(), None).unwrap();
    cycle.turn(&snapshot(&["b@1"]), &mut rules);
    cycle.turn(&snapshot(&["b@2", "c@1"]), &mut rules);
    assert_eq!(rules.made, ["b@2", "c@1"], "they are served");
    cycle.turn(&snapshot(&["b@3", "c@2"]), &mut rules);
    assert_eq!(rules.made, ["b@1", "c@1"]);
    drop(cycle);
    // The same holds after a restart.
    Cycle::open(state.path(), None).unwrap().turn(&snapshot(&["b@3", "c@2"]), &mut rules);
    assert_eq!(rules.made, ["b@1", "c@1"]);
}

#[test]
fn nobody_is_blamed_for_what_is_wrong_with_sharing() {
    let state = tempfile::tempdir().unwrap();
    let mut cycle = Cycle::open(state.path(), None).unwrap();
    let mut rules = Rules { shares: Some(true), ..Rules::default() };
    let report = cycle.turn(&snapshot(&["a@1", "b@1", "c@1"]), &mut rules);
    assert_eq!((quarantined(&report), report.attempts, rules.sharing_refused), (Vec::new(), 2, true));
    // It is not tried again with each change.
    let report = cycle.turn(&snapshot(&["a@2", "b@1", "c@1"]), &mut rules);
    assert_eq!((quarantined(&report), report.attempts), (Vec::new(), 1));
}

#[test]
fn a_host_that_breaks_its_shared_server_is_found_and_the_others_share_again() {
    let state = tempfile::tempdir().unwrap();
    let mut cycle = Cycle::open(state.path(), None).unwrap();
    let mut rules = Rules { shares: Some(false), bad: ["c@1"].into(), ..Rules::default() };
    let report = cycle.turn(&snapshot(&["a@1", "b@1", "c@1", "d@1"]), &mut rules);
    assert_eq!(quarantined(&report), ["Ingress shop/c: spec.rules[2]"]);
    assert_eq!(
        (rules.made, report.attempts, rules.sharing_refused),
        (vec!["a@1".into(), "b@1".into(), "d@1".into()], 3, false)
    );
}

#[test]
fn a_restart_keeps_quarantine_and_last_good_versions() {
    let state = tempfile::tempdir().unwrap();
    let mut rules = Rules { bad: ["b@2"].into(), ..Rules::default() };
    let mut cycle = Cycle::open(state.path(), None).unwrap();
    cycle.turn(&snapshot(&["a@1", "b@1"]), &mut rules);
    cycle.turn(&snapshot(&["a@1", "b@2"]), &mut rules);
    drop(cycle);
    rules.applied.clear();
    let report = Cycle::open(state.path(), None).unwrap().turn(&snapshot(&["a@2", "b@2"]), &mut rules);
    assert_eq!(rules.applied, [["a@2", "b@1"]], "the bad version is not tried again");
    assert_eq!(quarantined(&report).len(), 1);
}

#[test]
fn without_an_earlier_version_the_object_is_left_out() {
    let state = tempfile::tempdir().unwrap();
    let mut rules = Rules { bad: ["b@1"].into(), ..Rules::default() };
    let report = Cycle::open(state.path(), None).unwrap().turn(&snapshot(&["a@1", "b@1"]), &mut rules);
    assert_eq!(rules.made, ["a@1"]);
    assert!(report.product.findings[0].note.contains("left out"), "{}", report.product.findings[0].note);
}

#[test]
fn a_last_good_version_that_is_refused_too_is_left_out() {
    let state = tempfile::tempdir().unwrap();
    let mut cycle = Cycle::open(state.path(), None).unwrap();
    let mut rules = Rules::default();
    cycle.turn(&snapshot(&["a@1", "b@1"]), &mut rules);
    rules.bad = ["b@1", "b@2"].into();
    let report = cycle.turn(&snapshot(&["a@1", "b@2"]), &mut rules);
    assert_eq!(rules.made, ["a@1"]);
    assert_eq!(report.attempts, 3);
}

#[test]
fn of_several_candidates_only_the_culprit_stays_in_quarantine() {
    let rows: &[(&[&str], &[&str], &[&str])] = &[
        // Each row: what is bad, what is served then, what is in quarantine.
        (&["c@2"], &["a@1", "b@2", "c@1", "secret@1"], &["Ingress shop/c"]),
        (&["b@2"], &["a@1", "b@1", "c@2", "secret@1"], &["Ingress shop/b"]),
        (&["b@2", "c@2"], &["a@1", "b@1", "c@1", "secret@1"], &["Ingress shop/b", "Ingress shop/c"]),
        (&["secret@1"], &["a@1", "b@2", "c@2"], &["Secret shop/secret"]),
    ];
    for (bad, served, expected) in rows {
        let state = tempfile::tempdir().unwrap();
        let mut cycle = Cycle::open(state.path(), None).unwrap();
        let mut rules = Rules { shared: vec!["secret", "a", "b", "c"], ..Rules::default() };
        cycle.turn(&snapshot(&["a@1", "b@1", "c@1", "secret@1"]), &mut rules);
        rules.bad = bad.iter().copied().collect();
        let report = cycle.turn(&snapshot(&["a@1", "b@2", "c@2", "secret@1"]), &mut rules);
        assert_eq!(rules.made, *served, "{bad:?}");
        assert_eq!(quarantined(&report), *expected, "{bad:?}");
    }
}

#[test]
fn when_nothing_helps_nobody_is_blamed() {
    let state = tempfile::tempdir().unwrap();
    let mut cycle = Cycle::open(state.path(), None).unwrap();
    let mut rules = Rules { hopeless: true, shared: vec!["a", "b"], ..Rules::default() };
    let report = cycle.turn(&snapshot(&["a@1", "b@1", "c@1"]), &mut rules);
    assert!(matches!(report.outcome, Outcome::Refused { .. }));
    assert!(quarantined(&report).is_empty());
    assert_eq!(
        report.product.findings.iter().map(|finding| finding.reason).collect::<Vec<_>>(),
        [Reason::ReloadFailed]
    );
    assert!(report.attempts < MOST_ATTEMPTS, "{}", report.attempts);
}

#[test]
fn what_the_translation_refuses_is_put_back_too() {
    let state = tempfile::tempdir().unwrap();
    let mut cycle = Cycle::open(state.path(), None).unwrap();
    let mut rules = Rules { unfit: ["a@2", "b@1"].into(), ..Rules::default() };
    let report = cycle.turn(&snapshot(&["a@1", "b@1"]), &mut rules);
    assert_eq!((rules.made.clone(), report.product.findings.len()), (vec!["a@1".into(), "b@1".into()], 1));
    for _ in 0..2 {
        let report = cycle.turn(&snapshot(&["a@2", "b@1"]), &mut rules);
        assert_eq!(rules.made, ["a@1", "b@1"]);
        let findings: Vec<_> =
            report.product.findings.iter().map(|finding| (finding.origin.to_string(), &*finding.note)).collect();
        assert_eq!(findings, [("Ingress shop/a".to_owned(), "2"), ("Ingress shop/b".to_owned(), "1")]);
    }
    drop(cycle);
    Cycle::open(state.path(), None).unwrap().turn(&snapshot(&["a@2"]), &mut rules);
    assert_eq!(rules.made, ["a@1"], "after a restart too");
}

#[test]
fn a_version_that_is_refused_gives_way_to_no_other_refused_one() {
    let state = tempfile::tempdir().unwrap();
    let mut cycle = Cycle::open(state.path(), None).unwrap();
    let mut rules = Rules { unfit: ["a@1", "a@2"].into(), ..Rules::default() };
    for version in ["a@1", "a@2"] {
        cycle.turn(&snapshot(&[version]), &mut rules);
        assert_eq!(rules.made, [version], "as far as it can be served: nobody ever served it better");
    }
}

#[test]
fn what_cannot_be_read_after_a_restart_is_served_as_it_was() {
    let state = tempfile::tempdir().unwrap();
    let mut rules = Rules::default();
    Cycle::open(state.path(), None).unwrap().turn(&snapshot(&["a@1", "b@1"]), &mut rules);
    let mut broken = snapshot(&["a@2"]);
    let left_out = |name: &str| LeftOut { id: id(name), place: None, uid: None, why: Reason::Undecodable };
    broken.left_out.extend(["b", "never-seen"].map(left_out));
    Cycle::open(state.path(), None).unwrap().turn(&broken, &mut rules);
    assert_eq!(rules.made, ["a@2", "b@1"]);
    // The version that took its place can be refused like any other.
    rules.bad.insert("b@1");
    let mut cycle = Cycle::open(state.path(), None).unwrap();
    cycle.turn(&broken, &mut rules);
    assert_eq!(rules.made, ["a@2"]);
}

#[test]
fn an_earlier_version_has_the_secrets_that_it_refers_to() {
    let state = tempfile::tempdir().unwrap();
    let mut cycle = knowing(state.path());
    let mut rules = Rules { bad: ["a@2"].into(), unfit: ["a@3"].into(), ..Rules::default() };
    let old = ["secret-both", "secret-old"];
    let first = referring(snapshot(&["a@1", "secret-both@1", "secret-old@1"]), "a", &old);
    assert!(cycle.turn(&first, &mut rules).held.is_empty());
    // The source keeps only what the newest versions refer to.
    let edited = |version: &str, secrets: &[&str]| {
        let objects = [&[version, "secret-both@2", "secret-new@1"], secrets].concat();
        referring(snapshot(&objects), "a", &["secret-both", "secret-new"])
    };
    for version in ["a@2", "a@3"] {
        let report = cycle.turn(&edited(version, &[]), &mut rules);
        assert_eq!(rules.made, ["a@1", "secret-both@2", "secret-new@1", "secret-old@1"], "{version}");
        assert_eq!(report.held, old.map(|name| ObjectId::new(Kind::SECRET, "shop", name)).into());
        // A Secret that exists is served as it is now, and one that is gone as it was.
        cycle.turn(&edited(version, &["secret-old@1b"]), &mut rules);
        cycle.turn(&edited(version, &[]), &mut rules);
        assert_eq!(rules.made, ["a@1", "secret-both@2", "secret-new@1", "secret-old@1b"], "{version}");
        cycle.turn(&first, &mut rules);
        drop(cycle);
        cycle = knowing(state.path());
    }
    cycle.turn(&edited("a@2", &[]), &mut rules);
    assert_eq!(rules.made, ["a@1", "secret-both@2", "secret-new@1", "secret-old@1"], "after a restart too");
    // A version that is itself refused stays out.
    rules.bad.insert("secret-old@1");
    cycle.turn(&edited("a@2", &["secret-old@1"]), &mut rules);
    assert_eq!(rules.made, ["a@1", "secret-both@2", "secret-new@1"]);
    assert!(cycle.turn(&edited("a@4", &[]), &mut rules).held.is_empty());
}

#[test]
fn what_cannot_be_read_after_a_restart_has_the_secrets_that_it_refers_to() {
    let state = tempfile::tempdir().unwrap();
    let mut rules = Rules::default();
    let first = referring(snapshot(&["a@1", "secret-a@1", "secret-b@1"]), "a", &["secret-a", "secret-b"]);
    knowing(state.path()).turn(&first, &mut rules);
    let mut broken = snapshot(&["secret-b@2"]);
    broken.left_out.push(LeftOut { id: id("a"), place: None, uid: None, why: Reason::Undecodable });
    let report = knowing(state.path()).turn(&broken, &mut rules);
    assert_eq!(rules.made, ["a@1", "secret-a@1", "secret-b@2"]);
    assert_eq!(report.held.len(), 2);
}

#[test]
fn another_judge_tries_refused_versions_again() {
    let state = tempfile::tempdir().unwrap();
    let mut rules = Rules { bad: ["b@1"].into(), judge: "nginx 1.22.1", ..Rules::default() };
    Cycle::open(state.path(), None).unwrap().turn(&snapshot(&["a@1", "b@1"]), &mut rules);
    for (judge, bad, expected) in [
        ("nginx 1.22.1", None, 1),
        ("nginx 1.26.3", Some("b@1"), 1),
        ("nginx 1.26.3", None, 1),
        ("nginx 1.28.0", None, 0),
    ] {
        (rules.judge, rules.bad) = (judge, bad.into_iter().collect());
        let report = Cycle::open(state.path(), None).unwrap().turn(&snapshot(&["a@1", "b@1"]), &mut rules);
        assert_eq!(quarantined(&report).len(), expected, "{judge} {bad:?}");
    }
}

#[test]
fn new_templates_are_to_blame_for_what_is_accepted_without_them() {
    let state = tempfile::tempdir().unwrap();
    let mut cycle = Cycle::open(state.path(), None).unwrap();
    let bad_by_templates = Some(["a@1", "c@1"].into());
    let mut rules = Rules { bad: ["b@1"].into(), bad_by_templates, ..Rules::default() };
    let objects = snapshot(&["a@1", "b@1", "c@1"]);
    let report = cycle.turn(&objects, &mut rules);
    assert_eq!(quarantined(&report), ["Ingress shop/b: spec.rules[2]"], "that one is bad without them, too");
    let reported =
        |report: &Report| report.product.findings.iter().any(|finding| finding.note.contains("nginx.templates"));
    assert!(matches!(report.outcome, Outcome::Refused { .. }) && reported(&report), "{:?}", report.product.findings);
    // No other object is ever blamed, however often it is tried.
    assert_eq!(quarantined(&cycle.turn(&objects, &mut rules)), ["Ingress shop/b: spec.rules[2]"]);
    rules.bad_by_templates = Some(BTreeSet::new());
    let report = cycle.turn(&objects, &mut rules);
    assert_eq!((rules.made.as_slice(), reported(&report)), (["a@1".to_owned(), "c@1".to_owned()].as_slice(), false));
}

#[test]
fn new_templates_are_to_blame_after_a_search_among_candidates() {
    let state = tempfile::tempdir().unwrap();
    let (shared, bad_by_templates) = (vec!["a", "b", "c"], Some(["c@1"].into()));
    let mut rules = Rules { bad: ["b@1"].into(), shared, bad_by_templates, ..Rules::default() };
    let report = Cycle::open(state.path(), None).unwrap().turn(&snapshot(&["a@1", "b@1", "c@1"]), &mut rules);
    assert_eq!(quarantined(&report), ["Ingress shop/b"]);
    assert!(matches!(report.outcome, Outcome::Refused { .. }));
}

#[test]
fn with_templates_that_nginx_has_taken_a_bad_object_harms_only_itself() {
    let state = tempfile::tempdir().unwrap();
    let mut cycle = Cycle::open(state.path(), None).unwrap();
    let mut rules = Rules { bad_by_templates: Some(["b@2", "d@1"].into()), ..Rules::default() };
    cycle.turn(&snapshot(&["a@1", "b@1", "c@1"]), &mut rules);
    let report = cycle.turn(&snapshot(&["a@2", "b@2", "c@1", "d@1"]), &mut rules);
    assert_eq!(rules.made, ["a@2", "b@1", "c@1"]);
    assert_eq!(quarantined(&report), ["Ingress shop/b: spec.rules[2]", "Ingress shop/d: spec.rules[2]"]);
    let notes = report.product.findings.iter().filter(|finding| finding.note.contains("nginx.templates"));
    assert_eq!(notes.count(), 2, "{:?}", report.product.findings);
}

#[test]
fn the_test_of_each_attempt_counts() {
    let state = tempfile::tempdir().unwrap();
    let mut rules = Rules { bad: ["b@1"].into(), ..Rules::default() };
    let report = Cycle::open(state.path(), None).unwrap().turn(&snapshot(&["a@1", "b@1"]), &mut rules);
    assert_eq!((report.attempts, report.tests), (2, vec![TEST]));
}
