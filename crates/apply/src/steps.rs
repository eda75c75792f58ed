//! The steps of an apply, announced one by one so that tests can stop a process between any two.

use std::fmt;

/// A moment in [`Applier::apply`](super::Applier::apply), announced right after it happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Step {
    /// The folder of the new generation exists, under a temporary name.
    FolderMade,
    /// A changed file was written.
    FileWritten,
    /// Every file is written or linked.
    FilesComplete,
    /// The list of files is written.
    ManifestWritten,
    /// The folder has its final name.
    Staged,
    /// nginx accepted the changed files in the scratch configuration.
    Tested,
    /// The new symlink exists, under a temporary name.
    LinkMade,
    /// `current` names the new generation.
    Switched,
    /// The master got SIGHUP.
    HungUp,
    /// The new workers are confirmed; the journal does not say so yet.
    Confirmed,
    /// The journal records the confirmation.
    Recorded,
    /// `current` names the last confirmed generation again.
    SwitchedBack,
    /// The pin of a kept generation is recorded; nginx does not run that generation yet.
    Pinned,
}

impl Step {
    /// Every step, in order.
    pub const ALL: [Step; 13] = [
        Step::FolderMade,
        Step::FileWritten,
        Step::FilesComplete,
        Step::ManifestWritten,
        Step::Staged,
        Step::Tested,
        Step::LinkMade,
        Step::Switched,
        Step::HungUp,
        Step::Confirmed,
        Step::Recorded,
        Step::SwitchedBack,
        Step::Pinned,
    ];

    /// The step of this name, as [`Display`](fmt::Display) writes it.
    pub fn named(name: &str) -> Option<Step> {
        Step::ALL.into_iter().find(|step| step.to_string() == name)
    }
}

impl fmt::Display for Step {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, formatter)
    }
}

/// The observer of the steps, if there is one.
#[derive(Default)]
pub struct Steps(Option<Box<dyn FnMut(Step) + Send>>);

/// The environment variable that makes a process of a debug build abort at the step of this name,
/// as if it were killed there.
#[cfg(debug_assertions)]
const ABORT_AT: &str = "TEST_INGRESSD_ABORT_AT";

impl Steps {
    /// Without an observer. In debug builds an environment variable can ask for an abort, so that
    /// tests can break the real daemon between any two steps.
    #[cfg(debug_assertions)]
    pub fn of_environment() -> Self {
        match std::env::var(ABORT_AT).ok().and_then(|name| Step::named(&name)) {
            Some(wanted) => Steps::observed_by(move |step| {
                if step == wanted {
                    std::process::abort()
                }
            }),
            None => Steps::default(),
        }
    }

    /// Without an observer.
    #[cfg(not(debug_assertions))]
    pub fn of_environment() -> Self {
        Steps::default()
    }

    /// Announces each step to this function.
    pub fn observed_by(observer: impl FnMut(Step) + Send + 'static) -> Self {
        Steps(Some(Box::new(observer)))
    }

    /// Announces a step.
    pub fn reached(&mut self, step: Step) {
        if let Some(observer) = &mut self.0 {
            observer(step);
        }
    }
}

impl fmt::Debug for Steps {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(if self.0.is_some() { "Steps(observed)" } else { "Steps" })
    }
}

#[cfg(test)]
mod tests {
    use super::Step;

    #[test]
    fn every_step_is_found_by_its_name() {
        for step in Step::ALL {
            assert_eq!(Step::named(&step.to_string()), Some(step));
        }
        assert_eq!(Step::named("Never"), None);
    }
}
