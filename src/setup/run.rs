//! Carries out steps, each between two tests by nginx, and undoes those that nginx refuses.

use std::io;
use std::path::{Path, PathBuf};

use nix::fcntl::{Flock, FlockArg};

use super::journal::{Change, Journal};
use super::layout::Layout;
use super::points::reached;
use super::state::remove_scratch;
use super::steps::{Ground, Planned, STEPS, Step};
use super::undo::Group;
use ingressd_apply::{ApplyError, Host as _, System, SystemOptions};
use ingressd_config::Settings;

/// Why setup failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// nginx is missing, or cannot be surveyed.
    #[error(transparent)]
    Nginx(#[from] ApplyError),
    /// nginx refuses its configuration before anything was changed.
    #[error("nginx refuses its configuration as it is, so nothing is changed; correct that first:\n{}", .0.trim_end())]
    RefusedBefore(String),
    /// nginx would refuse its configuration without all changes, which were made again.
    #[error(
        "nginx refuses its configuration as it was before `ingressd setup`, so everything stays as it is:\n{}\ncorrect what it \
         names, and undo again",
        .0.trim_end()
    )]
    AllKept(String),
    /// nginx would refuse its configuration without a change, which was made again.
    #[error(
        "nginx refuses its configuration without what the step {step} did to {}, so that stays:\n{}\ncorrect what it names, or take back all \
         steps with `ingressd setup --undo`, which also takes what is served out of force",
        path.display(),
        .words.trim_end()
    )]
    KeptByNginx {
        /// Its name.
        step: String,
        /// The changed path.
        path: PathBuf,
        /// nginx's message.
        words: String,
    },
    /// nginx refuses its configuration after a step, which was undone.
    #[error("nginx refuses its configuration after the step {step}, which was taken back:\n{}", .words.trim_end())]
    TakenBack {
        /// Its name.
        step: String,
        /// nginx's message.
        words: String,
    },
    /// A step had no effect, and was undone.
    #[error("the step {0} changed its files, but not what nginx reads, and was taken back: {1}")]
    Ineffective(&'static str, String),
    /// The file system refused.
    #[error("cannot {action} {}: {source}", .path.display())]
    Files {
        /// The attempted action, as in "read".
        action: &'static str,
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// Another run is in progress.
    #[error("another `ingressd setup` is at work on {}: wait until it has ended", .0.display())]
    Busy(PathBuf),
}

impl Error {
    pub(super) fn files(action: &'static str, path: impl AsRef<Path>) -> impl FnOnce(io::Error) -> Error {
        move |source| Error::Files { action, path: path.as_ref().to_owned(), source }
    }

    /// What became of the undo of one step or of all of them.
    pub(super) fn kept(step: Option<&Step>, groups: &[Group], words: String) -> Error {
        match (step, groups) {
            (Some(step), [group, ..]) => {
                Error::KeptByNginx { step: step.name.to_owned(), path: group.path.clone(), words }
            }
            _ => Error::AllKept(words),
        }
    }

    /// Whether access was denied, so that another user has to run it.
    pub fn is_permission(&self) -> bool {
        let source = match self {
            Error::Files { source, .. } | Error::Nginx(ApplyError::Files { source, .. }) => source,
            _ => return false,
        };
        source.kind() == io::ErrorKind::PermissionDenied
    }
}

/// Options for steps that not every host needs.
#[derive(Debug, Clone, Copy, Default)]
pub struct Choices {
    /// Whether to move the distribution's default site out of the way.
    pub disable_default_site: bool,
}

/// Setup of one host.
#[derive(Debug)]
pub struct Setup<'s> {
    settings: &'s Settings,
    settings_folder: PathBuf,
    choices: Choices,
    pub(super) host: System,
}

impl<'s> Setup<'s> {
    /// Setup of the nginx that the settings name; the settings file is in this folder.
    pub fn new(settings: &'s Settings, settings_folder: &Path, choices: Choices) -> Self {
        let host = System::new(SystemOptions { unit: None, ..settings.system_options() });
        Setup { settings, settings_folder: settings_folder.to_owned(), choices, host }
    }

    /// The folder of the journal.
    pub(super) fn state_folder(&self) -> &Path {
        &self.settings.apply.state
    }

    /// The link to the generation in force.
    pub(super) fn current(&self) -> PathBuf {
        self.settings.apply.root.join("current")
    }

    /// What each step would do now.
    ///
    /// # Errors
    ///
    /// When nginx refuses its present configuration, or files cannot be read.
    pub fn preview(&mut self) -> Result<Vec<(&'static Step, Planned)>, Error> {
        self.must_pass()?;
        let ground = self.ground()?;
        STEPS.iter().map(|step| Ok((step, self.plan(step, &ground)?))).collect()
    }

    /// Carries out every step, and reports each result.
    ///
    /// # Errors
    ///
    /// When nginx refuses its configuration before or after a step, and when the file system
    /// fails. Earlier steps stay; the failed step is undone.
    pub fn carry_out(&mut self, report: &mut dyn FnMut(&'static Step, &Planned)) -> Result<(), Error> {
        self.must_pass()?;
        let mut journal = None;
        for step in STEPS {
            let planned = self.plan(step, &self.ground()?)?;
            if let Planned::Change(changes) = &planned {
                let changes: Vec<_> = changes.iter().map(|(_, change)| change.clone()).collect();
                let state = self.state_folder();
                let noted = !state.exists();
                if noted {
                    Journal::create(state, &changes).map_err(Error::files("make the folder", state))?;
                }
                let (journal, _lock) = match &mut journal {
                    Some(opened) => opened,
                    None => journal.insert(self.open_journal()?),
                };
                self.take(step, &changes, journal, noted)?;
            }
            report(step, &planned);
        }
        Ok(())
    }

    fn plan(&self, step: &Step, ground: &Ground<'_>) -> Result<Planned, Error> {
        (step.plan)(ground).map_err(Error::files("look at the files of", step.name))
    }

    pub(super) fn ground(&self) -> Result<Ground<'_>, Error> {
        let survey = self.settings.survey()?;
        let layout = Layout::read(self.settings).map_err(Error::files("read", &self.settings.nginx.configuration))?;
        Ok(Ground {
            settings: self.settings,
            settings_folder: &self.settings_folder,
            disable_default_site: self.choices.disable_default_site,
            survey,
            layout,
        })
    }

    /// The journal, with a lock on it that ends with the process.
    pub(super) fn open_journal(&self) -> Result<(Journal, Option<Flock<std::fs::File>>), Error> {
        let state = self.state_folder();
        let folder = std::fs::File::open(state).map_err(Error::files("open", state))?;
        let lock = match Flock::lock(folder, FlockArg::LockExclusiveNonblock) {
            Ok(lock) => Some(lock),
            Err((_, nix::errno::Errno::EWOULDBLOCK)) => return Err(Error::Busy(state.to_owned())),
            // Some network file systems do not support locks.
            Err(_) => None,
        };
        let journal = Journal::open(state).map_err(Error::files("use the journal in", state))?;
        Ok((journal, lock))
    }

    /// Makes the changes of a step, and undoes them when nginx refuses them or they had no effect.
    /// They may have been recorded already.
    fn take(
        &mut self,
        step: &'static Step,
        changes: &[Change],
        journal: &mut Journal,
        noted: bool,
    ) -> Result<(), Error> {
        reached();
        if !noted {
            journal.add(changes).map_err(Error::files("write", journal.path()))?;
        }
        reached();
        let made = changes.iter().try_for_each(|change| {
            let put = change.after.put(&change.path).map_err(Error::files("change", &change.path));
            reached();
            put
        });
        let judged = made.and_then(|()| self.judge(step));
        if let Err(error) = judged {
            for change in changes.iter().rev() {
                let back = match change.before.put(&change.path) {
                    // The folder is in use meanwhile, like that of the journal.
                    Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => Ok(()),
                    put => put.and_then(|()| remove_scratch(&change.path)),
                };
                back.map_err(Error::files("put back", &change.path))?;
                journal.forget(std::slice::from_ref(change)).map_err(Error::files("write", journal.path()))?;
            }
            return Err(error);
        }
        Ok(())
    }

    fn judge(&mut self, step: &'static Step) -> Result<(), Error> {
        let tested = self.host.test(None)?;
        if !tested.accepted {
            return Err(Error::TakenBack { step: step.name.to_owned(), words: tested.words });
        }
        match self.plan(step, &self.ground()?)? {
            Planned::Nothing(_) => Ok(()),
            Planned::Left(why) => Err(Error::Ineffective(step.name, why)),
            Planned::Change(more) => {
                let more: Vec<_> = more.into_iter().map(|(what, _)| what).collect();
                Err(Error::Ineffective(step.name, format!("it would still {}", more.join(", "))))
            }
        }
    }

    fn must_pass(&mut self) -> Result<(), Error> {
        let tested = self.host.test(None)?;
        if tested.accepted { Ok(()) } else { Err(Error::RefusedBefore(tested.words)) }
    }
}
