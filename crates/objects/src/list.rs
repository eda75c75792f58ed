//! The objects of one kind, shared between snapshots until one of them changes.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use itertools::EitherOrBoth;

use super::Stored;
use ingressd_model::differences;

/// Objects sorted by namespace and name. Cloning is cheap; the first change after that copies the
/// list, not the objects.
pub struct List<K>(Option<Arc<Vec<Stored<K>>>>);

impl<K: 'static> List<K> {
    /// A list without objects.
    pub const EMPTY: &'static Self = &List(None);
}

impl<K> List<K> {
    /// The list for a change, which must keep it sorted.
    pub fn edit(&mut self) -> &mut Vec<Stored<K>> {
        Arc::make_mut(self.0.get_or_insert_default())
    }

    /// Whether both are the same list in memory.
    pub fn is(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (Some(one), Some(other)) => Arc::ptr_eq(one, other),
            (one, other) => one.is_none() && other.is_none(),
        }
    }

    /// The objects that are not the same in memory in an earlier list and in this one.
    pub fn differences<'a>(&'a self, before: &'a Self) -> impl Iterator<Item = EitherOrBoth<&'a Stored<K>>> {
        let [before, now] = if self.is(before) { [&[][..]; 2] } else { [&before[..], self] };
        let is_same = |one: &Stored<K>, other: &Stored<K>| Arc::ptr_eq(&one.object, &other.object);
        differences(before, now, is_same, |one, other| one.id.cmp(&other.id))
    }

    /// The object of this name.
    pub fn find(&self, namespace: &str, name: &str) -> Option<&Stored<K>> {
        self.position(namespace, name).ok().map(|index| &self[index])
    }

    /// The index of the object with this name.
    ///
    /// # Errors
    ///
    /// The index where it would be inserted, when it does not exist.
    pub fn position(&self, namespace: &str, name: &str) -> Result<usize, usize> {
        self.binary_search_by(|stored| (&*stored.id.namespace, &*stored.id.name).cmp(&(namespace, name)))
    }
}

impl<K> Deref for List<K> {
    type Target = [Stored<K>];

    fn deref(&self) -> &[Stored<K>] {
        self.0.as_ref().map_or(&[], |objects| objects)
    }
}

impl<K> From<Vec<Stored<K>>> for List<K> {
    fn from(objects: Vec<Stored<K>>) -> Self {
        List(Some(Arc::new(objects)))
    }
}

impl<K> FromIterator<Stored<K>> for List<K> {
    fn from_iter<I: IntoIterator<Item = Stored<K>>>(objects: I) -> Self {
        objects.into_iter().collect::<Vec<_>>().into()
    }
}

impl<'a, K> IntoIterator for &'a List<K> {
    type Item = &'a Stored<K>;
    type IntoIter = std::slice::Iter<'a, Stored<K>>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<K> Clone for List<K> {
    fn clone(&self) -> Self {
        List(self.0.clone())
    }
}

impl<K> Default for List<K> {
    fn default() -> Self {
        List(None)
    }
}

impl<K: fmt::Debug> fmt::Debug for List<K> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(formatter)
    }
}
