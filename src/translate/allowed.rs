//! Which hosts a namespace may claim at all, as the administrator decides.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use super::{Options, host};
use crate::finding::{Finding, Reason};
use crate::model::{HostName, Kind, ObjectId, Origin, Refused, ServerName};
use crate::source::{Selector, Snapshot};

/// What stands for all namespaces, and for all hosts.
const ALL: &str = "*";

/// Some namespaces, and hosts that they may claim.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AllowedHosts {
    /// Their names, or `*`; empty for all that have the labels.
    pub namespaces: Vec<Arc<str>>,
    /// The labels that they must have besides, if any.
    pub selector: Option<Selector>,
    /// The hosts.
    pub hosts: Vec<HostPattern>,
}

impl AllowedHosts {
    /// Whether it is about this namespace; `None` when that depends on labels that nobody knows.
    fn selects(&self, namespace: &str, labels: Option<&BTreeMap<String, String>>) -> Option<bool> {
        selects(&self.namespaces, self.selector.as_ref(), namespace, labels)
    }
}

/// Whether names and a selector, of which one may be missing, select a namespace; `None` when that depends on labels that nobody knows.
pub fn selects(
    namespaces: &[Arc<str>],
    selector: Option<&Selector>,
    namespace: &str,
    labels: Option<&BTreeMap<String, String>>,
) -> Option<bool> {
    let is_named = namespaces.iter().any(|name| **name == *namespace || **name == *ALL);
    match (selector, is_named || namespaces.is_empty()) {
        (_, false) => Some(false),
        (None, true) => Some(true),
        (Some(selector), true) => labels.map(|labels| selector.selects(labels)),
    }
}

/// Hosts that may be claimed. It is a bound: what `*.` stands for may have any number of labels, unlike in an Ingress.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HostPattern {
    /// `*`: every host, also none.
    Any,
    /// This host alone.
    Exact(HostName),
    /// `*.NAME`: whatever is below the name, and the wildcard of the same spelling; not the name itself.
    Below(HostName),
}

impl FromStr for HostPattern {
    type Err = Refused;

    fn from_str(text: &str) -> Result<Self, Refused> {
        if text == ALL {
            return Ok(HostPattern::Any);
        }
        match host::server_name(text)? {
            ServerName::CatchAll => Err(Refused::because("it is empty; * stands for all hosts")),
            ServerName::Exact(host) => Ok(HostPattern::Exact(host)),
            ServerName::Wildcard(parent) => Ok(HostPattern::Below(parent)),
            ServerName::Expression(_) => Err(Refused::because("it is an expression")),
        }
    }
}

/// What one namespace may claim. To ask it costs a look for each label of the host, however many hosts are listed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Allowance<'a> {
    any: bool,
    exact: HashSet<&'a str>,
    below: HashSet<&'a str>,
    /// Whether it might be more if its labels were known.
    pub undecided: bool,
}

impl<'a> Allowance<'a> {
    /// That of a namespace with these labels, or with unknown ones. Without entries everybody may claim everything, with
    /// one only what those list that select the namespace. What labels are needed for is not allowed while they are unknown.
    pub fn of(entries: &'a [AllowedHosts], namespace: &str, labels: Option<&BTreeMap<String, String>>) -> Self {
        let mut allowance = Allowance { any: entries.is_empty(), ..Allowance::default() };
        for entry in entries {
            match entry.selects(namespace, labels) {
                None => allowance.undecided = true,
                Some(false) => {}
                Some(true) => entry.hosts.iter().for_each(|pattern| allowance.add(pattern)),
            }
        }
        allowance
    }

    fn add(&mut self, pattern: &'a HostPattern) {
        match pattern {
            HostPattern::Any => self.any = true,
            HostPattern::Exact(host) => drop(self.exact.insert(host.as_str())),
            HostPattern::Below(parent) => drop(self.below.insert(parent.as_str())),
        }
    }

    /// Whether the namespace may claim it. The catch-all and expressions go with all hosts; whether anybody may claim these is
    /// another question besides.
    pub fn permits(&self, name: &ServerName) -> bool {
        self.any || self.names(name)
    }

    /// Whether it is listed by more than that all hosts may be claimed.
    pub fn names(&self, name: &ServerName) -> bool {
        match name {
            ServerName::CatchAll | ServerName::Expression(_) => false,
            ServerName::Exact(host) => self.exact.contains(host.as_str()) || self.reaches(host, false),
            ServerName::Wildcard(parent) => self.reaches(parent, true),
        }
    }

    /// Whether one of the names that this one is below, or the name itself where that counts, may be claimed with all below it.
    fn reaches(&self, name: &HostName, itself: bool) -> bool {
        let parents = name.as_str().match_indices('.').map(|(dot, _)| &name.as_str()[dot + 1..]);
        itself.then_some(name.as_str()).into_iter().chain(parents).any(|parent| self.below.contains(parent))
    }
}

/// The hosts as they are written in settings, in order.
impl fmt::Display for Allowance<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let below = self.below.iter().map(|parent| format!("*.{parent}"));
        let mut all: Vec<String> = self.exact.iter().map(|host| (*host).to_owned()).chain(below).collect();
        all.sort_unstable();
        match (self.any, all.is_empty()) {
            (true, _) => formatter.write_str("all hosts"),
            (false, true) => formatter.write_str("no host"),
            (false, false) => formatter.write_str(&all.join(", ")),
        }
    }
}

/// What each namespace may claim, found out once for each.
#[derive(Debug)]
pub struct Allowances<'a> {
    entries: &'a [AllowedHosts],
    snapshot: &'a Snapshot,
    known: HashMap<Box<str>, Allowance<'a>>,
    /// That of everybody, where nobody is bound.
    everything: Option<Allowance<'a>>,
}

impl<'a> Allowances<'a> {
    /// Those of these settings, with the labels that the snapshot knows.
    pub fn new(options: &'a Options, snapshot: &'a Snapshot) -> Self {
        let entries = &options.allowed_hosts;
        let everything = entries.is_empty().then(|| Allowance::of(entries, "", None));
        Allowances { entries, snapshot, known: HashMap::new(), everything }
    }

    /// That of this namespace.
    pub fn of(&mut self, namespace: &str) -> &Allowance<'a> {
        if let Some(everything) = &self.everything {
            return everything;
        }
        if !self.known.contains_key(namespace) {
            let labels = self.snapshot.namespace(namespace).map(|stored| &stored.object.labels);
            self.known.insert(namespace.into(), Allowance::of(self.entries, namespace, labels));
        }
        &self.known[namespace]
    }
}

/// That labels are needed which we may not see.
pub fn unseen(snapshot: &Snapshot, options: &Options) -> Option<Finding> {
    let is_of_hosts = options.allowed_hosts.iter().any(|entry| entry.selector.is_some());
    let key = if is_of_hosts { "hosts.allowed" } else { "snippets.allowed" };
    let settings = Arc::new(ObjectId::new(Kind::Settings, "", key));
    let note = "Namespaces may not be listed and watched: what its selectors allow is refused, because nobody knows whose labels fit";
    let is_missed = options.needs_labels() && snapshot.unseen.contains(&Kind::Namespace);
    is_missed.then(|| Finding::new(Reason::MissingRight, Origin::object(&settings), note))
}

#[cfg(test)]
mod tests {
    use super::super::tests::manifests;
    use super::*;

    fn entry(namespaces: &[&str], selector: &str, hosts: &[&str]) -> AllowedHosts {
        AllowedHosts {
            namespaces: namespaces.iter().map(|name| Arc::from(*name)).collect(),
            selector: (!selector.is_empty()).then(|| selector.parse().unwrap()),
            hosts: hosts.iter().map(|host| host.parse().unwrap()).collect(),
        }
    }

    fn permits(allowance: &Allowance<'_>, host: &str) -> bool {
        allowance.permits(&host::server_name(host).unwrap())
    }

    #[test]
    fn a_pattern_is_a_bound() {
        // What an entry lists, hosts that may be claimed then, and hosts that may not.
        let rows: &[(&[&str], &[&str], &[&str])] = &[
            (
                &["a.example.com"],
                &["a.example.com", "A.Example.com"],
                &["b.a.example.com", "*.a.example.com", "example.com", ""],
            ),
            (
                &["*.a.example.com"],
                &["b.a.example.com", "c.b.a.example.com", "*.a.example.com", "*.b.a.example.com"],
                &["a.example.com", "ba.example.com", "*.example.com", "b.example.com", "a.example.com.evil.com", ""],
            ),
            (&["*.A.example.com", "a.example.com"], &["a.example.com", "b.a.example.com"], &["*.example.com"]),
            (&["*.com"], &["example.com", "a.example.com", "*.com"], &["com", "example.org"]),
            (&["*"], &["a.example.com", "*.com", "com", ""], &[]),
        ];
        for (hosts, may, may_not) in rows {
            let entries = [entry(&["shop"], "", hosts)];
            let allowance = Allowance::of(&entries, "shop", None);
            may.iter().for_each(|host| assert!(permits(&allowance, host), "{hosts:?} and {host:?}"));
            may_not.iter().for_each(|host| assert!(!permits(&allowance, host), "{hosts:?} and {host:?}"));
            assert!(!allowance.undecided);
        }
    }

    #[test]
    fn what_is_no_pattern_is_refused() {
        for text in ["", "*.", "a.*.com", "*a.com", "**", "192.0.2.1", "https://a.com", "a.com/", "*.*.com", " *"] {
            assert!(text.parse::<HostPattern>().is_err(), "{text:?}");
        }
    }

    #[test]
    fn a_namespace_may_claim_what_entries_list_that_select_it() {
        let labels = |text: &str| {
            let pairs = text.split(',').filter_map(|pair| pair.split_once('='));
            pairs.map(|(key, value)| (key.to_owned(), value.to_owned())).collect::<BTreeMap<_, _>>()
        };
        let named = entry(&["shop"], "", &["shop.com"]);
        let labelled = entry(&[], "team=a", &["*.a.com", "a.com"]);
        let without = entry(&[], "team!=a", &["other.com"]);
        let both = entry(&["shop", "more"], "team=a", &["both.com"]);
        let everybody = entry(&["*"], "", &["*.all.com"]);
        let all = || [&named, &labelled, &without, &both, &everybody].map(AllowedHosts::clone).to_vec();
        // Entries, the namespace, its labels, and what it may claim; `?` when that might be more.
        let rows = [
            (vec![], "shop", None, "all hosts"),
            (vec![named.clone()], "shop", None, "shop.com"),
            (vec![named.clone()], "shop2", None, "no host"),
            (vec![labelled.clone()], "shop", Some("team=a"), "*.a.com, a.com"),
            (vec![labelled.clone()], "shop", Some("team=b"), "no host"),
            (vec![labelled.clone()], "shop", Some(""), "no host"),
            (vec![labelled.clone()], "shop", None, "no host?"),
            (vec![without.clone()], "shop", Some(""), "other.com"),
            // What is not known is not without the label.
            (vec![without.clone()], "shop", None, "no host?"),
            (vec![both.clone()], "shop", Some("team=a"), "both.com"),
            (vec![both.clone()], "shop", Some("team=b"), "no host"),
            (vec![both.clone()], "other", Some("team=a"), "no host"),
            // Its name says enough.
            (vec![both.clone()], "other", None, "no host"),
            (all(), "shop", Some("team=a"), "*.a.com, *.all.com, a.com, both.com, shop.com"),
            (all(), "other", Some("team=a"), "*.a.com, *.all.com, a.com"),
            (all(), "other", Some("team=b"), "*.all.com, other.com"),
            (all(), "shop", None, "*.all.com, shop.com?"),
            (vec![named.clone(), entry(&["shop"], "", &["*"])], "shop", None, "all hosts"),
        ];
        for (entries, namespace, text, expected) in rows {
            let allowance = Allowance::of(&entries, namespace, text.map(labels).as_ref());
            let question = if allowance.undecided { "?" } else { "" };
            assert_eq!(format!("{allowance}{question}"), expected, "{namespace} {text:?}");
            assert_eq!(permits(&allowance, ""), expected == "all hosts");
        }
    }

    #[test]
    fn labels_are_those_of_the_snapshot() {
        let snapshot = manifests::snapshot(
            "{apiVersion: v1, kind: Namespace, metadata: {name: one, labels: {team: a}}}\n---\n\
             {apiVersion: v1, kind: Namespace, metadata: {name: two}}",
        );
        let options = Options { allowed_hosts: vec![entry(&[], "team=a", &["a.com"])], ..Options::default() };
        let mut allowances = Allowances::new(&options, &snapshot);
        let told = ["one", "two", "three", "one"].map(|name| {
            let allowance = allowances.of(name);
            (permits(allowance, "a.com"), allowance.undecided)
        });
        assert_eq!(told, [(true, false), (false, false), (false, true), (true, false)]);
        assert_eq!(allowances.known.len(), 3);
    }

    #[test]
    fn labels_that_are_needed_and_may_not_be_seen_are_told() {
        let snapshot = |unseen: &[Kind]| Snapshot { unseen: unseen.to_vec(), ..Snapshot::default() };
        let options = |selector: &str| Options {
            allowed_hosts: vec![entry(&["shop"], selector, &["a.com"])],
            ..Options::default()
        };
        let told = |snapshot, options| {
            let translation =
                super::super::Translator::new(options).translate(&snapshot, &Default::default(), &Default::default());
            translation.findings.iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        let missing = told(snapshot(&[Kind::Node, Kind::Namespace]), options("team=a"));
        assert!(
            matches!(&*missing, [note] if note.starts_with("Settings hosts.allowed: MissingRight: ")),
            "{missing:?}"
        );
        assert!(told(snapshot(&[Kind::Node]), options("team=a")).is_empty());
        assert!(told(snapshot(&[Kind::Namespace]), options("")).is_empty());
    }
}
