//! The contents of `/status.json`.

use serde_json::Value;

/// Notes of the findings with this reason about the object `Kind name` of any namespace.
pub fn notes(status: &Value, object: &str, reason: &str) -> Vec<String> {
    let text = |finding: &Value, member: &str| finding[member].as_str().unwrap_or_default().to_owned();
    let findings = status["findings"].as_array().map_or(&[][..], Vec::as_slice);
    let about = findings.iter().filter(|finding| {
        format!("{} {}", text(finding, "kind"), text(finding, "name")) == object && text(finding, "reason") == reason
    });
    about.map(|finding| text(finding, "note")).collect()
}

/// Whether there is such a finding.
pub fn reports(status: &Value, object: &str, reason: &str) -> bool {
    !notes(status, object, reason).is_empty()
}

/// The objects in quarantine, as `Kind name`, sorted.
pub fn quarantined(status: &Value) -> Vec<String> {
    let findings = status["findings"].as_array().map_or(&[][..], Vec::as_slice);
    let in_quarantine = findings.iter().filter(|finding| finding["reason"] == "Quarantined");
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let mut names: Vec<_> =
        in_quarantine.map(|finding| format!("{} {}", text(&finding["kind"]), text(&finding["name"]))).collect();
    names.sort();
    names
}

/// Whether nginx serves everything that the last snapshot asked for, and since which generation.
pub fn serving(status: &Value) -> Option<u64> {
    (status["phase"] == "serving").then(|| status["generation"].as_u64())?
}

/// The state of the watch of a kind: `current`, `stale`, ...; empty when there is none.
pub fn watch<'a>(status: &'a Value, kind: &str) -> &'a str {
    find_watch(status, kind).and_then(|watch| watch["state"].as_str()).unwrap_or_default()
}

/// How many seconds ago the API server last confirmed what it told of a kind; `None` when it never
/// did.
pub fn watch_age(status: &Value, kind: &str) -> Option<u64> {
    find_watch(status, kind)?["age_seconds"].as_u64()
}

fn find_watch<'a>(status: &'a Value, kind: &str) -> Option<&'a Value> {
    status["watches"].as_array()?.iter().find(|watch| watch["kind"] == kind)
}
