//! The complete status of a node for people: state, problems, host, other nodes, Ingresses.

use serde_json::Value;

use super::headline::{Health, headline};
use super::problems::problems;
use crate::cli::fields::{list, rows, text};
use crate::cli::page::{self, BAD, DOUBTFUL, GOOD, aligned, duration, styled, wrapped};
use crate::daemon::verdict;
use ingressd_model::finding::{count, printable};

/// How many namespaces are named in the line about costs.
const LARGEST: usize = 3;

/// How many hosts of an Ingress are named.
const MOST_HOSTS: usize = 20;

/// The output, on lines of this width; where it `is_filtered`, without what is about no object.
pub fn overview(status: &Value, is_filtered: bool, width: Option<usize>) -> String {
    let mut lines = attention(status, width);
    lines.push(first_line(status, width));
    let left_out = rows(&status["findings_left_out"]).iter().filter_map(|row| row["count"].as_u64()).sum();
    section(&mut lines, problems(rows(&status["findings"]), left_out, width));
    if !is_filtered {
        section(&mut lines, facts(status, width));
        section(&mut lines, nodes(status, width));
    }
    let shown = ingresses(status, width);
    let is_nothing = is_filtered && shown.is_empty();
    section(&mut lines, if is_nothing { vec!["no Ingress is as it is asked for".to_owned()] } else { shown });
    lines.join("\n") + "\n"
}

/// Whether all is well, and what to do where it is not, as the status page says it.
fn attention(status: &Value, width: Option<usize>) -> Vec<String> {
    let Some(needs) = status["attention"].as_array() else { return Vec::new() };
    let style = match (status["ready"] == true, needs.is_empty()) {
        (true, true) => GOOD,
        (true, false) => DOUBTFUL,
        (false, _) => BAD,
    };
    let need = |(number, need): (usize, &Value)| {
        let words = format!("{}. {} {}", number + 1, text(&need["what"]), text(&need["remedy"]));
        wrapped(&words, width, 0, 3)
    };
    [styled(style, &verdict(needs.len()))].into_iter().chain(needs.iter().enumerate().map(need)).collect()
}

/// The state, in its colour.
pub fn first_line(status: &Value, width: Option<usize>) -> String {
    let state = headline(status);
    let style = match state.health {
        Health::Well => GOOD,
        Health::Doubtful => DOUBTFUL,
        Health::Bad => BAD,
    };
    styled(style, &wrapped(&state.words, width, 0, 0))
}

/// Adds a section behind an empty line.
pub fn section(lines: &mut Vec<String>, more: Vec<String>) {
    if !more.is_empty() {
        lines.push(String::new());
        lines.extend(more);
    }
}

/// Whether nginx does not run: then nothing is served, whatever is ready for its start.
pub fn is_down(status: &Value) -> bool {
    status["phase"] == "nginx-down"
}

/// The word for the state of an Ingress on a node with this status.
pub fn state(status: &Value, ingress: &Value) -> String {
    match ingress["state"].as_str() {
        Some("ok" | "partly" | "last good") if is_down(status) => "down".to_owned(),
        Some("closed") => "closed (503)".to_owned(),
        Some("partly") => {
            let closed = ingress["closed"].as_u64().filter(|closed| *closed > 0);
            closed.map_or("partly".to_owned(), |closed| format!("partly ({closed} closed)"))
        }
        _ => text(&ingress["state"]),
    }
}

/// Whether everything is as it should be in this state.
pub fn is_ok(state: &str) -> bool {
    state == "ok"
}

/// The style of a state.
pub fn style_of(state: &str) -> Option<anstyle::Style> {
    match state {
        ok if is_ok(ok) => Some(GOOD),
        "last good" | "waiting" | "not ours" => Some(DOUBTFUL),
        "refused" | "closed (503)" | "absent" | "down" => Some(BAD),
        partly if partly.starts_with("partly") => Some(DOUBTFUL),
        _ => None,
    }
}

/// A few lines about the host.
fn facts(status: &Value, width: Option<usize>) -> Vec<String> {
    let nginx = &status["nginx"];
    let mut facts = vec![(
        "nginx",
        format!(
            "{}, master {}, {}, {} draining",
            text(&nginx["version"]),
            text(&nginx["master"]),
            count(nginx["workers"].as_u64().unwrap_or(0), "worker", "workers"),
            text(&nginx["draining"])
        ),
    )];
    if let Some((hosts, routes)) = status["hosts"].as_u64().zip(status["routes"].as_u64()) {
        let serves = if is_down(status) { "would serve" } else { "serves" };
        facts.push((serves, format!("{}, {}", count(hosts, "host", "hosts"), count(routes, "route", "routes"))));
    }
    facts.push(("role", text(&status["role"])));
    facts.extend(status["leader"].as_str().map(|leader| ("leader", printable(leader))));
    facts.extend(estimate(&status["estimate"]).map(|estimate| ("estimate", estimate)));
    facts.extend(watches(rows(&status["watches"])).into_iter().map(|watch| ("watch", watch)));
    facts.iter().map(|(name, fact)| format!("{name:12}{}", wrapped(fact, width, 12, 12))).collect()
}

/// The watches that fail; those with the same failure are shown together.
fn watches(watches: &[Value]) -> Vec<String> {
    let mut alike: Vec<(String, String)> = Vec::new();
    for (kind, words) in watches.iter().filter_map(watch) {
        match alike.iter_mut().find(|(_, known)| *known == words) {
            Some((kinds, _)) => kinds.push_str(&format!(", {kind}")),
            None => alike.push((kind, words)),
        }
    }
    alike.into_iter().map(|(kinds, words)| format!("{kinds}{words}")).collect()
}

/// The kind of a failing watch, and its failure.
fn watch(watch: &Value) -> Option<(String, String)> {
    let state = watch["state"].as_str().filter(|state| *state != "current")?;
    let namespace = watch["namespace"].as_str().map(|namespace| format!(" in {}", printable(namespace)));
    let age = watch["age_seconds"].as_u64().map(|age| format!(", as of {} ago", duration(age)));
    let failure = watch["failure"].as_str().map(|failure| format!(": {}", printable(failure)));
    let [namespace, age, failure] = [namespace, age, failure].map(Option::unwrap_or_default);
    Some((text(&watch["kind"]), format!("{namespace}: {}{age}{failure}", printable(state))))
}

/// The estimated cost for nginx, and the namespaces with most of it.
fn estimate(estimate: &Value) -> Option<String> {
    let size = |cost: &Value, member: &str| format!("{} MiB", cost[member].as_u64().unwrap_or(0).div_ceil(1 << 20));
    let total = &estimate["total"];
    let namespaces = estimate["namespaces"].as_array()?;
    let named = namespaces.iter().filter(|cost| cost["namespace"].as_str().is_some_and(|name| !name.is_empty()));
    let largest: Vec<_> = named
        .take(LARGEST)
        .map(|cost| format!("{} {}", text(&cost["namespace"]), size(cost, "memory_bytes")))
        .collect();
    (!largest.is_empty()).then(|| {
        let (memory, configuration) = (size(total, "memory_bytes"), size(total, "configuration_bytes"));
        let files = count(total["files"].as_u64().unwrap_or(0), "file", "files");
        let test = total["test_seconds"].as_f64().unwrap_or(0.0);
        let largest = largest.join(", ");
        format!("{memory} of memory, {configuration} in {files}, test {test:.1} s; most by {largest}")
    })
}

/// The nodes that share the work.
fn nodes(status: &Value, width: Option<usize>) -> Vec<String> {
    let members = rows(&status["members"]);
    let mut table = vec![["NODE", "STATE", "GENERATION", "VERSION", "ADDRESSES"].map(str::to_owned)];
    table.extend(members.iter().map(|member| {
        let mut state = match (&member["drained"], &member["serving"]) {
            (Value::Bool(true), _) => format!("{}, drained", text(&member["state"])),
            (_, Value::Bool(false)) => format!("{}, not serving", text(&member["state"])),
            _ => text(&member["state"]),
        };
        state.push_str(if member["pinned"].is_null() { "" } else { ", pinned" });
        let [node, generation, version] = [&member["node"], &member["generation"], &member["version"]].map(text);
        [node, state, generation, version, list(&member["addresses"], usize::MAX)]
    }));
    if members.is_empty() { Vec::new() } else { aligned(&table, &["VERSION", "GENERATION"], width, page::header) }
}

/// The Ingresses of our classes, the worst states first, by name.
fn ingresses(status: &Value, width: Option<usize>) -> Vec<String> {
    let mut all: Vec<_> = rows(&status["ingresses"]).iter().chain(rows(&status["not_served"])).collect();
    all.sort_by_cached_key(|ingress| {
        let place = match style_of(&state(status, ingress)) {
            Some(BAD) => 0,
            Some(DOUBTFUL) => 1,
            _ => 2,
        };
        (place, ingress["namespace"].as_str(), ingress["name"].as_str())
    });
    let header = ["NAMESPACE", "INGRESS", "STATE", "ROUTES", "SINCE", "ADDRESSES", "HOSTS"].map(str::to_owned);
    let mut table = vec![header];
    table.extend(all.iter().map(|ingress| {
        let [namespace, name] = [&ingress["namespace"], &ingress["name"]].map(text);
        let since = ingress["served_seconds"].as_u64().map_or("-".to_owned(), duration);
        let addresses = list(&ingress["addresses"], usize::MAX);
        [
            namespace,
            name,
            state(status, ingress),
            text(&ingress["routes"]),
            since,
            addresses,
            list(&ingress["hosts"], MOST_HOSTS),
        ]
    }));
    let style = |row: usize, column: usize| match (row, column) {
        (0, _) => page::header(row, column),
        (_, 2) => style_of(&table[row][2]),
        _ => None,
    };
    if all.is_empty() { Vec::new() } else { aligned(&table, &["SINCE", "ROUTES", "ADDRESSES"], width, style) }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use unicode_width::UnicodeWidthStr as _;

    use super::*;

    fn plain(text: &str) -> String {
        anstream::adapter::strip_str(text).to_string()
    }

    #[test]
    fn people_get_state_problems_and_objects_that_nobody_can_forge() {
        let status = json!({
            "phase": "serving", "ready": true, "generation": 7, "hosts": 1, "routes": 2, "data_age_seconds": 3,
            "attention": [{"what": "1 error found\u{1b}[2J.", "remedy": "It is said below."}],
            "role": "standalone", "source": {"kind": "folder", "path": "/srv/manifests"},
            "nginx": {"version": "1.22.1", "master": 12, "workers": 2, "draining": 0},
            "watches": [{"kind": "Ingress", "state": "current"},
                {"kind": "Secret", "namespace": "shop", "state": "stale", "age_seconds": 240, "failure": "not allowed"},
                {"kind": "Service", "namespace": "shop", "state": "stale", "age_seconds": 240, "failure": "not allowed"}],
            "members": [{"node": "edge-1_ab", "state": "alive", "serving": true, "drained": true, "generation": 7,
                "version": "0.1.0", "addresses": ["192.0.2.1"]}],
            "ingresses": [
                {"namespace": "shop", "name": "cart", "state": "ok", "routes": 2, "served_seconds": 7200,
                    "hosts": ["a.example", "b.example"], "addresses": []},
                {"namespace": "shop", "name": "older", "state": "last good", "routes": 1, "hosts": ["d.example"]},
                {"namespace": "shop", "name": "some", "state": "partly", "routes": 1, "closed": 2, "hosts": ["e.example"]},
                {"namespace": "shop", "name": "typo", "state": "closed", "routes": 0, "closed": 1, "hosts": ["c.example"],
                    "served_seconds": null, "addresses": ["192.0.2.1"]}],
            "not_served": [{"namespace": "shop", "name": "bad\u{1b}[2J", "state": "refused", "hosts": ["f.example"]}],
            "findings": [{"kind": "Ingress", "namespace": "shop", "name": "older", "field": "", "severity": "error",
                "effect": "this version of the object is not served", "reason": "Quarantined", "note": "bad value"}],
        });
        let expected = "\
1 thing needs attention
1. 1 error found\\u{1b}[2J. It is said below.
serving generation 7, as the folder /srv/manifests says

error    Ingress shop/older  this version of the object is not served (Quarantined)
         bad value

nginx       1.22.1, master 12, 2 workers, 0 draining
serves      1 host, 2 routes
role        standalone
watch       Secret, Service in shop: stale, as of 4 min ago: not allowed

NODE       STATE           GENERATION  VERSION  ADDRESSES
edge-1_ab  alive, drained  7           0.1.0    192.0.2.1

NAMESPACE  INGRESS       STATE              ROUTES  SINCE  ADDRESSES  HOSTS
shop       bad\\u{1b}[2J  refused            -       -      -          f.example
shop       typo          closed (503)       0       -      192.0.2.1  c.example
shop       older         last good          1       -      -          d.example
shop       some          partly (2 closed)  1       -      -          e.example
shop       cart          ok                 2       2 h    -          a.example,b.example
";
        assert_eq!(plain(&overview(&status, false, None)), expected);
        for width in [40, 60, 80] {
            let shown = plain(&overview(&status, false, Some(width)));
            assert!(shown.lines().all(|line| line.width() <= width), "{width}: {shown}");
        }
        let filtered = plain(&overview(&status, true, None));
        assert!(filtered.contains("\nshop       cart ") && !filtered.contains("NODE") && !filtered.contains("nginx  "));
        assert!(overview(&json!({}), true, None).ends_with("\n\nno Ingress is as it is asked for\n"));
    }

    #[test]
    fn an_answer_of_another_version_is_shown_as_far_as_it_goes() {
        assert!(plain(&overview(&json!({}), false, Some(80))).starts_with("not serving: nobody says why\n"));
        let hosts: Vec<_> = (0..50).map(|number| format!("{number}.example")).collect();
        let status = json!({"ingresses": [{"namespace": "shop", "name": "many", "hosts": hosts}]});
        assert!(overview(&status, false, None).contains(",19.example and 30 more\n"));
    }
}
