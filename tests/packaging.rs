//! The contents of packages: both lists are equal, and every file in them exists.
#![expect(clippy::unwrap_used, reason = "a test may panic")]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use toml_edit::{Document, Item, Value};

/// What only a .deb has. The include stays when an .rpm is erased because it is none of its files.
const ONLY_DEBIAN: &[&str] =
    &["/usr/share/lintian/overrides/ingressd", "/usr/share/doc/ingressd/changelog.Debian.gz", INCLUDE];

/// What lets nginx read what the daemon writes.
const INCLUDE: &str = "/etc/nginx/conf.d/ingressd.conf";

/// What only an .rpm lists: in a .deb the tool puts it in place itself.
const ONLY_RPM: &[&str] = &["/usr/share/doc/ingressd/copyright"];

/// Folders that have another name in Debian than elsewhere.
const OTHER_NAMES: &[(&str, &str)] = &[("/usr/share/zsh/vendor-completions/", "/usr/share/zsh/site-functions/")];

/// Source, destination and mode.
type Asset = (String, String, String);

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn metadata() -> Item {
    let manifest = fs::read_to_string(root().join("Cargo.toml")).unwrap();
    Document::parse(manifest).unwrap().as_table()["package"]["metadata"].clone()
}

fn assets(form: &Item) -> BTreeSet<Asset> {
    let list = form["assets"].as_array().unwrap();
    let text = |asset: &Value, key: &str| asset.as_inline_table().unwrap()[key].as_str().unwrap().to_owned();
    list.iter().map(|asset| (text(asset, "source"), text(asset, "dest"), text(asset, "mode"))).collect()
}

#[test]
fn both_forms_have_the_same_assets() {
    let metadata = metadata();
    let mut deb = BTreeSet::new();
    for (source, mut destination, mode) in assets(&metadata["deb"]) {
        for (debian, other) in OTHER_NAMES {
            destination = destination.replace(debian, other);
        }
        if !ONLY_DEBIAN.contains(&destination.as_str()) {
            deb.insert((source, destination, mode));
        }
    }
    let mut rpm = assets(&metadata["generate-rpm"]);
    rpm.retain(|(_, destination, _)| !ONLY_RPM.contains(&destination.as_str()));
    assert!(deb.len() > 15, "{deb:?}");
    assert_eq!(deb, rpm);
}

#[test]
fn configuration_is_what_is_below_etc() {
    let metadata = metadata();
    let listed = metadata["deb"]["conf-files"].as_array().unwrap().iter();
    let deb: BTreeSet<_> = listed.map(|file| file.as_str().unwrap().to_owned()).collect();
    let assets = metadata["generate-rpm"]["assets"].as_array().unwrap();
    let kept = assets.iter().filter_map(Value::as_inline_table).filter(|asset| asset.contains_key("config"));
    let rpm: BTreeSet<_> = kept.map(|asset| asset["dest"].as_str().unwrap().to_owned()).collect();
    let below_etc =
        self::assets(&metadata["deb"]).into_iter().map(|asset| asset.1).filter(|path| path.starts_with("/etc/"));
    assert_eq!(deb, below_etc.collect::<BTreeSet<_>>());
    assert_eq!(deb.into_iter().filter(|path| path != INCLUDE).collect::<BTreeSet<_>>(), rpm);
}

#[test]
fn every_asset_is_there_and_everything_generated_is_an_asset() {
    let sources: BTreeSet<_> = assets(&metadata()["deb"]).into_iter().map(|asset| asset.0).collect();
    // What stands below target/ is made while packaging.
    for source in sources.iter().filter(|source| !source.starts_with("target/")) {
        let found = glob::glob(&format!("{}/{source}", root().display())).unwrap().count();
        assert!(found > 0, "{source} is not there");
    }
    for folder in [
        "systemd",
        "man/completions",
        "packaging/tmpfiles",
        "packaging/rbac",
        "examples/grafana",
        "examples/prometheus",
        "packaging/nginx",
    ] {
        for file in files(&root().join(folder)) {
            let name = file.strip_prefix(root()).unwrap().to_str().unwrap();
            assert!(sources.contains(name), "{name} is in no package");
        }
    }
    for page in files(&root().join("man")).iter().filter(|path| path.is_file()) {
        let section = page.extension().unwrap().to_str().unwrap();
        assert!(sources.contains(&format!("target/assets/man/*.{section}.gz")), "{} is in no package", page.display());
    }
}

fn files(folder: &Path) -> Vec<PathBuf> {
    fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect()
}

/// The unit of further instances is the other one, but for names and where its settings are.
#[test]
fn instances_run_as_the_first_one_does() {
    let read = |name: &str| {
        let text = fs::read_to_string(root().join("systemd").join(name)).unwrap();
        let lines = text.lines().filter(|line| !line.starts_with('#') && !line.starts_with("Environment=INGRESSD_"));
        lines.map(ToOwned::to_owned).filter(|line| !line.is_empty()).collect::<Vec<_>>()
    };
    let template = read("ingressd@.service").into_iter().map(|line| {
        let line = line
            .replace(" --instance %i --config /etc/ingressd/%i/ingressd.toml", "")
            .replace(" (%i)", "")
            .replace(" nginx-%i.service", "");
        line.replace("ingressd-%i", "ingressd").replace("ingressd/%i", "ingressd")
    });
    assert_eq!(template.collect::<Vec<_>>(), read("ingressd.service"));
}

/// Places in the documentation that Events and the journal name exist.
#[test]
fn the_page_that_findings_name_is_installed_and_has_their_places() {
    let text = fs::read_to_string(root().join("docs/findings.md")).unwrap();
    for form in ["deb", "generate-rpm"] {
        let assets = assets(&metadata()[form]);
        for row in ingressd_model::finding::Reason::ALL {
            let page = row.reason.page();
            let (file, anchor) = page.split_once('#').unwrap();
            let folder = file.strip_suffix("findings.md").unwrap();
            assert!(assets.iter().any(|(source, to, _)| source == "docs/*.md" && to == folder), "{form}: {page}");
            let heading = |line: &str| line.strip_prefix("## ").is_some_and(|name| name.to_lowercase() == anchor);
            assert!(text.lines().any(heading), "{page}");
        }
    }
}

/// The manifest that packages are made by, or why there is none.
fn manifest(variables: &[(&str, &str)]) -> Result<String, String> {
    let mut command = std::process::Command::new(root().join("packaging/manifest"));
    command.env_remove("PACKAGE_REPOSITORY").env_remove("PACKAGE_CONTACT").envs(variables.iter().copied());
    let output = command.output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    if output.status.success() { Ok(text(output.stdout)) } else { Err(text(output.stderr)) }
}

#[test]
fn what_packages_say_of_their_makers_is_said_once_and_never_invented() {
    let committed = fs::read_to_string(root().join("Cargo.toml")).unwrap();
    assert_eq!(manifest(&[]).unwrap(), committed, "what is not overridden");
    assert_eq!(manifest(&[("PACKAGE_REPOSITORY", ""), ("PACKAGE_CONTACT", "")]).unwrap(), committed);
    for word in [".invalid", "example.", "localhost", "TODO", "changeme"] {
        assert!(!committed.contains(word), "{word} is nobody's");
    }
    let metadata = metadata();
    let said_elsewhere = [("deb", "maintainer"), ("generate-rpm", "url"), ("generate-rpm", "vendor")];
    assert!(said_elsewhere.iter().all(|(form, key)| metadata[form].get(key).is_none()), "it is said in [package]");

    let (repository, contact) = ("https://git.example/edge/ingressd", "Edge & Söhne's team <edge@git.example>");
    let overridden = manifest(&[("PACKAGE_REPOSITORY", repository), ("PACKAGE_CONTACT", contact)]).unwrap();
    let read = |text: &str| Document::parse(text.to_owned()).unwrap().as_table()["package"].clone();
    let (before, after) = (read(&committed), read(&overridden));
    let of_events = read(&fs::read_to_string(root().join("crates/cluster/Cargo.toml")).unwrap());
    let said = |package: &Item| package.get("repository").map(ToString::to_string);
    assert_eq!(said(&of_events), said(&before), "Events link to the repository of the packages");
    assert_eq!(after["repository"].as_str(), Some(repository));
    assert_eq!(after["authors"].as_array().unwrap().iter().filter_map(Value::as_str).collect::<Vec<_>>(), [contact]);
    let others = |package: &Item| {
        let table = package.as_table().unwrap().iter();
        let others = table.filter(|(key, _)| !["repository", "authors"].contains(key));
        others.map(|(key, value)| format!("{key}: {}", value.to_string().trim())).collect::<Vec<_>>()
    };
    assert_eq!(others(&before), others(&after));

    for (variable, value) in [
        ("PACKAGE_REPOSITORY", "git@git.example:ingressd"),
        ("PACKAGE_REPOSITORY", "https://git.example/\"\nversion = \"9"),
        ("PACKAGE_CONTACT", "edge@git.example"),
        ("PACKAGE_CONTACT", "Edge team"),
        ("PACKAGE_CONTACT", "Edge \" <edge@git.example>"),
        ("PACKAGE_CONTACT", "Edge\n <edge@git.example>"),
    ] {
        let why = manifest(&[(variable, value)]).unwrap_err();
        assert!(why.contains(variable), "{value}: {why}");
    }
}

/// Where packages ask for less than the binary needs, none are made.
#[test]
fn packages_ask_for_the_c_library_that_the_binary_needs() {
    let check = |manifest: &Path| {
        let mut command = std::process::Command::new(root().join("packaging/glibc"));
        command.arg(env!("CARGO_BIN_EXE_ingressd")).arg(manifest).output().unwrap()
    };
    let output = check(&root().join("Cargo.toml"));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let manifest = fs::read_to_string(root().join("Cargo.toml")).unwrap();
    for (says, less) in [("libc.so.6(GLIBC_2.34)", "libc.so.6(GLIBC_2.4)"), ("libc6 (>= 2.34)", "libc6 (>= 2.4)")] {
        assert!(manifest.contains(says), "{says}");
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(file.path(), manifest.replace(says, less)).unwrap();
        let output = check(file.path());
        let words = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && words.contains("asks for 2.4:"), "{says}: {words}");
    }
}

/// Pages lie in packages as they lie here, so that links lead somewhere there, too.
#[test]
fn links_of_pages_lead_to_what_is_in_the_packages() {
    const PAGES: &str = "/usr/share/doc/ingressd/";
    let mut installed = std::collections::BTreeMap::new();
    for (source, destination, _) in assets(&metadata()["deb"]).iter().filter(|asset| !asset.0.starts_with("target/")) {
        for file in glob::glob(&root().join(source).display().to_string()).unwrap().map(Result::unwrap) {
            let name = file.file_name().unwrap().to_str().unwrap();
            let to = if destination.ends_with('/') { format!("{destination}{name}") } else { destination.clone() };
            installed.insert(PathBuf::from(to), file);
        }
    }
    let (mut wrong, mut count) = (Vec::new(), 0);
    for (to, file) in installed.iter().filter(|(to, _)| to.extension().is_some_and(|end| end == "md")) {
        let text = fs::read_to_string(file).unwrap();
        let links = text.split("](").skip(1).filter_map(|rest| rest.split([')', '#']).next());
        for link in links.filter(|link| !link.is_empty() && !link.contains("://")) {
            count += 1;
            let mut target = to.parent().unwrap().to_owned();
            for part in Path::new(link).components() {
                match part {
                    std::path::Component::ParentDir => drop(target.pop()),
                    part => target.push(part),
                }
            }
            let is_folder = installed.keys().any(|path| path.starts_with(&target));
            if !target.starts_with(PAGES) || !is_folder {
                wrong.push(format!("{}: {link}", to.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "in no package:\n{}", wrong.join("\n"));
    assert!(count > 20, "{count}");
}
