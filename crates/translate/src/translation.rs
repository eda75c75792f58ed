//! The result of a translation, and how much work it was.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::resolve::resolution::NamedBy;
use crate::{Claims, Namespaces};
use ingressd_model::finding::Finding;
use ingressd_model::{HostName, Model, ObjectId, ObjectState, RefusedVersion, Tables, WorkingVersion};

/// The result of a translation.
#[derive(Debug, Clone, Default)]
pub struct Translation {
    /// What traffic should do; the same in memory as in the last translation where it is equal.
    pub model: Arc<Model>,
    /// What changes often, beside it.
    pub tables: Arc<Tables>,
    /// The findings about objects, sorted.
    pub findings: Vec<Finding>,
    /// The states of all objects.
    pub states: Vec<Arc<ObjectState>>,
    /// Object versions that cannot be served as written; their last good versions should replace
    /// them.
    pub refused: Vec<RefusedVersion>,
    /// The claims on hosts and paths, including new ones: the input of the next translation once
    /// this one is served.
    pub claims: Arc<Claims>,
    /// When the passage of time alone changes the result, in seconds since 1970: the reservation
    /// of a host ends, or a certificate expires.
    pub due: Option<i64>,
    /// The DNS names of Services that are used, with the namespaces that use them.
    pub names: BTreeMap<HostName, Namespaces>,
    /// What had to be done.
    pub work: Work,
}

/// How much work a translation was: what was kept from the last one counts nowhere.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Work {
    /// Object versions that were read.
    pub read: usize,
    /// Objects that were attached to their class: all of them or none.
    pub attached: usize,
    /// Hosts whose claims were decided: all of them or none.
    pub claimed: usize,
    /// Hosts that were built.
    pub built: usize,
    /// Rows of the tables that are new or different.
    pub rows: usize,
    /// Objects whose state differs.
    pub states: usize,
}

impl Translation {
    /// How many Ingresses are of our classes, served or not.
    pub fn ours(&self) -> usize {
        self.states.iter().filter(|state| state.is_ours()).count()
    }

    /// The objects of which something is to be served, with what that is.
    pub fn accepted(&self) -> impl Iterator<Item = (&Arc<ObjectId>, &WorkingVersion)> {
        self.states.iter().filter_map(|state| Some((&state.id, &**state.working.as_ref()?)))
    }

    /// Takes over the names that a part uses.
    pub(crate) fn note_names(&mut self, names: &[NamedBy]) {
        for (name, namespace) in names {
            self.names.entry(name.clone()).or_default().insert(Arc::clone(namespace));
        }
    }
}
