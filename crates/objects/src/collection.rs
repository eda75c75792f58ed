//! Combines what several files contain into one snapshot.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::file::{Held, ReadFile};
use super::kind::KindRow as _;
use super::{Snapshot, Stored, for_kind};
use ingressd_model::finding::{Finding, Reason};
use ingressd_model::{Kind, ObjectId, Origin};

/// Collects the objects and findings of these files. The first file that describes an object
/// counts. Files that may be about to be replaced count for objects that no other one describes.
pub fn collect<'files>(
    files: impl Iterator<Item = &'files ReadFile>,
    missing: impl Iterator<Item = &'files ReadFile>,
    findings: Vec<Finding>,
) -> Snapshot {
    let mut snapshot = Snapshot { findings, ..Snapshot::default() };
    let mut objects: BTreeMap<&ObjectId, Held<'_>> = BTreeMap::new();
    for file in files {
        snapshot.findings.extend(file.findings.iter().cloned());
        snapshot.left_out.extend(file.left_out.iter().cloned());
        for held in file.held() {
            match objects.get(&**held.id) {
                None => drop(objects.insert(held.id, held)),
                Some(first) => {
                    let (again, first) = (held.place(), first.place());
                    let note = format!("{again} describes it again; {first} is used. Remove one of them.");
                    snapshot.findings.push(Finding::new(Reason::DuplicateObject, Origin::object(held.id), note));
                }
            }
        }
    }
    for held in missing.flat_map(ReadFile::held) {
        objects.entry(held.id).or_insert(held);
    }
    // The map is ordered by kind, namespace and name, so each list comes out sorted.
    for held in objects.into_values() {
        let _: Option<()> = for_kind!(held.id.kind, K => {
            let list = K::list_mut(&mut snapshot).edit();
            list.extend(Arc::downcast(Arc::clone(held.object)).ok().map(|object| stored(held, object)));
        });
    }
    // They stay in memory as long as nothing changes.
    for kind in Kind::ALL {
        let _: Option<()> = for_kind!(kind, K => K::list_mut(&mut snapshot).edit().shrink_to_fit());
    }
    snapshot.findings.sort();
    snapshot.left_out.sort();
    snapshot.left_out.dedup_by(|later, first| later.id == first.id);
    snapshot
}

fn stored<K>(held: Held<'_>, object: Arc<K>) -> Stored<K> {
    let (id, version, place) = (Arc::clone(held.id), held.version.clone(), Some(held.place()));
    Stored { id, version, object, published: None, place }
}
