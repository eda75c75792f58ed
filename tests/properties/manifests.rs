//! Manifests: a document never changes what another one says, and what is read of any text is
//! bounded in depth and size.

use std::cell::LazyCell;
use std::collections::BTreeSet;
use std::fs;
use std::sync::Arc;

use ingressd_model::Field;
use ingressd_objects::directory::ChangedFiles;
use ingressd_objects::yaml::{self, Content, LARGEST_FILE};
use ingressd_objects::{Directory, Snapshot};
use serde_json::Value;
use tempfile::TempDir;

/// The deepest that JSON is read; YAML is not read as deep.
const DEEPEST: usize = 128;

/// An object that stands before the text, and one behind it.
const BEFORE: &str = "apiVersion: v1\nkind: Node\nmetadata: {name: first-of-all}\n---\n";
const BEHIND: &str = "\n---\napiVersion: v1\nkind: Node\nmetadata: {name: last-of-all}\n";

thread_local! {
    static PLACE: LazyCell<TempDir> = LazyCell::new(|| tempfile::tempdir().unwrap());
}

pub fn check(data: &[u8]) {
    let whole = [BEFORE.as_bytes(), data, BEHIND.as_bytes()].concat();
    // A file that is not UTF-8 is no manifest at all.
    if let Ok(text) = std::str::from_utf8(data) {
        let snapshot = snapshot(&whole);
        let lines = whole.iter().filter(|byte| **byte == b'\n').count();
        for name in ["first-of-all", "last-of-all"] {
            let is_named = text.contains("of-all") || text.contains('\\');
            assert!(is_named || snapshot.nodes.find("", name).is_some(), "{name} is lost beside {text:?}");
        }
        for finding in &snapshot.findings {
            let shown = finding.to_string();
            assert!(!shown.contains(char::is_control) && finding.note.len() < 2000, "{shown:?}");
            if let Field::Line(line) = finding.origin.field {
                assert!(line >= 1 && line as usize <= lines + 1, "{shown}: {text:?}");
            }
        }
        read(text);
        yaml::values(text).for_each(|value| value_is_bounded(&value));
    } else {
        drop(snapshot(&whole));
    }
}

/// The snapshot of a file with this content, as the daemon reads it.
fn snapshot(content: &[u8]) -> Arc<Snapshot> {
    let file = PLACE.with(|folder| folder.path().join("all.yaml"));
    fs::write(&file, content).unwrap();
    Directory::new(vec![file]).refresh(&ChangedFiles::All, &BTreeSet::new(), &mut |_| ()).unwrap()
}

/// One document, and what is written of it.
fn read(text: &str) {
    match yaml::read(text) {
        Ok(Content::Single(value)) => written(&value),
        Ok(Content::List(items)) => {
            for (line, value) in &items {
                assert!(*line as usize <= text.lines().count(), "line {line}: {text:?}");
                value_is_bounded(value);
            }
        }
        Err(broken) => {
            assert!(broken.line as usize <= text.lines().count(), "line {}: {text:?}", broken.line);
            assert!(!broken.note.contains('\n'), "{:?}", broken.note);
        }
    }
}

/// What is written can be read, and means the same.
fn written(value: &Value) {
    value_is_bounded(value);
    let text = yaml::text(value);
    let again = yaml::parse::<Value>(&text).unwrap_or_else(|broken| panic!("{}: {text:?}", broken.note));
    assert_eq!(again, *value, "{text:?}");
}

fn value_is_bounded(value: &Value) {
    let (mut left, mut size) = (vec![(value, 1)], 0);
    while let Some((value, depth)) = left.pop() {
        assert!(depth <= DEEPEST, "{depth} levels");
        match value {
            Value::Array(items) => left.extend(items.iter().map(|item| (item, depth + 1))),
            Value::Object(members) => {
                size += members.keys().map(String::len).sum::<usize>();
                left.extend(members.values().map(|member| (member, depth + 1)));
            }
            Value::String(text) => size += text.len(),
            _ => size += 1,
        }
    }
    assert!(size as u64 <= LARGEST_FILE, "{size} bytes");
}
