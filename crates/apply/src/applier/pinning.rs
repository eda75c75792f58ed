//! Keeps the node at a generation that the administrator pinned, until it is unpinned.

use std::sync::Arc;

use super::super::confirm::{Confirm, Confirmation};
use super::super::error::ApplyError;
use super::super::generation::Generations;
use super::super::history::History;
use super::super::host::Host;
use super::super::outcome::Outcome;
use super::super::pin::Pin;
use super::super::record::Contents;
use super::super::steps::Step;
use super::{Applier, Attempt};
use ingressd_nginx::render::FileSet;

/// The state of a pinned node, for status and metrics.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pinned {
    /// The generation, and since when.
    pub pin: Pin,
    /// How many of the wanted files differ from the pinned generation; `None` before any were
    /// wanted.
    pub waiting: Option<usize>,
    /// What the generation serves; `None` when it was not recorded.
    pub contents: Option<Arc<Contents>>,
}

impl Pinned {
    /// The state before any files were wanted.
    pub(super) fn of(generations: &Generations, pin: Pin) -> Self {
        Pinned { pin, waiting: None, contents: generations.contents(pin.generation) }
    }
}

impl<H: Host> Applier<H> {
    /// The generation that the administrator pinned.
    pub fn pinned(&self) -> Option<&Pinned> {
        self.pinned.as_ref()
    }

    /// Rolls back to a kept generation and pins it, also across restarts. The default is the
    /// latest one before the current that nginx was seen to run. When nginx does not take it,
    /// everything stays as before. `now` is in seconds since 1970.
    pub fn roll_back_to(&mut self, wanted: Option<u64>, now: i64) -> Outcome {
        let done = self.turn().and_then(|_turn| self.try_roll_back_to(wanted, now));
        done.unwrap_or_else(|error| Outcome::Failed { why: error.to_string() })
    }

    /// Ends the pinning: the next files are applied. Returns the generation that was pinned.
    ///
    /// # Errors
    ///
    /// When that cannot be recorded; then the generation stays pinned.
    pub fn resume(&mut self) -> Result<Option<u64>, ApplyError> {
        let pin = self.generations.unpin()?;
        self.pinned = None;
        Ok(pin.map(|pin| pin.generation))
    }

    fn try_roll_back_to(&mut self, wanted: Option<u64>, now: i64) -> Result<Outcome, ApplyError> {
        if let Some(why) = self.hands_over()? {
            return Ok(Outcome::Failed { why });
        }
        let generation = match History::read(&self.options.root, &self.options.state)?.choose(wanted) {
            Ok(generation) => generation,
            Err(why) => return Ok(Outcome::Failed { why }),
        };
        self.generations.intact(generation)?;
        let before = self.generations.pinned();
        // The pin is recorded first: when the daemon is killed later, its next start knows where
        // to go.
        self.generations.pin(Pin { generation, since: now })?;
        self.steps.reached(Step::Pinned);
        let outcome = self.go_to(generation);
        match (&outcome, before) {
            (Ok(Outcome::Confirmed { .. } | Outcome::Unchanged { .. } | Outcome::Ready { .. }), _) => {}
            // The generation that was pinned before is the confirmed one, which is in place again.
            (_, Some(before)) => self.generations.pin(before)?,
            (_, None) => drop(self.generations.unpin()?),
        }
        self.pinned = self.generations.pinned().map(|pin| Pinned::of(&self.generations, pin));
        outcome
    }

    /// Takes a kept generation into service. On failure the last confirmed one is in place again.
    fn go_to(&mut self, generation: u64) -> Result<Outcome, ApplyError> {
        if self.generations.current().is_some_and(|manifest| manifest.generation == generation) {
            let outcome = self.same_again(generation)?;
            if matches!(outcome, Outcome::Unchanged { .. }) {
                // It was confirmed long ago; recording it again makes it the latest.
                self.generations.confirm(generation)?;
            }
            return Ok(outcome);
        }
        let back = |applier: &mut Self, why: String, read| {
            let outcome = applier.roll_back(format!("generation {generation} is not in service: {why}"), None, read);
            outcome.unwrap_or_else(|error| Outcome::Failed { why: error.to_string() })
        };
        self.acknowledge()?;
        self.running = None;
        self.generations.switch_to_kept(generation, &mut self.steps)?;
        // It was written for an earlier state of the host: only a test of the whole configuration
        // shows conflicts with other sites.
        match self.host.test(None) {
            Ok(tested) if tested.accepted => {}
            Ok(tested) => return Ok(back(self, format!("nginx refuses it: {}", tested.words.trim_end()), false)),
            Err(error) => return Ok(back(self, error.to_string(), false)),
        }
        let confirm = Confirm::of(&self.options, generation);
        let confirmation = confirm.hang_up(&mut self.host, &mut self.steps, &mut self.ended);
        match confirmation {
            Ok(Confirmation::Confirmed { master, reload }) => self.record(Attempt::none(generation), master, reload),
            Ok(Confirmation::Down(why)) => Ok(Outcome::Ready { generation, why }),
            Ok(Confirmation::Killed(why) | Confirmation::Refused(why) | Confirmation::Late { why, .. }) => {
                Ok(back(self, why, true))
            }
            Err(error) => Ok(back(self, error.to_string(), true)),
        }
    }

    /// Files are wanted while a generation is pinned: nginx is kept at the pinned one.
    pub(super) fn stay(&mut self, files: &FileSet) -> Result<Outcome, ApplyError> {
        let Some(Pin { generation, .. }) = self.generations.pinned() else { return self.try_apply(files) };
        let outcome = self.go_to(generation)?;
        if matches!(outcome, Outcome::RolledBack { .. } | Outcome::Failed { .. }) {
            let why = format!("generation {generation} is pinned and cannot be had");
            return Ok(match outcome {
                Outcome::RolledBack { generation, why: also, .. } => {
                    Outcome::RolledBack { generation, why: format!("{why}: {also}"), too_much: None }
                }
                Outcome::Failed { why: also } => Outcome::Failed { why: format!("{why}: {also}") },
                outcome => outcome,
            });
        }
        let waiting = self.waiting(files);
        if let Some(pinned) = &mut self.pinned {
            pinned.waiting = Some(waiting);
        }
        Ok(Outcome::Pinned { generation, waiting, outcome: Box::new(outcome) })
    }

    /// How many files differ from the current generation, or exist on one side only.
    fn waiting(&self, files: &FileSet) -> usize {
        let Some(current) = self.generations.current() else { return files.files.len() };
        if current.digest == Some(files.digest()) {
            return 0;
        }
        let differs = |path: &ingressd_nginx::render::FilePath, file: &ingressd_nginx::render::File| {
            current.entries.get(path).is_none_or(|entry| entry.digest != file.digest)
        };
        let changed = files.files.iter().filter(|(path, file)| differs(path, file)).count();
        // The file with the generation's number is in no file set.
        let gone = current.entries.keys().filter(|path| !files.files.contains_key(*path)).count().saturating_sub(1);
        changed + gone
    }
}
