//! File systems that only the test and its child processes see.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::mount::{MntFlags, MsFlags, mount, umount2};
use nix::sched::{CloneFlags, unshare};

use super::wait::LIMIT;

/// A file system in place of a folder, until it is dropped.
pub struct Mount(PathBuf);

impl Mount {
    /// An empty file system in memory, of this many bytes.
    pub fn memory(folder: &Path, bytes: usize) -> Self {
        enter(folder);
        let options = format!("size={bytes},mode=755");
        mount(Some("tmpfs"), folder, Some("tmpfs"), MsFlags::empty(), Some(options.as_str())).unwrap();
        Mount(folder.to_owned())
    }

    /// The folder itself once more, so that it can be made read-only.
    pub fn again(folder: &Path) -> Self {
        enter(folder);
        mount(Some(folder), folder, None::<&str>, MsFlags::MS_BIND, None::<&str>).unwrap();
        Mount(folder.to_owned())
    }

    /// Another file in the place of this one.
    pub fn over(file: &Path, with: &Path) -> Self {
        enter(file.parent().unwrap());
        mount(Some(with), file, None::<&str>, MsFlags::MS_BIND, None::<&str>).unwrap();
        Mount(file.to_owned())
    }

    /// Forbids or allows writing.
    pub fn set_read_only(&self, read_only: bool) {
        let flag = if read_only { MsFlags::MS_RDONLY } else { MsFlags::empty() };
        let flags = MsFlags::MS_REMOUNT | MsFlags::MS_BIND | flag;
        let end = Instant::now() + LIMIT;
        loop {
            match mount(None::<&str>, &self.0, None::<&str>, flags, None::<&str>) {
                // A process has a file there open for writing. The kernel refuses, and does not
                // wait.
                Err(Errno::EBUSY) if Instant::now() < end => std::thread::sleep(Duration::from_millis(5)),
                done => {
                    done.unwrap();
                    return;
                }
            }
        }
    }

    /// Writes a file until nothing fits any more.
    pub fn fill(&self) {
        let mut file = OpenOptions::new().create(true).append(true).open(self.filler()).unwrap();
        for size in [1 << 16, 1] {
            while file.write_all(&vec![0; size]).is_ok() {}
        }
    }

    /// Removes that file.
    pub fn empty(&self) {
        fs::remove_file(self.filler()).unwrap();
    }

    fn filler(&self) -> PathBuf {
        self.0.join("filler")
    }
}

/// Mounts of this thread are its own from now on.
fn enter(folder: &Path) {
    fs::create_dir_all(folder).unwrap();
    unshare(CloneFlags::CLONE_NEWNS).unwrap();
    mount(None::<&str>, "/", None::<&str>, MsFlags::MS_REC | MsFlags::MS_PRIVATE, None::<&str>).unwrap();
}

impl Drop for Mount {
    fn drop(&mut self) {
        // Processes that still use it keep it; the folder below can be removed.
        let _ = umount2(&self.0, MntFlags::MNT_DETACH);
    }
}
