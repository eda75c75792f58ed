//! Which files import which, the order of modules that follows, and circles.

use std::collections::{BTreeMap, BTreeSet};

use super::{Names, SourceFile, complain, program_files};

/// The modules of `translate` in their order: each names those before it. The stages are `select`,
/// `read`, `attach`, `admit`, `claim`, `resolve`, `build`, `tables` and `assemble`. Two modules
/// name one another: the settings have options of all objects, and annotations depend on settings.
const ORDER: &[&[&str]] = &[
    &["value"],
    &["secret"],
    &["options", "annotation"],
    &["select"],
    &["world"],
    &["read"],
    &["ingress_nginx"],
    &["dialects"],
    &["attach"],
    &["admit"],
    &["claim"],
    &["given"],
    &["resolve"],
    &["translation"],
    &["build"],
    &["tables"],
    &["assemble"],
    &["kept"],
    &["memory"],
    &["stages"],
    &["defaults"],
    &["asked"],
    &["admission"],
    &["lib"],
];

/// What knows annotations, with who names it: the semantics of Ingresses know what counts of them
/// (`annotation/reading`), and where that is written (`annotation/layer`).
const KNOWS_ANNOTATIONS: &[(&str, &[&str])] = &[
    (
        "annotation",
        &["admission", "attach/policies", "defaults", "dialects", "ingress_nginx", "lib", "memory", "options"],
    ),
    ("ingress_nginx", &["admission", "attach/policies", "defaults", "dialects", "lib", "resolve/names"]),
];
const KNOWS_NONE: &[&str] = &["annotation/reading", "annotation/layer"];

/// As many files of a folder may import one another in circles.
const MOST_IN_CIRCLES: usize = 8;

/// Folders with more of them. The numbers may only fall.
const CIRCLES: &[(&str, usize)] = &[
    ("crates/config/src", 19),
    ("crates/nginx/src/render/lower", 37),
    ("crates/translate/src", 11),
    ("src/daemon", 30),
];

/// The files of a package without tests, by their modules.
struct Package {
    /// The folder with the file of its root.
    folder: String,
    files: BTreeMap<Vec<String>, (SourceFile, Names)>,
}

type Module = Vec<String>;

impl Package {
    fn all() -> Vec<Package> {
        let mut packages = BTreeMap::<String, Package>::new();
        for file in program_files().into_iter().filter(|file| !file.is_test() && file.path != "src/main.rs") {
            let folder = match file.path.strip_prefix("crates/") {
                Some(path) => format!("crates/{}/src", path.split('/').next().unwrap()),
                None => "src".to_owned(),
            };
            let stem = file.path[folder.len() + 1..].strip_suffix(".rs").unwrap();
            let stem = stem.strip_suffix("mod").map_or(stem, |parent| parent.trim_end_matches('/'));
            let module = stem.split('/').filter(|part| *part != "lib").map(str::to_owned).collect();
            let names = Names::read(&file);
            let package = packages.entry(folder.clone()).or_insert_with(|| Package { folder, files: BTreeMap::new() });
            package.files.insert(module, (file, names));
        }
        packages.into_values().collect()
    }

    /// The path of a name from the root of the package, if it says one.
    fn absolute(&self, module: &Module, name: &str, depth: usize) -> Option<Module> {
        let mut words = name.split("::").map(str::to_owned);
        let first = words.next()?;
        let mut path = match &*first {
            "crate" => Vec::new(),
            "self" => module.clone(),
            "super" => module[..module.len().checked_sub(1)?].to_vec(),
            _ => {
                let used = self.files[module].1.aliases.get(&first).filter(|used| **used != first && depth > 0);
                let child = [&module[..], std::slice::from_ref(&first)].concat();
                match used {
                    Some(used) => self.absolute(module, used, depth - 1)?,
                    None => self.files.contains_key(&child).then_some(child)?,
                }
            }
        };
        for word in words {
            match &*word {
                "super" => drop(path.pop()),
                "self" => {}
                _ => path.push(word),
            }
        }
        Some(path)
    }

    /// The module that has what a name means, through those that give it on; `None` for names of
    /// other packages and of modules.
    fn home(&self, module: &Module, name: &str, depth: usize) -> Option<Module> {
        let path = self.absolute(module, name, depth)?;
        let known = (0..=path.len()).rev().find(|end| self.files.contains_key(&path[..*end]))?;
        let (home, [first, rest @ ..]) = (path[..known].to_vec(), &path[known..]) else { return None };
        match self.files[&home].1.aliases.get(first).filter(|_| depth > 0) {
            Some(used) => {
                let name = [std::slice::from_ref(used), rest].concat().join("::");
                self.home(&home, &name, depth - 1)
            }
            None => Some(home),
        }
    }

    /// The modules that each one names.
    fn imports(&self) -> BTreeMap<&Module, BTreeSet<Module>> {
        let of_one = |(module, (_, names)): (_, &(SourceFile, Names))| {
            let homes = names.paths.iter().filter_map(|name| self.home(module, name, 8));
            homes.filter(|home| home != module).collect()
        };
        self.files.iter().map(|(module, file)| (module, of_one((module, file)))).collect()
    }
}

/// The sets of modules that import one another, directly or through others.
fn circles(imports: &BTreeMap<&Module, BTreeSet<Module>>) -> BTreeSet<BTreeSet<Module>> {
    let reached = |from: &Module| {
        let (mut reached, mut next) = (BTreeSet::new(), vec![from]);
        while let Some(module) = next.pop() {
            next.extend(imports[module].iter().filter(|import| reached.insert((*import).clone())));
        }
        reached
    };
    let reached: BTreeMap<_, _> = imports.keys().map(|module| (*module, reached(module))).collect();
    let circle = |module: &&Module| {
        let both = reached[*module].iter().filter(|other| reached[other].contains(*module));
        both.cloned().collect::<BTreeSet<_>>()
    };
    imports.keys().map(circle).filter(|circle| !circle.is_empty()).collect()
}

#[test]
fn modules_of_translate_name_only_those_before_them() {
    let package = Package::all().into_iter().find(|package| package.folder == "crates/translate/src").unwrap();
    let top = |module: &Module| module.first().cloned().unwrap_or_else(|| "lib".to_owned());
    let modules: BTreeSet<_> = package.files.keys().map(top).collect();
    let placed: BTreeSet<_> = ORDER.iter().copied().flatten().map(|module| (*module).to_owned()).collect();
    assert_eq!(modules, placed, "modules of translate, and those that have a place");
    let place = |module: &str| ORDER.iter().position(|places| places.contains(&module)).unwrap();
    let (mut complaints, mut seen) = (Vec::new(), 0);
    for (module, imports) in package.imports() {
        let (own, own_path) = (top(module), module.join("/"));
        for import in imports.iter().filter(|import| top(import) != own) {
            seen += 1;
            let (other, other_path) = (top(import), import.join("/"));
            if place(&own) < place(&other) {
                complaints.push(format!("translate::{own_path} names {other_path}: {other} comes after {own}"));
            }
            let named_by = KNOWS_ANNOTATIONS.iter().find(|(known, _)| *known == other);
            let may = |named_by: &[&str]| named_by.iter().any(|may| *may == own || *may == own_path || own == "lib");
            if named_by.is_some_and(|(_, named_by)| !may(named_by)) && !KNOWS_NONE.contains(&&*other_path) {
                complaints.push(format!("translate::{own_path} names {other_path}: it may know no annotation"));
            }
        }
    }
    assert!(seen > 200, "imports within crates/translate/src were not found: {seen}");
    complain(&complaints);
}

#[test]
fn circles_of_imports_are_small_and_become_no_larger() {
    let (mut complaints, mut found) = (Vec::new(), BTreeMap::new());
    for package in Package::all() {
        for circle in circles(&package.imports()) {
            let paths: Vec<_> = circle.iter().map(|module| package.files[module].0.path.clone()).collect();
            let mut folder = paths[0].rsplit_once('/').unwrap().0;
            while !paths.iter().all(|path| path.starts_with(&format!("{folder}/"))) {
                folder = folder.rsplit_once('/').unwrap().0;
            }
            let most = CIRCLES.iter().find(|(known, _)| *known == folder).map_or(MOST_IN_CIRCLES, |(_, most)| *most);
            if paths.len() > most {
                complaints.push(format!("{} files import one another, at most {most} may: {paths:?}", paths.len()));
            }
            let largest = found.entry(folder.to_owned()).or_insert(0);
            *largest = paths.len().max(*largest);
        }
    }
    for (folder, most) in CIRCLES {
        let largest = found.get(*folder).copied().unwrap_or_default();
        if largest < *most {
            complaints.push(format!("only {largest} files of {folder} import one another: say so instead of {most}"));
        }
    }
    complain(&complaints);
}
