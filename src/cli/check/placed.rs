//! Finds the place of each finding in its file. It must not know how findings are printed.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::cli::offline::Processed;
use crate::finding::Finding;
use crate::model::{Field, Kind};
use crate::source::place::Lines;

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

/// A finding with its place, if it is about a file.
pub type Placed<'a> = (Option<FilePlace>, &'a Finding);

/// The findings in the order of their places; those that are about no file come last.
pub fn placed(processed: &Processed) -> Vec<Placed<'_>> {
    let mut places = FileTexts::default();
    let mut placed: Vec<_> =
        processed.findings.iter().map(|finding| (places.of(processed, finding), finding)).collect();
    placed.sort_by(|(one, _), (other, _)| one.is_none().cmp(&other.is_none()).then_with(|| one.cmp(other)));
    placed
}

/// The texts of files with findings.
#[derive(Default)]
struct FileTexts(BTreeMap<Arc<str>, Lines>);

impl FileTexts {
    fn of(&mut self, processed: &Processed, finding: &Finding) -> Option<FilePlace> {
        let (object, field) = (&finding.origin.object, &finding.origin.field);
        if object.kind == Kind::File {
            let line = if let Field::Line(line) = field { *line } else { 1 };
            return Some(FilePlace { file: Arc::clone(&object.name), line, column: 1 });
        }
        let place = processed.snapshot.place(object)?;
        let lines = self.0.entry(Arc::clone(&place.file)).or_insert_with(|| {
            let bytes = std::fs::read(&*place.file).unwrap_or_default();
            Lines::new(&String::from_utf8_lossy(&bytes))
        });
        let (line, column) = lines.of(place.line, field);
        Some(FilePlace { file: Arc::clone(&place.file), line, column })
    }
}
