//! The first line of `ingressd status`: the state in an administrator's terms, and whether it is
//! good.

use serde_json::Value;

use crate::cli::page::duration;
use crate::daemon::LONGEST_QUIET;
use ingressd_model::finding::{count, printable};

/// How good the state is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Health {
    /// Everything in the source is served.
    Well,
    /// Something is served, but not the present state of the source, or not fully.
    Doubtful,
    /// As far as is known, nothing is served.
    Bad,
}

/// The state of this node in one sentence.
#[derive(Debug, PartialEq, Eq)]
pub struct Headline {
    /// The sentence, safe for a terminal.
    pub words: String,
    /// How good the state is.
    pub health: Health,
}

/// Computes the sentence from the daemon's response.
pub fn headline(status: &Value) -> Headline {
    let (state, mut health) = match status["ready"] == true {
        true => serving(status),
        false => not_serving(status),
    };
    let mut words = state;
    if status["drained"] == true {
        words += &drained(status);
        health = health.max(Health::Doubtful);
    }
    if status["settings_refused"].is_string() {
        words += "; NEW SETTINGS ARE REFUSED, those from before are in force";
        health = health.max(Health::Doubtful);
    }
    let findings = status["findings"].as_array().into_iter().flatten();
    for removal in findings.filter(|finding| finding["reason"] == "HostsRemoved") {
        let note = removal["note"].as_str().unwrap_or_default();
        words += &format!("; {}", printable(note.split("; ").next().unwrap_or_default()));
        health = health.max(Health::Doubtful);
    }
    Headline { words, health }
}

fn not_serving(status: &Value) -> (String, Health) {
    let why = status["why"].as_str().map(printable);
    let generation = status["prepared"].as_u64().or(status["generation"].as_u64());
    let words = match (status["phase"].as_str().unwrap_or_default(), generation) {
        ("stopping", _) => "the daemon stops; nginx goes on with what it has".to_owned(),
        ("starting", _) => match status["source_failure"].as_str() {
            Some(failure) => {
                format!("not serving: {} cannot be read ({})", source(status).1, printable(failure))
            }
            None => format!("not serving: the first look at {} is not finished", source(status).1),
        },
        ("nginx-down", Some(generation)) => format!(
            "not serving: nginx does not run{}; generation {generation} is ready for its start",
            why.map(|why| format!(" ({why})")).unwrap_or_default()
        ),
        ("nginx-down", None) => {
            format!("not serving: nginx does not run{}", why.map(|why| format!(" ({why})")).unwrap_or_default())
        }
        ("failed", None) => format!(
            "not serving: nothing could be put in place{}",
            why.map(|why| format!(" ({why})")).unwrap_or_default()
        ),
        _ => {
            let why =
                status["not_ready"].as_str().map(printable).or(why).unwrap_or_else(|| "nobody says why".to_owned());
            format!("not serving: {why}")
        }
    };
    (words, Health::Bad)
}

fn serving(status: &Value) -> (String, Health) {
    let generation = status["generation"].as_u64().map_or("-".to_owned(), |generation| generation.to_string());
    let failure = status["source_failure"].as_str().map(printable);
    let age = status["data_age_seconds"].as_u64();
    let (kind, name) = source(status);
    if let Some(pinned) = pinned(&status["pinned"]) {
        return (format!("serving generation {generation}, {pinned}"), Health::Doubtful);
    }
    if status["phase"] == "failed" {
        let why = status["why"].as_str().map(printable).unwrap_or_default();
        return (format!("serving generation {generation}; what changed since is not served: {why}"), Health::Doubtful);
    }
    match (age, failure) {
        (None, failure) => {
            let failure = failure.map(|failure| format!(": {failure}")).unwrap_or_default();
            let words = format!(
                "serving what an earlier run left (generation {generation}): {name} has not been read yet{failure}; nothing that \
                 changes is served until it is"
            );
            (words, Health::Doubtful)
        }
        (Some(age), failure @ Some(_)) | (Some(age @ LONGEST_QUIET..), failure) => {
            let failure = failure.map(|failure| format!(" ({failure})")).unwrap_or_default();
            let words = match kind {
                "cluster" => format!(
                    "serving what was last known (generation {generation}): {name} has been silent for {}{failure}; what changes \
                     there is not served",
                    duration(age)
                ),
                _ => format!(
                    "serving what was last known (generation {generation}): {name} cannot be read for {}{failure}; what changes \
                     there is not served",
                    duration(age)
                ),
            };
            (words, Health::Doubtful)
        }
        (Some(age), None) => {
            let ago = match kind {
                "cluster" => format!(" ({} ago)", duration(age)),
                _ => String::new(),
            };
            (format!("serving generation {generation}, as {name} says{ago}"), Health::Well)
        }
    }
}

/// The type and the name of the source.
fn source(status: &Value) -> (&str, String) {
    let source = &status["source"];
    let name = |member: &str| source[member].as_str().map(printable);
    match source["kind"].as_str() {
        Some("cluster") => (
            "cluster",
            name("server")
                .map_or("the cluster".to_owned(), |server| format!("the cluster {}", server.trim_end_matches('/'))),
        ),
        Some("folder") => ("folder", name("path").map_or("the folder".to_owned(), |path| format!("the folder {path}"))),
        _ => ("", "the source".to_owned()),
    }
}

/// A clause that a generation is pinned.
fn pinned(pinned: &Value) -> Option<String> {
    pinned["generation"].as_u64()?;
    let since = pinned["since"].as_i64().and_then(|since| jiff::Timestamp::from_second(since).ok());
    let since = since.map(|since| format!(" since {since}")).unwrap_or_default();
    let waiting = match pinned["waiting_files"].as_u64() {
        Some(waiting) => format!("{} wait, ", count(waiting, "changed file", "changed files")),
        None => String::new(),
    };
    Some(format!("PINNED{since}: {waiting}endpoints may be stale; `ingressd resume` ends it"))
}

/// A clause that the node is drained, and the progress.
fn drained(status: &Value) -> String {
    let withdrawal = &status["withdrawal"];
    let left = match (&withdrawal["done"], withdrawal["ingresses"].as_u64()) {
        (Value::Bool(true), _) => ", withdrawn".to_owned(),
        (_, Some(left)) => format!(", still published in {}", count(left, "Ingress", "Ingresses")),
        _ => String::new(),
    };
    let open = withdrawal["connections"].as_u64();
    let open = open.map(|open| format!(", {}", count(open, "open connection", "open connections"))).unwrap_or_default();
    format!("; DRAINED{left}{open}: `ingressd undrain` takes it back")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// The headline of a good node with these members replaced.
    fn with(members: Value) -> Headline {
        let mut status = json!({
            "phase": "serving", "ready": true, "generation": 12, "data_age_seconds": 2,
            "source": {"kind": "cluster", "server": "https://10.0.0.1:6443"},
        });
        for (name, value) in members.as_object().unwrap() {
            status[name] = value.clone();
        }
        headline(&status)
    }

    #[test]
    fn the_state_is_reported_as_an_administrator_means_it() {
        let pinned = json!({"generation": 7, "since": 0, "waiting_files": 3});
        let folder = json!({"kind": "folder", "path": "/srv/manifests"});
        let rows = [
            (json!({}), Health::Well, "serving generation 12, as the cluster https://10.0.0.1:6443 says (2 s ago)"),
            (
                json!({"source": folder, "data_age_seconds": 0}),
                Health::Well,
                "serving generation 12, as the folder /srv/manifests says",
            ),
            (
                json!({"data_age_seconds": 240, "source_failure": "Ingress, Service: connection refused"}),
                Health::Doubtful,
                "serving what was last known (generation 12): the cluster https://10.0.0.1:6443 has been silent for 4 min \
                 (Ingress, Service: connection refused); what changes there is not served",
            ),
            // A dead connection may not have been noticed.
            (
                json!({"data_age_seconds": 300}),
                Health::Doubtful,
                "serving what was last known (generation 12): the cluster https://10.0.0.1:6443 has been silent for 5 min; what \
                 changes there is not served",
            ),
            (
                json!({"source": folder, "data_age_seconds": 7, "source_failure": "it is away"}),
                Health::Doubtful,
                "serving what was last known (generation 12): the folder /srv/manifests cannot be read for 7 s (it is away); \
                 what changes there is not served",
            ),
            (
                json!({"data_age_seconds": null, "source_failure": "Ingress: timed out"}),
                Health::Doubtful,
                "serving what an earlier run left (generation 12): the cluster https://10.0.0.1:6443 has not been read yet: \
                 Ingress: timed out; nothing that changes is served until it is",
            ),
            (
                json!({"pinned": pinned, "generation": 7}),
                Health::Doubtful,
                "serving generation 7, PINNED since 1970-01-01T00:00:00Z: 3 changed files wait, endpoints may be stale; \
                 `ingressd resume` ends it",
            ),
            (
                json!({"phase": "failed", "why": "the disk is \u{1b}[2Jfull"}),
                Health::Doubtful,
                "serving generation 12; what changed since is not served: the disk is \\u{1b}[2Jfull",
            ),
            (
                json!({"drained": true, "withdrawal": {"done": false, "ingresses": 2, "connections": 1}}),
                Health::Doubtful,
                "serving generation 12, as the cluster https://10.0.0.1:6443 says (2 s ago); DRAINED, still published in 2 \
                 Ingresses, 1 open connection: `ingressd undrain` takes it back",
            ),
            (
                json!({"settings_refused": "ingressd.toml:2: no such key"}),
                Health::Doubtful,
                "serving generation 12, as the cluster https://10.0.0.1:6443 says (2 s ago); NEW SETTINGS ARE REFUSED, those \
                 from before are in force",
            ),
            (
                json!({"ready": false, "phase": "nginx-down", "why": "no nginx.pid"}),
                Health::Bad,
                "not serving: nginx does not run (no nginx.pid); generation 12 is ready for its start",
            ),
            // The last change is in a generation that nginx has never run.
            (
                json!({"ready": false, "phase": "nginx-down", "why": "no nginx.pid", "prepared": 13}),
                Health::Bad,
                "not serving: nginx does not run (no nginx.pid); generation 13 is ready for its start",
            ),
            (
                json!({"ready": false, "phase": "starting", "generation": null, "source_failure": "Ingress: refused"}),
                Health::Bad,
                "not serving: the cluster https://10.0.0.1:6443 cannot be read (Ingress: refused)",
            ),
            (
                json!({"ready": false, "phase": "starting", "generation": null}),
                Health::Bad,
                "not serving: the first look at the cluster https://10.0.0.1:6443 is not finished",
            ),
            (
                json!({"ready": false, "phase": "failed", "generation": null, "why": "no room"}),
                Health::Bad,
                "not serving: nothing could be put in place (no room)",
            ),
            (
                json!({"ready": false, "not_ready": "nginx serves generation 6, which is not the confirmed one"}),
                Health::Bad,
                "not serving: nginx serves generation 6, which is not the confirmed one",
            ),
            (
                json!({"ready": false, "phase": "stopping"}),
                Health::Bad,
                "the daemon stops; nginx goes on with what it has",
            ),
        ];
        for (members, health, words) in rows {
            assert_eq!(with(members.clone()), Headline { words: words.to_owned(), health }, "{members}");
        }
    }
}
