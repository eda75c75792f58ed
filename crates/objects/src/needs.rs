//! What an object needs beside it, by a function that the source is given: it must not know which
//! fields refer to others.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use super::Entry;
use ingressd_model::ObjectId;

type Of = dyn Fn(Entry<'_>) -> BTreeSet<ObjectId> + Send + Sync;

/// Says which Secrets and ConfigMaps an object needs, so that only those are kept in memory. By
/// default no object needs any.
#[derive(Clone)]
pub struct Needs(Arc<Of>);

impl Needs {
    /// As this function says.
    pub fn new(of: impl Fn(Entry<'_>) -> BTreeSet<ObjectId> + Send + Sync + 'static) -> Self {
        Needs(Arc::new(of))
    }

    /// Those of this object.
    pub fn of<'o>(&self, object: impl Into<Entry<'o>>) -> BTreeSet<ObjectId> {
        (self.0)(object.into())
    }
}

impl Default for Needs {
    fn default() -> Self {
        Needs::new(|_| BTreeSet::new())
    }
}

impl fmt::Debug for Needs {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Needs")
    }
}
