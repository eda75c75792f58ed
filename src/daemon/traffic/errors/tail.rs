//! The end of a file that grows and is rotated, read within bounds. It must not know what lines
//! say.

use std::fs::{self, File, Metadata};
use std::io;
use std::os::unix::fs::{FileExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use nix::fcntl::OFlag;

/// How much is read at a look; what is more is left out.
const MOST: u64 = 256 << 10;

/// A file whose lines are read from now on.
#[derive(Debug)]
pub struct Tail {
    path: PathBuf,
    open: Option<Open>,
    /// Whether it was never looked at: what is there already is left out.
    is_new: bool,
    /// The beginning of a line whose end is not there yet.
    rest: Vec<u8>,
}

#[derive(Debug)]
struct Open {
    file: File,
    identity: (u64, u64),
    /// Up to where it was read.
    at: u64,
}

fn identity(found: &Metadata) -> (u64, u64) {
    (found.dev(), found.ino())
}

impl Open {
    fn of(path: &Path, at_end: bool) -> io::Result<Self> {
        // Whoever may write to the folder of logs can put a named pipe there.
        let file = File::options().read(true).custom_flags(OFlag::O_NONBLOCK.bits()).open(path)?;
        let found = file.metadata()?;
        match found.is_file() {
            true => Ok(Open { file, identity: identity(&found), at: if at_end { found.len() } else { 0 } }),
            false => Err(io::Error::other("it is no regular file")),
        }
    }
}

impl Tail {
    pub fn of(path: PathBuf) -> Self {
        Tail { path, open: None, is_new: true, rest: Vec::new() }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Tells each line that was added since the last look; returns how many bytes were left out.
    pub fn take(&mut self, report: &mut dyn FnMut(&str)) -> io::Result<u64> {
        let is_new = std::mem::replace(&mut self.is_new, false);
        let open = match &mut self.open {
            Some(open) => open,
            none => none.insert(Open::of(&self.path, is_new)?),
        };
        let size = open.file.metadata()?.len();
        if size < open.at {
            // It was cut off.
            (open.at, self.rest) = (0, Vec::new());
        }
        let added = size - open.at;
        let mut chunk = vec![0; usize::try_from(added.min(MOST)).unwrap_or(0)];
        let read = open.file.read_at(&mut chunk, open.at)?;
        self.rest.extend_from_slice(&chunk[..read]);
        let whole = self.rest.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        let lines: Vec<u8> = self.rest.drain(..whole).collect();
        lines.split(|byte| *byte == b'\n').for_each(|line| report(&String::from_utf8_lossy(line)));
        let left_out = added.saturating_sub(MOST);
        if left_out > 0 || self.rest.len() as u64 > MOST {
            // What is read next does not go on with it.
            self.rest.clear();
        }
        open.at += read as u64 + left_out;
        // nginx writes to the old file until it is told of a rotation.
        let is_other = fs::metadata(&self.path).is_ok_and(|found| identity(&found) != open.identity);
        if is_other && added == 0 {
            (self.open, self.rest) = (None, Vec::new());
        }
        Ok(left_out)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    fn taken(tail: &mut Tail) -> (Vec<String>, u64) {
        let mut lines = Vec::new();
        let left_out = tail.take(&mut |line| lines.extend((!line.is_empty()).then(|| line.to_owned()))).unwrap();
        (lines, left_out)
    }

    #[test]
    fn only_what_is_added_is_reported_also_after_a_rotation() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("error.log");
        let mut tail = Tail::of(path.clone());
        assert!(tail.take(&mut |_| {}).is_err(), "there is no file");
        fs::write(&path, "first\n").unwrap();
        assert_eq!(taken(&mut tail).0, ["first"], "it was not there before");
        let mut tail = Tail::of(path.clone());
        assert_eq!(taken(&mut tail).0, [""; 0], "it was there before");
        let mut nginx = File::options().append(true).open(&path).unwrap();
        nginx.write_all(b"one\ntw").unwrap();
        assert_eq!(taken(&mut tail).0, ["one"]);
        fs::rename(&path, folder.path().join("error.log.1")).unwrap();
        fs::write(&path, "three\n").unwrap();
        nginx.write_all(b"o\n").unwrap();
        assert_eq!(taken(&mut tail).0, ["two"]);
        assert_eq!(taken(&mut tail).0, [""; 0]);
        assert_eq!(taken(&mut tail).0, ["three"]);
        fs::write(&path, "four\n").unwrap();
        assert_eq!(taken(&mut tail).0, ["four"], "it was cut off");
    }

    #[test]
    fn what_is_too_much_is_left_out() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("error.log");
        fs::write(&path, "").unwrap();
        let mut tail = Tail::of(path.clone());
        taken(&mut tail);
        let mut nginx = File::options().append(true).open(&path).unwrap();
        nginx.write_all(&b"x\n".repeat(MOST as usize)).unwrap();
        let (lines, left_out) = taken(&mut tail);
        assert_eq!((lines.len() as u64, left_out), (MOST / 2, MOST));
        // A line without an end takes no memory.
        for _ in 0..4 {
            nginx.write_all(&vec![b'x'; MOST as usize]).unwrap();
            taken(&mut tail);
            assert!(tail.rest.len() as u64 <= MOST);
        }
        nginx.write_all(b"\nlast\n").unwrap();
        assert_eq!(taken(&mut tail).0.last().unwrap(), "last");
    }

    #[test]
    fn a_named_pipe_holds_nobody_up() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("error.log");
        nix::unistd::mkfifo(&path, nix::sys::stat::Mode::S_IRWXU).unwrap();
        assert!(Tail::of(path).take(&mut |_| {}).is_err());
    }
}
