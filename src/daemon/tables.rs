//! The tables of kinds, which the daemon is given: what is watched, how it is read, and which
//! statuses are written.

use ingressd_cluster::publish::Statuses;
use ingressd_cluster::source::WatchedKinds;
use ingressd_translate::Readers;

/// The tables of kinds; the default has those of Kubernetes.
#[derive(Debug, Clone, Copy, Default)]
pub struct KindTables {
    /// The objects that are watched.
    pub objects: WatchedKinds,
    /// How they are read.
    pub readers: Readers,
    /// The statuses that are written.
    pub statuses: Statuses,
}
