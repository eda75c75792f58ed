//! Which namespaces may write which snippets, by the administrator's settings. It must not know
//! how a snippet is read.

use std::collections::BTreeMap;

use super::Options;
use crate::options::allowed::Allowed;

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
