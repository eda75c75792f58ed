//! The content of one file. It decodes only documents that changed and keeps the earlier version
//! of broken ones.

use std::sync::Arc;

use rayon::prelude::{IntoParallelRefIterator as _, ParallelIterator as _};

use super::document::split;
use super::manifest::{Decoded, Entry, Object, Purpose, decode};
use super::validation::Problem;
use super::{LeftOut, SourceLocation, Version};
use crate::finding::{Finding, Reason};
use crate::model::{Digest, Field, Kind, ObjectId, Origin};

/// The content of a file when it was last read.
#[derive(Debug, Default)]
pub struct ReadFile {
    digest: Digest,
    /// The decoded documents by digest, sorted. There are thousands of files with a few documents
    /// each: a sorted list takes a third of the memory of a map.
    documents: Box<[(Digest, Arc<Decoded>)]>,
    /// Its objects, in order.
    pub held: Vec<Held>,
    /// Objects whose newest version cannot be used.
    pub left_out: Vec<LeftOut>,
    /// Findings about the file and its objects.
    pub findings: Vec<Finding>,
    /// The number of objects of other kinds.
    pub skipped: usize,
}

/// One object of a file.
#[derive(Debug, Clone)]
pub struct Held {
    /// Its name.
    pub id: Arc<ObjectId>,
    pub version: Version,
    pub object: Object,
    /// The line of the object; for a broken one, the line where it was.
    pub place: SourceLocation,
}

/// Reads a file's content, given its earlier content; `None` when nothing changed.
pub fn read(path: &str, bytes: &[u8], purpose: Purpose, before: &ReadFile) -> Option<ReadFile> {
    let digest = Digest::of(bytes);
    if digest == before.digest {
        return None;
    }
    let mut file = ReadFile { digest, ..ReadFile::default() };
    let name: Arc<str> = path.into();
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => {
            let line = bytes[..error.valid_up_to()].iter().filter(|byte| **byte == b'\n').count() + 1;
            let place = SourceLocation { file: name, line: u32::try_from(line).unwrap_or(u32::MAX), written: None };
            file.findings.push(finding(&place, None, Problem::undecodable("it is not UTF-8 text")));
            file.held.clone_from(&before.held);
            return Some(file);
        }
    };
    let documents = split(text);
    let decoded = documents.par_iter().map(|document| {
        let digest = Digest::of(document.text.as_bytes());
        let known = before.documents.binary_search_by_key(&digest, |(digest, _)| *digest);
        let known = known.ok().map(|index| Arc::clone(&before.documents[index].1));
        (digest, known.unwrap_or_else(|| Arc::new(decode(document, purpose))))
    });
    let mut decoded: Vec<(Digest, Arc<Decoded>)> = decoded.collect();
    let mut anything_may_be_broken = false;
    for (document, (_, decoded)) in documents.iter().zip(&decoded) {
        file.skipped += decoded.skipped;
        for entry in &decoded.entries {
            let place = SourceLocation {
                file: Arc::clone(&name),
                line: document.line.saturating_add(entry.line),
                written: None,
            };
            anything_may_be_broken |= entry.id.is_none();
            file.add(entry, place);
        }
    }
    decoded.sort_unstable_by_key(|(digest, _)| *digest);
    file.documents = decoded.into();
    file.keep(&before.held, anything_may_be_broken);
    file.held.shrink_to_fit();
    Some(file)
}

impl ReadFile {
    /// Records when the file was written.
    pub fn date(&mut self, written: i64) {
        self.held.iter_mut().for_each(|held| held.place.written = Some(written));
    }

    fn add(&mut self, entry: &Entry, place: SourceLocation) {
        let found = entry.problems.iter().map(|problem| finding(&place, entry.id.as_ref(), problem.clone()));
        self.findings.extend(found);
        let Some(id) = entry.id.as_ref().map(Arc::clone) else { return };
        match &entry.object {
            Some((version, object)) => {
                self.held.push(Held { id, version: version.clone(), object: object.clone(), place });
            }
            None => self.left_out.push(LeftOut { id, place: Some(place), uid: None }),
        }
    }

    /// Keeps earlier objects, because stale data is better than none: those that are broken now,
    /// or all when it is unknown which are broken.
    fn keep(&mut self, before: &[Held], everything: bool) {
        let broken = |id: &ObjectId| self.left_out.iter().any(|left_out| *left_out.id == *id);
        if self.left_out.is_empty() && !everything {
            return;
        }
        let present: std::collections::BTreeSet<_> = self.held.iter().map(|held| Arc::clone(&held.id)).collect();
        let stale = before.iter().filter(|held| !present.contains(&held.id) && (everything || broken(&held.id)));
        let stale: Vec<_> = stale.cloned().collect();
        self.held.extend(stale);
    }
}

fn finding(place: &SourceLocation, id: Option<&Arc<ObjectId>>, problem: Problem) -> Finding {
    let Problem { reason, field, note } = problem;
    match (id, reason, &field) {
        // Without an object there is only a line to point at.
        (None, ..) | (_, Reason::Undecodable, Field::Object) => {
            let origin =
                Origin { object: Arc::new(ObjectId::new(Kind::File, "", &place.file)), field: Field::Line(place.line) };
            let note = id.map_or(note.clone(), |id| format!("{id}: {note}"));
            Finding::new(reason, origin, note)
        }
        (Some(id), ..) => Finding::new(reason, Origin::field(id, field), note),
    }
}
