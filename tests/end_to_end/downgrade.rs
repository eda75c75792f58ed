//! Files of another version in the state folder: they are used as far as they are understood, and
//! harm nothing.

use std::fs;
use std::path::{Path, PathBuf};

use rig::client::get;
use rig::manifests::ingress;
use rig::status::{quarantined, reports};
use serde_json::{Value, json};

/// Every file below a folder.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

/// Adds what no version knows to a value, and to those in a list.
fn with_more(value: Value) -> Value {
    match value {
        Value::Object(mut fields) => {
            fields.insert("of-a-later-version".to_owned(), json!({"kept": true}));
            Value::Object(fields)
        }
        Value::Array(values) => values.into_iter().map(with_more).collect(),
        other => other,
    }
}

/// Does so in a file of one value, or of one in each line; others are left alone.
fn plant(file: &Path) -> bool {
    let Ok(text) = fs::read_to_string(file) else { return false };
    let whole = serde_json::from_str(&text).map(|value| vec![value]);
    let values = whole.or_else(|_| text.lines().map(serde_json::from_str).collect::<Result<Vec<Value>, _>>());
    let Ok(values) = values else { return false };
    let planted = values.into_iter().map(|value| with_more(value).to_string() + "\n").collect::<String>();
    let changed = !planted.is_empty() && planted.contains("of-a-later-version");
    if changed {
        fs::write(file, planted).unwrap();
    }
    changed
}

#[test]
fn a_daemon_starts_with_what_a_later_version_wrote() {
    rig::run(async |rig| {
        let bad = |path: &str| {
            let route = ingress("bad").class("nginx").path("bad.example", "ImplementationSpecific", path, "web");
            route.annotation("use-regex", "true").build()
        };
        rig.manifests.write("a.yaml", &[ingress("a").host("a.example", "web").build()]);
        rig.manifests.write("bad.yaml", &[bad("/works")]);
        rig.start().await;
        rig.manifests.write("bad.yaml", &[bad("/works/a(?<=a+)")]);
        let refused = |status: &Value| reports(status, "Ingress bad", "Quarantined");
        let status = rig.daemon.status_when("the refusal", refused).await;
        assert_eq!(quarantined(&status), ["Ingress bad"]);
        assert!(rig.daemon.stop().await.success());

        let planted = files(&rig.daemon.state()).into_iter().filter(|file| plant(file)).collect::<Vec<_>>();
        for name in ["journal.json", "quarantine.json", "objects/"] {
            assert!(planted.iter().any(|file| file.to_str().unwrap().contains(name)), "{name} is not in {planted:?}");
        }
        let records = files(&rig.daemon.root().join("current/record")).into_iter().filter(|file| plant(file)).count();
        assert!(records > 0, "the record of what the generation is made of");
        // The file belongs to `ingressd setup`, and nothing else reads it.
        fs::write(rig.daemon.state().join("setup.json"), r#"{"version": 2, "changes": []}"#).unwrap();

        rig.daemon.start();
        rig.daemon.ready().await;
        let status = rig.daemon.status_when("the refusal again", refused).await;
        assert_eq!(
            (&status["phase"], quarantined(&status)),
            (&"serving".into(), vec!["Ingress bad".to_owned()]),
            "{status:#}"
        );
        for (path, expected) in [("http://a.example/", 200), ("http://bad.example/works", 200)] {
            assert_eq!(get(path).send().await.status, expected, "{path}: the last good version is served");
        }
        let output = rig.daemon.command("setup").arg("--undo").output().unwrap();
        let words = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && words.contains("another version of ingressd"), "{words}");
    });
}
