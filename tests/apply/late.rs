//! What nginx reads after it was given up: a generation that was rolled back, or one that nobody
//! expects.

use std::fs::{self, File};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::time::Duration;

use ingressd_apply::{Applier, Options, Outcome, Step, Steps, System, SystemOptions};
use ingressd_config::Usual as _;
use nix::fcntl::OFlag;
use nix::sys::stat::Mode;

use super::assert_confirmed;
use super::files::Files;
use super::nginx::{Nginx, eventually, free_port};
use super::simulated::Simulated;

/// Opens the writing end of a named pipe as soon as somebody reads it.
fn writing_end(pipe: &Path) -> File {
    let open = || File::options().write(true).custom_flags(OFlag::O_NONBLOCK.bits()).open(pipe).ok();
    eventually("the master reads the pipe", open)
}

#[test]
fn a_master_that_finishes_after_the_rollback_serves_what_is_in_place() {
    for is_refused in [false, true] {
        let nginx = Nginx::started();
        assert_confirmed(&nginx.applier().apply(&Files::with_status(nginx.status).set()), 1);
        // Another site of the host keeps a master busy that has read our files already: it has a
        // named pipe in the place of a file.
        let (pipe, empty) = (nginx.path("pipe"), nginx.path("empty"));
        nix::unistd::mkfifo(&pipe, Mode::S_IRWXU).unwrap();
        fs::write(&empty, "").unwrap();
        let site = format!("server {{ listen {}; ssl_password_file {}; }}", free_port(), pipe.display());
        nginx.write_afterwards(&site);
        let (mut hang_ups, mut held) = (0, None);
        let steps = Steps::observed_by(move |step| match step {
            Step::HungUp => {
                hang_ups += 1;
                if hang_ups > 1 {
                    return;
                }
                held = Some(writing_end(&pipe));
                // A test finds either the pipe, too, or nothing.
                if is_refused {
                    fs::remove_file(&pipe).unwrap();
                }
            }
            Step::SwitchedBack => {
                fs::rename(&empty, &pipe).unwrap();
                drop(held.take());
            }
            _ => {}
        });
        // The time is only spent waiting for a test that does not end.
        let options = Options { confirm_timeout: Duration::from_secs(3), ..nginx.options() };
        let system = SystemOptions { test_timeout: Duration::from_secs(2), ..nginx.system().options().clone() };
        let mut applier = Applier::open(options, System::new(system)).unwrap().with_steps(steps);
        let two = Files::with_status(nginx.status).server("a", nginx.status, "return 204;").set();
        let outcome = applier.apply(&two);
        assert!(
            matches!(&outcome, Outcome::RolledBack { generation: Some(1), too_much: None, .. }),
            "{is_refused}: {outcome:?}"
        );
        assert_eq!(nginx.on_disk(), Some(1));
        eventually("the generation in place is served", || {
            let log = fs::read_to_string(nginx.path("error.log")).unwrap();
            let has_read = log.matches(": reconfiguring").count() >= 3;
            (has_read && nginx.served() == 1 && nginx.children().len() == 2).then_some(())
        });
        assert_confirmed(&applier.apply(&two), 3);
    }
}

#[test]
fn a_known_master_that_serves_another_generation_is_asked_to_read_the_one_in_place() {
    let folder = tempfile::tempdir().unwrap();
    let (root, state) = (folder.path().join("ingressd"), folder.path().join("state"));
    let nginx = Simulated::new(&root);
    let options = Options { root, state, nginx_configuration: None, ..Options::usual() };
    let mut applier = Applier::open(options, nginx.clone()).unwrap();
    let files = |body| {
        let status = "127.0.0.1:1".parse().unwrap();
        Files::with_status(status).server("a", status, body).set()
    };
    assert_confirmed(&applier.apply(&files("return 204;")), 1);
    assert_confirmed(&applier.apply(&files("return 205;")), 2);
    assert_eq!(applier.recheck(), None);
    let before = nginx.hang_ups();
    nginx.serve(1);
    assert_confirmed(&applier.recheck().unwrap(), 2);
    assert_eq!((applier.status().served, nginx.hang_ups()), (Some(2), before + 1));
    assert_eq!(applier.recheck(), None);
}
