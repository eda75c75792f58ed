//! Keeps the last good version of each object on disk, for the next start.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::objects::{self, Earlier};
use super::state_file;
use super::{claims, proposed};
use ingressd_apply::is_shortage;
use ingressd_model::ObjectId;
use ingressd_nginx::render::Digest;
use ingressd_objects::{Entry, Kept, Kinds, Row, Snapshot, SourceFile, SourceLocation, Stored, Version};
use ingressd_translate::Claims;

/// One file for each object, named by digests of the object's name and of its version: the file
/// names say which versions are kept, so that the objects need not be in memory a second time.
#[derive(Debug)]
pub struct LastGood {
    folder: PathBuf,
    /// The digest of the version, by the digest of the name.
    kept: HashMap<ShortDigest, ShortDigest>,
    /// Whether this run has told of all objects.
    is_reported: bool,
    /// What could not be written and has to be tried again.
    failed: Touched,
    /// The kinds of which objects are kept.
    kinds: Kinds,
}

/// Objects that may differ from what is kept, with whether they are to be kept.
pub type Touched = BTreeMap<Arc<ObjectId>, bool>;

/// The first half of a digest, which is enough to tell names and versions apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct ShortDigest(u128);

/// The form on disk.
#[derive(Debug, Serialize, Deserialize)]
struct StoredLine<O, Text = String> {
    kind: Text,
    namespace: Text,
    name: Text,
    version: Text,
    file: Option<Text>,
    line: Option<u32>,
    object: O,
}

/// A served snapshot and the objects of it that may differ from what is kept.
struct Job {
    served: Arc<Snapshot>,
    touched: Touched,
    claims: Arc<Claims>,
}

/// The thread that writes, so that no cycle waits for the disk. When it is dropped, it ends after
/// the last job.
#[derive(Debug)]
pub struct Keeper {
    jobs: Option<Sender<Job>>,
    /// How many jobs were not done.
    waiting: Arc<AtomicUsize>,
    thread: Option<JoinHandle<()>>,
}

impl ShortDigest {
    fn of_name(id: &ObjectId) -> Self {
        ShortDigest::of_parts(id.kind.name(), &id.namespace, &id.name)
    }

    fn of_parts(kind: &str, namespace: &str, name: &str) -> Self {
        ShortDigest::of(&format!("{kind}/{namespace}/{name}"))
    }

    fn of(text: &str) -> Self {
        let Digest(bytes) = Digest::of(text.as_bytes());
        ShortDigest(bytes.iter().take(16).fold(0, |number, byte| number << 8 | u128::from(*byte)))
    }

    fn read(text: &str) -> Option<Self> {
        u128::from_str_radix(text, 16).ok().map(ShortDigest)
    }
}

/// Where the versions are kept.
pub fn folder(state: &Path) -> PathBuf {
    state.join("objects")
}

impl LastGood {
    /// Reads which versions an earlier run kept in this folder; the objects that were recorded for
    /// the files `in_place` are good too. A folder that cannot be used is logged as a warning.
    ///
    /// # Errors
    ///
    /// When there may be versions that cannot be read now.
    pub fn open(state: &Path, in_place: Option<Digest>) -> io::Result<Self> {
        let folder = folder(state);
        let entries: io::Result<Vec<_>> =
            state_file::make_folder(&folder).and_then(|()| std::fs::read_dir(&folder)?.collect());
        let kept = match entries {
            Ok(entries) => entries.iter().filter_map(|entry| marks(&entry.path())).collect(),
            Err(error) if is_shortage(&error) => return Err(error),
            Err(error) => {
                tracing::warn!(path = %folder.display(), "last good versions cannot be kept for the next start: {}: {error}", folder.display());
                HashMap::new()
            }
        };
        let mut store = LastGood { folder, kept, kinds: Kinds::default(), is_reported: false, failed: Touched::new() };
        for line in proposed::of(state, in_place)? {
            store.adopt(&line);
        }
        proposed::forget(state);
        Ok(store)
    }

    /// Keeps objects of these kinds from now on.
    pub fn set_kinds(&mut self, kinds: Kinds) {
        self.kinds = kinds;
    }

    /// Whether this version of an object is kept.
    pub fn has(&self, id: &ObjectId, version: &Version) -> bool {
        self.kept.get(&ShortDigest::of_name(id)) == Some(&ShortDigest::of(&version.0))
    }

    /// Whether all that was to be kept could be written.
    pub fn is_complete(&self) -> bool {
        self.failed.is_empty()
    }

    /// Keeps an object in the form of [`written`].
    fn adopt(&mut self, line: &str) {
        let Ok(read) = serde_json::from_str::<StoredLine<serde::de::IgnoredAny>>(line) else { return };
        let (name, version) =
            (ShortDigest::of_parts(&read.kind, &read.namespace, &read.name), ShortDigest::of(&read.version));
        if self.kept.get(&name) == Some(&version) {
            return;
        }
        if let Err(why) = state_file::write_bytes(&self.path(name, version), line.as_bytes()) {
            tracing::warn!(path = %self.folder.display(), "a last good version cannot be kept: {}: {why}", self.folder.display());
            return;
        }
        if let Some(before) = self.kept.insert(name, version).filter(|before| *before != version) {
            let _ = std::fs::remove_file(self.path(name, before));
        }
    }

    /// Keeps the objects of `served` that were touched, or not any more; writes only versions that
    /// are not on disk yet. The first time all others are forgotten.
    pub fn keep(&mut self, served: &Snapshot, mut touched: Touched) {
        let mut failed = std::mem::take(&mut self.failed);
        failed.append(&mut touched);
        let (mut names, mut failure) = (HashSet::new(), None);
        for (id, is_worth) in failed {
            let name = ShortDigest::of_name(&id);
            match objects::lasting(served, &id).filter(|_| is_worth) {
                None => self.forget(name),
                Some((row, entry)) => {
                    if let Err(error) = self.write(name, row, entry) {
                        // The earlier version stays: it is older than it could be, but it was
                        // good.
                        self.failed.insert(id, true);
                        failure = Some(error);
                    }
                }
            }
            names.insert(name);
        }
        if !std::mem::replace(&mut self.is_reported, true) {
            let gone: Vec<_> = self.kept.keys().filter(|name| !names.contains(name)).copied().collect();
            gone.into_iter().for_each(|name| self.forget(name));
        }
        if let Some(why) = failure {
            tracing::warn!(path = %self.folder.display(), "some last good versions cannot be kept for the next start: {}: {why}", self.folder.display());
        }
    }

    /// Writes this version, if it is not there yet, in the place of the one before.
    fn write(&mut self, name: ShortDigest, row: &Row, entry: Entry<'_>) -> io::Result<()> {
        let version = ShortDigest::of(&entry.version.0);
        if self.kept.get(&name) != Some(&version) {
            state_file::write(&self.path(name, version), &written(row, entry))?;
            self.forget(name);
            self.kept.insert(name, version);
        }
        Ok(())
    }

    fn forget(&mut self, name: ShortDigest) {
        if let Some(version) = self.kept.remove(&name) {
            // A file that cannot be removed is a harmless leftover: no object in the snapshot has
            // its name.
            let _ = std::fs::remove_file(self.path(name, version));
        }
    }

    fn path(&self, name: ShortDigest, version: ShortDigest) -> PathBuf {
        self.folder.join(format!("{:032x}-{:032x}.json", name.0, version.0))
    }

    fn read(&self, id: &ObjectId, row: &Row) -> Option<Stored<dyn Kept>> {
        let name = ShortDigest::of_name(id);
        let path = self.path(name, *self.kept.get(&name)?);
        let read: StoredLine<Value> = match state_file::read(&path) {
            Ok(read) => read?,
            Err(why) => {
                tracing::warn!(path = %path.display(), "the last good version of {id} is ignored: {}: {why}", path.display());
                return None;
            }
        };
        let same = read.kind == id.kind.name() && *read.namespace == *id.namespace && *read.name == *id.name;
        if same { read.stored(row) } else { None }
    }

    /// All that is kept and can be read. Addresses of pods are not among it.
    pub fn snapshot(&self) -> Snapshot {
        let mut all = Snapshot::default();
        for (name, version) in &self.kept {
            let Ok(Some(read)) = state_file::read::<StoredLine<Value>>(&self.path(*name, *version)) else { continue };
            let row = self.kinds.iter().find(|row| row.kind.name() == read.kind);
            if let Some((row, stored)) = row.and_then(|row| Some((row, read.stored(row)?))) {
                row.edit(&mut all).put(stored);
            }
        }
        all
    }
}

impl StoredLine<Value> {
    /// The object; `None` where its form is another one now.
    fn stored(self, row: &Row) -> Option<Stored<dyn Kept>> {
        let file = |path: String| Arc::new(SourceFile { path: path.into(), written: None });
        let place = self.file.zip(self.line).map(|(path, line)| SourceLocation { file: file(path), line });
        let id = Arc::new(ObjectId::new(row.kind, &self.namespace, &self.name));
        let version = Version(self.version.into());
        Some(Stored { id, version, object: row.read_back(self.object)?, published: None, place })
    }
}

/// The name and version of a file of the store; `None` for other files.
fn marks(path: &Path) -> Option<(ShortDigest, ShortDigest)> {
    let (name, version) = path.file_name()?.to_str()?.strip_suffix(".json")?.split_once('-')?;
    Some((ShortDigest::read(name)?, ShortDigest::read(version)?))
}

impl Earlier for LastGood {
    fn earlier(&self, id: &ObjectId, row: &Row, confirmed: &Snapshot, not: &Version) -> Option<Stored<dyn Kept>> {
        let is_other = |stored: &Stored<dyn Kept>| stored.version != *not;
        let (_, list) = confirmed.list(id.kind).unzip();
        let served = list.and_then(|list| list.shared(&id.namespace, &id.name));
        served.filter(is_other).or_else(|| self.read(id, row).filter(is_other))
    }
}

/// The form of an object on disk.
pub fn written<'a>(row: &Row, entry: Entry<'a>) -> impl Serialize + use<'a> {
    StoredLine {
        kind: entry.id.kind.name(),
        namespace: &*entry.id.namespace,
        name: &*entry.id.name,
        version: &*entry.version.0,
        file: entry.place.map(|place| &*place.file.path),
        line: entry.place.map(|place| place.line),
        object: row.write(entry.object),
    }
}

impl Keeper {
    /// Starts the thread.
    pub fn start(store: Arc<Mutex<LastGood>>, state: &Path) -> Self {
        let (jobs, receiver) = channel::<Job>();
        let waiting = Arc::<AtomicUsize>::default();
        let (state, mut written, left) = (state.to_owned(), None, Arc::clone(&waiting));
        let work = move || {
            while let Ok(mut first) = receiver.recv() {
                // Only the latest job counts: what was served in between is not served any more.
                let mut taken = 1;
                for mut next in receiver.try_iter() {
                    taken += 1;
                    first.touched.append(&mut next.touched);
                    first = Job { touched: first.touched, ..next };
                }
                let Job { served, touched, claims } = first;
                if written.as_ref().is_none_or(|written| !Arc::ptr_eq(written, &claims)) {
                    claims::keep(&state, &claims);
                    written = Some(claims);
                }
                store.lock().unwrap_or_else(PoisonError::into_inner).keep(&served, touched);
                left.fetch_sub(taken, Ordering::Release);
            }
        };
        Keeper { jobs: Some(jobs), waiting, thread: Some(std::thread::spawn(work)) }
    }

    /// Keeps what is served, in the background.
    pub fn keep(&self, served: Arc<Snapshot>, touched: Touched, claims: Arc<Claims>) {
        if let Some(jobs) = &self.jobs {
            self.waiting.fetch_add(1, Ordering::Relaxed);
            // The thread lives as long as this value.
            let _ = jobs.send(Job { served, touched, claims });
        }
    }

    /// Whether all of it is on disk.
    pub fn is_done(&self) -> bool {
        self.waiting.load(Ordering::Acquire) == 0
    }

    /// Ends the thread. A blocking thread waits for the disk, so that the main loop goes on.
    pub async fn close(self) {
        // This fails only when the process ends, and then it does not matter.
        let _ = tokio::task::spawn_blocking(move || drop(self)).await;
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        self.jobs = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::ConfigMap;

    use super::*;
    use ingressd_model::Kind;

    fn snapshot(objects: &[(&str, &str)]) -> Snapshot {
        let config_maps = objects.iter().map(|(name, version)| Stored {
            id: Arc::new(ObjectId::new(Kind::CONFIG_MAP, "shop", name)),
            version: Version((*version).into()),
            object: Arc::new(ConfigMap {
                data: Some([("version".to_owned(), (*version).to_owned())].into()),
                ..ConfigMap::default()
            }),
            published: None,
            place: Some(SourceLocation {
                file: Arc::new(SourceFile { path: "shop.yaml".into(), written: None }),
                line: 3,
            }),
        });
        Snapshot { config_maps: config_maps.collect(), ..Snapshot::default() }
    }

    fn all(snapshot: &Snapshot) -> Touched {
        snapshot.config_maps.iter().map(|stored| (Arc::clone(&stored.id), true)).collect()
    }

    fn kept(state: &Path, name: &str) -> Option<String> {
        let id = ObjectId::new(Kind::CONFIG_MAP, "shop", name);
        let row = Row::of::<ConfigMap>();
        let store = LastGood::open(state, None).unwrap();
        let stored = store.earlier(&id, &row, &Snapshot::default(), &Version("none".into()));
        stored.map(|stored| {
            let map = stored.object.as_type::<ConfigMap>().unwrap();
            assert_eq!(map.data.as_ref().unwrap()["version"], *stored.version.0);
            stored.version.0.to_string()
        })
    }

    #[test]
    fn what_was_served_is_found_again_after_a_restart() {
        let state = tempfile::tempdir().unwrap();
        let mut store = LastGood::open(state.path(), None).unwrap();
        let first = snapshot(&[("a", "1"), ("b", "1"), ("c", "1")]);
        let mut worth = all(&first);
        worth.pop_last();
        store.keep(&first, worth);
        assert_eq!(["a", "b", "c"].map(|name| kept(state.path(), name)), [Some("1".into()), Some("1".into()), None]);
        let second = snapshot(&[("a", "2")]);
        LastGood::open(state.path(), None).unwrap().keep(&second, all(&second));
        assert_eq!(["a", "b"].map(|name| kept(state.path(), name)), [Some("2".into()), None]);
        assert_eq!(std::fs::read_dir(state.path().join("objects")).unwrap().count(), 1, "old versions are removed");
    }

    #[test]
    fn all_that_is_kept_is_found_again_together() {
        let state = tempfile::tempdir().unwrap();
        let class = Stored {
            id: Arc::new(ObjectId::new(Kind::INGRESS_CLASS, "", "nginx")),
            version: Version("7".into()),
            object: Arc::default(),
            published: None,
            place: None,
        };
        let served = Snapshot { ingress_classes: [class].into_iter().collect(), ..snapshot(&[("a", "2"), ("b", "1")]) };
        let mut worth = all(&served);
        worth.insert(Arc::clone(&served.ingress_classes[0].id), true);
        LastGood::open(state.path(), None).unwrap().keep(&served, worth);
        std::fs::write(state.path().join("objects/notes.txt"), "not ours").unwrap();
        let found = LastGood::open(state.path(), None).unwrap().snapshot();
        let maps =
            found.config_maps.iter().map(|stored| (&*stored.id.name, &*stored.version.0, stored.place.is_some()));
        assert_eq!(maps.collect::<Vec<_>>(), [("a", "2", true), ("b", "1", true)]);
        assert_eq!(found.ingress_class("nginx").map(|stored| &*stored.version.0), Some("7"));
    }

    #[test]
    fn only_changes_are_written_and_only_root_may_read() {
        use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
        let state = tempfile::tempdir().unwrap();
        let file_of = |name: &str| {
            let store = LastGood::open(state.path(), None).unwrap();
            let name = ShortDigest::of_name(&ObjectId::new(Kind::CONFIG_MAP, "shop", name));
            std::fs::metadata(store.path(name, store.kept[&name])).unwrap()
        };
        let mut store = LastGood::open(state.path(), None).unwrap();
        let first = snapshot(&[("a", "1"), ("b", "1")]);
        store.keep(&first, all(&first));
        let before = (file_of("a").ino(), file_of("b").ino());
        let second = snapshot(&[("a", "1"), ("b", "2")]);
        LastGood::open(state.path(), None).unwrap().keep(&second, all(&second));
        assert_eq!(file_of("a").ino(), before.0);
        assert_ne!(file_of("b").ino(), before.1);
        assert_eq!(file_of("b").permissions().mode() & 0o777, 0o600);
    }

    #[test]
    fn damaged_files_are_ignored() {
        let state = tempfile::tempdir().unwrap();
        let mut store = LastGood::open(state.path(), None).unwrap();
        let first = snapshot(&[("a", "1")]);
        store.keep(&first, all(&first));
        let file = std::fs::read_dir(state.path().join("objects")).unwrap().next().unwrap().unwrap();
        std::fs::write(file.path(), "{\"kind\":").unwrap();
        std::fs::write(state.path().join("objects/notes.txt"), "not ours").unwrap();
        assert_eq!(kept(state.path(), "a"), None);
    }

    #[test]
    fn the_keeper_has_written_when_it_is_dropped() {
        let state = tempfile::tempdir().unwrap();
        let keeper = Keeper::start(Arc::new(Mutex::new(LastGood::open(state.path(), None).unwrap())), state.path());
        let first = Arc::new(snapshot(&[("a", "1")]));
        keeper.keep(Arc::clone(&first), all(&first), Arc::default());
        drop(keeper);
        assert_eq!(kept(state.path(), "a"), Some("1".into()));
    }

    #[tokio::test]
    async fn waiting_for_the_end_of_the_keeper_blocks_no_thread() {
        let state = tempfile::tempdir().unwrap();
        let store = Arc::new(Mutex::new(LastGood::open(state.path(), None).unwrap()));
        let keeper = Keeper::start(Arc::clone(&store), state.path());
        // A disk that blocks until it is released, or until it is clear that it never will be.
        let ((held, is_held), (release, released)) = (channel(), channel::<()>());
        let disk = std::thread::spawn(move || {
            let _store = store.lock().unwrap();
            held.send(()).unwrap();
            let _ = released.recv_timeout(std::time::Duration::from_secs(5));
        });
        is_held.recv().unwrap();
        let first = Arc::new(snapshot(&[("a", "1")]));
        keeper.keep(Arc::clone(&first), all(&first), Arc::default());
        // The runtime of a test has one thread: this comes back only if nothing blocks it.
        let closing = tokio::spawn(keeper.close());
        tokio::task::yield_now().await;
        assert!(!closing.is_finished(), "it ended before the disk took anything");
        release.send(()).expect("the disk waits still: nothing held up this thread");
        closing.await.unwrap();
        disk.join().unwrap();
        assert_eq!(kept(state.path(), "a"), Some("1".into()));
    }
}
