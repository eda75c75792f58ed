//! The search for what is too much for nginx as a whole, first by namespaces and then by objects
//! of one, and the queue of namespaces that come last.
//!
//! It goes on from cycle to cycle. Each cycle first serves the changes of everybody who is no
//! candidate, and then weighs at most once, so that nobody waits for a whole search.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use super::bisection::{Bisection, Candidate, Progress};
use super::searches::{Searches, Weighing};
use super::stragglers::REST;
use super::{Cycle, Stages};
use crate::daemon::objects;
use crate::daemon::quarantine::Proof;
use ingressd_apply::Complaint;
use ingressd_model::ObjectId;
use ingressd_nginx::render::FileSet;
use ingressd_objects::{Snapshot, Version};

/// The most weighings of one search, and the time that they may take together. Then it blames all
/// that are still candidates.
const MOST_WEIGHINGS: usize = 24;
const LONGEST_SEARCH: Duration = Duration::from_secs(120);

/// How long a namespace waits at least when it could not be let back in.
const SHORTEST_REST: Duration = Duration::from_secs(5);

/// After so many kills in a row the number of namespaces that are blamed for one kill does not
/// grow any more.
const MOST_KILLS: u32 = 16;

/// The searches for what is too much, kept from cycle to cycle.
#[derive(Debug, Default)]
pub(super) struct Weighings {
    of_all: Option<Search<Arc<str>>>,
    of_namespace: BTreeMap<Arc<str>, Search<Changed>>,
    /// The candidates of the last search, those with most bytes first.
    heaviest: Vec<Changed>,
}

/// A version that nginx did not run before.
type Changed = (Arc<ObjectId>, Version);

/// A search for what is too much.
#[derive(Debug)]
struct Search<T> {
    /// nginx's message.
    words: String,
    bisection: Bisection<T>,
    spent: Duration,
    weighings: usize,
}

impl<T: Clone> Search<T> {
    fn new(words: &str, candidates: Vec<T>) -> Self {
        let changed = candidates.len();
        let bisection = Bisection::new(candidates, changed);
        Search { words: words.to_owned(), bisection, spent: Duration::ZERO, weighings: 0 }
    }

    /// Continues after a weighing. Returns the culprits at its end; nobody when nginx does not
    /// even take what it ran before.
    fn weighed(&mut self, is_too_much: bool, cost: Duration) -> Option<Vec<T>> {
        self.spent += cost;
        self.weighings += 1;
        match self.bisection.go_on(is_too_much) {
            Progress::Nobody => return Some(Vec::new()),
            Progress::Continue if self.weighings < MOST_WEIGHINGS && self.spent < LONGEST_SEARCH => return None,
            Progress::Continue => self.bisection.give_up(),
            Progress::Found => {}
        }
        Some(self.bisection.excluded().cloned().collect())
    }
}

impl Cycle {
    /// Begins a search after an attempt that was too much for nginx, with this message. Returns
    /// false when no object can be blamed, because nothing changed, or nginx does not take what it
    /// ran before either.
    pub(super) fn search_the_heaviest(
        &mut self,
        words: &str,
        snapshot: &Snapshot,
        (served, files): (&Snapshot, &FileSet),
        searches: &mut Searches,
        stages: &mut impl Stages,
    ) -> bool {
        self.weighings.heaviest = self.heaviest_first(served, files);
        let heaviest = self.weighings.heaviest.iter();
        let mut namespaces: Vec<_> = heaviest.map(|(id, _)| Arc::clone(&id.namespace)).collect();
        namespaces.dedup();
        let before = self.weighings.of_all.take();
        if namespaces.is_empty() {
            return false;
        }
        // Others became too much while a search ran.
        namespaces.extend(before.iter().flat_map(|search| search.bisection.everybody()).cloned());
        let (spent, weighings) = before.map_or((Duration::ZERO, 0), |before| (before.spent, before.weighings));
        let search = Search { spent: spent + (self.now - self.began), weighings, ..Search::new(words, namespaces) };
        tracing::warn!(
            "nginx cannot take what changed: {words}; ingressd searches among the changes of {}; those of all other \
             namespaces are served meanwhile",
            list(search.bisection.everybody())
        );
        self.weighings.of_all = Some(search);
        // Other searches begin again when nginx repeats its complaints.
        searches.running.clear();
        searches.waiting = self.waiting(snapshot);
        let begins = self.let_in(searches, stages);
        if !begins {
            self.weighings.of_all = None;
            tracing::warn!("the search ends: nginx does not take what it ran before either, so nobody is blamed");
        }
        begins
    }

    /// Continues a search after the attempt that was its weighing; with nginx's message when that
    /// was too much.
    pub(super) fn weighed(
        &mut self,
        too_much: Option<&str>,
        snapshot: &Snapshot,
        (served, files): (&Snapshot, &FileSet),
        searches: &mut Searches,
    ) {
        let Some((weighing, began)) = searches.weighing.take() else { return };
        let cost = self.now - began;
        match weighing {
            Weighing::OfAll => {
                let search = self.weighings.of_all.as_mut();
                let Some(culprits) = search.and_then(|search| search.weighed(too_much.is_some(), cost)) else { return };
                let Some(Search { words, spent, weighings, .. }) = self.weighings.of_all.take() else { return };
                tracing::warn!(
                    "the search ends after {} s of weighing: too much are the changes of {}",
                    spent.as_secs_f32(),
                    list(&culprits)
                );
                let share = spent / u32::try_from(culprits.len()).unwrap_or(u32::MAX).max(1);
                for namespace in &culprits {
                    // After a longer search, what nginx takes may have changed meanwhile: then its
                    // changes are weighed once more.
                    match weighings {
                        1 => self.blame(namespace, &words, share, snapshot),
                        _ => self.stragglers.too_much(namespace, share * REST, self.now),
                    }
                }
            }
            Weighing::Of(namespace) => match self.weighings.of_namespace.get_mut(&namespace) {
                None => {
                    let Some(words) = too_much else { return };
                    self.weighings.heaviest = self.heaviest_first(served, files);
                    self.blame(&namespace, words, cost, snapshot);
                }
                Some(search) => {
                    let Some(culprits) = search.weighed(too_much.is_some(), cost) else {
                        return self.stragglers.too_much(&namespace, cost, self.now);
                    };
                    let Some(Search { words, spent, .. }) = self.weighings.of_namespace.remove(&namespace) else {
                        return;
                    };
                    self.stragglers.too_much(&namespace, spent * REST, self.now);
                    let culprits: Vec<_> = culprits.into_iter().map(|(id, _)| id).collect();
                    self.quarantine_heavy(&words, &culprits, snapshot);
                }
            },
        }
    }

    /// Lets the changes of a namespace that are too much wait, and searches among them, if they
    /// are still those that were too much.
    fn blame(&mut self, namespace: &Arc<str>, words: &str, cost: Duration, snapshot: &Snapshot) {
        self.stragglers.too_much(namespace, cost * REST, self.now);
        let waits = |id: &ObjectId| id.namespace == *namespace && self.quarantine.get(id).is_none();
        let now: BTreeSet<_> = self.changes(snapshot, waits).into_iter().collect();
        let heaviest = self.weighings.heaviest.iter();
        let candidates: Vec<_> = heaviest.filter(|changed| now.contains(*changed)).cloned().collect();
        if candidates.len() < now.len() {
            return;
        }
        match &candidates[..] {
            [] => {}
            [(only, _)] => self.quarantine_heavy(words, &[Arc::clone(only)], snapshot),
            _ => {
                tracing::warn!("ingressd searches among {} changed objects of {namespace}", candidates.len());
                // Between two weighings others have as much time.
                self.stragglers.too_much(namespace, cost, self.now);
                let search = Search { spent: cost, ..Search::new(words, candidates) };
                self.weighings.of_namespace.insert(Arc::clone(namespace), search);
            }
        }
    }

    /// Forgets the searches among objects that changed since, or that nginx took meanwhile. Who
    /// changes them pays for the search so far: else it would begin again and again without its
    /// longer pause.
    pub(super) fn forget_searches(&mut self, snapshot: &Snapshot) {
        let is_same = |(id, version): &Changed| objects::version(snapshot, id) == Some(version);
        let stragglers = &mut self.stragglers;
        self.weighings.of_namespace.retain(|namespace, search| {
            let is_known = stragglers.has(namespace);
            let stays = is_known && search.bisection.everybody().all(is_same);
            if is_known && !stays {
                stragglers.too_much(namespace, search.spent * REST, self.now);
            }
            stays
        });
    }

    fn quarantine_heavy(&mut self, words: &str, culprits: &[Arc<ObjectId>], snapshot: &Snapshot) {
        tracing::warn!("too much for nginx are {}: {words}", list(culprits));
        let complaint = Complaint { words: words.to_owned(), ..Complaint::default() };
        for id in culprits {
            self.quarantine_one(&complaint, &Candidate { id: Arc::clone(id), left_out: false }, snapshot);
        }
        self.quarantine.prove(culprits, Proof::Alone);
    }

    /// Handles that nginx was killed by what it did not run before. A bisection would kill it
    /// again and again, for everybody. So the heaviest namespace is left out, after another kill
    /// the next two, and so on, and none is let back in for an hour.
    pub(super) fn quarantine_killers(
        &mut self,
        words: &str,
        snapshot: &Snapshot,
        (served, files): (&Snapshot, &FileSet),
    ) {
        let words = format!("{words}; other changes in its namespace wait for an hour");
        let candidates = self.heaviest_first(served, files);
        let namespaces = candidates.chunk_by(|(one, _), (other, _)| one.namespace == other.namespace);
        let culprits = namespaces.take(1 << self.kills.min(MOST_KILLS)).flatten();
        let culprits: Vec<_> = culprits.map(|(id, _)| Arc::clone(id)).collect();
        self.quarantine_heavy(&words, &culprits, snapshot);
        for id in &culprits {
            self.stragglers.fatal(&id.namespace, self.now);
        }
        self.kills += 1;
    }

    /// The changes that nginx did not run before: first those of the namespace with most bytes,
    /// and in it the object with most bytes.
    fn heaviest_first(&self, served: &Snapshot, files: &FileSet) -> Vec<Changed> {
        let mut changed = self.changes(served, |_| true);
        let weights = files.weights();
        let weight = |id: &Arc<ObjectId>| weights.get(id).copied().unwrap_or_default();
        let mut by_namespace: HashMap<Arc<str>, usize> = HashMap::new();
        for (id, _) in &changed {
            *by_namespace.entry(Arc::clone(&id.namespace)).or_default() += weight(id);
        }
        changed.sort_by_cached_key(|(id, _)| {
            let namespace = by_namespace[&id.namespace];
            (Reverse(namespace), Arc::clone(&id.namespace), Reverse(weight(id)), Arc::clone(id))
        });
        changed
    }

    /// The versions in this snapshot that nginx did not run before.
    fn changes(&self, served: &Snapshot, wanted: impl Fn(&ObjectId) -> bool) -> Vec<Changed> {
        let store = self.store.lock().unwrap_or_else(PoisonError::into_inner);
        let changed = objects::filter(served, |id, _| wanted(id) && self.is_new(id, served, &store));
        changed.into_iter().filter_map(|id| Some((Arc::clone(&id), objects::version(served, &id)?.clone()))).collect()
    }

    /// The changes that come after those of all others, because something is too much, or of many
    /// versions of a namespace.
    pub(super) fn waiting(&self, snapshot: &Snapshot) -> Vec<Candidate> {
        let searched =
            self.weighings.of_all.as_ref().map(|search| search.bisection.everybody().collect::<BTreeSet<_>>());
        if self.stragglers.is_empty() && searched.is_none() {
            return Vec::new();
        }
        let is_searched = |id: &ObjectId| searched.as_ref().is_some_and(|all| all.contains(&id.namespace));
        let waits = |id: &ObjectId| {
            (self.stragglers.has(&id.namespace) || is_searched(id)) && self.quarantine.get(id).is_none()
        };
        self.changes(snapshot, waits).into_iter().map(|(id, _)| Candidate { id, left_out: false }).collect()
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

    /// Called when all others are served. Lets those in whom the search by namespaces weighs next,
    /// or namespaces that have waited long enough: of those that were too much one, as far as the
    /// search among its objects is. Returns false when there are none.
    pub(super) fn let_in(&mut self, searches: &mut Searches, stages: &mut impl Stages) -> bool {
        let Weighings { of_all, of_namespace, .. } = &self.weighings;
        let has_rested = |id: &ObjectId| self.stragglers.rests(&id.namespace, self.now).is_zero();
        let is_heavy = |id: &ObjectId| self.stragglers.is_heavy(&id.namespace);
        let ready = || searches.waiting.iter().map(|candidate| &candidate.id).filter(|id| has_rested(id));
        let weighing = match of_all {
            Some(_) => Some(Weighing::OfAll),
            None if ready().any(|id| !is_heavy(id)) => None,
            None => match ready().next() {
                Some(id) => Some(Weighing::Of(Arc::clone(&id.namespace))),
                None => return false,
            },
        };
        let out: BTreeSet<_> = of_all.iter().flat_map(|search| search.bisection.excluded()).collect();
        let search = match &weighing {
            Some(Weighing::Of(namespace)) => of_namespace.get(namespace),
            _ => None,
        };
        let inside: Option<BTreeSet<_>> = search.map(|search| search.bisection.included().map(|(id, _)| id).collect());
        let stays_out = |id: &Arc<ObjectId>| match &weighing {
            Some(Weighing::OfAll) => out.contains(&id.namespace) || self.stragglers.has(&id.namespace),
            Some(Weighing::Of(namespace)) => {
                id.namespace != *namespace || inside.as_ref().is_some_and(|inside| !inside.contains(id))
            }
            None => !has_rested(id) || is_heavy(id),
        };
        let waiting: Vec<_> = searches.waiting.iter().filter(|candidate| stays_out(&candidate.id)).cloned().collect();
        if weighing.is_some() && !stages.begin_weighing() {
            return false;
        }
        (searches.waiting, searches.weighing) = (waiting, weighing.map(|weighing| (weighing, self.now)));
        true
    }

    /// Whether there is something to weigh at once: for the search by namespaces, or because a
    /// namespace has waited long enough.
    pub(super) fn goes_on(&self, waiting: &[Candidate]) -> bool {
        let has_rested = |candidate: &Candidate| self.stragglers.rests(&candidate.id.namespace, self.now).is_zero();
        self.weighings.of_all.is_some() || waiting.iter().any(has_rested)
    }

    /// The time until a waiting namespace has to be let in, or a version of it is tested.
    pub(super) fn rests(&self, waiting: &[Candidate]) -> Option<Duration> {
        let namespaces: BTreeSet<_> = waiting.iter().map(|candidate| &candidate.id.namespace).collect();
        let rests = namespaces.into_iter().map(|namespace| self.stragglers.rests(namespace, self.now));
        let is_open = |proof| matches!(proof, Proof::Missing | Proof::Outdated);
        let unproven = self.quarantine.entries().filter(|(_, entry)| is_open(entry.proof));
        let unproven = unproven.map(|(id, _)| self.stragglers.rests(&id.namespace, self.now));
        let rests = rests.chain(unproven.filter(|rest| !rest.is_zero()));
        // A namespace that has waited long enough and still waits needs an nginx that works again,
        // which is not tested all the time.
        rests.min().map(|rest| if rest.is_zero() { SHORTEST_REST } else { rest })
    }
}

/// Names for the journal: the first few, and how many there are.
pub(super) fn list<T: ToString>(names: impl IntoIterator<Item = T>) -> String {
    const SHOWN: usize = 8;
    let names: Vec<_> = names.into_iter().map(|name| name.to_string()).collect();
    match names.len() {
        0 => "nobody".to_owned(),
        all if all > SHOWN => format!("{} and {} more", names[..SHOWN].join(", "), all - SHOWN),
        _ => names.join(", "),
    }
}
