//! When the next cycle begins, on a clock that the caller reads; it must not know what a cycle does.

use std::time::Duration;

use crate::apply::Crowd;
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
    crowd: Crowd,
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

    /// The cycle ended. `reload` is what its reload cost, test included, when there was one; `crowd` counts old workers that still serve.
    pub fn ended(&mut self, now: Duration, reload: Option<Duration>, crowd: Crowd) {
        let began = self.running_since.take();
        let idle = began.filter(|_| reload.is_none());
        self.rests = idle.map_or(Duration::ZERO, |began| now + now.saturating_sub(began));
        if let (Some(began), Some(cost)) = (began, reload) {
            self.last = Some(Reload { began, cost, crowd });
        }
    }

    /// How many old workers still serve, as seen since.
    pub fn crowd(&mut self, crowd: Crowd) {
        if let Some(last) = &mut self.last {
            last.crowd = crowd;
        }
    }

    /// When the next cycle begins: `None` while one runs or nothing waits. A moment that has passed means now.
    pub fn due(&self) -> Option<Duration> {
        let waiting_since = self.waiting_since.filter(|_| self.running_since.is_none())?;
        let gathered = waiting_since + self.rules.gather;
        let after_last = |space: fn(&Self, Reload) -> Duration| {
            self.last.map_or(Duration::ZERO, |last| last.began + space(self, last))
        };
        let latest = waiting_since + self.rules.ceiling;
        let soon = gathered.max(after_last(Self::spacing)).max(self.rests).min(latest);
        Some(soon.max(after_last(Self::crowded_spacing)))
    }

    /// Each old worker costs memory until its last connection ends: the more there are, the longer the next reload waits.
    fn spacing(&self, last: Reload) -> Duration {
        let crowd = u32::try_from(last.crowd.draining).unwrap_or(u32::MAX).saturating_add(1);
        last.cost.saturating_mul(crowd).max(self.rules.spacing)
    }

    /// What no change is too urgent for: the closer old workers come to their ceiling, the more time they get to end by themselves.
    /// At the ceiling the oldest are ended, so that nobody's connections keep everybody's changes waiting for longer than this.
    fn crowded_spacing(&self, last: Reload) -> Duration {
        let (part, whole) = last.crowd.pressure();
        let of = |number| u32::try_from(number).unwrap_or(u32::MAX);
        self.rules.crowded_spacing.saturating_mul(of(part)) / of(whole)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    enum Step {
        Change(u64),
        /// A cycle of 10 ms that begins here, with what a reload cost and how many workers drain then, of 100 that may.
        Cycle(u64, Option<u64>, usize),
        /// So many workers drain now.
        Drain(usize),
        Due(Option<u64>),
    }
    use Step::{Change, Cycle, Drain, Due};

    const fn milliseconds(number: u64) -> Duration {
        Duration::from_millis(number)
    }

    const fn crowd(draining: usize) -> Crowd {
        Crowd { draining, most: 100 }
    }

    /// The least time between reloads counts up to a second, but for old workers.
    fn rules(spacing: u64) -> Pacing {
        Pacing {
            gather: milliseconds(20),
            spacing: milliseconds(spacing),
            ceiling: milliseconds(1000),
            crowded_spacing: milliseconds(5000),
            ..Pacing::default()
        }
    }

    #[test]
    fn tables() {
        let rules = rules(500);
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
            ("while old workers are few", &[Change(0), Cycle(20, Some(50), 60), Change(100), Due(Some(1100))]),
            ("the more there are", &[Change(0), Cycle(20, Some(50), 75), Change(100), Due(Some(2520))]),
            ("the more it waits", &[Change(0), Cycle(20, Some(50), 90), Change(100), Due(Some(4020))]),
            ("as many as may be", &[Change(0), Cycle(20, Some(50), 100), Change(100), Due(Some(5020))]),
            (
                "more than may be keep nobody for ever",
                &[Change(0), Cycle(20, Some(50), 900), Change(1), Due(Some(5020))],
            ),
            ("they have ended", &[Change(0), Cycle(20, Some(50), 100), Change(100), Drain(10), Due(Some(570))]),
            (
                "a change long after waits for none",
                &[Change(0), Cycle(20, Some(50), 100), Change(9000), Due(Some(9020))],
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
                        pacer.ended(milliseconds(began + 10), cost.map(milliseconds), crowd(draining));
                    }
                    Drain(draining) => pacer.crowd(crowd(draining)),
                    Due(expected) => assert_eq!(pacer.due(), expected.map(milliseconds), "{name}"),
                }
            }
        }
    }

    #[test]
    fn a_change_during_a_cycle_waits_for_its_end() {
        let mut pacer = Pacer::new(rules(0));
        pacer.changed(milliseconds(0));
        assert_eq!(pacer.began(milliseconds(20)), Some(milliseconds(0)));
        pacer.changed(milliseconds(30));
        assert_eq!(pacer.due(), None);
        pacer.ended(milliseconds(3020), Some(milliseconds(3000)), crowd(0));
        assert_eq!(pacer.due(), Some(milliseconds(1030)), "it has passed: the next cycle begins at once");
    }

    #[test]
    fn connections_that_never_end_last_for_a_while_and_hold_up_nobody() {
        let rules = Pacing { crowded_spacing: milliseconds(5000), ..rules(1000) };
        let (mut pacer, mut draining, mut began, mut longest) = (Pacer::new(rules), 0, vec![], 0);
        for now in (0..300_000).step_by(10) {
            pacer.changed(milliseconds(now));
            if pacer.due().is_some_and(|due| due <= milliseconds(now)) {
                pacer.began(milliseconds(now));
                // Each reload adds a generation, and at the ceiling one has ended before.
                draining = (draining + 2).min(16);
                pacer.ended(milliseconds(now + 5), Some(milliseconds(60)), Crowd::of(draining, 2, 8));
                longest = longest.max(now - began.last().unwrap_or(&now));
                began.push(now);
            }
        }
        assert_eq!((longest, draining), (5000, 16));
        // A generation drains from the reload that replaces it until the eighth one after that makes room.
        let shortest = began.windows(9).map(|reloads| reloads[8] - reloads[0]).min();
        assert!(shortest.is_some_and(|shortest| shortest >= 16_000), "{shortest:?}");
        assert!(began.windows(9).rev().take(10).all(|reloads| reloads[8] - reloads[0] == 40_000));
    }

    #[test]
    fn under_steady_churn_reloads_come_once_a_second() {
        let mut pacer = Pacer::new(rules(1000));
        let mut reloads = 0;
        for now in (0..60_000).step_by(10) {
            pacer.changed(milliseconds(now));
            if pacer.due().is_some_and(|due| due <= milliseconds(now)) {
                pacer.began(milliseconds(now));
                pacer.ended(milliseconds(now + 5), Some(milliseconds(60)), crowd(2));
                reloads += 1;
            }
        }
        assert_eq!(reloads, 60);
    }
}
