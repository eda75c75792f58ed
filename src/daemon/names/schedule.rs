//! Which name is queried next, and when again: each namespace has its share of the queries.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::{Duration, Instant};

use ingressd_model::HostName;
use ingressd_translate::Namespaces;

/// How many names are queried at once, and how many of one namespace.
pub const MOST_QUESTIONS: usize = 64;
const OF_NAMESPACE: usize = 8;

/// The longest time until a name is queried again, whatever the TTL of its answer is.
const LONGEST: Duration = Duration::from_secs(300);

/// The longest time until a name without an answer is queried again.
pub const LONGEST_FAILING: Duration = Duration::from_secs(60);

/// The time limit of a query, and of one for a name whose last query failed.
pub const DEADLINE: Duration = Duration::from_secs(5);
const DEADLINE_FAILING: Duration = Duration::from_secs(2);

/// The names that are wanted, and those that are being queried.
#[derive(Debug)]
pub struct Schedule {
    /// The least time between two queries for a name.
    least: Duration,
    wanted: BTreeMap<HostName, Turn>,
    /// The namespaces of each name that is being queried, even when it is not wanted any more.
    asking: BTreeMap<HostName, Namespaces>,
}

#[derive(Debug)]
struct Turn {
    namespaces: Namespaces,
    due: Instant,
    /// How many queries failed in a row.
    failures: u32,
}

impl Schedule {
    /// A schedule without names.
    pub fn new(least: Duration) -> Self {
        Schedule { least, wanted: BTreeMap::new(), asking: BTreeMap::new() }
    }

    /// Sets the names that are wanted from now on.
    pub fn want(&mut self, names: BTreeMap<HostName, Namespaces>, now: Instant) {
        let mut before = std::mem::take(&mut self.wanted);
        let turn = |(name, namespaces)| {
            let known = before.remove(&name).map(|turn: Turn| (turn.due, turn.failures));
            let (due, failures) = known.unwrap_or((now, 0));
            (name, Turn { namespaces, due, failures })
        };
        self.wanted = names.into_iter().map(turn).collect();
    }

    /// The namespaces that want a name.
    pub fn namespaces(&self, name: &HostName) -> Option<&Namespaces> {
        self.wanted.get(name).map(|turn| &turn.namespaces)
    }

    /// Takes the name to query now, with its time limit: a name of the namespace with the fewest
    /// queries, and of those one whose last query succeeded.
    pub fn take(&mut self, now: Instant) -> Option<(HostName, Duration)> {
        if self.asking.len() >= MOST_QUESTIONS {
            return None;
        }
        let mut busy = HashMap::<&Arc<str>, usize>::new();
        for namespace in self.asking.values().flatten() {
            *busy.entry(namespace).or_default() += 1;
        }
        let due = self.wanted.iter().filter(|(name, turn)| turn.due <= now && !self.asking.contains_key(*name));
        let candidates = due.flat_map(|(name, turn)| {
            let questions = turn.namespaces.iter().map(|namespace| busy.get(namespace).copied().unwrap_or(0));
            let fewest = questions.min().filter(|questions| *questions < OF_NAMESPACE)?;
            Some((fewest, turn.failures > 0, turn.due, name))
        });
        let (_, fails, _, name) = candidates.min()?;
        let name = name.clone();
        self.asking.insert(name.clone(), self.wanted[&name].namespaces.clone());
        Some((name, if fails { DEADLINE_FAILING } else { DEADLINE }))
    }

    /// When the next name is due that is not being queried; a due name without a free place waits
    /// for an answer instead.
    pub fn next(&self, now: Instant) -> Option<Instant> {
        let waiting = self.wanted.iter().filter(|(name, _)| !self.asking.contains_key(*name));
        waiting.map(|(_, turn)| turn.due).filter(|due| *due > now).min()
    }

    /// Records the end of a query: with an answer that is valid for so long, or without one.
    /// Returns whether the name is still wanted.
    pub fn answered(&mut self, name: &HostName, lasts: Option<Duration>, now: Instant) -> bool {
        self.asking.remove(name);
        let Some(turn) = self.wanted.get_mut(name) else { return false };
        let pause = match lasts {
            Some(lasts) => {
                turn.failures = 0;
                lasts.min(LONGEST).max(self.least)
            }
            None => {
                let pause = self.least.saturating_mul(1 << turn.failures.min(16));
                turn.failures += 1;
                pause.min(LONGEST_FAILING).max(self.least)
            }
        };
        turn.due = now + pause;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEAST: Duration = Duration::from_secs(5);

    fn name(text: &str) -> HostName {
        HostName::new(text).unwrap()
    }

    /// A schedule with this many names of each namespace, `0.NAMESPACE` and so on.
    fn schedule(namespaces: &[(&str, usize)], now: Instant) -> Schedule {
        let mut schedule = Schedule::new(LEAST);
        let of = |(namespace, count): &(&str, usize)| {
            let namespace: Arc<str> = (*namespace).into();
            let named =
                move |number| (name(&format!("{number:03}.{namespace}")), Namespaces::from([Arc::clone(&namespace)]));
            (0..*count).map(named).collect::<Vec<_>>()
        };
        schedule.want(namespaces.iter().flat_map(of).collect(), now);
        schedule
    }

    fn take_all(schedule: &mut Schedule, now: Instant) -> Vec<String> {
        std::iter::from_fn(|| schedule.take(now)).map(|(name, _)| name.to_string()).collect()
    }

    #[test]
    fn names_that_never_answer_hold_no_place_that_others_need() {
        let now = Instant::now();
        let bulks: Vec<_> = (0..30).map(|number| format!("crowd{number:02}")).collect();
        let mut namespaces = vec![("one", 300)];
        let mut schedule = schedule(&namespaces, now);
        assert_eq!(take_all(&mut schedule, now).len(), OF_NAMESPACE, "one namespace alone");
        namespaces.extend(bulks.iter().map(|bulk| (bulk.as_str(), 300)));
        schedule = self::schedule(&namespaces, now);
        let first = take_all(&mut schedule, now);
        assert_eq!(first.len(), MOST_QUESTIONS, "many together");
        let of_one = first.iter().filter(|name| name.ends_with(".one")).count();
        assert_eq!(of_one, 2, "have the same share each");
        // A victim comes, and one query ends.
        namespaces.push(("victim", 1));
        let wanted = self::schedule(&namespaces, now).wanted;
        schedule.want(wanted.into_iter().map(|(name, turn)| (name, turn.namespaces)).collect(), now);
        assert_eq!(schedule.take(now), None);
        schedule.answered(&name(&first[0]), None, now);
        assert_eq!(take_all(&mut schedule, now), ["000.victim"]);
    }

    #[test]
    fn a_name_of_several_namespaces_has_the_place_of_the_one_that_has_room() {
        let now = Instant::now();
        let mut schedule = schedule(&[("crowd", 100)], now);
        let mut names: BTreeMap<_, _> =
            schedule.wanted.iter().map(|(name, turn)| (name.clone(), turn.namespaces.clone())).collect();
        names.insert(name("zz.shared"), ["crowd", "victim"].map(Arc::from).into());
        schedule.want(names, now);
        assert!(take_all(&mut schedule, now).contains(&"zz.shared".to_owned()));
    }

    #[test]
    fn what_fails_is_asked_ever_more_seldom_with_less_patience_and_after_the_others() {
        let mut now = Instant::now();
        let mut schedule = schedule(&[("a", 1)], now);
        let only = name("000.a");
        let mut pauses = Vec::new();
        for _ in 0..6 {
            let (taken, patience) = schedule.take(now).unwrap();
            let is_first = pauses.is_empty();
            assert_eq!((taken, patience), (only.clone(), if is_first { DEADLINE } else { DEADLINE_FAILING }));
            assert_eq!(schedule.next(now), None, "it is being asked for");
            assert!(schedule.answered(&only, None, now));
            let next = schedule.next(now).unwrap();
            pauses.push((next - now).as_secs());
            assert_eq!(schedule.take(now), None);
            now = next;
        }
        assert_eq!(pauses, [5, 10, 20, 40, 60, 60]);
        let mut both = self::schedule(&[("a", 2)], now);
        both.answered(&only, None, now - LEAST);
        assert_eq!(take_all(&mut both, now), ["001.a", "000.a"]);
        for (lasts, expected) in [(0, 5), (60, 60), (86_400, 300)] {
            schedule.take(now);
            schedule.answered(&only, Some(Duration::from_secs(lasts)), now);
            assert_eq!(schedule.next(now), Some(now + Duration::from_secs(expected)));
            now += Duration::from_secs(expected);
        }
        schedule.take(now);
        schedule.want(BTreeMap::new(), now);
        assert!(!schedule.answered(&only, Some(LEAST), now), "it is wanted no longer");
    }
}
