//! Proves that nginx refuses a version in doubt before it stays in quarantine. It must not know
//! how nginx is asked.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, PoisonError};
use std::time::Instant;

use super::bisection::Candidate;
use super::searches::Searches;
use super::substitution::Exclusion;
use super::{Cycle, Stages};
use crate::daemon::objects;
use crate::daemon::quarantine::Proof;
use ingressd_apply::Complaint;
use ingressd_model::ObjectId;
use ingressd_objects::{Snapshot, Version};

/// The most objects of which one cycle seeks the proof one by one.
const MOST: usize = 4;

/// The most tests of all candidates together in one cycle.
const MOST_OF_ALL: usize = 8;

/// How often one version is released, in case nginx takes it in a test and not in earnest.
const MOST_RELEASES: u32 = 3;

/// How often versions were released from quarantine because nothing proved their fault.
pub(super) type Releases = BTreeMap<Arc<ObjectId>, (Version, u32)>;

/// When nginx was last asked about versions in quarantine.
pub(super) type Asked = BTreeMap<Arc<ObjectId>, Instant>;

/// What the tests say of a version in doubt.
enum ProofResult {
    Cleared,
    Found(Proof),
    /// It clashes with this younger object, which came with the same change.
    Younger(Arc<ObjectId>, Complaint),
}

/// What is not served in a test.
type Excluded = BTreeMap<Arc<ObjectId>, Exclusion>;

impl Cycle {
    /// Seeks the proof for each version in doubt, the oldest object first, and releases those
    /// that nginx accepts beside what is in force. After a change it also looks again at those
    /// that it refused together with others only, at once or when their namespaces have rested. A
    /// namespace pays for the tests of those of its versions that are to blame. Returns whether
    /// another cycle has to follow.
    pub(super) fn prove(&mut self, snapshot: &Snapshot, has_changed: bool, stages: &mut impl Stages) -> bool {
        self.now = stages.now();
        if has_changed {
            self.outdate(snapshot);
        }
        if !self.prove_together(snapshot, stages) {
            return true;
        }
        let mut candidates = self.unproven(|proof| matches!(proof, Proof::Missing | Proof::Outdated));
        candidates.sort_by_cached_key(|id| age(snapshot, id));
        let mut goes_on = candidates.len() > MOST;
        for id in candidates.into_iter().take(MOST) {
            let began = stages.now();
            let verdict = self.verdict(&id, snapshot, stages);
            self.now = stages.now();
            self.asked.insert(Arc::clone(&id), self.now);
            match verdict {
                None => return false,
                Some(ProofResult::Found(proof)) => {
                    self.stragglers.asked(&id.namespace, self.now - began, self.now);
                    self.quarantine.prove(&[id], proof);
                }
                Some(ProofResult::Cleared) => {
                    self.release(&id);
                    goes_on = true;
                }
                Some(ProofResult::Younger(other, complaint)) => {
                    self.release(&id);
                    self.quarantine_one(&complaint, &Candidate { id: Arc::clone(&other), left_out: false }, snapshot);
                    self.quarantine.prove(&[other], Proof::Together);
                    goes_on = true;
                }
            }
            self.quarantine.save();
        }
        goes_on
    }

    /// Marks some of those that nginx refused together with others, as a change may have taken
    /// these away: those for which it was not asked for longest. Of resting namespaces some others
    /// are marked, for which it is asked when they have rested.
    fn outdate(&mut self, snapshot: &Snapshot) {
        self.asked.retain(|id, _| self.quarantine.get(id).is_some());
        let is_refused_together = |proof| matches!(proof, Proof::Together | Proof::Outdated);
        let refused = self.quarantine.entries().filter(|(_, entry)| is_refused_together(entry.proof));
        let mut refused: Vec<_> = refused
            .map(|(id, entry)| (entry.proof == Proof::Together, self.asked.get(id), age(snapshot, id), id))
            .collect();
        refused.sort();
        let (rested, resting): (Vec<_>, Vec<_>) =
            refused.into_iter().map(|(.., id)| Arc::clone(id)).partition(|id| self.has_rested(id));
        let some: Vec<_> = rested.into_iter().take(MOST).chain(resting.into_iter().take(MOST)).collect();
        self.quarantine.prove(&some, Proof::Outdated);
    }

    fn has_rested(&self, id: &ObjectId) -> bool {
        self.stragglers.rests(&id.namespace, self.now).is_zero()
    }

    /// Tests the objects in doubt that ask for routes without all others: nginx names many of
    /// them at once. That is free for their namespaces: to find each mistake once causes no
    /// waiting, and who is not named may be cleared later. Returns false when more such tests may
    /// name more.
    fn prove_together(&mut self, snapshot: &Snapshot, stages: &mut impl Stages) -> bool {
        for _ in 0..MOST_OF_ALL {
            let mut candidates = self.unproven(|proof| proof == Proof::Missing);
            candidates.retain(|id| id.kind.asks_for_routes());
            let named = self.refused_without_others(&candidates, snapshot, stages).unwrap_or_default();
            self.now = stages.now();
            let named = named.into_iter().filter_map(|complaint| Some(complaint.origin?.object));
            let named: Vec<_> = named.filter(|id| candidates.contains(id)).collect();
            if named.is_empty() {
                return true;
            }
            self.quarantine.prove(&named, Proof::Alone);
            self.quarantine.save();
        }
        false
    }

    fn unproven(&self, is_open: impl Fn(Proof) -> bool) -> Vec<Arc<ObjectId>> {
        let open = self.quarantine.entries().filter(|(id, entry)| is_open(entry.proof) && self.has_rested(id));
        open.map(|(id, _)| Arc::clone(id)).collect()
    }

    /// Whether the layer of settings from the cluster is what nginx refuses: without its change
    /// it accepts all others.
    pub(super) fn blames_layer(
        &mut self,
        complaints: &[Complaint],
        snapshot: &Snapshot,
        stages: &mut impl Stages,
    ) -> bool {
        let Some(id) = stages.layer().filter(|id| self.quarantine.get(id).is_none()) else { return false };
        if !self.changed(snapshot).contains(&id) {
            return false;
        }
        let mut excluded = self.excluded(snapshot, &Searches::default());
        self.exclude(&id, false, snapshot, &mut excluded);
        let is_accepted = self.try_without(&excluded, snapshot, stages).is_some_and(|found| found.is_empty());
        if let (true, Some(complaint)) = (is_accepted, complaints.first()) {
            self.quarantine_one(complaint, &Candidate { id: Arc::clone(&id), left_out: false }, snapshot);
            self.quarantine.prove(&[id], Proof::Alone);
        }
        is_accepted
    }

    /// `None` where nginx cannot be asked now.
    fn verdict(&self, id: &Arc<ObjectId>, snapshot: &Snapshot, stages: &mut impl Stages) -> Option<ProofResult> {
        let entry = self.quarantine.get(id)?;
        let is_missing = entry.proof == Proof::Missing;
        let asks = id.kind.asks_for_routes();
        if asks && is_missing && !self.refused_without_others(std::slice::from_ref(id), snapshot, stages)?.is_empty() {
            return Some(ProofResult::Found(Proof::Alone));
        }
        let mut excluded = self.excluded(snapshot, &Searches::default());
        excluded.remove(id);
        if self.try_without(&excluded, snapshot, stages)?.is_empty() {
            return Some(ProofResult::Cleared);
        }
        // What asks for no routes has no effect without what does.
        if !asks {
            return Some(ProofResult::Found(Proof::Alone));
        }
        let younger = if is_missing { self.younger(id, &excluded, snapshot, stages)? } else { None };
        Some(
            younger.map_or(ProofResult::Found(Proof::Together), |(other, complaint)| {
                ProofResult::Younger(other, complaint)
            }),
        )
    }

    /// What nginx says of these objects without all others that ask for routes.
    fn refused_without_others(
        &self,
        ids: &[Arc<ObjectId>],
        snapshot: &Snapshot,
        stages: &mut impl Stages,
    ) -> Option<Vec<Complaint>> {
        if ids.is_empty() {
            return Some(Vec::new());
        }
        let ids: BTreeSet<_> = ids.iter().collect();
        let mut excluded = self.excluded(snapshot, &Searches::default());
        let asking = snapshot.lists().filter(|(row, _)| row.kind.asks_for_routes());
        for other in asking.flat_map(|(_, list)| list.entries()) {
            match ids.contains(other.id) {
                true => drop(excluded.remove(other.id)),
                false => self.exclude(other.id, true, snapshot, &mut excluded),
            }
        }
        self.try_without(&excluded, snapshot, stages)
    }

    /// The younger object that asks for routes, changed with this one and is refused by nginx
    /// beside it and what ran before.
    fn younger(
        &self,
        id: &Arc<ObjectId>,
        excluded: &Excluded,
        snapshot: &Snapshot,
        stages: &mut impl Stages,
    ) -> Option<Option<(Arc<ObjectId>, Complaint)>> {
        let mut changed = self.changed(snapshot);
        changed.retain(|other| other != id && !excluded.contains_key(other));
        let mut younger = changed.clone();
        younger.retain(|other| other.kind.asks_for_routes() && age(snapshot, other) > age(snapshot, id));
        younger.sort_by_cached_key(|other| age(snapshot, other));
        let mut refusal = |count: usize| {
            let mut without = excluded.clone();
            for other in changed.iter().filter(|other| !younger[..count].contains(other)) {
                self.exclude(other, false, snapshot, &mut without);
            }
            self.try_without(&without, snapshot, stages)
        };
        // It is refused beside what ran before, or only with an elder one.
        let mut last = match younger.len() {
            0 => return Some(None),
            all if refusal(0)?.is_empty() => refusal(all)?,
            _ => return Some(None),
        };
        if last.is_empty() {
            return Some(None);
        }
        let (mut accepted, mut refused) = (0, younger.len());
        while refused - accepted > 1 {
            let middle = accepted.midpoint(refused);
            let found = refusal(middle)?;
            match found.is_empty() {
                true => accepted = middle,
                false => (refused, last) = (middle, found),
            }
        }
        let other = younger.swap_remove(refused - 1);
        Some(last.into_iter().next().map(|complaint| (other, complaint)))
    }

    /// The objects of the snapshot whose versions nginx did not run before.
    fn changed(&self, snapshot: &Snapshot) -> Vec<Arc<ObjectId>> {
        let store = self.store.lock().unwrap_or_else(PoisonError::into_inner);
        objects::filter(snapshot, |id, _| self.is_new(id, snapshot, &store))
    }

    fn exclude(&self, id: &Arc<ObjectId>, left_out: bool, snapshot: &Snapshot, excluded: &mut Excluded) {
        if let Some(version) = objects::version(snapshot, id) {
            excluded.insert(Arc::clone(id), Exclusion { version: version.clone(), left_out });
        }
    }

    fn try_without(
        &self,
        excluded: &Excluded,
        snapshot: &Snapshot,
        stages: &mut impl Stages,
    ) -> Option<Vec<Complaint>> {
        stages.try_out(&self.substitute(snapshot, excluded), true)
    }

    fn release(&mut self, id: &Arc<ObjectId>) {
        let Some(entry) = self.quarantine.get(id) else { return };
        let known = self.releases.remove(id).filter(|(version, _)| *version == entry.version);
        let count = known.map_or(0, |(_, count)| count);
        self.releases.insert(Arc::clone(id), (entry.version.clone(), count + 1));
        self.quarantine.release(id);
    }

    /// The proof of a version that is put into quarantine now.
    pub(super) fn proof_of(&self, id: &ObjectId, version: &Version) -> Proof {
        match self.releases.get(id) {
            Some((released, count)) if released == version && *count >= MOST_RELEASES => Proof::Alone,
            _ => Proof::Missing,
        }
    }
}

/// What orders objects: those that ask for no routes first, and of the others the elder.
fn age(snapshot: &Snapshot, id: &Arc<ObjectId>) -> impl Ord + use<> {
    let asking = id.kind.asks_for_routes().then(|| snapshot.entry(id)).flatten();
    let created = asking.map(|entry| entry.object.created().map_or((true, None), |time| (false, Some(time))));
    (created, Arc::clone(id))
}
