//! From what the cluster says to what traffic should do; it must not know nginx versions, files or clocks.

pub mod annotation;
mod ingress_nginx;
mod options;
mod reading;

pub use options::{ClassRule, Dialect, EndpointMode, Hsts, Options};
pub use reading::Reading;

use std::sync::Arc;

use crate::finding::Finding;
use crate::model::{Model, ObjectId};
use crate::source::{Snapshot, Version};

/// The product of one translation.
#[derive(Debug, Clone, Default)]
pub struct Translation {
    /// What traffic should do.
    pub model: Model,
    /// What is wrong with the objects, sorted.
    pub findings: Vec<Finding>,
    /// The objects that are ours, sorted by name.
    pub accepted: Vec<Accepted>,
    /// Object versions that cannot be served as written; their last good versions should take their place.
    pub refused: Vec<(Arc<ObjectId>, Version)>,
}

/// An Ingress that is ours.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Accepted {
    /// The Ingress.
    pub id: Arc<ObjectId>,
    /// The version that the model holds.
    pub version: Version,
    /// The hosts it defines or adds to, as written; `*` for the catch-all.
    pub hosts: Vec<Arc<str>>,
    /// How many routes of the model are its own.
    pub routes: u32,
}

/// Translates snapshots; what it remembers between calls only saves time, never changes the result.
#[derive(Debug)]
pub struct Translator {
    options: Options,
}

impl Translator {
    /// A translator for these settings.
    pub fn new(options: Options) -> Self {
        Translator { options }
    }

    /// Says what traffic should do.
    pub fn translate(&mut self, _snapshot: &Snapshot) -> Translation {
        let _ = &self.options;
        Translation::default()
    }
}
