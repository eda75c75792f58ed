//! Old workers that finish their connections: how many there may be, which end first, and when the
//! next reload leaves them the time that they are promised.

use std::time::Duration;

use super::process::{Process, Role, Table};

/// How much old workers are given.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Allowance {
    /// How many generations of them may finish their connections at once.
    ///
    /// An old worker costs above all the memory of its configuration, and the workers of one
    /// generation share it: so generations are counted.
    pub generations: usize,
    /// How long each may at least.
    pub time: Duration,
}

/// The number of old workers, and the most there may be.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct OldWorkers {
    /// Workers that finish their connections.
    pub draining: usize,
    /// The most that may.
    pub most: usize,
    /// How long the next reload waits from now on, so that none has to end before its time.
    pub pause: Duration,
}

/// The workers of one generation start within this time, in ticks of 10 ms; reloads are further
/// apart.
const TOGETHER: u64 = 10;

/// Workers that took connections for so long, in ticks, have gathered most of those that last.
const LONG: u64 = 6000;

impl OldWorkers {
    /// The old workers of this nginx; without a table nothing runs.
    pub fn of(table: Option<&Table>, allowed: Allowance) -> Self {
        let Some(table) = table else { return OldWorkers { most: allowed.generations, ..OldWorkers::default() } };
        let draining = table.in_role(Role::Draining).count();
        let most = allowed.generations.saturating_mul(table.in_role(Role::Worker).count().max(1));
        let old_workers = OldWorkers { draining, most, pause: Duration::ZERO };
        OldWorkers {
            pause: if old_workers.are_many() { pause(table, most, allowed.time) } else { Duration::ZERO },
            ..old_workers
        }
    }

    /// Whether there are more than half as many as there may be.
    pub fn are_many(self) -> bool {
        self.draining.saturating_mul(2) > self.most
    }
}

/// An old worker, and when a reload replaced it, in ticks since boot.
struct Old {
    process: Process,
    replaced: u64,
}

/// The old workers in the order in which they end when there are too many: the oldest first, but
/// those that took connections for long come last. A process without further privileges does not
/// see the connections of a worker.
fn order(table: &Table) -> Vec<Old> {
    let starts = || table.children.iter().map(|(process, _)| process.started);
    let old = |process: Process| {
        let next = starts().filter(|start| *start > process.started + TOGETHER).min();
        Old { process, replaced: next.unwrap_or(table.at) }
    };
    let mut draining: Vec<_> = table.in_role(Role::Draining).map(old).collect();
    draining.sort_by_key(|Old { process, replaced }| {
        (replaced.saturating_sub(process.started) >= LONG, process.started, process.pid)
    });
    draining
}

/// How long the next reload waits from now on. Each reload adds as many old workers as there are
/// workers; the reloads until it is the turn of an old worker share the time that it has left.
fn pause(table: &Table, most: usize, time: Duration) -> Duration {
    let Some(last) = table.in_role(Role::Worker).map(|worker| worker.started).max() else { return Duration::ZERO };
    let (old, workers) = (order(table), table.in_role(Role::Worker).count());
    let free = most.saturating_sub(old.len());
    let ticks = |ticks: u64| Duration::from_millis(ticks.saturating_mul(10));
    let spacings = old.iter().enumerate().map(|(number, Old { replaced, .. })| {
        let left = time.saturating_sub(ticks(last.saturating_sub(*replaced)));
        left / u32::try_from((free + number) / workers + 1).unwrap_or(u32::MAX)
    });
    spacings.max().unwrap_or_default().saturating_sub(ticks(table.at.saturating_sub(last)))
}

/// The workers that have to end before new ones replace the current workers.
pub fn surplus(table: &Table, allowed: Allowance) -> Vec<Process> {
    let most = OldWorkers::of(Some(table), allowed).most;
    let mut old = order(table);
    old.truncate((old.len() + table.in_role(Role::Worker).count()).saturating_sub(most));
    old.into_iter().map(|old| old.process).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::Effort;

    fn allowed(generations: usize) -> Allowance {
        Allowance { generations, time: Duration::from_secs(40) }
    }

    fn table(workers: u32, draining: &[(u32, u64)]) -> Table {
        let process = |pid, started| Process { pid, started };
        let old = draining.iter().map(|(pid, started)| (process(*pid, *started), Role::Draining));
        let new = (0..workers).map(|number| (process(900 + number, 9000), Role::Worker));
        Table { at: 10_000, master: process(1, 1), effort: Effort::default(), children: old.chain(new).collect() }
    }

    #[test]
    fn the_oldest_that_did_not_take_connections_for_long_make_room() {
        let old = &[(40, 140), (10, 310), (30, 120), (20, 310), (31, 120)];
        let after_long = &[(30, 100), (31, 7000), (32, 7020), (33, 7045)];
        for (what, workers, draining, generations, expected) in [
            ("nobody drains", 2, &[][..], 2, &[][..]),
            ("there is room", 2, old, 4, &[]),
            ("two old ones, and two that follow", 2, &old[..2], 2, &[]),
            ("by the time of their start, not their number", 2, old, 3, &[30]),
            ("and as many as it takes", 2, old, 2, &[30, 31, 40]),
            ("without a worker that takes connections", 0, old, 4, &[30]),
            ("one that took connections for long stays", 1, after_long, 4, &[31]),
            ("until there is no other", 1, after_long, 1, &[31, 32, 33, 30]),
        ] {
            let ended: Vec<_> =
                surplus(&table(workers, draining), allowed(generations)).iter().map(|one| one.pid).collect();
            assert_eq!(ended, expected, "{what}");
        }
    }

    #[test]
    fn the_time_that_is_left_is_shared_by_the_reloads_until_a_worker_has_to_end() {
        // The workers of now started at 9000 ticks, and it is 10000: the last reload was 10 s ago.
        let seconds = |draining: &[(u32, u64)], generations| {
            OldWorkers::of(Some(&table(1, draining)), allowed(generations)).pause.as_secs()
        };
        let young = &[(1, 8600), (2, 8700), (3, 8800), (4, 8900)];
        for (what, draining, generations, expected) in [
            ("nobody drains", &[][..], 2, 0),
            ("up to half of them", young, 8, 0),
            ("the oldest one has 37 s of 40 from the last reload on, for four reloads", young, 7, 0),
            ("for three", young, 6, 37 / 3 - 10),
            ("for one: it drained for 3 s when the last one came", young, 4, 37 - 10),
            ("the oldest had its time, and the other has 40 s for two", &[(1, 3000), (2, 5000)], 2, 40 / 2 - 10),
        ] {
            assert_eq!(seconds(draining, generations), expected, "{what}");
        }
        assert_eq!(OldWorkers::of(None, allowed(8)), OldWorkers { most: 8, ..OldWorkers::default() });
    }
}
