//! The health of a watch.

use std::sync::Arc;
use std::time::{Duration, Instant};

use ingressd_model::Kind;

/// How long a watch may be silent: API servers send a bookmark about once a minute when nothing
/// changes.
const SILENCE: Duration = Duration::from_secs(75);

/// The namespace of a watch; `None` for all namespaces.
pub type Section = Option<Arc<str>>;

/// Whether anything can be served without the objects of a kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Need {
    /// Nothing is served before they were listed.
    Required,
    /// Snapshots are made without them when we lack the right to read them.
    Optional,
}

/// The health of the watch of one kind, in one namespace or in all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WatchHealth {
    /// The kind.
    pub kind: Kind,
    /// The namespace; `None` for all namespaces.
    pub section: Section,
    /// Whether anything can be served without it.
    pub need: Need,
    /// Whether everything was listed once. This stays true: stale data is better than none.
    pub synced: bool,
    /// When the API server last confirmed that the data is current.
    pub heard: Option<Instant>,
    /// Why the watch fails now.
    pub failure: Option<Arc<str>>,
    /// Whether the failure is that we lack the right to read the kind, or that the API server does
    /// not have it.
    pub refused: bool,
    /// Whether the watch was refused once: snapshots are then made without the kind until it is
    /// listed, even while the API server is unreachable.
    pub done_without: bool,
    /// Whether the API server does not have the kind, which is one that it may lack: then there is
    /// none of its objects.
    pub is_absent: bool,
    /// The observed revision; `None` when the API server's versions are not numbers.
    pub position: Option<u128>,
}

impl WatchHealth {
    /// A watch that has not begun.
    pub fn new(kind: Kind, section: Section, need: Need) -> Self {
        WatchHealth {
            kind,
            section,
            need,
            synced: false,
            heard: None,
            failure: None,
            refused: false,
            done_without: false,
            is_absent: false,
            position: None,
        }
    }

    /// Whether a snapshot may be made: everything was listed, or the kind is optional and refused.
    pub fn is_settled(&self) -> bool {
        self.synced || self.is_absent || (self.need == Need::Optional && self.done_without)
    }

    /// Whether nothing is known about the objects.
    pub fn is_unseen(&self) -> bool {
        !self.synced && !self.is_absent
    }

    /// Whether the watch works: it does not fail, and something was received within the time in
    /// which a bookmark is due.
    pub fn is_heard(&self, now: Instant) -> bool {
        self.failure.is_none() && self.heard.is_some_and(|heard| now.saturating_duration_since(heard) < SILENCE)
    }

    /// The state in one word, for machines.
    pub fn state(&self) -> &'static str {
        match (self.synced, &self.failure) {
            (_, None) if self.is_absent => "absent",
            (_, Some(_)) if self.refused => "refused",
            (true, Some(_)) => "stale",
            (false, Some(_)) => "failing",
            (true, None) => "current",
            (false, None) => "starting",
        }
    }
}
