//! Daemons that share an nginx take turns, and nobody else can keep them from it.

use std::fs::{self, File};
use std::time::Duration;

use ingressd_apply::lock::{self, Lock};
use ingressd_apply::{Applier, Options, Outcome};
use ingressd_config::Usual as _;
use nix::fcntl::{Flock, FlockArg};

use super::assert_confirmed;
use super::files::Files;
use super::simulated::Simulated;

#[test]
fn only_another_daemon_is_waited_for_and_not_for_ever() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    fs::write(path("nginx.conf"), "events {} http {}").unwrap();
    // Any user can read the file of nginx, and so lock it.
    let others = Flock::lock(File::open(path("nginx.conf")).unwrap(), FlockArg::LockExclusive).unwrap();
    let turn = lock::beside(&path("nginx.pid"));
    let options = Options {
        root: path("ingressd"),
        state: path("state"),
        nginx_configuration: Some(path("nginx.conf")),
        turn: Some(turn.clone()),
        confirm_timeout: Duration::from_millis(200),
        ..Options::usual()
    };
    let nginx = Simulated::new(&path("ingressd"));
    let mut applier = Applier::open(options, nginx.clone()).unwrap();
    let files = Files::with_status("127.0.0.1:1".parse().unwrap()).set();
    let held = Lock::take(&turn, Duration::ZERO).unwrap();
    let Outcome::Failed { why } = applier.apply(&files) else { panic!("it took the turn of another") };
    assert!(why.contains(turn.to_str().unwrap()), "{why}");
    assert!(!applier.begin_weighing());
    assert!(applier.try_out(&files).is_err());
    let Outcome::Failed { .. } = applier.roll_back_to(None, 0) else { panic!("it took the turn of another") };
    assert_eq!((applier.recheck(), nginx.hang_ups()), (None, 0));
    drop(held);
    assert_confirmed(&applier.apply(&files), 1);
    drop(others);
}
