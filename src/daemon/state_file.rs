//! State files of the daemon in JSON: for root only, replaced as a whole.

use std::io::{self, Write as _};
use std::path::Path;

use serde::Serialize;
use serde::de::DeserializeOwned;

use ingressd_apply::folder::{self, Existing};
use ingressd_apply::{is_shortage, unless_missing};

/// How the name of a file begins that is being written.
const UNFINISHED: &str = ".new-";

/// Removes what a killed predecessor had begun to write into a folder: Secrets may be in it.
/// Without the folder there is nothing.
pub fn remove_unfinished(folder: &Path) -> io::Result<()> {
    for entry in unless_missing(std::fs::read_dir(folder))?.into_iter().flatten() {
        let entry = entry?;
        if entry.file_name().as_encoded_bytes().starts_with(UNFINISHED.as_bytes()) {
            std::fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

/// A file in this folder that gets its name once it is complete.
pub fn unfinished(folder: &Path) -> io::Result<tempfile::NamedTempFile> {
    tempfile::Builder::new().prefix(UNFINISHED).tempfile_in(folder)
}

/// Reads a file; `None` when it does not exist.
pub fn read<T: DeserializeOwned>(path: &Path) -> io::Result<Option<T>> {
    Ok(unless_missing(std::fs::read(path))?.map(|bytes| serde_json::from_slice(&bytes)).transpose()?)
}

/// Reads what an earlier run kept; `None` when there is nothing, or only damage, which is logged
/// as a warning that begins with these words.
///
/// # Errors
///
/// When there may be something that cannot be read now.
pub fn read_kept<T: DeserializeOwned>(path: &Path, ignored: &str) -> io::Result<Option<T>> {
    read(path).or_else(|why| {
        if is_shortage(&why) {
            return Err(why);
        }
        tracing::warn!(path = %path.display(), "{ignored}: {}: {why}", path.display());
        Ok(None)
    })
}

/// Replaces a file. A reader finds the old or the new content, never a part.
pub fn write(path: &Path, value: &impl Serialize) -> io::Result<()> {
    let bytes = serde_json::to_vec(value)?;
    write_bytes(path, &bytes)
}

/// The same for a file that must survive a power failure.
pub fn write_synced(path: &Path, value: &impl Serialize) -> io::Result<()> {
    put(path, &serde_json::to_vec(value)?, true)
}

/// The same for content that is not JSON.
pub fn write_bytes(path: &Path, bytes: &[u8]) -> io::Result<()> {
    put(path, bytes, false)
}

fn put(path: &Path, bytes: &[u8], synced: bool) -> io::Result<()> {
    let folder = path.parent().unwrap_or_else(|| Path::new("/"));
    // The file is created with mode 0600, which the rename keeps. Most files are not synced:
    // thousands are written at the first start, and one that a power failure truncated is
    // recognised when it is read.
    let mut file = unfinished(folder)?;
    file.write_all(bytes)?;
    if synced {
        file.as_file().sync_data()?;
    }
    file.persist(path)?;
    Ok(())
}

/// Creates a folder that only root may enter. An existing one keeps its mode, but no other user
/// may be able to write to it.
pub fn make_folder(path: &Path) -> io::Result<()> {
    folder::make(path, 0o700, Existing::Closed)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn what_was_never_finished_is_removed() {
        let folder = tempfile::tempdir().unwrap();
        write(&folder.path().join("claims.json"), &[7]).unwrap();
        let unfinished = unfinished(folder.path()).unwrap().into_temp_path().keep().unwrap();
        remove_unfinished(folder.path()).unwrap();
        assert!(!unfinished.exists());
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
        remove_unfinished(&folder.path().join("none")).unwrap();
    }

    #[test]
    fn what_a_link_in_its_place_leads_to_is_not_written() {
        let folder = tempfile::tempdir().unwrap();
        let [file, other] = ["claims.json", "other"].map(|name| folder.path().join(name));
        std::fs::write(&other, "theirs").unwrap();
        for is_synced in [false, true] {
            let _ = std::fs::remove_file(&file);
            symlink(&other, &file).unwrap();
            if is_synced { write_synced(&file, &[7]) } else { write(&file, &[7]) }.unwrap();
            assert!(!file.is_symlink());
            assert_eq!(read(&file).unwrap(), Some([7]));
            assert_eq!(std::fs::read_to_string(&other).unwrap(), "theirs");
        }
    }
}
