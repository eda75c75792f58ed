//! nginx's processes as values, and reading them from `/proc`.

use ingressd_model::finding::count;
use std::time::Duration;
use std::{fmt, io};

use nix::time::{ClockId, clock_gettime};
use procfs::{ProcError, ProcResult};

use super::error::is_shortage;

/// A process; the start time tells it from another process that gets the same PID later.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Process {
    /// Its number.
    pub pid: u32,
    /// When it started, in clock ticks since boot.
    pub started: u64,
}

/// What a child of the master does, according to its process title.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Role {
    /// It accepts new connections.
    Worker,
    /// It finishes its connections and ends.
    Draining,
    /// A cache manager or loader, or a process that has not set its title yet.
    Other,
}

/// The master and its children at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Table {
    /// The moment, in clock ticks since boot.
    pub at: u64,
    pub master: Process,
    /// The processor time that the master has used so far.
    pub effort: Effort,
    /// Its children, sorted.
    pub children: Vec<(Process, Role)>,
}

/// Tells whether a process is busy: one that waits uses no processor time and sleeps.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Effort {
    /// Processor time, in clock ticks.
    pub spent: u64,
    /// Whether it sleeps, as opposed to running, waiting for a disk or being stopped.
    pub sleeps: bool,
}

impl Table {
    /// The children with this role.
    pub fn in_role(&self, role: Role) -> impl Iterator<Item = Process> {
        self.children.iter().filter(move |(_, its)| *its == role).map(|(process, _)| *process)
    }

    /// Reads the children of this master; `None` when it is gone or its PID belongs to another
    /// process.
    ///
    /// # Errors
    ///
    /// When that could not be found out, see [`is_shortage`].
    pub fn read(master: Process) -> io::Result<Option<Table>> {
        let list = process(master.pid).and_then(|process| process.task_main_thread()?.children());
        let Some(list) = reported(list)? else { return Ok(None) };
        let children = list.into_iter().filter_map(|pid| child(master.pid, pid).transpose());
        let mut children = children.collect::<io::Result<Vec<_>>>()?;
        children.sort_unstable();
        // Read last, so that another process that got the PID meanwhile cannot pass for the
        // master.
        let stat = stat(master.pid)?.filter(|stat| stat.starttime == master.started);
        let Some((stat, at)) = stat.zip(now()) else { return Ok(None) };
        let effort = Effort { spent: stat.utime + stat.stime, sleeps: stat.state == 'S' };
        Ok(Some(Table { at, master, effort, children }))
    }
}

impl fmt::Display for Table {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (current, draining) = (self.in_role(Role::Worker).count(), self.in_role(Role::Draining).count());
        let current = count(current, "worker", "workers");
        write!(formatter, "master {} with {current} and {draining} draining", self.master.pid)
    }
}

/// The kernel's statistics of a running process; `None` for one that has ended and waits to be
/// reaped.
///
/// # Errors
///
/// When that could not be found out, see [`is_shortage`].
pub fn stat(pid: u32) -> io::Result<Option<procfs::process::Stat>> {
    let stat = reported(process(pid).and_then(|process| process.stat()))?;
    Ok(stat.filter(|stat| !matches!(stat.state, 'Z' | 'X' | 'x')))
}

/// The title of a process, or its command line; empty when it has none.
///
/// # Errors
///
/// When that could not be found out, see [`is_shortage`].
pub fn title(pid: u32) -> io::Result<String> {
    let words = reported(process(pid).and_then(|process| process.cmdline()))?;
    Ok(words.and_then(|words| words.into_iter().next()).unwrap_or_default())
}

pub(super) fn process(pid: u32) -> ProcResult<procfs::process::Process> {
    procfs::process::Process::new(pid.try_into().map_err(|_| ProcError::NotFound(None))?)
}

/// What `/proc` tells; `None` for what is not there or not to be read.
pub(super) fn reported<T>(read: ProcResult<T>) -> io::Result<Option<T>> {
    match read {
        Ok(reported) => Ok(Some(reported)),
        Err(ProcError::Io(error, _)) if is_shortage(&error) => Err(error),
        Err(_) => Ok(None),
    }
}

fn child(parent: u32, pid: u32) -> io::Result<Option<(Process, Role)>> {
    let stat = stat(pid)?.filter(|stat| u32::try_from(stat.ppid) == Ok(parent));
    let Some(stat) = stat else { return Ok(None) };
    Ok(Some((Process { pid, started: stat.starttime }, role(&title(pid)?))))
}

/// The role that a process title means.
fn role(title: &str) -> Role {
    match title {
        title if !title.starts_with("nginx: worker process") => Role::Other,
        title if title.contains("shutting down") => Role::Draining,
        _ => Role::Worker,
    }
}

/// The clock of start times: ticks since boot. In a container `/proc/uptime` may be that of the
/// container, while start times are not.
fn now() -> Option<u64> {
    let since_boot = Duration::from(clock_gettime(ClockId::CLOCK_BOOTTIME).ok()?);
    let (ticks, second) = (u128::from(procfs::ticks_per_second()), Duration::from_secs(1).as_nanos());
    u64::try_from(since_boot.as_nanos() * ticks / second).ok()
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};

    use super::{Role, now, role, stat, title};

    /// A process whose name imitates other fields of its status line. It is killed when this value
    /// is dropped.
    struct Child(std::process::Child);

    impl Child {
        /// Starts this copy of cat(1) and waits for its answer: before that it may not have
        /// executed the copy yet.
        fn running(program: &std::path::Path) -> Child {
            let piped = std::process::Stdio::piped;
            let mut child = std::process::Command::new(program).stdin(piped()).stdout(piped()).spawn().unwrap();
            child.stdin.as_mut().unwrap().write_all(b"?").unwrap();
            child.stdout.as_mut().unwrap().read_exact(&mut [0]).unwrap();
            Child(child)
        }
    }

    impl Drop for Child {
        fn drop(&mut self) {
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }

    #[test]
    fn the_name_of_a_process_cannot_pose_as_fields() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["nginx", "a) S 9 9", "a b", ") Z 5 ("] {
            let program = folder.path().join(name);
            // A separate process copies the file: a child that another test forks now would
            // inherit an open handle and keep the file busy.
            let copied = std::process::Command::new("cp").arg("/bin/cat").arg(&program).status().unwrap();
            assert!(copied.success());
            let child = Child::running(&program);
            let stat = stat(child.0.id()).unwrap().unwrap_or_else(|| panic!("{name}"));
            assert_eq!(u32::try_from(stat.ppid), Ok(std::process::id()), "{name}");
            assert!(now().unwrap() >= stat.starttime, "{name}");
            assert_eq!(title(child.0.id()).unwrap(), program.to_str().unwrap());
        }
    }

    #[test]
    fn a_process_that_has_ended_is_none_even_before_it_is_reaped() {
        let mut child = std::process::Command::new("/bin/true").stdout(std::process::Stdio::piped()).spawn().unwrap();
        let pid = child.id();
        // The handle becomes readable when the process ends; the process remains until it is
        // waited for.
        let handle =
            rustix::process::pidfd_open(rustix::process::Pid::from_child(&child), rustix::process::PidfdFlags::empty())
                .unwrap();
        let ended = nix::poll::PollFd::new(std::os::fd::AsFd::as_fd(&handle), nix::poll::PollFlags::POLLIN);
        assert_eq!(nix::poll::poll(&mut [ended], 60_000_u16), Ok(1));
        assert!(stat(pid).unwrap().is_none());
        child.wait().unwrap();
        assert!(stat(pid).unwrap().is_none());
    }

    #[test]
    fn the_title_of_a_child_says_its_role() {
        for (title, expected) in [
            ("nginx: worker process", Role::Worker),
            ("nginx: worker process is shutting down", Role::Draining),
            ("nginx: cache manager process", Role::Other),
            ("nginx: master process /usr/sbin/nginx", Role::Other),
            ("", Role::Other),
        ] {
            assert_eq!(role(title), expected, "{title}");
        }
    }
}
