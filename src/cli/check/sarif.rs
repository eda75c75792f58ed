//! Findings in SARIF 2.1.0, which code hosts show beside the code. It must not know how they were
//! found.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Value, json};
use url::Url;

use super::placed::{FilePlace, Placed};
use ingressd_model::finding::{Reason, Severity};

const SCHEMA: &str = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json";

/// The log of one run. Paths are relative to the current folder, as code hosts require.
pub fn log(findings: &[Placed<'_>], folder: &Path) -> Value {
    let reasons: BTreeMap<&str, Reason> =
        findings.iter().map(|(_, finding)| (finding.reason.row().name, finding.reason)).collect();
    let rules: Vec<Value> = reasons.values().map(|reason| rule(*reason)).collect();
    let index = |reason: Reason| reasons.keys().position(|name| *name == reason.row().name);
    let result = |(place, finding): &Placed<'_>| {
        let origin = &finding.origin;
        let mut location = json!({"logicalLocations": [{"fullyQualifiedName": origin.to_string()}]});
        if let Some(place) = place {
            location["physicalLocation"] = physical(place, folder);
        }
        json!({
            "ruleId": finding.reason.row().name,
            "ruleIndex": index(finding.reason),
            "level": level(finding.severity),
            "message": {"text": format!("{origin}: {}", finding.printable_note())},
            "locations": [location],
        })
    };
    let results: Vec<Value> = findings.iter().map(result).collect();
    let version = env!("CARGO_PKG_VERSION");
    json!({
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [{
            "tool": {"driver": {"name": "ingressd", "version": version, "semanticVersion": version, "rules": rules}},
            "columnKind": "unicodeCodePoints",
            "invocations": [{"executionSuccessful": true}],
            "results": results,
        }],
    })
}

/// The text about a reason in docs/findings.md.
fn rule(reason: Reason) -> Value {
    let row = reason.row();
    json!({
        "id": row.name,
        "name": row.name,
        "shortDescription": {"text": row.effect},
        "fullDescription": {"text": row.meaning},
        "help": {
            "text": format!("{} Who can mend it: {}.", row.meaning, row.audience.name()),
            "markdown": format!("{}\n\nWho can mend it: {}. See `{}`.", row.meaning, row.audience.name(), reason.page()),
        },
        "defaultConfiguration": {"level": level(row.severity)},
    })
}

const fn level(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Info => "note",
    }
}

fn physical(place: &FilePlace, folder: &Path) -> Value {
    json!({
        "artifactLocation": {"uri": uri(&place.file, folder)},
        "region": {"startLine": place.line, "startColumn": place.column},
    })
}

/// A relative reference for a file below the folder, otherwise the file as it is.
fn uri(file: &str, folder: &Path) -> String {
    let whole = folder.join(file);
    // The URL of the path as if the folder were the root, so that special characters are
    // percent-encoded.
    let below = whole.strip_prefix(folder).map(|below| Path::new("/").join(below));
    let relative = below.ok().and_then(|below| Url::from_file_path(below).ok());
    match (relative, Url::from_file_path(&whole)) {
        // A colon in the first part would be read as the end of a URL scheme.
        (Some(url), _) => url.path().trim_start_matches('/').replace(':', "%3A"),
        (None, Ok(url)) => url.to_string(),
        (None, Err(())) => file.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_reported_from_the_folder_on() {
        let folder = Path::new("/srv/a b");
        for (file, expected) in [
            ("x.yaml", "x.yaml"),
            ("./x.yaml", "x.yaml"),
            ("/srv/a b/c d/ü%.yaml", "c%20d/%C3%BC%25.yaml"),
            ("a:b.yaml", "a%3Ab.yaml"),
            ("/etc/x y.yaml", "file:///etc/x%20y.yaml"),
        ] {
            assert_eq!(uri(file, folder), expected, "{file}");
        }
    }
}
