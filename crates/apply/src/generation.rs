//! The generations on disk and the symbolic link to the one in use.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use itertools::{EitherOrBoth, Itertools as _};

use super::cause::{Cause, Change};
use super::error::{ApplyError, unless_missing};
use super::folder::{self, Existing};
use super::journal::Journal;
use super::manifest::{Manifest, by_path};
use super::options::Options;
use super::pin::Pin;
use super::record::{Contents, Record};
use super::staging::{NUMBER_FILE, Staging};
use super::steps::{Step, Steps};
use ingressd_model::{Instance, ObjectId};
use ingressd_nginx::render::FileSet;

/// The name of a generation's folder until it is complete.
const UNFINISHED: &str = ".partial";

/// The name of the folder of a generation that is not kept any more: the next one is made of it.
const SPARE: &str = "spare.partial";

/// The one in use and one to go back to.
const LEAST_KEPT: usize = 2;

/// The generations of one root.
#[derive(Debug)]
pub struct Generations {
    root: PathBuf,
    keep: usize,
    workers_group: Option<u32>,
    instance: Instance,
    /// Whether files of the current generation may be for another group than the workers'.
    regrouped: bool,
    state: PathBuf,
    journal: Journal,
    pin: Option<Pin>,
    current: Option<Manifest>,
    /// The generation that the link named before the current one, or names although the journal
    /// was lost: it takes the place of a confirmed one where none is known.
    before: Option<u64>,
    /// The record of the current generation, when this run of the daemon made it.
    record: Option<Record>,
    /// The number and record of the staged generation, and why it was made.
    staged: Option<(u64, Record, Cause)>,
    /// Why the current generation was made, when this run of the daemon made it.
    cause: Option<Cause>,
}

/// What is written beside the next files.
#[derive(Debug, Default)]
pub struct Accompanying {
    /// What they serve.
    pub contents: Arc<Contents>,
    /// What changed in the cluster since the last files.
    pub changes: Vec<(Arc<ObjectId>, Change)>,
}

/// A generation that is complete on disk and not yet in use.
#[derive(Debug)]
pub struct Staged {
    pub manifest: Manifest,
    /// How many of its files were written; the others are links.
    pub written: usize,
}

impl Generations {
    /// Opens the folders, makes them when missing, and removes what a killed predecessor left
    /// behind.
    pub fn open(options: &Options) -> Result<Generations, ApplyError> {
        make_folder(&options.root, 0o755)?;
        make_folder(&options.root.join("generations"), 0o755)?;
        make_folder(&options.state, 0o700)?;
        let journal = Journal::open(&options.state)?;
        let mut generations = Generations {
            root: options.root.clone(),
            keep: options.keep.max(LEAST_KEPT),
            workers_group: options.workers_group,
            instance: options.instance.clone(),
            regrouped: false,
            state: options.state.clone(),
            journal,
            pin: None,
            current: None,
            before: None,
            record: None,
            staged: None,
            cause: None,
        };
        generations.current = generations.read_current()?;
        // A number is recorded before the link names it.
        generations.before = generations.in_place()?.filter(|number| *number > generations.journal.issued());
        generations.pin = Pin::read(&options.state, generations.linked()?)?;
        generations.remove_leftovers()?;
        Ok(generations)
    }

    /// Sets the group that may read password files.
    pub fn set_workers_group(&mut self, group: Option<u32>) {
        self.regrouped |= self.workers_group != group;
        self.workers_group = group;
    }

    /// Whether the current generation was written for the group of the workers.
    pub fn is_for_workers(&self) -> bool {
        !self.regrouped
    }

    pub fn folder(&self, generation: u64) -> PathBuf {
        self.root.join("generations").join(generation.to_string())
    }

    /// The symbolic link that nginx's configuration includes.
    pub fn link(&self) -> PathBuf {
        self.root.join("current")
    }

    /// The manifest of the generation that the link names, without files that were changed since
    /// they were written.
    pub fn current(&self) -> Option<&Manifest> {
        self.current.as_ref()
    }

    /// The number of the generation that the link names, even where its files were changed.
    pub fn in_place(&self) -> Result<Option<u64>, ApplyError> {
        match self.linked()? {
            Some(number) => Ok(self.is_kept(number)?.then_some(number)),
            None => Ok(None),
        }
    }

    /// The latest confirmed generation that is still on disk.
    pub fn confirmed(&self) -> Option<u64> {
        // One that cannot be looked at is not gone.
        self.journal.confirmed().find(|number| self.is_kept(*number).unwrap_or(true))
    }

    fn is_kept(&self, generation: u64) -> Result<bool, ApplyError> {
        let folder = self.folder(generation);
        let found = ApplyError::found("look at", &folder, fs::metadata(&folder))?;
        Ok(found.is_some_and(|found| found.is_dir()))
    }

    /// Whether nginx was seen to run this generation.
    pub fn is_confirmed(&self, generation: u64) -> bool {
        self.journal.confirmed().any(|number| number == generation)
    }

    /// Writes a new generation; files that did not change are hard links to those of the current
    /// one.
    pub fn stage(
        &mut self,
        files: &FileSet,
        accompanying: &Accompanying,
        steps: &mut Steps,
    ) -> Result<Staged, ApplyError> {
        let generation = self.numbers()?.into_iter().max().unwrap_or(0).max(self.journal.issued()) + 1;
        let folder = self.folder(generation);
        let unfinished = folder.with_extension(&UNFINISHED[1..]);
        let base = self.current.as_ref().map(|manifest| (self.folder(manifest.generation), manifest));
        let record = Record::of(files, &accompanying.contents);
        let cause = Cause::of(&accompanying.changes, &self.owners_of_what_differs(files));
        let before = self.record.as_ref().zip(base.as_ref().map(|(folder, _)| folder.as_path()));
        let segment = record.segment(before, &cause);
        let staging = Staging {
            folder: unfinished.clone(),
            spare: self.spare(),
            generation,
            base,
            workers_group: self.workers_group,
            segment,
            instance: &self.instance,
        };
        let staged = staging.write(files, steps).and_then(|(manifest, written)| {
            fs::rename(&unfinished, &folder).map_err(ApplyError::files("rename", &unfinished))?;
            flush_folder(&self.root.join("generations"))?;
            Ok(Staged { manifest, written })
        });
        match staged {
            Ok(staged) => {
                self.staged = Some((generation, record, cause));
                steps.reached(Step::Staged);
                Ok(staged)
            }
            Err(error) => {
                // The first error tells the cause. What cannot be removed now is removed at the
                // next start, and is not in the way until then.
                let _ = fs::remove_dir_all(&unfinished)
                    .or_else(|_| fs::rename(&unfinished, folder.with_extension("stays.partial")));
                let _ = fs::remove_dir_all(&folder);
                Err(error)
            }
        }
    }

    /// The owners of lines that differ between the current generation and these files, on either
    /// side.
    fn owners_of_what_differs(&self, files: &FileSet) -> BTreeSet<Arc<ObjectId>> {
        let nothing = Default::default();
        let known = self.current.as_ref().map_or(&nothing, |current| &current.entries);
        let own = known.iter().filter(|(path, _)| &***path != NUMBER_FILE);
        let mut owners = BTreeSet::new();
        let mut differing = Vec::new();
        for either in own.merge_join_by(&files.files, |(known, _), (path, _)| by_path(known, path)) {
            match either {
                EitherOrBoth::Both((_, entry), (_, file)) if entry.digest == file.digest => {}
                EitherOrBoth::Left((gone, _)) => differing.push(gone),
                EitherOrBoth::Both(_, (path, file)) | EitherOrBoth::Right((path, file)) => {
                    owners.extend(file.owners.objects());
                    differing.push(path);
                }
            }
        }
        // The first time in a run, the record of the run before is read; when there is none, no
        // owners are known.
        let read = || Record::read(&self.folder(self.current.as_ref()?.generation)).ok();
        let earlier = match &self.record {
            _ if differing.is_empty() => None,
            Some(record) => Some(Cow::Borrowed(record)),
            None => read().map(Cow::Owned),
        };
        let of_earlier = |path| earlier.as_ref()?.owners.get(path);
        let lines = differing.into_iter().filter_map(of_earlier).flat_map(|owners| owners.0.iter());
        owners.extend(lines.map(|(_, origin)| Arc::clone(&origin.object)));
        owners
    }

    /// Why the current generation was made; `None` when that is not known.
    pub fn cause(&self) -> Option<&Cause> {
        self.cause.as_ref()
    }

    /// Removes a generation that was staged and will not be used.
    pub fn discard(&self, staged: &Staged) {
        self.remove_unused(staged.manifest.generation);
    }

    fn remove_unused(&self, generation: u64) {
        let folder = self.folder(generation);
        if let Err(error) = self.set_aside(&folder) {
            tracing::warn!(path = %folder.display(), "an unused generation stays until the next start: {}: {error}", folder.display());
        }
    }

    /// Lets the link name this generation. Its number is recorded first, because nginx may read it
    /// from now on, and no other generation may get the same number.
    pub fn switch(&mut self, manifest: Manifest, steps: &mut Steps) -> Result<(), ApplyError> {
        let (generation, before) = (manifest.generation, self.in_place()?);
        let switched = self.journal.issue(generation).and_then(|()| self.point_to(generation, steps));
        if switched.is_err() && self.linked().is_ok_and(|linked| linked != Some(generation)) {
            // Without this, each further attempt would leave a folder behind.
            self.remove_unused(generation);
        }
        switched?;
        (self.current, self.before) = (Some(manifest), before);
        let staged = self.staged.take().filter(|(number, ..)| *number == generation);
        (self.record, self.cause) = staged.map(|(_, record, cause)| (record, cause)).unzip();
        self.regrouped = false;
        steps.reached(Step::Switched);
        Ok(())
    }

    /// Lets the link name the latest confirmed generation again, or what it named before where the
    /// journal knows of none. Removes it when nothing was in place before. Returns the number.
    pub fn switch_back(&mut self, steps: &mut Steps) -> Result<Option<u64>, ApplyError> {
        let target = self.confirmed().or(self.before.filter(|number| self.is_kept(*number).unwrap_or(true)));
        match target {
            Some(generation) => self.point_to(generation, steps)?,
            None => {
                remove_link(&self.link())?;
                flush_folder(&self.root)?;
            }
        }
        self.current = self.read_current()?;
        (self.record, self.cause) = (None, None);
        steps.reached(Step::SwitchedBack);
        Ok(target)
    }

    /// The pin that the administrator set.
    pub fn pinned(&self) -> Option<Pin> {
        self.pin
    }

    /// Pins a generation, which need not be the one in use; also across restarts.
    pub fn pin(&mut self, pin: Pin) -> Result<(), ApplyError> {
        pin.keep(&self.state)?;
        self.pin = Some(pin);
        Ok(())
    }

    /// Removes the pin.
    pub fn unpin(&mut self) -> Result<Option<Pin>, ApplyError> {
        Pin::forget(&self.state)?;
        Ok(self.pin.take())
    }

    /// Lets the link name a generation that is kept.
    ///
    /// # Errors
    ///
    /// When it is not on disk, when its files were changed, or when the file system fails.
    pub fn switch_to_kept(&mut self, generation: u64, steps: &mut Steps) -> Result<(), ApplyError> {
        let (manifest, before) = (self.intact(generation)?, self.in_place()?);
        self.point_to(generation, steps)?;
        (self.current, self.before) = (Some(manifest), before);
        (self.record, self.cause) = (None, None);
        steps.reached(Step::Switched);
        Ok(())
    }

    /// The manifest of a generation, provided that every file is as it was written.
    pub fn intact(&self, generation: u64) -> Result<Manifest, ApplyError> {
        let folder = self.folder(generation);
        let manifest = Manifest::read_verified(generation, &folder)?;
        match manifest.digest {
            Some(_) => Ok(manifest),
            None => Err(ApplyError::Damaged { path: folder, what: "files were changed or removed".to_owned() }),
        }
    }

    /// What a generation serves; `None` when it was not recorded.
    pub fn contents(&self, generation: u64) -> Option<Arc<Contents>> {
        let record = Record::read(&self.folder(generation));
        let record =
            record.inspect_err(|error| tracing::warn!("it is not known what generation {generation} serves: {error}"));
        record.ok().map(|record| record.contents)
    }

    /// Records that nginx runs the current generation.
    pub fn confirm(&mut self, generation: u64) -> Result<(), ApplyError> {
        self.journal.confirm(generation)
    }

    /// Whether the next generation is made of the folder of an earlier one.
    pub fn has_spare(&self) -> bool {
        self.spare().exists()
    }

    fn spare(&self) -> PathBuf {
        self.root.join("generations").join(SPARE)
    }

    /// Makes the folder of a generation the one to spare.
    fn set_aside(&self, folder: &Path) -> std::io::Result<()> {
        unless_missing(fs::remove_dir_all(self.spare()))?;
        fs::rename(folder, self.spare())
    }

    /// Gives up generations that are neither in use, pinned, the last confirmed one nor among the
    /// latest. Returns how many.
    pub fn sweep(&self) -> Result<usize, ApplyError> {
        self.sweep_to(self.keep)
    }

    /// The same with the fewest that are ever kept, because there is no room for another one. A
    /// folder to spare goes too.
    pub fn make_room(&self) -> Result<usize, ApplyError> {
        let count = self.sweep_to(LEAST_KEPT)?;
        let removed =
            unless_missing(fs::remove_dir_all(self.spare())).map_err(ApplyError::files("remove", self.spare()))?;
        Ok(if removed.is_some() { count.max(1) } else { count })
    }

    fn sweep_to(&self, keep: usize) -> Result<usize, ApplyError> {
        let current = self.current.as_ref().map(|manifest| manifest.generation);
        let protected = [current, self.before, self.confirmed(), self.pin.map(|pin| pin.generation)];
        let mut numbers = self.numbers()?;
        numbers.sort_unstable_by(|a, b| b.cmp(a));
        let old = numbers.into_iter().skip(keep).filter(|number| !protected.contains(&Some(*number)));
        let mut count = 0;
        for folder in old.map(|number| self.folder(number)) {
            self.set_aside(&folder).map_err(ApplyError::files("remove", &folder))?;
            count += 1;
        }
        Ok(count)
    }

    fn point_to(&self, generation: u64, steps: &mut Steps) -> Result<(), ApplyError> {
        let (link, next) = (self.link(), self.root.join("current.next"));
        remove_link(&next)?;
        symlink(Path::new("generations").join(generation.to_string()), &next)
            .map_err(ApplyError::files("create link", &next))?;
        steps.reached(Step::LinkMade);
        fs::rename(&next, &link).map_err(ApplyError::files("switch", &link))?;
        flush_folder(&self.root)
    }

    /// The numbers of the complete generations, in no order.
    fn numbers(&self) -> Result<Vec<u64>, ApplyError> {
        Ok(self.names()?.iter().filter_map(|name| name.parse().ok()).collect())
    }

    fn names(&self) -> Result<Vec<String>, ApplyError> {
        let folder = self.root.join("generations");
        let read = || -> std::io::Result<Vec<String>> {
            fs::read_dir(&folder)?.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned())).collect()
        };
        read().map_err(ApplyError::files("list", &folder))
    }

    /// A generation without a readable manifest counts as missing: the next apply writes a new
    /// one.
    fn read_current(&self) -> Result<Option<Manifest>, ApplyError> {
        let Some(generation) = self.linked()? else { return Ok(None) };
        match Manifest::read_verified(generation, &self.folder(generation)) {
            Err(error) if error.is_shortage() => Err(error),
            Err(error) => {
                tracing::warn!("the current generation cannot be built upon, and the next is written whole: {error}");
                Ok(None)
            }
            Ok(manifest) => Ok(Some(manifest)),
        }
    }

    /// The number that the link names.
    fn linked(&self) -> Result<Option<u64>, ApplyError> {
        let link = self.link();
        let target = ApplyError::found("read", &link, fs::read_link(&link))?;
        Ok(target.and_then(|target| target.file_name()?.to_str()?.parse().ok()))
    }

    fn remove_leftovers(&self) -> Result<(), ApplyError> {
        remove_link(&self.root.join("current.next"))?;
        let current = self.linked()?.unwrap_or(0);
        for name in self.names()? {
            let pinned = self.pin.map(|pin| pin.generation);
            let unused = name
                .parse()
                .is_ok_and(|number: u64| number > current && !self.is_confirmed(number) && pinned != Some(number));
            if unused || name.ends_with(UNFINISHED) {
                let folder = self.root.join("generations").join(name);
                if let Err(error) = fs::remove_dir_all(&folder) {
                    tracing::warn!(path = %folder.display(), "what an earlier run left stays: {}: {error}", folder.display());
                }
            }
        }
        Ok(())
    }
}

/// An existing folder keeps its mode, but no other user may be able to write to it.
fn make_folder(path: &Path, mode: u32) -> Result<(), ApplyError> {
    folder::make(path, mode, Existing::Closed).map_err(ApplyError::files("use folder", path))
}

fn flush_folder(path: &Path) -> Result<(), ApplyError> {
    File::open(path).and_then(|folder| folder.sync_all()).map_err(ApplyError::files("flush", path))
}

fn remove_link(path: &Path) -> Result<(), ApplyError> {
    // Look first: a read-only file system refuses to remove even what does not exist.
    let removed = fs::symlink_metadata(path).and_then(|_| fs::remove_file(path));
    unless_missing(removed).map(drop).map_err(ApplyError::files("remove", path))
}
