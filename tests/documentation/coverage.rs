//! Every annotation that is served is in a golden case and in a test that sends requests, and so
//! is every key of the ConfigMap in the latter.

use std::fs;
use std::path::{Path, PathBuf};

use ingressd_translate::ANNOTATIONS;

use super::pages::root;

/// Where requests are sent through nginx.
const ASKING: &[&str] = &["tests/end_to_end", "tests/live", "tests/tenants", "tests/corpus/manifests"];

/// The key of the ConfigMap that no test asks for: it is another spelling, and its log would be
/// beside those of the host.
const NOT_ASKED: &[&str] = &["http-access-log-path"];

fn files(folder: &Path, into: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => files(&path, into),
            false => into.push(path),
        }
    }
}

/// The texts of all files of a kind below some folders.
fn texts(folders: &[&str], kind: &str) -> Vec<String> {
    let mut all = Vec::new();
    folders.iter().for_each(|folder| files(&root().join(folder), &mut all));
    let all: Vec<_> = all.iter().filter(|file| file.extension().is_some_and(|own| own == kind)).collect();
    all.into_iter().map(|file| fs::read_to_string(file).unwrap()).collect()
}

fn in_manifests(texts: &[String], key: &str) -> bool {
    let words = [format!("kubernetes.io/{key}:"), format!("kubernetes.io/{key}\":")];
    texts.iter().any(|text| words.iter().any(|word| text.contains(word)))
}

fn in_code(texts: &[String], key: &str) -> bool {
    let words = [format!("\"{key}\""), format!("kubernetes.io/{key}\""), format!(" {key}: '")];
    texts.iter().any(|text| words.iter().any(|word| text.contains(word)))
}

#[test]
fn every_annotation_is_in_a_golden_case_and_asked_for() {
    let golden = texts(&["tests/golden"], "yaml");
    let (code, manifests) = (texts(ASKING, "rs"), texts(ASKING, "yaml"));
    assert!(golden.len() > 20 && code.len() > 50 && manifests.len() > 40, "the tests were not found");
    let (mut missing, mut count) = (Vec::new(), 0);
    for row in ANNOTATIONS.rows().filter(|row| row.is_served()) {
        count += 1;
        let mut names = std::iter::once(&row.key).chain(row.aliases);
        if !names.clone().any(|name| in_manifests(&golden, name)) {
            missing.push(format!("{}: no case of tests/golden has it", row.key));
        }
        if !names.any(|name| in_code(&code, name) || in_manifests(&manifests, name)) {
            missing.push(format!("{}: no test that sends requests has it", row.key));
        }
    }
    assert!(missing.is_empty(), "\n{}", missing.join("\n"));
    assert!(count > 90, "{count}");
}

#[test]
fn every_key_of_the_config_map_is_asked_for() {
    let code = texts(&["tests/end_to_end", "tests/live"], "rs");
    let served =
        ingressd_config::config_map_keys().filter(|key| key.is_served && !key.becomes.starts_with("no effect"));
    let served: Vec<_> = served.map(|key| key.name).filter(|name| !NOT_ASKED.contains(name)).collect();
    let missing: Vec<_> = served.iter().filter(|name| !in_code(&code, name)).collect();
    assert!(missing.is_empty(), "no test that sends requests has {missing:?}");
    assert!(served.len() > 80, "{}", served.len());
}
