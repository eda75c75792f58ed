//! Which objects are worth keeping for the next start, and for which of them that may be new.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use super::Product;
use ingressd_model::{ObjectId, ObjectState, RefusedVersion, differences};
use ingressd_nginx::render::{File, FilePath, FileSet};
use ingressd_objects::Snapshot;

/// What files are made of, as of the last attempt. Versions are good when the files are.
#[derive(Debug, Default)]
pub(super) struct Worth {
    good: Snapshot,
    files: Arc<FileSet>,
    /// In how many files each object owns lines.
    owners: HashMap<Arc<ObjectId>, usize>,
    states: Vec<Arc<ObjectState>>,
    refused: Vec<RefusedVersion>,
    /// The objects that may differ from what is on disk, and those that are being written.
    fresh: BTreeSet<Arc<ObjectId>>,
    sent: BTreeSet<Arc<ObjectId>>,
}

impl Worth {
    /// Goes on to other files: only what differs is looked at.
    pub(super) fn follow(&mut self, good: Snapshot, product: &Product) {
        let mut touched = good.changed(&self.good, |row| row.lasts);
        let by_state = ObjectState::differences(&self.states, &product.states);
        touched.extend(by_state.map(|either| Arc::clone(&either.reduce(|_, state| state).id)));
        let refused = self.refused.iter().chain(&product.refused);
        touched.extend(refused.map(|refused| Arc::clone(&refused.id)));
        self.follow_files(&product.files, &mut touched);
        self.fresh.append(&mut touched);
        (self.good, self.states, self.refused) = (good, product.states.clone(), product.refused.clone());
    }

    fn follow_files(&mut self, files: &Arc<FileSet>, touched: &mut BTreeSet<Arc<ObjectId>>) {
        type Entry<'a> = (&'a FilePath, &'a Arc<File>);
        let is_same = |(_, one): Entry<'_>, (_, other): Entry<'_>| Arc::ptr_eq(one, other);
        let order = |(one, _): Entry<'_>, (other, _): Entry<'_>| one.cmp(other);
        let mut gone = Vec::new();
        for either in differences(&self.files.files, &files.files, is_same, order) {
            let (before, now) = either.left_and_right();
            gone.extend(before.into_iter().flat_map(|(_, file)| file.owners.objects()));
            for id in now.into_iter().flat_map(|(_, file)| file.owners.objects()) {
                let count = self.owners.entry(id).or_insert_with_key(|id| {
                    touched.insert(Arc::clone(id));
                    0
                });
                *count += 1;
            }
        }
        for id in gone {
            let left = self.owners.get_mut(&id).map(|count| {
                *count -= 1;
                *count
            });
            if left == Some(0) {
                self.owners.remove(&id);
                touched.insert(id);
            }
        }
        self.files = Arc::clone(files);
    }

    /// Whether the version of this object is good when the files are, or it is one by which others
    /// are read.
    fn has(&self, id: &ObjectId) -> bool {
        let is_accepted = || ObjectState::find(&self.states, id).is_some_and(|state| state.working.is_some());
        let is_read_by = self.good.list(id.kind).is_some_and(|(row, _)| row.lasts && !row.is_put_back);
        !self.refused.iter().any(|refused| *refused.id == *id)
            && (is_read_by || self.owners.contains_key(id) || is_accepted())
    }

    /// The good versions.
    pub(super) fn good(&self) -> &Snapshot {
        &self.good
    }

    /// The objects of which the good version may not be on disk.
    pub(super) fn unwritten(&self) -> impl Iterator<Item = &Arc<ObjectId>> {
        self.sent.union(&self.fresh).filter(|id| self.has(id))
    }

    /// The objects that may differ from what is on disk, with whether they are to be there. Until
    /// they [are](Worth::written) they count as unwritten.
    pub(super) fn send(&mut self) -> BTreeMap<Arc<ObjectId>, bool> {
        let fresh = std::mem::take(&mut self.fresh);
        self.sent.extend(fresh.iter().cloned());
        fresh.into_iter().map(|id| (Arc::clone(&id), self.has(&id))).collect()
    }

    /// Records that all that was sent is on disk.
    pub(super) fn written(&mut self) {
        self.sent.clear();
    }
}
