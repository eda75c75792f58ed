//! The command `status`: asks the daemon and shows what it says; it must not know the other commands.

use std::io;

use serde_json::Value;

use super::exit::{Ended, Exit};
use super::members;
use super::output;
use super::settings::SettingsArguments;
use crate::config::Settings;
use crate::daemon::control;
use crate::finding::in_turn;

/// How many findings people are shown, each namespace in its turn.
const MOST_FINDINGS: usize = 100;

/// Arguments of `ingressd status`.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Exit status: 0 when nginx serves the confirmed generation, 1 when it does not, \
    69 when no daemon answers, 77 when its socket may not be used.\n\n\
    With --cluster: 0 when every node that is not drained lives and serves, 1 when one does not, 69 also when the \
    daemon serves a folder and knows no other nodes.")]
pub struct Arguments {
    /// Show all nodes that share the work, as their Leases tell, instead of this one.
    #[arg(long)]
    cluster: bool,
    /// How the answer is shown.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    #[command(flatten)]
    settings: SettingsArguments,
}

/// How many namespaces are named in the line about what nginx needs.
const LARGEST: usize = 3;

/// How the answer is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    /// A table for people.
    Text,
    /// The daemon's own words, one JSON object.
    Json,
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Ended {
    let settings = arguments.settings.load_to_ask()?;
    let (answer, status) = ask(&settings, "status")?;
    let is_json = arguments.format == Format::Json;
    if arguments.cluster && status["publishes"].is_null() {
        complain!("ingressd: the daemon serves a folder of manifests: it knows no other nodes");
        return Err(Exit::Unavailable);
    }
    let (shown, is_well) = match (arguments.cluster, is_json) {
        (true, true) => (members::json(&status).to_string() + "\n", members::are_well(&status)),
        (true, false) => (members::table(&status), members::are_well(&status)),
        (false, true) => (answer + "\n", status["ready"] == true),
        (false, false) => (table(&status), status["ready"] == true),
    };
    output::show(shown, if is_well { Exit::Success } else { Exit::Findings })
}

/// Asks the daemon; what is wrong is told on standard error.
pub fn ask(settings: &Settings, request: &str) -> Result<(String, Value), Exit> {
    let path = &settings.control_socket;
    let answer = control::ask(path, request, control::PATIENCE).map_err(|error| unanswered(settings, &error))?;
    understood(settings, answer)
}

/// Tells that the daemon could not be asked.
pub fn unanswered(settings: &Settings, error: &io::Error) -> Exit {
    let path = settings.control_socket.display();
    match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused => {
            complain!("ingressd: no daemon runs here: nobody answers on {path}");
        }
        _ => complain!("ingressd: the daemon cannot be asked on {path}: {error}"),
    }
    Exit::of_error(error)
}

/// An answer with what it says.
pub fn understood(settings: &Settings, answer: String) -> Result<(String, Value), Exit> {
    let path = &settings.control_socket;
    match serde_json::from_str(&answer) {
        Ok(value) => Ok((answer, value)),
        Err(_) => {
            complain!("ingressd: the answer on {} is not to be understood: is it another version?", path.display());
            Err(Exit::Unavailable)
        }
    }
}

/// The answer for people.
fn table(status: &Value) -> String {
    let text = |value: &Value| match value {
        Value::String(text) => printable(text),
        Value::Null => "-".to_owned(),
        other => other.to_string(),
    };
    let why = status["why"].as_str().map(|why| format!(" ({})", printable(why))).unwrap_or_default();
    let nginx = &status["nginx"];
    let mut lines = vec![
        format!("state       {}{why}", text(&status["phase"])),
        format!("generation  {}{}", text(&status["generation"]), pinned(&status["pinned"])),
        format!(
            "nginx       {}, master {}, {} workers, {} draining",
            text(&nginx["version"]),
            text(&nginx["master"]),
            text(&nginx["workers"]),
            text(&nginx["draining"])
        ),
        format!("serves      {} hosts, {} routes", text(&status["hosts"]), text(&status["routes"])),
        match &status["data_age_seconds"] {
            Value::Null => "data        not read yet".to_owned(),
            age => format!("data        read {} s ago", text(age)),
        },
        format!("role        {}{}", text(&status["role"]), drained(status)),
    ];
    lines.extend(estimate(&status["estimate"]));
    if let Some(leader) = status["leader"].as_str() {
        lines.push(format!("leader      {}", printable(leader)));
    }
    if let Some(failure) = status["source_failure"].as_str() {
        lines.push(format!("source      {}", printable(failure)));
    }
    let rows = |name: &str| status[name].as_array().cloned().unwrap_or_default();
    let list = |value: &Value| match value.as_array().into_iter().flatten().map(text).collect::<Vec<_>>().join(",") {
        list if list.is_empty() => "-".to_owned(),
        list => list,
    };
    let members = rows("members");
    if !members.is_empty() {
        lines.push(String::new());
        let mut table = vec![["NODE", "STATE", "GENERATION", "VERSION", "ADDRESSES"].map(str::to_owned)];
        table.extend(members.iter().map(|member| {
            let mut state = match (&member["drained"], &member["serving"]) {
                (Value::Bool(true), _) => format!("{}, drained", text(&member["state"])),
                (_, Value::Bool(false)) => format!("{}, not serving", text(&member["state"])),
                _ => text(&member["state"]),
            };
            state.push_str(if member["pinned"].is_null() { "" } else { ", pinned" });
            let [node, generation, version] = [&member["node"], &member["generation"], &member["version"]].map(text);
            [node, state, generation, version, list(&member["addresses"])]
        }));
        lines.extend(aligned(&table));
    }
    let ingresses = rows("ingresses");
    if !ingresses.is_empty() {
        lines.push(String::new());
        let mut table = vec![["NAMESPACE", "INGRESS", "ROUTES", "SERVED", "ADDRESSES", "HOSTS"].map(str::to_owned)];
        table.extend(ingresses.iter().map(|ingress| {
            let [namespace, name, mut routes] = [&ingress["namespace"], &ingress["name"], &ingress["routes"]].map(text);
            if let Some(closed) = ingress["closed"].as_u64().filter(|closed| *closed > 0) {
                routes += &format!(", {closed} closed");
            }
            let served = ingress["served_seconds"].as_u64().map_or("-".to_owned(), duration);
            [namespace, name, routes, served, list(&ingress["addresses"]), list(&ingress["hosts"])]
        }));
        lines.extend(aligned(&table));
    }
    let findings = rows("findings");
    let mut shown = in_turn(findings.iter().enumerate(), |(_, finding)| text(&finding["namespace"]));
    let more = shown.split_off(shown.len().min(MOST_FINDINGS)).len() as u64;
    shown.sort_by_key(|(place, _)| *place);
    if !findings.is_empty() {
        lines.push(String::new());
        let mut table = vec![["SEVERITY", "REASON", "OBJECT", "NOTE"].map(str::to_owned)];
        table.extend(shown.iter().map(|(_, finding)| {
            let name = [&finding["namespace"], &finding["name"]].map(text);
            let name = name.iter().filter(|part| !part.is_empty()).cloned().collect::<Vec<_>>().join("/");
            let object = [text(&finding["kind"]), name, text(&finding["field"])].join(" ");
            [text(&finding["severity"]), text(&finding["reason"]), object.trim_end().to_owned(), text(&finding["note"])]
        }));
        lines.extend(aligned(&table));
    }
    let left_out = rows("findings_left_out").iter().filter_map(|row| row["count"].as_u64()).sum::<u64>() + more;
    if left_out > 0 {
        let ways = "with --format json each namespace shows more of its own";
        lines.push(format!("and {left_out} more findings; {ways}"));
    }
    lines.join("\n") + "\n"
}

/// What nginx needs for what is served, and which namespaces need the most of it.
fn estimate(estimate: &Value) -> Option<String> {
    let size = |cost: &Value, member: &str| format!("{} MiB", cost[member].as_u64().unwrap_or(0).div_ceil(1 << 20));
    let total = &estimate["total"];
    let namespaces = estimate["namespaces"].as_array()?;
    let named = namespaces.iter().filter(|cost| cost["namespace"].as_str().is_some_and(|name| !name.is_empty()));
    let largest: Vec<_> = named
        .take(LARGEST)
        .map(|cost| {
            format!("{} {}", printable(cost["namespace"].as_str().unwrap_or_default()), size(cost, "memory_bytes"))
        })
        .collect();
    (!largest.is_empty()).then(|| {
        let (memory, configuration) = (size(total, "memory_bytes"), size(total, "configuration_bytes"));
        let files = &total["files"];
        let test = total["test_seconds"].as_f64().unwrap_or(0.0);
        let largest = largest.join(", ");
        format!("estimate    {memory} of memory, {configuration} in {files} files, test {test:.1} s; most by {largest}")
    })
}

/// That the administrator took the node out, and how far it is.
fn drained(status: &Value) -> String {
    if status["drained"] != true {
        return String::new();
    }
    let withdrawal = &status["withdrawal"];
    let left = match (&withdrawal["done"], withdrawal["ingresses"].as_u64()) {
        (Value::Bool(true), _) => ", withdrawn".to_owned(),
        (_, Some(left)) => format!(", still published in {left} Ingresses"),
        _ => String::new(),
    };
    let open = withdrawal["connections"].as_u64().map(|open| format!(", {open} open connections")).unwrap_or_default();
    format!(", drained{left}{open}")
}

/// That the administrator wants to stay at a generation.
fn pinned(pinned: &Value) -> String {
    let Some(generation) = pinned["generation"].as_u64() else { return String::new() };
    let since = pinned["since"].as_i64().and_then(|since| jiff::Timestamp::from_second(since).ok());
    let since = since.map(|since| format!(" since {since}")).unwrap_or_default();
    let waiting = match pinned["waiting_files"].as_u64() {
        Some(waiting) => format!("{waiting} changed files wait, "),
        None => String::new(),
    };
    format!(", PINNED to {generation}{since}: {waiting}endpoints may be stale; `ingressd rollback --resume` ends it")
}

/// Notes may quote what users wrote: nothing of it may steer the terminal.
pub(super) fn printable(text: &str) -> String {
    text.chars()
        .flat_map(|character| match character.is_control() {
            true => character.escape_default().collect::<Vec<_>>(),
            false => vec![character],
        })
        .collect()
}

/// How long something has lasted, in its greatest unit.
pub(super) fn duration(seconds: u64) -> String {
    let units = [(86_400, "d"), (3_600, "h"), (60, "min")];
    let unit = units.iter().find(|(length, _)| seconds >= 2 * length);
    unit.map_or_else(|| format!("{seconds} s"), |(length, name)| format!("{} {name}", seconds / length))
}

/// Columns as wide as their widest cell, the last one as it is.
pub(super) fn aligned<const COLUMNS: usize>(rows: &[[String; COLUMNS]]) -> Vec<String> {
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<_> = (0..COLUMNS - 1).map(width).chain([0]).collect();
    let line = |row: &[String; COLUMNS]| {
        let cells: Vec<_> = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}")).collect();
        cells.join("  ")
    };
    rows.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn people_get_a_table_that_no_object_can_forge() {
        let status = serde_json::json!({
            "phase": "serving", "generation": 7, "hosts": 1, "routes": 2, "data_age_seconds": 3, "role": "standalone",
            "nginx": {"version": "1.22.1", "master": 12, "workers": 2, "draining": 0},
            "members": [{"node": "edge-1_ab", "state": "alive", "serving": true, "drained": true, "generation": 7,
                "version": "0.1.0", "addresses": ["192.0.2.1"]}],
            "ingresses": [{"namespace": "shop", "name": "cart", "routes": 2, "hosts": ["a.example", "b.example"],
                "served_seconds": 7200, "addresses": []},
                {"namespace": "shop", "name": "typo", "routes": 0, "closed": 1, "hosts": ["c.example"],
                "served_seconds": null, "addresses": ["192.0.2.1"]}],
            "findings": [{"kind": "Ingress", "namespace": "shop", "name": "cart", "field": "", "severity": "error",
                "reason": "Quarantined", "note": "bad \u{1b}[2J\nvalue"}],
        });
        let expected = "\
state       serving
generation  7
nginx       1.22.1, master 12, 2 workers, 0 draining
serves      1 hosts, 2 routes
data        read 3 s ago
role        standalone

NODE       STATE           GENERATION  VERSION  ADDRESSES
edge-1_ab  alive, drained  7           0.1.0    192.0.2.1

NAMESPACE  INGRESS  ROUTES       SERVED  ADDRESSES  HOSTS
shop       cart     2            2 h     -          a.example,b.example
shop       typo     0, 1 closed  -       192.0.2.1  c.example

SEVERITY  REASON       OBJECT             NOTE
error     Quarantined  Ingress shop/cart  bad \\u{1b}[2J\\nvalue
";
        assert_eq!(table(&status), expected);
        let of = |namespace: &str| serde_json::json!({"namespace": namespace, "note": "x"});
        let crowd: Vec<_> = (0..500).map(|_| of("crowd")).chain([of("victim")]).collect();
        let left_out = serde_json::json!([{"namespace": "crowd", "count": 4000}]);
        let shown = table(&serde_json::json!({"findings": crowd, "findings_left_out": left_out}));
        assert!(shown.contains("victim") && shown.lines().count() < 120, "{shown}");
        assert!(shown.contains("\nand 4401 more findings; "), "{shown}");
        let pinned = serde_json::json!({"generation": 7, "pinned": {"generation": 7, "since": 0, "waiting_files": 3}});
        let line = "generation  7, PINNED to 7 since 1970-01-01T00:00:00Z: 3 changed files wait, endpoints may be stale; \
                    `ingressd rollback --resume` ends it";
        assert!(table(&pinned).lines().any(|found| found == line), "{}", table(&pinned));
    }
}
