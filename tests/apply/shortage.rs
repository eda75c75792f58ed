//! What this process lacks says nothing about nginx, files and objects.

use std::fs::File;
use std::time::Duration;

use ingressd_apply::{Applier, Host as _, NoMaster, Options, Outcome, Survey};
use ingressd_config::Usual as _;
use ingressd_model::{Instance, Port, Transport};
use nix::errno::Errno;
use nix::sched::{CloneFlags, unshare};

use super::assert_confirmed;
use super::files::Files;
use super::nginx::Nginx;
use super::simulated::Simulated;

/// Runs this in a thread that cannot open any file.
fn without_descriptors(test: impl FnOnce() + Send) {
    std::thread::scope(|scope| {
        let run = scope.spawn(|| {
            unshare(CloneFlags::CLONE_FILES).unwrap();
            let mut held = Vec::new();
            let error = loop {
                match File::open("/dev/null") {
                    Ok(file) => held.push(file),
                    Err(error) => break error,
                }
            };
            assert_eq!(error.raw_os_error(), Some(Errno::EMFILE as i32));
            test();
        });
        run.join().unwrap();
    });
}

#[test]
fn an_nginx_that_cannot_be_looked_at_is_as_it_was() {
    let nginx = Nginx::started();
    let mut applier = nginx.applier();
    let one = Files::with_status(nginx.status).server("a", nginx.status, "return 204;").set();
    let two = Files::with_status(nginx.status).server("a", nginx.status, "bad_directive;").set();
    assert_confirmed(&applier.apply(&one), 1);
    nginx.only_new_workers();
    let before = applier.status();
    let port = Port { transport: Transport::Tcp, number: nginx.status.port() };
    without_descriptors(|| {
        assert_eq!(applier.status(), before);
        assert_eq!(applier.recheck(), None);
        for files in [&one, &two] {
            let outcome = applier.apply(files);
            assert!(matches!(&outcome, Outcome::Failed { why } if why.contains("open files")), "{outcome:?}");
        }
        let mut system = nginx.system();
        assert!(matches!(system.master(), Err(NoMaster::Unknown(_))));
        assert!(system.served().is_err() && system.predecessor().is_err());
        assert!(ingressd_apply::ports::occupied(&[port].into()).is_err());
        assert!(Applier::open(nginx.options(), nginx.system()).is_err(), "what is in place is not known");
        let main = nginx.path("nginx.conf");
        let root = nginx.path("ingressd");
        assert!(Survey::of("/usr/sbin/nginx".as_ref(), Some(&main), None, &root, &Instance::default()).is_err());
    });
    assert_eq!(applier.status(), before);
    assert_eq!(nginx.on_disk(), Some(1));
    assert_eq!(applier.apply(&one), Outcome::Unchanged { generation: 1 });
}

#[test]
fn a_master_that_cannot_be_looked_for_after_its_signal_is_not_gone() {
    let folder = tempfile::tempdir().unwrap();
    let nginx = Simulated::new(&folder.path().join("ingressd"));
    let options = Options {
        root: folder.path().join("ingressd"),
        state: folder.path().join("state"),
        nginx_configuration: None,
        suspicion: Duration::ZERO,
        ..Options::usual()
    };
    let mut applier = Applier::open(options, nginx.clone()).unwrap();
    nginx.hide(20);
    let files = Files::with_status("127.0.0.1:1".parse().unwrap()).set();
    assert_confirmed(&applier.apply(&files), 1);
}
