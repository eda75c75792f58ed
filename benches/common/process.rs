//! The costs of a process, read from `/proc`.

use std::fs;
use std::time::Duration;

use nix::unistd::{Pid, SysconfVar, sysconf};

/// Processor time used so far.
#[derive(Debug, Clone, Copy)]
pub struct ProcessorTime {
    /// The time of the process itself.
    pub own: Duration,
    /// The time of children that it has waited for.
    pub children: Duration,
}

/// Processor time used so far.
pub fn processor_time(pid: Pid) -> ProcessorTime {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let (_, fields) = stat.rsplit_once(") ").unwrap();
    // The fields after the name begin with the third, see proc_pid_stat(5).
    let ticks: Vec<f64> = fields.split(' ').skip(14 - 3).take(4).map(|field| field.parse().unwrap()).collect();
    let per_second = sysconf(SysconfVar::CLK_TCK).unwrap().unwrap();
    let time = |ticks: f64| Duration::from_secs_f64(ticks / f64::from(i32::try_from(per_second).unwrap()));
    ProcessorTime { own: time(ticks[0] + ticks[1]), children: time(ticks[2] + ticks[3]) }
}

/// A line of `/proc/PID/status` in MiB: `VmRSS`, `VmHWM`, ...
pub fn memory(pid: Pid, line: &str) -> f64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let value = status.lines().find_map(|row| row.strip_prefix(line)?.strip_prefix(':'));
    let kibibytes: f64 = value.unwrap().trim().trim_end_matches(" kB").parse().unwrap();
    kibibytes / 1024.0
}
