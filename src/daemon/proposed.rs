//! Records the objects that a set of files is made of, before the files are applied.

use std::fs::File;
use std::io::{self, BufRead as _, BufReader, BufWriter, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::last_good::{LastGood, written};
use super::objects;
use super::state_file;
use ingressd_apply::{is_shortage, unless_missing};
use ingressd_model::ObjectId;
use ingressd_nginx::render::Digest;
use ingressd_objects::{Entry, Snapshot};

/// The last line: without it the file is truncated.
const END: &str = "end";

fn file(state: &Path) -> PathBuf {
    state.join("proposed.json")
}

/// Writes those of these objects that are not `kept` yet, for files with this digest, one on each
/// line. Without `kept`, all of them are written. A failure is logged as a warning: the file is
/// needed only if the daemon is killed.
pub fn propose<'a>(
    state: &Path,
    served: &Snapshot,
    worth: impl Iterator<Item = &'a Arc<ObjectId>>,
    files: Digest,
    kept: Option<&LastGood>,
) {
    let path = file(state);
    if let Err(why) = write(&path, served, worth, files, kept) {
        tracing::warn!(path = %path.display(), "what the next generation is made of cannot be kept: {}: {why}", path.display());
    }
}

fn write<'a>(
    path: &Path,
    served: &Snapshot,
    worth: impl Iterator<Item = &'a Arc<ObjectId>>,
    files: Digest,
    kept: Option<&LastGood>,
) -> io::Result<()> {
    let lasting = worth.filter_map(|id| objects::lasting(served, id));
    let is_kept = |entry: &Entry<'_>| kept.is_some_and(|kept| kept.has(entry.id, entry.version));
    let mut lines = lasting.filter(|(_, entry)| !is_kept(entry)).peekable();
    if lines.peek().is_none() {
        // The objects of an earlier file are kept already, and that file may contain Secrets that
        // were deleted.
        return remove(path);
    }
    let folder = path.parent().unwrap_or_else(|| Path::new("/"));
    // The file is created with mode 0600, which the rename keeps.
    let file = state_file::unfinished(folder)?;
    let mut output = BufWriter::new(file);
    writeln!(output, "{}", name(files))?;
    for (row, entry) in lines {
        serde_json::to_writer(&mut output, &written(row, entry))?;
        output.write_all(b"\n")?;
    }
    writeln!(output, "{END}")?;
    let file = output.into_inner().map_err(io::IntoInnerError::into_error)?;
    file.as_file().sync_data()?;
    file.persist(path)?;
    Ok(())
}

/// The lines that were written for these files; none when they belong to other files or are
/// truncated.
///
/// # Errors
///
/// When there may be lines that cannot be read now.
pub fn of(state: &Path, files: Option<Digest>) -> io::Result<Vec<String>> {
    let Some(files) = files else { return Ok(Vec::new()) };
    let read = File::open(file(state)).and_then(|file| BufReader::new(file).lines().collect());
    let lines: Vec<String> = match read {
        Err(why) if is_shortage(&why) => return Err(why),
        read => read.unwrap_or_default(),
    };
    match lines.as_slice() {
        [first, lines @ .., last] if *first == name(files) && last == END => Ok(lines.to_vec()),
        _ => Ok(Vec::new()),
    }
}

/// Removes the file, because its objects are kept elsewhere, or are of no use.
pub fn forget(state: &Path) {
    let path = file(state);
    if let Err(why) = remove(&path) {
        tracing::warn!(path = %path.display(), "a file that is no longer needed cannot be removed: {}: {why}", path.display());
    }
}

fn remove(path: &Path) -> io::Result<()> {
    unless_missing(std::fs::remove_file(path)).map(drop)
}

fn name(files: Digest) -> String {
    files.to_string()
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::ConfigMap;

    use super::*;
    use ingressd_model::Kind;
    use ingressd_objects::{Stored, Version};

    fn snapshot(objects: &[(&str, &str)]) -> Snapshot {
        let mut snapshot = Snapshot::default();
        for (name, version) in objects {
            snapshot.config_maps.edit().push(Stored {
                id: Arc::new(ObjectId::new(Kind::CONFIG_MAP, "shop", name)),
                version: Version((*version).into()),
                object: Arc::new(ConfigMap::default()),
                published: None,
                place: None,
            });
        }
        snapshot
    }

    fn propose_all(state: &Path, snapshot: &Snapshot, files: Digest, kept: Option<&LastGood>) {
        let worth = snapshot.config_maps.iter().map(|stored| &stored.id);
        propose(state, snapshot, worth, files, kept);
    }

    fn has(store: &LastGood, name: &str, version: &str) -> bool {
        store.has(&ObjectId::new(Kind::CONFIG_MAP, "shop", name), &Version(version.into()))
    }

    #[test]
    fn what_the_files_in_place_are_made_of_is_good() {
        use std::os::unix::fs::PermissionsExt as _;
        let state = tempfile::tempdir().unwrap();
        let (first, second) = (Digest::of(b"first"), Digest::of(b"second"));
        propose_all(state.path(), &snapshot(&[("a", "1"), ("b", "1")]), first, None);
        assert_eq!(std::fs::metadata(file(state.path())).unwrap().permissions().mode() & 0o777, 0o600);
        let store = LastGood::open(state.path(), Some(second)).unwrap();
        assert!(!has(&store, "a", "1"), "other files are in place");
        propose_all(state.path(), &snapshot(&[("a", "1"), ("b", "1")]), first, None);
        let store = LastGood::open(state.path(), Some(first)).unwrap();
        assert!(has(&store, "a", "1") && has(&store, "b", "1"));
        propose_all(state.path(), &snapshot(&[("a", "2"), ("b", "1")]), second, Some(&store));
        assert_eq!(of(state.path(), Some(second)).unwrap().len(), 1, "only what differs is written");
        let store = LastGood::open(state.path(), Some(second)).unwrap();
        assert!(has(&store, "a", "2") && has(&store, "b", "1"));
        propose_all(state.path(), &snapshot(&[("a", "2")]), first, Some(&store));
        assert!(!file(state.path()).exists(), "nothing is left that is not kept");
    }

    #[test]
    fn a_file_that_was_cut_off_is_none() {
        let state = tempfile::tempdir().unwrap();
        let files = Digest::of(b"first");
        propose_all(state.path(), &snapshot(&[("a", "1")]), files, None);
        let text = std::fs::read_to_string(file(state.path())).unwrap();
        assert_eq!(of(state.path(), Some(files)).unwrap().len(), 1);
        for length in 0..text.len() - 1 {
            std::fs::write(file(state.path()), &text[..length]).unwrap();
            assert_eq!(of(state.path(), Some(files)).unwrap(), [""; 0], "cut at {length}");
        }
    }
}
