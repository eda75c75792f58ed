//! How a watch is; it must not know what is done about it.

use std::sync::Arc;
use std::time::Instant;

/// A namespace, or everywhere.
pub type Section = Option<Arc<str>>;

/// Whether anything can be served without the objects of a kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Need {
    /// Nothing is served before they are known.
    Required,
    /// They do without where we are not allowed to see them.
    Optional,
}

/// How the watch of one kind is, in one namespace or everywhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WatchHealth {
    /// The kind as Kubernetes spells it.
    pub kind: &'static str,
    /// The namespace, when it does not watch all.
    pub section: Section,
    /// Whether nothing can be served without it.
    pub need: Need,
    /// Whether everything that there is was told once. It stays so: stale is not gone.
    pub synced: bool,
    /// When the API server last confirmed that what was told is true.
    pub heard: Option<Instant>,
    /// Why nothing is told now.
    pub failure: Option<Arc<str>>,
    /// Whether the failure is that we are not allowed to see the kind, or that there is none.
    pub refused: bool,
}

impl WatchHealth {
    /// A watch that has not begun.
    pub fn new(kind: &'static str, section: Section, need: Need) -> Self {
        WatchHealth { kind, section, need, synced: false, heard: None, failure: None, refused: false }
    }

    /// Whether a snapshot may be made: everything was told, or nothing will be and nobody needs it.
    pub fn is_settled(&self) -> bool {
        self.synced || (self.need == Need::Optional && self.refused)
    }

    /// One word for machines.
    pub fn state(&self) -> &'static str {
        match (self.synced, &self.failure) {
            (_, Some(_)) if self.refused => "refused",
            (true, Some(_)) => "stale",
            (false, Some(_)) => "failing",
            (true, None) => "current",
            (false, None) => "starting",
        }
    }
}
