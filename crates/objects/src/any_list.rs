//! Lists of objects of any kind, for code that has only the name of a kind.

use std::any::Any;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use super::kind::{Kept, KindRow, Row};
use super::{List, Published, SourceLocation, Stored};
use ingressd_model::{Kind, ObjectId, Version, differences};

/// An object of any kind in a list.
#[derive(Debug, Clone, Copy)]
pub struct Entry<'l> {
    /// Its name.
    pub id: &'l Arc<ObjectId>,
    pub version: &'l Version,
    /// The part of the object that is kept.
    pub object: &'l dyn Kept,
    /// Its published status, if it has one.
    pub published: Option<&'l Published>,
    /// Where it was written, when it comes from a file.
    pub place: Option<&'l SourceLocation>,
}

impl<'l> Entry<'l> {
    /// The object, where this is the type that is kept of its kind.
    pub fn object<K: Kept>(&self) -> Option<&'l K> {
        self.object.as_type()
    }
}

impl<'l, K: Kept> From<&'l Stored<K>> for Entry<'l> {
    fn from(stored: &'l Stored<K>) -> Self {
        let Stored { id, version, object, published, place } = stored;
        Entry { id, version, object: &**object, published: published.as_deref(), place: place.as_ref() }
    }
}

/// A list of the objects of a kind.
pub trait AnyList: Any + fmt::Debug + Send + Sync {
    /// The number of objects.
    fn count(&self) -> usize;

    /// The object at this index.
    fn at(&self, index: usize) -> Option<Entry<'_>>;

    /// The object of this name.
    fn entry(&self, namespace: &str, name: &str) -> Option<Entry<'_>>;

    /// The same, to be put into another list.
    fn shared(&self, namespace: &str, name: &str) -> Option<Stored<dyn Kept>>;

    /// Adds an object, or replaces the one of its name; one of another kind is ignored.
    fn put(&mut self, stored: Stored<dyn Kept>);

    /// Removes the object of this name.
    fn remove(&mut self, namespace: &str, name: &str);

    /// Gives back the memory for more objects.
    fn shrink(&mut self);

    /// Whether both are the same list in memory.
    fn is_same(&self, other: &dyn AnyList) -> bool;

    /// The names of the objects that are not the same in memory in an earlier list and in this
    /// one, or have another generation.
    fn changed(&self, before: &dyn AnyList) -> Vec<Arc<ObjectId>>;

    /// The same list.
    fn boxed(&self) -> Box<dyn AnyList>;
}

impl<'l> dyn AnyList + 'l {
    /// All objects, sorted by namespace and name.
    pub fn entries(&self) -> impl Iterator<Item = Entry<'_>> {
        (0..self.count()).filter_map(|index| self.at(index))
    }
}

impl<K: Kept> AnyList for List<K> {
    fn count(&self) -> usize {
        self.len()
    }

    fn at(&self, index: usize) -> Option<Entry<'_>> {
        self.get(index).map(Entry::from)
    }

    fn entry(&self, namespace: &str, name: &str) -> Option<Entry<'_>> {
        self.find(namespace, name).map(Entry::from)
    }

    fn shared(&self, namespace: &str, name: &str) -> Option<Stored<dyn Kept>> {
        let Stored { id, version, object, published, place } = self.find(namespace, name)?.clone();
        Some(Stored { id, version, object, published, place })
    }

    fn put(&mut self, stored: Stored<dyn Kept>) {
        let Stored { id, version, object, published, place } = stored;
        let Ok(object) = Arc::downcast::<K>(object as Arc<dyn Any + Send + Sync>) else { return };
        let stored = Stored { id, version, object, published, place };
        if self.last().is_none_or(|last| last.id < stored.id) {
            return self.edit().push(stored);
        }
        match self.position(&stored.id.namespace, &stored.id.name) {
            Ok(index) => self.edit()[index] = stored,
            Err(index) => self.edit().insert(index, stored),
        }
    }

    fn remove(&mut self, namespace: &str, name: &str) {
        if let Ok(index) = self.position(namespace, name) {
            self.edit().remove(index);
        }
    }

    fn shrink(&mut self) {
        self.edit().shrink_to_fit();
    }

    fn is_same(&self, other: &dyn AnyList) -> bool {
        (other as &dyn Any).downcast_ref::<Self>().is_some_and(|other| self.is(other))
    }

    fn changed(&self, before: &dyn AnyList) -> Vec<Arc<ObjectId>> {
        let before: &Self = (before as &dyn Any).downcast_ref().unwrap_or(List::EMPTY);
        if self.is(before) {
            return Vec::new();
        }
        let generation = |stored: &Stored<K>| stored.published.as_ref().and_then(|published| published.generation);
        let is_same = |one: &Stored<K>, other: &Stored<K>| {
            Arc::ptr_eq(&one.object, &other.object) && generation(one) == generation(other)
        };
        let changed = differences(&before[..], &self[..], is_same, |one, other| one.id.cmp(&other.id));
        changed.map(|either| Arc::clone(&either.reduce(|_, stored| stored).id)).collect()
    }

    fn boxed(&self) -> Box<dyn AnyList> {
        Box::new(self.clone())
    }
}

/// Lists of several kinds, each with its row.
#[derive(Debug, Default)]
pub struct Lists(BTreeMap<Kind, (Row, Box<dyn AnyList>)>);

impl Lists {
    /// The list of a kind; empty where there is none.
    pub fn list<K: KindRow>(&self) -> &List<K::Kept> {
        let list = self.0.get(&K::MODEL_KIND).and_then(|(_, list)| (&**list as &dyn Any).downcast_ref());
        list.unwrap_or(List::EMPTY)
    }

    /// The list of a kind that is being made.
    ///
    /// # Panics
    ///
    /// When two types have the name of one kind.
    pub fn list_mut<K: KindRow>(&mut self) -> &mut List<K::Kept> {
        let new = || (Row::of::<K>(), Box::new(List::<K::Kept>::default()) as Box<dyn AnyList>);
        let (_, list) = self.0.entry(K::MODEL_KIND).or_insert_with(new);
        let list = (&mut **list as &mut dyn Any).downcast_mut();
        list.unwrap_or_else(|| unreachable!("two types are of the kind {}", K::MODEL_KIND.name()))
    }

    /// All of them.
    pub fn all(&self) -> impl Iterator<Item = (&Row, &dyn AnyList)> {
        self.0.values().map(|(row, list)| (row, &**list))
    }

    /// The object of this name.
    pub fn entry(&self, id: &ObjectId) -> Option<Entry<'_>> {
        self.0.get(&id.kind)?.1.entry(&id.namespace, &id.name)
    }

    /// All objects, by kind and name.
    pub fn entries(&self) -> impl Iterator<Item = Entry<'_>> {
        self.0.values().flat_map(|(_, list)| list.entries())
    }

    /// Whether all are the same in memory.
    pub fn are(&self, others: &Self) -> bool {
        let mut both = self.0.values().zip(others.0.values());
        self.0.keys().eq(others.0.keys()) && both.all(|((_, list), (_, other))| list.is_same(&**other))
    }
}

impl Clone for Lists {
    fn clone(&self) -> Self {
        Lists(self.0.iter().map(|(kind, (row, list))| (*kind, (*row, list.boxed()))).collect())
    }
}
