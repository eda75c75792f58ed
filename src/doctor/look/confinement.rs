//! Gathers facts about SELinux and AppArmor from the kernel and logs.

use std::fs::{self, File};
use std::io::{Read as _, Seek as _, SeekFrom};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use crate::doctor::facts::Confinement;

/// How many bytes of the end of a log are read.
const TAIL: u64 = 256 * 1024;

/// The most denials that are kept.
const MOST: usize = 20;

/// The most bytes that are kept of one.
const LONGEST: usize = 300;

/// How old a denial may be, in seconds: older ones may be solved already.
const LATELY: i64 = 86_400;

#[derive(Debug, Clone)]
pub struct Paths {
    /// The file system of SELinux.
    pub selinux: PathBuf,
    /// AppArmor's list of profiles.
    pub apparmor: PathBuf,
    /// Logs that may contain denials.
    pub logs: Vec<PathBuf>,
    /// The kernel's own log.
    pub kernel: PathBuf,
}

impl Default for Paths {
    fn default() -> Self {
        Paths {
            selinux: "/sys/fs/selinux".into(),
            apparmor: "/sys/kernel/security/apparmor/profiles".into(),
            logs: ["/var/log/audit/audit.log", "/var/log/kern.log", "/var/log/syslog", "/var/log/messages"]
                .map(PathBuf::from)
                .to_vec(),
            kernel: "/dev/kmsg".into(),
        }
    }
}

/// Gathers the facts; `now` is in seconds since 1970.
pub fn look(paths: &Paths, now: i64) -> Confinement {
    let read = |name: &str| fs::read_to_string(paths.selinux.join(name)).ok();
    let profiles = fs::read_to_string(&paths.apparmor).unwrap_or_default();
    let logs = paths.logs.iter().map(|log| tail(log));
    let texts: Vec<_> = logs.chain([kernel(&paths.kernel)]).collect();
    let lines = texts.iter().flat_map(|text| text.lines()).filter(|line| is_denial(line));
    // The same record may be in several logs, and only the last ones are shown.
    let mut denials: Vec<_> = lines.filter_map(|line| Some((second(line)?, line))).collect();
    denials.retain(|(second, _)| *second > now - LATELY);
    denials.sort_by_key(|(second, _)| *second);
    let mut denials: Vec<_> = denials.into_iter().map(|(_, line)| shorten(line)).collect();
    denials.dedup();
    denials.drain(..denials.len().saturating_sub(MOST));
    Confinement {
        selinux_enforces: read("enforce").map(|text| text.trim() == "1"),
        // The file has the current value and the pending one.
        may_connect: read("booleans/httpd_can_network_connect").map(|text| text.trim_start().starts_with('1')),
        apparmor: profiles.lines().find(|line| line.contains("nginx")).map(shorten),
        denials,
    }
}

/// Whether a log line is a denial for nginx or ingressd.
fn is_denial(line: &str) -> bool {
    let selinux = line.contains("avc:") && line.contains("denied");
    let apparmor = line.contains("apparmor=\"DENIED\"");
    (selinux || apparmor) && (line.contains("nginx") || line.contains("ingressd"))
}

/// The time of a record. The kernel begins each with `audit(SECONDS.MILLISECONDS:NUMBER)`, in
/// every log.
fn second(line: &str) -> Option<i64> {
    let (_, stamp) = line.split_once("audit(")?;
    stamp[..stamp.find(|letter: char| !letter.is_ascii_digit())?].parse().ok()
}

fn shorten(line: &str) -> String {
    let end = (0..=LONGEST.min(line.len())).rev().find(|end| line.is_char_boundary(*end)).unwrap_or_default();
    line[..end].to_owned()
}

/// The end of a log; empty when it cannot be read.
fn tail(path: &Path) -> String {
    let read = || -> std::io::Result<Vec<u8>> {
        let mut file = File::open(path)?;
        let length = file.metadata()?.len();
        file.seek(SeekFrom::Start(length.saturating_sub(TAIL)))?;
        let mut bytes = Vec::new();
        file.take(TAIL).read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    String::from_utf8_lossy(&read().unwrap_or_default()).into_owned()
}

/// The kernel's log buffer: each read returns one record, until it would wait for the next.
fn kernel(path: &Path) -> String {
    let mut options = File::options();
    options.read(true).custom_flags(nix::fcntl::OFlag::O_NONBLOCK.bits());
    let Ok(mut file) = options.open(path) else { return String::new() };
    let (mut text, mut record) = (String::new(), vec![0; 8192]);
    while text.len() < 4 * TAIL as usize {
        match file.read(&mut record) {
            Ok(0) => break,
            Ok(length) => {
                text += &String::from_utf8_lossy(&record[..length]);
                text.push('\n');
            }
            // The record was overwritten meanwhile: the next read continues behind it.
            Err(error) if error.raw_os_error() == Some(nix::errno::Errno::EPIPE as i32) => {}
            Err(_) => break,
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: i64 = 1_800_000_000;

    #[test]
    fn what_confines_nginx_is_read_from_the_kernel_and_the_logs() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        fs::create_dir_all(path("selinux/booleans")).unwrap();
        for (name, text) in [
            ("selinux/enforce", "1"),
            ("selinux/booleans/httpd_can_network_connect", "0 0"),
            ("profiles", "/usr/bin/man (enforce)\n/usr/sbin/nginx (complain)\n"),
            (
                "audit.log",
                "type=AVC msg=audit(1799990000.123:7): avc:  denied  { name_connect } for  pid=9 comm=\"nginx\" dest=8080\n\
                type=AVC msg=audit(1799990000.123:8): avc:  denied  { read } for  pid=9 comm=\"cupsd\"\n",
            ),
            (
                "kmsg",
                "5,1,2,-;audit: type=1400 audit(1799980000.5:3): apparmor=\"DENIED\" operation=\"open\" profile=\"nginx\"\n\
                5,1,2,-;audit: type=1400 audit(1799980000.6:4): apparmor=\"ALLOWED\" nginx\n",
            ),
        ] {
            fs::write(path(name), text).unwrap();
        }
        let paths = Paths {
            selinux: path("selinux"),
            apparmor: path("profiles"),
            logs: vec![path("none"), path("audit.log")],
            kernel: path("kmsg"),
        };
        let found = look(&paths, NOW);
        assert_eq!((found.selinux_enforces, found.may_connect), (Some(true), Some(false)));
        assert_eq!(found.apparmor.as_deref(), Some("/usr/sbin/nginx (complain)"));
        assert_eq!(found.denials.len(), 2, "{:?}", found.denials);
        assert!(found.denials[1].contains("name_connect"), "the last one made is the last: {:?}", found.denials);
        let nowhere = Paths { selinux: path("no"), apparmor: path("no"), logs: Vec::new(), kernel: path("no") };
        assert_eq!(look(&nowhere, NOW), Confinement::default());
    }
    #[test]
    fn a_denial_of_long_ago_says_nothing_of_today() {
        const DAY: i64 = 86_400;
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("audit.log");
        let record =
            |second: i64| format!("type=AVC msg=audit({second}.123:7): avc:  denied  {{ x }} comm=\"nginx\"\n");
        let denials = |text: &str| {
            fs::write(&log, text).unwrap();
            let nowhere = || folder.path().join("none");
            let (logs, kernel) = (vec![log.clone()], nowhere());
            look(&Paths { selinux: nowhere(), apparmor: nowhere(), logs, kernel }, NOW).denials.len()
        };
        assert_eq!(denials(&(record(NOW - DAY) + &record(NOW - DAY + 1) + &record(NOW))), 2);
        assert_eq!(denials(&record(NOW - 21 * DAY)), 0);
        assert_eq!(denials("avc:  denied  comm=\"nginx\", quoted by somebody\n"), 0, "it is no record");
    }
}
