//! The search for the namespace whose changes are too much for nginx as a whole, and the queue of
//! namespaces that come last.

use std::cmp::Reverse;
use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use super::searches::Searches;
use super::trial::{Suspect, Trial, Verdict};
use super::{Cycle, Stages};
use crate::daemon::objects;
use crate::daemon::quarantine::Proof;
use ingressd_apply::Complaint;
use ingressd_model::ObjectId;
use ingressd_nginx::render::FileSet;
use ingressd_objects::Snapshot;

/// The most attempts of one such search.
const MOST_WEIGHINGS: usize = 24;

/// How long a namespace waits at least when it could not be let back in.
const SHORTEST_REST: Duration = Duration::from_secs(5);

/// After so many kills in a row the number of namespaces that are blamed for one kill does not
/// grow any more.
const MOST_KILLS: u32 = 16;

impl Cycle {
    /// Decides what the next attempt leaves out, after one that was too much for nginx, with this
    /// message. Returns false when no object can be blamed, because nginx does not take what it
    /// ran before either, or nothing changed.
    pub(super) fn weigh(
        &mut self,
        words: &str,
        snapshot: &Snapshot,
        (served, files): (&Snapshot, &FileSet),
        searches: &mut Searches,
        stages: &mut impl Stages,
    ) -> bool {
        searches.weighings += 1;
        let Some(mut trial) = searches.weighing.take() else {
            let suspects = self.heaviest_first(served, files);
            if searches.weighings > MOST_WEIGHINGS || suspects.is_empty() || !stages.begin_weighing() {
                return false;
            }
            // Other searches begin again when nginx repeats its complaints.
            searches.trials.clear();
            let complaint = Complaint { words: words.to_owned(), ..Complaint::default() };
            searches.weighing = Some(Trial::by_namespace(&complaint, suspects));
            return true;
        };
        match trial.complaint_stays() {
            Verdict::Nobody => return false,
            Verdict::Guilty => self.convict_heavy(&trial, snapshot),
            Verdict::Continue if searches.weighings < MOST_WEIGHINGS => searches.weighing = Some(trial),
            Verdict::Continue => {
                trial.give_up();
                self.convict_heavy(&trial, snapshot);
            }
        }
        true
    }

    /// Continues after an attempt that was not too much.
    pub(super) fn weigh_less(&mut self, snapshot: &Snapshot, searches: &mut Searches) {
        let Some(mut trial) = searches.weighing.take() else { return };
        searches.weighings += 1;
        match trial.complaint_is_gone() {
            Verdict::Continue if searches.weighings < MOST_WEIGHINGS => searches.weighing = Some(trial),
            Verdict::Continue => {
                trial.give_up();
                self.convict_heavy(&trial, snapshot);
            }
            Verdict::Guilty | Verdict::Nobody => self.convict_heavy(&trial, snapshot),
        }
    }

    fn convict_heavy(&mut self, trial: &Trial, snapshot: &Snapshot) {
        self.convict_all(trial, snapshot);
        let cost = self.now - self.began;
        for suspect in trial.excluded() {
            self.quarantine.prove(&suspect.id, Proof::Alone);
            self.stragglers.too_much(&suspect.id.namespace, cost, self.now);
        }
    }

    /// Handles that nginx was killed by what it did not run before. A bisection would kill it
    /// again and again, for everybody. So the heaviest namespace is left out, after another kill
    /// the next two, and so on, and none is let back in for an hour.
    pub(super) fn convict_killers(&mut self, words: &str, snapshot: &Snapshot, (served, files): (&Snapshot, &FileSet)) {
        let words = format!("{words}; other changes in its namespace wait for an hour");
        let complaint = Complaint { words, ..Complaint::default() };
        let suspects = self.heaviest_first(served, files);
        let namespaces = suspects.chunk_by(|one, other| one.id.namespace == other.id.namespace);
        for suspect in namespaces.take(1 << self.kills.min(MOST_KILLS)).flatten() {
            self.convict(&complaint, suspect, snapshot);
            self.quarantine.prove(&suspect.id, Proof::Alone);
            self.stragglers.fatal(&suspect.id.namespace, self.now);
        }
        self.kills += 1;
    }

    /// The changes that nginx did not run before: first those of the namespace with most bytes,
    /// and in it the object with most bytes.
    fn heaviest_first(&self, served: &Snapshot, files: &FileSet) -> Vec<Suspect> {
        let changed = self.changes(served, |_| true);
        let weights = files.weights();
        let weight = |id: &Arc<ObjectId>| weights.get(id).copied().unwrap_or_default();
        let mut by_namespace: HashMap<&str, usize> = HashMap::new();
        for id in &changed {
            *by_namespace.entry(&id.namespace).or_default() += weight(id);
        }
        let mut suspects = changed.clone();
        suspects.sort_by_cached_key(|id| {
            let namespace = by_namespace[&*id.namespace];
            (Reverse(namespace), Arc::clone(&id.namespace), Reverse(weight(id)), Arc::clone(id))
        });
        suspects.into_iter().map(|id| Suspect { id, left_out: false }).collect()
    }

    /// The objects in this snapshot whose versions nginx did not run before.
    fn changes(&self, served: &Snapshot, wanted: impl Fn(&ObjectId) -> bool) -> Vec<Arc<ObjectId>> {
        let store = self.store.lock().unwrap_or_else(PoisonError::into_inner);
        objects::filter(served, |id, _| wanted(id) && self.is_new(id, served, &store))
    }

    /// The changes that come after those of all others.
    pub(super) fn waiting(&self, snapshot: &Snapshot) -> Vec<Suspect> {
        if self.stragglers.is_empty() {
            return Vec::new();
        }
        let waits = |id: &ObjectId| self.stragglers.has(&id.namespace) && self.quarantine.get(id).is_none();
        self.changes(snapshot, waits).into_iter().map(|id| Suspect { id, left_out: false }).collect()
    }

    /// Begins to count attempts and refusals.
    pub(super) fn begin_to_count(&mut self) {
        self.began = self.now;
        self.refused.clear();
    }

    /// Charges each namespace with refused versions for its share of the time that it took to find
    /// them. Returns whether changes of one more namespace come last from now on.
    pub(super) fn charge(&mut self) -> bool {
        let all: u32 = self.refused.values().sum();
        if all == 0 {
            return false;
        }
        let cost = self.now - self.began;
        let mut is_more = false;
        for (namespace, count) in &self.refused {
            let out = self.quarantine.entries().filter(|(id, _)| id.namespace == *namespace).count();
            let (share, out) = (cost * *count / all, u32::try_from(out).unwrap_or(u32::MAX));
            is_more |= self.stragglers.refused(namespace, *count, share, out, self.now);
        }
        self.begin_to_count();
        is_more
    }

    /// Called when all others are served: lets the waiting namespaces in that have waited long
    /// enough. Returns false when there are none.
    pub(super) fn let_in(&mut self, searches: &mut Searches, stages: &mut impl Stages) -> bool {
        let has_rested = |suspect: &Suspect| self.stragglers.rests(&suspect.id.namespace, self.now).is_zero();
        let (ready, waiting): (Vec<_>, Vec<_>) =
            std::mem::take(&mut searches.waiting).into_iter().partition(has_rested);
        let is_heavy = ready.iter().any(|suspect| self.stragglers.is_heavy(&suspect.id.namespace));
        if ready.is_empty() || is_heavy && !stages.begin_weighing() {
            searches.waiting = [waiting, ready].concat();
            return false;
        }
        searches.waiting = waiting;
        true
    }

    /// The time until a waiting namespace has to be let in.
    pub(super) fn rests(&self, waiting: &[Suspect]) -> Option<Duration> {
        let namespaces: BTreeSet<_> = waiting.iter().map(|suspect| &suspect.id.namespace).collect();
        let rests = namespaces.into_iter().map(|namespace| self.stragglers.rests(namespace, self.now));
        // A namespace that has waited long enough and still waits needs an nginx that works again,
        // which is not tested all the time.
        rests.min().map(|rest| if rest.is_zero() { SHORTEST_REST } else { rest })
    }
}
