//! An object of a kind that is read, with its type.

use ingressd_objects::{Entry, Kept};

/// An object with its type.
#[derive(Debug)]
pub struct Seen<'a, K> {
    /// Its name and version, and where it is written.
    pub entry: Entry<'a>,
    pub object: &'a K,
}

impl<K> Clone for Seen<'_, K> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<K> Copy for Seen<'_, K> {}

impl<'a, K: Kept> Seen<'a, K> {
    /// The object, where this is the type that is kept of its kind.
    pub fn of(entry: impl Into<Entry<'a>>) -> Option<Self> {
        let entry = entry.into();
        Some(Seen { entry, object: entry.object()? })
    }
}
