//! The corpus in every part of a ConfigMap with TCP or UDP services: told and nothing served, or a service of the usual form; it must not know how entries are read.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::corpus::corpus;
use crate::fields::{service, surroundings};
use crate::inputs::snapshot;
use crate::pipeline::{Outcome, Shape, VERSIONS, produce, yaml};

/// Where a value goes: the key and the value of an entry.
const PLACES: &[(&str, &str)] = &[
    ("{}", "stream/good:80"),
    ("70{}", "stream/good:80"),
    ("7000", "{}"),
    ("7000", "{}/good:80"),
    ("7000", "stream/{}:80"),
    ("7000", "stream/good:{}"),
    ("7000", "stream/good:80:{}"),
    ("7000", "stream/good:80:PROXY:{}"),
    ("7000", "stream/good:80{}"),
    ("7000", "stream/good:80:PROXY:PROXY:{}"),
];

/// What becomes of this entry beside one that is as it should be.
fn with(name: &str, key: &str, value: &str) -> Outcome {
    let map = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"namespace": "default", "name": name},
        "data": {"9": "stream/bystander:http", key: value}
    });
    let udp = name.starts_with("udp");
    let services = ["good", "bystander"].map(|name| {
        let [mut one, mut slice] = service("stream", name, "10.244.0.7");
        if udp {
            one["spec"]["ports"][0]["protocol"] = json!("UDP");
            slice["ports"][0]["protocol"] = json!("UDP");
        }
        [one, slice]
    });
    let objects: Vec<Value> = services.concat().into_iter().chain([map]).chain(surroundings()).collect();
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
        KNOWN.contains(&name.as_str()) && (1..=2).contains(arguments) && block.is_none()
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
    for name in ["tcp-services", "udp-services"] {
        let undisturbed = bystander(&with(name, "7000", "stream/good:80"));
        assert_eq!(undisturbed.len(), 2, "{undisturbed:?}");
        for hostile in corpus() {
            for (key, value) in PLACES {
                let (key, value) = (key.replace("{}", &hostile), value.replace("{}", &hostile));
                let outcome = with(name, &key, &value);
                let shown = format!("{name}: {key:?}: {value:?}");
                assert_eq!(bystander(&outcome), undisturbed, "{shown}");
                let (mut services, mut usual) = (0, true);
                for (path, tree) in outcome.streams() {
                    services += usize::from(tree[0].0 == "server");
                    usual &= is_usual(tree);
                    assert!(usual, "{shown}: {path}: {tree:?}");
                }
                let told = outcome.findings.iter().any(|finding| {
                    &*finding.origin.object.name == name
                        || matches!(finding.origin.field, ingressd::model::Field::Line(_))
                });
                assert!(services == 2 || (services == 1 && told), "{shown}: {services}: {:?}", outcome.findings);
            }
        }
    }
}
