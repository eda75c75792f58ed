//! Undoes the changes of setup, all or none, except for files that were edited since.

use std::path::{Path, PathBuf};

use super::journal::{Change, Journal, remove_unfinished};
use super::points::reached;
use super::run::{Error, Setup};
use super::state::{State, remove_scratch};
use super::steps::{Step, TAKEN_BACK};
use ingressd_apply::Host as _;

/// The result for one change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Undone {
    /// The former state is restored.
    Restored(PathBuf),
    /// A folder is in use: it stays, with its content.
    InUse(PathBuf),
    /// The link to the generation in force was removed: an include that a package installed finds
    /// nothing any more.
    OutOfForce(PathBuf),
    /// It was edited since, and is left as it is.
    Edited {
        path: PathBuf,
        /// The step that changed it.
        step: String,
        /// Whether the change was removed from the journal.
        forgotten: bool,
    },
}

impl Setup<'_> {
    /// Undoes everything, or one step, and reports each result. Where everything is undone, no
    /// generation is in force any more. Files that were edited since are left as they are, and
    /// stay in the journal unless `keep_edited` is set.
    ///
    /// # Errors
    ///
    /// When nginx accepted its configuration before and would refuse it afterwards: then all is as
    /// before. And when the file system fails.
    pub fn undo(
        &mut self,
        step: Option<&Step>,
        keep_edited: bool,
        report: &mut dyn FnMut(&Undone),
    ) -> Result<(), Error> {
        let state = self.state_folder();
        remove_unfinished(state).map_err(Error::files("remove what was left beside", state))?;
        if !state.exists() {
            return Ok(());
        }
        let (mut journal, _lock) = self.open_journal()?;
        // A refused configuration may be the reason for the undo: it cannot get worse.
        let accepted = self.host.test(None)?.accepted;
        let asked = |change: &&Change| step.is_none_or(|step| step.name == change.step);
        let changes: Vec<_> = journal.changes().iter().filter(asked).cloned().collect();
        let (folders, contents): (Vec<_>, Vec<_>) = Group::all(&changes).into_iter().partition(Group::made_folder);
        let mut taken = Vec::new();
        let done = self.take_back(&contents, step.is_none(), &mut taken);
        let tested = done.and_then(|()| Ok(self.host.test(None)?)).or_else(|error| {
            put_again(&taken)?;
            Err(error)
        })?;
        if accepted && !tested.accepted {
            put_again(&taken)?;
            return Err(Error::kept(step, &contents, tested.words));
        }
        for place in taken.iter().filter(|place| place.in_force) {
            report(&Undone::OutOfForce(place.path.clone()));
        }
        let journal_path = journal.path();
        let failed = |error| Error::files("write", &journal_path)(error);
        for group in &contents {
            let is_edited = !group.is_undone()?;
            if (!is_edited || keep_edited) && !journal.changes().is_empty() {
                journal.forget(&group.changes).map_err(failed)?;
            }
            reached();
            report(&match is_edited {
                false => Undone::Restored(group.path.clone()),
                true => Undone::Edited { path: group.path.clone(), step: group.step.clone(), forgotten: keep_edited },
            });
        }
        for group in &folders {
            report(&take_folder_back(group, &mut journal)?);
        }
        Ok(())
    }

    /// Whether nginx includes the generation in force by what no step made, or somebody edited.
    fn stays_included(&self, groups: &[Group]) -> bool {
        let stays = |step: &str| {
            let goes = |group: &&Group| group.step == step && group.now().is_ok_and(|now| group.is_ours(&now));
            !groups.iter().any(|group| goes(&group))
        };
        // Where nginx's configuration cannot be read, there is nothing that it would refuse next.
        self.ground().is_ok_and(|ground| {
            let (http, stream) = (ground.survey.includes_ours, ground.layout.stream_includes_ours);
            http && stays("http-include") || stream && stays("stream-include")
        })
    }

    /// Puts back what was there before, and notes in `taken` what was there until now.
    fn take_back(&self, groups: &[Group], everything: bool, taken: &mut Vec<Taken>) -> Result<(), Error> {
        let mut put = |path: &Path, now: State, before: &State, in_force: bool| {
            taken.push(Taken { path: path.to_owned(), now, in_force });
            let done = before.put(path).map_err(Error::files("put back", path));
            reached();
            done
        };
        // Hosts of the cluster get the requests of a default site: they go before it comes back,
        // whoever wrote the include.
        let link = self.current();
        if everything
            && self.stays_included(groups)
            && let now @ State::Link(_) = State::read(&link).map_err(Error::files("read", &link))?
        {
            put(&link, now, &State::Absent, true)?;
        }
        for group in groups {
            remove_scratch(&group.path).map_err(Error::files("remove what was left beside", &group.path))?;
            let now = group.now()?;
            if !now.is_like(&group.before) && group.is_ours(&now) {
                put(&group.path, now, &group.before, false)?;
            }
        }
        Ok(())
    }
}

/// What was at a path until it was undone.
struct Taken {
    path: PathBuf,
    now: State,
    /// Whether it is the link to the generation in force.
    in_force: bool,
}

/// Puts everything there again.
fn put_again(taken: &[Taken]) -> Result<(), Error> {
    taken.iter().rev().try_for_each(|Taken { path, now, .. }| now.put(path).map_err(Error::files("change", path)))
}

/// All changes of one path, which are undone at once.
#[derive(Debug)]
pub struct Group {
    step: String,
    pub path: PathBuf,
    /// The state before the first change.
    pub before: State,
    /// The state after the last change.
    pub after: State,
    changes: Vec<Change>,
}

impl Group {
    /// Whether a folder was made.
    fn made_folder(&self) -> bool {
        matches!((&self.before, &self.after), (State::Absent, State::Folder(_)))
    }

    /// The present state.
    fn now(&self) -> Result<State, Error> {
        self.after.read_alike(&self.path).map_err(Error::files("read", &self.path))
    }

    /// Whether setup made this state. The last of several changes may never have been made.
    fn is_ours(&self, now: &State) -> bool {
        self.changes.iter().any(|change| *now == change.after)
    }

    fn is_undone(&self) -> Result<bool, Error> {
        Ok(self.now()?.is_like(&self.before))
    }

    fn of(change: &Change) -> Self {
        let Change { step, path, before, after } = change.clone();
        Group { step, path, before, after, changes: vec![change.clone()] }
    }

    /// All changes in the order of their undo. Those of one file or link are combined.
    pub fn all(changes: &[Change]) -> Vec<Self> {
        let is_content = |state: &State| matches!(state, State::Absent | State::File(_) | State::Link(_));
        let mut groups = Vec::<Group>::new();
        for change in changes {
            let earlier = groups.iter_mut().find(|group| group.path == change.path && is_content(&group.after));
            match earlier.filter(|_| is_content(&change.before) && is_content(&change.after)) {
                Some(group) => {
                    group.after = change.after.clone();
                    group.changes.push(change.clone());
                }
                None => groups.push(Group::of(change)),
            }
        }
        groups.reverse();
        groups.sort_by_key(|group| TAKEN_BACK.iter().position(|step| *step == group.step));
        groups
    }
}

/// A folder is removed only when it is empty, apart from the journal in its own folder.
fn take_folder_back(group: &Group, journal: &mut Journal) -> Result<Undone, Error> {
    let path = &group.path;
    let failed = |error| Error::files("remove the folder", path)(error);
    if group.is_undone()? {
        // It was never made, or is gone already.
        if !journal.changes().is_empty() {
            journal.forget(&group.changes).map_err(Error::files("write", journal.path()))?;
        }
        return Ok(Undone::Restored(path.clone()));
    }
    let journal_path = journal.path();
    if journal_path.starts_with(path) && journal.changes().iter().any(|change| !journal_path.starts_with(&change.path))
    {
        // The journal in it still has files that were edited.
        return Ok(Undone::InUse(path.clone()));
    }
    let gone = match journal.path().parent() == Some(path.as_path()) {
        true => journal.remove().map_err(failed)?,
        false => match State::Absent.put(path) {
            Ok(()) => true,
            Err(error) if error.kind() == std::io::ErrorKind::DirectoryNotEmpty => false,
            Err(error) => return Err(failed(error)),
        },
    };
    reached();
    // The whole journal goes with its folder.
    if !journal.changes().is_empty() {
        journal.forget(&group.changes).map_err(Error::files("write", journal.path()))?;
    }
    Ok(if gone { Undone::Restored(path.clone()) } else { Undone::InUse(path.clone()) })
}
