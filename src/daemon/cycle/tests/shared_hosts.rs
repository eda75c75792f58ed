//! The search for culprits on hosts that several objects share.

use super::*;

/// nginx's answer to a file with these objects: the message, and the object whose line it names.
type Rule = fn(&[&str]) -> Option<(&'static str, Option<&'static str>)>;

/// An nginx that judges each host by itself.
struct Hosts {
    /// Each host and the objects with lines in its file.
    files: Vec<(String, Vec<String>)>,
    /// Objects that name a host without a line in its file.
    guests: Vec<(&'static str, &'static str)>,
    rule: Rule,
    /// Whether it ran the lines before that it complains about.
    ran_before: bool,
    made: Vec<String>,
    states: Vec<Arc<ObjectState>>,
}

impl Hosts {
    fn new(files: &[(&str, &[&str])], rule: Rule) -> Self {
        let owned = |owners: &[&str]| owners.iter().map(|owner| (*owner).to_owned()).collect();
        let files = files.iter().map(|(host, owners)| ((*host).to_owned(), owned(owners))).collect();
        Hosts { files, guests: Vec::new(), rule, ran_before: true, made: Vec::new(), states: Vec::new() }
    }

    fn hosts(&self, name: &str) -> Vec<Arc<str>> {
        let own = self.files.iter().filter(|(_, owners)| owners.iter().any(|owner| owner == name));
        let guest = self.guests.iter().filter(|(guest, _)| *guest == name);
        own.map(|(host, _)| host.as_str()).chain(guest.map(|(_, host)| *host)).map(Arc::from).collect()
    }

    fn complaint(&self, host: &str, owners: &[String]) -> Option<Complaint> {
        let name = |made: &str| made.split_once('@').unwrap().0.to_owned();
        let is_inside = |made: &&String| {
            owners.contains(&name(made)) || self.guests.iter().any(|(guest, of)| *guest == name(made) && *of == host)
        };
        let inside: Vec<_> = self.made.iter().filter(is_inside).map(String::as_str).collect();
        let (words, culprit) = (self.rule)(&inside)?;
        let with_lines = inside.iter().map(|made| name(made)).filter(|name| owners.contains(name));
        Some(Complaint {
            place: Some((format!("http/{host}.conf").into(), culprit.map(|_| 7))),
            words: words.into(),
            origin: culprit.map(|name| Origin::field(&id(name), Field::Rule(0))),
            ran_before: self.ran_before,
            candidates: with_lines.map(|name| id(&name)).collect(),
        })
    }
}

impl Stages for Hosts {
    fn now(&self) -> Instant {
        still()
    }

    fn judge(&self, _: &Snapshot) -> Arc<str> {
        "nginx".into()
    }

    fn make(&mut self, snapshot: &Snapshot) -> Product {
        self.made = names(snapshot);
        let states = snapshot.ingresses.iter().map(|stored| {
            let working = WorkingVersion::whole(stored.version.clone(), self.hosts(&stored.id.name), 1);
            Arc::new(ObjectState::of(&stored.id, working))
        });
        self.states = states.collect();
        Product { states: self.states.clone(), ..Product::default() }
    }

    fn apply(&mut self, _: &FileSet) -> Outcome {
        let complaints = self.files.iter().filter_map(|(host, owners)| self.complaint(host, owners));
        let complaints: Vec<_> = complaints.collect();
        match complaints.is_empty() {
            true => Outcome::Unchanged { generation: 1 },
            false => Outcome::Refused { complaints, test: TEST },
        }
    }

    fn begin_weighing(&mut self) -> bool {
        true
    }

    fn end_weighing(&mut self) {}

    fn settle(&mut self, _: &Arc<ingressd_translate::Claims>) {}

    fn stop_sharing(&mut self, _: &str) -> bool {
        false
    }

    fn resume_sharing(&mut self) {}
}

/// A mistake for which nginx names no line.
fn bad_sizes(made: &[&str]) -> Option<(&'static str, Option<&'static str>)> {
    made.iter().any(|made| made.starts_with("bad") && made.ends_with("@2")).then_some(("must be less", None))
}

fn turn(cycle: &mut Cycle, objects: &[&str], stages: &mut Hosts) -> Report {
    let mut sorted = objects.to_vec();
    sorted.sort_unstable_by_key(|text| text.split_once('@'));
    cycle.turn(&snapshot(&sorted), stages)
}

#[test]
fn the_same_mistake_on_two_hosts_blocks_nobody_else() {
    let files: [(&str, &[&str]); 2] = [("h1", &["bad1", "b1"]), ("h2", &["bad2", "b2"])];
    for before in [&["bad1@1", "b1@1", "bad2@1", "b2@1", "c@1"][..], &[]] {
        let state = tempfile::tempdir().unwrap();
        let mut cycle = Cycle::open(state.path(), None).unwrap();
        let mut hosts = Hosts::new(&files, bad_sizes);
        turn(&mut cycle, before, &mut hosts);
        let report = turn(&mut cycle, &["bad1@2", "b1@2", "bad2@2", "b2@2", "c@2"], &mut hosts);
        assert!(report.outcome.is_in_place());
        assert_eq!(quarantined(&report), ["Ingress shop/bad1", "Ingress shop/bad2"]);
        let expected: &[&str] = match before {
            [] => &["b1@2", "b2@2", "c@2"],
            _ => &["b1@2", "b2@2", "bad1@1", "bad2@1", "c@2"],
        };
        assert_eq!(hosts.made, expected);
    }
}

#[test]
fn hosts_are_searched_side_by_side_and_many_candidates_in_few_attempts() {
    let names: Vec<_> = (0..60).map(|number| (format!("bad{number}"), format!("good{number}"))).collect();
    let mut hosts = Hosts::new(&[], bad_sizes);
    hosts.files = names.iter().map(|(bad, good)| (bad.clone(), vec![bad.clone(), good.clone()])).collect();
    hosts.files.push(("crowd".into(), (0..50).map(|number| format!("a{number}")).chain(["bad-z".into()]).collect()));
    let all: Vec<_> = hosts.files.iter().flat_map(|(_, owners)| owners).map(|name| format!("{name}@2")).collect();
    let all: Vec<_> = all.iter().map(String::as_str).collect();
    let state = tempfile::tempdir().unwrap();
    let report = turn(&mut Cycle::open(state.path(), None).unwrap(), &all, &mut hosts);
    assert!(report.outcome.is_in_place());
    assert_eq!(quarantined(&report).len(), 61);
    assert!(report.attempts < 20, "{}", report.attempts);
}

#[test]
fn when_a_search_takes_too_long_the_candidates_stay_as_they_were() {
    let mut hosts = Hosts::new(&[], bad_sizes);
    // No searches can run side by side, because one object is on all hosts.
    let of = |number| ["bad", "good", "fine"].map(|name| format!("{name}{number}"));
    hosts.files =
        (0..40).map(|number| (format!("h{number}"), [&of(number)[..], &["common".into()]].concat())).collect();
    let at = |version: &str| {
        let names: BTreeSet<_> = hosts.files.iter().flat_map(|(_, owners)| owners).collect();
        names
            .into_iter()
            .map(|name| format!("{name}@{version}"))
            .chain([format!("other@{version}")])
            .collect::<Vec<_>>()
    };
    let (old, new) = (at("1"), at("2"));
    let state = tempfile::tempdir().unwrap();
    let mut cycle = Cycle::open(state.path(), None).unwrap();
    turn(&mut cycle, &old.iter().map(String::as_str).collect::<Vec<_>>(), &mut hosts);
    let report = turn(&mut cycle, &new.iter().map(String::as_str).collect::<Vec<_>>(), &mut hosts);
    assert!(report.outcome.is_in_place());
    assert!(report.attempts < MOST_ATTEMPTS, "{}", report.attempts);
    assert!(hosts.made.contains(&"other@2".to_owned()), "everybody else's change goes through");
    assert_eq!(hosts.made.len(), new.len(), "and nobody is gone: {:?}", hosts.made);
}

#[test]
fn an_object_that_is_bad_on_two_hosts_goes_on_in_its_last_good_version() {
    let files: [(&str, &[&str]); 2] = [("example.com", &["a"]), ("www.example.com", &["a"])];
    let rule: Rule = |made| made.contains(&"a@2").then_some(("missing )", Some("a")));
    let state = tempfile::tempdir().unwrap();
    let mut cycle = Cycle::open(state.path(), None).unwrap();
    let mut hosts = Hosts::new(&files, rule);
    turn(&mut cycle, &["a@1", "b@1"], &mut hosts);
    let report = turn(&mut cycle, &["a@2", "b@2"], &mut hosts);
    assert_eq!((hosts.made.as_slice(), report.attempts), (["a@1".to_owned(), "b@2".to_owned()].as_slice(), 2));
    let notes: Vec<_> = report.product.findings.iter().map(|finding| &*finding.note).collect();
    assert!(matches!(notes[..], [note] if note.contains("last good version is served")), "{notes:?}");
}

#[test]
fn a_line_that_another_change_broke_is_not_blamed_on_its_unchanged_owner() {
    let rule: Rule = |made| {
        let spoils = made.contains(&"young@1") && made.contains(&"victim@1");
        spoils.then_some(("missing )", Some("victim")))
    };
    // The culprit has a line in the file, or none because an older object has all its paths.
    for owners in [&["victim", "other", "young"][..], &["victim", "other"]] {
        for is_restarted in [false, true] {
            let state = tempfile::tempdir().unwrap();
            let mut hosts = Hosts::new(&[("h", owners)], rule);
            hosts.guests.push(("young", "h"));
            let mut cycle = Cycle::open(state.path(), None).unwrap();
            turn(&mut cycle, &["victim@1", "other@1", "far@1"], &mut hosts);
            if is_restarted {
                drop(cycle);
                cycle = Cycle::open(state.path(), None).unwrap();
            }
            let report = turn(&mut cycle, &["victim@1", "other@2", "far@2", "young@1"], &mut hosts);
            assert_eq!(quarantined(&report), ["Ingress shop/young"], "{owners:?} {is_restarted}");
            assert_eq!(hosts.made, ["far@2", "other@2", "victim@1"]);
        }
    }
    // Where no other object changed, the object itself is all that is left.
    let state = tempfile::tempdir().unwrap();
    let mut hosts = Hosts::new(&[("h", &["victim", "other"])], |_| None);
    let mut cycle = Cycle::open(state.path(), None).unwrap();
    turn(&mut cycle, &["victim@1", "other@1"], &mut hosts);
    hosts.rule = |made| made.contains(&"victim@1").then_some(("unknown variable", Some("victim")));
    let report = turn(&mut cycle, &["victim@1", "other@1"], &mut hosts);
    assert_eq!((quarantined(&report).len(), hosts.made), (1, vec!["other@1".to_owned()]));
}

#[test]
fn a_line_that_nginx_did_not_run_before_is_blamed_on_its_owner() {
    // The trap is accepted until the victim changes, and with it the way the line is written.
    let rule: Rule =
        |made| (made.contains(&"trap@1") && made.contains(&"victim@2")).then_some(("missing )", Some("trap")));
    for is_restarted in [false, true] {
        let state = tempfile::tempdir().unwrap();
        let mut hosts = Hosts::new(&[("h", &["trap", "victim"])], rule);
        hosts.ran_before = false;
        let mut cycle = Cycle::open(state.path(), None).unwrap();
        turn(&mut cycle, &["trap@1", "victim@1"], &mut hosts);
        if is_restarted {
            drop(cycle);
            cycle = Cycle::open(state.path(), None).unwrap();
        }
        let report = turn(&mut cycle, &["trap@1", "victim@2"], &mut hosts);
        assert_eq!(quarantined(&report), ["Ingress shop/trap: spec.rules[0]"], "{is_restarted}");
        assert_eq!((hosts.made.as_slice(), report.attempts), (&["victim@2".to_owned()][..], 2));
        // This stays so while the victim keeps changing.
        hosts.rule = |made| made.contains(&"trap@1").then_some(("missing )", Some("trap")));
        let report = turn(&mut cycle, &["trap@1", "victim@3"], &mut hosts);
        assert_eq!((hosts.made.as_slice(), report.attempts), (&["victim@3".to_owned()][..], 1));
    }
}

#[test]
fn substitutes_that_became_wrong_block_nobody_else() {
    let state = tempfile::tempdir().unwrap();
    let mut cycle = Cycle::open(state.path(), None).unwrap();
    let mut hosts = Hosts::new(&[("h", &["a", "b"])], |_| None);
    turn(&mut cycle, &["a@1", "b@1", "c@1"], &mut hosts);
    // Like another version of nginx: it does not accept any more what it accepted before.
    hosts.rule = |made| made.iter().any(|made| made.starts_with("a@")).then_some(("must be less", None));
    let report = turn(&mut cycle, &["a@2", "b@2", "c@2"], &mut hosts);
    assert!(report.outcome.is_in_place());
    assert_eq!(
        (hosts.made.as_slice(), quarantined(&report).len()),
        (["b@2".to_owned(), "c@2".to_owned()].as_slice(), 1)
    );
}
