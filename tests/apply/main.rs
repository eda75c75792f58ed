//! Applying to the distribution's real nginx.
#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod blame;
mod conditions;
mod crash;
mod disk;
mod files;
mod handlers;
mod includes;
mod late;
mod nginx;
mod pinning;
mod shortage;
mod simulated;
mod turns;

use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::time::Duration;

use files::Files;
use ingressd_apply::{Allowance, Applier, Options, Outcome, Step, Steps, Survey};
use ingressd_model::Instance;
use ingressd_model::catalogue::Version;
use nginx::{Nginx, eventually, hold, hold_body, is_open};
use nix::sys::signal::{Signal, kill};

#[track_caller]
fn assert_confirmed(outcome: &Outcome, expected: u64) {
    assert!(matches!(outcome, Outcome::Confirmed { generation, .. } if *generation == expected), "{outcome:?}");
}

#[test]
fn a_change_is_confirmed_and_repeating_it_does_nothing() {
    let nginx = Nginx::started();
    let mut applier = nginx.applier();
    let one = Files::with_status(nginx.status).server("a", nginx.status, "return 200 a;").set();
    assert_confirmed(&applier.apply(&one), 1);
    let workers = nginx.only_new_workers();
    assert_eq!(applier.apply(&one), Outcome::Unchanged { generation: 1 });
    // A new process that knows only the disk comes to the same result.
    assert_eq!(nginx.applier().apply(&one), Outcome::Unchanged { generation: 1 });
    assert_eq!(nginx.children(), workers, "nginx was reloaded for nothing");
    let two = Files::with_status(nginx.status).server("a", nginx.status, "return 200 b;").set();
    let outcome = applier.apply(&two);
    assert!(matches!(outcome, Outcome::Confirmed { generation: 2, written: 1, .. }), "{outcome:?}");
    let inode = |generation: u64, file: &str| {
        nginx.path(&format!("ingressd/generations/{generation}/http/{file}")).metadata().unwrap().ino()
    };
    assert_eq!(inode(1, "status.conf"), inode(2, "status.conf"));
    assert_ne!(inode(1, "a.conf"), inode(2, "a.conf"));
    let status = applier.status();
    assert_eq!((status.on_disk, status.served, status.confirmed, status.workers), (Some(2), Some(2), Some(2), 2));
    assert_eq!(status.master, Ok(nginx.pid().unwrap().as_raw().cast_unsigned()));
}

#[test]
fn culprits_are_found_in_every_part_of_a_large_first_generation() {
    let nginx = Nginx::started();
    let mut applier = nginx.applier();
    let bad = (0..400).fold(Files::with_status(nginx.status), |files, index| {
        let upstream = format!("http/20-u{index}.conf");
        let server = if index == 390 { "server 10.0.0.1:80 weight=x;" } else { "server 10.0.0.1:80;" };
        let body = if index == 7 { "return 200 $no_such_variable;" } else { "return 204;" };
        let text = format!("server {{\n  listen {};\n  server_name s{index};\n  {body}\n}}\n", nginx.status);
        let files = files.file(&upstream, &format!("upstream u{index} {{\n  {server}\n}}\n"), &[]);
        files.file(&format!("http/s{index}.conf"), &text, &[&upstream])
    });
    let Outcome::Refused { complaints, .. } = applier.apply(&bad.set()) else { panic!("nginx took it") };
    let mut found: Vec<_> = complaints.iter().map(|complaint| &*complaint.candidates[0].name).collect();
    found.sort_unstable();
    assert_eq!(found, ["20-u390", "s7"]);
}

#[test]
fn every_culprit_is_named_by_one_call_and_nothing_is_switched() {
    let nginx = Nginx::started();
    let mut applier = nginx.applier();
    let good = || {
        (0..10).fold(Files::with_status(nginx.status), |files, index| {
            files.server(&format!("g{index}"), nginx.status, "return 204;")
        })
    };
    assert_confirmed(&applier.apply(&good().set()), 1);
    let contradiction = "proxy_buffer_size 64k; proxy_buffers 2 4k; location / { proxy_pass http://127.0.0.1:9; }";
    let link = applier.link();
    let certificate = format!("ssl_certificate {0}/certs/c.pem; ssl_certificate_key {0}/certs/c.pem;", link.display());
    let bad = good()
        .server("h1", nginx.status, "location ~ ^/( { return 204; }")
        .server("h2", nginx.status, "return 200 $no_such_variable;")
        .server("h3", nginx.status, contradiction)
        .file("certs/c.pem", "no certificate", &[])
        .file(
            "http/h4.conf",
            &format!("server {{\n listen {} ssl;\n {certificate}\n}}\n", nginx::free_port()),
            &["certs/c.pem"],
        )
        .server("h5", nginx.status, "return 204;");
    let Outcome::Refused { complaints, .. } = applier.apply(&bad.set()) else { panic!("nginx took it") };
    let mut found: Vec<_> = complaints
        .iter()
        .map(|complaint| {
            (complaint.candidates[0].name.to_string(), complaint.place.as_ref().and_then(|(_, line)| *line))
        })
        .collect();
    found.sort();
    let expected = [("c", None), ("h1", Some(4)), ("h2", None), ("h3", None)];
    assert_eq!(found, expected.map(|(name, line)| (name.to_owned(), line)), "{complaints:?}");
    assert!(complaints.iter().any(|complaint| complaint.words.contains(&format!("{}/certs/c.pem", link.display()))));
    assert!(complaints.iter().any(|complaint| complaint.words.contains("proxy_busy_buffers_size")));
    assert_eq!((nginx.on_disk(), nginx.served()), (Some(1), 1));
    assert!(!nginx.path("ingressd/generations/2").exists() && !nginx.path("state/scratch").exists());
}

#[test]
fn what_only_the_whole_configuration_shows_is_rolled_back_with_the_culprit() {
    let nginx = Nginx::prepared();
    let claimed = nginx::free_port();
    nginx.write_configuration(&format!("server {{ listen {claimed} default_server; return 204; }}"));
    nginx.start();
    let options = Options { suspicion: Duration::from_millis(200), ..nginx.options() };
    let mut applier = Applier::open(options, nginx.system()).unwrap();
    let good = || Files::with_status(nginx.status);
    assert_confirmed(&applier.apply(&good().set()), 1);
    let text = format!("server {{ listen {claimed} default_server; return 204; }}");
    let Outcome::Refused { complaints, .. } = applier.apply(&good().file("http/a.conf", &text, &[]).set()) else {
        panic!("nginx took it")
    };
    assert!(complaints[0].words.contains("duplicate default server"), "{complaints:?}");
    assert_eq!(&*complaints[0].candidates[0].name, "a");
    assert_eq!((nginx.on_disk(), nginx.served()), (Some(1), 1));
    assert_eq!(applier.apply(&good().set()), Outcome::Unchanged { generation: 1 });
    // A mistake of the host belongs to no object, and the served configuration stays.
    nginx.write_configuration("no_such_directive on;");
    let outcome = applier.apply(&good().server("b", nginx.status, "return 204;").set());
    assert!(
        matches!(&outcome, Outcome::RolledBack { generation: Some(1), why, .. } if why.contains("no_such_directive")),
        "{outcome:?}"
    );
    assert_eq!((nginx.on_disk(), nginx.served()), (Some(1), 1));
}

#[test]
fn a_stopped_nginx_finds_the_configuration_ready() {
    let nginx = Nginx::prepared();
    let mut applier = nginx.applier();
    let one = Files::with_status(nginx.status).set();
    assert!(matches!(applier.apply(&one), Outcome::Ready { generation: 1, .. }));
    assert!(matches!(applier.apply(&one), Outcome::Ready { generation: 1, .. }));
    assert_eq!(applier.recheck(), None);
    nginx.start();
    assert_confirmed(&eventually("confirmed", || applier.recheck()), 1);
    assert_eq!(applier.recheck(), None);
    nginx.end(Signal::SIGTERM);
    assert!(matches!(applier.recheck(), Some(Outcome::Ready { generation: 1, .. })));
    assert!(applier.status().master.is_err());
    // Files that nginx would refuse at its start do not get into place.
    let bad = Files::with_status(nginx.status).server("a", nginx.status, "bad_directive;").set();
    assert!(matches!(applier.apply(&bad), Outcome::Refused { .. }));
    assert_eq!(nginx.on_disk(), Some(1));
}

#[test]
fn a_master_that_read_its_configuration_before_there_was_anything_is_asked_to_read_it() {
    let nginx = Nginx::started();
    let mut applier = nginx.applier();
    // nginx is seen to run only later.
    let (file, away) = (nginx.path("nginx.pid"), nginx.path("away"));
    std::fs::rename(&file, &away).unwrap();
    let one = Files::with_status(nginx.status).set();
    assert!(matches!(applier.apply(&one), Outcome::Ready { generation: 1, .. }));
    std::fs::rename(&away, &file).unwrap();
    let workers = nginx.children();
    for _ in 0..2 {
        assert_eq!(applier.recheck(), None);
        assert_eq!(nginx.children(), workers, "it may be busy");
    }
    assert_confirmed(&eventually("confirmed", || applier.recheck()), 1);
    assert_eq!(nginx.served(), 1);
}

#[test]
fn a_worker_that_dies_and_a_connection_that_stays_do_not_matter() {
    let nginx = Nginx::started();
    let mut applier = nginx.applier();
    assert_confirmed(&applier.apply(&Files::with_status(nginx.status).set()), 1);
    let victims = nginx.only_new_workers();
    let held = hold(nginx.status);
    let mut applier = applier.with_steps(Steps::observed_by(move |step| {
        if step == Step::HungUp {
            // The worker may have ended already, because nginx told it to.
            let _ = kill(victims[0], Signal::SIGKILL);
        }
    }));
    let two = Files::with_status(nginx.status).server("a", nginx.status, "return 204;").set();
    assert_confirmed(&applier.apply(&two), 2);
    assert_eq!(nginx.served(), 2);
    drop(held);
}

#[test]
fn connections_that_never_end_keep_no_more_old_workers_than_may_be() {
    let nginx = Nginx::started();
    let options = Options { draining: Allowance { generations: 3, time: Duration::ZERO }, ..nginx.options() };
    let mut applier = Applier::open(options, nginx.system()).unwrap();
    let files = |number: usize| {
        let body = format!("add_header n {number};\n  location / {{ proxy_pass http://127.0.0.1:1; }}");
        Files::with_status(nginx.status).server("a", nginx.status, &body).set()
    };
    let mut held = Vec::new();
    for number in 1..=8 {
        assert_confirmed(&applier.apply(&files(number)), number as u64);
        held.push(hold_body(nginx.status, "a.example"));
        // A worker without a connection ends, and each generation has two workers: one worker of
        // each generation is left, and both of the newest.
        let expected = number.min(6) + 1;
        eventually("workers without connections ended", || (nginx.children().len() <= expected).then_some(()));
        let status = applier.status();
        assert!(status.old_workers.draining <= status.old_workers.most && status.old_workers.most == 6, "{status:?}");
        assert_eq!(nginx.children().len(), expected);
    }
    let open: Vec<_> = held.iter_mut().map(is_open).collect();
    assert_eq!(open, [[false; 2].as_slice(), &[true; 6]].concat(), "those of the oldest workers");
    assert_eq!(applier.status().ended, 2);
    assert_eq!(nginx.served(), 8);
}

#[test]
fn old_workers_are_let_go_before_the_master_does() {
    let nginx = Nginx::started();
    let mut applier = nginx.applier();
    let mut bodies = 0..;
    // A machine that stands still for the 100 ms that the master waits may let it be first once,
    // but not always.
    eventually("old workers told to end by us", || {
        let answer = format!("return 200 {};", bodies.next()?);
        let outcome = applier.apply(&Files::with_status(nginx.status).server("a", nginx.status, &answer).set());
        assert!(matches!(outcome, Outcome::Confirmed { .. }), "{outcome:?}");
        let log = std::fs::read_to_string(nginx.path("error.log")).unwrap();
        log.contains(&format!("signal 3 (SIGQUIT) received from {}, shutting down", std::process::id())).then_some(())
    });
}

#[test]
fn a_master_that_returns_under_another_number_is_seen() {
    let nginx = Nginx::started();
    let mut applier = nginx.applier();
    let one = Files::with_status(nginx.status).set();
    assert_confirmed(&applier.apply(&one), 1);
    nginx.end(Signal::SIGKILL);
    nginx.start();
    assert_confirmed(&eventually("confirmed", || applier.recheck()), 1);
    assert_eq!(applier.apply(&one), Outcome::Unchanged { generation: 1 });
}

#[test]
fn nothing_is_confirmed_while_a_master_from_before_an_upgrade_takes_connections() {
    let nginx = Nginx::started();
    let mut applier = nginx.applier();
    let files = |body: &str| Files::with_status(nginx.status).server("a", nginx.status, body).set();
    assert_confirmed(&applier.apply(&files("return 200 one;")), 1);
    let old = nginx.pid().unwrap();
    kill(old, Signal::SIGUSR2).unwrap();
    let new = eventually("another master", || nginx.pid().filter(|pid| *pid != old));
    eventually("its workers run", || (nginx.children().len() == 2).then_some(()));
    let reported = |outcome: &Outcome| match outcome {
        Outcome::RolledBack { generation: Some(1), why, too_much: None } => why.contains(&format!("kill -QUIT {old}")),
        _ => false,
    };
    let outcome = applier.recheck().unwrap();
    assert!(reported(&outcome), "{outcome:?}");
    assert_eq!(applier.recheck(), None, "it is said once");
    for mut applier in [nginx.applier(), applier] {
        let outcome = applier.apply(&files("return 200 two;"));
        assert!(reported(&outcome), "{outcome:?}");
        assert!(matches!(applier.roll_back_to(Some(1), 0), Outcome::Failed { .. }));
        let status = applier.status();
        assert_eq!((nginx.on_disk(), status.served, status.confirmed), (Some(1), Some(1), Some(1)));
        assert_eq!(status.master, Ok(new.as_raw().cast_unsigned()), "the node is not taken out");
    }
    kill(old, Signal::SIGQUIT).unwrap();
    let mut applier = nginx.applier();
    let next = || Some(applier.apply(&files("return 200 two;"))).filter(|outcome| !reported(outcome));
    assert_confirmed(&eventually("the old master ended", next), 2);
}

#[test]
fn a_generation_that_is_not_served_is_taken_back() {
    let nginx = Nginx::started();
    assert_confirmed(&nginx.applier().apply(&Files::with_status(nginx.status).set()), 1);
    // The time is only spent waiting for an answer that never comes.
    let options = Options { confirm_timeout: Duration::from_secs(2), ..nginx.options() };
    let mut applier = Applier::open(options, nginx.system()).unwrap();
    let silent = Files::with_status(nginx::free_port()).set();
    let outcome = applier.apply(&silent);
    assert!(matches!(&outcome, Outcome::RolledBack { generation: Some(1), .. }), "{outcome:?}");
    assert_eq!((nginx.on_disk(), nginx.served()), (Some(1), 1));
}

#[test]
fn an_address_of_another_program_is_noticed_though_a_test_passes() {
    let nginx = Nginx::started();
    let options = Options { confirm_timeout: nginx::PATIENCE, ..nginx.options() };
    let mut applier = Applier::open(options, nginx.system()).unwrap();
    assert_confirmed(&applier.apply(&Files::with_status(nginx.status).set()), 1);
    let other = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let files = || Files::with_status(nginx.status).server("a", other.local_addr().unwrap(), "return 204;").set();
    let outcome = applier.apply(&files());
    let reported = |why: &str| why.contains("another program listens on one of the addresses");
    assert!(matches!(&outcome, Outcome::RolledBack { generation: Some(1), why, .. } if reported(why)), "{outcome:?}");
    assert_eq!((nginx.on_disk(), nginx.served()), (Some(1), 1));
    let files = files();
    drop(other);
    assert_confirmed(&applier.apply(&files), 3);
}

#[test]
fn files_are_closed_from_their_creation() {
    let nginx = Nginx::started();
    let group = nix::unistd::getegid().as_raw();
    let mut applier = Applier::open(Options { workers_group: Some(group), ..nginx.options() }, nginx.system()).unwrap();
    let files = Files::with_status(nginx.status).file("certs/k.pem", "key", &[]).file("auth/a", "u:x", &[]).set();
    assert_confirmed(&applier.apply(&files), 1);
    for (path, mode) in [
        ("certs/k.pem", 0o600),
        ("auth/a", 0o640),
        ("http/status.conf", 0o600),
        ("certs", 0o700),
        ("auth", 0o750),
        ("http", 0o700),
    ] {
        let found = nginx.path("ingressd/current").join(path).metadata().unwrap().permissions().mode();
        assert_eq!(found & 0o777, mode, "{path}");
    }
}

#[test]
fn an_upgraded_package_counts_when_its_nginx_runs() {
    let mut nginx = Nginx::prepared();
    let (here, copy) = (nginx.path("nginx"), |from: &str, to: &std::path::Path| {
        // A separate process writes it, which no process that is started meanwhile inherits.
        assert!(std::process::Command::new("cp").arg(from).arg(to).status().unwrap().success());
    });
    copy("/usr/sbin/nginx", &here);
    nginx.binary.clone_from(&here);
    nginx.start();
    let survey = || {
        let (main, root) = (nginx.path("nginx.conf"), nginx.path("ingressd"));
        Survey::of(&here, Some(&main), None, &root, &Instance::default()).unwrap()
    };
    let mut applier = nginx.applier();
    let files = |body: &str| Files::with_status(nginx.status).server("a", nginx.status, body).set();
    assert_eq!(applier.host().version(), None);
    assert_confirmed(&applier.apply(&files("return 204;")), 1);
    let of_old = survey();
    let running = applier.host().version();
    assert_eq!(running, Some(of_old.capabilities.version));
    assert_eq!(survey().run_by(running), of_old);
    // Another build is installed, as a package does it.
    let next = nginx.path("next");
    let script = "#!/bin/sh\n[ \"$1\" = -V ] && echo nginx version: nginx/9.9.9 && exit\nexec /usr/sbin/nginx \"$@\"\n";
    std::fs::write(&next, script).unwrap();
    std::fs::set_permissions(&next, PermissionsExt::from_mode(0o755)).unwrap();
    std::fs::rename(&next, &here).unwrap();
    let upgraded = survey().run_by(applier.host().version());
    assert_eq!((Some(upgraded.capabilities.version), upgraded.installed), (running, Some(Version(9, 9, 9))));
    assert_confirmed(&applier.apply(&files("return 205;")), 2);
    assert_eq!(survey().run_by(None).capabilities.version, Version(9, 9, 9), "of one that does not run");
}

#[test]
fn the_host_is_surveyed_without_our_own_files() {
    let nginx = Nginx::started();
    let other = nginx::free_port();
    nginx.write_configuration(&format!("gzip on; server {{ listen {other}; server_name other.example; }}"));
    let mut applier = nginx.applier();
    assert_confirmed(&applier.apply(&Files::with_status(nginx.status).set()), 1);
    let configuration = nginx.path("nginx.conf");
    let survey = Survey::of(
        "/usr/sbin/nginx".as_ref(),
        Some(&configuration),
        None,
        &nginx.path("ingressd"),
        &Instance::default(),
    );
    let survey = survey.unwrap();
    let listens: Vec<_> = survey.other_sites.listens.iter().map(|listen| listen.address).collect();
    assert_eq!(listens, [other]);
    assert!(survey.other_sites.http_directives.contains("gzip"));
    assert_eq!((survey.pid_file, survey.configuration), (nginx.path("nginx.pid"), configuration));
    let missing = Survey::of(
        "/usr/sbin/nginx".as_ref(),
        Some("/nowhere/nginx.conf".as_ref()),
        None,
        nginx.folder.path(),
        &Instance::default(),
    );
    assert!(missing.is_err_and(|error| error.to_string().contains("/nowhere/nginx.conf")));
}
