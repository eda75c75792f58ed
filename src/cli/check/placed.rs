//! Finds the place of each finding in its file. It must not know how findings are printed.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use crate::cli::offline::Processed;
use ingressd_model::finding::Finding;
use ingressd_model::{Field, Kind, Origin};
use ingressd_objects::Snapshot;
use ingressd_objects::place::Lines;

/// A place in a file.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct FilePlace {
    /// Its path, as it was given or found.
    pub file: Arc<str>,
    /// From 1.
    pub line: u32,
    /// From 1, in characters.
    pub column: u32,
}

impl fmt::Display for FilePlace {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}:{}", self.file.escape_debug(), self.line)
    }
}

/// A finding, and where it is if it is in a file.
pub type Placed<'a> = (Option<FilePlace>, &'a Finding);

/// The findings in the order of their places; those that are about no file come last.
pub fn placed(processed: &Processed) -> Vec<Placed<'_>> {
    let files = Files::of(processed);
    let mut placed: Vec<_> = processed.findings.iter().map(|finding| (files.find(&finding.origin), finding)).collect();
    placed.sort_by(|(one, _), (other, _)| one.is_none().cmp(&other.is_none()).then_with(|| one.cmp(other)));
    placed
}

/// The files that were read, to find places in them.
pub struct Files<'a> {
    snapshot: &'a Snapshot,
    /// The texts that were read already.
    texts: RefCell<BTreeMap<Arc<str>, Lines>>,
}

impl<'a> Files<'a> {
    /// The files of these objects.
    pub fn of(processed: &'a Processed) -> Self {
        Files { snapshot: &processed.snapshot, texts: RefCell::default() }
    }

    /// The file and line of a field, for people.
    pub fn place_of(&self, origin: &Origin) -> Option<String> {
        self.find(origin).map(|place| place.to_string())
    }

    fn find(&self, origin: &Origin) -> Option<FilePlace> {
        let Origin { object, field } = origin;
        if object.kind == Kind::FILE {
            let line = if let Field::Line(line) = field { *line } else { 1 };
            return Some(FilePlace { file: Arc::clone(&object.name), line, column: 1 });
        }
        let place = self.snapshot.place(object)?;
        let mut texts = self.texts.borrow_mut();
        let lines = texts.entry(Arc::clone(&place.file.path)).or_insert_with(|| {
            let bytes = std::fs::read(&*place.file.path).unwrap_or_default();
            Lines::new(&String::from_utf8_lossy(&bytes))
        });
        let (line, column) = lines.of(place.line, field);
        Some(FilePlace { file: Arc::clone(&place.file.path), line, column })
    }
}
