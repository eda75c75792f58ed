//! Rooms and packages import what the table of ARCHITECTURE.md says, neither more nor less.

use std::collections::{BTreeMap, BTreeSet};

use super::{Names, complain, files_below, program_files, root};

/// What each room imports of ours, as ARCHITECTURE.md says it: the third column of the table of
/// rooms, by the folder in the first.
fn imports_by_room() -> BTreeMap<String, BTreeSet<String>> {
    let text = std::fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    let section = text.split("\n## ").find(|section| section.starts_with("The rooms\n")).unwrap();
    let quoted = |cell: &str| cell.split('`').skip(1).step_by(2).map(str::to_owned).collect::<Vec<_>>();
    let row = |line: &str| {
        let [_, folders, _, imports, _] = line.split('|').collect::<Vec<_>>()[..] else { return None };
        let folder = quoted(folders).into_iter().next()?;
        let is_room = folder.starts_with("src/") || folder.starts_with("crates/");
        is_room.then(|| (folder, BTreeSet::from_iter(quoted(imports))))
    };
    section.lines().filter_map(row).collect()
}

/// The folders of a folder.
pub fn folders(folder: &str) -> BTreeSet<String> {
    let entries = std::fs::read_dir(root().join(folder)).unwrap().map(|entry| entry.unwrap());
    let folders = entries.filter(|entry| entry.path().is_dir());
    folders.map(|entry| format!("{folder}/{}", entry.file_name().to_str().unwrap())).collect()
}

/// The manifest of a package, and the packages of ours that it depends on.
fn manifest(folder: &str) -> (toml_edit::DocumentMut, BTreeSet<String>) {
    let text = std::fs::read_to_string(root().join(folder).join("Cargo.toml")).unwrap();
    let manifest: toml_edit::DocumentMut = text.parse().unwrap();
    let names = manifest["dependencies"].as_table().unwrap().iter().map(|(name, _)| name);
    let ours = names.filter_map(|name| name.strip_prefix("ingressd-").map(str::to_owned)).collect();
    (manifest, ours)
}

/// The lints of the workspace are rules too: with them no package has `unsafe` code.
fn without_lints(package: &str, manifest: &toml_edit::DocumentMut) -> Option<String> {
    let of_workspace = manifest.get("lints").and_then(|lints| lints.get("workspace")?.as_bool());
    (of_workspace != Some(true)).then(|| format!("{package} does not have the lints of the workspace"))
}

#[test]
fn the_table_of_rooms_is_the_graph_of_packages() {
    let said = imports_by_room();
    let (packages, rooms): (BTreeMap<_, _>, BTreeMap<_, _>) =
        said.iter().partition(|(folder, _)| folder.starts_with("crates/"));
    let names = |folders: Vec<&String>| folders.into_iter().cloned().collect::<BTreeSet<_>>();
    assert_eq!(names(packages.keys().copied().collect()), folders("crates"), "rows of ARCHITECTURE.md");
    assert_eq!(names(rooms.keys().copied().collect()), folders("src"), "rows of ARCHITECTURE.md");
    let mut complaints = Vec::new();
    for (folder, said) in packages {
        let (manifest, depends) = manifest(folder);
        if *said != depends {
            complaints.push(format!("{folder} depends on {depends:?}, and ARCHITECTURE.md says {said:?}"));
        }
        complaints.extend(without_lints(folder, &manifest));
    }
    let is_package = |name: &&String| said.contains_key(&format!("crates/{name}"));
    let named: BTreeSet<_> = rooms.values().copied().flatten().filter(is_package).cloned().collect();
    let (manifest, depends) = manifest("");
    complaints.extend(without_lints("the program", &manifest));
    if named != depends {
        complaints.push(format!("the program depends on {depends:?}, and its rooms import {named:?}"));
    }
    complain(&complaints);
}

#[test]
fn rooms_import_what_their_rows_say() {
    let said = imports_by_room();
    let rooms: BTreeSet<_> = said.keys().filter_map(|folder| folder.strip_prefix("src/")).collect();
    let mut imported: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let mut complaints = Vec::new();
    for file in files_below("src").iter().filter(|file| !file.is_test()) {
        let room = format!("src/{}", file.room());
        let Some(may) = said.get(&room) else { continue };
        for name in Names::of(file) {
            let mut words = name.split("::");
            let target = match words.next() {
                Some("crate") => words.next().filter(|target| rooms.contains(target) && *target != file.room()),
                Some(word) => word.strip_prefix("ingressd_"),
                None => None,
            };
            let Some(target) = target else { continue };
            imported.entry(room.clone()).or_default().insert(target.to_owned());
            if !may.contains(target) {
                complaints.push(format!("{} imports {name}: {} may not know {target}", file.path, file.room()));
            }
        }
    }
    for (room, said) in said.iter().filter(|(room, _)| room.starts_with("src/")) {
        let imported = imported.get(room).cloned().unwrap_or_default();
        let unused = said.difference(&imported).cloned().collect::<Vec<_>>();
        if !unused.is_empty() {
            complaints.push(format!("{room} does not import {unused:?}, which its row of ARCHITECTURE.md has"));
        }
    }
    complain(&complaints);
}

/// Within packages: a module, and what stands before it, which may not name it.
const LATER: &[(&str, &str)] =
    &[("crates/nginx/src/render", "crates/nginx/src"), ("crates/cluster/src/publish", "crates/cluster/src/source")];

#[test]
fn what_comes_first_names_nothing_later() {
    let files = program_files();
    let mut complaints = Vec::new();
    for (later, before) in LATER {
        let name = later.rsplit('/').next().unwrap();
        let before: Vec<_> =
            files.iter().filter(|file| file.is_within(before) && !file.is_within(later) && !file.is_test()).collect();
        assert!(folders(later.rsplit_once('/').unwrap().0).contains(*later) && before.len() > 5);
        for file in before {
            let names = Names::of(file).into_iter().filter(|named| named.split("::").any(|word| word == name));
            complaints.extend(names.map(|named| format!("{} imports {named}: it may not know `{name}`", file.path)));
        }
    }
    complain(&complaints);
}
