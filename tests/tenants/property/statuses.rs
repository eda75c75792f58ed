//! The findings and states of the victim's objects, with and without the attacker.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::suffix;
use crate::asking::findings;
use crate::scene::Ownership;

/// The reason that is allowed beside these where a host is shared: another namespace has a path
/// below one of the victim's.
const OF_OTHERS: &[&str] = &["SharedHost"];

/// The differences between the findings and states of a draw's victim with the attacker and
/// without.
pub fn differences(status: &Value, number: usize, ownership: Ownership) -> Vec<String> {
    let [with, alone] = ["with", "alone"].map(|side| reported(status, number, side, ownership));
    let more = with.difference(&alone).map(|text| format!("told with the attacker alone: {text}"));
    let less = alone.difference(&with).map(|text| format!("told without the attacker alone: {text}"));
    more.chain(less).collect()
}

/// All findings and states of a side's victim, with the names of its hosts and its namespace as if
/// there were one draw only.
fn reported(status: &Value, number: usize, side: &str, ownership: Ownership) -> BTreeSet<String> {
    let namespace = format!("victim-{number}-{side}");
    let left_out = |left_out: &Value| left_out["namespace"] == *namespace;
    assert!(!status["findings_left_out"].as_array().unwrap().iter().any(left_out), "{namespace}: {status:#}");
    let is_of_others =
        |finding: &Value| ownership == Ownership::Shared && OF_OTHERS.iter().any(|reason| finding["reason"] == *reason);
    let findings = findings(status, &namespace).into_iter().filter(|finding| !is_of_others(finding)).cloned();
    let of_namespace = |member: &str| {
        let all = status[member].as_array().unwrap().clone();
        let namespace = namespace.clone();
        all.into_iter().filter(move |known| known["namespace"] == *namespace)
    };
    let standing = |known: Value| {
        json!({
            "name": known["name"],
            "state": known["state"],
            "hosts": known["hosts"],
            "routes": known["routes"],
            "closed": known["closed"],
            "is_served": known["served_seconds"].is_u64(),
        })
    };
    let all = findings.chain(of_namespace("ingresses").map(standing)).chain(of_namespace("not_served").map(standing));
    all.map(|reported| reported.to_string().replace(&suffix(number, side), "draw").replace(&namespace, "victim"))
        .collect()
}
