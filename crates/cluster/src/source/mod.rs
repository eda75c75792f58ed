//! Watches the cluster or a folder of manifests, and makes snapshots of what they say. It must not
//! know what the objects mean.

pub mod cluster;
mod watch;
mod watched;

pub use watch::{DirectorySource, WatchError};
pub use watched::{WATCHED, WatchRow, Watched, WatchedKinds};
