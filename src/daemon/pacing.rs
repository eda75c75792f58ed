//! Decides when the next cycle begins, on a clock that the caller reads.

use std::time::Duration;

use ingressd_apply::OldWorkers;
use ingressd_config::Pacing;

/// Reloads may take one part in this many of the time: while nginx reads a configuration, it
/// competes with requests for the processors.
const SHARE: u32 = 5;

/// How often old workers are counted while a change waits for them.
const LOOK: Duration = Duration::from_millis(100);

/// Decides when changes are applied. Every time is a duration since some fixed start.
#[derive(Debug)]
pub struct Pacer {
    rules: Pacing,
    /// When the oldest change came that no cycle includes yet.
    waiting_since: Option<Duration>,
    /// The last reload.
    last: Option<Reload>,
    /// The running cycle.
    running: Option<Running>,
    /// The end of the pause after a cycle without a reload: objects that change all the time
    /// without effect on nginx take no more than half of a processor.
    rests: Duration,
    /// The old workers that still serve, and when they were counted.
    old_workers: OldWorkers,
    looked: Duration,
}

#[derive(Debug, Clone, Copy)]
struct Running {
    began: Duration,
    /// How many old workers there were when it began.
    draining: usize,
}

#[derive(Debug, Clone, Copy)]
struct Reload {
    began: Duration,
    cost: Duration,
    /// How many old workers there were before it.
    draining: usize,
}

/// What comes next, and when.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// Count the old workers, because the next cycle depends on them.
    Look(Duration),
    Cycle(Duration),
}

impl Next {
    /// The time. One in the past means now.
    pub fn at(self) -> Duration {
        match self {
            Next::Look(at) | Next::Cycle(at) => at,
        }
    }
}

impl Pacer {
    /// A pacer at rest.
    pub fn new(rules: Pacing) -> Self {
        let (old_workers, zero) = (OldWorkers::default(), Duration::ZERO);
        Pacer { rules, waiting_since: None, last: None, running: None, rests: zero, old_workers, looked: zero }
    }

    /// Records a change.
    pub fn changed(&mut self, now: Duration) {
        self.waiting_since.get_or_insert(now);
    }

    /// Records that a cycle begins, which includes every change so far. Returns the time of the
    /// oldest change.
    pub fn began(&mut self, now: Duration) -> Option<Duration> {
        self.running = Some(Running { began: now, draining: self.old_workers.draining });
        self.waiting_since.take()
    }

    /// Records that the cycle ended. `reload` is the duration of its reload, when there was one.
    pub fn ended(&mut self, now: Duration, reload: Option<Duration>) {
        let running = self.running.take();
        let idle = running.filter(|_| reload.is_none());
        self.rests = idle.map_or(Duration::ZERO, |running| now + now.saturating_sub(running.began));
        if let (Some(Running { began, draining }), Some(cost)) = (running, reload) {
            self.last = Some(Reload { began, cost, draining });
        }
    }

    /// Records the number of old workers.
    pub fn looked(&mut self, now: Duration, old_workers: OldWorkers) {
        (self.looked, self.old_workers) = (now, old_workers);
    }

    /// What comes next: `None` while a cycle runs or nothing waits.
    pub fn next(&self) -> Option<Next> {
        let waiting_since = self.waiting_since.filter(|_| self.running.is_none())?;
        let (gathered, latest) = (waiting_since + self.rules.gather, waiting_since + self.rules.ceiling);
        let after_last = |spacing: Duration| self.last.map_or(Duration::ZERO, |last| last.began + spacing);
        let paced = |spacing| gathered.max(after_last(spacing)).max(self.rests).min(latest);
        let calm = paced(self.spacing());
        let due = paced(self.growing_spacing()).max(self.looked + self.old_workers.pause);
        if self.old_workers.draining == 0 {
            return Some(Next::Cycle(due));
        }
        // Most old workers end while a reload is confirmed or soon after, so earlier numbers are
        // not reliable.
        let look = if self.looked < calm { calm } else { self.looked + LOOK };
        Some(if self.looked < calm || look < due { Next::Look(look) } else { Next::Cycle(due) })
    }

    /// The least time between reloads that leave no old workers behind.
    fn spacing(&self) -> Duration {
        self.last.map_or(Duration::ZERO, |last| last.cost.saturating_mul(SHARE)).max(self.rules.spacing)
    }

    /// The least time between reloads that add old workers. Each costs memory until its last
    /// connection ends, so a change after such a reload waits for as long as any change may: more
    /// frequent reloads must not bring old workers to their limit any sooner.
    fn growing_spacing(&self) -> Duration {
        let has_grown = self.last.is_some_and(|last| self.old_workers.draining > last.draining);
        self.spacing().max(if has_grown { self.rules.ceiling } else { Duration::ZERO })
    }
}

#[cfg(test)]
mod tests {
    use ingressd_apply::Allowance;
    use ingressd_apply::process::{Effort, Process, Role, Table};

    use super::*;

    enum Step {
        Change(u64),
        /// A cycle of 10 ms that begins at this time, with the duration of its reload and how many
        /// workers drain then, of 100 that may.
        Cycle(u64, Option<u64>, usize),
        /// So many workers drain at this time.
        Drain(u64, usize),
        /// The same, and they need so much time.
        Draining(u64, usize, u64),
        /// The next cycle begins at this time, or nothing waits.
        Due(u64),
        Never,
        /// Old workers are counted first, at this time.
        Look(u64),
    }
    use Step::{Change, Cycle, Drain, Draining, Due, Look, Never};

    const fn milliseconds(number: u64) -> Duration {
        Duration::from_millis(number)
    }

    const fn old_workers(draining: usize, pause: u64) -> OldWorkers {
        OldWorkers { draining, most: 100, pause: milliseconds(pause) }
    }

    /// The least time between reloads applies up to a second, except for old workers.
    fn rules(spacing: u64) -> Pacing {
        Pacing {
            gather: milliseconds(20),
            spacing: milliseconds(spacing),
            ceiling: milliseconds(1000),
            ..Pacing::default()
        }
    }

    #[test]
    fn tables() {
        let tables: &[(&str, &[Step])] = &[
            ("nothing waits", &[Never]),
            ("at rest a change goes after its siblings", &[Change(100), Due(120), Change(110), Due(120)]),
            ("a cycle takes every change with it", &[Change(100), Change(110), Cycle(120, Some(50), 0), Never]),
            ("after a cheap reload there is a least time", &[Change(0), Cycle(20, Some(10), 0), Change(40), Due(170)]),
            ("reloads take a fifth of the time", &[Change(0), Cycle(20, Some(50), 0), Change(100), Due(270)]),
            ("long after one nothing waits", &[Change(0), Cycle(20, Some(50), 0), Change(900), Due(920)]),
            ("without a reload nothing waits", &[Change(0), Cycle(20, None, 0), Change(100), Due(120)]),
            ("but for as long as the work took", &[Change(0), Cycle(20, None, 0), Change(1), Due(40)]),
            ("a dear reload spaces more", &[Change(0), Cycle(20, Some(180), 0), Change(100), Due(920)]),
            ("but nothing waits longer than a second", &[Change(0), Cycle(20, Some(900), 0), Change(1000), Due(2000)]),
            (
                "old workers seen right after a reload are looked at again",
                &[Change(0), Cycle(20, Some(50), 2), Change(100), Look(270), Drain(270, 0), Due(270)],
            ),
            (
                "those that were there before it keep nobody waiting",
                &[Change(0), Drain(10, 2), Cycle(20, Some(50), 4), Change(100), Look(270), Drain(273, 2), Due(273)],
            ),
            (
                "those that it added do, for a second",
                &[
                    Change(0),
                    Drain(10, 2),
                    Cycle(20, Some(50), 4),
                    Change(100),
                    Drain(270, 3),
                    Look(370),
                    Drain(980, 3),
                ],
            ),
            (
                "unless they end meanwhile",
                &[Change(0), Cycle(20, Some(50), 2), Change(100), Drain(270, 1), Look(370), Drain(370, 0), Due(370)],
            ),
            ("and no longer", &[Change(0), Cycle(20, Some(50), 2), Change(100), Drain(950, 2), Due(1020)]),
            (
                "while old workers are few, no longer than that",
                &[Change(0), Cycle(20, Some(50), 60), Change(100), Drain(1000, 60), Due(1020)],
            ),
            (
                "those that need time get it",
                &[
                    Change(0),
                    Cycle(20, Some(50), 75),
                    Change(100),
                    Draining(1000, 75, 7000),
                    Look(1100),
                    Draining(7950, 75, 50),
                    Due(8000),
                ],
            ),
            (
                "they have ended",
                &[
                    Change(0),
                    Cycle(20, Some(50), 100),
                    Change(100),
                    Draining(700, 100, 9000),
                    Look(800),
                    Drain(800, 0),
                    Due(800),
                ],
            ),
            (
                "a change long after waits for none",
                &[Change(0), Cycle(20, Some(50), 100), Change(9000), Look(9020), Drain(9021, 100), Due(9021)],
            ),
        ];
        for (name, steps) in tables {
            let mut pacer = Pacer::new(rules(150));
            for step in *steps {
                let next = |expected| assert_eq!(pacer.next(), expected, "{name}");
                match *step {
                    Change(now) => pacer.changed(milliseconds(now)),
                    Cycle(began, cost, draining) => {
                        pacer.began(milliseconds(began));
                        assert_eq!(pacer.next(), None, "{name}: no second cycle while one runs");
                        pacer.looked(milliseconds(began + 10), old_workers(draining, 0));
                        pacer.ended(milliseconds(began + 10), cost.map(milliseconds));
                    }
                    Drain(now, draining) => pacer.looked(milliseconds(now), old_workers(draining, 0)),
                    Draining(now, draining, pause) => pacer.looked(milliseconds(now), old_workers(draining, pause)),
                    Due(at) => next(Some(Next::Cycle(milliseconds(at)))),
                    Look(at) => next(Some(Next::Look(milliseconds(at)))),
                    Never => next(None),
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
        assert_eq!(pacer.next(), None);
        pacer.ended(milliseconds(3020), Some(milliseconds(3000)));
        let passed = Some(Next::Cycle(milliseconds(1030)));
        assert_eq!(pacer.next(), passed, "it has passed: the next cycle begins at once");
    }

    /// A simulation of an nginx with two workers that is changed all the time, for five minutes.
    struct Churn {
        rules: Pacing,
        /// The duration of a reload.
        cost: u64,
        /// How long old workers serve, by the number of their reload.
        serves: fn(usize) -> u64,
    }

    /// The result of the simulation.
    struct Outcome {
        /// When each reload began.
        reloads: Vec<u64>,
        /// How long old workers had served when they were ended for others.
        cut: Vec<u64>,
        most: usize,
    }

    impl Churn {
        const ALLOWED: Allowance = Allowance { generations: 8, time: milliseconds(40_000) };

        /// nginx's processes, where two old workers began to drain at each of these times.
        fn table(now: u64, reloads: &[u64], old: &[(u64, u64)]) -> Table {
            let start = |since: u64| {
                reloads.iter().rev().find(|reload| **reload < since).map_or(1, |reload| 1000 + reload / 10)
            };
            let pair = |started, role| (0..2).map(move |pid| (Process { pid, started }, role));
            let old = old.iter().flat_map(|(since, _)| pair(start(*since), Role::Draining));
            let children = old.chain(pair(start(u64::MAX), Role::Worker)).collect();
            let master = Process { pid: 1, started: 0 };
            Table { at: 1000 + now / 10, master, effort: Effort::default(), children }
        }

        fn run(&self) -> Outcome {
            let mut pacer = Pacer::new(self.rules);
            // When two old workers began to drain, and when they end.
            let mut old: Vec<(u64, u64)> = Vec::new();
            let mut outcome = Outcome { reloads: Vec::new(), cut: Vec::new(), most: 0 };
            for now in (0..300_000).step_by(10) {
                old.retain(|(_, end)| now < *end);
                pacer.changed(milliseconds(now));
                let seen =
                    |reloads: &[u64], old: &[_]| OldWorkers::of(Some(&Self::table(now, reloads, old)), Self::ALLOWED);
                while let Some(next) = pacer.next().filter(|next| next.at() <= milliseconds(now)) {
                    if let Next::Look(_) = next {
                        pacer.looked(milliseconds(now), seen(&outcome.reloads, &old));
                        continue;
                    }
                    pacer.began(milliseconds(now));
                    if old.len() == Self::ALLOWED.generations {
                        let (since, _) = old.remove(0);
                        outcome.cut.push(now - since);
                    }
                    old.push((now, now + (self.serves)(outcome.reloads.len())));
                    outcome.most = outcome.most.max(old.len());
                    outcome.reloads.push(now);
                    pacer.looked(milliseconds(now + 5), seen(&outcome.reloads, &old));
                    pacer.ended(milliseconds(now + 5), Some(milliseconds(self.cost)));
                }
            }
            outcome
        }
    }

    fn gaps(reloads: &[u64]) -> impl Iterator<Item = u64> {
        reloads.windows(2).map(|pair| pair[1] - pair[0])
    }

    #[test]
    fn under_steady_churn_reloads_follow_their_cost() {
        let within_moments = |_| 120;
        for (cost, gap) in [(20, 150), (40, 200), (60, 300), (150, 750), (200, 1000), (900, 1000)] {
            let outcome = Churn { rules: rules(150), cost, serves: within_moments }.run();
            let off = gaps(&outcome.reloads).find(|found| !(gap..=gap + 30).contains(found));
            assert_eq!(off, None, "{cost}");
        }
        // A setting of one second is respected.
        let outcome = Churn { rules: rules(1000), cost: 40, serves: within_moments }.run();
        assert_eq!(gaps(&outcome.reloads).find(|gap| *gap != 1000), None);
    }

    #[test]
    fn connections_that_last_and_are_not_made_anew_hardly_delay_reloads() {
        let outcome =
            Churn { rules: rules(150), cost: 40, serves: |number| if number == 3 { 200_000 } else { 50 } }.run();
        assert_eq!((outcome.most, gaps(&outcome.reloads).filter(|gap| *gap > 230).count()), (2, 1));
    }

    #[test]
    fn connections_that_never_end_get_their_time() {
        let outcome = Churn { rules: rules(150), cost: 40, serves: |_| u64::MAX / 2 }.run();
        assert_eq!(outcome.most, Churn::ALLOWED.generations);
        assert!(outcome.cut.len() > 40 && outcome.cut.iter().all(|lasted| *lasted >= 40_000), "{:?}", outcome.cut);
        // A change waits a little longer after the first changes, which nothing held up.
        let longest = gaps(&outcome.reloads).max();
        assert!(longest.is_some_and(|gap| (5_000..10_000).contains(&gap)), "{:?}", outcome.reloads);
    }

    #[test]
    fn a_lasting_connection_among_short_ones_is_kept_as_long() {
        let patterns: [fn(usize) -> u64; 4] = [
            |number| if number % 2 == 0 { u64::MAX / 2 } else { 40 },
            |number| if number % 5 == 0 { u64::MAX / 2 } else { 40 },
            |number| if number % 3 == 0 { 200_000 } else { 900 },
            |number| [200_000, 4_000, 40, 900, 40, 2_000][number % 6],
        ];
        for (number, serves) in patterns.into_iter().enumerate() {
            let outcome = Churn { rules: rules(150), cost: 40, serves }.run();
            assert!(!outcome.cut.is_empty() && outcome.cut.iter().all(|lasted| *lasted >= 40_000), "{number}");
        }
    }
}
