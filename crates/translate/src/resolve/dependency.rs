//! What of the snapshot a result was made of. It must not know what it was made for.

use std::hash::{DefaultHasher, Hash, Hasher as _};

use ingressd_model::Kind;

/// An object of the snapshot that exists or does not, as a hash. If two objects share a hash, a
/// change of one counts for both.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Dependency(u64);

impl Dependency {
    /// A Service with its slices, or a Secret.
    pub fn on(kind: Kind, namespace: &str, name: &str) -> Self {
        let mut hasher = DefaultHasher::new();
        (kind, namespace, name).hash(&mut hasher);
        Dependency(hasher.finish())
    }

    /// A bit for each of these. Where two lists have no bit in common, they have none of these in
    /// common, which is known without a look at the lists.
    pub fn marks<'d>(all: impl IntoIterator<Item = &'d Dependency>) -> u64 {
        all.into_iter().fold(0, |marks, one| marks | 1 << (one.0 % u64::from(u64::BITS)))
    }
}
