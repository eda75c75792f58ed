//! The queue of notices that become Events: namespaces take turns, and the number of waiting
//! notices is limited.

use std::collections::{HashMap, VecDeque};

use tokio::time::Instant;

use super::notice::Notice;

/// The most notices that wait. Warnings have as many places of their own.
const MOST_WAITING: usize = 1000;

/// Additional places for each namespace when the queue is full.
const OF_EACH: usize = 20;

/// After so many warnings in a row one good notice goes first: endless warnings must not delay
/// reports of what is served.
const WARNINGS_IN_A_ROW: usize = 3;

/// The two priorities.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Priority {
    /// A problem.
    Warning,
    /// Good news.
    Good,
}

impl Priority {
    fn of(notice: &Notice) -> Self {
        if notice.warns { Priority::Warning } else { Priority::Good }
    }
}

/// The notices that wait.
#[derive(Debug, Default)]
pub struct Queue {
    warnings: Turns,
    good: Turns,
    /// How many warnings were taken since the last good notice.
    in_a_row: usize,
    /// Namespaces that are skipped until a time.
    resting: HashMap<String, Instant>,
}

/// Notices of one priority. Namespaces take turns: a namespace with many notices delays only its
/// own.
#[derive(Debug, Default)]
struct Turns {
    waiting: HashMap<String, VecDeque<Notice>>,
    /// The namespaces with notices, the next one first.
    order: VecDeque<String>,
    count: usize,
}

impl Turns {
    fn of(&self, namespace: &str) -> usize {
        self.waiting.get(namespace).map_or(0, VecDeque::len)
    }

    fn push(&mut self, notice: Notice) {
        self.count += 1;
        let namespace = key(&notice);
        let of_namespace = self.waiting.entry(namespace.clone()).or_default();
        if of_namespace.is_empty() {
            self.order.push_back(namespace);
        }
        of_namespace.push_back(notice);
    }

    /// Takes the first notice of the first namespace that is not skipped; that namespace goes to
    /// the end.
    fn take(&mut self, may: impl Fn(&str) -> bool) -> Option<Notice> {
        let place = self.order.iter().position(|namespace| may(namespace))?;
        let namespace = self.order.remove(place)?;
        let of_namespace = self.waiting.get_mut(&namespace)?;
        let notice = of_namespace.pop_front()?;
        self.count -= 1;
        match of_namespace.is_empty() {
            true => drop(self.waiting.remove(&namespace)),
            false => self.order.push_back(namespace),
        }
        Some(notice)
    }
}

/// The key for taking turns: the namespace of the object. Cluster-scoped objects do not use the
/// places of the namespace that holds their Events.
fn key(notice: &Notice) -> String {
    notice.regarding.namespace.clone().unwrap_or_default()
}

impl Queue {
    /// Whether one more notice of this priority fits.
    pub fn has_room(&self, sort: Priority, namespace: &str) -> bool {
        self.turns(sort).of(namespace) < OF_EACH || self.waiting(sort) < most(sort)
    }

    /// Whether there is enough room to make notices again: each attempt compares everything.
    pub fn has_enough_room(&self, sort: Priority, namespace: &str) -> bool {
        self.turns(sort).of(namespace) <= OF_EACH / 2 || self.waiting(sort) + MOST_WAITING / 2 <= most(sort)
    }

    fn turns(&self, sort: Priority) -> &Turns {
        match sort {
            Priority::Warning => &self.warnings,
            Priority::Good => &self.good,
        }
    }

    fn waiting(&self, sort: Priority) -> usize {
        match sort {
            Priority::Warning => self.warnings.count + self.good.count,
            Priority::Good => self.good.count,
        }
    }

    /// Adds a notice.
    pub fn push(&mut self, notice: Notice) {
        match Priority::of(&notice) {
            Priority::Warning => self.warnings.push(notice),
            Priority::Good => self.good.push(notice),
        }
    }

    /// Skips this namespace until a time.
    pub fn rest(&mut self, namespace: String, until: Instant) {
        self.resting.insert(namespace, until);
    }

    /// Takes the next notice.
    pub fn take(&mut self, now: Instant) -> Option<Notice> {
        self.resting.retain(|_, until| *until > now);
        let may = |namespace: &str| !self.resting.contains_key(namespace);
        let good_first = self.in_a_row >= WARNINGS_IN_A_ROW;
        let mut good = || self.good.take(may);
        let taken = if good_first { good() } else { None };
        let taken = taken.or_else(|| self.warnings.take(may)).or_else(good)?;
        self.in_a_row = match Priority::of(&taken) {
            Priority::Warning => self.in_a_row + 1,
            Priority::Good => 0,
        };
        Some(taken)
    }

    /// When a notice may be taken: `None` when the queue is empty. A time in the past means now.
    pub fn due(&self, now: Instant) -> Option<Instant> {
        let namespaces = self.warnings.order.iter().chain(&self.good.order);
        namespaces.map(|namespace| self.resting.get(namespace).copied().unwrap_or(now)).min()
    }
}

const fn most(sort: Priority) -> usize {
    match sort {
        Priority::Warning => 2 * MOST_WAITING,
        Priority::Good => MOST_WAITING,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use super::*;
    use ingressd_model::finding::{Finding, Reason};
    use ingressd_model::{Kind, ObjectId, Origin};
    use ingressd_objects::Snapshot;

    /// A notice about the object `NAMESPACE/NAME`.
    fn notice(object: &str, sort: Priority) -> Notice {
        let (namespace, name) = object.split_once('/').unwrap();
        let id = Arc::new(ObjectId::new(Kind::INGRESS, namespace, name));
        let finding = Finding::new(Reason::MissingService, Origin::object(&id), "x");
        let mut notice = Notice::of_finding(&finding, &Snapshot::default(), 0).unwrap();
        notice.warns = sort == Priority::Warning;
        notice
    }

    fn queue(objects: &[(&str, Priority)]) -> Queue {
        let mut queue = Queue::default();
        objects.iter().for_each(|(object, sort)| queue.push(notice(object, *sort)));
        queue
    }

    fn rest(queue: &mut Queue, now: Instant) -> Vec<String> {
        let taken = std::iter::from_fn(|| queue.take(now));
        taken.map(|notice| format!("{}/{}", key(&notice), notice.regarding.name.unwrap())).collect()
    }

    #[test]
    fn warnings_go_first_but_never_keep_what_is_good_waiting() {
        use Priority::{Good, Warning};
        let objects = [
            ("a/1", Good),
            ("a/2", Warning),
            ("b/3", Good),
            ("a/4", Warning),
            ("a/5", Warning),
            ("a/6", Warning),
            ("a/7", Warning),
        ];
        let order = rest(&mut queue(&objects), Instant::now());
        assert_eq!(order, ["a/2", "a/4", "a/5", "a/1", "a/6", "a/7", "b/3"]);
    }

    #[test]
    fn a_namespace_with_much_to_report_waits_for_it_alone() {
        let now = Instant::now();
        let mut queue = Queue::default();
        for sort in [Priority::Good, Priority::Warning] {
            while queue.has_room(sort, "crowd") {
                queue.push(notice("crowd/1", sort));
            }
        }
        for sort in [Priority::Good, Priority::Warning] {
            assert!(!queue.has_enough_room(sort, "crowd") && queue.has_room(sort, "victim"));
            for number in 0..OF_EACH {
                queue.push(notice(&format!("victim/{number}"), sort));
            }
            assert!(!queue.has_room(sort, "victim"));
        }
        let first = rest(&mut queue, now);
        let victims = first.iter().enumerate().filter(|(_, object)| object.starts_with("victim/"));
        let places: Vec<_> = victims.map(|(place, _)| place).collect();
        assert_eq!((places.len(), places[0]), (2 * OF_EACH, 1));
        assert!(places.windows(2).all(|pair| pair[1] - pair[0] <= 8), "{places:?}");
        assert_eq!(first.len(), 2 * MOST_WAITING + 2 * OF_EACH);
    }

    #[test]
    fn a_namespace_that_rests_keeps_nobody_waiting() {
        let (now, later) = (Instant::now(), Instant::now() + Duration::from_secs(9));
        let mut queue = queue(&[("a/1", Priority::Warning), ("b/2", Priority::Good)]);
        queue.rest("a".to_owned(), later);
        assert_eq!((queue.due(now), rest(&mut queue, now)), (Some(now), vec!["b/2".to_owned()]));
        assert_eq!(queue.due(now), Some(later));
        assert_eq!((rest(&mut queue, later), queue.due(later)), (vec!["a/1".to_owned()], None));
    }
}
