//! The file with the former statuses: written as a whole, readable for its owner only. It must not
//! know its content.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::Path;

use super::looked::ClusterState;
use crate::cli::exit::Exit;
use ingressd_cluster::publish::hand_over::Record;

/// Reads the file; `None` when it does not exist.
pub fn read(path: &Path) -> Result<Option<Record>, Exit> {
    let wrong = |why: &dyn std::fmt::Display| {
        complain!("ingressd: {} has what stood in the statuses before, and cannot be read: {why}", path.display());
        Exit::NoInput
    };
    match fs::read_to_string(path) {
        Ok(text) => Record::read(&text).map(Some).map_err(|why| wrong(&why)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(wrong(&error)),
    }
}

/// The record, unless it is of another cluster, or of another group of nodes.
pub fn of_this_cluster(record: Record, path: &Path, looked: &ClusterState) -> Result<Record, Exit> {
    if record.server == looked.administrator.server() && record.nodes == looked.hand_over.manager() {
        return Ok(record);
    }
    complain!(
        "ingressd: {} is of the API server {} and the nodes {}; name another file with --record",
        path.display(),
        record.server.escape_debug(),
        record.nodes.escape_debug()
    );
    Err(Exit::CannotCreate)
}

/// Replaces the file as a whole.
pub fn write(path: &Path, record: &Record) -> Result<(), Exit> {
    put(path, &record.text()).map_err(|error| {
        complain!("ingressd: {} cannot be written, and nothing was changed: {error}", path.display());
        Exit::of_error(&error)
    })
}

fn put(path: &Path, text: &str) -> io::Result<()> {
    let path = std::path::absolute(path)?;
    let folder = path.parent().unwrap_or(Path::new("/"));
    // The file is created with mode 0600.
    let mut file = tempfile::Builder::new().prefix(".take-over-").tempfile_in(folder)?;
    file.write_all(text.as_bytes())?;
    file.as_file().sync_all()?;
    file.persist(&path)?;
    File::open(folder)?.sync_all()
}

/// Removes the file, because all statuses are restored.
pub fn remove(path: &Path) -> Result<(), Exit> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            complain!("ingressd: {} is of no more use, and cannot be removed: {error}", path.display());
            Err(Exit::of_error(&error))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn it_is_written_as_a_whole_and_for_its_owner_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("record.json");
        assert_eq!(read(&path), Ok(None));
        let record = Record::new("https://api.example", "nodes");
        write(&path, &record).unwrap();
        assert_eq!(read(&path), Ok(Some(record.clone())));
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        write(&path, &record).unwrap();
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "nothing is left behind");
        fs::write(&path, "{").unwrap();
        assert_eq!(read(&path), Err(Exit::NoInput));
        assert!(write(&folder.path().join("none/record.json"), &record).is_err());
        remove(&path).unwrap();
        remove(&path).unwrap();
        assert_eq!(read(&path), Ok(None));
    }
}
