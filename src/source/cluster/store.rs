//! The objects of one kind as they are now, in order, at a cost that follows the change; it must not know where they come from.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::kind::{Item, Watched};
use crate::finding::Finding;
use crate::model::{ObjectId, Origin};
use crate::source::validation::Problem;
use crate::source::{List, Stored};

/// What a change means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Effect {
    /// Nothing that is kept differs.
    Nothing,
    /// Only what others wrote about the objects differs; nginx is not configured by it.
    Status,
    /// Objects differ.
    Objects,
}

/// The objects of one kind.
#[derive(Debug)]
pub struct Store<K> {
    list: List<K>,
    /// What is wrong with objects; their last good versions stay in the list.
    problems: BTreeMap<Arc<ObjectId>, Vec<Finding>>,
}

impl<K> Default for Store<K> {
    fn default() -> Self {
        Store { list: List::default(), problems: BTreeMap::new() }
    }
}

impl<K: Watched> Store<K> {
    /// The objects, to share.
    pub fn list(&self) -> &List<K> {
        &self.list
    }

    /// What is wrong with objects, by object.
    pub fn problems(&self) -> &BTreeMap<Arc<ObjectId>, Vec<Finding>> {
        &self.problems
    }

    /// Something is new or changed.
    pub fn apply(&mut self, item: Item<K>) -> Effect {
        let Item { id, outcome } = item;
        match outcome {
            Err(problems) => self.object_to(&id, problems),
            Ok(stored) => {
                let mended = match self.problems.remove(&id) {
                    Some(_) => Effect::Objects,
                    None => Effect::Nothing,
                };
                self.put(stored).max(mended)
            }
        }
    }

    fn put(&mut self, stored: Stored<K>) -> Effect {
        match self.list.position(&stored.id.namespace, &stored.id.name) {
            Ok(index) => {
                let effect = effect(&self.list[index], &stored);
                if effect != Effect::Nothing {
                    let place = &mut self.list.edit()[index];
                    // Whoever refers to the name shares it.
                    *place = Stored { id: Arc::clone(&place.id), ..stored };
                }
                effect
            }
            Err(index) => {
                self.list.edit().insert(index, stored);
                Effect::Objects
            }
        }
    }

    fn object_to(&mut self, id: &Arc<ObjectId>, problems: Vec<Problem>) -> Effect {
        let finding = |problem: Problem| {
            let note = format!("{}; the last version that could be used goes on being served", problem.note);
            Finding::new(problem.reason, Origin::field(id, problem.field), note)
        };
        let findings: Vec<_> = problems.into_iter().map(finding).collect();
        let before = self.problems.insert(Arc::clone(id), findings);
        if before.as_ref() == self.problems.get(id) { Effect::Nothing } else { Effect::Objects }
    }

    /// Something is gone.
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

    /// This is what there is in a namespace, or everywhere; whatever else is there goes, unless it is spared. What is the
    /// same stays the same in memory.
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
        let mut objects: Vec<Stored<K>> = Vec::with_capacity(items.len());
        for item in items {
            let known = before.find(&item.id.namespace, &item.id.name);
            match (item.outcome, known) {
                (Ok(stored), Some(known)) => match self::effect(known, &stored) {
                    Effect::Nothing => objects.push(known.clone()),
                    differs => {
                        effect = effect.max(differs);
                        objects.push(stored);
                    }
                },
                (Ok(stored), None) => {
                    effect = Effect::Objects;
                    objects.push(stored);
                }
                (Err(problems), known) => {
                    self.object_to(&item.id, problems);
                    objects.extend(known.cloned());
                }
            }
        }
        objects.extend(before.iter().filter(|stored| !within(&stored.id) || spared(&stored.id)).cloned());
        objects.sort_by(|left, right| left.id.cmp(&right.id));
        objects.dedup_by(|later, first| later.id == first.id);
        let outside = problems_before.iter().filter(|(id, _)| !within(id));
        self.problems.extend(outside.map(|(id, findings)| (Arc::clone(id), findings.clone())));
        if objects.len() != before.len() || self.problems != problems_before {
            effect = Effect::Objects;
        }
        // The same number of objects may still be other ones, but then one of them was new.
        self.list = if effect == Effect::Nothing { before } else { objects.into() };
        effect
    }
}

fn effect<K: Watched>(known: &Stored<K>, new: &Stored<K>) -> Effect {
    match known.version == new.version {
        false => Effect::Objects,
        true if known.object.has_status_of(&new.object) => Effect::Nothing,
        true => Effect::Status,
    }
}
