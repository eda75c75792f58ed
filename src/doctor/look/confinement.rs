//! SELinux and AppArmor as the kernel and the logs show them; it must not know what should be allowed.

use std::fs::{self, File};
use std::io::{Read as _, Seek as _, SeekFrom};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use crate::doctor::facts::Confinement;

/// How much of the end of a log is read.
const TAIL: u64 = 256 * 1024;

/// Most denials that are kept.
const MOST: usize = 20;

/// Most bytes of one that are kept.
const LONGEST: usize = 300;

/// Where everything is.
#[derive(Debug, Clone)]
pub struct Places {
    /// SELinux' file system.
    pub selinux: PathBuf,
    /// AppArmor's file of profiles.
    pub apparmor: PathBuf,
    /// Logs that may hold denials.
    pub logs: Vec<PathBuf>,
    /// The kernel's own log.
    pub kernel: PathBuf,
}

impl Default for Places {
    fn default() -> Self {
        Places {
            selinux: "/sys/fs/selinux".into(),
            apparmor: "/sys/kernel/security/apparmor/profiles".into(),
            logs: ["/var/log/audit/audit.log", "/var/log/kern.log", "/var/log/syslog", "/var/log/messages"]
                .map(PathBuf::from)
                .to_vec(),
            kernel: "/dev/kmsg".into(),
        }
    }
}

/// Looks.
pub fn look(places: &Places) -> Confinement {
    let read = |name: &str| fs::read_to_string(places.selinux.join(name)).ok();
    let profiles = fs::read_to_string(&places.apparmor).unwrap_or_default();
    let logs = places.logs.iter().map(|log| tail(log));
    let texts: Vec<_> = logs.chain([kernel(&places.kernel)]).collect();
    let mut denials: Vec<_> =
        texts.iter().flat_map(|text| text.lines()).filter(|line| is_denial(line)).map(shorten).collect();
    denials.dedup();
    denials.drain(..denials.len().saturating_sub(MOST));
    Confinement {
        selinux_enforces: read("enforce").map(|text| text.trim() == "1"),
        // The value in force, then the pending one.
        may_connect: read("booleans/httpd_can_network_connect").map(|text| text.trim_start().starts_with('1')),
        apparmor: profiles.lines().find(|line| line.contains("nginx")).map(shorten),
        denials,
    }
}

/// Whether a line of a log tells that nginx or ingressd was denied something.
fn is_denial(line: &str) -> bool {
    let selinux = line.contains("avc:") && line.contains("denied");
    let apparmor = line.contains("apparmor=\"DENIED\"");
    (selinux || apparmor) && (line.contains("nginx") || line.contains("ingressd"))
}

fn shorten(line: &str) -> String {
    let end = (0..=LONGEST.min(line.len())).rev().find(|end| line.is_char_boundary(*end)).unwrap_or_default();
    line[..end].to_owned()
}

/// The end of a log, or nothing when we may not read it.
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

/// What the kernel still knows of what it logged: a record each read, until it would wait for the next.
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
            // One that was overwritten meanwhile: the next read goes on behind it.
            Err(error) if error.raw_os_error() == Some(nix::errno::Errno::EPIPE as i32) => {}
            Err(_) => break,
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

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
                "type=AVC msg=audit(1): avc:  denied  { name_connect } for  pid=9 comm=\"nginx\" dest=8080\n\
                type=AVC msg=audit(2): avc:  denied  { read } for  pid=9 comm=\"cupsd\"\n",
            ),
            (
                "kmsg",
                "audit: apparmor=\"DENIED\" operation=\"open\" profile=\"/usr/sbin/nginx\"\naudit: apparmor=\"ALLOWED\" nginx\n",
            ),
        ] {
            fs::write(path(name), text).unwrap();
        }
        let places = Places {
            selinux: path("selinux"),
            apparmor: path("profiles"),
            logs: vec![path("none"), path("audit.log")],
            kernel: path("kmsg"),
        };
        let found = look(&places);
        assert_eq!((found.selinux_enforces, found.may_connect), (Some(true), Some(false)));
        assert_eq!(found.apparmor.as_deref(), Some("/usr/sbin/nginx (complain)"));
        assert_eq!(found.denials.len(), 2, "{:?}", found.denials);
        let nowhere = Places { selinux: path("no"), apparmor: path("no"), logs: Vec::new(), kernel: path("no") };
        assert_eq!(look(&nowhere), Confinement::default());
    }
}
