//! Refusals of nginx that name no place, and many refusals at once.

use std::time::Duration;

use ingressd_apply::{Applier, Complaint, Options, Outcome, Step, Steps, System};
use nix::sys::signal::{Signal, kill};

use crate::assert_confirmed;
use crate::files::Files;
use crate::nginx::{Nginx, eventually};
use crate::simulated::Simulated;
use ingressd_config::Usual as _;

/// The outcome for these files, of an nginx that refuses configurations by this rule, and how many
/// culprits are looked for.
fn outcome(files: Files, culprits: usize, refuses: fn(&str) -> Option<String>) -> Outcome {
    let folder = tempfile::tempdir().unwrap();
    let configuration = folder.path().join("nginx.conf");
    std::fs::write(&configuration, "events {}\nhttp {}\n").unwrap();
    let root = folder.path().join("ingressd");
    let nginx = Simulated::refusing(&root, refuses);
    let state = folder.path().join("state");
    let options = Options { root, state, nginx_configuration: Some(configuration), culprits, ..Options::usual() };
    Applier::open(options, nginx).unwrap().apply(&files.set())
}

fn included(configuration: &str) -> impl Iterator<Item = &str> {
    configuration.lines().filter_map(|line| line.strip_prefix("include \"")?.strip_suffix("\";"))
}

fn files() -> Files {
    Files::with_status("127.0.0.1:1".parse().unwrap())
}

#[test]
fn what_is_refused_only_together_is_the_fault_of_no_single_file() {
    let six = || (0..6).fold(files(), |files, number| files.file(&format!("http/s{number}.conf"), "server {}\n", &[]));
    let too_many: fn(&str) -> Option<String> = |configuration| {
        let count = included(configuration).filter(|path| path.contains("/http/s")).count();
        (count > 3).then(|| "nginx: [emerg] could not build it".to_owned())
    };
    let Outcome::Refused { complaints, .. } = outcome(six(), 64, too_many) else { panic!("not refused") };
    let [Complaint { place: None, origin: None, words, candidates, .. }] = &complaints[..] else {
        panic!("{complaints:?}")
    };
    let names: Vec<_> = candidates.iter().map(|candidate| &*candidate.name).collect();
    assert_eq!((words.as_str(), &names[..]), ("could not build it", &["s3", "s2", "s1", "s0"][..]));
    // nginx runs out of memory with any object, and the file and line that it names mean nothing.
    let short: fn(&str) -> Option<String> = |configuration| {
        let last = included(configuration).filter(|path| path.contains("/http/s")).nth(3)?;
        let words = "nginx: [emerg] malloc(9) failed (12: Cannot allocate memory)";
        Some(format!("{words}\nnginx: [emerg] failed to allocate heap memory in \"^/\" in {last}:1"))
    };
    let outcome_of_short = outcome(six(), 64, short);
    assert!(matches!(&outcome_of_short, Outcome::RolledBack { too_much: Some(_), .. }), "{outcome_of_short:?}");
    // An object that is refused by itself is a culprit, though nginx names no line of it.
    let one: fn(&str) -> Option<String> = |configuration| {
        let found = included(configuration).any(|path| path.ends_with("/http/s4.conf"));
        found.then(|| "nginx: [emerg] could not build it".to_owned())
    };
    let Outcome::Refused { complaints, .. } = outcome(six(), 64, one) else { panic!("not refused") };
    assert!(matches!(&complaints[..], [Complaint { place: Some((file, None)), .. }] if &**file == "http/s4.conf"));
}

#[test]
fn a_namespace_of_which_much_is_refused_hides_nobody_elses() {
    let other = files().file_of("other", "http/bad-!.conf", "server {}\n", &[]);
    let other = other.file_of("other", "http/bad-y.conf", "server {}\n", &[]);
    let evil = (0..40)
        .fold(other, |files, number| files.file_of("evil", &format!("http/bad-{number:02}.conf"), "server {}\n", &[]));
    let files = evil.file_of("victim", "http/bad-z.conf", "server {}\n", &[]);
    let files = (0..40)
        .fold(files, |files, number| files.file_of("victim", &format!("http/good-{number}.conf"), "server {}\n", &[]));
    let first_bad: fn(&str) -> Option<String> = |configuration| {
        let bad = included(configuration).find(|path| path.contains("/bad-"))?;
        Some(format!("nginx: [emerg] wrong in {bad}:1"))
    };
    let Outcome::Refused { complaints, .. } = outcome(files, 6, first_bad) else { panic!("not refused") };
    let found: Vec<_> = complaints.iter().map(|complaint| complaint.candidates[0].to_string()).collect();
    // The namespace of which nothing was refused comes first, then the one of which least was
    // refused.
    let expected = ["other/bad-!", "evil/bad-00", "victim/bad-z", "evil/bad-01", "other/bad-y", "evil/bad-02"];
    assert_eq!(found, expected.map(|name| format!("Ingress {name}")));
}

/// The outcome of the second generation when the master gets this signal before it has read it.
fn interrupted(nginx: &Nginx, end: Signal) -> (Outcome, Applier<System>) {
    let one = Files::with_status(nginx.status).set();
    assert_confirmed(&nginx.applier().apply(&one), 1);
    let master = nginx.pid().unwrap();
    let workers = nginx.only_new_workers();
    // The master stands still from before it is told to read.
    let steps = Steps::observed_by(move |step| match step {
        Step::Switched => kill(master, Signal::SIGSTOP).unwrap(),
        Step::HungUp => {
            kill(master, end).unwrap();
            if end == Signal::SIGKILL {
                workers.iter().for_each(|worker| kill(*worker, end).unwrap_or_default());
            }
            kill(master, Signal::SIGCONT).unwrap_or_default();
        }
        _ => {}
    });
    let mut applier = nginx.applier().with_steps(steps);
    let two = Files::with_status(nginx.status).server("a", nginx.status, "return 204;").set();
    (applier.apply(&two), applier.with_steps(Steps::default()))
}

#[test]
fn a_master_that_was_killed_while_it_read_finds_the_last_confirmed_generation() {
    let nginx = Nginx::started();
    let (outcome, mut applier) = interrupted(&nginx, Signal::SIGKILL);
    assert!(matches!(&outcome, Outcome::Killed { generation: Some(1), read: true, .. }), "{outcome:?}");
    assert_eq!(nginx.on_disk(), Some(1));
    // The next generation waits until nginx runs, and it is not what killed nginx.
    let three = Files::with_status(nginx.status).server("b", nginx.status, "return 204;").set();
    for _ in 0..2 {
        let outcome = applier.apply(&three);
        assert!(matches!(&outcome, Outcome::Killed { generation: Some(1), read: false, .. }), "{outcome:?}");
        assert_eq!((applier.recheck(), nginx.on_disk()), (None, Some(1)));
    }
    nginx.start();
    assert_confirmed(&eventually("confirmed", || applier.recheck()), 1);
    assert_confirmed(&applier.apply(&three), 3);
}

#[test]
fn a_master_that_was_killed_when_it_was_to_go_back_does_not_start_with_what_it_could_not_read() {
    let nginx = Nginx::started();
    assert_confirmed(&nginx.applier().apply(&Files::with_status(nginx.status).set()), 1);
    let processes = [nginx.only_new_workers(), vec![nginx.pid().unwrap()]].concat();
    let mut goes_back = false;
    let steps = Steps::observed_by(move |step| match step {
        Step::Switched => kill(processes[2], Signal::SIGSTOP).unwrap(),
        Step::SwitchedBack => goes_back = true,
        Step::HungUp if goes_back => processes.iter().for_each(|pid| kill(*pid, Signal::SIGKILL).unwrap()),
        _ => {}
    });
    // The time is only spent waiting for a master that stands still.
    let options = Options { confirm_timeout: Duration::from_secs(2), ..nginx.options() };
    let mut applier = Applier::open(options, nginx.system()).unwrap().with_steps(steps);
    let two = Files::with_status(nginx.status).server("a", nginx.status, "return 204;").set();
    let outcome = applier.apply(&two);
    assert!(matches!(&outcome, Outcome::Killed { generation: Some(1), read: true, .. }), "{outcome:?}");
    let outcome = applier.apply(&two);
    assert!(matches!(&outcome, Outcome::Killed { generation: Some(1), read: false, .. }), "{outcome:?}");
    assert_eq!(nginx.on_disk(), Some(1));
}

#[test]
fn a_master_that_was_stopped_while_it_read_finds_what_is_new() {
    let nginx = Nginx::started();
    let (outcome, mut applier) = interrupted(&nginx, Signal::SIGTERM);
    assert!(matches!(&outcome, Outcome::Ready { generation: 2, .. }), "{outcome:?}");
    nginx.start();
    assert_confirmed(&eventually("confirmed", || applier.recheck()), 2);
    // When it was killed while it had nothing to read, no object is to blame either.
    nginx.end(Signal::SIGKILL);
    let three = Files::with_status(nginx.status).server("b", nginx.status, "return 204;").set();
    let outcome = applier.apply(&three);
    assert!(matches!(&outcome, Outcome::Ready { generation: 3, .. }), "{outcome:?}");
}
