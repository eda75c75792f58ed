//! Brings a file set into service, or keeps the old one, and reports which. It must not know
//! objects, versions or quarantine.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use super::blame::{GenerationFolders, Scope, complaint};
use super::cause::{Cause, Change};
use super::confirm::{Confirm, Confirmation, KILLED};
use super::error::ApplyError;
use super::generation::{Accompanying, Generations, Staged};
use super::host::{Host, NoMaster};
use super::lock::Lock;
use super::old_workers::surplus;
use super::options::Options;
use super::outcome::Outcome;
use super::process::Process;
use super::record::Contents;
use super::scratch::{ScratchResult, clash};
use super::steps::{Step, Steps};
use ingressd_model::{ObjectId, Port};
use ingressd_nginx::render::{Digest, FilePath, FileSet, passthrough_file, recounts, stream_port};

mod looking;
mod pinning;
mod testing;
mod weighing;

pub use looking::NginxState;
pub use pinning::Pinned;

/// Applies file sets to the nginx of one host.
#[derive(Debug)]
pub struct Applier<H> {
    options: Options,
    host: H,
    generations: Generations,
    steps: Steps,
    /// The master that was seen to run the current generation.
    running: Option<Process>,
    /// Whether the last master was killed while it read a new generation, and none has run since.
    killed: bool,
    /// A master that does not report what it serves, and the number of looks so far.
    silent: Option<(Process, u32)>,
    /// The master before an upgrade of the binary that was reported last.
    predecessor: Option<Process>,
    /// The master that was seen last, or the reason why none runs.
    master: Result<Process, String>,
    /// The state that was seen last: it counts as long as nginx cannot be looked at.
    seen: Option<NginxState>,
    /// What is written beside the next files.
    accompanying: Accompanying,
    pinned: Option<Pinned>,
    /// How many old workers were ended.
    ended: u64,
    /// Whether it is being determined what is too much for nginx: then each generation is tested
    /// as a whole before nginx gets it.
    weighs: bool,
}

/// How the new generation was put into place.
struct Attempt<'a> {
    generation: u64,
    /// Its files, when they are available to find a culprit in.
    files: Option<&'a FileSet>,
    /// Those of them that nginx did not run before.
    changed: Vec<FilePath>,
    test: Duration,
    written: usize,
}

impl<H: Host> Applier<H> {
    /// Opens the folders and removes what a killed predecessor left. This does not touch nginx.
    ///
    /// # Errors
    ///
    /// When a folder cannot be made or read.
    pub fn open(options: Options, host: H) -> Result<Self, ApplyError> {
        let generations = Generations::open(&options)?;
        let pinned = generations.pinned().map(|pin| Pinned::of(&generations, pin));
        let (steps, accompanying) = (Steps::default(), Accompanying::default());
        Ok(Applier {
            options,
            host,
            generations,
            steps,
            running: None,
            killed: false,
            silent: None,
            predecessor: None,
            master: Err("nginx was not looked at yet".to_owned()),
            seen: None,
            accompanying,
            pinned,
            weighs: false,
            ended: 0,
        })
    }

    /// The digest of the files of the current generation; `None` when the disk no longer holds
    /// what was written.
    pub fn in_place(&self) -> Option<Digest> {
        self.generations.current().and_then(|manifest| manifest.digest)
    }

    /// The ports of TCP and UDP services in the files in place.
    pub fn stream_ports(&self) -> BTreeSet<Port> {
        let files = self.generations.current();
        files.into_iter().flat_map(|manifest| manifest.entries.keys()).filter_map(|path| stream_port(path)).collect()
    }

    /// Whether the files in place make nginx listen on the internal addresses of TLS passthrough.
    pub fn has_passthrough(&mut self, port: u16) -> bool {
        let path = passthrough_file(port);
        self.runs() && self.generations.current().is_some_and(|files| files.entries.contains_key(&*path))
    }

    /// How often connections of clients were counted anew, by the files in place.
    pub fn recounts(&self) -> u32 {
        let files = self.generations.current();
        let recounts = files.into_iter().flat_map(|manifest| manifest.entries.keys()).filter_map(|path| recounts(path));
        recounts.max().unwrap_or_default()
    }

    /// Whether old workers are ended before the next reload, because there are too many.
    pub fn ends_workers(&mut self) -> bool {
        let table = self.master().ok().and_then(|master| self.host.table(master).ok()?);
        table.is_some_and(|table| !surplus(&table, self.options.draining).is_empty())
    }

    /// Sets the group that the workers run as: the next files are written for it, even when their
    /// contents are the same.
    pub fn set_workers_group(&mut self, group: Option<u32>) {
        self.generations.set_workers_group(group);
    }

    /// What the generation serves that nginx was last seen to run; `None` when it was not
    /// recorded.
    pub fn contents(&self) -> Option<Arc<Contents>> {
        self.generations.confirmed().and_then(|generation| self.generations.contents(generation))
    }

    /// When the generation that nginx was last seen to run was made.
    pub fn contents_made(&self) -> Option<SystemTime> {
        let folder = self.generations.folder(self.generations.confirmed()?);
        std::fs::metadata(folder).and_then(|metadata| metadata.modified()).ok()
    }

    /// Sets what the next files serve; it is recorded with their generation.
    pub fn set_contents(&mut self, contents: Arc<Contents>) {
        self.accompanying.contents = contents;
    }

    /// Sets what changed in the cluster since the last files that got into place: the cause of the
    /// next generation.
    pub fn set_changes(&mut self, changes: Vec<(Arc<ObjectId>, Change)>) {
        self.accompanying.changes = changes;
    }

    /// Why the generation in place was made; `None` when an earlier run of the daemon made it.
    pub fn cause(&self) -> Option<&Cause> {
        self.generations.cause()
    }

    /// Reports each step to an observer, for tests.
    pub fn with_steps(self, steps: Steps) -> Self {
        Applier { steps, ..self }
    }

    /// The host, for questions that are not about applying.
    pub fn host(&mut self) -> &mut H {
        &mut self.host
    }

    /// The symbolic link through which nginx's configuration must include our files.
    pub fn link(&self) -> PathBuf {
        self.generations.link()
    }

    /// Brings the files into service. Blocks until nginx is confirmed to run them, or until that
    /// has failed.
    pub fn apply(&mut self, files: &FileSet) -> Outcome {
        let applied = self.turn().and_then(|_turn| self.try_apply(files));
        applied.unwrap_or_else(|error| Outcome::Failed { why: error.to_string() })
    }

    /// Deletes old generations, to save space only. Returns how many.
    ///
    /// # Errors
    ///
    /// When a folder cannot be listed or removed.
    pub fn sweep(&self) -> Result<usize, ApplyError> {
        self.generations.sweep()
    }

    /// Takes the lock that instances share: a reload for one instance must not be taken for that
    /// of another, and some files may be written by one at a time only. Where the file of the lock
    /// cannot be made the work goes on; nginx is asked before anything is switched.
    fn turn(&self) -> Result<Option<Lock>, ApplyError> {
        self.turn_within(self.options.confirm_timeout)
    }

    fn turn_within(&self, limit: Duration) -> Result<Option<Lock>, ApplyError> {
        let Some(path) = &self.options.turn else { return Ok(None) };
        match Lock::take(path, limit) {
            Err(error) if !matches!(error, ApplyError::Busy { .. }) => {
                tracing::warn!("instances of ingressd that share this nginx may disturb each other: {error}");
                Ok(None)
            }
            taken => taken,
        }
    }

    fn try_apply(&mut self, files: &FileSet) -> Result<Outcome, ApplyError> {
        if let Some(why) = self.hands_over()? {
            return Ok(self.stays(why));
        }
        if self.pinned.is_some() {
            return self.stay(files);
        }
        // After nginx was killed, its next start reads the configuration that it is known to have
        // memory for, not an untried one.
        self.killed &= self.master().is_err();
        if self.killed {
            let generation = self.generations.current().map(|manifest| manifest.generation);
            return Ok(Outcome::Killed { generation, why: KILLED.to_owned(), read: false });
        }
        let current = self.generations.current().map(|manifest| (manifest.generation, manifest.digest));
        if let Some((generation, Some(digest))) = current
            && digest == files.digest()
            && self.generations.is_for_workers()
        {
            return self.same_again(generation);
        }
        self.acknowledge()?;
        let (staged, changed) = (self.stage(files)?, self.changed(files));
        let begun = Instant::now();
        let context = self.context();
        let mut whole = self.weighs || context.is_none();
        let judged = match &context {
            Some(context) => self.test((files, changed.clone()), staged.manifest.generation, context),
            None => Ok(ScratchResult::Accepted),
        };
        let test = begun.elapsed();
        match judged {
            Ok(ScratchResult::Accepted) => {}
            Ok(ScratchResult::Refused(complaints)) => {
                self.generations.discard(&staged);
                return Ok(Outcome::Refused { complaints, test });
            }
            Ok(ScratchResult::TooMuch(words)) => {
                self.generations.discard(&staged);
                return Ok(self.untaken(format!("nginx cannot take it as a whole: {words}"), weighing::short(&words)));
            }
            Err(ApplyError::Slow { program, seconds }) => {
                self.generations.discard(&staged);
                return Ok(self.untaken(ApplyError::Slow { program, seconds }.to_string(), self.slow()));
            }
            // Either the host's own configuration is broken, or a scratch configuration lacks a
            // part of it: a test of the whole configuration decides.
            Ok(ScratchResult::HostRefused(words)) => {
                tracing::warn!(%words, "changed files cannot be tested by themselves");
                whole = true;
            }
            Err(error) => {
                self.generations.discard(&staged);
                return Err(error);
            }
        }
        self.steps.reached(Step::Tested);
        let (generation, written) = (staged.manifest.generation, staged.written);
        let effort = Attempt { generation, files: Some(files), changed, test, written };
        self.running = None;
        whole |= self.master().is_err();
        self.generations.switch(staged.manifest, &mut self.steps)?;
        // The configuration that nginx will read at its start has to be tested as a whole.
        match if whole { self.host.test(None) } else { return self.activate(effort) } {
            Ok(tested) if tested.accepted => self.activate(effort),
            Ok(tested) => self.refused(&effort, &tested.words, false),
            Err(error @ ApplyError::Slow { .. }) => self.roll_back(error.to_string(), Some(self.slow()), false),
            Err(error) => self.roll_back(error.to_string(), None, false),
        }
    }

    /// Writes the next generation. Where there is no room for it, old ones make way, and where it
    /// cannot be made of a folder to spare, which is gone by then, it is made anew.
    fn stage(&mut self, files: &FileSet) -> Result<Staged, ApplyError> {
        let has_spare = self.generations.has_spare();
        let staged = self.generations.stage(files, &self.accompanying, &mut self.steps);
        let Err(error) = staged else { return staged };
        let has_room = error.is_full() && self.generations.make_room()? > 0;
        if has_room {
            tracing::warn!("fewer generations are kept than apply.kept-generations says: {error}");
        }
        match has_room || has_spare {
            true => self.generations.stage(files, &self.accompanying, &mut self.steps),
            false => Err(error),
        }
    }

    /// The wanted files are already on disk: this finds out whether nginx runs them.
    fn same_again(&mut self, generation: u64) -> Result<Outcome, ApplyError> {
        let master = match self.host.master() {
            Ok(master) => master,
            Err(NoMaster::Unknown(why)) => return Err(ApplyError::unseen(why)),
            Err(NoMaster::Down(why)) => {
                self.running = None;
                return Ok(Outcome::Ready { generation, why });
            }
        };
        // The generation may run without being recorded, when the journal could not be written.
        let known = self.generations.is_confirmed(generation);
        if known && self.running == Some(master) {
            return Ok(Outcome::Unchanged { generation });
        }
        let begun = Instant::now();
        match Confirm::of(&self.options, generation).at_rest(&mut self.host, master)? {
            true if known => {
                self.running = Some(master);
                Ok(Outcome::Unchanged { generation })
            }
            true => self.record(Attempt::none(generation), master, begun.elapsed()),
            false => self.activate(Attempt::none(generation)),
        }
    }

    /// Records that nginx runs the generation in place, where the journal does not say so because
    /// it was lost or could not be written: should the next generation fail, nginx goes back to
    /// this one.
    fn acknowledge(&mut self) -> Result<(), ApplyError> {
        let unknown = self.generations.in_place()?.filter(|generation| !self.generations.is_confirmed(*generation));
        if let (Some(generation), Ok(master)) = (unknown, self.host.master())
            && Confirm::of(&self.options, generation).at_rest(&mut self.host, master)?
        {
            self.generations.confirm(generation)?;
        }
        Ok(())
    }

    /// Rolls back because nginx refuses the whole configuration, although it accepted the changed
    /// files alone.
    fn refused(&mut self, effort: &Attempt<'_>, printed: &str, read: bool) -> Result<Outcome, ApplyError> {
        let places = GenerationFolders {
            link: self.generations.link(),
            copies: vec![self.generations.folder(effort.generation)],
        };
        let failure = places.failure(printed);
        let words = failure.words.clone();
        if failure.scope == Scope::Shortage {
            return self.roll_back(hosts_fault(&words), Some(weighing::short(&words)), read);
        }
        let culprit = failure.place.as_ref().map(|(path, _)| path.clone());
        let before = self.generations.confirmed().map(|number| self.generations.folder(number));
        let complaint = effort.files.and_then(|files| match culprit {
            Some(culprit) if files.files.contains_key(&culprit) => {
                Some(complaint(failure, &culprit, files, before.as_deref()))
            }
            _ if failure.scope == Scope::Whole => Some(Ok(clash(failure, &effort.changed, files))),
            _ => None,
        });
        let outcome = self.roll_back(hosts_fault(&words), None, read)?;
        Ok(match complaint {
            Some(Ok(complaint)) => Outcome::Refused { complaints: vec![complaint], test: effort.test },
            Some(Err(_)) | None => outcome,
        })
    }

    /// Lets nginx read the current generation and waits for confirmation.
    fn activate(&mut self, effort: Attempt<'_>) -> Result<Outcome, ApplyError> {
        let generation = effort.generation;
        self.running = None;
        let confirm = Confirm::of(&self.options, generation);
        match confirm.hang_up(&mut self.host, &mut self.steps, &mut self.ended) {
            Ok(Confirmation::Confirmed { master, reload }) => self.record(effort, master, reload),
            // No object is to blame when nginx is killed although it runs what it ran before.
            Ok(Confirmation::Killed(why)) if !self.generations.is_confirmed(generation) => {
                let generation = self.generations.switch_back(&mut self.steps)?;
                self.killed = true;
                Ok(Outcome::Killed { generation, why, read: true })
            }
            Ok(Confirmation::Down(why) | Confirmation::Killed(why)) => Ok(Outcome::Ready { generation, why }),
            // The master may have begun to read before what makes the test fail was there, and may
            // finish after the rollback.
            Ok(Confirmation::Refused(printed)) => self.refused(&effort, &printed, true),
            Ok(Confirmation::Late { why, too_much }) => {
                let too_much = too_much.then(|| self.late(&why));
                self.roll_back(format!("generation {generation} was not confirmed: {why}"), too_much, true)
            }
            Err(error) => self.roll_back(error.to_string(), None, false),
        }
    }

    fn record(&mut self, effort: Attempt<'_>, master: Process, reload: Duration) -> Result<Outcome, ApplyError> {
        let Attempt { generation, test, written, .. } = effort;
        self.steps.reached(Step::Confirmed);
        self.running = Some(master);
        self.generations.confirm(generation)?;
        self.steps.reached(Step::Recorded);
        Ok(Outcome::Confirmed { generation, test, reload, written })
    }

    /// Puts the last confirmed generation into place again; nginx must reload when it may have
    /// read the other one. When nginx does not take even the confirmed one, the other is not
    /// blamed as `too_much`.
    fn roll_back(&mut self, why: String, too_much: Option<String>, read: bool) -> Result<Outcome, ApplyError> {
        let abandoned = self.generations.current().map(|manifest| manifest.generation);
        let generation = self.generations.switch_back(&mut self.steps)?;
        let outcome = |why, too_much| Outcome::RolledBack { generation, why, too_much };
        let master = self.master();
        let Some(target) = generation else {
            // No confirmed generation is left: nginx only has to unload what it may have read.
            if let (true, Ok(master)) = (read, master) {
                self.host.hang_up(master)?;
            }
            return Ok(outcome(why, too_much));
        };
        if !read || abandoned == generation {
            self.running = master.ok().filter(|_| self.serves(generation));
            return Ok(outcome(why, too_much));
        }
        let confirm = Confirm::of(&self.options, target).again();
        let also = match confirm.hang_up(&mut self.host, &mut self.steps, &mut self.ended) {
            Ok(Confirmation::Confirmed { master, .. }) => {
                self.running = Some(master);
                self.generations.confirm(target)?;
                return Ok(outcome(why, too_much));
            }
            // It may have begun to read the other one, and its next start must not.
            Ok(Confirmation::Killed(why)) => {
                self.killed = true;
                return Ok(Outcome::Killed { generation, why, read: true });
            }
            Ok(Confirmation::Down(also) | Confirmation::Refused(also) | Confirmation::Late { why: also, .. }) => {
                format!("is in place again but not confirmed: {also}")
            }
            Err(error) => format!("is in place again, but {error}"),
        };
        // Should it serve the other one after all, the next looks notice.
        self.running = self.master().ok().filter(|_| self.serves(generation));
        Ok(outcome(format!("{why}; generation {target} {also}"), None))
    }
}

impl Attempt<'_> {
    /// Nothing was written or tested for this generation now.
    fn none(generation: u64) -> Self {
        Attempt { generation, files: None, changed: Vec::new(), test: Duration::ZERO, written: 0 }
    }
}

fn hosts_fault(words: &str) -> String {
    format!(
        "nginx refuses the configuration of this node, and not because of a file of ingressd: {words}; correct it \
            until nginx -t succeeds"
    )
}
