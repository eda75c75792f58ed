//! Which hosts a namespace may claim at all, by the administrator's settings.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt;
use std::ops::RangeInclusive;
use std::str::FromStr;
use std::sync::Arc;

use crate::Options;
use crate::value::host;
use ingressd_model::finding::{Finding, Reason};
use ingressd_model::{HostName, Kind, ObjectId, Origin, Refused, ServerName};
use ingressd_objects::{Selector, Snapshot};

/// The text for all namespaces, and for all hosts.
const ALL: &str = "*";

/// An entry of the settings: namespaces, and what they may use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Allowed<T> {
    /// Their names, or `*`; empty for all with the labels.
    pub namespaces: Vec<Arc<str>>,
    /// A selector that their labels must match, if any.
    pub selector: Option<Selector>,
    /// What they may use.
    pub items: Vec<T>,
    /// Ports of the node that their snippets may open.
    pub ports: Vec<RangeInclusive<u16>>,
}

/// Namespaces, and hosts that they may claim.
pub type AllowedHosts = Allowed<HostPattern>;

impl<T> Default for Allowed<T> {
    fn default() -> Self {
        Allowed { namespaces: Vec::new(), selector: None, items: Vec::new(), ports: Vec::new() }
    }
}

impl<T> Allowed<T> {
    /// Whether snippets may open this port.
    pub fn has_port(&self, port: u16) -> bool {
        self.ports.iter().any(|range| range.contains(&port))
    }

    /// Whether the entry is about this namespace; `None` when that depends on labels that are not
    /// known.
    pub fn selects(&self, namespace: &str, labels: Option<&BTreeMap<String, String>>) -> Option<bool> {
        let is_named = self.namespaces.iter().any(|name| **name == *namespace || **name == *ALL);
        match (&self.selector, is_named || self.namespaces.is_empty()) {
            (_, false) => Some(false),
            (None, true) => Some(true),
            (Some(selector), true) => labels.map(|labels| selector.selects(labels)),
        }
    }
}

/// Hosts that may be claimed. Unlike in an Ingress, `*.` matches any number of labels here,
/// because this is an upper bound.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HostPattern {
    /// `*`: every host, and rules without a host.
    Any,
    /// Exactly this host.
    Exact(HostName),
    /// `*.NAME`: all hosts below the name, and the wildcard with this spelling; not the name
    /// itself.
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

/// The hosts that one namespace may claim. A lookup costs one step for each label of the host,
/// however many hosts are listed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Allowance<'a> {
    any: bool,
    exact: HashSet<&'a str>,
    below: HashSet<&'a str>,
    /// Whether more might be allowed if the labels of the namespace were known.
    pub undecided: bool,
}

impl<'a> Allowance<'a> {
    /// The allowance of a namespace with these labels, or with unknown ones. Without entries every
    /// host is allowed; otherwise those in the entries that select the namespace. Unknown labels
    /// select nothing.
    pub fn of(entries: &'a [AllowedHosts], namespace: &str, labels: Option<&BTreeMap<String, String>>) -> Self {
        let mut allowance = Allowance { any: entries.is_empty(), ..Allowance::default() };
        for entry in entries {
            match entry.selects(namespace, labels) {
                None => allowance.undecided = true,
                Some(false) => {}
                Some(true) => entry.items.iter().for_each(|pattern| allowance.add(pattern)),
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

    /// Whether the namespace may claim the host. The catch-all and expressions need permission for
    /// all hosts; further rules apply to them elsewhere.
    pub fn permits(&self, name: &ServerName) -> bool {
        self.any || self.names(name)
    }

    /// Whether the host of a claim is listed other than by "all hosts". While labels cannot be
    /// read it counts as listed: nothing else let the namespace claim it.
    pub fn lists(&self, name: &ServerName) -> bool {
        self.names(name) || (self.undecided && !self.any)
    }

    /// Whether the host is listed other than by "all hosts".
    pub fn names(&self, name: &ServerName) -> bool {
        match name {
            ServerName::CatchAll | ServerName::Expression(_) => false,
            ServerName::Exact(host) => self.exact.contains(host.as_str()) || self.reaches(host, false),
            ServerName::Wildcard(parent) => self.reaches(parent, true),
        }
    }

    /// Whether a parent of this name, or the name itself where that counts, is allowed with all
    /// hosts below it.
    fn reaches(&self, name: &HostName, itself: bool) -> bool {
        let parents = name.as_str().match_indices('.').map(|(dot, _)| &name.as_str()[dot + 1..]);
        itself.then_some(name.as_str()).into_iter().chain(parents).any(|parent| self.below.contains(parent))
    }
}

/// Writes the hosts as in the settings, in order.
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

/// The allowances of all namespaces, computed once for each.
#[derive(Debug)]
pub struct Allowances<'a> {
    entries: &'a [AllowedHosts],
    snapshot: &'a Snapshot,
    known: HashMap<Box<str>, Allowance<'a>>,
    /// The allowance of every namespace, when there are no restrictions.
    everything: Option<Allowance<'a>>,
}

impl<'a> Allowances<'a> {
    /// The allowances of these settings, with the labels in the snapshot.
    pub fn new(options: &'a Options, snapshot: &'a Snapshot) -> Self {
        let entries = &options.allowed_hosts;
        let everything = entries.is_empty().then(|| Allowance::of(entries, "", None));
        Allowances { entries, snapshot, known: HashMap::new(), everything }
    }

    /// The allowance of this namespace.
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

impl Allowances<'_> {
    /// Whether the administrator gives the host to this namespace: an entry for all namespaces, or
    /// for all hosts, gives it to nobody.
    pub fn gives(&self, namespace: &str, name: &ServerName) -> bool {
        let labels = self.snapshot.namespace(namespace).map(|stored| &stored.object.labels);
        let is_for_all = |entry: &AllowedHosts| {
            entry.selector.is_none() && entry.namespaces.iter().any(|namespace| **namespace == *ALL)
        };
        let entries = self.entries.iter().filter(|entry| !is_for_all(entry));
        let mut given = entries.map(|entry| Allowance::of(std::slice::from_ref(entry), namespace, labels));
        given.any(|allowance| allowance.names(name))
    }
}

/// The finding that labels are needed which we lack the right to read.
pub fn unseen(snapshot: &Snapshot, options: &Options) -> Option<Finding> {
    let is_of_hosts = options.allowed_hosts.iter().any(|entry| entry.selector.is_some());
    let key = if is_of_hosts { "hosts.allowed" } else { "snippets.allowed" };
    let settings = Arc::new(ObjectId::new(Kind::SETTINGS, "", key));
    let note = "the node may not list and watch Namespaces, so the hosts that selectors allow are refused; grant the \
        right (docs/kubeconfig.md)";
    let is_missed = options.needs_labels() && snapshot.unseen.contains(&Kind::NAMESPACE);
    is_missed.then(|| Finding::new(Reason::MissingRight, Origin::object(&settings), note))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::manifests;

    fn entry(namespaces: &[&str], selector: &str, hosts: &[&str]) -> AllowedHosts {
        AllowedHosts {
            namespaces: namespaces.iter().map(|name| Arc::from(*name)).collect(),
            selector: (!selector.is_empty()).then(|| selector.parse().unwrap()),
            items: hosts.iter().map(|host| host.parse().unwrap()).collect(),
            ports: Vec::new(),
        }
    }

    fn permits(allowance: &Allowance<'_>, host: &str) -> bool {
        allowance.permits(&host::server_name(host).unwrap())
    }

    #[test]
    fn a_pattern_is_a_bound() {
        // Each row: the listed hosts, hosts that may be claimed then, and hosts that may not.
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
        // Each row: the entries, the namespace, its labels, and what it may claim; `?` when that
        // might be more.
        let rows = [
            (vec![], "shop", None, "all hosts"),
            (vec![named.clone()], "shop", None, "shop.com"),
            (vec![named.clone()], "shop2", None, "no host"),
            (vec![labelled.clone()], "shop", Some("team=a"), "*.a.com, a.com"),
            (vec![labelled.clone()], "shop", Some("team=b"), "no host"),
            (vec![labelled.clone()], "shop", Some(""), "no host"),
            (vec![labelled.clone()], "shop", None, "no host?"),
            (vec![without.clone()], "shop", Some(""), "other.com"),
            // An unknown label does not count as missing.
            (vec![without.clone()], "shop", None, "no host?"),
            (vec![both.clone()], "shop", Some("team=a"), "both.com"),
            (vec![both.clone()], "shop", Some("team=b"), "no host"),
            (vec![both.clone()], "other", Some("team=a"), "no host"),
            // The name is sufficient.
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
        let reported = ["one", "two", "three", "one"].map(|name| {
            let allowance = allowances.of(name);
            (permits(allowance, "a.com"), allowance.undecided)
        });
        assert_eq!(reported, [(true, false), (false, false), (false, true), (true, false)]);
        assert_eq!(allowances.known.len(), 3);
    }

    #[test]
    fn labels_that_are_needed_and_may_not_be_seen_are_reported() {
        let snapshot = |unseen: &[Kind]| Snapshot { unseen: unseen.to_vec(), ..Snapshot::default() };
        let options = |selector: &str| Options {
            allowed_hosts: vec![entry(&["shop"], selector, &["a.com"])],
            ..Options::default()
        };
        let reported = |snapshot, options| {
            let translation =
                crate::Translator::new(options).translate(&snapshot, &crate::tests::world(), &Default::default());
            translation.findings.iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        let missing = reported(snapshot(&[Kind::NODE, Kind::NAMESPACE]), options("team=a"));
        assert!(
            matches!(&*missing, [note] if note.starts_with("Settings hosts.allowed: MissingRight: ")),
            "{missing:?}"
        );
        assert!(reported(snapshot(&[Kind::NODE]), options("team=a")).is_empty());
        assert!(reported(snapshot(&[Kind::NAMESPACE]), options("")).is_empty());
    }
}
