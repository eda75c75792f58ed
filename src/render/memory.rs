//! Remembers what was rendered from what, so that cost follows the size of a change; it must not know what is rendered.

use std::collections::HashMap;
use std::sync::Arc;

use rayon::prelude::*;

use super::file_set::{File, FilePath};

/// Sources with the files made of them.
#[derive(Debug)]
pub struct Memory<S>(HashMap<FilePath, (Arc<S>, Arc<File>)>);

impl<S> Default for Memory<S> {
    fn default() -> Self {
        Memory(HashMap::new())
    }
}

impl<S: PartialEq + Send + Sync> Memory<S> {
    /// The file of each source: remembered when the source is the same, made otherwise. Forgets all others.
    pub fn render(
        &mut self,
        sources: &[Arc<S>],
        path: impl Fn(&S) -> FilePath + Sync,
        make: impl Fn(&S) -> File + Sync,
    ) -> Vec<(FilePath, Arc<File>)> {
        let remembered = &self.0;
        let known = |path: &FilePath, source: &Arc<S>| {
            let (old, file) = remembered.get(path)?;
            (Arc::ptr_eq(old, source) || old == source).then(|| Arc::clone(file))
        };
        let files: Vec<(FilePath, Arc<File>)> = sources
            .par_iter()
            .map(|source| {
                let path = path(source);
                let file = known(&path, source).unwrap_or_else(|| Arc::new(make(source)));
                (path, file)
            })
            .collect();
        let pairs = files.iter().zip(sources);
        self.0 = pairs.map(|((path, file), source)| (path.clone(), (Arc::clone(source), Arc::clone(file)))).collect();
        files
    }
}
