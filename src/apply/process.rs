//! nginx's processes as values, and reading them from `/proc`; it must not know what they should be doing.

use std::fmt;
use std::fs;
use std::path::Path;

/// A process; the start time tells it from another that got the same number later.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Process {
    /// Its number.
    pub pid: u32,
    /// When it started, in clock ticks since the system did.
    pub started: u64,
}

/// What a child of the master does, by its title.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Role {
    /// It takes new connections.
    Worker,
    /// It finishes its connections and ends.
    Draining,
    /// A cache manager or loader, or a process that has not set its title yet.
    Other,
}

/// The master and its children at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Table {
    /// The moment, in clock ticks since the system started.
    pub at: u64,
    /// The master.
    pub master: Process,
    /// What the master spent so far.
    pub effort: Effort,
    /// Its children, sorted.
    pub children: Vec<(Process, Role)>,
}

/// What tells whether a process works: one that waits for something else spends nothing and sleeps.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Effort {
    /// Processor time, in clock ticks.
    pub spent: u64,
    /// Whether it sleeps, rather than runs, waits for a disk or is stopped.
    pub sleeps: bool,
}

impl Table {
    /// The children in this role.
    pub fn in_role(&self, role: Role) -> impl Iterator<Item = Process> {
        self.children.iter().filter(move |(_, its)| *its == role).map(|(process, _)| *process)
    }

    /// Reads the children of this master; `None` when it is gone or its number belongs to another process.
    pub fn read(proc: &Path, master: Process, ticks_per_second: u64) -> Option<Table> {
        let folder = proc.join(master.pid.to_string());
        let list = fs::read_to_string(folder.join("task").join(master.pid.to_string()).join("children")).ok()?;
        let mut children: Vec<_> =
            list.split_whitespace().filter_map(|pid| child(proc, master.pid, pid.parse().ok()?)).collect();
        children.sort_unstable();
        // Last, so that a number that was given to another process meanwhile cannot pass for the master.
        let stat = Stat::read(proc, master.pid).filter(|stat| stat.alive() && stat.started == master.started)?;
        Some(Table { at: uptime(proc, ticks_per_second)?, master, effort: stat.effort(), children })
    }
}

impl fmt::Display for Table {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = |role| self.in_role(role).count();
        let (current, draining) = (count(Role::Worker), count(Role::Draining));
        write!(formatter, "master {} with {current} workers and {draining} draining", self.master.pid)
    }
}

fn child(proc: &Path, parent: u32, pid: u32) -> Option<(Process, Role)> {
    let stat = Stat::read(proc, pid).filter(|stat| stat.alive() && stat.parent == parent)?;
    let title = fs::read(proc.join(pid.to_string()).join("cmdline")).ok()?;
    Some((Process { pid, started: stat.started }, role(&title)))
}

/// What a process title says.
fn role(title: &[u8]) -> Role {
    match String::from_utf8_lossy(title) {
        title if !title.starts_with("nginx: worker process") => Role::Other,
        title if title.contains("shutting down") => Role::Draining,
        _ => Role::Worker,
    }
}

/// The clock of `/proc/PID/stat`: ticks since the system started.
fn uptime(proc: &Path, ticks_per_second: u64) -> Option<u64> {
    let text = fs::read_to_string(proc.join("uptime")).ok()?;
    let (seconds, hundredths) = text.split_whitespace().next()?.split_once('.')?;
    Some(seconds.parse::<u64>().ok()? * ticks_per_second + hundredths.parse::<u64>().ok()? * ticks_per_second / 100)
}

/// The fields of `/proc/PID/stat` that matter here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stat {
    state: char,
    /// The parent's number.
    pub parent: u32,
    /// When the process started, in clock ticks since the system did.
    pub started: u64,
    /// Processor time of its own, in clock ticks.
    spent: u64,
}

impl Stat {
    /// Reads it; `None` when there is no such process.
    pub fn read(proc: &Path, pid: u32) -> Option<Stat> {
        Stat::parse(&fs::read_to_string(proc.join(pid.to_string()).join("stat")).ok()?)
    }

    /// Reads from the last `)`: the name before it is the process's own choice.
    fn parse(text: &str) -> Option<Stat> {
        let mut fields = text.get(text.rfind(')')? + 1..)?.split_whitespace();
        let state = fields.next()?.chars().next()?;
        let parent = fields.next()?.parse().ok()?;
        // The state was field 3 and the parent field 4; times as a user and in the system are 14 and 15, the start is 22.
        let mut number = |skipped| fields.nth(skipped)?.parse::<u64>().ok();
        let spent = number(9)? + number(0)?;
        Some(Stat { state, parent, started: number(6)?, spent })
    }

    /// Whether it runs, rather than waiting to be reaped.
    pub fn alive(self) -> bool {
        !matches!(self.state, 'Z' | 'X' | 'x')
    }

    /// What it spent.
    pub fn effort(self) -> Effort {
        Effort { spent: self.spent, sleeps: self.state == 'S' }
    }
}

#[cfg(test)]
mod tests {
    use super::{Effort, Role, Stat, role};

    #[test]
    fn the_name_of_a_process_cannot_pose_as_fields() {
        let tail = "1 1 0 -1 4194624 1 0 0 0 30 12 0 0 20 0 1 0 4711 1 2 3";
        for name in ["nginx", "a) S 9 9", "a b", ") Z 5 (", ""] {
            let stat = Stat::parse(&format!("77 ({name}) S 12 {tail}")).unwrap_or_else(|| panic!("{name}"));
            assert_eq!((stat.alive(), stat.parent, stat.started), (true, 12, 4711), "{name}");
            assert_eq!(stat.effort(), Effort { spent: 42, sleeps: true }, "{name}");
        }
        assert!(!Stat::parse(&format!("77 (nginx) Z 12 {tail}")).unwrap().alive());
        for text in [
            "",
            "77",
            "77 (nginx",
            "77 (nginx)",
            "77 (nginx) S",
            "77 (nginx) S 12 1 2",
            "77 (nginx) S 12 1 1 0 -1 1 1 0 0 0 30 12 0 0 20 0 1 0",
        ] {
            assert_eq!(Stat::parse(text), None, "{text}");
        }
    }

    #[test]
    fn the_title_of_a_child_tells_its_role() {
        for (title, expected) in [
            ("nginx: worker process", Role::Worker),
            ("nginx: worker process\0\0\0", Role::Worker),
            ("nginx: worker process is shutting down", Role::Draining),
            ("nginx: cache manager process", Role::Other),
            ("nginx: master process /usr/sbin/nginx", Role::Other),
            ("", Role::Other),
        ] {
            assert_eq!(role(title.as_bytes()), expected, "{title}");
        }
    }
}
