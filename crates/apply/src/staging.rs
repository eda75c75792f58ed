//! Writes the folder of one generation: hard-links files that stay, writes those that change.
//! Where the folder of an earlier generation is to spare, it becomes the new one, and what stays
//! in it need not even be linked.

use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::fs::{self, DirBuilder, File, Permissions};
use std::io::{ErrorKind, Write as _};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use nix::fcntl::{AtFlags, OFlag, openat};
use nix::sys::stat::{Mode, fstat, fstatat};
use nix::unistd::{Gid, UnlinkatFlags, fchown, linkat, syncfs, unlinkat};

use super::error::ApplyError;
use super::manifest::{Entry, MANIFEST, Manifest, Traits, by_path};
use super::record::Segment;
use super::steps::{Step, Steps};
use ingressd_model::Instance;
use ingressd_nginx::render::{Content, Digest, FilePath, FileSet, Part};

/// The file with the generation's number. It is written here and not by `render`, because rendered
/// files must not depend on the number.
pub const NUMBER_FILE: &str = "http/generation.conf";

/// The folders of a generation. Nobody but nginx's master reads what is in them: also plain files
/// have values of ConfigMaps. Its workers enter one of them, see [`Staging::workers_group`].
const FOLDERS: [&str; 5] = ["http", "stream", "certs", "auth", "empty"];

/// From this many files on, one flush of the whole file system is cheaper than one for each file.
const FLUSH_TOGETHER: usize = 64;

/// Where to write a generation, and from what to link.
#[derive(Debug)]
pub struct Staging<'a> {
    /// The folder to make; it must not exist.
    pub folder: PathBuf,
    /// The folder of an earlier generation that nobody needs, if there is one.
    pub spare: PathBuf,
    /// The number to write.
    pub generation: u64,
    /// The folder and manifest of the generation that unchanged files are linked from.
    pub base: Option<(PathBuf, &'a Manifest)>,
    /// The group of nginx's workers, which open files of passwords themselves.
    pub workers_group: Option<u32>,
    /// Which of several instances this is: the name of its variable is in the file.
    pub instance: &'a Instance,
    /// The segment that is added to the record.
    pub segment: Segment,
}

/// A folder within the new generation.
#[derive(Debug)]
struct Target {
    handle: OwnedFd,
    /// What an earlier generation has left in it, and has not been looked at yet.
    left: HashSet<OsString>,
}

/// The content of the file with the number, to which the workers add their version: another one
/// may be installed since their master was started.
fn number_file(generation: u64, instance: &Instance) -> Vec<u8> {
    let variable = instance.generation_variable();
    format!("map $nginx_version ${variable} {{\n    default \"{generation} $nginx_version\";\n}}\n").into_bytes()
}

/// Splits a path into folder and name. A generation has no deeper folders, and a name cannot lead
/// out of it.
fn split(path: &str) -> Result<(usize, &str), ApplyError> {
    let (folder, name) = path.split_once('/').ok_or_else(|| ApplyError::Path(path.to_owned()))?;
    let index = FOLDERS.iter().position(|known| *known == folder);
    let plain = !name.is_empty() && !name.starts_with('.') && !name.contains(['/', '\0', '\n']) && path != NUMBER_FILE;
    index.filter(|_| plain).map(|index| (index, name)).ok_or_else(|| ApplyError::Path(path.to_owned()))
}

impl Staging<'_> {
    /// Writes and flushes everything. Returns the manifest and how many files were written rather
    /// than linked.
    pub fn write(&self, files: &FileSet, steps: &mut Steps) -> Result<(Manifest, usize), ApplyError> {
        let mut targets = self.make_folders()?;
        let recorded = self.segment.write(&self.folder, self.generation)?;
        steps.reached(Step::FolderMade);
        let sources: Option<Vec<_>> =
            self.base.as_ref().map(|(base, _)| FOLDERS.iter().map(|name| open_folder(base, name).ok()).collect());
        let (mut entries, mut written) = (Vec::with_capacity(files.files.len() + 1), Vec::new());
        let mut known = self.base.iter().flat_map(|(_, manifest)| &manifest.entries).peekable();
        for (path, file) in &files.files {
            let (folder, name) = split(path)?;
            while known.next_if(|(known, _)| by_path(known, path).is_lt()).is_some() {}
            let known = known.next_if(|(known, _)| by_path(known, path).is_eq()).map(|(_, entry)| *entry);
            let known = known.filter(|entry| self.is_reusable(path, file.digest, entry));
            let target = &mut targets[folder];
            let is_there = target.left.remove(OsStr::new(name));
            let stays = known.filter(|entry| is_there && is_of(&target.handle, name, entry));
            if is_there && stays.is_none() {
                remove(&self.folder.join(&**path))?;
            }
            let link = || self.link(sources.as_ref()?[folder].as_ref()?, &target.handle, name, path, known?);
            let entry = match stays.or_else(link) {
                Some(entry) => entry,
                None => {
                    let (entry, handle) = self.write_file(path, &target.handle, name, file.digest, &file.content)?;
                    // Handles are kept only as long as each file is flushed by itself.
                    written.push((written.len() < FLUSH_TOGETHER).then_some((Arc::clone(path), handle)));
                    steps.reached(Step::FileWritten);
                    entry
                }
            };
            entries.push((Arc::clone(path), entry));
        }
        for (folder, target) in FOLDERS.iter().zip(&targets) {
            target.left.iter().try_for_each(|name| remove(&self.folder.join(folder).join(name)))?;
        }
        let content = Content::plain([Part::Bytes(number_file(self.generation, self.instance).into())]);
        let number: FilePath = NUMBER_FILE.into();
        let (entry, handle) =
            self.write_file(&number, &targets[0].handle, "generation.conf", Digest::of(&content.bytes()), &content)?;
        entries.push((number, entry));
        let entries = entries.into_iter().collect();
        steps.reached(Step::FilesComplete);
        let manifest = Manifest { generation: self.generation, digest: Some(files.digest()), entries };
        let list = self.write_manifest(&manifest)?;
        let count = written.len();
        let flush = || -> std::io::Result<()> {
            if count > FLUSH_TOGETHER {
                return Ok(syncfs(&list)?);
            }
            written.iter().flatten().try_for_each(|(_, file)| file.sync_data())?;
            handle.sync_data()?;
            list.sync_data()?;
            recorded.iter().try_for_each(File::sync_all)?;
            targets.into_iter().try_for_each(|folder| File::from(folder.handle).sync_all())?;
            File::open(&self.folder)?.sync_all()
        };
        flush().map_err(ApplyError::files("flush", &self.folder))?;
        steps.reached(Step::ManifestWritten);
        Ok((manifest, count))
    }

    /// Whether the base's file can be hard-linked: same content, mode and group.
    fn is_reusable(&self, path: &FilePath, digest: Digest, entry: &Entry) -> bool {
        let group = self.workers_group.filter(|_| path.starts_with("auth/"));
        entry.digest == digest && group.is_none_or(|group| group == entry.traits.group)
    }

    /// Links a file of the base, unless somebody changed it since it was written.
    fn link(&self, from: &OwnedFd, to: &OwnedFd, name: &str, path: &FilePath, entry: Entry) -> Option<Entry> {
        linkat(from, name, to, name, AtFlags::empty()).ok()?;
        // The link is looked at, and not what it was made of: nobody can exchange it meanwhile.
        match fstatat(to, name, AtFlags::AT_SYMLINK_NOFOLLOW).is_ok_and(|linked| Traits::of(&linked) == entry.traits) {
            true => Some(entry),
            false => {
                tracing::warn!(path = %path, "{path} of the generation in place was changed by somebody; it is written anew");
                // Writing fails when it stays.
                let _ = unlinkat(to, name, UnlinkatFlags::NoRemoveDir);
                None
            }
        }
    }

    fn make_folders(&self) -> Result<Vec<Target>, ApplyError> {
        let is_spare = self.take_spare()?;
        let make = |path: &Path, mode| {
            match DirBuilder::new().mode(mode).create(path) {
                Err(error) if is_spare && error.kind() == ErrorKind::AlreadyExists => {}
                made => made.map_err(ApplyError::files("create folder", path))?,
            }
            // Whatever the umask is, workers must be able to reach the password files.
            fs::set_permissions(path, Permissions::from_mode(mode)).map_err(ApplyError::files("change mode of", path))
        };
        make(&self.folder, 0o755)?;
        FOLDERS.iter().try_for_each(|name| make(&self.folder.join(name), 0o700))?;
        if let Some(group) = self.workers_group {
            let path = self.folder.join("auth");
            std::os::unix::fs::chown(&path, None, Some(group)).map_err(ApplyError::files("change group of", &path))?;
            fs::set_permissions(&path, Permissions::from_mode(0o750))
                .map_err(ApplyError::files("change mode of", &path))?;
        }
        let target = |name: &&str| {
            let handle = open_folder(&self.folder, name)?;
            let left = if is_spare { names(&self.folder.join(name))? } else { HashSet::new() };
            Ok(Target { handle, left })
        };
        FOLDERS.iter().map(target).collect()
    }

    /// Takes over the folder to spare, and of what is in it only the folders that we make. Returns
    /// whether there was one.
    fn take_spare(&self) -> Result<bool, ApplyError> {
        // What is behind a link is not ours.
        if !fs::symlink_metadata(&self.spare).is_ok_and(|found| found.is_dir()) {
            return Ok(false);
        }
        fs::rename(&self.spare, &self.folder).map_err(ApplyError::files("rename", &self.spare))?;
        let read = || -> std::io::Result<Vec<_>> { fs::read_dir(&self.folder)?.collect() };
        for entry in read().map_err(ApplyError::files("list", &self.folder))? {
            let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
            if !is_folder || FOLDERS.iter().all(|name| entry.file_name() != *name) {
                remove(&entry.path())?;
            }
        }
        Ok(true)
    }

    fn write_file(
        &self,
        path: &FilePath,
        folder: &OwnedFd,
        name: &str,
        digest: Digest,
        content: &Content,
    ) -> Result<(Entry, File), ApplyError> {
        let mode = Mode::from_bits_truncate(0o600);
        let write = || -> std::io::Result<(Entry, File)> {
            let flags = OFlag::O_WRONLY | OFlag::O_CREAT | OFlag::O_EXCL | OFlag::O_CLOEXEC;
            let mut file = File::from(openat(folder.as_fd(), name, flags, mode)?);
            file.write_all(&content.bytes())?;
            // Workers open password files themselves, at each request, as their own user.
            if let Some(group) = self.workers_group.filter(|_| path.starts_with("auth/")) {
                fchown(&file, None, Some(Gid::from_raw(group)))?;
                file.set_permissions(Permissions::from_mode(0o640))?;
            }
            Ok((Entry::of(digest, &fstat(&file)?), file))
        };
        write().map_err(ApplyError::files("write", self.folder.join(&**path)))
    }

    fn write_manifest(&self, manifest: &Manifest) -> Result<File, ApplyError> {
        let path = self.folder.join(MANIFEST);
        let write = || {
            let mut file = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path)?;
            file.write_all(manifest.text().as_bytes()).map(|()| file)
        };
        write().map_err(ApplyError::files("write", &path))
    }
}

/// Whether the file of this name is the very one of the entry, and as it was written.
fn is_of(folder: &OwnedFd, name: &str, entry: &Entry) -> bool {
    let found = fstatat(folder, name, AtFlags::AT_SYMLINK_NOFOLLOW);
    found.is_ok_and(|found| Entry::of(entry.digest, &found) == *entry)
}

/// Removes what is at this place, whatever it is.
fn remove(path: &Path) -> Result<(), ApplyError> {
    let removed = match fs::remove_file(path) {
        Err(error) if error.kind() == ErrorKind::IsADirectory => fs::remove_dir_all(path),
        removed => removed,
    };
    removed.map_err(ApplyError::files("remove", path))
}

/// The names of what is in a folder.
fn names(path: &Path) -> Result<HashSet<OsString>, ApplyError> {
    let read = || -> std::io::Result<_> { fs::read_dir(path)?.map(|entry| Ok(entry?.file_name())).collect() };
    read().map_err(ApplyError::files("list", path))
}

/// A handle of a folder of a generation.
fn open_folder(generation: &Path, name: &str) -> Result<OwnedFd, ApplyError> {
    let path = generation.join(name);
    File::open(&path).map(OwnedFd::from).map_err(ApplyError::files("open folder", &path))
}

#[cfg(test)]
mod tests {
    use super::split;

    #[test]
    fn paths_cannot_leave_the_generation() {
        for path in ["http/a.conf", "certs/a.pem", "auth/x", "stream/-", "empty/x"] {
            assert!(split(path).is_ok(), "{path}");
        }
        for path in
            ["a", "http", "http/", "http/../x", "http/a/b", "other/a", "/http/a", "http/.a", "http/generation.conf"]
        {
            assert!(split(path).is_err(), "{path}");
        }
    }
}
