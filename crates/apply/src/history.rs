//! The kept generations and the differences between two of them, read from the disk alone.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use super::cause::Cause;
use super::error::{ApplyError, unless_missing};
use super::journal::Journal;
use super::manifest::{MANIFEST, Manifest};
use super::pin::Pin;
use super::record::Record;
use super::staging::NUMBER_FILE;
use ingressd_nginx::render::{Digest, FilePath, Owners};

/// Folders whose contents are never shown: keys and password hashes.
const SECRET: [&str; 2] = ["certs/", "auth/"];

/// Why there is no generation to name.
const NOTHING_KEPT: &str = "no generation is kept: the daemon makes the first one when it serves something";

/// The generations of one root.
#[derive(Debug, Clone)]
pub struct History {
    root: PathBuf,
    /// Those that are kept, in order.
    pub kept: Vec<KeptGeneration>,
    /// The one in use.
    pub current: Option<u64>,
    /// The one that the administrator pinned.
    pub pinned: Option<Pin>,
}

/// A generation on disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptGeneration {
    pub number: u64,
    /// When it was written.
    pub written: SystemTime,
    /// Whether nginx was seen to run it.
    pub confirmed: bool,
    /// Why it was made; `None` when that was not recorded.
    pub cause: Option<Cause>,
}

/// A file that differs.
#[derive(Debug, Clone)]
pub struct Difference {
    /// The file.
    pub path: FilePath,
    /// Whether the file holds keys or password hashes: then only the fact that it differs is
    /// shown.
    pub secret: bool,
    /// The file before, if it existed.
    pub before: Option<Side>,
    /// The file after, if it exists.
    pub after: Option<Side>,
}

/// A file of one of the two generations.
#[derive(Debug, Clone)]
pub struct Side {
    /// Its text; empty for a secret file.
    pub text: String,
    /// The owners of its lines; `None` when they were not recorded.
    pub owners: Option<Arc<Owners>>,
}

impl History {
    /// Looks at the folders.
    ///
    /// # Errors
    ///
    /// When they cannot be read. Without folders no generation is kept.
    pub fn read(root: &Path, state: &Path) -> Result<History, ApplyError> {
        let journal = Journal::open(state)?;
        let confirmed: BTreeSet<u64> = journal.confirmed().collect();
        let link = root.join("current");
        let current = ApplyError::found("read", &link, fs::read_link(&link))?;
        let current = current.and_then(|target| target.file_name()?.to_str()?.parse().ok());
        let pinned = Pin::read(state, current)?;
        let folder = root.join("generations");
        let entries = unless_missing(fs::read_dir(&folder)).map_err(ApplyError::files("list", &folder))?;
        let names = entries.into_iter().flatten().map(|entry| Ok(entry?.file_name()));
        let names = names.collect::<std::io::Result<Vec<_>>>().map_err(ApplyError::files("list", &folder))?;
        let numbers = names.iter().filter_map(|name| name.to_str()?.parse().ok());
        let kept = numbers.map(|number: u64| {
            let of_number = folder.join(number.to_string());
            let manifest = of_number.join(MANIFEST);
            let written = ApplyError::found("look at", &manifest, fs::metadata(&manifest))?;
            let written = written.and_then(|metadata| metadata.modified().ok());
            let cause = Record::cause(&of_number);
            Ok(written.map(|written| KeptGeneration { number, written, confirmed: confirmed.contains(&number), cause }))
        });
        let mut kept: Vec<_> = kept.filter_map(Result::transpose).collect::<Result<_, ApplyError>>()?;
        kept.sort_by_key(|kept| kept.number);
        Ok(History { root: root.to_owned(), kept, current, pinned })
    }

    /// This generation, if it is kept. The error is a text for people.
    ///
    /// # Errors
    ///
    /// When it is not kept.
    pub fn known(&self, number: u64) -> Result<u64, String> {
        match self.kept.iter().any(|kept| kept.number == number) {
            true => Ok(number),
            false if self.kept.is_empty() => Err(NOTHING_KEPT.to_owned()),
            false => Err(format!("generation {number} is not kept; name one of those that are: {}", self.numbers())),
        }
    }

    /// The generation to roll back to: the one that is wanted, or the latest before the current
    /// that nginx was seen to run. The error is a text for people.
    ///
    /// # Errors
    ///
    /// When there is none.
    pub fn choose(&self, wanted: Option<u64>) -> Result<u64, String> {
        match wanted.or_else(|| self.before(self.current.unwrap_or(u64::MAX))) {
            Some(wanted) => self.known(wanted),
            None if self.kept.is_empty() => Err(NOTHING_KEPT.to_owned()),
            None => Err(format!(
                "nginx was seen to run no earlier generation; name one of those that are kept: {}",
                self.numbers()
            )),
        }
    }

    fn numbers(&self) -> String {
        self.kept.iter().map(|kept| kept.number.to_string()).collect::<Vec<_>>().join(", ")
    }

    /// The latest generation before this one that nginx was seen to run and that is kept.
    pub fn before(&self, number: u64) -> Option<u64> {
        self.kept.iter().rev().find(|kept| kept.number < number && kept.confirmed).map(|kept| kept.number)
    }

    /// The files that differ, in order of their paths.
    ///
    /// # Errors
    ///
    /// When one of the two cannot be read, for example because it was removed meanwhile.
    pub fn compare(&self, before: u64, after: u64) -> Result<Vec<Difference>, ApplyError> {
        let [before, after] = [before, after].map(|number| Generation::open(&self.root, number));
        let (before, after) = (before?, after?);
        let paths: BTreeSet<_> = before.manifest.entries.keys().chain(after.manifest.entries.keys()).collect();
        let differing =
            paths.into_iter().filter(|path| &***path != NUMBER_FILE && before.digest(path) != after.digest(path));
        let differences = differing.map(|path| {
            let secret = SECRET.iter().any(|folder| path.starts_with(folder));
            let [before, after] = [&before, &after].map(|generation| generation.side(path, secret));
            Ok(Difference { path: Arc::clone(path), secret, before: before?, after: after? })
        });
        differences.collect()
    }
}

/// One of the two generations that are compared.
struct Generation {
    folder: PathBuf,
    manifest: Manifest,
    record: Option<Record>,
}

impl Generation {
    fn open(root: &Path, number: u64) -> Result<Self, ApplyError> {
        let folder = root.join("generations").join(number.to_string());
        let manifest = Manifest::read(number, &folder)?;
        let record =
            Record::read(&folder).inspect_err(|error| tracing::warn!("it is not known who caused a line: {error}"));
        Ok(Generation { manifest, record: record.ok(), folder })
    }

    fn digest(&self, path: &FilePath) -> Option<Digest> {
        self.manifest.entries.get(path).map(|entry| entry.digest)
    }

    fn side(&self, path: &FilePath, secret: bool) -> Result<Option<Side>, ApplyError> {
        if !self.manifest.entries.contains_key(path) {
            return Ok(None);
        }
        let text = match secret {
            true => String::new(),
            false => {
                let file = self.folder.join(&**path);
                let bytes = fs::read(&file).map_err(ApplyError::files("read", &file))?;
                String::from_utf8_lossy(&bytes).into_owned()
            }
        };
        let owners = self.record.as_ref().and_then(|record| record.owners.get(path).cloned());
        Ok(Some(Side { text, owners }))
    }
}
