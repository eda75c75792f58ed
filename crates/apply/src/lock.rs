//! Locks between daemons: files that only root can open, so that nobody else can hold them.

use std::fs::{File, OpenOptions, Permissions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg, OFlag};

use super::error::ApplyError;
use super::folder;

/// How often a lock is tried that another daemon has.
const PAUSE: Duration = Duration::from_millis(20);

/// The name of the lock in the folders that one daemon has for itself.
const IN_USE: &str = "in-use";

/// A lock that is held until it is dropped, or until the process ends.
#[derive(Debug)]
pub struct Lock(#[expect(dead_code, reason = "it is held, not used")] Flock<File>);

impl Lock {
    /// Takes the lock of this file, and waits no longer than this for a daemon that has it. `None`
    /// where the file system does not let anybody make the file.
    ///
    /// # Errors
    ///
    /// [`ApplyError::Busy`] when another daemon has it all the time, and errors of the file
    /// system.
    pub fn take(path: &Path, limit: Duration) -> Result<Option<Lock>, ApplyError> {
        let begun = Instant::now();
        let mut file = match open(path) {
            Ok(file) => file,
            Err(error) if cannot_be_made(&error) => return Ok(None),
            Err(error) => return Err(ApplyError::files("lock", path)(error)),
        };
        loop {
            file = match Flock::lock(file, FlockArg::LockExclusiveNonblock) {
                Ok(lock) => {
                    // Tells people who has it; the lock holds without that.
                    let reported = options().write(true).truncate(true).open(path);
                    let _ = reported.and_then(|mut file| writeln!(file, "{}", std::process::id()));
                    return Ok(Some(Lock(lock)));
                }
                Err((file, Errno::EWOULDBLOCK)) if begun.elapsed() < limit => file,
                Err((mut file, Errno::EWOULDBLOCK)) => {
                    let mut holder = String::new();
                    // Without the number the message still names the file.
                    let _ = file.read_to_string(&mut holder);
                    let holder = Some(holder.trim().to_owned()).filter(|holder| !holder.is_empty());
                    return Err(ApplyError::Busy { path: path.to_owned(), holder });
                }
                // Some network file systems do not support locks.
                Err(_) => return Ok(None),
            };
            std::thread::sleep(PAUSE);
        }
    }

    /// Takes a folder for this daemon alone. `None` as in [`Lock::take`].
    ///
    /// # Errors
    ///
    /// As those of [`Lock::take`].
    pub fn of_folder(folder: &Path) -> Result<Option<Lock>, ApplyError> {
        Lock::take(&folder.join(IN_USE), Duration::ZERO)
    }
}

/// Whether no daemon can make the file. A full disk keeps none from starting.
fn cannot_be_made(error: &io::Error) -> bool {
    use io::ErrorKind::{NotFound, QuotaExceeded, ReadOnlyFilesystem, StorageFull};
    matches!(error.kind(), NotFound | QuotaExceeded | ReadOnlyFilesystem | StorageFull)
}

/// Opens the file, or makes it. One that another user made is not used: that user could hold its
/// lock. It is opened for reading: a file that is open for writing keeps a file system from being
/// made read-only.
fn open(path: &Path) -> io::Result<File> {
    let read = || options().read(true).open(path);
    let file = match read() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            options().write(true).create(true).open(path)?;
            read()?
        }
        opened => opened?,
    };
    let metadata = file.metadata()?;
    folder::of_nobody_else(&metadata)?;
    if metadata.mode() & 0o077 != 0 {
        file.set_permissions(Permissions::from_mode(0o600))?;
    }
    Ok(file)
}

fn options() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.mode(0o600).custom_flags((OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK).bits());
    options
}

/// The lock of all daemons that share an nginx: beside the file with its process number, whose
/// folder is there for every one of them.
pub fn beside(pid_file: &Path) -> PathBuf {
    let mut name = pid_file.file_name().unwrap_or_default().to_owned();
    name.push(".ingressd");
    pid_file.with_file_name(name)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn one_has_it_and_the_next_learns_who() {
        let folder = tempfile::tempdir().unwrap();
        let path = beside(&folder.path().join("nginx.pid"));
        assert_eq!(path, folder.path().join("nginx.pid.ingressd"));
        let lock = Lock::take(&path, Duration::ZERO).unwrap().unwrap();
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        let reported = Lock::take(&path, Duration::ZERO).unwrap_err().to_string();
        let names = [path.display().to_string(), std::process::id().to_string()];
        assert!(names.iter().all(|name| reported.contains(name)), "{reported}");
        drop(lock);
        fs::set_permissions(&path, Permissions::from_mode(0o644)).unwrap();
        assert!(Lock::take(&path, Duration::ZERO).unwrap().is_some());
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600, "others could hold it");
        assert!(Lock::take(&folder.path().join("none/nginx.pid"), Duration::ZERO).unwrap().is_none());
    }

    #[test]
    fn what_others_put_in_its_place_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lock");
        std::os::unix::fs::symlink("/dev/null", &path).unwrap();
        assert!(matches!(Lock::take(&path, Duration::ZERO), Err(ApplyError::Files { .. })));
        fs::remove_file(&path).unwrap();
        fs::write(&path, "").unwrap();
        // Only root can give a file away.
        if std::os::unix::fs::chown(&path, Some(65_534), None).is_ok() {
            let reported = Lock::take(&path, Duration::ZERO).unwrap_err().to_string();
            assert!(reported.contains("belongs to user 65534"), "{reported}");
        }
    }
}
