//! Combines what several files contain into one snapshot.

use std::sync::Arc;

use super::file::{Held, ReadFile};
use super::kind::Kinds;
use super::{Kept, Snapshot, Stored};
use ingressd_model::Origin;
use ingressd_model::finding::{Finding, Reason};

/// Collects the objects and findings of these files. The first file that describes an object
/// counts. Files that may be about to be replaced count for objects that no other one describes.
pub fn collect<'files>(
    files: impl Iterator<Item = &'files ReadFile>,
    missing: impl Iterator<Item = &'files ReadFile>,
    findings: Vec<Finding>,
    kinds: &Kinds,
) -> Snapshot {
    let mut snapshot = Snapshot { findings, ..Snapshot::default() };
    let mut objects: Vec<(Held<'_>, bool)> = Vec::new();
    for file in files {
        snapshot.findings.extend(file.findings.iter().cloned());
        snapshot.left_out.extend(file.left_out.iter().cloned());
        objects.extend(file.held().map(|held| (held, true)));
    }
    objects.extend(missing.flat_map(ReadFile::held).map(|held| (held, false)));
    // Ordered by kind, namespace and name, so that each object comes last in its list; of those
    // that are described more than once the first stays first.
    objects.sort_by(|(one, _), (other, _)| one.id.cmp(other.id));
    for described in objects.chunk_by(|(one, _), (other, _)| one.id == other.id) {
        let Some(((first, _), others)) = described.split_first() else { continue };
        for (held, _) in others.iter().filter(|(_, counts)| *counts) {
            let (again, first) = (held.place(), first.place());
            let note = format!("{again} describes it again; {first} is used. Remove one of them.");
            snapshot.findings.push(Finding::new(Reason::DuplicateObject, Origin::object(held.id), note));
        }
        if let Some(row) = kinds.of(first.id.kind) {
            row.edit(&mut snapshot).put(stored(first));
        }
    }
    // They stay in memory as long as nothing changes.
    kinds.iter().for_each(|row| row.edit(&mut snapshot).shrink());
    snapshot.findings.sort();
    snapshot.left_out.sort();
    snapshot.left_out.dedup_by(|later, first| later.id == first.id);
    snapshot
}

fn stored(held: &Held<'_>) -> Stored<dyn Kept> {
    let (id, version, place) = (Arc::clone(held.id), held.version.clone(), Some(held.place()));
    Stored { id, version, object: Arc::clone(held.object), published: None, place }
}
