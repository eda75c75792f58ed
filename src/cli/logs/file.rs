//! Lines of files that grow and are rotated, within bounded memory. It must not know what they
//! say.

use std::fs::{self, File, Metadata};
use std::io::{self, BufRead, BufReader, Read, Seek as _, SeekFrom};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use flate2::read::MultiGzDecoder;
use jiff::Timestamp;

use crate::cli::exit::Exit;
use crate::cli::status::is_closed;

/// The longest line that is read; a longer one is left out. What nginx takes of a request is in
/// JSON some 200 KiB long at most.
const LONGEST: usize = 1 << 20;

/// How often files are looked at that are followed.
const INTERVAL: Duration = Duration::from_millis(250);

/// A line, or that no more is there for now.
pub enum Reported<T> {
    Line(T),
    Pause,
}

/// Why the reading ends before its end.
#[derive(Debug)]
pub enum Halt {
    /// Nobody reads what is shown any more.
    ReaderGone,
    Failed(Exit),
}

/// Whoever takes lines.
pub type Report<'t> = &'t mut dyn FnMut(Reported<&[u8]>) -> Result<(), Halt>;

/// Reads files from the beginning, and where a time is named also what was rotated away since
/// then; with `follow` goes on with what is added, and without a time begins with that.
pub fn read(files: &[PathBuf], since: Option<Timestamp>, follow: bool, report: Report<'_>) -> Result<(), Halt> {
    let mut open = Vec::new();
    for path in files {
        if path.as_os_str() == "-" {
            all(path, &mut io::stdin().lock(), report)?;
            continue;
        }
        for earlier in since.map(|since| rotated(path, since)).unwrap_or_default() {
            whole(&earlier, report)?;
        }
        let mut followed = Followed::open(path)?;
        if follow && since.is_none() {
            followed.reader.seek(SeekFrom::End(0)).map_err(failed(path))?;
        }
        followed.read(report)?;
        open.push((followed, None));
    }
    while follow && !open.is_empty() {
        report(Reported::Pause)?;
        if is_closed(INTERVAL) {
            break;
        }
        open.iter_mut().try_for_each(|(followed, before)| go_on(followed, before, report))?;
    }
    Ok(())
}

/// For `map_err`: complains that a file cannot be read.
fn failed(path: &Path) -> impl FnOnce(io::Error) -> Halt {
    move |error| {
        complain!("ingressd: {} cannot be read: {error}", path.display());
        Halt::Failed(match error.kind() {
            io::ErrorKind::PermissionDenied => Exit::Permission,
            _ => Exit::NoInput,
        })
    }
}

/// Reads what was added. The file before a rotation is read until the next one: nginx writes to it
/// until it is told of the rotation.
fn go_on(followed: &mut Followed, before: &mut Option<Followed>, report: Report<'_>) -> Result<(), Halt> {
    for file in before.iter_mut().chain([&mut *followed]) {
        file.read(report)?;
    }
    let position = followed.reader.stream_position().map_err(failed(&followed.path))?;
    match fs::metadata(&followed.path) {
        Ok(now) if (now.dev(), now.ino()) != followed.identity => {
            let next = Followed::open(&followed.path)?;
            *before = Some(std::mem::replace(followed, next));
        }
        Ok(now) if now.len() < position => {
            followed.reader.rewind().map_err(failed(&followed.path))?;
            followed.rest = Rest::default();
        }
        // Between the steps of a rotation there is no file.
        _ => {}
    }
    Ok(())
}

struct Followed {
    path: PathBuf,
    reader: BufReader<File>,
    /// Device and inode.
    identity: (u64, u64),
    rest: Rest,
}

impl Followed {
    fn open(path: &Path) -> Result<Self, Halt> {
        let open = || {
            let file = File::open(path)?;
            let found: Metadata = file.metadata()?;
            match found.is_file() {
                true => Ok((file, found)),
                false => Err(io::Error::other("it is no file")),
            }
        };
        let (file, found) = open().map_err(failed(path))?;
        let (path, identity) = (path.to_owned(), (found.dev(), found.ino()));
        Ok(Followed { path, reader: BufReader::new(file), identity, rest: Rest::default() })
    }

    fn read(&mut self, report: Report<'_>) -> Result<(), Halt> {
        lines(&self.path, &mut self.reader, &mut self.rest, report)
    }
}

/// The beginning of a line whose end is not there yet.
#[derive(Default)]
struct Rest {
    bytes: Vec<u8>,
    is_too_long: bool,
}

/// Tells each whole line until the end.
fn lines(path: &Path, reader: &mut dyn BufRead, rest: &mut Rest, report: Report<'_>) -> Result<(), Halt> {
    loop {
        let chunk = reader.fill_buf().map_err(failed(path))?;
        if chunk.is_empty() {
            return Ok(());
        }
        let end = chunk.iter().position(|byte| *byte == b'\n');
        let (text, used) = (&chunk[..end.unwrap_or(chunk.len())], end.map_or(chunk.len(), |end| end + 1));
        rest.is_too_long |= rest.bytes.len() + text.len() > LONGEST;
        if rest.is_too_long {
            rest.bytes.clear();
        } else {
            rest.bytes.extend_from_slice(text);
        }
        reader.consume(used);
        if end.is_some() {
            if rest.is_too_long {
                complain!("ingressd: a line of more than {LONGEST} bytes was left out");
            }
            if !rest.is_too_long && !rest.bytes.is_empty() {
                report(Reported::Line(&rest.bytes))?;
            }
            rest.bytes.clear();
            rest.is_too_long = false;
        }
    }
}

fn whole(path: &Path, report: Report<'_>) -> Result<(), Halt> {
    let file = File::open(path).map_err(failed(path))?;
    let reader: Box<dyn Read> = match path.extension().is_some_and(|end| end == "gz") {
        true => Box::new(MultiGzDecoder::new(file)),
        false => Box::new(file),
    };
    all(path, &mut BufReader::new(reader), report)
}

/// Tells each line of what does not grow any more: the last one may lack its end.
fn all(path: &Path, reader: &mut dyn BufRead, report: Report<'_>) -> Result<(), Halt> {
    let mut rest = Rest::default();
    lines(path, reader, &mut rest, report)?;
    if rest.bytes.is_empty() { Ok(()) } else { report(Reported::Line(&rest.bytes)) }
}

/// The files that were rotated away, and to which something was written since then, the oldest
/// first: `access.log.2.gz`, or `access.log-20261129`.
fn rotated(path: &Path, since: Timestamp) -> Vec<PathBuf> {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let is_rotated = |found: &str| {
        let end = found.strip_prefix(&name).and_then(|end| end.strip_prefix(['.', '-']));
        let end = end.map(|end| end.strip_suffix(".gz").unwrap_or(end));
        end.is_some_and(|end| !end.is_empty() && end.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-'))
    };
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let folder = fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok);
    let mut found: Vec<_> = folder
        .filter(|entry| is_rotated(&entry.file_name().to_string_lossy()))
        .filter_map(|entry| {
            let changed = Timestamp::try_from(entry.metadata().ok()?.modified().ok()?).ok()?;
            (changed >= since).then(|| (changed, entry.path()))
        })
        .collect();
    found.sort();
    found.into_iter().map(|(_, path)| path).collect()
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    fn read_all(bytes: &[u8]) -> Vec<usize> {
        let mut lengths = Vec::new();
        let mut report = |reported: Reported<&[u8]>| {
            if let Reported::Line(line) = reported {
                lengths.push(line.len());
            }
            Ok(())
        };
        assert!(all(Path::new("-"), &mut BufReader::new(bytes), &mut report).is_ok());
        lengths
    }

    #[test]
    fn a_line_without_an_end_takes_no_memory() {
        let long = vec![b'x'; 10 * LONGEST];
        assert_eq!(read_all(&[&b"ab\n"[..], &long, b"\nabc\n\nd"].concat()), [2, 3, 1]);
        assert_eq!(read_all(&[vec![b'x'; LONGEST], vec![b'\n']].concat()), [LONGEST]);
    }

    #[test]
    fn rotated_files_are_read_before_the_present_one_and_also_compressed_ones() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.log");
        let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gz.write_all(b"oldest\n").unwrap();
        let ago = |name: &str, bytes: &[u8], hours: u64| {
            let file = folder.path().join(name);
            fs::write(&file, bytes).unwrap();
            let time = std::time::SystemTime::now() - Duration::from_secs(3600 * hours);
            File::options().write(true).open(&file).unwrap().set_modified(time).unwrap();
        };
        ago("a.log.2.gz", &gz.finish().unwrap(), 3);
        ago("a.log.1", b"older\n", 2);
        ago("a.log.3", b"too old\n", 9);
        ago("a.log.conf", b"other\n", 1);
        ago("a.log", b"now\n", 0);
        let mut reported = Vec::new();
        let since = Timestamp::now() - jiff::SignedDuration::from_hours(5);
        let read = read(&[path], Some(since), false, &mut |line| {
            if let Reported::Line(line) = line {
                reported.push(String::from_utf8(line.to_vec()).unwrap());
            }
            Ok(())
        });
        assert!(read.is_ok());
        assert_eq!(reported, ["oldest", "older", "now"]);
    }
}
