//! Decides what follows from nginx's complaints: which objects go into quarantine, and which
//! search begins.

use std::collections::BTreeSet;
use std::sync::{Arc, PoisonError};

use super::Cycle;
use super::bisection::{Candidate, ComplaintSearch, Progress};
use super::weighing::list;
use crate::daemon::last_good::LastGood;
use crate::daemon::objects;
use crate::daemon::quarantine::Entry;
use ingressd_apply::Complaint;
use ingressd_model::{Field, ObjectId, ObjectState};
use ingressd_objects::Snapshot;

/// The input of an attempt that nginx complained about.
pub(super) struct Attempt<'a> {
    /// The state of the cluster.
    pub(super) snapshot: &'a Snapshot,
    /// The snapshot that the files were made of.
    pub(super) served: &'a Snapshot,
    /// The states of the objects in the files.
    pub(super) states: &'a [Arc<ObjectState>],
    /// Whether there were too many attempts to search any longer: then the candidates return to
    /// the versions that nginx ran before.
    pub(super) in_a_hurry: bool,
}

impl Attempt<'_> {
    /// The object as a candidate: the complaint may be about its earlier version, which is in its
    /// place already.
    fn candidate(&self, id: &Arc<ObjectId>) -> Candidate {
        let left_out = objects::version(self.served, id) != objects::version(self.snapshot, id);
        Candidate { id: Arc::clone(id), left_out }
    }

    /// Other objects with a host of this one: even an object without a line in the file may change
    /// what its lines mean.
    fn on_same_hosts(&self, id: &ObjectId) -> impl Iterator<Item = &Arc<ObjectId>> {
        let hosts = ObjectState::find(self.states, id).map_or(&[][..], |state| state.hosts());
        let is_shared = move |host: &Arc<str>| hosts.iter().any(|own| own.eq_ignore_ascii_case(host));
        let on_same_hosts = self.states.iter().filter(move |state| state.hosts().iter().any(&is_shared));
        on_same_hosts.map(|state| &state.id)
    }
}

impl Cycle {
    /// Decides what the next attempt leaves out. Returns false when no object can be blamed.
    pub(super) fn judge(
        &mut self,
        complaints: &[Complaint],
        attempt: &Attempt<'_>,
        searches: &mut Vec<ComplaintSearch>,
    ) -> bool {
        let mut quarantined = BTreeSet::new();
        if !self.go_on(complaints, attempt, searches, &mut quarantined) {
            return false;
        }
        let mut doubtful = Vec::new();
        for complaint in complaints {
            let (candidates, changed) = self.candidates(complaint, attempt);
            let is_tried = |id: &ObjectId| searches.iter().any(|search| search.concerns(id));
            let is_searched = searches.iter().any(|search| search.is_about_file_of(complaint));
            if is_searched || candidates.iter().any(|candidate| is_tried(&candidate.id)) {
                continue;
            }
            match &candidates[..] {
                [] => {}
                // An object may have several complaints; the version that takes its place was not
                // tested yet.
                [only] if quarantined.insert(Arc::clone(&only.id)) => {
                    self.quarantine_one(complaint, only, attempt.snapshot);
                }
                [_] => {}
                _ => doubtful.push(ComplaintSearch::new(complaint, candidates, changed)),
            }
        }
        for search in doubtful {
            // Without the objects that were just blamed the complaint may be gone, and two
            // searches of the same objects would mislead each other.
            let is_tried = |id| searches.iter().any(|other| other.concerns(id));
            let is_settled = search
                .bisection
                .everybody()
                .any(|candidate| quarantined.contains(&candidate.id) || is_tried(&candidate.id));
            match is_settled {
                true => {}
                false if attempt.in_a_hurry => self.give_up(search, attempt, &mut quarantined),
                false => {
                    let candidates: Vec<_> = search.bisection.everybody().map(|candidate| &candidate.id).collect();
                    let (words, candidates) = (&search.complaint.words, list(candidates));
                    tracing::warn!(
                        "nginx refuses a file of several objects: {words}; ingressd searches among {candidates}"
                    );
                    searches.push(search);
                }
            }
        }
        !quarantined.is_empty() || !searches.is_empty()
    }

    /// Continues the running searches. Returns false when no object can be blamed.
    fn go_on(
        &mut self,
        complaints: &[Complaint],
        attempt: &Attempt<'_>,
        searches: &mut Vec<ComplaintSearch>,
        quarantined: &mut BTreeSet<Arc<ObjectId>>,
    ) -> bool {
        for mut search in std::mem::take(searches) {
            let stays = complaints.iter().any(|complaint| search.is_about(complaint));
            match search.bisection.go_on(stays) {
                Progress::Continue if attempt.in_a_hurry => self.give_up(search, attempt, quarantined),
                Progress::Continue => searches.push(search),
                Progress::Found => {
                    self.quarantine_all(&search, attempt.snapshot);
                    quarantined.extend(search.bisection.excluded().map(|candidate| Arc::clone(&candidate.id)));
                }
                Progress::Nobody => match search.again_without_substitutes() {
                    Some(again) => searches.push(again),
                    None => {
                        tracing::warn!("the search ends: nobody is to blame");
                        return false;
                    }
                },
            }
        }
        true
    }

    /// Ends a search that would take too long.
    fn give_up(
        &mut self,
        mut search: ComplaintSearch,
        attempt: &Attempt<'_>,
        quarantined: &mut BTreeSet<Arc<ObjectId>>,
    ) {
        search.bisection.give_up();
        self.quarantine_all(&search, attempt.snapshot);
        quarantined.extend(search.bisection.excluded().map(|candidate| Arc::clone(&candidate.id)));
    }

    /// The objects that may have caused a complaint and can still be taken out. Those whose
    /// version nginx did not run before come first, and are counted.
    fn candidates(&self, complaint: &Complaint, attempt: &Attempt<'_>) -> (Vec<Candidate>, usize) {
        let can_be_taken_out = |id: &Arc<ObjectId>| {
            objects::version(attempt.served, id).is_some()
                && objects::version(attempt.snapshot, id).is_some()
                && !self.quarantine.get(id).is_some_and(|entry| entry.left_out)
        };
        let store = self.store.lock().unwrap_or_else(PoisonError::into_inner);
        let is_new = |id: &Arc<ObjectId>| self.is_new(id, attempt.served, &store);
        let culprit = complaint.origin.as_ref().map(|origin| &origin.object).filter(|id| can_be_taken_out(id));
        // The owner of a line is blamed for it, not the object that changed last: no object may be
        // refused for a line of another one. Only where nginx ran this very line before, changes
        // of others made it wrong, if there are any.
        if let Some(culprit) = culprit.filter(|id| is_new(id) || !complaint.ran_before) {
            return (vec![attempt.candidate(culprit)], 1);
        }
        let on_same_hosts = culprit.into_iter().flat_map(|culprit| attempt.on_same_hosts(culprit));
        let mut seen = BTreeSet::new();
        let all = complaint.candidates.iter().chain(on_same_hosts);
        let all = all.filter(|id| can_be_taken_out(id) && seen.insert(Arc::clone(id)));
        let (new, old): (Vec<_>, Vec<_>) = all.partition(|id| is_new(id));
        let old = match culprit {
            Some(culprit) => vec![culprit],
            None => old,
        };
        let candidates = new.iter().chain(&old).map(|id| attempt.candidate(id)).collect();
        (candidates, new.len())
    }

    /// Whether nginx has not run this version of the object before, as far as is known.
    pub(super) fn is_new(&self, id: &ObjectId, served: &Snapshot, store: &LastGood) -> bool {
        let Some(version) = objects::version(served, id) else { return false };
        objects::version(&self.confirmed, id) != Some(version) && !store.has(id, version)
    }

    pub(super) fn quarantine_all(&mut self, search: &ComplaintSearch, snapshot: &Snapshot) {
        tracing::warn!("the search ends: {}", list(search.bisection.excluded().map(|candidate| &candidate.id)));
        for candidate in search.bisection.excluded() {
            self.quarantine_one(&search.complaint, candidate, snapshot);
        }
    }

    pub(super) fn quarantine_one(&mut self, complaint: &Complaint, candidate: &Candidate, snapshot: &Snapshot) {
        let Candidate { id, left_out } = candidate;
        let Some(version) = objects::version(snapshot, id).cloned() else { return };
        let origin = complaint.origin.as_ref().filter(|origin| origin.object == *id);
        let field = origin.map_or(Field::Object, |origin| origin.field.clone());
        *self.refused.entry(Arc::clone(&id.namespace)).or_default() += 1;
        let words = complaint.words.clone();
        let proof = self.proof_of(id, &version);
        let entry = Entry { version, words, field, left_out: *left_out, judge: Arc::default(), proof };
        self.quarantine.put(Arc::clone(id), entry);
    }
}
