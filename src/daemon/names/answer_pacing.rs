//! Decides when changed answers are passed on: a namespace whose names change all the time delays
//! only its own.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::{Duration, Instant};

use ingressd_model::HostName;
use ingressd_translate::Namespaces;

/// The longest time between two changed answers of one namespace that are passed on. Each may cost
/// a reload.
const LONGEST: Duration = Duration::from_secs(30);

/// A changed answer that waits to be passed on.
#[derive(Debug)]
pub struct AnswerPacing {
    /// The least time between two changed answers of one namespace that are passed on.
    least: Duration,
    waiting: BTreeMap<HostName, Waiting>,
    paces: HashMap<Arc<str>, Pace>,
}

#[derive(Debug)]
struct Waiting {
    until: Instant,
    /// The namespaces whose pace applies; empty for the first answer of a name.
    namespaces: Namespaces,
}

/// The pace of one namespace.
#[derive(Debug, Clone, Copy)]
struct Pace {
    next: Instant,
    interval: Duration,
}

impl AnswerPacing {
    /// One that has passed nothing on.
    pub fn new(least: Duration) -> Self {
        AnswerPacing { least, waiting: BTreeMap::new(), paces: HashMap::new() }
    }

    /// Records that the answer for a name has changed. A first answer (`is_first`) is passed on at
    /// once. The answer for a name of several namespaces is passed on as soon as one of them may.
    pub fn differs(&mut self, name: &HostName, namespaces: &Namespaces, is_first: bool, now: Instant) {
        if self.waiting.contains_key(name) {
            return;
        }
        let next = |namespace| self.paces.get(namespace).map_or(now, |pace: &Pace| pace.next);
        let waiting = match is_first {
            true => Waiting { until: now, namespaces: Namespaces::new() },
            false => {
                Waiting { until: namespaces.iter().map(next).min().unwrap_or(now), namespaces: namespaces.clone() }
            }
        };
        self.waiting.insert(name.clone(), waiting);
    }

    /// Records that the answer that was passed on for a name is current again, or not needed any
    /// more.
    pub fn drop(&mut self, name: &HostName) {
        self.waiting.remove(name);
    }

    /// When the next answer is to be passed on. A time in the past means now.
    pub fn due(&self) -> Option<Instant> {
        self.waiting.values().map(|waiting| waiting.until).min()
    }

    /// Records that all waiting answers were passed on. Namespaces that had one wait twice as long
    /// until the next, while that goes on.
    pub fn reported(&mut self, now: Instant) {
        self.paces.retain(|_, pace| now < pace.next + pace.interval);
        let namespaces: Namespaces =
            std::mem::take(&mut self.waiting).into_values().flat_map(|waiting| waiting.namespaces).collect();
        for namespace in namespaces {
            let interval = match self.paces.get(&namespace) {
                Some(pace) => (pace.interval * 2).min(LONGEST).max(self.least),
                None => self.least,
            };
            self.paces.insert(namespace, Pace { next: now + interval, interval });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEAST: Duration = Duration::from_secs(5);

    fn name(text: &str) -> HostName {
        HostName::new(text).unwrap()
    }

    fn of(namespaces: &[&str]) -> Namespaces {
        namespaces.iter().map(|namespace| Arc::from(*namespace)).collect()
    }

    #[test]
    fn names_that_change_all_the_time_are_reported_ever_more_seldom() {
        let began = Instant::now();
        let mut pacing = AnswerPacing::new(LEAST);
        let mut reported = Vec::new();
        for second in 0..200 {
            let now = began + Duration::from_secs(second);
            for number in 0..150 {
                pacing.differs(&name(&format!("{number}.x")), &of(&["crowd"]), false, now);
            }
            if pacing.due().is_some_and(|due| due <= now) {
                pacing.reported(now);
                reported.push(second);
            }
        }
        assert_eq!(reported, [0, 5, 15, 35, 65, 95, 125, 155, 185]);
    }

    #[test]
    fn nobody_waits_for_the_names_of_another_namespace_nor_for_a_first_answer() {
        let now = Instant::now();
        let mut pacing = AnswerPacing::new(LEAST);
        pacing.differs(&name("a.x"), &of(&["crowd"]), false, now);
        pacing.reported(now);
        pacing.differs(&name("a.x"), &of(&["crowd"]), false, now);
        assert_eq!(pacing.due(), Some(now + LEAST));
        pacing.differs(&name("b.x"), &of(&["crowd"]), true, now);
        assert_eq!(pacing.due(), Some(now), "nothing is known of it");
        pacing.drop(&name("b.x"));
        pacing.differs(&name("shared.x"), &of(&["crowd", "victim"]), false, now);
        assert_eq!(pacing.due(), Some(now), "it is the victim's as well");
        pacing.reported(now);
        assert_eq!(pacing.due(), None, "what waited is told with it");
        // After a quiet time an answer is passed on at once.
        let later = now + LEAST * 4;
        pacing.differs(&name("a.x"), &of(&["crowd"]), false, later);
        assert!(pacing.due().is_some_and(|due| due <= later));
        pacing.reported(later);
        pacing.differs(&name("a.x"), &of(&["crowd"]), false, later);
        assert_eq!(pacing.due(), Some(later + LEAST));
    }
}
