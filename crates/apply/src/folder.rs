//! Folders of ours: made with their mode, and taken over only from root or ourselves.

use std::fs::{self, DirBuilder, File, Permissions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;

use nix::fcntl::OFlag;

/// The mode bits that let others write to a folder: they could exchange our files, or redirect
/// what we write.
const WRITABLE_BY_OTHERS: u32 = 0o022;

/// What happens to the mode of an existing folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Existing {
    /// It stays: others may have files in the folder.
    Shared,
    /// It stays, but group and others must not be able to write.
    Closed,
    /// It is set to the mode of a new folder.
    Taken,
}

/// Makes a folder with this mode, whatever the umask is, or checks that an existing one may be
/// used.
///
/// # Errors
///
/// Errors of the file system, and `PermissionDenied` when the folder, or the link in its place,
/// belongs to another user.
pub fn make(path: &Path, mode: u32, existing: Existing) -> io::Result<()> {
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            DirBuilder::new().recursive(true).mode(mode).create(path)?;
            // With the umask applied, nginx's workers might be unable to open the password files.
            fs::set_permissions(path, Permissions::from_mode(mode))
        }
        Err(error) => Err(error),
        Ok(_) if existing == Existing::Shared => Ok(()),
        Ok(entry) => {
            of_nobody_else(&entry)?;
            // From here on the open folder is used, also when another one takes its place under
            // the name.
            let folder = File::options().read(true).custom_flags(OFlag::O_DIRECTORY.bits()).open(path)?;
            let metadata = folder.metadata()?;
            of_nobody_else(&metadata)?;
            let is = metadata.mode() & 0o7777;
            let wanted = match existing {
                Existing::Shared => is,
                Existing::Closed => is & !WRITABLE_BY_OTHERS,
                Existing::Taken => mode,
            };
            match is == wanted {
                true => Ok(()),
                false => folder.set_permissions(Permissions::from_mode(wanted)),
            }
        }
    }
}

/// Refuses what belongs to another user than root or ourselves.
pub(super) fn of_nobody_else(metadata: &fs::Metadata) -> io::Result<()> {
    match metadata.uid() {
        0 => Ok(()),
        owner if owner == nix::unistd::geteuid().as_raw() => Ok(()),
        owner => {
            let words = format!(
                "it belongs to user {owner}, who could exchange what is in it or hold its lock: look at what is in it and give it to root, or let the settings name another folder"
            );
            Err(io::Error::new(ErrorKind::PermissionDenied, words))
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{chown, lchown, symlink};

    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().mode() & 0o7777
    }

    #[test]
    fn a_folder_that_is_there_lets_nobody_else_write() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("folder");
        for (there, existing, expected) in [
            (None, Existing::Closed, 0o750),
            (Some(0o700), Existing::Closed, 0o700),
            (Some(0o755), Existing::Closed, 0o755),
            (Some(0o777), Existing::Closed, 0o755),
            (Some(0o1777), Existing::Shared, 0o1777),
            (Some(0o775), Existing::Taken, 0o750),
            (Some(0o700), Existing::Taken, 0o750),
        ] {
            if let Some(there) = there {
                fs::create_dir(&path).unwrap();
                fs::set_permissions(&path, Permissions::from_mode(there)).unwrap();
            }
            make(&path, 0o750, existing).unwrap();
            assert_eq!(mode(&path), expected, "{there:?} {existing:?}");
            fs::remove_dir(&path).unwrap();
        }
    }

    #[test]
    fn a_folder_of_somebody_else_is_refused() {
        let home = tempfile::tempdir().unwrap();
        let path = |name: &str| home.path().join(name);
        fs::create_dir(path("theirs")).unwrap();
        fs::create_dir(path("ours")).unwrap();
        symlink(path("ours"), path("our-link")).unwrap();
        symlink(path("ours"), path("their-link")).unwrap();
        symlink(path("theirs"), path("link-to-theirs")).unwrap();
        fs::write(path("file"), "").unwrap();
        make(&path("our-link"), 0o700, Existing::Taken).unwrap();
        assert_eq!(mode(&path("ours")), 0o700);
        assert!(make(&path("file"), 0o700, Existing::Closed).is_err());
        // Only root can give a file to another user.
        if chown(path("theirs"), Some(1), None).is_err() {
            return;
        }
        lchown(path("their-link"), Some(1), None).unwrap();
        for name in ["theirs", "their-link", "link-to-theirs"] {
            let refused = make(&path(name), 0o700, Existing::Taken).unwrap_err();
            assert!(refused.to_string().contains("belongs to user 1"), "{name}: {refused}");
        }
    }
}
