//! The files on disk after a process was stopped between any two steps.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::Path;
use std::time::Duration;

use ingressd_apply::{Applier, Options, Outcome, Steps};
use ingressd_nginx::render::FileSet;
use proptest::prelude::{ProptestConfig, any, prop, prop_assert, prop_assert_eq, proptest};

use super::files::Files;
use super::simulated::Simulated;
use ingressd_config::Usual as _;

/// Three sets that share some files and differ in others.
fn sets() -> [FileSet; 3] {
    let status = "127.0.0.1:1".parse().unwrap();
    let base = || Files::with_status(status).server("same", status, "return 204;");
    [
        base().server("a", status, "return 200 first;").set(),
        base().server("a", status, "return 200 second;").file("certs/k.pem", "key", &[]).set(),
        base().server("b", status, "return 200 third;").file("auth/u", "u:x", &[]).set(),
    ]
}

fn options(folder: &Path) -> Options {
    let (root, state) = (folder.join("ingressd"), folder.join("state"));
    Options { root, state, nginx_configuration: None, keep: 2, ..Options::usual() }
}

/// The set of files behind the link: `Ok(None)` before the first one, an error for a mix of two.
fn on_disk(folder: &Path) -> Result<Option<usize>, String> {
    let current = folder.join("ingressd/current");
    let Ok(target) = fs::read_link(&current) else { return Ok(None) };
    let number = target.file_name().unwrap().to_str().unwrap().to_owned();
    in_generation(&current, &number).map(Some)
}

/// The set of files in the folder of a generation.
fn in_generation(folder: &Path, number: &str) -> Result<usize, String> {
    let mut found = Vec::new();
    for part in ["http", "stream", "certs", "auth", "empty"] {
        for entry in fs::read_dir(folder.join(part)).map_err(|error| format!("{part}: {error}"))? {
            let path = entry.unwrap().path();
            let bytes = fs::read(&path).unwrap();
            found.push((format!("{part}/{}", path.file_name().unwrap().to_str().unwrap()), bytes));
        }
    }
    found.sort();
    let with_number =
        format!("map $nginx_version $ingressd_generation {{\n    default \"{number} $nginx_version\";\n}}\n");
    let with_number = with_number.into_bytes();
    let expected = |set: &FileSet| {
        let mut all: Vec<_> = set.files.iter().map(|(path, file)| (path.to_string(), file.content.bytes())).collect();
        all.push(("http/generation.conf".to_owned(), with_number.clone()));
        all.sort();
        all
    };
    sets().iter().position(|set| expected(set) == found).ok_or_else(|| format!("a mix: {found:?}"))
}

/// Stops at the step of this number, as if the process were killed there.
fn until(stop_at: usize) -> Steps {
    let mut count = 0;
    Steps::observed_by(move |_| {
        count += 1;
        if count > stop_at {
            resume_unwind(Box::new("stopped"));
        }
    })
}

/// Applies a set and stops at the step of this number.
fn apply_until(folder: &Path, nginx: &Simulated, set: &FileSet, stop_at: usize) -> Option<Outcome> {
    let mut applier = Applier::open(options(folder), nginx.clone()).unwrap().with_steps(until(stop_at));
    catch_unwind(AssertUnwindSafe(|| applier.apply(set))).ok()
}

/// What somebody may do to the folder to spare.
const SPOILED: [fn(&Path); 9] = [
    |_| (),
    |spare| fs::write(spare.join("http/foreign.conf"), "x;").unwrap(),
    |spare| {
        // Not through the link that other generations have as well.
        fs::remove_file(spare.join("http/same.conf")).unwrap();
        fs::write(spare.join("http/same.conf"), "server { return 200 changed; }").unwrap();
    },
    |spare| {
        // The same in every respect, but another file.
        let (file, other) = (spare.join("http/same.conf"), spare.join("http/other.conf"));
        let text = fs::read_to_string(&file).unwrap().replace("204", "205");
        let written = fs::metadata(&file).unwrap().modified().unwrap();
        fs::write(&other, text).unwrap();
        fs::set_permissions(&other, fs::metadata(&file).unwrap().permissions()).unwrap();
        fs::File::options().write(true).open(&other).unwrap().set_modified(written).unwrap();
        fs::rename(other, file).unwrap();
    },
    |spare| fs::remove_dir_all(spare.join("certs")).unwrap(),
    |spare| fs::remove_dir_all(spare.join("record")).unwrap(),
    |spare| fs::create_dir_all(spare.join("http/backup/old")).unwrap(),
    |spare| {
        fs::remove_file(spare.join("http/same.conf")).unwrap();
        fs::create_dir_all(spare.join("http/same.conf/old")).unwrap();
    },
    |spare| {
        fs::remove_dir_all(spare.join("http")).unwrap();
        fs::write(spare.join("http"), "x;").unwrap();
    },
];

fn leftovers(folder: &Path) -> Vec<String> {
    let names = |folder: &Path| {
        let entries = fs::read_dir(folder).into_iter().flatten();
        entries.map(|entry| entry.unwrap().file_name().to_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let mut found = names(&folder.join("ingressd/generations"));
    found.retain(|name| name.parse::<u64>().is_err());
    found.extend(names(&folder.join("ingressd")).into_iter().filter(|name| name == "current.next"));
    found.extend(names(&folder.join("state")).into_iter().filter(|name| name == "scratch"));
    found
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn a_stopped_apply_leaves_the_old_or_the_new_and_the_next_one_ends_it(
        attempts in prop::collection::vec((0..3_usize, 0..16_usize), 1..8),
        sweeps in any::<bool>(),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let nginx = Simulated::new(&folder.path().join("ingressd"));
        let mut before = None;
        for (wanted, stop_at) in attempts {
            let outcome = apply_until(folder.path(), &nginx, &sets()[wanted], stop_at);
            let found = on_disk(folder.path());
            prop_assert!(found == Ok(before) || found == Ok(Some(wanted)), "{found:?}, before {before:?}, wanted {wanted}");
            if outcome.is_some() {
                prop_assert_eq!(&found, &Ok(Some(wanted)));
            }
            let applier = Applier::open(options(folder.path()), nginx.clone()).unwrap();
            prop_assert_eq!(&on_disk(folder.path()), &found, "opening changed what is in use");
            prop_assert_eq!(leftovers(folder.path()), Vec::<String>::new());
            if sweeps {
                applier.sweep().unwrap();
                prop_assert_eq!(&on_disk(folder.path()), &found);
            }
            before = found.unwrap();
        }
        let mut applier = Applier::open(options(folder.path()), nginx.clone()).unwrap();
        for set in &sets() {
            let outcome = applier.apply(set);
            prop_assert!(matches!(outcome, Outcome::Confirmed { .. } | Outcome::Unchanged { .. }), "{outcome:?}");
            let status = applier.status();
            prop_assert_eq!((status.served, status.confirmed), (status.on_disk, status.on_disk));
            let hang_ups = nginx.hang_ups();
            let repeated = applier.apply(set);
            prop_assert!(matches!(repeated, Outcome::Unchanged { .. }), "{repeated:?}");
            prop_assert_eq!(nginx.hang_ups(), hang_ups);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, ..ProptestConfig::default() })]

    #[test]
    fn what_is_made_of_a_folder_to_spare_is_whole_wherever_it_is_stopped(
        attempts in prop::collection::vec((0..3_usize, 0..SPOILED.len()), 4..9),
        stop_at in 0..90_usize,
    ) {
        let folder = tempfile::tempdir().unwrap();
        let nginx = Simulated::new(&folder.path().join("ingressd"));
        let mut applier = Applier::open(options(folder.path()), nginx.clone()).unwrap().with_steps(until(stop_at));
        let generations = folder.path().join("ingressd/generations");
        let (mut before, mut made) = (None, BTreeMap::new());
        for (wanted, spoiled) in attempts {
            let outcome = catch_unwind(AssertUnwindSafe(|| applier.apply(&sets()[wanted])));
            let found = on_disk(folder.path());
            if outcome.is_err() {
                prop_assert!(found == Ok(before) || found == Ok(Some(wanted)), "{found:?}, before {before:?}, wanted {wanted}");
                break;
            }
            prop_assert_eq!(&found, &Ok(Some(wanted)));
            before = Some(wanted);
            made.insert(applier.status().on_disk.unwrap().to_string(), wanted);
            let is_spare_new = applier.sweep().unwrap() > 0;
            for (number, set) in &made {
                let place = generations.join(number);
                prop_assert!(!place.exists() || in_generation(&place, number) == Ok(*set), "generation {number}");
            }
            if is_spare_new {
                SPOILED[spoiled](&generations.join("spare.partial"));
            }
        }
        let found = on_disk(folder.path());
        let applier = Applier::open(options(folder.path()), nginx);
        prop_assert_eq!(leftovers(folder.path()), Vec::<String>::new());
        prop_assert_eq!(&on_disk(folder.path()), &found, "opening changed what is in use");
        let outcome = applier.unwrap().apply(&sets()[0]);
        prop_assert!(matches!(outcome, Outcome::Confirmed { .. } | Outcome::Unchanged { .. }), "{outcome:?}");
        prop_assert_eq!(&on_disk(folder.path()), &Ok(Some(0)));
    }
}

#[test]
fn the_folder_of_a_generation_that_is_not_kept_becomes_the_next() {
    use std::os::unix::fs::MetadataExt as _;
    let folder = tempfile::tempdir().unwrap();
    let nginx = Simulated::new(&folder.path().join("ingressd"));
    let mut applier = Applier::open(options(folder.path()), nginx).unwrap();
    let place = |number: u64| folder.path().join("ingressd/generations").join(number.to_string());
    let inode = |path: &Path| fs::metadata(path).unwrap().ino();
    let mut folders = Vec::new();
    for (number, set) in (1..).zip([0, 1, 2, 0, 1]) {
        applier.apply(&sets()[set]);
        applier.sweep().unwrap();
        folders.push(inode(&place(number)));
        assert_eq!(
            inode(&place(number).join("http/same.conf")),
            inode(&folder.path().join("ingressd/current/http/same.conf"))
        );
    }
    assert_eq!(folders[3..], folders[..2], "of the first and the second");
}

#[test]
fn what_somebody_linked_into_a_folder_that_becomes_the_next_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let theirs = folder.path().join("theirs");
    fs::create_dir_all(theirs.join("http")).unwrap();
    fs::write(theirs.join("site.conf"), "theirs").unwrap();
    let names = || fs::read_dir(&theirs).unwrap().map(|entry| entry.unwrap().file_name()).collect::<BTreeSet<_>>();
    fs::set_permissions(&theirs, fs::Permissions::from_mode(0o755)).unwrap();
    let before = names();
    for name in ["http", "certs", "record", "notes", ""] {
        let nginx = Simulated::new(&folder.path().join("ingressd"));
        let _ = fs::remove_dir_all(folder.path().join("ingressd"));
        let _ = fs::remove_dir_all(folder.path().join("state"));
        let mut applier = Applier::open(options(folder.path()), nginx).unwrap();
        let generations = folder.path().join("ingressd/generations");
        for set in 0..3 {
            applier.apply(&sets()[set]);
            applier.sweep().unwrap();
        }
        let linked = generations.join("spare.partial").join(name);
        let _ = fs::remove_dir_all(&linked);
        symlink(&theirs, generations.join("spare.partial").join(name).components().as_path()).unwrap();
        let outcome = applier.apply(&sets()[0]);
        assert!(matches!(outcome, Outcome::Confirmed { generation: 4, .. }), "{name}: {outcome:?}");
        assert_eq!(in_generation(&generations.join("4"), "4"), Ok(0), "{name}");
        assert!(!generations.join("4/notes").exists());
        let mode = fs::metadata(&theirs).unwrap().permissions().mode() & 0o777;
        assert_eq!((names(), mode), (before.clone(), 0o755), "{name}");
    }
}

#[test]
fn a_file_that_somebody_changed_or_put_a_link_in_its_place_is_written_anew() {
    const CHANGED: &str = "server { return 200 changed; }";
    for is_link in [false, true] {
        let folder = tempfile::tempdir().unwrap();
        let nginx = Simulated::new(&folder.path().join("ingressd"));
        let [set, ..] = sets();
        Applier::open(options(folder.path()), nginx.clone()).unwrap().apply(&set);
        let (file, other) = (folder.path().join("ingressd/current/http/a.conf"), folder.path().join("other"));
        // The link leads to the very file that was written.
        fs::rename(&file, &other).unwrap();
        let written = fs::read_to_string(&other).unwrap();
        match is_link {
            true => std::os::unix::fs::symlink(&other, &file).unwrap(),
            false => fs::write(&file, CHANGED).unwrap(),
        }
        let outcome = Applier::open(options(folder.path()), nginx).unwrap().apply(&set);
        assert!(matches!(outcome, Outcome::Confirmed { generation: 2, written: 1, .. }), "{outcome:?}");
        assert_eq!(on_disk(folder.path()), Ok(Some(0)));
        assert!(!file.is_symlink());
        assert_eq!(fs::read_to_string(&other).unwrap(), written, "what a link leads to is not written");
    }
}

#[test]
fn a_file_that_somebody_changes_while_the_daemon_runs_is_not_in_the_next_generation() {
    type Change = fn(&Path);
    let changes: [(&str, Change); 4] = [
        ("written over", |file| fs::write(file, "server { return 200 changed; }").unwrap()),
        ("as long as before", |file| {
            let text = fs::read_to_string(file).unwrap();
            fs::write(file, text.replace("204", "205")).unwrap();
            // The clock of the file system may not have gone on since the file was written.
            let later = std::time::SystemTime::now() + Duration::from_secs(1);
            fs::File::options().write(true).open(file).unwrap().set_modified(later).unwrap();
        }),
        ("opened to all", |file| {
            fs::set_permissions(file, std::os::unix::fs::PermissionsExt::from_mode(0o666)).unwrap();
        }),
        ("replaced by a link", |file| {
            fs::remove_file(file).unwrap();
            std::os::unix::fs::symlink("/dev/null", file).unwrap();
        }),
    ];
    for (what, change) in changes {
        let folder = tempfile::tempdir().unwrap();
        let nginx = Simulated::new(&folder.path().join("ingressd"));
        let [first, second, _] = sets();
        let mut applier = Applier::open(options(folder.path()), nginx).unwrap();
        applier.apply(&first);
        change(&folder.path().join("ingressd/current/http/same.conf"));
        let outcome = applier.apply(&second);
        assert!(matches!(outcome, Outcome::Confirmed { generation: 2, written: 3, .. }), "{what}: {outcome:?}");
        assert_eq!(on_disk(folder.path()), Ok(Some(1)), "{what}");
        let mode = fs::metadata(folder.path().join("ingressd/current/http/same.conf")).unwrap().permissions();
        assert_eq!(std::os::unix::fs::PermissionsExt::mode(&mode) & 0o777, 0o600, "{what}");
    }
}

#[test]
fn files_of_a_generation_without_the_newer_folders_are_kept() {
    let folder = tempfile::tempdir().unwrap();
    let nginx = Simulated::new(&folder.path().join("ingressd"));
    let [first, second, _] = sets();
    Applier::open(options(folder.path()), nginx.clone()).unwrap().apply(&first);
    fs::remove_dir(folder.path().join("ingressd/current/empty")).unwrap();
    let outcome = Applier::open(options(folder.path()), nginx).unwrap().apply(&second);
    assert!(matches!(outcome, Outcome::Confirmed { generation: 2, written: 2, .. }), "{outcome:?}");
    assert_eq!(on_disk(folder.path()), Ok(Some(1)));
}

#[test]
fn a_first_generation_that_is_not_confirmed_is_taken_out_of_nginx_too() {
    let folder = tempfile::tempdir().unwrap();
    let nginx = Simulated::deaf(&folder.path().join("ingressd"));
    let options = Options { confirm_timeout: Duration::from_millis(20), ..options(folder.path()) };
    let [set, ..] = sets();
    let mut applier = Applier::open(options, nginx.clone()).unwrap();
    let outcome = applier.apply(&set);
    assert!(matches!(outcome, Outcome::RolledBack { generation: None, .. }), "{outcome:?}");
    assert_eq!(on_disk(folder.path()), Ok(None));
    // nginx is signalled once to read the generation, and once to give it up.
    assert_eq!(nginx.hang_ups(), 2);
}

#[test]
fn without_a_journal_a_generation_that_fails_takes_nothing_out_of_service() {
    let [one, two, _] = sets();
    for journal in [None, Some("{\"issued\": 3")] {
        for is_deaf in [false, true] {
            let folder = tempfile::tempdir().unwrap();
            let nginx = Simulated::new(&folder.path().join("ingressd"));
            let options = || Options { confirm_timeout: Duration::from_millis(200), ..options(folder.path()) };
            let open = || Applier::open(options(), nginx.clone()).unwrap();
            assert!(matches!(open().apply(&one), Outcome::Confirmed { generation: 1, .. }));
            let file = folder.path().join("state/journal.json");
            match journal {
                Some(text) => fs::write(&file, text).unwrap(),
                None => fs::remove_file(&file).unwrap(),
            }
            // One that does not even say what it serves cannot be seen to run anything.
            if is_deaf {
                nginx.silence();
            }
            nginx.close_ears();
            let mut applier = open();
            let outcome = applier.apply(&two);
            let what = format!("{journal:?}, {is_deaf}: {outcome:?}");
            assert!(matches!(outcome, Outcome::RolledBack { generation: Some(1), .. }), "{what}");
            assert_eq!(on_disk(folder.path()), Ok(Some(0)), "{what}");
            assert_eq!(applier.status().confirmed, (!is_deaf).then_some(1), "{what}");
        }
    }
}
