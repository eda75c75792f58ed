//! Puts last good versions in the place of refused ones.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::{Arc, PoisonError};

use super::searches::Searches;
use super::{Cycle, Product, Stages};
use crate::daemon::objects;
use ingressd_model::finding::Finding;
use ingressd_model::{Kind, ObjectId, RefusedVersion};
use ingressd_objects::{LeftOut, Snapshot, Version};

/// The most translations of a snapshot in one attempt, while refused versions are replaced.
const MOST_PASSES: usize = 4;

/// A version that is not served in this attempt.
#[derive(Debug, Clone)]
pub(super) struct Exclusion {
    pub(super) version: Version,
    pub(super) left_out: bool,
}

impl Cycle {
    /// The snapshot as it would be translated, with earlier versions in the place of those in
    /// quarantine.
    pub fn preview<'a>(&self, snapshot: &'a Snapshot) -> Cow<'a, Snapshot> {
        let excluded = self.excluded(snapshot, &Searches::default());
        match self.complete(snapshot) {
            Cow::Borrowed(snapshot) => self.substitute(snapshot, &excluded),
            Cow::Owned(completed) => Cow::Owned(self.substitute(&completed, &excluded).into_owned()),
        }
    }

    /// Adds the last good versions of objects that the source could not decode since its start.
    pub(super) fn complete<'a>(&self, snapshot: &'a Snapshot) -> Cow<'a, Snapshot> {
        let mut completed = Cow::Borrowed(snapshot);
        let missing = snapshot.left_out.iter().filter(|left_out| objects::version(snapshot, &left_out.id).is_none());
        for LeftOut { id, .. } in missing {
            let store = self.store.lock().unwrap_or_else(PoisonError::into_inner);
            // There is no refused version from which the earlier one would have to differ.
            objects::put_back(completed.to_mut(), id, &self.confirmed, Some(&Version("".into())), &*store);
            let needed = self.needed(&completed, id);
            objects::put_back_needed(completed.to_mut(), &needed, &self.confirmed, |_| false, &*store);
        }
        completed
    }

    /// Makes files from the snapshot without excluded versions. Versions that the translation
    /// refuses are excluded in turn. Also returns the Secrets and ConfigMaps that served versions
    /// need which are not the newest.
    pub(super) fn make<'a>(
        &self,
        snapshot: &'a Snapshot,
        stages: &mut impl Stages,
        searches: &Searches,
    ) -> (Cow<'a, Snapshot>, Product, BTreeSet<ObjectId>) {
        let mut excluded = self.excluded(snapshot, searches);
        let (mut about_refused, mut replaced) = (Vec::<Finding>::new(), BTreeMap::new());
        for pass in 1.. {
            let served = self.substitute(snapshot, &excluded);
            let mut product = stages.make(&served);
            let before = excluded.len();
            for RefusedVersion { id, version, why } in product.refused.iter().filter(|_| pass < MOST_PASSES) {
                // Without an earlier version it stays in the snapshot: the translation leaves it
                // out itself, with a finding.
                if excluded.contains_key(id) || !self.has_earlier(id, version) {
                    continue;
                }
                excluded.insert(Arc::clone(id), Exclusion { version: version.clone(), left_out: false });
                replaced.insert(Arc::clone(id), *why);
            }
            if excluded.len() == before {
                // Findings about the version that took the place of a refused one would hide what
                // is wrong with the refused one.
                let places: HashSet<_> = about_refused.iter().map(|finding| &finding.origin).collect();
                let is_layer = |id: &Arc<ObjectId>| id.kind == Kind::CONFIG_MAP && excluded.contains_key(id);
                product
                    .findings
                    .retain(|finding| !places.contains(&finding.origin) && !is_layer(&finding.origin.object));
                product.findings.append(&mut about_refused);
                product.replaced = replaced;
                let not_newest = excluded.keys().chain(snapshot.left_out.iter().map(|left_out| &left_out.id));
                let held = not_newest.flat_map(|id| self.needed(&served, id)).collect();
                return (served, product, held);
            }
            // The fault of a refused version may be reported at the object that refers to it, for
            // example at the Ingress that names a Secret: all findings of that translation count.
            // Routes that a ConfigMap would have closed are open with its last good version.
            let layers = product
                .refused
                .iter()
                .any(|RefusedVersion { id, .. }| id.kind == Kind::CONFIG_MAP && excluded.contains_key(id));
            product.findings.retain(|finding| !layers || finding.origin.object.kind == Kind::CONFIG_MAP);
            about_refused.append(&mut product.findings);
        }
        unreachable!("the last pass excludes nothing")
    }

    pub(super) fn excluded(&self, snapshot: &Snapshot, searches: &Searches) -> BTreeMap<Arc<ObjectId>, Exclusion> {
        let entries = self.quarantine.entries();
        let entries = entries.map(|(id, entry)| {
            (Arc::clone(id), Exclusion { version: entry.version.clone(), left_out: entry.left_out })
        });
        let mut excluded: BTreeMap<_, _> = entries.collect();
        for candidate in searches.excluded() {
            if let Some(version) = objects::version(snapshot, &candidate.id) {
                let exclusion = Exclusion { version: version.clone(), left_out: candidate.left_out };
                excluded.insert(Arc::clone(&candidate.id), exclusion);
            }
        }
        excluded
    }

    pub(super) fn substitute<'a>(
        &self,
        snapshot: &'a Snapshot,
        excluded: &BTreeMap<Arc<ObjectId>, Exclusion>,
    ) -> Cow<'a, Snapshot> {
        let mut served = Cow::Borrowed(snapshot);
        for (id, exclusion) in excluded {
            let store = self.store.lock().unwrap_or_else(PoisonError::into_inner);
            let not = (!exclusion.left_out).then_some(&exclusion.version);
            if objects::put_back(served.to_mut(), id, &self.confirmed, not, &*store).is_none() {
                objects::withhold(served.to_mut(), id, snapshot);
            }
        }
        for id in excluded.keys() {
            let store = self.store.lock().unwrap_or_else(PoisonError::into_inner);
            let refuses = |secret: &ObjectId| excluded.contains_key(secret);
            let needed = self.needed(&served, id);
            objects::put_back_needed(served.to_mut(), &needed, &self.confirmed, refuses, &*store);
        }
        served
    }

    /// The Secrets and ConfigMaps that an object in the snapshot needs.
    pub(super) fn needed(&self, snapshot: &Snapshot, id: &ObjectId) -> BTreeSet<ObjectId> {
        snapshot.entry(id).map(|entry| self.needs.of(entry)).unwrap_or_default()
    }

    pub(super) fn has_earlier(&self, id: &ObjectId, version: &Version) -> bool {
        let store = self.store.lock().unwrap_or_else(PoisonError::into_inner);
        objects::put_back(&mut Snapshot::default(), id, &self.confirmed, Some(version), &*store).is_some()
    }
}
