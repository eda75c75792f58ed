//! The files of a plan, by what they change with.

use std::sync::Arc;

use super::FileSet;

/// The files of a plan.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rendered {
    /// Those of the model; the same in memory as the last ones where the plan is.
    pub of_model: Arc<FileSet>,
    /// Those of the tables beside it.
    pub of_tables: FileSet,
    /// What had to be done.
    pub work: RenderWork,
}

/// How much work rendering was: what was kept from the last plan counts nowhere.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RenderWork {
    /// Servers, services, password files and lists of the model whose files were made.
    pub rendered: usize,
    /// Rows of the tables whose files were made.
    pub rows: usize,
}

impl Rendered {
    /// All files, as one generation has them.
    pub fn together(&self) -> FileSet {
        let mut all = FileSet::clone(&self.of_model);
        all.files.append(&mut self.of_tables.files.clone());
        all
    }
}
