//! What differs between two lists that share most of their values.

use std::cmp::Ordering;

use itertools::{EitherOrBoth, Itertools as _};

/// What differs between two lists, which are sorted by `order`. What `is_same`, because it is the
/// same in memory, is not looked at, so where a long list has few new values this costs little.
pub fn differences<T: Copy>(
    before: impl IntoIterator<Item = T>,
    now: impl IntoIterator<Item = T>,
    is_same: impl Fn(T, T) -> bool + Copy,
    order: impl Fn(T, T) -> Ordering,
) -> impl Iterator<Item = EitherOrBoth<T>> {
    let order = move |one: &T, other: &T| if is_same(*one, *other) { Ordering::Equal } else { order(*one, *other) };
    let all = before.into_iter().merge_join_by(now, order);
    all.filter(move |either| !matches!(*either, EitherOrBoth::Both(one, other) if is_same(one, other)))
}
