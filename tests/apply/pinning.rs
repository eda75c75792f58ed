//! Going back to a kept generation and staying there, with the real nginx and with a simulated one
//! that is stopped at any step.

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::Path;
use std::sync::Arc;

use ingressd_apply::{Applier, Contents, History, Options, Outcome, Side, Steps};
use ingressd_model::{Kind, ObjectId, ObjectState, Version, WorkingVersion};
use ingressd_nginx::render::FileSet;
use nix::sys::signal::Signal;

use super::assert_confirmed;
use super::files::Files;
use super::nginx::{self, Nginx, eventually};
use super::simulated::Simulated;
use ingressd_config::Usual as _;

const NOW: i64 = 1_700_000_000;

fn answering(nginx: &Nginx, answer: &str) -> FileSet {
    Files::with_status(nginx.status).server("a", nginx.status, &format!("return 200 {answer};")).set()
}

fn contents(name: &str, revision: u128) -> Arc<Contents> {
    let id = Arc::new(ObjectId::new(Kind::INGRESS, "shop", name));
    let served = WorkingVersion::whole(Version("1".into()), vec!["a.example".into()], 1);
    let objects = vec![Arc::new(ObjectState::of(&id, served))];
    Arc::new(Contents { objects, certificates: Vec::new(), revision: Some(revision) })
}

#[track_caller]
fn assert_pinned(outcome: &Outcome, expected: u64, files: usize) {
    let Outcome::Pinned { generation, waiting, .. } = outcome else { panic!("{outcome:?}") };
    assert_eq!((*generation, *waiting), (expected, files), "{outcome:?}");
}

#[test]
fn nginx_goes_back_and_stays_there_over_restarts_until_that_is_ended() {
    let nginx = Nginx::started();
    let mut applier = nginx.applier();
    for (number, answer) in (1..).zip(["one", "two", "three"]) {
        applier.set_contents(contents(answer, number.into()));
        assert_confirmed(&applier.apply(&answering(&nginx, answer)), number);
    }
    assert_confirmed(&applier.roll_back_to(None, NOW), 2);
    assert_eq!((nginx.on_disk(), nginx.served()), (Some(2), 2));
    let pinned = applier.pinned().unwrap();
    assert_eq!((pinned.pin.generation, pinned.pin.since, pinned.waiting), (2, NOW, None));
    assert_eq!(pinned.contents.as_deref(), Some(&*contents("two", 2)), "what it serves is what it did then");
    assert_pinned(&applier.apply(&answering(&nginx, "four")), 2, 1);
    assert_eq!(applier.pinned().unwrap().waiting, Some(1));
    assert_pinned(&applier.apply(&answering(&nginx, "two")), 2, 0);
    let two = Files::with_status(nginx.status).server("a", nginx.status, "return 200 two;");
    let more = two.server("b", nginx.status, "return 200 b;").set();
    assert_pinned(&applier.apply(&more), 2, 1);

    // A new process stays pinned, also with an nginx that was started anew.
    let mut applier = nginx.applier();
    nginx.end(Signal::SIGKILL);
    let Outcome::Pinned { outcome, .. } = applier.apply(&answering(&nginx, "four")) else { panic!("it is not pinned") };
    assert!(matches!(*outcome, Outcome::Ready { generation: 2, .. }), "{outcome:?}");
    nginx.start();
    assert_confirmed(&eventually("confirmed", || applier.recheck()), 2);
    assert_pinned(&applier.apply(&answering(&nginx, "four")), 2, 1);

    // A second rollback goes to the generation before that.
    assert_confirmed(&applier.roll_back_to(None, NOW), 1);
    let Outcome::Failed { why } = applier.roll_back_to(None, NOW) else { panic!("there is one before the first") };
    assert!(why.contains("run no earlier generation") && why.contains("1, 2, 3"), "{why}");
    assert_eq!(applier.pinned().unwrap().pin.generation, 1, "what was pinned stays so");
    assert_eq!(applier.resume().unwrap(), Some(1));
    assert_eq!(applier.resume().unwrap(), None);
    assert_confirmed(&applier.apply(&answering(&nginx, "four")), 4);
    assert_eq!(nginx.applier().pinned(), None);
}

#[test]
fn a_generation_that_was_never_seen_to_run_is_no_place_to_go_back_to_unless_it_is_named() {
    let nginx = Nginx::started();
    let mut applier = nginx.applier();
    assert_confirmed(&applier.apply(&answering(&nginx, "one")), 1);
    let other = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = Files::with_status(nginx.status).server("a", other.local_addr().unwrap(), "return 204;").set();
    let outcome = applier.apply(&taken);
    assert!(matches!(outcome, Outcome::RolledBack { generation: Some(1), .. }), "{outcome:?}");
    assert_confirmed(&applier.apply(&answering(&nginx, "three")), 3);
    drop(other);
    let history = || History::read(&nginx.path("ingressd"), &nginx.path("state")).unwrap();
    let kept: Vec<_> = history().kept.iter().map(|kept| (kept.number, kept.confirmed)).collect();
    assert_eq!(kept, [(1, true), (2, false), (3, true)]);
    assert_eq!(history().before(3), Some(1), "what the difference is told to");
    assert_confirmed(&applier.roll_back_to(None, NOW), 1);
    let Outcome::Failed { why } = applier.roll_back_to(None, NOW) else { panic!("nothing ran before the first") };
    assert!(why.contains("1, 2, 3"), "{why}");
    // An administrator who names it wants it: the reason why it failed may be gone.
    assert_confirmed(&applier.roll_back_to(Some(2), NOW), 2);
    assert_eq!(history().current, Some(2));
}

#[test]
fn a_generation_that_nginx_refuses_or_that_is_not_whole_changes_nothing() {
    let claimed = nginx::free_port();
    let nginx = Nginx::started();
    let mut applier = nginx.applier();
    let text = format!("server {{ listen {claimed} default_server; return 204; }}");
    let with_default = Files::with_status(nginx.status).file("http/a.conf", &text, &[]).set();
    assert_confirmed(&applier.apply(&with_default), 1);
    for (number, answer) in [(2, "two"), (3, "three")] {
        assert_confirmed(&applier.apply(&answering(&nginx, answer)), number);
    }
    // Another site of the host has taken what the first generation claims.
    nginx.write_configuration(&format!("server {{ listen {claimed} default_server; return 204; }}"));
    let reloads = || fs::read_to_string(nginx.path("error.log")).unwrap().matches("reconfiguring").count();
    let before = reloads();
    let outcome = applier.roll_back_to(Some(1), NOW);
    let reported = |why: &str| why.contains("duplicate default server");
    assert!(matches!(&outcome, Outcome::RolledBack { generation: Some(3), why, .. } if reported(why)), "{outcome:?}");
    assert_eq!((before > 0, reloads()), (true, before), "what a test refuses is not given to the running nginx");
    // A file of the second generation was changed after it was written.
    let file = nginx.path("ingressd/generations/2/http/a.conf");
    fs::remove_file(&file).unwrap();
    fs::write(&file, "server { return 200 forged; }").unwrap();
    for (number, words) in
        [(2, "files were changed or removed"), (7, "is not kept; name one of those that are: 1, 2, 3")]
    {
        let outcome = applier.roll_back_to(Some(number), NOW);
        assert!(matches!(&outcome, Outcome::Failed { why } if why.contains(words)), "{outcome:?}");
    }
    // Nothing changes either when the link cannot be changed.
    let obstacle = nginx.path("ingressd/current.next");
    fs::create_dir(&obstacle).unwrap();
    let outcome = applier.roll_back_to(Some(1), NOW);
    assert!(matches!(&outcome, Outcome::Failed { why } if why.contains("current.next")), "{outcome:?}");
    fs::remove_dir(&obstacle).unwrap();
    assert_eq!((nginx.on_disk(), nginx.served(), applier.pinned()), (Some(3), 3, None));
    assert_eq!(nginx.applier().pinned(), None, "the next start knows nothing of it");
    assert_confirmed(&applier.apply(&answering(&nginx, "four")), 4);
    // The same happens while another generation is pinned: that one stays.
    assert_confirmed(&applier.roll_back_to(Some(3), NOW), 3);
    assert!(matches!(applier.roll_back_to(Some(1), NOW), Outcome::RolledBack { generation: Some(3), .. }));
    assert_pinned(&applier.apply(&answering(&nginx, "four")), 3, 1);
    assert_eq!((nginx.served(), nginx.applier().pinned().map(|pinned| pinned.pin.generation)), (3, Some(3)));
}

#[test]
fn of_secret_files_a_difference_holds_nothing_but_that_there_is_one() {
    let folder = tempfile::tempdir().unwrap();
    let nginx = Simulated::new(&folder.path().join("ingressd"));
    let mut applier = Applier::open(options(folder.path()), nginx).unwrap();
    let set = |text: &str| {
        let files = Files::with_status("127.0.0.1:1".parse().unwrap());
        files.file("certs/a.pem", text, &[]).file("auth/a", text, &[]).file("http/a.conf", text, &[]).set()
    };
    assert_confirmed(&applier.apply(&set("one")), 1);
    assert_confirmed(&applier.apply(&set("two")), 2);
    let history = History::read(&folder.path().join("ingressd"), &folder.path().join("state")).unwrap();
    let differences = history.compare(1, 2).unwrap();
    let reported = differences.iter().map(|difference| {
        let text = |side: &Option<Side>| side.as_ref().unwrap().text.clone();
        (&*difference.path, difference.secret, text(&difference.before), text(&difference.after))
    });
    let (shown, hidden) = (("one".to_owned(), "two".to_owned()), (String::new(), String::new()));
    let expected = [("auth/a", true, &hidden), ("certs/a.pem", true, &hidden), ("http/a.conf", false, &shown)];
    let expected = expected.map(|(path, secret, (before, after))| (path, secret, before.clone(), after.clone()));
    assert_eq!(reported.collect::<Vec<_>>(), expected);
}

fn options(folder: &Path) -> Options {
    let (root, state) = (folder.join("ingressd"), folder.join("state"));
    Options { root, state, nginx_configuration: None, keep: 2, ..Options::usual() }
}

#[test]
fn stopped_at_any_step_the_next_start_gets_there_and_no_sweep_takes_it() {
    let status = "127.0.0.1:1".parse().unwrap();
    let set = |answer: &str| Files::with_status(status).server("a", status, &format!("return 200 {answer};")).set();
    let mut stops = 0;
    for stop_at in 0.. {
        let folder = tempfile::tempdir().unwrap();
        let nginx = Simulated::new(&folder.path().join("ingressd"));
        let open = || Applier::open(options(folder.path()), nginx.clone()).unwrap();
        let mut applier = open();
        for answer in ["one", "two", "three"] {
            applier.apply(&set(answer));
        }
        let mut count = 0;
        let steps = Steps::observed_by(move |_| {
            count += 1;
            if count > stop_at {
                resume_unwind(Box::new("stopped"));
            }
        });
        let mut applier = applier.with_steps(steps);
        let stopped = catch_unwind(AssertUnwindSafe(|| applier.roll_back_to(Some(1), NOW)));
        if let Ok(outcome) = stopped {
            assert_confirmed(&outcome, 1);
            break;
        }
        stops += 1;
        let mut applier = open();
        applier.sweep().unwrap();
        assert_pinned(&applier.apply(&set("four")), 1, 1);
        let status = applier.status();
        assert_eq!((status.on_disk, status.served, status.confirmed), (Some(1), Some(1), Some(1)), "{stop_at}");
        applier.sweep().unwrap();
        assert!(folder.path().join("ingressd/generations/1").exists());
        applier.resume().unwrap();
        assert!(matches!(applier.apply(&set("four")), Outcome::Confirmed { .. }));
    }
    assert_eq!(stops, 6, "Pinned, LinkMade, Switched, HungUp, Confirmed, Recorded");
}
