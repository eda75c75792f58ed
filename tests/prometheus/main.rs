//! The shipped alerts and configuration, checked by promtool.
#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod rows;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

#[path = "../pages/mod.rs"]
mod pages;

use rows::{RECORDED, ROWS, Row, Series};

/// The file for `rule_files`.
fn rules_file() -> PathBuf {
    pages::root().join("examples/prometheus/alerts.yaml")
}

/// Every rule.
fn rules() -> Vec<Value> {
    let text = std::fs::read_to_string(rules_file()).unwrap();
    let rules: Value = serde_saphyr::from_str(&text).unwrap();
    rules["groups"].as_array().unwrap().iter().flat_map(|group| group["rules"].as_array().unwrap().clone()).collect()
}

/// Every alert with its labels and annotations.
fn alerts() -> Vec<Value> {
    rules().into_iter().filter(|rule| rule["alert"].is_string()).collect()
}

/// Runs promtool, which must be content.
fn promtool(arguments: &[&str], file: &Path) {
    let output = Command::new("promtool").args(arguments).arg(file).output();
    let output = output.expect("promtool is not installed: run `make test`, which installs it");
    let reported = [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned()).concat();
    assert!(output.status.success(), "promtool {}: {reported}", arguments.join(" "));
}

#[test]
fn the_rules_are_rules() {
    promtool(&["check", "rules", "--lint-fatal"], &rules_file());
}

#[test]
fn the_configuration_of_the_page_is_one() {
    let page = pages::page("docs/prometheus.md");
    let blocks: Vec<_> = page.blocks.iter().filter(|block| block.language() == "yaml").collect();
    assert!(!blocks.is_empty(), "{} has no configuration", page.name);
    let folder = tempfile::tempdir().unwrap();
    for block in blocks {
        let file = folder.path().join("prometheus.yml");
        std::fs::write(&file, format!("{}rule_files: [{:?}]\n", block.text, rules_file())).unwrap();
        promtool(&["check", "config", "--lint-fatal"], &file);
    }
}

#[test]
fn each_alert_fires_when_it_should_and_only_then() {
    let alerts = alerts();
    let known: BTreeSet<_> = alerts.iter().map(|alert| alert["alert"].as_str().unwrap()).collect();
    let tried: BTreeSet<_> = ROWS.iter().map(|row| row.alert).collect();
    assert_eq!(tried, known, "alerts with a row here, and alerts in the file");
    let page = pages::page("docs/prometheus.md");
    let words = page.words();
    let missing: Vec<_> = known.iter().filter(|alert| !words.iter().any(|word| word == **alert)).collect();
    assert!(missing.is_empty(), "{} does not say what to do about {missing:?}", page.name);

    let cases = ROWS.iter().flat_map(|row| {
        let alert = alerts.iter().find(|alert| alert["alert"] == row.alert).unwrap();
        let quiet = row.quiet.iter().map(|series| case(row, series, json!([])));
        std::iter::once(case(row, row.fires, json!([expected(row, alert)]))).chain(quiet)
    });
    let tests = json!({
        "rule_files": [rules_file()], "evaluation_interval": "1m", "tests": cases.collect::<Vec<_>>()
    });
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("tests.yaml");
    // What is JSON is YAML.
    std::fs::write(&file, serde_json::to_string_pretty(&tests).unwrap()).unwrap();
    promtool(&["test", "rules"], &file);
}

#[test]
fn what_is_recorded_is_what_the_page_says() {
    let rules = rules();
    let known: BTreeSet<_> = rules.iter().filter_map(|rule| rule["record"].as_str()).collect();
    let tried: BTreeSet<_> = RECORDED.iter().map(|row| row.name).collect();
    assert_eq!(tried, known, "series with a row here, and series in the file");
    let page = pages::page("docs/prometheus.md");
    let missing: Vec<_> = known.iter().filter(|name| !page.text.contains(&format!("| `{name}` |"))).collect();
    assert!(missing.is_empty(), "{} does not tell of {missing:?}", page.name);
    let cases = RECORDED.iter().map(|row| {
        let input = row.series.iter().map(|(series, values)| json!({"series": series, "values": values}));
        // promtool compares numbers by all their digits.
        let samples = json!([{"labels": row.labels, "value": row.value}]);
        json!({
            "name": row.name, "interval": "1m", "input_series": input.collect::<Vec<_>>(),
            "promql_expr_test": [{"expr": format!("round({}, 0.01)", row.name), "eval_time": "10m", "exp_samples": samples}],
        })
    });
    let tests = json!({
        "rule_files": [rules_file()], "evaluation_interval": "1m", "tests": cases.collect::<Vec<_>>()
    });
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("tests.yaml");
    std::fs::write(&file, serde_json::to_string_pretty(&tests).unwrap()).unwrap();
    promtool(&["test", "rules"], &file);
}

fn case(row: &Row, series: &[Series], expected: Value) -> Value {
    let input = series.iter().map(|(series, values)| json!({"series": series, "values": values}));
    json!({
        "name": row.alert, "interval": "1m", "input_series": input.collect::<Vec<_>>(),
        "alert_rule_test": [{"eval_time": row.at, "alertname": row.alert, "exp_alerts": expected}],
    })
}

/// The alert as it should be told: with the labels of the row, and annotations that name them.
fn expected(row: &Row, alert: &Value) -> Value {
    let mut labels = alert["labels"].as_object().unwrap().clone();
    labels.extend(row.labels.iter().map(|(name, value)| ((*name).to_owned(), json!(value))));
    let annotations = alert["annotations"].as_object().unwrap().iter().map(|(name, text)| {
        let mut text = text.as_str().unwrap().replace("{{ $value }}", row.value);
        for (label, value) in row.labels {
            text = text.replace(&format!("{{{{ $labels.{label} }}}}"), value);
        }
        assert!(!text.contains("{{"), "{}: {name} names what the row does not: {text}", row.alert);
        (name.clone(), json!(text))
    });
    json!({"exp_labels": labels, "exp_annotations": annotations.collect::<serde_json::Map<_, _>>()})
}
