//! Old workers that finish their connections: how many there may be, and which end first.

use super::process::{Process, Role, Table};

/// The number of old workers, and the most there may be.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Crowd {
    /// Workers that finish their connections.
    pub draining: usize,
    /// The most that may.
    pub most: usize,
}

impl Crowd {
    /// Computes the limit for `workers` that accept connections and a number of generations that
    /// may drain.
    ///
    /// An old worker costs above all the memory of its configuration, and the workers of one
    /// generation share it: so generations are counted.
    pub fn of(draining: usize, workers: usize, generations: usize) -> Self {
        Crowd { draining, most: generations.saturating_mul(workers.max(1)) }
    }

    /// How far the number has gone from half of the limit to the limit, as a fraction.
    pub fn pressure(self) -> (usize, usize) {
        let most = self.most.max(1);
        (self.draining.saturating_mul(2).saturating_sub(most).min(most), most)
    }
}

/// The workers of one generation start within this time, in ticks of 10 ms; reloads are further
/// apart.
const TOGETHER: u64 = 10;

/// Workers that took connections for so long, in ticks, have gathered most of those that last.
const LONG: u64 = 6000;

/// The workers that have to end before new ones replace the current workers: the oldest, but those
/// that took connections for long come last. A process without further privileges does not see the
/// connections of a worker.
pub fn surplus(table: &Table, generations: usize) -> Vec<Process> {
    let mut draining: Vec<_> = table.in_role(Role::Draining).collect();
    let workers = table.in_role(Role::Worker).count();
    let Crowd { draining: old, most } = Crowd::of(draining.len(), workers, generations);
    let starts = || table.children.iter().map(|(process, _)| process.started);
    let took_long = |process: &Process| {
        let next = starts().filter(|start| *start > process.started + TOGETHER).min();
        next.is_none_or(|next| next - process.started >= LONG)
    };
    draining.sort_by_cached_key(|process| (took_long(process), process.started, process.pid));
    draining.truncate((old + workers).saturating_sub(most));
    draining
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::Effort;

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
            let ended: Vec<_> = surplus(&table(workers, draining), generations).iter().map(|one| one.pid).collect();
            assert_eq!(ended, expected, "{what}");
        }
    }

    #[test]
    fn from_half_of_the_ceiling_on_there_is_pressure() {
        let rows = [(0, (0, 16)), (8, (0, 16)), (9, (2, 16)), (12, (8, 16)), (16, (16, 16)), (40, (16, 16))];
        for (draining, expected) in rows {
            assert_eq!(Crowd::of(draining, 2, 8).pressure(), expected, "{draining}");
        }
        assert_eq!(Crowd::default().pressure(), (0, 1), "of an nginx that nobody has seen");
    }
}
