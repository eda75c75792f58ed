//! The state of a watch.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::model::Kind;

/// API servers send a bookmark about once a minute where nothing changes.
const SILENCE: Duration = Duration::from_secs(75);

/// A namespace, or everywhere.
pub type Section = Option<Arc<str>>;

/// Whether anything can be served without the objects of a kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Need {
    /// Nothing is served before they are known.
    Required,
    /// Snapshots are made without them where we are not allowed to see them.
    Optional,
}

/// How the watch of one kind is, in one namespace or everywhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WatchHealth {
    /// The kind.
    pub kind: Kind,
    /// The namespace, when it does not watch all.
    pub section: Section,
    /// Whether nothing can be served without it.
    pub need: Need,
    /// Whether everything was listed once. It stays so: stale is not gone.
    pub synced: bool,
    /// When the API server last confirmed that the data is current.
    pub heard: Option<Instant>,
    /// Why the watch fails now.
    pub failure: Option<Arc<str>>,
    /// Whether the failure is that we are not allowed to see the kind, or that there is none.
    pub refused: bool,
    /// Whether the watch was refused once: snapshots are then made without the kind until it is
    /// listed, also while the API server is away.
    pub done_without: bool,
    /// The observed revision; `None` when the API server does not count.
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
            position: None,
        }
    }

    /// Whether a snapshot may be made: everything was listed, or nothing will be and nobody needs
    /// it.
    pub fn is_settled(&self) -> bool {
        self.synced || (self.need == Need::Optional && self.done_without)
    }

    /// Whether the watch works: it does not fail, and something came within the time in which a
    /// bookmark is due.
    pub fn is_heard(&self, now: Instant) -> bool {
        self.failure.is_none() && self.heard.is_some_and(|heard| now.saturating_duration_since(heard) < SILENCE)
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
