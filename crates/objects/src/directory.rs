//! Makes snapshots of a folder of manifests. It reads only files that changed, and keeps the
//! content of files that cannot be read.

mod links;

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, Metadata};
use std::io::{self, Read as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rayon::prelude::{IntoParallelIterator as _, ParallelIterator as _};

use super::collection::collect;
use super::file::ReadFile;
use super::identity::NAMESPACE;
use super::manifest::{Purpose, Terms};
use super::yaml::LARGEST_FILE;
use super::{Kinds, Snapshot, file};
use ingressd_model::finding::{Finding, Reason};
use ingressd_model::{Field, Kind, ObjectId, Origin};

/// Files and folders of manifests, with their content when they were last read.
#[derive(Debug, Default)]
pub struct Directory {
    roots: Vec<PathBuf>,
    purpose: Purpose,
    /// The kinds that are read.
    kinds: Kinds,
    /// The namespace of manifests that name none, if it is another than usual.
    namespace: Option<Arc<str>>,
    /// Whether the files are followed while they are written and replaced.
    is_live: bool,
    files: BTreeMap<PathBuf, KnownFile>,
    /// Folders and roots that could not be listed, and why.
    unlisted: BTreeMap<PathBuf, String>,
    /// Roots that were listed at least once.
    listed: BTreeSet<PathBuf>,
    snapshot: Arc<Snapshot>,
    /// Whether something changed since the snapshot was made.
    is_stale: bool,
}

/// Where something may change that concerns the manifests.
#[derive(Debug, Clone, Copy)]
pub enum Way<'a> {
    /// This folder is listed.
    Folder(&'a Path),
    /// A symbolic link on the way to a file or folder, or what the last one leads to.
    Link(&'a Path),
}

/// A file or folder of the source was never read successfully.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{} cannot be read: {why}", path.display())]
pub struct NeverRead {
    /// The file or folder.
    pub path: PathBuf,
    /// The error of the system.
    pub why: String,
}

/// Which files to read again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChangedFiles {
    /// These files only; none of them is a folder or a symbolic link.
    Files(BTreeSet<PathBuf>),
    /// All files whose metadata has changed.
    All,
    /// All files, even with the same metadata.
    Content,
}

/// How long a file may be missing before it counts as deleted: many programs remove a file and
/// create it anew.
const REPLACEMENT: Duration = Duration::from_millis(500);

#[derive(Debug, Default)]
struct KnownFile {
    stamp: Option<Stamp>,
    read: Arc<ReadFile>,
    /// Why it could not be read the last time.
    error: Option<String>,
    /// Since when it is not there.
    missing: Option<Instant>,
}

/// How files are read.
#[derive(Debug, Clone, Copy)]
struct How<'a> {
    /// Whether to read files with unchanged metadata too.
    reread: bool,
    is_dated: bool,
    /// How long a file may be missing.
    patience: Duration,
    now: Instant,
    terms: Terms<'a>,
}

impl How<'_> {
    fn is_patient(&self, since: Instant) -> bool {
        self.now < since + self.patience
    }
}

/// It changes when a file is written or replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stamp([i64; 5], [u64; 2]);

impl Stamp {
    fn of(metadata: &Metadata) -> Self {
        let times = [metadata.mtime(), metadata.mtime_nsec(), metadata.ctime(), metadata.ctime_nsec()];
        let [mtime, mtime_part, ctime, ctime_part] = times;
        Stamp([mtime, mtime_part, ctime, ctime_part, metadata.size().cast_signed()], [metadata.dev(), metadata.ino()])
    }
}

impl Directory {
    /// Manifests in these files and, recursively, folders. This reads nothing yet.
    pub fn new(roots: Vec<PathBuf>) -> Self {
        Directory { roots, ..Directory::default() }
    }

    /// The same for manifests that are checked rather than served.
    pub fn to_judge(roots: Vec<PathBuf>) -> Self {
        Directory { purpose: Purpose::Judge, ..Directory::new(roots) }
    }

    /// The same for these kinds.
    pub fn of_kinds(self, kinds: Kinds) -> Self {
        Directory { kinds, ..self }
    }

    /// The same for manifests of which those that name no namespace belong to this one.
    pub fn within(self, namespace: &str) -> Self {
        Directory { namespace: Some(namespace.into()), ..self }
    }

    /// The same for a folder that is followed: the times at which files were written matter, and a
    /// file that vanishes may be about to be replaced.
    pub fn live(self) -> Self {
        Directory { is_live: true, ..self }
    }

    /// When a file that is missing counts as deleted: then there is something to read.
    pub fn due(&self) -> Option<Instant> {
        self.missing().map(|since| since + REPLACEMENT).min()
    }

    fn missing(&self) -> impl Iterator<Item = Instant> {
        self.files.values().filter_map(|known| known.missing)
    }

    /// The snapshot that was read last.
    pub fn snapshot(&self) -> Arc<Snapshot> {
        Arc::clone(&self.snapshot)
    }

    /// Files that contain manifests.
    pub fn files(&self) -> impl Iterator<Item = &Path> {
        self.files.keys().map(PathBuf::as_path)
    }

    /// The present content of the files that are text.
    pub fn texts(&self) -> Vec<String> {
        self.files().filter_map(|path| fs::read_to_string(path).ok()).collect()
    }

    /// Reads what changed; when nothing did, the snapshot stays the same in memory. `entering` is
    /// called for each folder before it is listed, and for each link. Files in `unfinished` are
    /// being written, so their earlier content is kept.
    ///
    /// # Errors
    ///
    /// When a file or folder of the source was never read: its content is unknown, which is not
    /// the same as empty.
    pub fn refresh(
        &mut self,
        changes: &ChangedFiles,
        unfinished: &BTreeSet<PathBuf>,
        entering: &mut dyn FnMut(Way<'_>),
    ) -> Result<Arc<Snapshot>, NeverRead> {
        let before = (self.files.len(), self.missing().count(), self.unlisted.clone());
        let (namespace, kinds) = (self.namespace.clone(), self.kinds.clone());
        let how = How {
            reread: !matches!(changes, ChangedFiles::All),
            is_dated: self.is_live,
            patience: if self.is_live { REPLACEMENT } else { Duration::ZERO },
            now: Instant::now(),
            terms: Terms { purpose: self.purpose, namespace: namespace.as_deref().unwrap_or(NAMESPACE), kinds: &kinds },
        };
        let mut candidates = match changes {
            ChangedFiles::Files(files) => files.clone(),
            ChangedFiles::All | ChangedFiles::Content => self.list(how.now, entering),
        };
        candidates.retain(|path| !unfinished.contains(path));
        self.files.retain(|_, known| known.missing.is_none_or(|since| how.is_patient(since)));
        let work: Vec<_> = candidates.into_iter().map(|path| (self.files.remove(&path), path)).collect();
        // Each file is read and decoded by itself; the order of the results does not depend on
        // which is done first.
        let read = |(known, path): (Option<KnownFile>, PathBuf)| {
            let before = known.as_ref().map(KnownFile::mark);
            let file = KnownFile::refreshed(known, &path, how);
            (before != file.as_ref().map(KnownFile::mark), file, path)
        };
        let done: Vec<_> = work.into_par_iter().map(read).collect();
        self.is_stale |= done.iter().any(|(differs, ..)| *differs);
        let done = done.into_iter().filter_map(|(_, known, path)| Some((path, known?)));
        // Comparing paths is slow. They are in order, so that a new map needs no more than one
        // comparison for each.
        match self.files.is_empty() {
            true => self.files = done.collect(),
            false => self.files.extend(done),
        }
        self.is_stale |= before != (self.files.len(), self.missing().count(), self.unlisted.clone());
        let never = |root: &&PathBuf| self.unlisted.contains_key(*root) && !self.listed.contains(*root);
        if let Some((path, why)) = self.roots.iter().find(never).and_then(|root| self.unlisted.get_key_value(root)) {
            return Err(NeverRead { path: path.clone(), why: why.clone() });
        }
        if !std::mem::take(&mut self.is_stale) {
            return Ok(self.snapshot());
        }
        let unread = self.findings();
        let read = |is_missing: bool| {
            let known = self.files.values().filter(move |known| known.missing.is_some() == is_missing);
            known.map(|known| &*known.read)
        };
        self.snapshot = Arc::new(collect(read(false), read(true), unread, &self.kinds));
        Ok(self.snapshot())
    }

    /// Lists all files. Those in folders that cannot be listed stay known; those that are gone are
    /// marked.
    fn list(&mut self, now: Instant, entering: &mut dyn FnMut(Way<'_>)) -> BTreeSet<PathBuf> {
        let mut listing = Listing { files: BTreeSet::new(), unlisted: BTreeMap::new(), entered: Vec::new() };
        for root in &self.roots {
            links::follow(root, &mut |path| entering(Way::Link(path)));
            match fs::metadata(root) {
                Ok(metadata) if metadata.is_dir() => listing.folder(root, &metadata, entering),
                Ok(_) => drop(listing.files.insert(root.clone())),
                Err(error) => {
                    entering(Way::Folder(root));
                    listing.unlisted.insert(root.clone(), error.to_string());
                }
            }
        }
        let kept = |path: &Path| {
            listing.files.contains(path) || listing.unlisted.keys().any(|folder| path.starts_with(folder))
        };
        for (_, known) in self.files.iter_mut().filter(|(path, _)| !kept(path)) {
            known.missing.get_or_insert(now);
        }
        self.unlisted = listing.unlisted;
        self.listed.extend(self.roots.iter().filter(|root| !self.unlisted.contains_key(*root)).cloned());
        listing.files
    }

    fn findings(&self) -> Vec<Finding> {
        let failed = self.files.iter().filter_map(|(path, known)| Some((path, known.error.as_ref()?)));
        let finding = |(path, why): (&PathBuf, &String)| {
            let id = Arc::new(ObjectId::new(Kind::FILE, "", &path.to_string_lossy()));
            let origin = Origin { object: id, field: Field::Object };
            Finding::new(Reason::Unreadable, origin, format!("{why}; the earlier content stays in use"))
        };
        self.unlisted.iter().chain(failed).map(finding).collect()
    }
}

impl KnownFile {
    /// Differs when anything about the file does that a snapshot shows.
    fn mark(&self) -> (*const ReadFile, Option<String>, bool) {
        (Arc::as_ptr(&self.read), self.error.clone(), self.missing.is_some())
    }

    /// The file as it is now, `None` when it is gone.
    fn refreshed(known: Option<KnownFile>, path: &Path, how: How<'_>) -> Option<KnownFile> {
        let is_known = known.is_some();
        let mut file = known.unwrap_or_default();
        match file.read_again(path, how) {
            Ok(()) => (file.error, file.missing) = (None, None),
            Err(error) if is_gone(&error) => {
                let since = *file.missing.get_or_insert(how.now);
                return (is_known && how.is_patient(since)).then_some(file);
            }
            Err(error) => (file.stamp, file.error, file.missing) = (None, Some(error.to_string()), None),
        }
        Some(file)
    }

    fn read_again(&mut self, path: &Path, how: How<'_>) -> io::Result<()> {
        // The type is checked first: opening a pipe would wait for its writer.
        if !fs::metadata(path)?.is_file() {
            return Err(io::Error::other("it is not a regular file"));
        }
        let file = fs::File::open(path)?;
        let metadata = file.metadata()?;
        let stamp = Some(Stamp::of(&metadata));
        if !how.reread && stamp == self.stamp {
            return Ok(());
        }
        let mut bytes = Vec::new();
        file.take(LARGEST_FILE + 1).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > LARGEST_FILE {
            return Err(io::Error::other(format!("it is larger than {} MiB", LARGEST_FILE >> 20)));
        }
        if let Some(mut read) = file::read(&path.to_string_lossy(), &bytes, how.terms, &self.read) {
            if how.is_dated {
                read.date(metadata.mtime().saturating_mul(1_000_000_000).saturating_add(metadata.mtime_nsec()));
            }
            self.read = Arc::new(read);
        }
        self.stamp = stamp;
        Ok(())
    }
}

/// Whether there is no such file: a part of its path may be a file now.
fn is_gone(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

struct Listing {
    files: BTreeSet<PathBuf>,
    unlisted: BTreeMap<PathBuf, String>,
    /// Device and inode of the parent folders, to detect symbolic links that lead back.
    entered: Vec<(u64, u64)>,
}

impl Listing {
    fn folder(&mut self, folder: &Path, metadata: &Metadata, entering: &mut dyn FnMut(Way<'_>)) {
        let identity = (metadata.dev(), metadata.ino());
        if self.entered.contains(&identity) {
            return;
        }
        self.entered.push(identity);
        entering(Way::Folder(folder));
        if let Err(error) = self.entries(folder, entering) {
            self.unlisted.insert(folder.to_owned(), error.to_string());
        }
        self.entered.pop();
    }

    fn entries(&mut self, folder: &Path, entering: &mut dyn FnMut(Way<'_>)) -> io::Result<()> {
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            let path = entry.path();
            if is_hidden(&path) {
                continue;
            }
            if entry.file_type().is_ok_and(|kind| kind.is_symlink()) {
                links::follow(&path, &mut |path| entering(Way::Link(path)));
            }
            match fs::metadata(&path) {
                Ok(metadata) if metadata.is_dir() => self.folder(&path, &metadata, entering),
                Ok(_) if is_manifest(&path) => drop(self.files.insert(path)),
                // A name that is gone again, or a dangling link, is skipped.
                _ => {}
            }
        }
        Ok(())
    }
}

fn is_hidden(path: &Path) -> bool {
    path.file_name().is_none_or(|name| name.as_encoded_bytes().starts_with(b"."))
}

/// Whether a file with this name contains manifests: temporary files of editors have other
/// endings, or begin with a dot or `#`.
pub fn is_manifest(path: &Path) -> bool {
    let known =
        path.extension().is_some_and(|extension| ["yaml", "yml", "json"].iter().any(|known| extension == *known));
    known && !is_hidden(path) && path.file_name().is_some_and(|name| !name.as_encoded_bytes().starts_with(b"#"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(name: &str, data: &str) -> String {
        format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}}}\ndata: {{a: {data}}}\n---\n")
    }

    /// The objects as `name=value`, and the findings as reasons.
    fn summary(snapshot: &Snapshot) -> (Vec<String>, Vec<Reason>) {
        let value = |map: &k8s_openapi::api::core::v1::ConfigMap| {
            map.data.iter().flatten().map(|(_, value)| value.clone()).collect::<String>()
        };
        let maps = snapshot.config_maps.iter().map(|map| format!("{}={}", map.id.name, value(&map.object)));
        (maps.collect(), snapshot.findings.iter().map(|finding| finding.reason).collect())
    }

    #[test]
    fn stale_is_not_gone() {
        let home = tempfile::tempdir().unwrap();
        let file = home.path().join("a.yaml");
        let mut directory = Directory::new(vec![home.path().to_owned()]);
        let good = map("a", "x") + &map("b", "x");
        for (what, text, objects, reasons) in [
            ("good", good.clone(), vec!["a=x", "b=x"], vec![]),
            ("one has a wrong form", map("a", "[4]") + &map("b", "y"), vec!["a=x", "b=y"], vec![Reason::Undecodable]),
            (
                "one is no YAML, its name is known",
                "kind: ConfigMap\nmetadata:\n  name: a\nx: [\n---\n".to_owned() + &map("b", "z"),
                vec!["a=x", "b=z"],
                vec![Reason::Undecodable],
            ),
            ("all is broken", "{{{{".to_owned(), vec!["a=x", "b=z"], vec![Reason::Undecodable]),
            ("one is gone", map("b", "z"), vec!["b=z"], vec![]),
            ("twice", map("b", "z") + &map("b", "y"), vec!["b=z"], vec![Reason::DuplicateObject]),
            ("empty", String::new(), vec![], vec![]),
        ] {
            std::fs::write(&file, text).unwrap();
            let snapshot = directory.refresh(&ChangedFiles::All, &BTreeSet::new(), &mut |_| {}).unwrap();
            let (found, findings) = summary(&snapshot);
            assert_eq!((found, findings), (objects.into_iter().map(str::to_owned).collect(), reasons), "{what}");
        }
    }

    #[test]
    fn a_file_that_is_missing_may_be_about_to_be_replaced() {
        let home = tempfile::tempdir().unwrap();
        let path = |name: &str| home.path().join(name);
        for name in ["a", "b"] {
            std::fs::write(path(&format!("{name}.yaml")), map(name, "x")).unwrap();
        }
        let mut directory = Directory::new(vec![home.path().to_owned()]).live();
        let read = |directory: &mut Directory, changes| {
            summary(&directory.refresh(&changes, &BTreeSet::new(), &mut |_| {}).unwrap())
        };
        let both = (vec!["a=x".to_owned(), "b=x".to_owned()], vec![]);
        assert_eq!(read(&mut directory, ChangedFiles::All), both);
        let long_ago = |directory: &mut Directory| {
            let missing = directory.files.values_mut().filter_map(|known| known.missing.as_mut());
            missing.for_each(|since| *since -= REPLACEMENT);
        };
        for changes in [ChangedFiles::All, ChangedFiles::Files([path("a.yaml")].into())] {
            std::fs::remove_file(path("a.yaml")).unwrap();
            assert_eq!(read(&mut directory, changes.clone()), both, "{changes:?}");
            assert!(directory.due().is_some());
            // Another file has it now, which is no duplicate of what is not there.
            std::fs::write(path("c.yaml"), map("a", "y")).unwrap();
            assert_eq!(read(&mut directory, ChangedFiles::All), (vec!["a=y".to_owned(), "b=x".to_owned()], vec![]));
            std::fs::remove_file(path("c.yaml")).unwrap();
            // It is there again.
            std::fs::write(path("a.yaml"), map("a", "x")).unwrap();
            assert_eq!(read(&mut directory, ChangedFiles::All), both);
            long_ago(&mut directory);
            assert_eq!((read(&mut directory, ChangedFiles::All), directory.due()), (both.clone(), None));
            // It stays away.
            std::fs::remove_file(path("a.yaml")).unwrap();
            read(&mut directory, changes.clone());
            long_ago(&mut directory);
            let gone = (vec!["b=x".to_owned()], vec![]);
            assert_eq!((read(&mut directory, ChangedFiles::Files(BTreeSet::new())), directory.due()), (gone, None));
            std::fs::write(path("a.yaml"), map("a", "x")).unwrap();
            assert_eq!(read(&mut directory, ChangedFiles::All), both);
        }
    }

    #[test]
    fn what_did_not_change_is_not_decoded_again() {
        let home = tempfile::tempdir().unwrap();
        std::fs::write(home.path().join("a.yaml"), map("a", "x") + &map("b", "x")).unwrap();
        std::fs::write(home.path().join("b.yaml"), map("c", "x")).unwrap();
        let mut directory = Directory::new(vec![home.path().to_owned()]);
        let mut read = || directory.refresh(&ChangedFiles::All, &BTreeSet::new(), &mut |_| {}).unwrap();
        let before = read();
        std::fs::write(home.path().join("a.yaml"), format!("\n{}{}", map("a", "y"), map("b", "x"))).unwrap();
        let after = read();
        let same = |index: usize| Arc::ptr_eq(&before.config_maps[index].object, &after.config_maps[index].object);
        assert_eq!([same(0), same(1), same(2)], [false, true, true]);
        assert_eq!(after.config_maps[1].place.as_ref().map(|place| place.line), Some(7));
        assert!(Arc::ptr_eq(&after, &read()), "nothing changed at all");
    }
}
