//! When the next cycle begins, on a clock that the caller reads; it must not know what a cycle does.

use std::time::Duration;

use crate::config::Pacing;

/// Decides when changes are carried out. Every moment is a duration since some fixed start.
#[derive(Debug)]
pub struct Pacer {
    rules: Pacing,
    /// When the oldest change came that no cycle has picked up.
    waiting_since: Option<Duration>,
    /// The reload that began last.
    last: Option<Reload>,
    /// When the running cycle began.
    running_since: Option<Duration>,
    /// Until when there is rest after a cycle without a reload: objects that change all the time and mean nothing to nginx take no
    /// more than half of a processor.
    rests: Duration,
}

#[derive(Debug, Clone, Copy)]
struct Reload {
    began: Duration,
    cost: Duration,
    draining: usize,
}

impl Pacer {
    /// A pacer at rest.
    pub fn new(rules: Pacing) -> Self {
        Pacer { rules, waiting_since: None, last: None, running_since: None, rests: Duration::ZERO }
    }

    /// Something changed.
    pub fn changed(&mut self, now: Duration) {
        self.waiting_since.get_or_insert(now);
    }

    /// A cycle begins and takes every change so far with it. Gives the moment of the oldest.
    pub fn began(&mut self, now: Duration) -> Option<Duration> {
        self.running_since = Some(now);
        self.waiting_since.take()
    }

    /// The cycle ended. `reload` is what its reload cost, test included, when there was one; `draining` counts old workers that still serve.
    pub fn ended(&mut self, now: Duration, reload: Option<Duration>, draining: usize) {
        let began = self.running_since.take();
        let idle = began.filter(|_| reload.is_none());
        self.rests = idle.map_or(Duration::ZERO, |began| now + now.saturating_sub(began));
        if let (Some(began), Some(cost)) = (began, reload) {
            self.last = Some(Reload { began, cost, draining });
        }
    }

    /// How many old workers still serve, as seen since.
    pub fn draining(&mut self, workers: usize) {
        if let Some(last) = &mut self.last {
            last.draining = workers;
        }
    }

    /// When the next cycle begins: `None` while one runs or nothing waits. A moment that has passed means now.
    pub fn due(&self) -> Option<Duration> {
        let waiting_since = self.waiting_since.filter(|_| self.running_since.is_none())?;
        let gathered = waiting_since + self.rules.gather;
        let spaced = self.last.map_or(Duration::ZERO, |last| last.began + self.spacing(last));
        let latest = waiting_since + self.rules.ceiling;
        Some(gathered.max(spaced).max(self.rests).min(latest))
    }

    /// Each old worker costs memory until its last connection ends: the more there are, the longer the next reload waits.
    fn spacing(&self, last: Reload) -> Duration {
        let crowd = u32::try_from(last.draining).unwrap_or(u32::MAX).saturating_add(1);
        last.cost.saturating_mul(crowd).max(self.rules.spacing)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    enum Step {
        Change(u64),
        /// A cycle of 10 ms that begins here, with what a reload cost and how many workers drain.
        Cycle(u64, Option<u64>, usize),
        Due(Option<u64>),
    }
    use Step::{Change, Cycle, Due};

    const fn milliseconds(number: u64) -> Duration {
        Duration::from_millis(number)
    }

    #[test]
    fn tables() {
        let rules = Pacing {
            gather: milliseconds(20),
            spacing: milliseconds(500),
            ceiling: milliseconds(1000),
            recheck: Duration::ZERO,
        };
        let tables: &[(&str, &[Step])] = &[
            ("nothing waits", &[Due(None)]),
            ("at rest a change goes after its siblings", &[Change(100), Due(Some(120)), Change(110), Due(Some(120))]),
            ("a cycle takes every change with it", &[Change(100), Change(110), Cycle(120, Some(50), 0), Due(None)]),
            ("soon after a reload the next waits", &[Change(0), Cycle(20, Some(50), 0), Change(100), Due(Some(520))]),
            ("long after it does not", &[Change(0), Cycle(20, Some(50), 0), Change(900), Due(Some(920))]),
            ("without a reload nothing waits", &[Change(0), Cycle(20, None, 0), Change(100), Due(Some(120))]),
            ("but for as long as the work took", &[Change(0), Cycle(20, None, 0), Change(1), Due(Some(40))]),
            ("a dear reload spaces more", &[Change(0), Cycle(20, Some(700), 0), Change(100), Due(Some(720))]),
            ("draining workers too", &[Change(0), Cycle(20, Some(200), 3), Change(100), Due(Some(820))]),
            (
                "but nothing waits longer than the ceiling",
                &[Change(0), Cycle(20, Some(900), 50), Change(1000), Due(Some(2000))],
            ),
        ];
        for (name, steps) in tables {
            let mut pacer = Pacer::new(rules);
            for step in *steps {
                match *step {
                    Change(now) => pacer.changed(milliseconds(now)),
                    Cycle(began, cost, draining) => {
                        pacer.began(milliseconds(began));
                        assert_eq!(pacer.due(), None, "{name}: no second cycle while one runs");
                        pacer.ended(milliseconds(began + 10), cost.map(milliseconds), draining);
                    }
                    Due(expected) => assert_eq!(pacer.due(), expected.map(milliseconds), "{name}"),
                }
            }
        }
    }

    #[test]
    fn a_change_during_a_cycle_waits_for_its_end() {
        let rules = Pacing {
            gather: milliseconds(20),
            spacing: milliseconds(0),
            ceiling: milliseconds(1000),
            recheck: Duration::ZERO,
        };
        let mut pacer = Pacer::new(rules);
        pacer.changed(milliseconds(0));
        assert_eq!(pacer.began(milliseconds(20)), Some(milliseconds(0)));
        pacer.changed(milliseconds(30));
        assert_eq!(pacer.due(), None);
        pacer.ended(milliseconds(3020), Some(milliseconds(3000)), 0);
        assert_eq!(pacer.due(), Some(milliseconds(1030)), "it has passed: the next cycle begins at once");
    }

    #[test]
    fn under_steady_churn_reloads_come_once_a_second() {
        let rules = Pacing {
            gather: milliseconds(20),
            spacing: milliseconds(1000),
            ceiling: milliseconds(1000),
            recheck: Duration::ZERO,
        };
        let mut pacer = Pacer::new(rules);
        let mut reloads = 0;
        for now in (0..60_000).step_by(10) {
            pacer.changed(milliseconds(now));
            if pacer.due().is_some_and(|due| due <= milliseconds(now)) {
                pacer.began(milliseconds(now));
                pacer.ended(milliseconds(now + 5), Some(milliseconds(60)), 2);
                reloads += 1;
            }
        }
        assert_eq!(reloads, 60);
    }
}
