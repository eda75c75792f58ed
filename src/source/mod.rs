//! What the cluster says, as sorted, immutable snapshots; it must not know what the objects mean.

mod snapshot;

pub use snapshot::{Place, Snapshot, Stored, Version};
