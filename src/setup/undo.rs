//! Undoes the changes of setup, except for files that were edited since.

use std::path::PathBuf;

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
    /// Undoes everything, or one step, in an order that nginx accepts, and reports each result.
    /// Files that were edited since are left as they are, and stay in the journal unless
    /// `keep_edited` is set.
    ///
    /// # Errors
    ///
    /// When nginx accepted its configuration before and refuses it after a change was undone,
    /// which is then made again; and when the file system fails.
    pub fn undo(&mut self, step: Option<&Step>, keep_edited: bool, tell: &mut dyn FnMut(&Undone)) -> Result<(), Error> {
        let state = self.state_folder();
        remove_unfinished(state).map_err(Error::files("remove what was left beside", state))?;
        if !state.exists() {
            return Ok(());
        }
        let (mut journal, _lock) = self.open_journal()?;
        // A refused configuration may be the reason for the undo: it cannot get worse.
        let mut accepted = self.host.test(None)?.accepted;
        let asked = |group: &Group| step.is_none_or(|step| step.name == group.step);
        let groups = match step {
            None => Group::all(journal.changes()),
            Some(_) => journal.changes().iter().rev().map(Group::of).collect(),
        };
        for group in groups.iter().filter(|group| asked(group)) {
            let undone = self.take_back(group, &mut journal, keep_edited, &mut accepted)?;
            tell(&undone);
        }
        Ok(())
    }

    fn take_back(
        &mut self,
        group: &Group,
        journal: &mut Journal,
        keep_edited: bool,
        accepted: &mut bool,
    ) -> Result<Undone, Error> {
        let Group { step, path, before, after, changes } = group;
        let failed = |action| Error::files(action, path);
        let journal_path = journal.path();
        let forget = |journal: &mut Journal| journal.forget(changes).map_err(Error::files("write", &journal_path));
        remove_scratch(path).map_err(failed("remove what was left beside"))?;
        let now = after.read_alike(path).map_err(failed("read"))?;
        if now.is_like(before) {
            // The change was never made, or is undone already.
            if !journal.changes().is_empty() {
                forget(journal)?;
            }
            return Ok(Undone::Restored(path.clone()));
        }
        let made_folder = matches!((before, after, &now), (State::Absent, State::Folder(_), State::Folder(_)));
        if made_folder {
            return take_folder_back(group, journal);
        }
        // The last of several changes may never have been made.
        if !changes.iter().any(|change| now == change.after) {
            if keep_edited {
                forget(journal)?;
            }
            return Ok(Undone::Edited { path: path.clone(), step: step.clone(), forgotten: keep_edited });
        }
        before.put(path).map_err(failed("put back"))?;
        reached();
        let tested = self.host.test(None)?;
        if *accepted && !tested.accepted {
            now.put(path).map_err(failed("change"))?;
            return Err(Error::KeptByNginx { step: step.clone(), path: path.clone(), words: tested.words });
        }
        *accepted = tested.accepted;
        forget(journal)?;
        reached();
        Ok(Undone::Restored(path.clone()))
    }
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
