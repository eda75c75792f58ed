//! From a plan to files, byte for byte; it must not know annotations, Kubernetes types, the file system or what is there already.

mod file_set;

pub use file_set::{Content, Digest, File, FilePath, FileSet, Owners};

use crate::nginx::Plan;

/// Renders plans; what it remembers between calls only saves time, never changes the result.
#[derive(Debug, Default)]
pub struct Renderer {}

impl Renderer {
    /// Writes the files for a plan.
    pub fn render(&mut self, _plan: &Plan) -> FileSet {
        FileSet::default()
    }
}
