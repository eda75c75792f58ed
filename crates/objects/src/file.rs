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
    /// The objects of the documents, in order, then earlier versions of those of which the newest
    /// cannot be used.
    objects: Box<[ReadObject]>,
    /// Objects whose newest version cannot be used.
    pub left_out: Box<[LeftOut]>,
    /// Findings about the file and its objects.
    pub findings: Box<[Finding]>,
    /// The number of objects of other kinds.
    pub skipped: usize,
}

#[derive(Debug)]
struct ReadDocument {
    digest: Digest,
    /// Its first line.
    line: u32,
    /// How many of the objects are its own.
    objects: u32,
    /// The number of objects of other kinds.
    skipped: u32,
    /// Whether all of it can be used.
    is_sound: bool,
}

#[derive(Debug, Clone)]
struct ReadObject {
    id: Arc<ObjectId>,
    version: Version,
    object: Object,
    /// The line where it is, or was.
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
    let mut faults = Faults::default();
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => {
            let line = bytes[..error.valid_up_to()].iter().filter(|byte| **byte == b'\n').count() + 1;
            let place = SourceLocation { file: source, line: u32::try_from(line).unwrap_or(u32::MAX) };
            faults.findings.push(finding(&place, None, Problem::undecodable("it is not UTF-8 text")));
            faults.anything_may_be_broken = true;
            file.keep(before, Vec::new(), faults);
            return Some(file);
        }
    };
    let known = before.known();
    let documents = split(text);
    let documents = documents.par_iter().map(|document| {
        let digest = Digest::of(document.text.as_bytes());
        let known = known.get(&digest).map(|(document, objects)| document.decoded(objects));
        (digest, document.line, known.unwrap_or_else(|| decode(document, terms)))
    });
    let (mut objects, mut read) = (Vec::new(), Vec::new());
    for (digest, line, decoded) in documents.collect::<Vec<_>>() {
        let (first, mut is_sound) = (objects.len(), true);
        for entry in decoded.entries {
            let line = line.saturating_add(entry.line);
            is_sound &= entry.problems.is_empty() && entry.object.is_some();
            faults.add(&entry, SourceLocation { file: Arc::clone(&source), line });
            let object = entry.id.zip(entry.object);
            objects.extend(object.map(|(id, (version, object))| ReadObject { id, version, object, line }));
        }
        let (objects, skipped) = (number(objects.len() - first), number(decoded.skipped));
        read.push(ReadDocument { digest, line, objects, skipped, is_sound });
        file.skipped += decoded.skipped;
    }
    file.documents = read.into();
    file.keep(before, objects, faults);
    Some(file)
}

fn number(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

impl ReadDocument {
    /// What was decoded; nothing was wrong with it.
    fn decoded(&self, objects: &[ReadObject]) -> Decoded {
        let entries = objects.iter().cloned().map(|ReadObject { id, version, object, line }| Entry {
            line: line.saturating_sub(self.line),
            id: Some(id),
            object: Some((version, object)),
            problems: Box::default(),
        });
        Decoded { entries: entries.collect(), skipped: usize::try_from(self.skipped).unwrap_or(usize::MAX) }
    }
}

/// What is wrong with the content of a file.
#[derive(Default)]
struct Faults {
    left_out: Vec<LeftOut>,
    findings: Vec<Finding>,
    anything_may_be_broken: bool,
}

impl Faults {
    /// Adds what is wrong with an entry.
    fn add(&mut self, entry: &Entry, place: SourceLocation) {
        self.anything_may_be_broken |= entry.id.is_none();
        let found = entry.problems.iter().map(|problem| finding(&place, entry.id.as_ref(), problem.clone()));
        self.findings.extend(found);
        let unusable = entry.id.as_ref().filter(|_| entry.object.is_none());
        let why = Problem::first_reason(&entry.problems);
        self.left_out.extend(unusable.map(|id| LeftOut { id: Arc::clone(id), place: Some(place), uid: None, why }));
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
        self.objects.iter().map(|ReadObject { id, version, object, line }| Held {
            id,
            version,
            object,
            file,
            line: *line,
        })
    }

    /// The documents that need not be decoded again, with their objects.
    fn known(&self) -> HashMap<&Digest, (&ReadDocument, &[ReadObject])> {
        let mut rest = &*self.objects;
        let documents = self.documents.iter().map(|document| {
            let (own, others) = rest.split_at(usize::try_from(document.objects).unwrap_or(usize::MAX));
            rest = others;
            (&document.digest, (document, own))
        });
        documents.filter(|(_, (document, _))| document.is_sound).collect()
    }

    /// Takes over what was read, and keeps earlier objects, because stale data is better than
    /// none: those that are broken now, or all when it is unknown which are broken.
    fn keep(&mut self, before: &ReadFile, mut objects: Vec<ReadObject>, faults: Faults) {
        let Faults { left_out, findings, anything_may_be_broken } = faults;
        if !left_out.is_empty() || anything_may_be_broken {
            let present: HashSet<_> = objects.iter().map(|object| Arc::clone(&object.id)).collect();
            let broken = |id: &ObjectId| left_out.iter().any(|left_out| *left_out.id == *id);
            let is_stale = |id| !present.contains(id) && (anything_may_be_broken || broken(id));
            objects.extend(before.objects.iter().filter(|object| is_stale(&object.id)).cloned());
        }
        (self.objects, self.left_out, self.findings) = (objects.into(), left_out.into(), findings.into());
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
