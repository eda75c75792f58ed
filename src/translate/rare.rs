//! A part that few objects have: where it is empty, nothing of it is stored. It must not know what
//! it is a part of.

use std::fmt;
use std::ops::{Deref, DerefMut};
use std::sync::LazyLock;

use super::reading::{ErrorOptions, HostOptions};
use super::stream_claims::RequestedStream;
use crate::model::Behaviour;

/// A part that is empty for most objects.
#[derive(Clone)]
pub struct Rare<T>(Option<Box<T>>);

/// A type with one empty value that all share.
pub trait Empty: Default + PartialEq + 'static {
    /// The empty value, which is the default.
    fn empty() -> &'static Self;
}

macro_rules! empty {
    ($($part:ty),*) => {
        $(impl Empty for $part {
            fn empty() -> &'static Self {
                static EMPTY: LazyLock<$part> = LazyLock::new(<$part>::default);
                &EMPTY
            }
        })*
    };
}

empty!(Behaviour, HostOptions, ErrorOptions, Vec<RequestedStream>);

impl<T: Empty> Rare<T> {
    /// Takes the part out.
    pub fn take(&mut self) -> T {
        self.0.take().map(|part| *part).unwrap_or_default()
    }

    /// Stores nothing if the part is empty.
    pub fn settle(&mut self) {
        self.0.take_if(|part| **part == *T::empty());
    }
}

impl<T> Default for Rare<T> {
    fn default() -> Self {
        Rare(None)
    }
}

impl<T> From<T> for Rare<T> {
    fn from(part: T) -> Self {
        Rare(Some(Box::new(part)))
    }
}

impl<T: Empty> Deref for Rare<T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.0.as_deref().unwrap_or_else(|| T::empty())
    }
}

impl<T: Empty> DerefMut for Rare<T> {
    fn deref_mut(&mut self) -> &mut T {
        self.0.get_or_insert_default()
    }
}

impl<T: Empty> PartialEq for Rare<T> {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl<T: Empty + Eq> Eq for Rare<T> {}

impl<T: Empty + fmt::Debug> fmt::Debug for Rare<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(formatter)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_part_is_not_stored_and_is_equal_to_one_that_is() {
        let mut part = Rare::<ErrorOptions>::default();
        assert!(part.0.is_none() && part.statuses.is_empty());
        part.statuses.push(404);
        part.settle();
        assert_eq!((part.0.is_some(), &*part.statuses), (true, &[404][..]));
        part.statuses.clear();
        assert_eq!(part, Rare::default());
        part.settle();
        assert!(part.0.is_none());
        part.statuses.push(503);
        assert_eq!((part.take().statuses, part.0), (vec![503], None));
    }
}
