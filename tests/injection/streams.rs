//! The corpus in every part of a ConfigMap with TCP or UDP services: each value is refused with a
//! finding, or gives a valid service.

use std::collections::{BTreeMap, BTreeSet};

use ingressd_model::{Field as Place, Kind};
use serde_json::{Value, json};

use crate::corpus::corpus;
use crate::fields::{service, surroundings};
use crate::inputs::snapshot;
use crate::pipeline::{Outcome, Shape, VERSIONS, produce, yaml};

/// Where a text goes in the value of an entry.
const VALUES: &[&str] = &[
    "{}",
    "{}/good:80",
    "stream/{}:80",
    "stream/good:{}",
    "stream/good:80:{}",
    "stream/good:80:PROXY:{}",
    "stream/good:80{}",
    "stream/good:80:PROXY:PROXY:{}",
];

/// Where a text goes in its key.
const KEYS: &[&str] = &["{}", "70{}", "{}70"];

fn config_map(name: &str, entries: &[(String, String)]) -> Value {
    let bystander = ("9".to_owned(), "stream/bystander:http".to_owned());
    let data: serde_json::Map<_, _> =
        entries.iter().chain([&bystander]).map(|(key, value)| (key.clone(), json!(value))).collect();
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"namespace": "default", "name": name}, "data": data})
}

/// The result for these entries beside a good one.
fn with(name: &str, entries: &[(String, String)]) -> Outcome {
    let udp = name.starts_with("udp");
    let services = ["good", "bystander"].map(|name| {
        let [mut one, mut slice] = service("stream", name, "10.244.0.7");
        if udp {
            one["spec"]["ports"][0]["protocol"] = json!("UDP");
            slice["ports"][0]["protocol"] = json!("UDP");
        }
        [one, slice]
    });
    let objects: Vec<Value> =
        services.concat().into_iter().chain([config_map(name, entries)]).chain(surroundings()).collect();
    let outcome = produce(&snapshot(&yaml(&objects)), &VERSIONS[1..2]).remove(0);
    outcome.check();
    outcome
}

/// The files of the bystander.
fn bystander(outcome: &Outcome) -> BTreeMap<String, Option<String>> {
    let paths =
        outcome.streams().map(|(path, _)| path).filter(|path| path.contains("bystander") || path.ends_with("-9.conf"));
    paths.map(|path| (path.to_owned(), outcome.text(path))).collect()
}

/// The shapes of files that entries of any good form give, without how many words a `listen` has.
fn is_usual(tree: &[Shape]) -> bool {
    const KNOWN: [&str; 9] = [
        "listen",
        "proxy_timeout",
        "proxy_next_upstream",
        "proxy_next_upstream_timeout",
        "proxy_next_upstream_tries",
        "proxy_responses",
        "proxy_protocol",
        "proxy_pass",
        "server",
    ];
    let [Shape(name, arguments, Some(block))] = tree else { return false };
    let is_known = |Shape(name, arguments, block): &Shape| {
        // An endpoint has its share of the connections beside its address and `max_fails`.
        let most = if name == "server" { 3 } else { 2 };
        KNOWN.contains(&name.as_str()) && (1..=most).contains(arguments) && block.is_none()
    };
    let is_whole = match name.as_str() {
        "server" => *arguments == 0 && block.len() >= 7,
        "upstream" => *arguments == 1 && block.len() == 1,
        _ => false,
    };
    is_whole && block.iter().all(is_known)
}

#[test]
fn nothing_that_an_entry_holds_is_more_than_a_value() {
    // YAML has no other texts, and no other keys; no API server gives them.
    let is_text = |text: &String| {
        let map = |text: String| snapshot(&yaml(&[config_map("x", &[(text.clone(), text)])])).count(Kind::CONFIG_MAP);
        [text.clone(), format!("{text}70")].into_iter().map(map).sum::<usize>() == 2
    };
    let texts: Vec<_> = corpus().into_iter().filter(is_text).collect();
    assert!(texts.len() > 50, "{texts:?}");
    for name in ["tcp-services", "udp-services"] {
        let undisturbed = bystander(&with(name, &[]));
        assert_eq!(undisturbed.len(), 2, "{undisturbed:?}");
        let by_value = VALUES.iter().map(|place| {
            let values = texts.iter().map(|text| place.replace("{}", text));
            (7000..).map(|port: u16| port.to_string()).zip(values).collect::<Vec<_>>()
        });
        let by_key = KEYS.iter().map(|place| {
            let keys: BTreeSet<_> = texts.iter().map(|text| place.replace("{}", text)).collect();
            keys.into_iter().map(|key| (key, "stream/good:80".to_owned())).collect()
        });
        for entries in by_value.chain(by_key) {
            let outcome = with(name, &entries);
            assert_eq!(bystander(&outcome), undisturbed, "{entries:?}");
            for (path, tree) in outcome.streams() {
                assert!(is_usual(tree), "{path}: {tree:?}");
            }
            let reported = |key: &str| {
                outcome
                    .findings
                    .iter()
                    .any(|finding| matches!(&finding.origin.field, Place::Data(named) if named == key))
            };
            let is_served = |key: &str| outcome.streams().any(|(path, _)| path.ends_with(&format!("p-{key}.conf")));
            for (key, value) in &entries {
                assert!(reported(key) != is_served(key), "{name}: {key:?}: {value:?}");
            }
        }
    }
}
