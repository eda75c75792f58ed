//! Disks that are full or read-only, and a clock of a container, mounted where only one thread
//! sees them.

use std::path::Path;

use ingressd_apply::{Applier, Host as _, Options, Outcome};
use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, unshare};

use super::files::Files;
use super::nginx::Nginx;
use super::simulated::Simulated;
use ingressd_config::Usual as _;

const NOTHING: Option<&str> = None;

#[test]
fn the_age_of_workers_is_measured_by_the_clock_of_their_start() {
    let nginx = Nginx::started();
    with_own_mounts(|folder| {
        // lxcfs says how long the container runs.
        let uptime = folder.join("uptime");
        std::fs::write(&uptime, "0.01 0.01\n").unwrap();
        mount(Some(&uptime), "/proc/uptime", NOTHING, MsFlags::MS_BIND, NOTHING).unwrap();
        let mut system = nginx.system();
        let master = system.master().unwrap();
        let table = system.table(master).unwrap().unwrap();
        assert!(table.at >= master.started, "{table:?}");
    });
}

/// Runs this in a thread with mounts of its own; needs root, as the other tests with namespaces
/// do.
fn with_own_mounts(test: impl FnOnce(&Path) + Send) {
    let folder = tempfile::tempdir().unwrap();
    std::thread::scope(|scope| {
        let run = scope.spawn(|| {
            unshare(CloneFlags::CLONE_NEWNS).unwrap();
            mount(NOTHING, "/", NOTHING, MsFlags::MS_REC | MsFlags::MS_PRIVATE, NOTHING).unwrap();
            mount(Some("tmpfs"), folder.path(), Some("tmpfs"), MsFlags::empty(), Some("size=256k")).unwrap();
            test(folder.path());
        });
        run.join().unwrap();
    });
}

fn options(folder: &Path) -> Options {
    let (root, state) = (folder.join("ingressd"), folder.join("state"));
    Options { root, state, nginx_configuration: None, ..Options::usual() }
}

#[test]
fn a_full_disk_changes_nothing_and_is_reported_with_its_remedy() {
    with_own_mounts(|folder| {
        let status = "127.0.0.1:1".parse().unwrap();
        let nginx = Simulated::new(&folder.join("ingressd"));
        let mut applier = Applier::open(options(folder), nginx).unwrap();
        let small = || Files::with_status(status).server("a", status, "return 204;");
        assert!(matches!(applier.apply(&small().set()), Outcome::Confirmed { generation: 1, .. }));
        let large = small().file("http/large.conf", &"# \n".repeat(200_000), &[]).set();
        let Outcome::Failed { why } = applier.apply(&large) else { panic!("there was room") };
        assert!(why.contains("http/large.conf") && why.contains("free space"), "{why}");
        let names: Vec<_> = std::fs::read_dir(folder.join("ingressd/generations")).unwrap().collect();
        assert_eq!(names.len(), 1, "{names:?}");
        assert_eq!(applier.apply(&small().set()), Outcome::Unchanged { generation: 1 });
        let next = small().server("b", status, "return 204;").set();
        assert!(matches!(applier.apply(&next), Outcome::Confirmed { .. }));
    });
}

#[test]
fn old_generations_make_way_for_a_new_one() {
    with_own_mounts(|folder| {
        let status = "127.0.0.1:1".parse().unwrap();
        let nginx = Simulated::new(&folder.join("ingressd"));
        let mut applier = Applier::open(Options { keep: 100, ..options(folder) }, nginx).unwrap();
        for number in 1..=12 {
            let text = format!("# {number}\n").repeat(8000);
            let files = Files::with_status(status).file("http/large.conf", &text, &[]).set();
            let outcome = applier.apply(&files);
            assert!(matches!(outcome, Outcome::Confirmed { generation, .. } if generation == number), "{outcome:?}");
        }
        let kept = std::fs::read_dir(folder.join("ingressd/generations")).unwrap().count();
        assert!((2..12).contains(&kept), "{kept}");
    });
}

#[test]
fn what_only_fits_without_the_folder_of_a_generation_that_is_not_kept_is_applied() {
    with_own_mounts(|folder| {
        let status = "127.0.0.1:1".parse().unwrap();
        let nginx = Simulated::new(&folder.join("ingressd"));
        let mut applier = Applier::open(Options { keep: 2, ..options(folder) }, nginx).unwrap();
        for (name, lines) in [("a", 30_000), ("b", 1), ("c", 1), ("d", 45_000)] {
            let text = "# \n".repeat(lines);
            let outcome =
                applier.apply(&Files::with_status(status).file(&format!("http/{name}.conf"), &text, &[]).set());
            assert!(matches!(outcome, Outcome::Confirmed { .. }), "{name}: {outcome:?}");
            applier.sweep().unwrap();
        }
    });
}

#[test]
fn what_cannot_be_removed_of_an_old_generation_keeps_no_change_and_no_start_out() {
    with_own_mounts(|folder| {
        let status = "127.0.0.1:1".parse().unwrap();
        let nginx = Simulated::new(&folder.join("ingressd"));
        let open = || Applier::open(Options { keep: 2, ..options(folder) }, nginx.clone()).unwrap();
        let mut applier = open();
        let set = |name: &str| Files::with_status(status).server(name, status, "return 204;").set();
        for name in ["a", "b", "c", "d", "e", "f"] {
            let outcome = applier.apply(&set(name));
            assert!(matches!(outcome, Outcome::Confirmed { .. }), "{name}: {outcome:?}");
            // That one stays is told.
            let _ = applier.sweep();
            if name == "a" {
                // It is held as a file is that `chattr` made immutable.
                let held = folder.join("ingressd/generations/1/http/a.conf");
                mount(Some("/dev/null"), &held, NOTHING, MsFlags::MS_BIND, NOTHING).unwrap();
            }
        }
        assert!(matches!(open().apply(&set("g")), Outcome::Confirmed { .. }));
    });
}

#[test]
fn a_read_only_folder_changes_nothing_and_is_reported_with_its_remedy() {
    with_own_mounts(|folder| {
        let status = "127.0.0.1:1".parse().unwrap();
        let nginx = Simulated::new(&folder.join("ingressd"));
        let mut applier = Applier::open(Options { keep: 2, ..options(folder) }, nginx.clone()).unwrap();
        let files = |text| Files::with_status(status).server("a", status, text).set();
        for text in ["return 200;", "return 201;", "return 202;"] {
            assert!(matches!(applier.apply(&files(text)), Outcome::Confirmed { .. }));
        }
        // One is to spare.
        assert_eq!(applier.sweep().unwrap(), 1);
        let one = files("return 202;");
        let remount = |flags| mount(NOTHING, folder, NOTHING, MsFlags::MS_REMOUNT | flags, NOTHING).unwrap();
        remount(MsFlags::MS_RDONLY);
        let two = Files::with_status(status).server("b", status, "return 204;").set();
        let Outcome::Failed { why } = applier.apply(&two) else { panic!("it could be written") };
        assert!(why.contains("ingressd/generations") && why.contains("ReadWritePaths"), "{why}");
        assert_eq!(applier.apply(&one), Outcome::Unchanged { generation: 3 });
        // A daemon that starts now can still tell that all is well.
        let mut applier = Applier::open(options(folder), nginx).unwrap();
        assert_eq!(applier.apply(&one), Outcome::Unchanged { generation: 3 });
        remount(MsFlags::empty());
        assert!(matches!(applier.apply(&two), Outcome::Confirmed { .. }));
    });
}
