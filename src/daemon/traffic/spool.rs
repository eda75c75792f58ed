//! The files between nginx and the daemon. It must not know what lines say.
//!
//! nginx appends lines to a file that can never take more than [`ROOM`]: it begins so near to the
//! largest size of a file that the kernel refuses what does not fit. Nobody has to be alive for
//! that bound. The lines that were read are cut off again.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use crate::daemon::state_file;
use ingressd_apply::folder::{self, Existing};
use ingressd_model::Instance;
use ingressd_nginx::render::traffic_log;

/// How many bytes of lines may wait.
const ROOM: u64 = 16 << 20;

/// The largest sizes of a file in whole pages: that of the kernel, as in a tmpfs, and that of an
/// ext4.
const LARGEST: [u64; 2] = [i64::MAX as u64 / PAGE * PAGE, 17_592_186_040_320];

/// What a file may be larger.
const PAGE: u64 = 4096;

/// The size of nginx's buffer, and how much is read at once.
const CHUNK: usize = 64 << 10;

/// The end of the name of the file that nginx includes.
const INCLUDED: &str = "conf";

/// How reading ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Read {
    Enough,
    /// nginx had no room left, so lines may be lost.
    Full,
}

/// The files in their folder.
#[derive(Debug)]
pub struct Spool {
    /// The file that nginx includes.
    snippet: PathBuf,
    path: PathBuf,
    lines: File,
    /// Where the lines begin.
    begin: u64,
}

/// The file that nginx includes, where a daemon has made one since the host's start; nothing is
/// written.
pub fn found(folder: &Path) -> Option<PathBuf> {
    Some(pattern(&snippet(folder)?))
}

fn snippet(folder: &Path) -> Option<PathBuf> {
    let entries = fs::read_dir(folder).ok()?.filter_map(Result::ok).map(|entry| entry.path());
    entries.filter(|path| path.extension().is_some_and(|end| end == INCLUDED)).max()
}

/// nginx does without a file that a wildcard stands for.
fn pattern(snippet: &Path) -> PathBuf {
    snippet.with_extension("con[f]")
}

impl Spool {
    /// Makes what is missing. A new spool has a new name: an nginx that has read the old one would
    /// write to a file that is gone, and reads its configuration again because of the name.
    pub fn make(folder: &Path, instance: &Instance) -> io::Result<Self> {
        // Workers open the file again when logs are rotated.
        folder::make(folder, 0o711, Existing::Taken)?;
        if let Ok(spool) = Self::open(folder) {
            return Ok(spool);
        }
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let snippet = folder.join(format!("{:016x}.{INCLUDED}", now.as_nanos()));
        let path = snippet.with_extension("lines");
        let lines = File::options().read(true).write(true).create_new(true).mode(0o600).open(&path)?;
        LARGEST.iter().find(|largest| lines.set_len(**largest - ROOM).is_ok()).ok_or_else(|| {
            io::Error::other("its file system has other bounds for the size of a file than tmpfs and ext4")
        })?;
        let text = traffic_log(&path, instance).map_err(|refused| io::Error::other(refused.to_string()))?;
        state_file::write_bytes(&snippet, text.as_bytes())?;
        Self::open(folder)
    }

    /// Opens what was made.
    pub fn open(folder: &Path) -> io::Result<Self> {
        let snippet = snippet(folder).ok_or(io::ErrorKind::NotFound)?;
        let path = snippet.with_extension("lines");
        let lines = File::options().read(true).write(true).open(&path)?;
        let size = lines.metadata()?.len();
        let of_size = |largest: &&u64| (**largest - ROOM..**largest + PAGE).contains(&size);
        let begin = LARGEST.iter().find(of_size).ok_or(io::ErrorKind::InvalidData)? - ROOM;
        Ok(Spool { snippet, path, lines, begin })
    }

    /// The file that nginx includes.
    pub fn included(&self) -> PathBuf {
        pattern(&self.snippet)
    }

    /// The file with the lines.
    pub fn lines(&self) -> &Path {
        &self.path
    }

    /// Takes it away once it has been full: nginx's place in it is the end then, from which the
    /// kernel takes no more lines, also where there is room again.
    pub fn give_up(&self) -> io::Result<()> {
        fs::remove_file(&self.snippet)?;
        fs::remove_file(&self.path)
    }

    /// How many bytes of lines wait.
    pub fn waiting(&self) -> io::Result<u64> {
        Ok(self.lines.metadata()?.len().saturating_sub(self.begin))
    }

    /// Reads the lines that wait, and makes room. What nginx writes in the instant between both is
    /// lost.
    pub fn take(&self, mut report: impl FnMut(&[u8])) -> io::Result<Read> {
        let (mut at, mut chunk, mut rest) = (self.begin, vec![0; CHUNK], Vec::new());
        loop {
            // The kernel refuses to read beyond the largest size, too, and at its end.
            let most = usize::try_from(self.begin + ROOM - at).map_or(CHUNK, |rest| rest.min(CHUNK));
            let read = if most == 0 { 0 } else { self.lines.read_at(&mut chunk[..most], at)? };
            if read == 0 {
                break;
            }
            at += read as u64;
            rest.extend_from_slice(&chunk[..read]);
            let whole = rest.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
            rest.drain(..whole)
                .as_slice()
                .split(|byte| *byte == b'\n')
                .filter(|line| !line.is_empty())
                .for_each(&mut report);
            if rest.len() > CHUNK {
                report(&std::mem::take(&mut rest));
            }
        }
        // Also where somebody has cut the file short, which would take its bound away.
        if self.lines.metadata()?.len() != self.begin {
            self.lines.set_len(self.begin)?;
        }
        // A line that has no end has met the bound.
        if !rest.is_empty() {
            report(&rest);
        }
        Ok(if at - self.begin + CHUNK as u64 > ROOM { Read::Full } else { Read::Enough })
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    fn append(spool: &Spool) -> File {
        File::options().append(true).open(spool.lines()).unwrap()
    }

    fn taken(spool: &Spool) -> (Vec<String>, Read) {
        let mut lines = Vec::new();
        let read = spool.take(|line| lines.push(String::from_utf8(line.to_vec()).unwrap())).unwrap();
        (lines, read)
    }

    #[test]
    fn lines_are_read_once_and_survive_the_daemon() {
        let folder = tempfile::tempdir().unwrap();
        let (at, instance) = (folder.path().join("traffic"), Instance::default());
        assert_eq!(found(&at), None);
        let spool = Spool::make(&at, &instance).unwrap();
        append(&spool).write_all(b"one\ntwo\n").unwrap();
        assert_eq!(taken(&spool), (vec!["one".to_owned(), "two".to_owned()], Read::Enough));
        assert_eq!(taken(&spool), (Vec::new(), Read::Enough));
        let mut nginx = append(&spool);
        nginx.write_all(b"three\n").unwrap();
        let next = Spool::make(&at, &instance).unwrap();
        assert_eq!((next.included(), found(&at)), (spool.included(), Some(spool.included())));
        assert_eq!(taken(&next).0, ["three"]);
        nginx.write_all(b"four\n").unwrap();
        assert_eq!(taken(&next).0, ["four"]);
        let text = fs::read_to_string(&next.snippet).unwrap();
        assert_eq!(text, format!("access_log \"{}\" ingressd_traffic buffer=64k flush=1s;\n", next.lines().display()));
        let text = traffic_log(next.lines(), &Instance::new("edge").unwrap()).unwrap();
        assert!(text.contains(" ingressd__edge_traffic "), "{text}");
        // A host that has started again has nothing of it.
        fs::remove_dir_all(&at).unwrap();
        assert_ne!(Spool::make(&at, &instance).unwrap().included(), spool.included());
    }

    #[test]
    fn what_nobody_reads_is_bounded() {
        let folder = tempfile::tempdir().unwrap();
        let spool = Spool::make(&folder.path().join("traffic"), &Instance::default()).unwrap();
        let (mut nginx, line) = (append(&spool), [b'x'; CHUNK - 1]);
        let written = (0..1000).take_while(|_| nginx.write_all(&[&line[..], b"\n"].concat()).is_ok()).count();
        assert!((200..=256).contains(&written), "{written}");
        let (lines, read) = taken(&spool);
        assert!(lines.len() >= written && read == Read::Full, "{} {read:?}", lines.len());
        spool.give_up().unwrap();
        let next = Spool::make(&folder.path().join("traffic"), &Instance::default()).unwrap();
        assert_ne!(next.included(), spool.included());
        append(&next).write_all(b"again\n").unwrap();
        assert_eq!(taken(&next), (vec!["again".to_owned()], Read::Enough));
    }

    #[test]
    fn the_program_that_makes_room_knows_where_lines_begin() {
        let program = include_str!("../../../packaging/traffic-room");
        let begins: Vec<_> = LARGEST.iter().map(|largest| (largest - ROOM).to_string()).collect();
        assert!(program.contains(&format!("for begin in {};", begins.join(" "))), "{begins:?}");
    }

    #[test]
    fn a_file_without_its_bound_gets_it_back() {
        let folder = tempfile::tempdir().unwrap();
        let spool = Spool::make(&folder.path().join("traffic"), &Instance::default()).unwrap();
        File::options().write(true).open(spool.lines()).unwrap().set_len(0).unwrap();
        assert_eq!(taken(&spool), (Vec::new(), Read::Enough));
        assert_eq!(spool.lines.metadata().unwrap().len(), spool.begin);
    }
}
