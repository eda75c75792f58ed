//! The journal of setup: its changes with the former content, so that every byte can be restored.

use std::fs::{self, DirBuilder, File};
use std::io::{self, ErrorKind};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::points::reached;
use super::state::{Content, Owned, State};

/// The name of the journal in the state folder.
const FILE: &str = "setup.json";

/// The version of the journal's format.
const VERSION: u32 = 1;

/// A change of one path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// The name of its step.
    pub step: String,
    pub path: PathBuf,
    /// The state before.
    pub before: State,
    /// The state after.
    pub after: State,
}

/// The changes in order. A change is recorded before it is made: if setup is killed in between,
/// undoing it changes nothing.
#[derive(Debug)]
pub struct Journal {
    folder: PathBuf,
    changes: Vec<Change>,
}

#[derive(Serialize, Deserialize)]
struct Document {
    version: u32,
    changes: Vec<Change>,
}

impl Journal {
    /// Reads the journal of a state folder; a missing one is empty.
    ///
    /// # Errors
    ///
    /// When it cannot be read, or has another format.
    pub fn open(folder: &Path) -> io::Result<Journal> {
        let changes = match fs::read(folder.join(FILE)) {
            Ok(bytes) => {
                let document: Document = serde_json::from_slice(&bytes)?;
                if document.version != VERSION {
                    let words = format!("it was written by another version of ingressd (form {})", document.version);
                    return Err(io::Error::new(ErrorKind::InvalidData, words));
                }
                document.changes
            }
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => Vec::new(),
            Err(error) => return Err(error),
        };
        Ok(Journal { folder: folder.to_owned(), changes })
    }

    /// Creates the state folder together with a journal of these changes, so that no folder of
    /// unknown origin can remain.
    ///
    /// # Errors
    ///
    /// The error of the file system.
    pub fn create(folder: &Path, changes: &[Change]) -> io::Result<()> {
        let parent = folder.parent().unwrap_or(Path::new("/"));
        fs::create_dir_all(parent)?;
        remove_unfinished(folder)?;
        let unfinished = unfinished(folder);
        DirBuilder::new().mode(0o700).create(&unfinished)?;
        reached();
        Journal { folder: unfinished.clone(), changes: Vec::new() }.add(changes)?;
        reached();
        fs::rename(&unfinished, folder)?;
        File::open(parent)?.sync_all()
    }

    /// Removes the state folder together with the journal, when nothing else is in it; returns
    /// whether it did.
    ///
    /// # Errors
    ///
    /// The error of the file system.
    pub fn remove(&mut self) -> io::Result<bool> {
        let others = fs::read_dir(&self.folder)?.any(|entry| entry.is_ok_and(|entry| entry.file_name() != FILE));
        if others {
            return Ok(false);
        }
        fs::rename(&self.folder, unfinished(&self.folder))?;
        reached();
        remove_unfinished(&self.folder)?;
        self.changes.clear();
        Ok(true)
    }

    /// The path of the journal.
    pub fn path(&self) -> PathBuf {
        self.folder.join(FILE)
    }

    /// The changes, oldest first.
    pub fn changes(&self) -> &[Change] {
        &self.changes
    }

    /// Records changes that are about to be made.
    ///
    /// # Errors
    ///
    /// The error of the file system; then nothing is recorded.
    pub fn add(&mut self, changes: &[Change]) -> io::Result<()> {
        let mut all = self.changes.clone();
        all.extend_from_slice(changes);
        self.replace(all)
    }

    /// Removes changes that were undone or never made.
    ///
    /// # Errors
    ///
    /// The error of the file system.
    pub fn forget(&mut self, gone: &[Change]) -> io::Result<()> {
        let all = self.changes.iter().filter(|change| !gone.contains(change)).cloned().collect();
        self.replace(all)
    }

    fn replace(&mut self, changes: Vec<Change>) -> io::Result<()> {
        let path = self.path();
        match changes.is_empty() {
            true => State::Absent.put(&path)?,
            false => {
                let mut bytes = serde_json::to_vec_pretty(&Document { version: VERSION, changes: changes.clone() })?;
                bytes.push(b'\n');
                State::File(Content { bytes, owned: Owned::ours(0o600) }).put(&path)?;
            }
        }
        self.changes = changes;
        Ok(())
    }
}

/// The name of the folder before it is complete, and while it is removed.
fn unfinished(folder: &Path) -> PathBuf {
    let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
    folder.with_file_name(format!(".{name}.ingressd-setup"))
}

/// Removes what a killed predecessor left beside the state folder.
///
/// # Errors
///
/// The error of the file system.
pub fn remove_unfinished(folder: &Path) -> io::Result<()> {
    match fs::remove_dir_all(unfinished(folder)) {
        Err(error) if !matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => Err(error),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn it_is_read_as_written_by_root_alone_and_gone_when_empty() {
        let folder = tempfile::tempdir().unwrap();
        let mut journal = Journal::open(folder.path()).unwrap();
        let link = || State::Link("/z".into());
        let change = |path: &str| Change { step: "a".into(), path: path.into(), before: State::Absent, after: link() };
        journal.add(&[change("/x"), change("/y")]).unwrap();
        assert_eq!(Journal::open(folder.path()).unwrap().changes(), [change("/x"), change("/y")]);
        assert_eq!(fs::metadata(journal.path()).unwrap().permissions().mode() & 0o777, 0o600);
        journal.forget(&[change("/x")]).unwrap();
        assert_eq!(Journal::open(folder.path()).unwrap().changes(), [change("/y")]);
        journal.forget(&[change("/y")]).unwrap();
        assert!(!journal.path().exists());
        fs::write(journal.path(), r#"{"version": 2, "changes": []}"#).unwrap();
        assert!(Journal::open(folder.path()).unwrap_err().to_string().contains("another version"));
    }
}
