//! The list of all files of a generation, written beside them.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use nix::sys::stat::{FileStat, SFlag, lstat};

use super::error::ApplyError;
use ingressd_nginx::render::{Digest, FilePath};

/// The name of the manifest in the generation's folder.
pub const MANIFEST: &str = "manifest";

/// What the file system reports about a file without reading its content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Traits {
    mode: u32,
    /// Its group ID.
    pub group: u32,
    size: u64,
    modified: (i64, i64),
}

impl Traits {
    /// Takes them from a file's metadata.
    pub fn of(metadata: &FileStat) -> Self {
        Traits {
            mode: metadata.st_mode,
            group: metadata.st_gid,
            size: u64::try_from(metadata.st_size).unwrap_or_default(),
            modified: (metadata.st_mtime, metadata.st_mtime_nsec),
        }
    }

    /// Whether they are those of a plain file, and not of a link or folder.
    fn are_of_a_file(self) -> bool {
        SFlag::from_bits_truncate(self.mode) & SFlag::S_IFMT == SFlag::S_IFREG
    }
}

/// One file of a generation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry {
    /// The digest of its content.
    pub digest: Digest,
    /// Its metadata when it was written; hard links keep all of it.
    pub traits: Traits,
    /// Its number in the file system, which the list on disk does not have.
    pub inode: u64,
}

impl Entry {
    /// The entry of a file with this metadata.
    pub fn of(digest: Digest, metadata: &FileStat) -> Self {
        Entry { digest, traits: Traits::of(metadata), inode: metadata.st_ino }
    }
}

/// The order of paths. Those of files that stay are mostly the same in memory.
pub fn by_path(one: &FilePath, other: &FilePath) -> Ordering {
    if Arc::ptr_eq(one, other) { Ordering::Equal } else { one.cmp(other) }
}

/// All files of a generation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Manifest {
    /// The generation's number.
    pub generation: u64,
    /// The digest of the file set; `None` when the disk no longer holds what was written.
    pub digest: Option<Digest>,
    /// Its files, including the one with the generation's number.
    pub entries: BTreeMap<FilePath, Entry>,
}

impl Manifest {
    /// Reads the manifest of a generation.
    pub fn read(generation: u64, folder: &Path) -> Result<Manifest, ApplyError> {
        let path = folder.join(MANIFEST);
        let text = fs::read_to_string(&path).map_err(ApplyError::files("read", &path))?;
        Manifest::parse(generation, &text)
            .ok_or_else(|| ApplyError::Damaged { path, what: "it is not a complete list of files".to_owned() })
    }

    /// Reads the manifest of a generation, without files that were changed since it was written.
    pub fn read_verified(generation: u64, folder: &Path) -> Result<Manifest, ApplyError> {
        let mut manifest = Manifest::read(generation, folder)?;
        let written = manifest.entries.len();
        let mut unseen = None;
        manifest.entries.retain(|path, entry| {
            let path = folder.join(&**path);
            let found = ApplyError::found("look at", &path, lstat(&path).map_err(Into::into));
            let found = found.unwrap_or_else(|error| {
                unseen = Some(error);
                None
            });
            let found = found
                .map(|found| Entry::of(entry.digest, &found))
                .filter(|found| found.traits.are_of_a_file() && found.traits == entry.traits);
            entry.inode = found.map_or(0, |found| found.inode);
            found.is_some()
        });
        if let Some(error) = unseen {
            return Err(error);
        }
        if manifest.entries.len() < written {
            manifest.digest = None;
        }
        Ok(manifest)
    }

    /// The text of the manifest: a head, one line for each file, and a tail that marks it as
    /// complete.
    pub fn text(&self) -> String {
        let mut text = String::with_capacity(64 + self.entries.len() * 160);
        let digest = self.digest.map(|digest| digest.to_string()).unwrap_or_default();
        // Writing to a string cannot fail.
        let _ = writeln!(text, "ingressd-manifest 1 {digest}");
        for (path, Entry { digest, traits: Traits { mode, group, size, modified }, inode: _ }) in &self.entries {
            let _ = writeln!(text, "{digest} {mode:o} {group} {size} {} {} {path}", modified.0, modified.1);
        }
        let _ = writeln!(text, "end {}", self.entries.len());
        text
    }

    fn parse(generation: u64, text: &str) -> Option<Manifest> {
        let mut lines = text.lines();
        let digest = parse_digest(lines.next()?.strip_prefix("ingressd-manifest 1 ")?)?;
        let mut entries = BTreeMap::new();
        for line in lines.by_ref() {
            if let Some(count) = line.strip_prefix("end ") {
                let complete = count.parse() == Ok(entries.len());
                return complete.then_some(Manifest { generation, digest: Some(digest), entries });
            }
            let fields: [&str; 7] = line.splitn(7, ' ').collect::<Vec<_>>().try_into().ok()?;
            let traits = Traits {
                mode: u32::from_str_radix(fields[1], 8).ok()?,
                group: fields[2].parse().ok()?,
                size: fields[3].parse().ok()?,
                modified: (fields[4].parse().ok()?, fields[5].parse().ok()?),
            };
            entries.insert(fields[6].into(), Entry { digest: parse_digest(fields[0])?, traits, inode: 0 });
        }
        None
    }
}

fn parse_digest(text: &str) -> Option<Digest> {
    let mut bytes = [0; 32];
    if text.len() != 64 || !text.is_ascii() {
        return None;
    }
    for (index, byte) in bytes.iter_mut().enumerate() {
        *byte = u8::from_str_radix(&text[2 * index..2 * index + 2], 16).ok()?;
    }
    Some(Digest(bytes))
}

#[cfg(test)]
mod tests {
    use super::{Entry, Manifest, Traits};
    use ingressd_nginx::render::Digest;

    #[test]
    fn a_manifest_is_read_as_written_and_only_when_complete() {
        let traits = Traits { mode: 0o100_600, group: 33, size: 5, modified: (1_700_000_000, 999) };
        let entries = ["certs/a b.pem", "http/x.conf"]
            .map(|path| (path.into(), Entry { digest: Digest::of(path.as_bytes()), traits, inode: 0 }));
        let manifest = Manifest { generation: 3, digest: Some(Digest::of(b"all")), entries: entries.into() };
        let text = manifest.text();
        assert_eq!(Manifest::parse(3, &text), Some(manifest));
        for end in (0..text.len() - 2).filter(|end| text.is_char_boundary(*end)) {
            assert_eq!(Manifest::parse(3, &text[..end]), None, "cut at {end}");
        }
    }
}
