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
}
