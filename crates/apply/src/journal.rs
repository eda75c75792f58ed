//! Records which generations nginx was seen to run, across restarts.

use std::fs::{self, File};
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::error::{ApplyError, unless_missing};

/// How many numbers are remembered: more than generations are kept on disk.
const REMEMBERED: usize = 256;

/// The content of the journal file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Content {
    /// The highest number that may have been given to a generation.
    issued: u64,
    /// Confirmed generations, the latest last.
    confirmed: Vec<u64>,
}

#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    content: Content,
}

impl Journal {
    /// Reads the journal. A missing or damaged one counts as empty, since nginx can be asked what
    /// it runs.
    pub fn open(state: &Path) -> Result<Journal, ApplyError> {
        let path = state.join("journal.json");
        let read = unless_missing(fs::read(&path)).map_err(ApplyError::files("read", &path))?;
        let content = read.map(|bytes| serde_json::from_slice(&bytes)).transpose().unwrap_or_else(|error| {
            tracing::warn!(path = %path.display(), "the journal of changes is damaged and begun anew: {}: {error}", path.display());
            None
        });
        let content = content.unwrap_or_default();
        Ok(Journal { path, content })
    }

    /// The highest number that may have been given to a generation.
    pub fn issued(&self) -> u64 {
        self.content.issued
    }

    /// Confirmed generations, the latest first.
    pub fn confirmed(&self) -> impl Iterator<Item = u64> {
        self.content.confirmed.iter().rev().copied()
    }

    /// Records that nginx runs this generation.
    pub fn confirm(&mut self, generation: u64) -> Result<(), ApplyError> {
        let mut content = self.content.clone();
        content.issued = content.issued.max(generation);
        content.confirmed.retain(|number| *number != generation);
        content.confirmed.push(generation);
        let surplus = content.confirmed.len().saturating_sub(REMEMBERED);
        content.confirmed.drain(..surplus);
        self.write(content)
    }

    /// Records that this number is in use, so that no other generation gets it.
    pub fn issue(&mut self, generation: u64) -> Result<(), ApplyError> {
        self.write(Content { issued: self.content.issued.max(generation), ..self.content.clone() })
    }

    fn write(&mut self, content: Content) -> Result<(), ApplyError> {
        if content == self.content {
            return Ok(());
        }
        replace(&self.path, &content)?;
        self.content = content;
        Ok(())
    }
}

/// Replaces a file by this content as JSON, readable by root alone, and flushes it to the disk.
///
/// # Errors
///
/// When the file system fails; then either the old or the new file is in place.
pub fn replace(path: &Path, content: &impl Serialize) -> Result<(), ApplyError> {
    let next = path.with_extension("next");
    let write = || -> std::io::Result<()> {
        let mut file = fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&next)?;
        serde_json::to_writer(&mut file, content)?;
        file.write_all(b"\n")?;
        file.sync_data()?;
        fs::rename(&next, path)?;
        path.parent().map_or(Ok(()), |folder| File::open(folder)?.sync_all())
    };
    write().map_err(ApplyError::files("write", path))
}

#[cfg(test)]
mod tests {
    use super::Journal;

    #[test]
    fn what_is_recorded_survives() {
        let folder = tempfile::tempdir().unwrap();
        let mut journal = Journal::open(folder.path()).unwrap();
        for generation in [1, 2, 4, 2] {
            journal.confirm(generation).unwrap();
        }
        journal.issue(5).unwrap();
        let journal = Journal::open(folder.path()).unwrap();
        assert_eq!(journal.confirmed().collect::<Vec<_>>(), [2, 4, 1]);
        assert_eq!(journal.issued(), 5);
    }

    #[test]
    fn a_damaged_journal_is_begun_anew() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("journal.json"), "{\"issued\": 3").unwrap();
        assert_eq!(Journal::open(folder.path()).unwrap().issued(), 0);
    }
}
