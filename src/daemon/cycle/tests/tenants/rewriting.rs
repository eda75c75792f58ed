//! Objects that nginx refuses and that are written again all the time.

use super::*;

/// A namespace of which some objects are refused by nginx and changed again all the time.
struct Attack {
    /// How many of them get new versions in each turn.
    written: usize,
    /// The time between two turns.
    between: Duration,
}

impl Attack {
    const OBJECTS: usize = 30;
    const TURNS: usize = 300;
    /// After so many turns everything about it is known.
    const KNOWN: usize = 60;

    /// In how many turns the victim's change (one in each turn) waits for refused versions, and
    /// which part of the time nginx spends on these in the end.
    fn run(&self) -> (usize, f64) {
        let state = tempfile::tempdir().unwrap();
        let bad = |name: &str| name.starts_with("evil/i") && !name.ends_with("@0");
        let mut tenants = Tenants { bad, ..Tenants::default() };
        let mut cycle = Cycle::open(state.path(), None).unwrap();
        let (mut versions, mut late, mut asked) = ([0; Self::OBJECTS], 0, Duration::ZERO);
        let mut began = tenants.now;
        for turn in 0..Self::TURNS {
            if turn == Self::KNOWN {
                (asked, began) = (Duration::ZERO, tenants.now);
            }
            for write in 0..self.written {
                versions[(turn * self.written + write) % Self::OBJECTS] += 1;
            }
            let victim = format!("victim/a@{turn}");
            let evil = versions.iter().enumerate().map(|(number, version)| format!("evil/i{number}@{version}"));
            tenants.applied.clear();
            cycle.turn(&cluster(&evil.chain([victim.clone()]).collect::<Vec<_>>()), &mut tenants);
            assert!(tenants.running().contains(&victim), "{turn}");
            let refused = |applied: &Vec<String>| applied.iter().filter(|name| bad(name)).count();
            late += usize::from(refused(&tenants.applied[0]) > 0);
            let all: usize = tenants.applied.iter().map(refused).sum();
            asked += TEST * u32::try_from(all).unwrap();
            tenants.now += self.between;
        }
        (late, asked.as_secs_f64() / (tenants.now - began).as_secs_f64())
    }
}

#[test]
fn a_namespace_with_ever_new_refused_versions_takes_a_tenth_of_the_time() {
    // All of them are changed in each turn, or a few, or one.
    for (written, between, until_known) in
        [(Attack::OBJECTS, 20, 1), (Attack::OBJECTS, 1000, 1), (6, 150, 2), (1, 50, 8)]
    {
        let (late, share) = Attack { written, between: Duration::from_millis(between) }.run();
        assert!(late <= until_known, "{written} {between}: {late}");
        assert!(share <= 0.12, "{written} {between}: {share}");
    }
}

#[test]
fn to_find_each_mistake_of_many_once_causes_no_waiting() {
    let state = tempfile::tempdir().unwrap();
    let mut tenants = Tenants { bad: |name| name.starts_with("evil/i"), proves: true, ..Tenants::default() };
    let mut cycle = Cycle::open(state.path(), None).unwrap();
    let bad = 10 * LIMIT;
    let all =
        cluster(&(0..bad).map(|number| format!("evil/i{number}@1")).chain(["evil/good@1".into()]).collect::<Vec<_>>());
    let (mut report, mut turns) = (cycle.turn(&all, &mut tenants), 1);
    while let Some(pause) = report.again {
        assert!(pause.is_zero() && turns < 10, "{pause:?} after {turns}");
        (report, turns) = (cycle.turn(&all, &mut tenants), turns + 1);
    }
    assert_eq!((quarantined(&report).len(), tenants.running()), (bad, ["evil/good@1".to_owned()].as_slice()));
}

#[test]
fn a_namespace_with_many_refused_versions_is_like_all_others_a_minute_later() {
    let state = tempfile::tempdir().unwrap();
    let mut tenants = Tenants { bad: |name| name.starts_with("evil/i"), ..Tenants::default() };
    let mut cycle = Cycle::open(state.path(), None).unwrap();
    let evil = |version: usize| (0..9).map(move |number| format!("evil/i{number}@{version}"));
    let all = |bad: usize, version: usize| {
        let others = ["evil/good", "victim/a"].map(|name| format!("{name}@{version}"));
        cluster(&evil(bad).chain(others).collect::<Vec<_>>())
    };
    // What is good beside what was refused is served at once, behind the changes of others.
    let report = cycle.turn(&all(1, 1), &mut tenants);
    assert_eq!((quarantined(&report).len(), report.again), (9, None));
    assert_eq!(tenants.applied[1..], [vec!["victim/a@1".to_owned()], vec!["evil/good@1".into(), "victim/a@1".into()]]);
    // Refused again, it waits for nine times as long as that took.
    let report = cycle.turn(&all(2, 2), &mut tenants);
    assert_eq!(
        (tenants.running(), report.again),
        (["evil/good@1", "victim/a@2"].map(str::to_owned).as_slice(), Some(Duration::ZERO))
    );
    let report = cycle.turn(&all(2, 3), &mut tenants);
    assert_eq!(tenants.running(), ["evil/good@1", "victim/a@3"]);
    assert_eq!(report.again, Some(TEST * 10 * 9 - TEST));
    tenants.now += TEST * 10 * 9;
    let report = cycle.turn(&all(2, 4), &mut tenants);
    assert_eq!(tenants.running(), ["evil/good@4", "victim/a@4"]);
    assert_eq!((quarantined(&report).len(), report.again, report.attempts), (9, None, 2));
    tenants.now += Duration::from_secs(60);
    cycle.turn(&all(2, 4), &mut tenants);
    assert_eq!(cycle.turn(&all(2, 5), &mut tenants).attempts, 1);
    assert_eq!(tenants.running(), ["evil/good@5", "victim/a@5"]);
}

#[test]
fn what_nginx_refused_beside_an_object_that_is_gone_is_tried_when_its_namespace_has_rested() {
    let state = tempfile::tempdir().unwrap();
    let bad = |name: &str| name.starts_with("evil/i");
    let mut tenants = Tenants { bad, clashes: &[["evil/z@1", "victim/a@1"]], proves: true, ..Tenants::default() };
    let mut cycle = Cycle::open(state.path(), None).unwrap();
    let bad = (0..9).map(|number| format!("evil/i{number}@1")).collect::<Vec<_>>();
    let with =
        |others: &[&str]| cluster(&bad.iter().map(String::as_str).chain(others.iter().copied()).collect::<Vec<_>>());
    to_the_end(&mut cycle, &with(&["victim/a@1", "victim/b@1"]), &mut tenants);
    let report = to_the_end(&mut cycle, &with(&["evil/z@1", "victim/a@1", "victim/b@1"]), &mut tenants);
    assert!(quarantined(&report).contains(&"Ingress evil/z".to_owned()), "{report:?}");
    let alone = with(&["evil/z@1", "victim/b@1"]);
    let report = cycle.turn(&alone, &mut tenants);
    assert!(report.again.is_some_and(|again| !again.is_zero()), "its namespace rests: {report:?}");
    to_the_end(&mut cycle, &alone, &mut tenants);
    assert_eq!(tenants.running(), ["evil/z@1", "victim/b@1"]);
}

#[test]
fn of_many_that_nginx_refuses_beside_others_each_is_tried_in_its_turn() {
    let state = tempfile::tempdir().unwrap();
    let clashes = &[
        ["a/z@1", "victim/a@1"],
        ["b/z@1", "victim/a@1"],
        ["c/z@1", "victim/a@1"],
        ["d/z@1", "victim/a@1"],
        ["e/z@1", "victim/a@1"],
        ["f/z@1", "victim/c@1"],
    ];
    let mut tenants = Tenants { clashes, proves: true, ..Tenants::default() };
    let mut cycle = Cycle::open(state.path(), None).unwrap();
    let all = ["a/z@1", "b/z@1", "c/z@1", "d/z@1", "e/z@1", "f/z@1", "victim/a@1"];
    let with = |others: &[&str]| cluster(&all.iter().chain(others).copied().collect::<Vec<_>>());
    to_the_end(&mut cycle, &cluster(&["victim/a@1", "victim/b@1", "victim/c@1"]), &mut tenants);
    let report = to_the_end(&mut cycle, &with(&["victim/b@1", "victim/c@1"]), &mut tenants);
    assert_eq!(quarantined(&report).len(), 6, "{report:?}");
    to_the_end(&mut cycle, &with(&["victim/b@1"]), &mut tenants);
    // Each change looks at a few.
    to_the_end(&mut cycle, &with(&["victim/b@2"]), &mut tenants);
    assert_eq!(tenants.running(), ["f/z@1", "victim/a@1", "victim/b@2"]);
}

/// Each new version ends the search among the namespace's objects, which then begins again.
#[test]
fn a_namespace_that_rewrites_what_is_too_much_takes_a_tenth_of_the_time() {
    let state = tempfile::tempdir().unwrap();
    let slow = Duration::from_secs(18);
    let costs = (1..2000).map(|version| (format!("evil/a@{version}"), 200)).collect();
    let mut tenants = Tenants { costs, slow, ..Tenants::default() };
    let mut cycle = Cycle::open(state.path(), None).unwrap();
    cycle.turn(&cluster(&["evil/a@0", "evil/b@0", "victim/a@0"]), &mut tenants);
    let (began, mut weighed) = (tenants.now, 0);
    for version in 1..2000 {
        let all = ["evil/a", "evil/b", "victim/a"].map(|name| format!("{name}@{version}"));
        tenants.applied.clear();
        cycle.turn(&cluster(&all), &mut tenants);
        assert!(tenants.running().contains(&all[2]), "{version}");
        weighed += tenants.applied.iter().filter(|applied| applied.contains(&all[0])).count();
        tenants.now += Duration::from_secs(1);
    }
    let share = weighed as f64 * slow.as_secs_f64() / (tenants.now - began).as_secs_f64();
    assert!(weighed > 3 && share < 0.15, "{weighed} {share}");
}
