//! Watches a folder of manifests by inotify, and signals when something in it may have changed.
//! What inotify does not report is found by a look at everything from time to time.

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use notify::event::{AccessKind, AccessMode, EventKind, ModifyKind};
use notify::{Event, RecommendedWatcher, RecursiveMode, Watcher as _};
use tokio::sync::Notify;

use ingressd_model::finding::{Finding, Reason};
use ingressd_model::{Kind, ObjectId, Origin};
use ingressd_objects::directory::{ChangedFiles, Directory, NeverRead, Way, is_manifest};
use ingressd_objects::{Kinds, Snapshot};

/// How often all files are compared with what was read. inotify reports nothing of what other
/// hosts write to a shared file system, of a mount, or of a file that appears as a whole.
const LOOK: Duration = Duration::from_secs(30);

/// A watched folder of manifests.
#[derive(Debug)]
pub struct DirectorySource {
    folder: PathBuf,
    directory: Directory,
    watches: Watches,
    pending: Arc<Mutex<Pending>>,
    /// When everything was compared last; `None` before the first time.
    looked: Option<Instant>,
    /// The snapshot that was returned last, and what it was made from.
    reported: Option<(Arc<Snapshot>, Option<Finding>, Arc<Snapshot>)>,
}

/// inotify is not available.
#[derive(Debug, thiserror::Error)]
#[error("changes of {} cannot be watched: {source}; the limits are in /proc/sys/fs/inotify", folder.display())]
pub struct WatchError {
    folder: PathBuf,
    source: notify::Error,
}

/// What inotify reported since the last reading.
#[derive(Debug, Default)]
struct Pending {
    /// The folder; events of others beside it do not count.
    folder: PathBuf,
    /// Files that were written, replaced or removed.
    files: BTreeSet<PathBuf>,
    /// Whether something other than a file changed.
    structure: bool,
    /// Whether events were lost.
    lost: bool,
    /// Watched folders that were moved or removed.
    moved: BTreeSet<PathBuf>,
    /// Files that were written to and not closed yet, and when the last time was.
    unfinished: BTreeMap<PathBuf, Instant>,
    /// Links on the way to the files, and where they lead.
    links: BTreeSet<PathBuf>,
}

impl DirectorySource {
    /// Begins to watch. There is one signal for any number of changes; the caller may wait for
    /// more.
    ///
    /// # Errors
    ///
    /// When the system provides no inotify instance.
    pub fn start(folder: impl Into<PathBuf>, kinds: Kinds) -> Result<(DirectorySource, Arc<Notify>), WatchError> {
        let folder = folder.into();
        let folder = std::path::absolute(&folder).unwrap_or(folder);
        let wake = Arc::new(Notify::new());
        let pending = Arc::new(Mutex::new(Pending { folder: folder.clone(), structure: true, ..Pending::default() }));
        let (reported, signal) = (Arc::clone(&pending), Arc::clone(&wake));
        let handler = move |event: notify::Result<Event>| {
            if reported.lock().unwrap_or_else(PoisonError::into_inner).note(event) {
                signal.notify_one();
            }
        };
        let watcher =
            notify::recommended_watcher(handler).map_err(|source| WatchError { folder: folder.clone(), source })?;
        let watches = Watches { watcher, watched: BTreeMap::new(), wanted: BTreeSet::new(), failed: None };
        let directory = Directory::new(vec![folder.clone()]).of_kinds(kinds).live();
        Ok((DirectorySource { folder, directory, watches, pending, looked: None, reported: None }, wake))
    }

    /// When there is something to read without a signal.
    pub fn due(&self) -> Instant {
        let look = self.looked.map_or_else(Instant::now, |looked| looked + LOOK);
        self.directory.due().into_iter().chain([look]).min().unwrap_or(look)
    }

    /// Reads what changed since the last call. When nothing did, the snapshot stays the same in
    /// memory. This blocks on the file system.
    ///
    /// # Errors
    ///
    /// When the folder was never read completely: its content is unknown, which is not the same as
    /// empty. There is a signal when the folder appears.
    pub fn snapshot(&mut self) -> Result<Arc<Snapshot>, NeverRead> {
        let (changes, unfinished) = self.take();
        self.watches.failed = None;
        let is_whole = !matches!(changes, ChangedFiles::Files(_));
        if is_whole {
            self.watches.ancestors(&self.folder);
        }
        let (watches, mut links) = (&mut self.watches, BTreeSet::new());
        let read = self.directory.refresh(&changes, &unfinished, &mut |way| match way {
            Way::Folder(folder) => watches.add(folder),
            Way::Link(link) => {
                link.parent().into_iter().for_each(|folder| watches.add(folder));
                links.insert(link.to_owned());
            }
        });
        let mut pending = self.pending.lock().unwrap_or_else(PoisonError::into_inner);
        if is_whole {
            pending.links = links;
        }
        // Nothing was read, so everything is still to be read.
        pending.structure |= read.is_err();
        drop(pending);
        if is_whole {
            self.looked = Some(Instant::now());
            self.watches.forget_others();
        }
        let snapshot = read?;
        Ok(self.report(snapshot))
    }

    fn report(&mut self, snapshot: Arc<Snapshot>) -> Arc<Snapshot> {
        let finding = self.watches.finding();
        if let Some((read, found, reported)) = &self.reported
            && Arc::ptr_eq(read, &snapshot)
            && *found == finding
        {
            return Arc::clone(reported);
        }
        let reported = match &finding {
            None => Arc::clone(&snapshot),
            Some(finding) => {
                let mut reported = (*snapshot).clone();
                reported.findings.push(finding.clone());
                reported.findings.sort();
                Arc::new(reported)
            }
        };
        self.reported = Some((snapshot, finding, Arc::clone(&reported)));
        reported
    }

    /// What to read again, and the files that are being written.
    fn take(&mut self) -> (ChangedFiles, BTreeSet<PathBuf>) {
        // The lock is not held while watches change: the thread of inotify may be waiting for it.
        let (files, mut structure, lost, moved, unfinished) = {
            let mut pending = self.pending.lock().unwrap_or_else(PoisonError::into_inner);
            if pending.lost {
                // It is not known any more which files are being written.
                pending.unfinished.clear();
            }
            let pending = &mut *pending;
            // A file that was truncated by its name is never closed.
            let files = &mut pending.files;
            pending.unfinished.retain(|path, last| {
                let is_over = last.elapsed() >= LOOK;
                if is_over {
                    files.insert(path.clone());
                }
                !is_over
            });
            let unfinished = pending.unfinished.keys().cloned().collect();
            let take = std::mem::take::<BTreeSet<PathBuf>>;
            let (structure, lost) = (std::mem::take(&mut pending.structure), std::mem::take(&mut pending.lost));
            (take(&mut pending.files), structure, lost, take(&mut pending.moved), unfinished)
        };
        if lost {
            self.watches.forget(Path::new("/"));
            return (ChangedFiles::Content, unfinished);
        }
        for path in moved {
            // The path is a watched folder: whether it is gone or replaced, everything below it
            // changed.
            structure |= self.watches.forget(&path);
        }
        // Files that vanished with their folder count as unreadable, not as deleted.
        structure |= !self.folder.is_dir() || self.looked.is_none_or(|looked| looked.elapsed() >= LOOK);
        let simple = |path: &PathBuf| match std::fs::symlink_metadata(path) {
            Ok(metadata) => metadata.is_file(),
            Err(_) => true,
        };
        let changes =
            if structure || !files.iter().all(simple) { ChangedFiles::All } else { ChangedFiles::Files(files) };
        (changes, unfinished)
    }
}

impl Pending {
    /// Records an event. Returns whether to signal.
    fn note(&mut self, event: notify::Result<Event>) -> bool {
        let Ok(event) = event else {
            self.lost = true;
            return true;
        };
        if event.need_rescan() {
            self.lost = true;
            return true;
        }
        event.paths.iter().fold(false, |worth, path| self.note_path(event.kind, path) | worth)
    }

    fn note_path(&mut self, kind: EventKind, path: &Path) -> bool {
        let is_linked = self.links.contains(path);
        let is_listed = path.strip_prefix(&self.folder).is_ok_and(|within| !is_in_hidden(within));
        if !is_listed && !is_linked && !self.folder.starts_with(path) {
            return false;
        }
        match kind {
            EventKind::Modify(ModifyKind::Data(_)) => {
                if is_manifest(path) && is_listed {
                    self.unfinished.insert(path.to_owned(), Instant::now());
                }
                return false;
            }
            EventKind::Access(AccessKind::Close(AccessMode::Write)) => {}
            EventKind::Access(_) => return false,
            // A new file is complete only when it is closed; links and folders are never closed.
            EventKind::Create(_) if is_manifest(path) && is_being_created(path) => return false,
            EventKind::Remove(_) | EventKind::Modify(ModifyKind::Name(_)) => drop(self.moved.insert(path.to_owned())),
            _ => {}
        }
        self.unfinished.remove(path);
        if is_linked {
            self.structure = true;
            return true;
        }
        match is_manifest(path) && is_listed {
            true => drop(self.files.insert(path.to_owned())),
            false if matches!(kind, EventKind::Access(_)) => return false,
            // It is a folder, a symbolic link to one such as `..data` of a ConfigMap volume, or
            // irrelevant.
            false if is_of_an_editor(path) => return false,
            false => self.structure = true,
        }
        true
    }
}

/// Whether a path within the folder is in another one there whose files are not manifests.
fn is_in_hidden(within: &Path) -> bool {
    let folders = within.parent().into_iter().flat_map(Path::components);
    folders.into_iter().any(|folder| folder.as_os_str().as_encoded_bytes().starts_with(b"."))
}

fn is_being_created(path: &Path) -> bool {
    std::fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_file() && metadata.nlink() == 1)
}

fn is_of_an_editor(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let hidden = name.starts_with('.') && !name.starts_with("..");
    hidden || name.starts_with('#') || name.ends_with('~') || name.ends_with(".tmp") || name.ends_with(".swp")
}

struct Watches {
    watcher: RecommendedWatcher,
    /// Watched folders with device and inode.
    watched: BTreeMap<PathBuf, (u64, u64)>,
    /// Those that the last look at everything wanted.
    wanted: BTreeSet<PathBuf>,
    failed: Option<(PathBuf, notify::Error)>,
}

impl std::fmt::Debug for Watches {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Watches").field("watched", &self.watched).finish_non_exhaustive()
    }
}

impl Watches {
    /// Watches the parent folders, as far as they exist, to notice when the folder itself appears
    /// or vanishes.
    fn ancestors(&mut self, folder: &Path) {
        let mut above = folder.ancestors().skip(1).filter(|ancestor| ancestor.is_dir());
        if let Some(nearest) = above.next() {
            self.add(nearest);
        }
    }

    fn add(&mut self, folder: &Path) {
        let Ok(metadata) = std::fs::metadata(folder) else { return };
        let identity = (metadata.dev(), metadata.ino());
        self.wanted.insert(folder.to_owned());
        match self.watched.get(folder) {
            Some(known) if *known == identity => return,
            // Another folder has taken its place.
            Some(_) => drop(self.forget(folder)),
            None => {}
        }
        // The kernel has one watch for a folder, whatever its path.
        let known = self.watched.iter().find(|(_, known)| **known == identity);
        match known.map(|(path, _)| path.clone()) {
            Some(path) if self.wanted.contains(&path) => return,
            Some(path) => self.unwatch(&path),
            None => {}
        }
        match self.watcher.watch(folder, RecursiveMode::NonRecursive) {
            Ok(()) => drop(self.watched.insert(folder.to_owned(), identity)),
            // It may be gone again, which the parent folder reports.
            Err(_) if !folder.is_dir() => {}
            Err(error) => self.failed = Some((folder.to_owned(), error)),
        }
    }

    /// Stops watching what nothing leads to any more.
    fn forget_others(&mut self) {
        let wanted = std::mem::take(&mut self.wanted);
        let others: Vec<_> = self.watched.keys().filter(|watched| !wanted.contains(*watched)).cloned().collect();
        others.iter().for_each(|watched| self.unwatch(watched));
    }

    fn unwatch(&mut self, folder: &Path) {
        // The kernel may have removed the watch together with the folder.
        let _ = self.watcher.unwatch(folder);
        self.watched.remove(folder);
    }

    fn forget(&mut self, folder: &Path) -> bool {
        let inside: Vec<_> = self.watched.keys().filter(|watched| watched.starts_with(folder)).cloned().collect();
        inside.iter().for_each(|watched| self.unwatch(watched));
        !inside.is_empty()
    }

    fn finding(&self) -> Option<Finding> {
        let (folder, error) = self.failed.as_ref()?;
        let id = Arc::new(ObjectId::new(Kind::FILE, "", &folder.to_string_lossy()));
        let note = format!("changes in it cannot be watched: {error}; the limits are in /proc/sys/fs/inotify");
        Some(Finding::new(Reason::Unreadable, Origin::object(&id), note))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Write as _;
    use std::os::unix::fs::symlink;
    use std::time::Duration;

    use super::*;

    fn secret(name: &str, value: &str) -> String {
        format!("apiVersion: v1\nkind: Secret\nmetadata: {{name: {name}}}\nstringData: {{a: '{value}'}}\n---\n")
    }

    fn names(snapshot: &Snapshot) -> Vec<String> {
        let name = |stored: &ingressd_objects::Stored<ingressd_objects::Secret>| {
            let data = stored.object.data.iter().map(|(_, value)| String::from_utf8_lossy(&value.0).into_owned());
            format!("{}={}", stored.id.name, data.collect::<String>())
        };
        snapshot.secrets.iter().map(name).collect()
    }

    /// Reads at each signal, and when it is due, until the source has the expected objects.
    async fn until(source: &mut DirectorySource, wake: &Notify, expected: &[&str]) -> Arc<Snapshot> {
        let mut last = String::new();
        let reading = async {
            loop {
                match source.snapshot() {
                    Ok(snapshot) if names(&snapshot) == expected => return snapshot,
                    other => last = format!("{other:?}"),
                }
                let _ = tokio::time::timeout_at(source.due().into(), wake.notified()).await;
            }
        };
        let found = tokio::time::timeout(Duration::from_secs(20), reading).await;
        found.unwrap_or_else(|_| panic!("expected {expected:?}, found {last}"))
    }

    #[tokio::test]
    async fn follows_files_and_folders_through_their_changes() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("deep/manifests");
        let (mut source, wake) = DirectorySource::start(&folder, Kinds::default()).unwrap();
        assert!(source.snapshot().is_err(), "a folder that is not there yet is unknown, not empty");
        assert!(source.due() > Instant::now(), "it is not looked for all the time");
        fs::create_dir_all(folder.join("sub")).unwrap();
        fs::write(folder.join("a.yaml"), secret("a", "1")).unwrap();
        until(&mut source, &wake, &["a=1"]).await;
        fs::write(folder.join("sub/b.json"), secret("b", "1")).unwrap();
        until(&mut source, &wake, &["a=1", "b=1"]).await;
        // An atomic rename over the file, and temporary names of editors.
        fs::write(folder.join(".a.yaml.swp"), "x").unwrap();
        fs::write(folder.join("a.yaml~"), secret("z", "1")).unwrap();
        fs::write(folder.join("#a.yaml#"), secret("z", "1")).unwrap();
        fs::write(folder.join("a.yaml.tmp"), secret("a", "2")).unwrap();
        fs::rename(folder.join("a.yaml.tmp"), folder.join("a.yaml")).unwrap();
        until(&mut source, &wake, &["a=2", "b=1"]).await;
        // A folder that is gone counts as unreadable: its content stays, until the folder is there
        // again.
        fs::rename(&folder, home.path().join("away")).unwrap();
        wake.notified().await;
        let stale = until(&mut source, &wake, &["a=2", "b=1"]).await;
        assert_eq!(stale.findings.iter().map(|finding| finding.reason).collect::<Vec<_>>(), [Reason::Unreadable]);
        fs::create_dir(&folder).unwrap();
        fs::write(folder.join("c.yml"), secret("c", "1")).unwrap();
        until(&mut source, &wake, &["c=1"]).await;
        fs::remove_file(folder.join("c.yml")).unwrap();
        assert!(until(&mut source, &wake, &[]).await.findings.is_empty());
        fs::remove_dir_all(home.path().join("deep")).unwrap();
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("d.yml"), secret("d", "1")).unwrap();
        until(&mut source, &wake, &["d=1"]).await;
    }

    #[tokio::test]
    async fn files_that_are_being_written_are_not_read() {
        let home = tempfile::tempdir().unwrap();
        fs::write(home.path().join("a.yaml"), secret("a", "1")).unwrap();
        let (mut source, wake) = DirectorySource::start(home.path(), Kinds::default()).unwrap();
        until(&mut source, &wake, &["a=1"]).await;
        let mut writer = fs::File::create(home.path().join("a.yaml")).unwrap();
        writer.write_all(secret("a", "2").as_bytes()).unwrap();
        writer.flush().unwrap();
        // Events come in order: once that of another file is seen, those of the first were seen
        // too.
        fs::write(home.path().join("b.yaml"), secret("b", "1")).unwrap();
        fs::create_dir(home.path().join("sub")).unwrap();
        until(&mut source, &wake, &["a=1", "b=1"]).await;
        writer.write_all(secret("c", "1").as_bytes()).unwrap();
        drop(writer);
        until(&mut source, &wake, &["a=2", "b=1", "c=1"]).await;
    }

    #[tokio::test]
    async fn follows_the_symlinks_of_config_map_volumes() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path();
        let write = |version: &str, value: &str| {
            fs::create_dir_all(folder.join(version)).unwrap();
            fs::write(folder.join(version).join("a.yaml"), secret("a", value)).unwrap();
            symlink(version, folder.join("..data_tmp")).unwrap();
            fs::rename(folder.join("..data_tmp"), folder.join("..data")).unwrap();
        };
        write("..2026_1", "1");
        symlink("..data/a.yaml", folder.join("a.yaml")).unwrap();
        let (mut source, wake) = DirectorySource::start(folder, Kinds::default()).unwrap();
        until(&mut source, &wake, &["a=1"]).await;
        write("..2026_2", "2");
        fs::remove_dir_all(folder.join("..2026_1")).unwrap();
        until(&mut source, &wake, &["a=2"]).await;
    }

    #[tokio::test]
    async fn links_are_followed_wherever_they_lead() {
        let (home, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let at = |name: &str| elsewhere.path().join(name);
        let switch = |to: &str| {
            symlink(to, at("next")).unwrap();
            fs::rename(at("next"), at("current")).unwrap();
        };
        for release in ["1", "2"] {
            fs::create_dir(at(release)).unwrap();
            fs::write(at(release).join("a.yaml"), secret("a", release)).unwrap();
        }
        fs::create_dir(at("files")).unwrap();
        fs::write(at("files/b"), secret("b", "1")).unwrap();
        switch("1");
        symlink(at("current"), home.path().join("sub")).unwrap();
        symlink(at("files/b"), home.path().join("b.yaml")).unwrap();
        let (mut source, wake) = DirectorySource::start(home.path(), Kinds::default()).unwrap();
        // Long before the next look at everything.
        let now = Duration::from_secs(10);
        let mut found = async |expected: &[&str]| tokio::time::timeout(now, until(&mut source, &wake, expected)).await;
        found(&["a=1", "b=1"]).await.unwrap();
        switch("2");
        found(&["a=2", "b=1"]).await.expect("a folder behind a link that is switched");
        fs::write(at("2/a.yaml"), secret("a", "3")).unwrap();
        found(&["a=3", "b=1"]).await.expect("a file in it");
        fs::write(at("files/b"), secret("b", "2")).unwrap();
        found(&["a=3", "b=2"]).await.expect("the target of a linked file");
        fs::write(at("files/new"), secret("b", "3")).unwrap();
        fs::rename(at("files/new"), at("files/b")).unwrap();
        found(&["a=3", "b=3"]).await.expect("the target is replaced");
    }

    #[tokio::test]
    async fn what_nobody_reports_is_found_by_a_look() {
        let home = tempfile::tempdir().unwrap();
        fs::write(home.path().join("a.yaml"), secret("a", "1")).unwrap();
        let (mut source, wake) = DirectorySource::start(home.path(), Kinds::default()).unwrap();
        let first = until(&mut source, &wake, &["a=1"]).await;
        source.watches.forget(Path::new("/"));
        fs::write(home.path().join("a.yaml"), secret("a", "2")).unwrap();
        assert!(Arc::ptr_eq(&source.snapshot().unwrap(), &first), "nothing is known of it");
        source.looked = Instant::now().checked_sub(LOOK);
        assert!(source.due() <= Instant::now());
        assert_eq!(names(&source.snapshot().unwrap()), ["a=2"]);
        // A file that is written to and never closed, as when it is truncated by its name.
        let mut writer = fs::File::options().append(true).open(home.path().join("a.yaml")).unwrap();
        writer.write_all(secret("b", "1").as_bytes()).unwrap();
        let reported = async {
            while source.pending.lock().unwrap().unfinished.is_empty() {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(Duration::from_secs(20), reported).await.unwrap();
        assert_eq!(names(&source.snapshot().unwrap()), ["a=2"]);
        let long_ago = |last: &mut Instant| *last = last.checked_sub(LOOK).unwrap();
        source.pending.lock().unwrap().unfinished.values_mut().for_each(long_ago);
        assert_eq!(names(&source.snapshot().unwrap()), ["a=2", "b=1"]);
        drop(writer);
    }

    #[tokio::test]
    async fn lost_events_make_everything_be_read_again() {
        let home = tempfile::tempdir().unwrap();
        fs::write(home.path().join("a.yaml"), secret("a", "1")).unwrap();
        let (mut source, wake) = DirectorySource::start(home.path(), Kinds::default()).unwrap();
        until(&mut source, &wake, &["a=1"]).await;
        source.watches.forget(Path::new("/"));
        fs::write(home.path().join("a.yaml"), secret("a", "2")).unwrap();
        let lost = Event::new(EventKind::Other).set_flag(notify::event::Flag::Rescan);
        assert!(source.pending.lock().unwrap().note(Ok(lost)));
        assert_eq!(names(&source.snapshot().unwrap()), ["a=2"]);
        fs::write(home.path().join("a.yaml"), secret("a", "3")).unwrap();
        until(&mut source, &wake, &["a=3"]).await;
    }
}
