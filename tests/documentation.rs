//! Generated documents are those in the repository: this test must not know what they say. `UPDATE=1` writes them again.
#![expect(clippy::unwrap_used, reason = "a test may panic")]

use std::path::Path;

fn check(path: &str, generated: &str) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    if std::env::var_os("UPDATE").is_some() {
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(&file, generated).unwrap();
    }
    let committed = std::fs::read_to_string(&file).unwrap_or_default();
    assert!(committed == generated, "{path} is stale: run `make generate` and commit the difference");
}

#[test]
fn findings_are_documented() {
    check("docs/findings.md", &ingressd::finding::document());
}

#[test]
fn annotations_are_documented() {
    check("docs/annotations.md", &ingressd::translate::annotation::document());
    check("man/ingressd-annotations.7", &ingressd::translate::annotation::manual());
}
