//! Tracks which Secrets and ConfigMaps objects refer to, so that only those stay in memory.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::sync::Arc;

use tokio::time::Instant;

use ingressd_model::{Kind, ObjectId};

/// The kind and the namespace (or all namespaces) of one list request.
type Listing = (Kind, Option<String>);

/// The namespaces whose objects refer to an object; the empty one is the daemon itself.
type Referrers = BTreeSet<Arc<str>>;

/// The referenced objects, and those of them that still have to be requested.
#[derive(Debug, Default)]
pub struct References {
    /// The number of references to each object, from objects and settings.
    counts: BTreeMap<ObjectId, usize>,
    /// The lists that were read: an object that becomes referenced afterwards has to be requested.
    listed: BTreeSet<Listing>,
    /// For each list that is being read: references that are new since it began, because earlier
    /// pages may have contained the object, and who has them.
    fresh: BTreeMap<Listing, BTreeMap<ObjectId, Referrers>>,
    missing: Missing,
}

impl References {
    /// References that always exist.
    pub fn fixed(names: impl IntoIterator<Item = ObjectId>) -> Self {
        References { counts: names.into_iter().map(|name| (name, 1)).collect(), ..References::default() }
    }

    /// Whether anything refers to the object.
    pub fn holds(&self, id: &ObjectId) -> bool {
        self.counts.contains_key(id)
    }

    /// Replaces the references of one object of this namespace. Returns the objects that nothing
    /// refers to any more.
    pub fn change(
        &mut self,
        referrer: &Arc<str>,
        before: &BTreeSet<ObjectId>,
        after: &BTreeSet<ObjectId>,
    ) -> Vec<ObjectId> {
        for name in after.difference(before) {
            let count = self.counts.entry(name.clone()).or_default();
            *count += 1;
            let is_first = *count == 1;
            self.add(name, referrer, is_first);
        }
        let mut dropped = Vec::new();
        for name in before.difference(after) {
            let Some(count) = self.counts.get_mut(name) else { continue };
            *count -= 1;
            if *count == 0 {
                self.counts.remove(name);
                self.missing.remove(name);
                for fresh in self.fresh.values_mut() {
                    fresh.remove(name);
                }
                dropped.push(name.clone());
            }
        }
        dropped
    }

    /// Adds an object that is missing since now, or another namespace that waits for it.
    fn add(&mut self, id: &ObjectId, referrer: &Arc<str>, is_first: bool) {
        for listing in [(id.kind, None), (id.kind, Some(id.namespace.to_string()))] {
            if let Some(fresh) = self.fresh.get_mut(&listing)
                && (is_first || fresh.contains_key(id))
            {
                fresh.entry(id.clone()).or_default().insert(Arc::clone(referrer));
            }
            if self.listed.contains(&listing) && (is_first || self.missing.holds(id)) {
                self.missing.add(id, [referrer]);
            }
        }
    }

    /// Records that a list of a kind begins, in a namespace or in all.
    pub fn begin(&mut self, kind: Kind, section: Option<&str>) {
        self.fresh.insert((kind, section.map(str::to_owned)), BTreeMap::new());
    }

    /// Records that the list is complete. Returns the objects that may have been on it without
    /// being kept; they are requested now.
    pub fn end(&mut self, kind: Kind, section: Option<&str>) -> BTreeSet<ObjectId> {
        let listing = (kind, section.map(str::to_owned));
        let fresh = self.fresh.remove(&listing).unwrap_or_default();
        fresh.iter().for_each(|(id, referrers)| self.missing.add(id, referrers));
        self.listed.insert(listing);
        fresh.into_keys().collect()
    }

    /// Lets an object be requested once more, if anything refers to it.
    pub fn ask_again(&mut self, id: &ObjectId) {
        if self.holds(id) {
            self.missing.add(id, [&id.namespace]);
        }
    }

    /// Records that the watch reported the object: any response to a request for it is older.
    pub fn reported(&mut self, id: &ObjectId) {
        self.missing.remove(id);
    }

    /// The objects to request.
    pub fn missing(&mut self) -> &mut Missing {
        &mut self.missing
    }
}

/// The queue of requests. The namespaces whose objects refer to what is missing take turns; the
/// namespace of the missing object does not matter, so a namespace that names many objects delays
/// only its own.
#[derive(Debug, Default)]
pub struct Missing {
    /// Every object without a response yet.
    wanted: BTreeMap<ObjectId, Wanted>,
    /// Those of them that are not being requested now, for each namespace that refers to them.
    waiting: BTreeMap<Arc<str>, BTreeSet<ObjectId>>,
    /// The namespace that had its turn last.
    last: Arc<str>,
    /// When objects became missing, in order, up to the last one that still is.
    arrivals: Vec<(Instant, ObjectId)>,
}

/// An object without a response yet.
#[derive(Debug)]
struct Wanted {
    since: Instant,
    referrers: Referrers,
    /// Whether it is being requested now.
    is_asked: bool,
}

impl Missing {
    fn holds(&self, id: &ObjectId) -> bool {
        self.wanted.contains_key(id)
    }

    fn add<'a>(&mut self, id: &ObjectId, referrers: impl IntoIterator<Item = &'a Arc<str>>) {
        let wanted = match self.wanted.entry(id.clone()) {
            Entry::Occupied(entry) => entry.into_mut(),
            Entry::Vacant(entry) => {
                let since = Instant::now();
                self.arrivals.push((since, id.clone()));
                entry.insert(Wanted { since, referrers: Referrers::new(), is_asked: false })
            }
        };
        for referrer in referrers {
            wanted.referrers.insert(Arc::clone(referrer));
            if !wanted.is_asked {
                self.waiting.entry(Arc::clone(referrer)).or_default().insert(id.clone());
            }
        }
    }

    fn remove(&mut self, id: &ObjectId) -> bool {
        self.stop_waiting(id);
        self.wanted.remove(id).is_some()
    }

    fn stop_waiting(&mut self, id: &ObjectId) {
        let referrers = self.wanted.get(id).into_iter().flat_map(|wanted| &wanted.referrers);
        for referrer in referrers {
            if let Some(waiting) = self.waiting.get_mut(referrer) {
                waiting.remove(id);
                if waiting.is_empty() {
                    self.waiting.remove(referrer);
                }
            }
        }
    }

    /// Takes the next object to request, of the namespace whose turn it is, and since when it is
    /// missing.
    pub fn take(&mut self) -> Option<(ObjectId, Instant)> {
        let later = self.waiting.range::<str, _>((Bound::Excluded(&*self.last), Bound::Unbounded)).next();
        let (referrer, waiting) = later.or_else(|| self.waiting.first_key_value())?;
        let id = waiting.first()?.clone();
        self.last = Arc::clone(referrer);
        self.stop_waiting(&id);
        let wanted = self.wanted.get_mut(&id)?;
        wanted.is_asked = true;
        Some((id, wanted.since))
    }

    /// Puts an object back whose request failed; it is requested again, if it is still referenced.
    pub fn put_back(&mut self, id: &ObjectId) {
        let Some(wanted) = self.wanted.get_mut(id) else { return };
        wanted.is_asked = false;
        for referrer in &wanted.referrers {
            self.waiting.entry(Arc::clone(referrer)).or_default().insert(id.clone());
        }
    }

    /// Records the response for an object that is missing since then. Returns whether the response
    /// is valid: the watch may have reported the object meanwhile, or nothing may have referred to
    /// it for a while, in which its events were dropped.
    pub fn answered(&mut self, id: &ObjectId, since: Instant) -> bool {
        self.wanted.get(id).is_some_and(|wanted| wanted.since == since) && self.remove(id)
    }

    /// Since when the last missing object is missing.
    pub fn youngest(&mut self) -> Option<Instant> {
        while let Some((since, name)) = self.arrivals.last() {
            if self.wanted.get(name).is_some_and(|wanted| wanted.since == *since) {
                return Some(*since);
            }
            self.arrivals.pop();
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: Kind = Kind::SECRET;

    fn secret(namespace: &str, name: &str) -> ObjectId {
        ObjectId::new(SECRET, namespace, name)
    }

    /// Each is asked for by an object of its own namespace.
    fn change(references: &mut References, before: &BTreeSet<ObjectId>, after: &BTreeSet<ObjectId>) -> Vec<ObjectId> {
        let referrer = before.union(after).next().map(|id| Arc::clone(&id.namespace)).unwrap();
        references.change(&referrer, before, after)
    }

    fn names(names: &[(&str, &str)]) -> BTreeSet<ObjectId> {
        names.iter().map(|(namespace, name)| secret(namespace, name)).collect()
    }

    #[test]
    fn what_a_list_may_have_missed_is_asked_for() {
        let mut references = References::default();
        let (early, late, later) = (names(&[("a", "early")]), names(&[("a", "late")]), names(&[("a", "later")]));
        change(&mut references, &BTreeSet::new(), &early);
        references.begin(SECRET, None);
        change(&mut references, &BTreeSet::new(), &late);
        assert!(references.missing().take().is_none(), "the list may still bring it");
        assert_eq!(references.end(SECRET, None), late);
        let (name, since) = references.missing().take().unwrap();
        assert_eq!(late, [name.clone()].into());
        change(&mut references, &BTreeSet::new(), &later);
        let (other, other_since) = references.missing().take().unwrap();
        assert_eq!((later, references.missing().take()), ([other.clone()].into(), None));
        // An event of the watch is newer than the response.
        references.reported(&secret("a", "late"));
        assert!(!references.missing().answered(&name, since));
        assert!(references.missing().answered(&other, other_since));
        // So is a change while nothing referred to the Secret.
        change(&mut references, &late, &BTreeSet::new());
        change(&mut references, &BTreeSet::new(), &late);
        assert!(!references.missing().answered(&name, since));
        assert_eq!(references.missing().take().unwrap().0, name, "it is asked for anew");
    }

    #[test]
    fn each_namespace_has_its_turn() {
        let mut references = References::default();
        references.end(SECRET, None);
        let flood: BTreeSet<_> = (0..9999).map(|number| secret("a", &format!("{number:04}"))).collect();
        change(&mut references, &BTreeSet::new(), &flood);
        let mut order = Vec::new();
        let mut take = |references: &mut References| {
            let (name, since) = references.missing().take().unwrap();
            order.push(name.namespace.to_string());
            (name, since)
        };
        take(&mut references);
        change(&mut references, &BTreeSet::new(), &names(&[("b", "x"), ("b", "y")]));
        change(&mut references, &BTreeSet::new(), &names(&[("c", "x")]));
        for _ in 0..3 {
            take(&mut references);
        }
        // A failed request has its turn again, unless nothing refers to the object any more.
        let failed = take(&mut references);
        change(&mut references, &names(&[("b", "y")]), &BTreeSet::new());
        references.missing().put_back(&failed.0);
        for _ in 0..3 {
            take(&mut references);
        }
        assert_eq!(order, ["a", "b", "c", "a", "b", "a", "a", "a"]);
    }

    #[test]
    fn references_to_another_namespace_delay_nothing_there() {
        let mut references = References::default();
        references.begin(SECRET, None);
        let (evil, flood) = (Arc::from("evil"), |from| (from..from + 99).map(|number| format!("{number:03}")));
        let flood = |from| flood(from).map(|name| secret("shop", &name)).collect::<BTreeSet<_>>();
        references.change(&evil, &BTreeSet::new(), &flood(0));
        // One of those that the namespace needs itself was named by the other before, as well.
        let own = names(&[("shop", "050"), ("shop", "pair"), ("shop", "users")]);
        references.change(&evil, &BTreeSet::new(), &names(&[("shop", "users")]));
        change(&mut references, &BTreeSet::new(), &own);
        references.end(SECRET, None);
        references.change(&evil, &BTreeSet::new(), &flood(100));
        let mut taken: Vec<_> = (0..6).filter_map(|_| references.missing().take()).collect();
        assert!(own.iter().all(|id| taken.iter().any(|(name, _)| name == id)), "{taken:?}");
        // An object that no reference waits for is in no queue.
        let failed = taken.pop().unwrap();
        references.missing().put_back(&failed.0);
        references.change(&evil, &flood(0), &BTreeSet::new());
        references.change(&evil, &flood(100), &BTreeSet::new());
        references.change(&evil, &names(&[("shop", "users")]), &BTreeSet::new());
        change(&mut references, &own, &BTreeSet::new());
        assert!(references.missing().take().is_none() && references.missing().youngest().is_none());
    }

    #[test]
    fn the_youngest_is_the_last_that_is_still_missing() {
        let mut references = References::default();
        references.end(SECRET, None);
        assert_eq!(references.missing().youngest(), None);
        change(&mut references, &BTreeSet::new(), &names(&[("a", "old")]));
        let old = references.missing().youngest();
        change(&mut references, &BTreeSet::new(), &names(&[("b", "new")]));
        assert!(references.missing().youngest() > old && old.is_some());
        references.reported(&secret("b", "new"));
        assert_eq!(references.missing().youngest(), old);
        references.reported(&secret("a", "old"));
        assert_eq!(references.missing().youngest(), None);
        assert!(references.missing.arrivals.is_empty());
    }

    #[test]
    fn names_are_dropped_with_their_last_reference() {
        let mut references = References::fixed(names(&[("a", "fixed")]));
        let both = names(&[("a", "fixed"), ("a", "one")]);
        change(&mut references, &BTreeSet::new(), &both);
        change(&mut references, &BTreeSet::new(), &names(&[("a", "one")]));
        assert_eq!(change(&mut references, &both, &BTreeSet::new()), []);
        assert_eq!(change(&mut references, &names(&[("a", "one")]), &BTreeSet::new()), [secret("a", "one")]);
        assert!(references.holds(&secret("a", "fixed")) && !references.holds(&secret("a", "one")));
    }

    #[test]
    fn sections_are_lists_of_their_own() {
        let mut references = References::default();
        references.begin(SECRET, Some("a"));
        references.begin(SECRET, Some("b"));
        references.end(SECRET, Some("b"));
        change(&mut references, &BTreeSet::new(), &names(&[("a", "x"), ("b", "x")]));
        let mut missing = || references.missing().take().map(|(name, _)| name);
        assert_eq!((missing(), missing()), (Some(secret("b", "x")), None));
        references.end(SECRET, Some("a"));
        let mut missing = || references.missing().take().map(|(name, _)| name);
        assert_eq!((missing(), missing()), (Some(secret("a", "x")), None));
    }
}
