//! The rules of ARCHITECTURE.md, kept over the source tree.
#![expect(clippy::unwrap_used, reason = "a test may panic")]

#[path = "source_tree/findings.rs"]
mod findings;
#[path = "source_tree/imports.rs"]
mod imports;
#[path = "source_tree/rooms.rs"]
mod rooms;
#[path = "source_tree/words.rs"]
mod words;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use syn::visit::Visit;

/// Stages that see no object of Kubernetes: its intent tells what it says. Of the objects' package
/// they name what holds all of them, versions and selectors of labels.
const NEUTRAL: &[&str] = &["attach", "claim", "build", "assemble", "read/rule"];
const OF_NO_KIND: &[&str] = &["Snapshot", "Version", "Selector"];

/// Crates that only some rooms and files may name, of those that the manifest of their package
/// lets them.
const KEPT_CRATES: &[(&str, &[&str])] = &[
    ("k8s_openapi", &["crates/objects", "crates/cluster", "crates/translate/src", "src/daemon/access/manifests"]),
    ("handlebars", &["crates/nginx/src/render"]),
    ("sha2", &["crates/model/src/digest"]),
    // YAML that is read elsewhere would be read without bounds.
    ("ingressd_yaml", &["crates/objects/src/yaml"]),
    ("hickory_resolver", &["src/daemon"]),
    ("rtnetlink", &["src/doctor/look/routes", "crates/cluster/src/publish/kernel"]),
    ("serde", &["crates", "src/daemon", "src/demo", "src/setup", "src/cli"]),
];

/// Names of the standard library and of crates that touch the file system or processes, and who
/// may use them.
const KEPT_NAMES: &[(&str, &[&str])] = &[
    (
        "std::fs",
        &[
            "crates/apply",
            "crates/objects/src/directory",
            "src/daemon",
            "crates/config/src",
            "src/cli",
            "src/demo",
            "src/setup",
            "src/doctor/look",
            "crates/cluster/src/source/cluster/administrator",
            "crates/cluster/src/source/cluster/kubeconfig",
            "crates/cluster/src/source/cluster/renewal",
            "crates/cluster/src/source/watch",
        ],
    ),
    ("tokio::fs", &["src/daemon", "src/demo", "src/cli"]),
    ("std::process::Command", &["crates/apply/src/host", "src/demo/nginx"]),
    ("tokio::process", &["crates/cluster/src/source/cluster/plugin"]),
    ("nix::sys::signal", &["crates/apply/src/host", "src/demo/nginx", "crates/cluster/src/source/cluster/plugin"]),
    (
        "std::time::SystemTime",
        &[
            "crates/apply",
            "crates/objects/src/directory",
            "src/daemon",
            "src/demo",
            "src/doctor/look",
            "src/cli",
            "crates/cluster/src/source/cluster/probe",
            "crates/cluster/src/source/watch",
        ],
    ),
];

/// What tests are made of, which no rule for the program is about.
const OF_TESTS: &str = "crates/rig";

/// Most lines of a file that are neither blank, comment nor test.
const MOST_LINES: usize = 500;

struct SourceFile {
    /// Path in the repository, with `/`.
    path: String,
    text: String,
    tree: syn::File,
}

impl SourceFile {
    /// The folder of `src` or of `crates`, or a file's name without ending.
    fn room(&self) -> &str {
        let name = self.path.split('/').nth(1).unwrap_or_default();
        name.strip_suffix(".rs").unwrap_or(name)
    }

    fn is_within(&self, place: &str) -> bool {
        let path = self.path.strip_suffix(".rs").unwrap_or(&self.path);
        path == place || path.starts_with(&format!("{place}/"))
    }

    /// Whether the file is a test module of its own (`mod tests;` behind `cfg(test)`).
    fn is_test(&self) -> bool {
        let stem = Path::new(&self.path).file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
        self.path.contains("/tests/") || stem == "tests" || stem.ends_with("_tests")
    }
}

/// Each file of the program: those of `src` and of its packages.
fn program_files() -> Vec<SourceFile> {
    let mut files: Vec<_> = ["src", "crates"].into_iter().flat_map(files_below).collect();
    files.retain(|file| !file.is_within(OF_TESTS));
    assert!(files.len() > 20, "the source tree was not found");
    files
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn files_below(folder: &str) -> Vec<SourceFile> {
    let mut files: Vec<_> = rust_files(&root().join(folder))
        .into_iter()
        .map(|path| {
            let text = std::fs::read_to_string(&path).unwrap();
            let tree = syn::parse_file(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
            let path = path.strip_prefix(root()).unwrap().to_str().unwrap().to_owned();
            SourceFile { path, text, tree }
        })
        .collect();
    files.sort_by(|a, b| a.path.cmp(&b.path));
    files
}

fn rust_files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries
        .flat_map(|path| match path.is_dir() {
            true => rust_files(&path),
            false => Vec::from_iter((path.extension().is_some_and(|ending| ending == "rs")).then_some(path)),
        })
        .collect()
}

/// Every path that a file names, outside of test modules: `std::fs::read`, `crate::model::Origin`,
/// ...
#[derive(Default)]
struct Names {
    paths: BTreeSet<String>,
    /// The names that `use` gives, with their paths.
    aliases: BTreeMap<String, String>,
}

impl Names {
    fn of(file: &SourceFile) -> BTreeSet<String> {
        Names::read(file).paths
    }

    fn read(file: &SourceFile) -> Names {
        let mut names = Names::default();
        names.visit_file(&file.tree);
        names
    }

    fn add_use(&mut self, prefix: &str, tree: &syn::UseTree) {
        let join = |name: &syn::Ident| match prefix.is_empty() {
            true => name.to_string(),
            false => format!("{prefix}::{name}"),
        };
        match tree {
            syn::UseTree::Path(path) => self.add_use(&join(&path.ident), &path.tree),
            syn::UseTree::Name(name) if name.ident == "self" => {
                let last = prefix.rsplit("::").next().unwrap_or_default();
                self.aliases.insert(last.to_owned(), prefix.to_owned());
                self.paths.insert(prefix.to_owned());
            }
            syn::UseTree::Name(name) => {
                self.aliases.insert(name.ident.to_string(), join(&name.ident));
                self.paths.insert(join(&name.ident));
            }
            syn::UseTree::Rename(rename) => {
                self.aliases.insert(rename.rename.to_string(), join(&rename.ident));
                self.paths.insert(join(&rename.ident));
            }
            syn::UseTree::Glob(_) => self.paths.extend([prefix.to_owned(), format!("{prefix}::*")]),
            syn::UseTree::Group(group) => group.items.iter().for_each(|item| self.add_use(prefix, item)),
        }
    }
}

fn is_test_only(attributes: &[syn::Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        attribute.path().is_ident("cfg")
            && matches!(&attribute.meta, syn::Meta::List(list) if list.tokens.to_string() == "test")
    })
}

impl<'ast> Visit<'ast> for Names {
    fn visit_item_mod(&mut self, module: &'ast syn::ItemMod) {
        if !is_test_only(&module.attrs) {
            syn::visit::visit_item_mod(self, module);
        }
    }

    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        if !is_test_only(&item.attrs) {
            self.add_use("", &item.tree);
        }
    }

    fn visit_macro(&mut self, item: &'ast syn::Macro) {
        // What is between quotes is text.
        let code = item.tokens.to_string().split('"').step_by(2).collect::<Vec<_>>().join(" ");
        let code = code.replace(" :: ", "::");
        let words = code.split(|letter: char| !letter.is_alphanumeric() && !"_:".contains(letter));
        self.paths.extend(words.filter(|word| word.contains("::")).map(|word| word.trim_matches(':').to_owned()));
        syn::visit::visit_macro(self, item);
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let segments: Vec<_> = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
        self.paths.insert(segments.join("::"));
        syn::visit::visit_path(self, path);
    }
}

fn complain(complaints: &[String]) {
    assert!(complaints.is_empty(), "\n{}", complaints.join("\n"));
}

#[test]
fn the_engine_knows_no_dialect() {
    let mut complaints = Vec::new();
    for folder in ["annotation", "value"] {
        let files = files_below(&format!("crates/translate/src/{folder}"));
        for file in files.iter().filter(|file| !file.is_test()) {
            // It passes on whose semantics an object has, and never asks which they are.
            let is_dialect = |name: &String| ["SPECIFICATION", "INGRESS_NGINX"].iter().any(|end| name.ends_with(end));
            let dialects = Names::of(file).into_iter().filter(is_dialect);
            complaints.extend(dialects.map(|name| format!("{} names {name}: it may know no dialect", file.path)));
        }
    }
    complain(&complaints);
}

#[test]
fn stages_after_reading_know_no_object() {
    let files = program_files();
    let mut complaints = Vec::new();
    for stage in NEUTRAL {
        let place = format!("crates/translate/src/{stage}");
        let own = files.iter().filter(|file| file.is_within(&place) || file.path == format!("{place}.rs"));
        let own: Vec<_> = own.filter(|file| !file.is_test()).collect();
        assert!(!own.is_empty(), "{place} is nowhere");
        for file in own {
            let names = Names::of(file).into_iter().filter(|name| match name.strip_prefix("ingressd_objects") {
                Some(object) => !OF_NO_KIND.contains(&object.trim_start_matches("::")),
                None => name.starts_with("k8s_openapi"),
            });
            complaints.extend(names.map(|name| format!("{} names {name}: whoever asks, it is an intent", file.path)));
        }
    }
    complain(&complaints);
}

#[test]
fn crates_and_system_calls_stay_in_their_rooms() {
    let mut complaints = Vec::new();
    for file in program_files().iter().filter(|file| !file.is_test()) {
        let names = Names::of(file);
        for (kept, homes) in KEPT_CRATES.iter().chain(KEPT_NAMES) {
            let used = names.iter().find(|name| *name == kept || name.starts_with(&format!("{kept}::")));
            if let Some(used) = used.filter(|_| !homes.iter().any(|home| file.is_within(home))) {
                complaints.push(format!("{} names {used}: only {homes:?} may", file.path));
            }
        }
        // What these would hide, the lines above could not see.
        if names.contains("std") || file.tree.items.iter().any(|item| matches!(item, syn::Item::ExternCrate(_))) {
            complaints.push(format!("{}: bare `use std` or `extern crate`", file.path));
        }
    }
    complain(&complaints);
}

#[test]
fn views_hold_no_strings() {
    struct Fields(Vec<String>);
    impl<'ast> Visit<'ast> for Fields {
        fn visit_field(&mut self, field: &'ast syn::Field) {
            let mut names = Names::default();
            names.visit_type(&field.ty);
            let text = ["String", "str", "Value", "char", "Cow", "OsString", "PathBuf"];
            for name in names.paths.iter().filter(|name| text.contains(&name.rsplit("::").next().unwrap_or_default())) {
                let field = field.ident.as_ref().map_or("(unnamed)".to_owned(), ToString::to_string);
                self.0.push(format!("field {field} is a {name}"));
            }
        }
    }
    let files = program_files();
    let views: Vec<_> = files.iter().filter(|file| file.is_within("crates/nginx/src/render/view")).collect();
    assert!(!views.is_empty(), "view.rs of render is gone: where do templates get their values from?");
    let mut complaints = Vec::new();
    for file in views {
        let mut fields = Fields(Vec::new());
        fields.visit_file(&file.tree);
        complaints.extend(fields.0.into_iter().map(|complaint| format!("{}: {complaint}", file.path)));
    }
    complain(&complaints);
}

#[test]
fn files_open_with_a_sentence_and_stay_small() {
    let mut complaints = Vec::new();
    for file in program_files() {
        if !file.text.starts_with("//! ") {
            complaints.push(format!("{}: the first line is not a //! sentence", file.path));
        }
        let code = file.text.split("\n#[cfg(test)]").next().unwrap_or_default();
        let lines = code.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with("//")).count();
        if lines > MOST_LINES {
            complaints.push(format!("{}: {lines} lines of code, at most {MOST_LINES}", file.path));
        }
    }
    complain(&complaints);
}

#[test]
fn every_file_is_reachable() {
    let root = root();
    let mut roots = vec![root.join("src/lib.rs"), root.join("src/main.rs")];
    roots.extend(rooms::folders("crates").iter().map(|folder| root.join(folder).join("src/lib.rs")));
    for folder in ["tests", "benches"] {
        for entry in std::fs::read_dir(root.join(folder)).unwrap() {
            let path = entry.unwrap().path();
            let main = path.join("main.rs");
            if path.extension().is_some_and(|ending| ending == "rs") {
                roots.push(path);
            } else if main.exists() {
                roots.push(main);
            }
        }
    }
    let mut reachable = BTreeSet::new();
    for path in roots {
        reach(&path, true, &mut reachable);
    }
    let all = ["src", "crates", "tests", "benches"].iter().flat_map(|folder| rust_files(&root.join(folder)));
    let orphans = all.filter(|path| !reachable.contains(path));
    complain(&orphans.map(|path| format!("{} is in no module", path.display())).collect::<Vec<_>>());
}

/// Follows `mod name;` lines.
fn reach(path: &Path, is_root: bool, reachable: &mut BTreeSet<PathBuf>) {
    if !reachable.insert(path.to_owned()) {
        return;
    }
    let text = std::fs::read_to_string(path).unwrap();
    let tree = syn::parse_file(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let owns_folder = is_root || path.file_name().is_some_and(|name| name == "mod.rs");
    let parent = path.parent().unwrap();
    let folder = if owns_folder { parent.to_owned() } else { path.with_extension("") };
    for item in &tree.items {
        let syn::Item::Mod(module) = item else { continue };
        if module.content.is_some() {
            continue;
        }
        let name = module.ident.to_string();
        let named = module.attrs.iter().find_map(|attribute| match &attribute.meta {
            syn::Meta::NameValue(pair) if pair.path.is_ident("path") => match &pair.value {
                syn::Expr::Lit(syn::ExprLit { lit: syn::Lit::Str(value), .. }) => Some(parent.join(value.value())),
                _ => None,
            },
            _ => None,
        });
        let candidates = match named {
            Some(file) => vec![file],
            None => vec![folder.join(format!("{name}.rs")), folder.join(&name).join("mod.rs")],
        };
        let found = candidates.iter().find(|candidate| candidate.exists());
        let found = found.unwrap_or_else(|| panic!("{}: mod {name} has no file", path.display()));
        reach(&std::fs::canonicalize(found).unwrap(), false, reachable);
    }
}

#[test]
fn exceptions_are_named() {
    let mut complaints = Vec::new();
    for file in program_files() {
        for (number, line) in file.text.lines().enumerate() {
            let line = line.trim();
            let blanket = ["#![allow", "#[allow", "#[ignore"].iter().any(|start| line.starts_with(start));
            let placeholder = line.contains("todo!(") || line.contains("unimplemented!(");
            // These panic where nobody reads; `cli::output` does not.
            let unsure = ["println!(", "print!("].iter().any(|word| line.contains(word)) && !file.is_test();
            if blanket || placeholder || unsure {
                complaints.push(format!("{}:{}: {line}", file.path, number + 1));
            }
        }
    }
    complain(&complaints);
}
