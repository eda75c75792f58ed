//! What releases, workflows and pages say of versions and targets is said once, or equal.
#![expect(clippy::unwrap_used, reason = "a test may panic")]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use regex::Regex;
use serde_json::Value;

fn read(path: &str) -> String {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    fs::read_to_string(file).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The only text that an expression finds in a file, by its first group.
fn found(path: &str, expression: &str) -> String {
    let text = read(path);
    let all: BTreeSet<_> =
        Regex::new(expression).unwrap().captures_iter(&text).map(|found| found[1].to_owned()).collect();
    assert_eq!(all.len(), 1, "{path}: {expression}: {all:?}");
    all.into_iter().next().unwrap()
}

/// All packages of Cargo.lock, ours and others.
fn packages() -> Vec<Value> {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--locked", "--offline", "--format-version", "1"])
        .args(["--filter-platform", "x86_64-unknown-linux-gnu", "--manifest-path"])
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml"))
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    let packages = metadata["packages"].as_array().unwrap().clone();
    assert!(packages.len() > 100, "the crates were not found");
    packages
}

/// A version of Rust as numbers; what is left out is zero.
fn rust(version: &str) -> [u32; 3] {
    let mut numbers = version.split('.').map(|number| number.parse().unwrap());
    std::array::from_fn(|_| numbers.next().unwrap_or(0))
}

fn workflows() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(".github/workflows");
    let files = Vec::from_iter(fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()));
    assert!(files.len() > 1, "{files:?}");
    files
}

#[test]
fn our_packages_have_one_version() {
    let ours = packages().into_iter().filter(|package| package["source"].is_null());
    let said = |package: &Value, key: &str| package[key].as_str().unwrap_or("none").to_owned();
    let versions: BTreeSet<_> =
        ours.map(|package| (said(&package, "version"), said(&package, "rust_version"))).collect();
    assert_eq!(versions.len(), 1, "version and rust-version of the packages of the workspace: {versions:?}");
}

#[test]
fn no_crate_needs_a_newer_rust_than_we_say() {
    let packages = packages();
    let ours = packages.iter().find(|package| package["name"] == "ingressd").unwrap();
    let ours = ours["rust_version"].as_str().unwrap();
    let newer =
        packages.iter().filter(|package| package["rust_version"].as_str().is_some_and(|it| rust(it) > rust(ours)));
    let newer = Vec::from_iter(newer.map(|package| format!("{} {}", package["name"], package["rust_version"])));
    assert!(newer.is_empty(), "rust-version is {ours}, and these need more: {}", newer.join(", "));
    for path in [".github/workflows/scheduled.yml", "RELEASE.md"] {
        let installed = found(path, r"rustup toolchain install (\d[\d.]*)");
        assert_eq!(installed, ours, "{path} installs the oldest Rust that is allowed");
    }
}

#[test]
fn workflows_call_targets_that_are_there() {
    let makefile = read("Makefile");
    let call = Regex::new(r"(?m)^ *(?:- )?run: (.+)$").unwrap();
    let mut wrong = Vec::new();
    let mut count = 0;
    for file in workflows() {
        let text = fs::read_to_string(&file).unwrap();
        for command in call.captures_iter(&text).map(|found| found[1].to_owned()) {
            count += 1;
            let known = match command.split(' ').collect::<Vec<_>>()[..] {
                ["make", target, ..] => makefile.contains(&format!("\n{target}:")),
                ["rustup", "toolchain", "install", ..] => true,
                _ => false,
            };
            if !known {
                wrong.push(format!("{}: {command}", file.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "neither a target of the Makefile nor the toolchain:\n{}", wrong.join("\n"));
    assert!(count > 10, "{count}");
}

#[test]
fn workflows_may_only_read() {
    let permissions = Regex::new(r"(?m)permissions:\n(( +.+\n)+)").unwrap();
    for file in workflows() {
        let text = fs::read_to_string(&file).unwrap();
        let rights = Vec::from_iter(permissions.captures_iter(&text));
        assert_eq!(rights.len(), 1, "{}", file.display());
        assert_eq!(&rights[0][1], "  contents: read\n", "{}", file.display());
    }
}

#[test]
fn readme_says_what_is_supported_and_tried() {
    let readme = read("README.md");
    let kubernetes = found("tests/cluster/go.mod", r"k8s.io/kubernetes v(1\.\d+)\.");
    let glibc = found("Cargo.toml", r"GLIBC_([\d.]+)");
    let [nginx, systemd] =
        ["nginx", "systemd"].map(|name| found("Cargo.toml", &format!(r#"(?m)^{name} = ">= ([\d.]+)""#)));
    for fact in [
        format!("Kubernetes {kubernetes}"),
        format!("nginx {nginx} or newer"),
        format!("systemd {systemd} or newer"),
        format!("glibc {glibc} or newer"),
    ] {
        assert!(readme.contains(&fact), "README.md does not say {fact:?}");
    }
}
