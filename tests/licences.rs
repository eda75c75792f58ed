//! All linked crates may be distributed under Apache-2.0, and their licences are in the packages.
#![expect(clippy::unwrap_used, reason = "a test may panic")]

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

use serde_json::Value;
use toml_edit::Document;

/// Licences that may be linked, those first that are taken where a crate leaves the choice: the
/// list of deny.toml.
static ALLOWED: LazyLock<Vec<String>> = LazyLock::new(|| {
    let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("deny.toml")).unwrap();
    let list = Document::parse(text).unwrap().as_table()["licenses"]["allow"].as_array().unwrap().clone();
    list.iter().map(|licence| licence.as_str().unwrap().to_owned()).collect()
});

/// Where the texts are kept, which packages install.
const COMMITTED: &str = "packaging/licences.txt";

/// Beginnings of the names of files that hold licences and notices.
const NAMES: &[&str] = &["LICENSE", "LICENCE", "COPYING", "COPYRIGHT", "NOTICE"];

/// A crate that is part of the program.
#[derive(Debug)]
struct Linked {
    name: String,
    version: String,
    expression: String,
    folder: PathBuf,
}

/// Everything that is linked for the systems that packages are built for, in order; not what runs
/// only while building.
fn linked() -> Vec<Linked> {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--locked", "--offline", "--format-version", "1"])
        .args(["--filter-platform", "x86_64-unknown-linux-gnu", "--manifest-path"])
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml"))
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    let by_id = |list: &Value| -> BTreeMap<String, Value> {
        list.as_array().unwrap().iter().map(|item| (text(&item["id"]), item.clone())).collect()
    };
    let (packages, nodes) = (by_id(&metadata["packages"]), by_id(&metadata["resolve"]["nodes"]));
    let root = text(&metadata["resolve"]["root"]);
    let (mut known, mut left) = (BTreeSet::from([root.clone()]), vec![root.clone()]);
    while let Some(id) = left.pop() {
        for dependency in nodes[&id]["deps"].as_array().unwrap() {
            let normal = dependency["dep_kinds"].as_array().unwrap().iter().any(|kind| kind["kind"].is_null());
            let id = text(&dependency["pkg"]);
            let targets = packages[&id]["targets"].as_array().unwrap();
            let macros = targets.iter().any(|target| target["kind"][0] == "proc-macro");
            if normal && !macros && known.insert(id.clone()) {
                left.push(id);
            }
        }
    }
    known.retain(|id| !packages[id]["source"].is_null());
    let mut linked = Vec::from_iter(known.iter().map(|id| {
        let package = &packages[id];
        Linked {
            name: text(&package["name"]),
            version: text(&package["version"]),
            expression: package["license"].as_str().unwrap_or_default().to_owned(),
            folder: PathBuf::from(text(&package["manifest_path"])).parent().unwrap().to_owned(),
        }
    }));
    linked.sort_by(|a, b| (&a.name, &a.version).cmp(&(&b.name, &b.version)));
    assert!(linked.len() > 100, "the crates were not found: {linked:?}");
    linked
}

fn text(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}

/// The licences that are taken of an expression: one of each choice. `None` when one that is
/// needed is not allowed.
fn taken(expression: &str) -> Option<BTreeSet<&'static str>> {
    // Older crates write a stroke for "or".
    let expression = expression.replace(" / ", " OR ").replace('/', " OR ");
    let parts = expression.split(" AND ").map(|part| part.trim_matches(['(', ')']));
    parts
        .map(|part| {
            let choices = Vec::from_iter(part.split(" OR ").map(str::trim));
            ALLOWED.iter().map(String::as_str).find(|allowed| choices.contains(allowed))
        })
        .collect()
}

/// The texts that belong to a crate beside the one of Apache-2.0, which stands once for all.
fn texts(linked: &Linked, taken: &BTreeSet<&str>) -> BTreeSet<String> {
    // What a crate brings along of others lies a folder deeper, and is under their licence.
    let folders = fs::read_dir(&linked.folder).unwrap().map(|entry| entry.unwrap().path()).filter(|path| path.is_dir());
    let mut files = Vec::new();
    for (foreign, folder) in [(false, linked.folder.clone())].into_iter().chain(folders.map(|folder| (true, folder))) {
        for path in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).filter(|path| path.is_file()) {
            let name = path.file_name().unwrap().to_string_lossy().to_uppercase();
            let notice = foreign || name.starts_with("NOTICE") || name.starts_with("COPYRIGHT");
            let needed = notice || taken.iter().any(|licence| *licence != "Apache-2.0");
            let chosen = !["APACHE", "UNLICENSE"].iter().any(|other| name.contains(other));
            if needed && chosen && NAMES.iter().any(|start| name.starts_with(start)) {
                files.push(path);
            }
        }
    }
    let read = |path: &PathBuf| String::from_utf8_lossy(&fs::read(path).unwrap()).replace('\r', "").trim().to_owned();
    files.iter().map(read).filter(|text| !text.is_empty()).collect()
}

/// One document: which crate is under which licence, then each text once with the crates it
/// belongs to.
fn document(linked: &[Linked]) -> String {
    let mut document = String::from(
        "What is linked into ingressd, and the licences that are taken of those it is offered under. The texts follow, but for\n\
         the Apache License 2.0, which ingressd itself is under: it is the first. The standard library of Rust is part of\n\
         the program too, under Apache-2.0.\n\n",
    );
    let mut owners = BTreeMap::<String, Vec<String>>::new();
    for linked in linked {
        let (name, taken) = (format!("{} {}", linked.name, linked.version), taken(&linked.expression).unwrap());
        let list = Vec::from_iter(taken.iter().copied()).join(", ");
        writeln!(document, "{name}: {list}").unwrap();
        for text in texts(linked, &taken) {
            owners.entry(text).or_default().push(name.clone());
        }
    }
    let ours = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("LICENSE")).unwrap();
    writeln!(document, "\n==== Apache-2.0\n\n{}", ours.trim()).unwrap();
    let mut texts = Vec::from_iter(owners);
    texts.sort_by(|a, b| a.1.cmp(&b.1).then_with(|| a.0.cmp(&b.0)));
    for (text, owners) in texts {
        writeln!(document, "\n==== {}\n\n{text}", owners.join(", ")).unwrap();
    }
    document
}

#[test]
fn everything_linked_is_under_an_allowed_licence() {
    let refused = linked().into_iter().filter(|linked| taken(&linked.expression).is_none());
    let refused = refused.map(|linked| format!("{}: {:?}", linked.name, linked.expression)).collect::<Vec<_>>();
    assert!(refused.is_empty(), "not among {:?}:\n{}", *ALLOWED, refused.join("\n"));
}

#[test]
fn the_texts_are_committed() {
    let document = document(&linked());
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(COMMITTED);
    if std::env::var_os("UPDATE").is_some() {
        fs::write(&file, &document).unwrap();
    }
    let committed = fs::read_to_string(&file).unwrap_or_default();
    assert!(committed == document, "{COMMITTED} is stale: run `make generate` and commit the difference");
}

#[test]
fn a_choice_is_taken_and_what_is_needed_is_not() {
    let rows: &[(&str, Option<&[&str]>)] = &[
        ("MIT", Some(&["MIT"])),
        ("MIT OR Apache-2.0", Some(&["Apache-2.0"])),
        ("MIT/Apache-2.0", Some(&["Apache-2.0"])),
        ("Apache-2.0 / MIT", Some(&["Apache-2.0"])),
        ("(Apache-2.0 OR MIT) AND BSD-3-Clause", Some(&["Apache-2.0", "BSD-3-Clause"])),
        ("Apache-2.0 WITH LLVM-exception OR MIT", Some(&["MIT"])),
        ("GPL-3.0 OR MIT", Some(&["MIT"])),
        ("GPL-3.0", None),
        ("MIT AND MPL-2.0", None),
        ("", None),
    ];
    for (expression, expected) in rows {
        let expected = expected.map(|expected| expected.iter().copied().collect());
        assert_eq!(taken(expression), expected, "{expression}");
    }
}
