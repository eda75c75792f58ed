//! The nodes that share the work, for `ingressd status --cluster`.

use serde_json::{Value, json};

use super::fields::{list, rows, text};
use super::page::{aligned, duration, header};
use ingressd_model::finding::printable;

/// The state of a node in one word for people, and whether it is good.
fn health(member: &Value) -> (String, bool) {
    let phase = member["phase"].as_str().unwrap_or_default();
    match (member["state"].as_str(), member["drained"] == true, member["serving"] == true) {
        (Some("expired"), drained, _) => ("expired".to_owned(), drained),
        (_, true, _) => ("drained".to_owned(), true),
        (_, _, true) if member["pinned"].is_u64() => ("serving (pinned)".to_owned(), false),
        (_, _, false) if phase.is_empty() || phase == "serving" => ("not serving".to_owned(), false),
        (_, _, false) => (phase.to_owned(), false),
        // It serves the earlier generation after a failed change, or its daemon was stopped while
        // nginx goes on.
        (_, _, true) if !matches!(phase, "" | "serving") => (format!("serving ({phase})"), phase == "stopped"),
        (Some("alive" | "presumed"), _, true) => ("serving".to_owned(), true),
        _ => ("unknown".to_owned(), false),
    }
}

/// Whether there are nodes, and every one that is not drained is alive and serves.
pub fn are_well(status: &Value) -> bool {
    !rows(&status["members"]).is_empty() && rows(&status["members"]).iter().all(|member| health(member).1)
}

/// The output for programs. Member names are a contract.
pub fn json(status: &Value) -> Value {
    let member = |member: &Value| {
        let mut shown = member.clone();
        shown["health"] = json!(health(member).0);
        shown["leader"] = json!(is_leader(status, member));
        shown
    };
    json!({
        "node": status["node"],
        "leader": status["leader"],
        "well": are_well(status),
        "members": rows(&status["members"]).iter().map(member).collect::<Vec<_>>(),
    })
}

fn is_leader(status: &Value, member: &Value) -> bool {
    member["node"].is_string() && member["node"] == status["leader"]
}

/// The output for people, on lines of this width.
pub fn table(status: &Value, width: Option<usize>) -> String {
    let mut table = vec![["NODE", "ROLE", "HEALTH", "GENERATION", "SEEN", "VERSION", "ADDRESSES"].map(str::to_owned)];
    table.extend(rows(&status["members"]).iter().map(|member| {
        let role = match (is_leader(status, member), member["node"] == status["node"]) {
            (true, true) => "leader, this",
            (true, false) => "leader",
            (false, true) => "this",
            (false, false) => "-",
        };
        let seen = member["seen_seconds"].as_u64().map_or("-".to_owned(), duration);
        let [node, generation, version] = [&member["node"], &member["generation"], &member["version"]].map(text);
        [
            node,
            role.to_owned(),
            printable(&health(member).0),
            generation,
            seen,
            version,
            list(&member["addresses"], usize::MAX),
        ]
    }));
    let mut lines = match table.len() {
        1 => vec!["no node has told of itself yet".to_owned()],
        _ => aligned(&table, &["VERSION", "SEEN", "GENERATION"], width, header),
    };
    if !status["leader"].is_string() {
        lines.push("\nno node leads: addresses and Events are not written".to_owned());
    }
    if status["publishes"]["writes"] == "held" {
        lines.push("\naddresses are held back: `ingressd migrate take-over` has them written".to_owned());
    }
    lines.join("\n") + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status() -> Value {
        let member = |node: &str, state: &str, serving: bool, drained: bool, phase: &str| {
            json!({
                "node": node, "state": state, "serving": serving, "drained": drained, "phase": phase,
                "generation": 7, "version": "0.1.0", "seen_seconds": 3, "addresses": ["192.0.2.1"]
            })
        };
        json!({
            "node": "b_2", "leader": "a_1",
            "members": [
                member("a_1", "alive", true, false, "serving"),
                member("b_2", "alive", true, true, "serving"),
                member("c_3", "expired", true, false, "serving"),
                member("d_4", "alive", false, false, "nginx-down"),
                member("e_5", "alive", true, false, "failed"),
                member("f_6", "presumed", true, false, "stopped"),
                member("g\u{1b}[2J", "alive", false, false, ""),
            ],
        })
    }

    #[test]
    fn every_node_is_reported_with_role_and_health() {
        let expected = "\
NODE        ROLE    HEALTH             GENERATION  SEEN  VERSION  ADDRESSES
a_1         leader  serving            7           3 s   0.1.0    192.0.2.1
b_2         this    drained            7           3 s   0.1.0    192.0.2.1
c_3         -       expired            7           3 s   0.1.0    192.0.2.1
d_4         -       nginx-down         7           3 s   0.1.0    192.0.2.1
e_5         -       serving (failed)   7           3 s   0.1.0    192.0.2.1
f_6         -       serving (stopped)  7           3 s   0.1.0    192.0.2.1
g\\u{1b}[2J  -       not serving        7           3 s   0.1.0    192.0.2.1
";
        assert_eq!(anstream::adapter::strip_str(&table(&status(), None)).to_string(), expected);
        let reported = json(&status());
        assert_eq!(
            (&reported["members"][0]["leader"], &reported["members"][3]["health"]),
            (&json!(true), &json!("nginx-down"))
        );
    }

    #[test]
    fn one_that_should_serve_and_does_not_is_not_well() {
        let well = |numbers: &[usize]| {
            let mut status = status();
            let members = numbers.iter().map(|number| status["members"][*number].clone()).collect();
            status["members"] = Value::Array(members);
            are_well(&status)
        };
        assert!(well(&[0, 1, 5]));
        for bad in [2, 3, 4, 6] {
            assert!(!well(&[0, bad]), "{bad}");
        }
        assert!(!well(&[]));
    }

    #[test]
    fn without_a_leader_that_is_said() {
        let mut status = status();
        status["leader"] = Value::Null;
        assert!(table(&status, None).contains("no node leads"));
        status["members"] = json!([]);
        assert!(table(&status, None).starts_with("no node has told"));
    }
}
