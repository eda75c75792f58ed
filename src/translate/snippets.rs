//! Decides which namespaces may write which snippets, by the administrator's settings, and to
//! which routes of a host they apply. It must not know how a snippet is read.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::allowed::Allowed;
use super::site::Site;
use super::{Limits, Options};
use ingressd_model::finding::{Finding, Reason};
use ingressd_model::{Action, Behaviour, Origin, Route, Server, Snippet};

/// The kinds of snippets, by the place where they are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum SnippetKind {
    /// The annotation for the subrequest of external authentication.
    Auth,
    /// The annotation for the locations of an object.
    Configuration,
    /// The key of the ConfigMap for lookup tables.
    Http,
    /// The key of the ConfigMap for all locations.
    Location,
    /// The annotation, or the key of the ConfigMap, for whole hosts.
    Server,
    /// The key of the ConfigMap for all TCP and UDP services, or the annotation with own ones.
    Stream,
}

impl SnippetKind {
    /// All kinds.
    pub const ALL: [SnippetKind; 6] = [
        SnippetKind::Auth,
        SnippetKind::Configuration,
        SnippetKind::Http,
        SnippetKind::Location,
        SnippetKind::Server,
        SnippetKind::Stream,
    ];

    /// Its key without a prefix.
    pub const fn name(self) -> &'static str {
        match self {
            SnippetKind::Auth => "auth-snippet",
            SnippetKind::Configuration => "configuration-snippet",
            SnippetKind::Http => "http-snippet",
            SnippetKind::Location => "location-snippet",
            SnippetKind::Server => "server-snippet",
            SnippetKind::Stream => "stream-snippet",
        }
    }
}

/// Namespaces, and the snippets that are allowed there.
pub type AllowedSnippets = Allowed<SnippetKind>;

impl Options {
    /// Whether snippets of this kind are allowed in a namespace with these labels. Unknown labels
    /// allow nothing.
    pub fn allows_snippet(
        &self,
        kind: SnippetKind,
        namespace: &str,
        labels: Option<&BTreeMap<String, String>>,
    ) -> bool {
        let mut entries = self.snippets.iter().filter(|entry| entry.items.contains(&kind));
        entries.any(|entry| entry.selects(namespace, labels) == Some(true))
    }

    /// Whether a snippet of such a namespace may open this port of the node.
    pub fn allows_port(&self, namespace: &str, labels: Option<&BTreeMap<String, String>>, port: u16) -> bool {
        let mut entries = self.snippets.iter().filter(|entry| entry.items.contains(&SnippetKind::Stream));
        entries.any(|entry| entry.has_port(port) && entry.selects(namespace, labels) == Some(true))
    }

    /// Whether annotations may be such snippets in any namespace.
    pub fn allows_snippet_somewhere(&self, kind: SnippetKind) -> bool {
        // Without a port the table is about the ConfigMap.
        let is_usable = |entry: &AllowedSnippets| kind != SnippetKind::Stream || !entry.ports.is_empty();
        self.snippets.iter().any(|entry| entry.items.contains(&kind) && is_usable(entry))
    }
}

/// Applies snippets about a whole host to the routes of their namespace there, and to no others.
pub fn apply(server: &mut Server, site: &Site<'_, '_>, limits: &Limits, findings: &mut Vec<Finding>) {
    // Nearly no host has one.
    if site.subjects.iter().all(|subject| subject.reading.host.snippets.is_empty()) {
        return;
    }
    let mut by_namespace: BTreeMap<&str, Vec<&Arc<Snippet>>> = BTreeMap::new();
    for subject in &site.subjects {
        let snippets = by_namespace.entry(&subject.id().namespace).or_default();
        for snippet in &subject.reading.host.snippets {
            // A snippet that the administrator sets for all objects is added once.
            if !snippets.contains(&snippet) {
                snippets.push(snippet);
            }
        }
    }
    let heavy: BTreeSet<&str> = by_namespace
        .iter()
        .filter(|(_, snippets)| {
            let weights = snippets.iter().map(|snippet| snippet.burden.weight);
            weights.fold(0, u32::saturating_add) > limits.expressions_of_host
        })
        .map(|(namespace, _)| *namespace)
        .collect();
    for namespace in &heavy {
        let Some(last) = by_namespace[namespace].last() else { continue };
        let note = format!(
            "the regular expressions in server-snippets of the namespace have a higher weight on this host than the \
                {} that limits.expressions-of-host allows, so its routes there answer 503; use fewer",
            limits.expressions_of_host
        );
        let of_namespace = site.subjects.iter().filter(|subject| *subject.id().namespace == **namespace);
        let others = of_namespace.filter(|subject| **subject.id() != *last.origin.object);
        let places = others.map(|subject| Origin::object(subject.id())).chain([last.origin.clone()]);
        findings.extend(places.map(|place| Finding::new(Reason::ClosedRoute, place, note.as_str())));
    }
    let fallback = (!site.is_without_owner).then_some(&mut server.fallback);
    let mut told = BTreeSet::new();
    for route in server.routes.iter_mut().chain(fallback) {
        let namespace = Arc::clone(&route.origin.object.namespace);
        let close = |route: &mut Route| {
            (route.action, route.behaviour, route.errors) = (Action::Closed, Arc::default(), None);
        };
        match by_namespace.get(&*namespace) {
            Some(_) if heavy.contains(&*namespace) => close(route),
            Some(snippets) if !snippets.is_empty() && route.action != Action::Closed => {
                add(route, snippets);
                let Err(refused) = Snippet::fit_together(&route.behaviour.snippets) else { continue };
                close(route);
                if told.insert(Arc::clone(&route.origin.object)) {
                    let note = format!("the snippets of the namespace for it are refused together: {refused}");
                    findings.push(Finding::new(Reason::ClosedRoute, Origin::object(&route.origin.object), note));
                }
            }
            _ => {}
        }
    }
}

/// An object's own snippets come after those about the whole host, and take precedence over them.
fn add(route: &mut Route, snippets: &[&Arc<Snippet>]) {
    let behaviour: &mut Behaviour = Arc::make_mut(&mut route.behaviour);
    behaviour.snippets.splice(0..0, snippets.iter().map(|snippet| Arc::clone(snippet)));
    for setting in snippets.iter().flat_map(|snippet| &snippet.settings) {
        if behaviour.directives.iter().all(|own| own.row != setting.row) {
            behaviour.directives.push(setting.clone());
        }
    }
    behaviour.directives.sort_by_key(|directive| directive.row.name);
}
