//! What manifests would change of what is served: routes of hosts, options of Ingresses and
//! findings.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use crate::cli::offline::Processed;
use crate::cli::page::{BAD, GOOD, STRONG, styled};
use ingressd_model::finding::{Severity, printable};

/// Lines by what they are about, such as a host.
type Lines = BTreeMap<String, BTreeSet<String>>;

/// What was, and is not any more, and what is new.
#[derive(Debug, Default, PartialEq, Eq)]
struct Changed {
    removed: Vec<String>,
    added: Vec<String>,
}

/// The difference between what is served and what would be.
#[derive(Debug, PartialEq, Eq)]
pub struct Difference(Vec<(String, Changed)>);

impl Difference {
    /// What differs between both.
    pub fn of(sides: &[Processed; 2]) -> Self {
        let [before, after] = [lines(&sides[0]), lines(&sides[1])];
        let titles: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
        let nothing = BTreeSet::new();
        let changed = titles.into_iter().filter_map(|title| {
            let of = |side: &'_ Lines| side.get(title).unwrap_or(&nothing).clone();
            let (before, after) = (of(&before), of(&after));
            let without = |one: &BTreeSet<String>, other: &BTreeSet<String>| one.difference(other).cloned().collect();
            let changed = Changed { removed: without(&before, &after), added: without(&after, &before) };
            (changed != Changed::default()).then(|| (title.clone(), changed))
        });
        Difference(changed.collect())
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The output for people.
    pub fn text(&self) -> String {
        if self.is_empty() {
            return "no route, certificate, option or finding changes\n".to_owned();
        }
        let mut text = String::new();
        for (title, changed) in &self.0 {
            text += &format!("{}\n", styled(STRONG, &printable(title)));
            changed
                .removed
                .iter()
                .for_each(|line| text += &format!("  {}\n", styled(BAD, &format!("- {}", printable(line)))));
            changed
                .added
                .iter()
                .for_each(|line| text += &format!("  {}\n", styled(GOOD, &format!("+ {}", printable(line)))));
        }
        text
    }

    /// The output for programs. Names of members are a contract.
    pub fn json(&self) -> Value {
        let entry = |(title, changed): &(String, Changed)| json!({ "about": title, "removed": changed.removed, "added": changed.added });
        self.0.iter().map(entry).collect()
    }
}

/// What is served, in lines that are equal where it is equal.
fn lines(processed: &Processed) -> Lines {
    let in_force = processed.in_force();
    let mut lines = Lines::new();
    for listed in in_force.listed() {
        let line = format!("{} {} ({})", listed.path, listed.does, listed.from);
        lines.entry(format!("host {}", listed.host)).or_default().insert(line);
    }
    for listed in in_force.listed_hosts() {
        lines.entry(format!("host {}", listed.host)).or_default().extend(listed.does);
    }
    for stored in &processed.snapshot.ingresses {
        let reported = in_force.written_for(&stored.id, &processed.findings);
        let of_object = reported.iter().map(|reported| format!("{} = {}", reported.name(), reported.value()));
        lines.entry(stored.id.to_string()).or_default().extend(of_object);
    }
    for finding in processed.findings.iter().filter(|finding| finding.severity >= Severity::Warning) {
        let line = format!("{}: {}: {}", finding.severity.name(), finding.reason, finding.note);
        lines.entry(finding.origin.object.to_string()).or_default().insert(line);
    }
    lines
}
