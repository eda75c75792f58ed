//! The state of a path, read and restored exactly.

use std::fs::{self, DirBuilder, File, Permissions};
use std::io::{self, ErrorKind, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::os::unix::fs::{fchown, symlink};
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use ingressd_apply::unless_missing;
use ingressd_model::Digest;

/// The state of a path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// It does not exist.
    Absent,
    File(Content),
    /// A symbolic link, with its target as written.
    Link(PathBuf),
    /// A folder, whatever its content is.
    Folder(Owned),
    /// The mode of a file or folder; its content is not recorded, because it may be secret.
    Mode(Mode),
}

/// The mode of a file or folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mode {
    /// The permission bits, `0o644`.
    pub mode: u32,
    /// The digest of the file, so that the permissions are not applied to another file in its
    /// place; `None` for a folder.
    pub digest: Option<String>,
}

impl Mode {
    /// The same file with other permissions.
    pub fn with(&self, mode: u32) -> Self {
        Mode { mode, digest: self.digest.clone() }
    }
}

/// A file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Content {
    /// Its content.
    #[serde(serialize_with = "encode", deserialize_with = "decode")]
    pub bytes: Vec<u8>,
    /// Its owner and permissions.
    #[serde(flatten)]
    pub owned: Owned,
}

/// Owner, group and permissions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Owned {
    /// The permission bits, `0o644`.
    pub mode: u32,
    /// The user ID.
    pub user: u32,
    /// The group ID.
    pub group: u32,
}

impl Owned {
    /// Owned by root, or by the user who runs this, with these permissions.
    pub fn ours(mode: u32) -> Self {
        Owned { mode, user: nix::unistd::geteuid().as_raw(), group: nix::unistd::getegid().as_raw() }
    }

    fn of(metadata: &fs::Metadata) -> Self {
        Owned { mode: metadata.permissions().mode() & 0o7777, user: metadata.uid(), group: metadata.gid() }
    }
}

fn encode<S: Serializer>(bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&STANDARD.encode(bytes))
}

fn decode<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u8>, D::Error> {
    STANDARD.decode(String::deserialize(deserializer)?).map_err(serde::de::Error::custom)
}

impl State {
    /// The present state of a path.
    ///
    /// # Errors
    ///
    /// When it cannot be read, or is something that cannot be restored, such as a socket or a
    /// device.
    pub fn read(path: &Path) -> io::Result<State> {
        let metadata = match fs::symlink_metadata(path) {
            Ok(metadata) => metadata,
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
                return Ok(State::Absent);
            }
            Err(error) => return Err(error),
        };
        let kind = metadata.file_type();
        match (kind.is_symlink(), kind.is_dir(), kind.is_file()) {
            (true, ..) => fs::read_link(path).map(State::Link),
            (_, true, _) => Ok(State::Folder(Owned::of(&metadata))),
            (.., true) => Ok(State::File(Content { bytes: fs::read(path)?, owned: Owned::of(&metadata) })),
            _ => Err(io::Error::new(ErrorKind::InvalidInput, "it is neither a file, a folder nor a link")),
        }
    }

    /// The present mode of a path, with symbolic links resolved; [`State::Absent`] when it does
    /// not exist.
    ///
    /// # Errors
    ///
    /// When it cannot be read.
    pub fn mode_of(path: &Path) -> io::Result<State> {
        let Some(metadata) = unless_missing(fs::metadata(path))? else { return Ok(State::Absent) };
        let digest = match metadata.is_file() {
            true => Some(STANDARD.encode(Digest::of(&fs::read(path)?).0)),
            false => None,
        };
        Ok(State::Mode(Mode { mode: metadata.permissions().mode() & 0o7777, digest }))
    }

    /// The present state of a path, of the same kind as this one.
    ///
    /// # Errors
    ///
    /// As [`State::read`].
    pub fn read_alike(&self, path: &Path) -> io::Result<State> {
        match self {
            State::Mode(_) => State::mode_of(path),
            _ => State::read(path),
        }
    }

    /// Whether nothing has to be restored: both states are equal, or have the same permissions
    /// where only these matter.
    pub fn is_like(&self, other: &State) -> bool {
        match (self, other) {
            (State::Mode(one), State::Mode(other)) => one.mode == other.mode,
            _ => self == other,
        }
    }

    /// Restores this state at a path. Readers see the old or the new state, never a part; when
    /// this returns, it is on the disk.
    ///
    /// # Errors
    ///
    /// The error of the file system. Only an empty folder can be removed.
    pub fn put(&self, path: &Path) -> io::Result<()> {
        let next = scratch(path);
        match self {
            State::Absent => match State::read(path)? {
                State::Absent => {}
                State::Folder(_) => fs::remove_dir(path)?,
                _ => fs::remove_file(path)?,
            },
            State::File(Content { bytes, owned }) => {
                remove_scratch(path)?;
                let mut file = File::options().write(true).create_new(true).mode(0o600).open(&next)?;
                file.write_all(bytes)?;
                fchown(&file, Some(owned.user), Some(owned.group))?;
                // This follows the change of the owner, which clears set-uid bits.
                file.set_permissions(Permissions::from_mode(owned.mode))?;
                file.sync_all()?;
                fs::rename(&next, path)?;
            }
            State::Link(target) => {
                remove_scratch(path)?;
                symlink(target, &next)?;
                fs::rename(&next, path)?;
            }
            State::Folder(owned) => {
                if !path.is_dir() {
                    DirBuilder::new().mode(0o700).create(path)?;
                }
                std::os::unix::fs::chown(path, Some(owned.user), Some(owned.group))?;
                fs::set_permissions(path, Permissions::from_mode(owned.mode))?;
            }
            State::Mode(Mode { mode, .. }) => fs::set_permissions(path, Permissions::from_mode(*mode))?,
        }
        File::open(path.parent().unwrap_or(Path::new("/")))?.sync_all()
    }
}

/// The name of a file before it is complete. nginx's patterns do not match it, because `*` matches
/// no leading dot.
fn scratch(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    path.with_file_name(format!(".{name}.ingressd-setup"))
}

/// Removes what a killed predecessor left beside this path.
///
/// # Errors
///
/// The error of the file system.
pub fn remove_scratch(path: &Path) -> io::Result<()> {
    match fs::remove_file(scratch(path)) {
        Err(error) if !matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => Err(error),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_state_is_put_in_place_of_each_other_and_read_back() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x");
        let states = [
            State::Absent,
            State::File(Content { bytes: b"a\xff\n".to_vec(), owned: Owned::ours(0o640) }),
            State::Link("../elsewhere".into()),
            State::File(Content { bytes: Vec::new(), owned: Owned::ours(0o600) }),
            State::Absent,
            State::Folder(Owned::ours(0o751)),
            State::Absent,
        ];
        for state in &states {
            state.put(&path).unwrap();
            assert_eq!(State::read(&path).unwrap(), *state);
            let text = serde_json::to_string(state).unwrap();
            assert_eq!(serde_json::from_str::<State>(&text).unwrap(), *state, "{text}");
        }
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "nothing is left beside it");
    }

    #[test]
    fn a_folder_with_something_in_it_stays() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("a"), "").unwrap();
        State::Absent.put(folder.path()).unwrap_err();
        assert!(folder.path().join("a").exists());
    }

    #[test]
    fn where_only_the_mode_matters_a_file_is_distinguished_from_another_one() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let State::Mode(before) = State::mode_of(file.path()).unwrap() else { panic!("it is there") };
        let state = State::Mode(before.with(0o640));
        state.put(file.path()).unwrap();
        assert_eq!(state.read_alike(file.path()).unwrap(), state);
        fs::write(file.path(), "another").unwrap();
        let other = state.read_alike(file.path()).unwrap();
        assert!(other != state && other.is_like(&state), "{other:?}");
        assert_eq!(State::mode_of(Path::new("/nonexistent/x")).unwrap(), State::Absent);
    }
}
