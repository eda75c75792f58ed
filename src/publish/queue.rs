//! The notices that wait to be spread, warnings first, and how many more may wait; it must not know what is news.

use std::collections::VecDeque;

use super::notice::Notice;

/// Most notices that wait, warnings apart, which have as many places more.
const MOST_WAITING: usize = 1000;

/// So many free places make it worth while to look for what found none: each look goes through everything.
const ENOUGH: usize = MOST_WAITING / 2;

/// What goes before what.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sort {
    /// Something is wrong.
    Warning,
    /// Something is as it should be.
    Good,
}

/// The notices that wait.
#[derive(Debug, Default)]
pub struct Queue {
    /// Warnings of which none was tried yet.
    first: VecDeque<Notice>,
    /// All others, and what could not be spread when its turn came.
    later: VecDeque<Notice>,
}

impl Queue {
    /// Whether one more of this sort may wait.
    pub fn has_room(&self, sort: Sort) -> bool {
        self.room(sort) > 0
    }

    /// Whether so many may wait that it is worth while to look for them.
    pub fn has_enough_room(&self, sort: Sort) -> bool {
        self.room(sort) >= ENOUGH
    }

    fn room(&self, sort: Sort) -> usize {
        let (waiting, most) = match sort {
            Sort::Warning => (self.first.len() + self.later.len(), 2 * MOST_WAITING),
            Sort::Good => (self.later.len(), MOST_WAITING),
        };
        most.saturating_sub(waiting)
    }

    /// It waits from now on.
    pub fn push(&mut self, notice: Notice) {
        match notice.warns {
            true => self.first.push_back(notice),
            false => self.later.push_back(notice),
        }
    }

    /// The one whose turn it is.
    pub fn next(&self) -> Option<&Notice> {
        self.first.front().or_else(|| self.later.front())
    }

    /// The one whose turn it is, to change it.
    pub fn next_mut(&mut self) -> Option<&mut Notice> {
        match self.first.is_empty() {
            true => self.later.front_mut(),
            false => self.first.front_mut(),
        }
    }

    /// Takes out the one whose turn it is.
    pub fn pop(&mut self) -> Option<Notice> {
        self.first.pop_front().or_else(|| self.later.pop_front())
    }

    /// All others go before the one whose turn it is.
    pub fn defer(&mut self) {
        let deferred = self.pop();
        self.later.extend(deferred);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::finding::{Finding, Reason};
    use crate::model::{Kind, ObjectId, Origin};
    use crate::source::Snapshot;

    fn notice(name: &str, sort: Sort) -> Notice {
        let id = Arc::new(ObjectId::new(Kind::Ingress, "shop", name));
        let finding = Finding::new(Reason::MissingService, Origin::object(&id), "x");
        let mut notice = Notice::of_finding(&finding, &Snapshot::default(), 0).unwrap();
        notice.warns = sort == Sort::Warning;
        notice
    }

    #[test]
    fn warnings_go_first_and_what_could_not_be_spread_goes_last() {
        let mut queue = Queue::default();
        for (name, sort) in [("a", Sort::Good), ("b", Sort::Warning), ("c", Sort::Good), ("d", Sort::Warning)] {
            queue.push(notice(name, sort));
        }
        queue.defer();
        let order = std::iter::from_fn(|| queue.pop()).map(|notice| notice.regarding.name.unwrap());
        assert_eq!(order.collect::<Vec<_>>(), ["d", "a", "c", "b"]);
        queue.defer();
        assert_eq!(queue.next(), None);
    }

    #[test]
    fn what_is_good_takes_no_place_from_warnings_and_what_is_deferred_keeps_its_own() {
        let mut queue = Queue::default();
        while queue.has_room(Sort::Good) {
            queue.push(notice("a", Sort::Good));
        }
        assert!(queue.has_enough_room(Sort::Warning) && !queue.has_enough_room(Sort::Good));
        while queue.has_room(Sort::Warning) {
            queue.push(notice("b", Sort::Warning));
            queue.defer();
        }
        let waiting = std::iter::from_fn(|| queue.pop()).count();
        assert_eq!(waiting, 2 * MOST_WAITING);
    }
}
