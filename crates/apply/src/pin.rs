//! The pin that keeps the node at a generation, across restarts.

use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::error::{ApplyError, unless_missing};
use super::journal::replace;

/// The administrator's decision to stay at a generation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pin {
    /// Its number.
    pub generation: u64,
    /// Since when, in seconds since 1970.
    pub since: i64,
}

fn file(state: &Path) -> PathBuf {
    state.join("pinned.json")
}

impl Pin {
    /// Reads the pin. A damaged file still means that the administrator wanted nothing to change:
    /// it counts as a pin of the generation in use.
    ///
    /// # Errors
    ///
    /// When there may be a pin that cannot be read.
    pub fn read(state: &Path, in_use: Option<u64>) -> Result<Option<Pin>, ApplyError> {
        let path = file(state);
        let read = unless_missing(fs::read(&path)).map_err(ApplyError::files("read", &path))?;
        let Some(bytes) = read else { return Ok(None) };
        match serde_json::from_slice(&bytes) {
            Ok(pin) => Ok(Some(pin)),
            Err(error) => {
                tracing::warn!(path = %path.display(), "it cannot be read which generation is pinned, and the one in use stays pinned: {}: {error}", path.display());
                Ok(in_use.map(|generation| Pin { generation, since: 0 }))
            }
        }
    }

    /// Writes the pin and flushes it to the disk.
    ///
    /// # Errors
    ///
    /// When the file system fails; then nothing changed.
    pub fn keep(self, state: &Path) -> Result<(), ApplyError> {
        replace(&file(state), &self)
    }

    /// Removes the pin.
    ///
    /// # Errors
    ///
    /// When the file system fails; then the pin may come back with the next start.
    pub fn forget(state: &Path) -> Result<(), ApplyError> {
        let path = file(state);
        let forget = || match unless_missing(fs::remove_file(&path))? {
            Some(()) => fs::File::open(state)?.sync_all(),
            None => Ok(()),
        };
        forget().map_err(ApplyError::files("remove", &path))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_kept_until_it_is_forgotten_and_damage_does_not_lift_it() {
        let folder = tempfile::tempdir().unwrap();
        let read = || Pin::read(folder.path(), Some(9)).unwrap();
        assert_eq!(read(), None);
        let pin = Pin { generation: 5, since: 1_700_000_000 };
        pin.keep(folder.path()).unwrap();
        assert_eq!(read(), Some(pin));
        fs::write(file(folder.path()), "{\"generation\":").unwrap();
        assert_eq!(read(), Some(Pin { generation: 9, since: 0 }));
        Pin::forget(folder.path()).unwrap();
        Pin::forget(folder.path()).unwrap();
        assert_eq!(read(), None);
    }
}
