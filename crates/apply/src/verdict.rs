//! Whether nginx runs a generation, judged from two process tables and a number; it must not know
//! how they were read.

use ingressd_model::finding::count;
use std::fmt;

use super::process::{Process, Role, Table};

/// How long the newest worker must have run, in clock ticks, before an unexpected number of
/// workers is taken as the administrator's choice.
///
/// nginx tells its old workers to finish 100 ms after it started the new ones.
const SETTLED: u64 = 100;

/// What the process tables prove.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProcessVerdict {
    /// Every worker that accepts connections runs the generation.
    Confirmed,
    /// Not yet.
    Pending(Pending),
    /// The generation cannot be confirmed any more.
    Impossible(Impossible),
}

/// What is still missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pending {
    /// No worker was started since SIGHUP.
    NoNewWorker,
    /// This many old workers still accept connections.
    Old(usize),
    /// There are fewer or more workers than expected, and they have just been started.
    Count {
        /// Workers that accept connections.
        workers: usize,
        /// The expected number.
        expected: usize,
    },
    /// The workers are new, but they report another generation, or none.
    Serves(Option<u64>),
    /// Another master, from before an upgrade of the binary, has workers that accept connections.
    Predecessor(u32),
    /// It could not be looked at, which says nothing about nginx.
    Unseen,
}

impl Pending {
    /// Whether nginx may still be reading, so that a smaller configuration would be confirmed.
    /// Workers that serve another generation have read a whole one, just not ours.
    pub fn is_of_reading(self) -> bool {
        matches!(self, Pending::NoNewWorker | Pending::Old(_) | Pending::Count { .. })
    }
}

/// Why the generation cannot be confirmed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Impossible {
    /// Another master runs than the one that got the signal.
    OtherMaster,
}

impl fmt::Display for Pending {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Pending::NoNewWorker => formatter.write_str("nginx started no new worker"),
            Pending::Old(old) => formatter.write_str(&count(
                *old,
                "old worker still takes connections",
                "old workers still take connections",
            )),
            Pending::Count { workers, expected } => {
                let workers = count(*workers, "worker takes", "workers take");
                write!(formatter, "{workers} connections where {expected} are expected")
            }
            Pending::Serves(Some(number)) => {
                write!(
                    formatter,
                    "the new workers served generation {number} (does nginx.conf include the files of ingressd?)"
                )
            }
            Pending::Unseen => formatter.write_str("this host ran short of what is needed to look at nginx"),
            Pending::Predecessor(pid) => {
                write!(
                    formatter,
                    "the workers of master {pid} take connections, too, which was told to change its binary"
                )
            }
            Pending::Serves(None) => formatter.write_str(
                "the status address did not answer with a generation (does nginx.conf include the files of ingressd?)",
            ),
        }
    }
}

impl fmt::Display for Impossible {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("the nginx master was replaced")
    }
}

/// Judges after a SIGHUP: `before` was read right before it, `now` after it; `served` is the
/// number that the status address reports.
pub fn after_hang_up(before: &Table, now: &Table, wanted: u64, served: Option<u64>) -> ProcessVerdict {
    if now.master != before.master {
        return ProcessVerdict::Impossible(Impossible::OtherMaster);
    }
    let known = |process| before.children.iter().any(|(old, _)| *old == process);
    let old = now.in_role(Role::Worker).filter(|process| known(*process)).count();
    let started = now.in_role(Role::Worker).filter(|process| !known(*process)).count();
    match (started, old) {
        (0, _) => ProcessVerdict::Pending(Pending::NoNewWorker),
        (_, 1..) => ProcessVerdict::Pending(Pending::Old(old)),
        _ => settled(now, before.in_role(Role::Worker).count(), wanted, served),
    }
}

/// The workers from before a SIGHUP that have been replaced by as many new ones. The master tells
/// them to finish too, but sleeps for 100 ms first, and meanwhile they take most new connections.
pub fn replaced(before: &Table, now: &Table) -> Vec<Process> {
    let is_old = |process: &Process| before.children.iter().any(|(old, _)| old == process);
    let (old, new): (Vec<_>, Vec<_>) = now.in_role(Role::Worker).partition(is_old);
    // Fewer new workers may be a crashed one that was restarted while the master still reads: it
    // runs the old configuration. And right after the start of nginx some may have no title yet.
    let needed = before.in_role(Role::Worker).count().max(old.len()).max(1);
    if now.master == before.master && new.len() >= needed { old } else { Vec::new() }
}

/// Judges a master that read its configuration by itself, for example one that was just started.
pub fn at_rest(now: &Table, wanted: u64, served: Option<u64>) -> ProcessVerdict {
    match now.in_role(Role::Worker).count() {
        0 => ProcessVerdict::Pending(Pending::NoNewWorker),
        _ => settled(now, 0, wanted, served),
    }
}

/// A worker that crashed and was restarted before nginx read its configuration looks new and runs
/// the old one: it shows as one too many until it is told to finish. So an unexpected number
/// counts only after it has stood for a while.
fn settled(now: &Table, expected: usize, wanted: u64, served: Option<u64>) -> ProcessVerdict {
    let workers = now.in_role(Role::Worker).count();
    let newest = now.in_role(Role::Worker).map(|process| process.started).max().unwrap_or(now.at);
    match served {
        _ if workers != expected && now.at.saturating_sub(newest) < SETTLED => {
            ProcessVerdict::Pending(Pending::Count { workers, expected })
        }
        Some(number) if number == wanted => ProcessVerdict::Confirmed,
        other => ProcessVerdict::Pending(Pending::Serves(other)),
    }
}

#[cfg(test)]
mod tests {
    use super::{Impossible, Pending, ProcessVerdict, after_hang_up, at_rest, replaced};
    use crate::process::{Effort, Process, Role, Table};

    /// Parses `at 500; master 10 100; worker 11 101; draining 12 101; other 13 101`: a role, a PID
    /// and a start time.
    fn table(text: &str) -> Table {
        let mut table =
            Table { at: 0, master: Process { pid: 0, started: 0 }, effort: Effort::default(), children: Vec::new() };
        for entry in text.split(';') {
            let words: Vec<_> = entry.split_whitespace().collect();
            let number = |index: usize| words[index].parse::<u64>().unwrap();
            let process = || Process { pid: u32::try_from(number(1)).unwrap(), started: number(2) };
            match words[0] {
                "at" => table.at = number(1),
                "master" => table.master = process(),
                "worker" => table.children.push((process(), Role::Worker)),
                "draining" => table.children.push((process(), Role::Draining)),
                _ => table.children.push((process(), Role::Other)),
            }
        }
        table
    }

    #[test]
    fn only_new_workers_with_the_right_number_confirm() {
        let count = |workers, expected| ProcessVerdict::Pending(Pending::Count { workers, expected });
        let before = "at 500; master 10 100; worker 11 101; worker 12 101; other 13 101";
        for (what, now, served, expected) in [
            ("nothing happened", "at 510; master 10 100; worker 11 101; worker 12 101", 7, {
                ProcessVerdict::Pending(Pending::NoNewWorker)
            }),
            (
                "new ones beside the old",
                "at 510; master 10 100; worker 11 101; worker 12 101; worker 14 509; worker 15 509",
                8,
                { ProcessVerdict::Pending(Pending::Old(2)) },
            ),
            (
                "old ones drain",
                "at 521; master 10 100; draining 11 101; draining 12 101; worker 14 509; worker 15 509",
                8,
                ProcessVerdict::Confirmed,
            ),
            ("old ones ended", "at 521; master 10 100; worker 14 509; worker 15 509", 8, ProcessVerdict::Confirmed),
            (
                "one old drains, one does not yet",
                "at 521; master 10 100; draining 11 101; worker 12 101; worker 14 509; worker 15 509",
                8,
                { ProcessVerdict::Pending(Pending::Old(1)) },
            ),
            (
                "a crashed worker came back, nothing was read",
                "at 510; master 10 100; worker 11 101; worker 14 505",
                7,
                { ProcessVerdict::Pending(Pending::Old(1)) },
            ),
            (
                "all crashed and came back, nothing was read",
                "at 510; master 10 100; worker 14 505; worker 15 505",
                7,
                { ProcessVerdict::Pending(Pending::Serves(Some(7))) },
            ),
            (
                "one crashed, came back with the old files, then HUP was obeyed",
                { "at 515; master 10 100; draining 12 101; worker 14 505; worker 15 510; worker 16 510" },
                8,
                count(3, 2),
            ),
            (
                "and is told to finish",
                "at 522; master 10 100; draining 12 101; draining 14 505; worker 15 510; worker 16 510",
                8,
                ProcessVerdict::Confirmed,
            ),
            (
                "a number used again is another process",
                "at 521; master 10 100; worker 11 509; worker 12 509",
                8,
                ProcessVerdict::Confirmed,
            ),
            (
                "the first of two",
                "at 510; master 10 100; draining 11 101; draining 12 101; worker 14 509",
                8,
                count(1, 2),
            ),
            (
                "more workers by the administrator's wish",
                "at 700; master 10 100; worker 14 509; worker 15 509; worker 16 509",
                8,
                ProcessVerdict::Confirmed,
            ),
            (
                "fewer workers by the administrator's wish",
                "at 700; master 10 100; worker 14 509",
                8,
                ProcessVerdict::Confirmed,
            ),
            ("another master", "at 510; master 20 505; worker 21 506; worker 22 506", 8, {
                ProcessVerdict::Impossible(Impossible::OtherMaster)
            }),
            ("another master under the same number", "at 510; master 10 505; worker 11 506; worker 12 506", 8, {
                ProcessVerdict::Impossible(Impossible::OtherMaster)
            }),
            (
                "no worker left",
                "at 510; master 10 100; draining 11 101",
                8,
                ProcessVerdict::Pending(Pending::NoNewWorker),
            ),
        ] {
            assert_eq!(after_hang_up(&table(before), &table(now), 8, Some(served)), expected, "{what}");
        }
    }

    #[test]
    fn old_workers_are_let_go_when_as_many_new_ones_stand_in_for_them() {
        let before = "at 500; master 10 100; worker 11 101; worker 12 101; other 13 101";
        let rows: [(&str, &[u32]); 7] = [
            ("at 510; master 10 100; worker 11 101; worker 12 101; other 13 101", &[]),
            ("at 510; master 10 100; worker 11 101; worker 12 101; worker 14 509; other 13 101", &[]),
            ("at 510; master 10 100; worker 11 101; worker 12 101; worker 14 509; other 15 509", &[]),
            (
                "at 510; master 10 100; worker 11 101; worker 12 101; worker 14 509; worker 15 509; other 13 101",
                &[11, 12],
            ),
            ("at 510; master 10 100; draining 11 101; worker 12 101; worker 14 509; worker 15 509", &[12]),
            ("at 510; master 10 100; worker 11 101; worker 14 505", &[]),
            ("at 510; master 20 505; worker 11 101; worker 21 506; worker 22 506", &[]),
        ];
        let young = table("at 500; master 10 100; other 11 499; other 12 499");
        assert_eq!(replaced(&young, &table("at 501; master 10 100; worker 11 499; worker 12 499")), []);
        for (now, expected) in rows {
            let found: Vec<_> = replaced(&table(before), &table(now)).iter().map(|process| process.pid).collect();
            assert_eq!(found, expected, "{now}");
        }
    }

    #[test]
    fn the_number_must_be_served() {
        let (before, now) = ("at 500; master 10 100; worker 11 101", "at 520; master 10 100; worker 14 509");
        let verdict = after_hang_up(&table(before), &table(now), 8, None);
        assert_eq!(verdict, ProcessVerdict::Pending(Pending::Serves(None)));
    }

    #[test]
    fn a_master_at_rest_counts_once_its_workers_stand() {
        for (now, served, expected) in [
            ("at 500; master 10 100", Some(8), ProcessVerdict::Pending(Pending::NoNewWorker)),
            ("at 110; master 10 100; worker 11 101", Some(8), {
                ProcessVerdict::Pending(Pending::Count { workers: 1, expected: 0 })
            }),
            ("at 500; master 10 100; worker 11 101", Some(8), ProcessVerdict::Confirmed),
            ("at 500; master 10 100; worker 11 101", Some(7), ProcessVerdict::Pending(Pending::Serves(Some(7)))),
            ("at 500; master 10 100; worker 11 101", None, ProcessVerdict::Pending(Pending::Serves(None))),
        ] {
            assert_eq!(at_rest(&table(now), 8, served), expected, "{now}");
        }
    }
}
