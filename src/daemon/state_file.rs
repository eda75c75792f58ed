//! JSON files for the daemon alone: root-only, replaced as a whole.

use std::io::{self, Write as _};
use std::path::Path;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::apply::folder::{self, Existing};

/// Reads a file; `None` when there is none.
pub fn read<T: DeserializeOwned>(path: &Path) -> io::Result<Option<T>> {
    match std::fs::read(path) {
        Ok(bytes) => Ok(Some(serde_json::from_slice(&bytes)?)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Puts a file in the place of the one that is there. A reader finds the old or the new one, never a part.
pub fn write(path: &Path, value: &impl Serialize) -> io::Result<()> {
    let bytes = serde_json::to_vec(value)?;
    write_bytes(path, &bytes)
}

/// The same for what must not be torn by a power cut.
pub fn write_synced(path: &Path, value: &impl Serialize) -> io::Result<()> {
    put(path, &serde_json::to_vec(value)?, true)
}

/// The same for content that is not JSON.
pub fn write_bytes(path: &Path, bytes: &[u8]) -> io::Result<()> {
    put(path, bytes, false)
}

fn put(path: &Path, bytes: &[u8], synced: bool) -> io::Result<()> {
    let folder = path.parent().unwrap_or_else(|| Path::new("/"));
    // Created with mode 0600, which the rename keeps. Most are not synced: thousands of files are written at the first start,
    // and one that a power cut tore is told from a good one when it is read.
    let mut file = tempfile::Builder::new().prefix(".new-").tempfile_in(folder)?;
    file.write_all(bytes)?;
    if synced {
        file.as_file().sync_data()?;
    }
    file.persist(path)?;
    Ok(())
}

/// Makes a folder that only root may enter; one that is there keeps its mode, but nobody else may write to it.
pub fn make_folder(path: &Path) -> io::Result<()> {
    folder::make(path, 0o700, Existing::Closed)
}
