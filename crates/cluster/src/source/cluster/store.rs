//! The present objects of one kind, in order. The cost of an update follows the size of the
//! change.

use std::any::Any;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use super::item::{Item, Unfit};
use crate::source::watched::Watched;
use ingressd_model::finding::{Finding, Reason};
use ingressd_model::{ObjectId, Origin};
use ingressd_objects::{LeftOut, List, Lists, Problem, Published, Snapshot, Stored};

/// The effect of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Effect {
    /// Nothing that is kept has changed.
    Nothing,
    /// Only statuses have changed, which do not influence nginx.
    Status,
    /// Objects have changed.
    Objects,
}

/// The objects of one kind.
#[derive(Debug)]
pub struct Store<K: Watched> {
    list: List<K::Kept>,
    /// What is wrong with objects; their last good versions stay in the list.
    problems: BTreeMap<Arc<ObjectId>, Unusable>,
}

/// An object whose newest version cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unusable {
    /// The findings about it.
    pub findings: Vec<Finding>,
    pub uid: Option<Arc<str>>,
    /// The reason of its first problem.
    pub why: Reason,
}

/// The objects of a kind that only its row knows.
pub trait AnyStore: Any + fmt::Debug + Send {
    /// Copies the objects, and what is wrong with some, into a snapshot.
    fn show(&self, snapshot: &mut Snapshot);

    /// Whether there are objects of this namespace.
    fn has_of(&self, namespace: &str) -> bool;

    /// Copies the objects, of which none is wrong, into these lists.
    fn show_in(&self, lists: &mut Lists);
}

impl<K: Watched> AnyStore for Store<K> {
    fn show(&self, snapshot: &mut Snapshot) {
        *K::list_mut(snapshot) = self.list.clone();
        for (id, unusable) in &self.problems {
            snapshot.findings.extend(unusable.findings.iter().cloned());
            snapshot.left_out.push(LeftOut {
                id: Arc::clone(id),
                place: None,
                uid: unusable.uid.clone(),
                why: unusable.why,
            });
        }
    }

    fn has_of(&self, namespace: &str) -> bool {
        let (Ok(first) | Err(first)) = self.list.position(namespace, "");
        self.list.get(first).is_some_and(|stored| *stored.id.namespace == *namespace)
    }

    fn show_in(&self, lists: &mut Lists) {
        *lists.list_mut::<K>() = self.list.clone();
    }
}

impl<K: Watched> Default for Store<K> {
    fn default() -> Self {
        Store { list: List::default(), problems: BTreeMap::new() }
    }
}

impl<K: Watched> Store<K> {
    /// The list of objects, shared.
    pub fn list(&self) -> &List<K::Kept> {
        &self.list
    }

    /// The objects of a namespace whose newest versions cannot be used.
    pub fn left_out_in(&self, namespace: &str) -> impl Iterator<Item = &Arc<ObjectId>> {
        self.problems.keys().filter(move |id| *id.namespace == *namespace)
    }

    /// Adds or replaces an object.
    pub fn apply(&mut self, item: Item<K>) -> Effect {
        let Item { id, outcome } = item;
        match outcome {
            Err(unfit) => self.object_to(&id, unfit),
            Ok(stored) => {
                let mended = match self.problems.remove(&id) {
                    Some(_) => Effect::Objects,
                    None => Effect::Nothing,
                };
                self.put(stored).max(mended)
            }
        }
    }

    fn put(&mut self, stored: Stored<K::Kept>) -> Effect {
        match self.list.position(&stored.id.namespace, &stored.id.name) {
            Ok(index) => {
                let effect = effect::<K>(&self.list[index], &stored);
                if effect != Effect::Nothing {
                    let place = &mut self.list.edit()[index];
                    *place = follow(place, stored, effect);
                }
                effect
            }
            Err(index) => {
                self.list.edit().insert(index, stored);
                Effect::Objects
            }
        }
    }

    fn object_to(&mut self, id: &Arc<ObjectId>, unfit: Unfit) -> Effect {
        let Unfit { problems, uid, published } = unfit;
        let why = Problem::first_reason(&problems);
        let finding = |problem: Problem| {
            let note = format!("{}; the last usable version is served", problem.note);
            Finding::new(problem.reason, Origin::field(id, problem.field), note)
        };
        let findings: Vec<_> = problems.into_iter().map(finding).collect();
        let before = self.problems.insert(Arc::clone(id), Unusable { findings, uid, why });
        let known = self.list.position(&id.namespace, &id.name).ok();
        let reported = known.and_then(|index| Some((index, published_in(&self.list[index], published)?)));
        let effect = if reported.is_some() { Effect::Status } else { Effect::Nothing };
        if let Some((index, reported)) = reported {
            self.list.edit()[index] = reported;
        }
        if before.as_ref() == self.problems.get(id) { effect } else { Effect::Objects }
    }

    /// Removes an object.
    pub fn delete(&mut self, namespace: &str, name: &str) -> Effect {
        let problems = self.problems.len();
        self.problems.retain(|id, _| (&*id.namespace, &*id.name) != (namespace, name));
        match self.list.position(namespace, name) {
            Ok(index) => {
                self.list.edit().remove(index);
                Effect::Objects
            }
            Err(_) if self.problems.len() != problems => Effect::Objects,
            Err(_) => Effect::Nothing,
        }
    }

    /// Replaces all objects of a namespace, or all; others are removed unless they are spared.
    /// Equal objects stay the same in memory.
    pub fn replace(
        &mut self,
        section: Option<&str>,
        items: Vec<Item<K>>,
        spared: impl Fn(&ObjectId) -> bool,
    ) -> Effect {
        let within = |id: &ObjectId| section.is_none_or(|namespace| *id.namespace == *namespace);
        let before = std::mem::take(&mut self.list);
        let problems_before = std::mem::take(&mut self.problems);
        let mut effect = Effect::Nothing;
        let mut objects: Vec<Stored<K::Kept>> = Vec::with_capacity(items.len());
        for item in items {
            let known = before.find(&item.id.namespace, &item.id.name);
            match (item.outcome, known) {
                (Ok(stored), Some(known)) => match self::effect::<K>(known, &stored) {
                    Effect::Nothing => objects.push(known.clone()),
                    differs => {
                        effect = effect.max(differs);
                        objects.push(follow(known, stored, differs));
                    }
                },
                (Ok(stored), None) => {
                    effect = Effect::Objects;
                    objects.push(stored);
                }
                (Err(unfit), known) => {
                    let reported = known.and_then(|known| published_in(known, unfit.published.clone()));
                    effect = effect.max(if reported.is_some() { Effect::Status } else { Effect::Nothing });
                    objects.extend(reported.or_else(|| known.cloned()));
                    self.object_to(&item.id, unfit);
                }
            }
        }
        objects.extend(before.iter().filter(|stored| !within(&stored.id) || spared(&stored.id)).cloned());
        objects.sort_by(|left, right| left.id.cmp(&right.id));
        objects.dedup_by(|later, first| later.id == first.id);
        let outside = problems_before.iter().filter(|(id, _)| !within(id));
        self.problems.extend(outside.map(|(id, unusable)| (Arc::clone(id), unusable.clone())));
        if objects.len() != before.len() || self.problems != problems_before {
            effect = Effect::Objects;
        }
        // With the same number of objects, a removed one must have been replaced by a new one.
        self.list = if effect == Effect::Nothing { before } else { objects.into() };
        effect
    }
}

/// The earlier version of an object that cannot be decoded any more, with its current status;
/// `None` when that is unchanged.
fn published_in<K>(known: &Stored<K>, published: Option<Published>) -> Option<Stored<K>> {
    let before = known.published.as_deref()?;
    (Some(before) != published.as_ref()).then(|| Stored { published: published.map(Arc::new), ..known.clone() })
}

/// The replacement of an object. It shares the name, and the object itself where only the status
/// has changed.
fn follow<K>(known: &Stored<K>, new: Stored<K>, effect: Effect) -> Stored<K> {
    let id = Arc::clone(&known.id);
    match effect {
        Effect::Objects => Stored { id, ..new },
        Effect::Status | Effect::Nothing => Stored { published: new.published, ..known.clone() },
    }
}

fn effect<K: Watched>(known: &Stored<K::Kept>, new: &Stored<K::Kept>) -> Effect {
    match known.version == new.version {
        false => Effect::Objects,
        true if known.published == new.published => Effect::Nothing,
        true => Effect::Status,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use k8s_openapi::api::core::v1::{Service, ServicePort, ServiceSpec};
    use proptest::prelude::{Just, ProptestConfig, Strategy, prop_oneof, proptest};

    use super::super::found::Found;
    use super::*;

    type Key = (&'static str, &'static str);
    const KEYS: [Key; 6] = [("a", "x"), ("a-b", "x"), ("a", "y"), ("b", "x"), ("b", "y-1"), ("b", "y")];

    /// A Service with this port; port 0 is invalid.
    fn item((namespace, name): Key, port: i32) -> Item<Service> {
        let ports = vec![ServicePort { port, ..ServicePort::default() }];
        let mut object =
            Service { spec: Some(ServiceSpec { ports: Some(ports), ..ServiceSpec::default() }), ..Service::default() };
        object.metadata.namespace = Some(namespace.to_owned());
        object.metadata.name = Some(name.to_owned());
        Found::typed(object).and_then(Item::of).unwrap()
    }

    #[derive(Debug, Clone)]
    enum Step {
        Apply(Key, i32),
        Delete(Key),
        Replace(Option<&'static str>, Vec<(Key, i32)>),
    }

    fn step() -> impl Strategy<Value = Step> {
        let key = || (0..KEYS.len()).prop_map(|index| KEYS[index]);
        let section = prop_oneof![Just(None), Just(Some("a")), Just(Some("b"))];
        prop_oneof![
            (key(), 0..3).prop_map(|(key, port)| Step::Apply(key, port)),
            key().prop_map(Step::Delete),
            (section, proptest::collection::vec((key(), 0..3), 0..6))
                .prop_map(|(section, items)| Step::Replace(section, items)),
        ]
    }
    /// The expected state, by the simplest means: the port, and whether the newest version is
    /// invalid.
    #[derive(Debug, Default, Clone, PartialEq)]
    struct Model(BTreeMap<Key, (Option<i32>, bool)>);

    impl Model {
        fn apply(&mut self, key: Key, port: i32) {
            let entry = self.0.entry(key).or_default();
            *entry = if port == 0 { (entry.0, true) } else { (Some(port), false) };
        }
    }

    fn contents(store: &Store<Service>) -> BTreeMap<Key, (Option<i32>, bool)> {
        let find = |id: &ObjectId| *KEYS.iter().find(|key| (&*id.namespace, &*id.name) == **key).unwrap();
        let mut contents: BTreeMap<Key, (Option<i32>, bool)> = BTreeMap::new();
        for stored in store.list() {
            let number = stored.object.ports[0].number;
            assert!(contents.insert(find(&stored.id), (Some(number), false)).is_none());
        }
        for id in store.problems.keys() {
            contents.entry(find(id)).or_default().1 = true;
        }
        contents
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(300))]
        #[test]
        fn the_list_is_sorted_and_right_after_every_event(steps in proptest::collection::vec(step(), 0..30)) {
            let mut store = Store::<Service>::default();
            let mut model = Model::default();
            for step in steps {
                let (before, list) = (contents(&store), store.list().clone());
                let effect = match step {
                    Step::Apply(key, port) => {
                        model.apply(key, port);
                        store.apply(item(key, port))
                    }
                    Step::Delete(key) => {
                        model.0.remove(&key);
                        store.delete(key.0, key.1)
                    }
                    Step::Replace(section, mut items) => {
                        let within = |key: &Key| section.is_none_or(|section| section == key.0);
                        items.retain(|(key, _)| within(key));
                        items.sort();
                        items.dedup_by_key(|(key, _)| *key);
                        model.0.retain(|key, _| !within(key) || items.iter().any(|(listed, _)| listed == key));
                        for (key, port) in &items {
                            model.apply(*key, *port);
                        }
                        store.replace(section, items.into_iter().map(|(key, port)| item(key, port)).collect(), |_| false)
                    }
                };
                assert_eq!(contents(&store), model.0);
                assert!(store.list().is_sorted_by(|one, other| one.id < other.id));
                assert_eq!(effect != Effect::Nothing, before != model.0);
                for stored in store.list() {
                    // Unchanged objects are the same in memory.
                    let known = list.find(&stored.id.namespace, &stored.id.name);
                    if let Some(known) = known.filter(|known| known.version == stored.version) {
                        assert!(Arc::ptr_eq(&known.object, &stored.object));
                    }
                }
            }
        }
    }
}
