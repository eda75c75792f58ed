//! The content of one file. It decodes only documents that changed and keeps the earlier version
//! of broken ones.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use rayon::prelude::{IntoParallelRefIterator as _, ParallelIterator as _};

use super::document::split;
use super::manifest::{Decoded, Entry, Object, Terms, decode};
use super::validation::Problem;
use super::{LeftOut, SourceFile, SourceLocation, Version};
use ingressd_model::finding::{Finding, Reason};
use ingressd_model::{Digest, Field, Kind, ObjectId, Origin};

/// The content of a file when it was last read.
#[derive(Debug, Default)]
pub struct ReadFile {
    digest: Digest,
    file: Arc<SourceFile>,
    documents: Box<[ReadDocument]>,
    /// Earlier versions of objects of which the newest cannot be used.
    stale: Vec<StaleObject>,
    /// Objects whose newest version cannot be used.
    pub left_out: Vec<LeftOut>,
    /// Findings about the file and its objects.
    pub findings: Vec<Finding>,
    /// The number of objects of other kinds.
    pub skipped: usize,
}

#[derive(Debug)]
struct ReadDocument {
    digest: Digest,
    /// Its first line.
    line: u32,
    decoded: Arc<Decoded>,
}

#[derive(Debug)]
struct StaleObject {
    id: Arc<ObjectId>,
    version: Version,
    object: Object,
    /// The line where it was.
    line: u32,
}

/// One object of a file.
#[derive(Debug, Clone, Copy)]
pub struct Held<'f> {
    /// Its name.
    pub id: &'f Arc<ObjectId>,
    pub version: &'f Version,
    pub object: &'f Object,
    pub file: &'f Arc<SourceFile>,
    /// The line of the object; for a broken one, the line where it was.
    pub line: u32,
}

/// Reads a file's content, given its earlier content; `None` when nothing changed.
pub fn read(path: &str, bytes: &[u8], terms: Terms<'_>, before: &ReadFile) -> Option<ReadFile> {
    let digest = Digest::of(bytes);
    if digest == before.digest {
        return None;
    }
    let source = Arc::new(SourceFile { path: path.into(), written: None });
    let mut file = ReadFile { digest, file: Arc::clone(&source), ..ReadFile::default() };
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => {
            let line = bytes[..error.valid_up_to()].iter().filter(|byte| **byte == b'\n').count() + 1;
            let place = SourceLocation { file: source, line: u32::try_from(line).unwrap_or(u32::MAX) };
            file.findings.push(finding(&place, None, Problem::undecodable("it is not UTF-8 text")));
            file.keep(before, true);
            return Some(file);
        }
    };
    let known: HashMap<&Digest, &Arc<Decoded>> =
        before.documents.iter().map(|document| (&document.digest, &document.decoded)).collect();
    let documents = split(text);
    let documents = documents.par_iter().map(|document| {
        let digest = Digest::of(document.text.as_bytes());
        let known = known.get(&digest).map(|known| Arc::clone(known));
        let decoded = known.unwrap_or_else(|| Arc::new(decode(document, terms)));
        ReadDocument { digest, line: document.line, decoded }
    });
    let documents: Vec<_> = documents.collect();
    let mut anything_may_be_broken = false;
    for document in &documents {
        file.skipped += document.decoded.skipped;
        for entry in &document.decoded.entries {
            let line = document.line.saturating_add(entry.line);
            anything_may_be_broken |= entry.id.is_none();
            file.report(entry, SourceLocation { file: Arc::clone(&source), line });
        }
    }
    file.documents = documents.into();
    file.keep(before, anything_may_be_broken);
    Some(file)
}

impl ReadDocument {
    fn held<'f>(&'f self, file: &'f Arc<SourceFile>) -> impl Iterator<Item = Held<'f>> {
        self.decoded.entries.iter().filter_map(move |entry| {
            let (id, (version, object)) = (entry.id.as_ref()?, entry.object.as_ref()?);
            Some(Held { id, version, object, file, line: self.line.saturating_add(entry.line) })
        })
    }
}

impl Held<'_> {
    /// Where it is written.
    pub fn place(&self) -> SourceLocation {
        SourceLocation { file: Arc::clone(self.file), line: self.line }
    }
}

impl ReadFile {
    /// Records when the file was written.
    pub fn date(&mut self, written: i64) {
        self.file = Arc::new(SourceFile { path: Arc::clone(&self.file.path), written: Some(written) });
    }

    /// Its objects, in order, then the earlier versions.
    pub fn held(&self) -> impl Iterator<Item = Held<'_>> {
        let file = &self.file;
        let stale = self.stale.iter().map(|StaleObject { id, version, object, line }| Held {
            id,
            version,
            object,
            file,
            line: *line,
        });
        self.documents.iter().flat_map(|document| document.held(file)).chain(stale)
    }

    /// Adds what is wrong with an entry.
    fn report(&mut self, entry: &Entry, place: SourceLocation) {
        let found = entry.problems.iter().map(|problem| finding(&place, entry.id.as_ref(), problem.clone()));
        self.findings.extend(found);
        let unusable = entry.id.as_ref().filter(|_| entry.object.is_none());
        self.left_out.extend(unusable.map(|id| LeftOut { id: Arc::clone(id), place: Some(place), uid: None }));
    }

    /// Keeps earlier objects, because stale data is better than none: those that are broken now,
    /// or all when it is unknown which are broken.
    fn keep(&mut self, before: &ReadFile, everything: bool) {
        let broken = |id: &ObjectId| self.left_out.iter().any(|left_out| *left_out.id == *id);
        if self.left_out.is_empty() && !everything {
            return;
        }
        let present: HashSet<_> = self.held().map(|held| held.id).collect();
        let stale = before.held().filter(|held| !present.contains(held.id) && (everything || broken(held.id)));
        let stale = stale.map(|Held { id, version, object, line, .. }| {
            let (id, version, object) = (Arc::clone(id), version.clone(), Arc::clone(object));
            StaleObject { id, version, object, line }
        });
        self.stale = stale.collect();
    }
}

fn finding(place: &SourceLocation, id: Option<&Arc<ObjectId>>, problem: Problem) -> Finding {
    let Problem { reason, field, note } = problem;
    match (id, reason, &field) {
        // Without an object there is only a line to point at.
        (None, ..) | (_, Reason::Undecodable, Field::Object) => {
            let origin = Origin {
                object: Arc::new(ObjectId::new(Kind::FILE, "", &place.file.path)),
                field: Field::Line(place.line),
            };
            let note = id.map_or(note.clone(), |id| format!("{id}: {note}"));
            Finding::new(reason, origin, note)
        }
        (Some(id), ..) => Finding::new(reason, Origin::field(id, field), note),
    }
}
