//! Runs blocking work on a thread of its own.

use std::collections::BTreeMap;
use std::sync::Arc;

use tokio::task::{JoinHandle, spawn_blocking};

use super::commands;
use super::commands::ControlCommand;
use super::cycle::{Cycle, Report};
use super::error::Error;
use super::explain::InForce;
use super::pipeline::{Pipeline, PipelineMemory};
use super::publication::Peers;
use super::tables::KindTables;
use ingressd_apply::{Cause, NginxState, Outcome, Pinned};
use ingressd_config::Settings;
use ingressd_model::HostName;
use ingressd_model::finding::limit;
use ingressd_objects::Snapshot;
use ingressd_translate::{Names, Namespaces};

/// The tools of a cycle. They are moved to the thread that uses them, so there is only one at a
/// time.
#[derive(Debug)]
pub struct CycleTools {
    cycle: Cycle,
    pipeline: Pipeline,
    drained: bool,
}

/// The result of a thread.
#[derive(Debug)]
pub struct Done {
    /// The tools, for the next work.
    pub work: CycleTools,
    pub result: Finished,
    /// The state of nginx now.
    pub nginx: Nginx,
}

/// The state of nginx at one moment.
#[derive(Debug)]
pub struct Nginx {
    /// Its processes and generations.
    pub status: NginxState,
    /// The version of its binary.
    pub version: String,
    /// The generation that the administrator pinned.
    pub pinned: Option<Pinned>,
    /// Why the generation in place was made; `None` when an earlier run made it.
    pub cause: Option<Cause>,
    /// Open connections to the ports of Ingresses; only counted on a drained node.
    pub connections: Option<usize>,
    /// nginx's complaint, where it could not be started with the host's configuration.
    pub refusal: Option<Arc<str>>,
}

/// The result of finished work.
#[derive(Debug)]
pub enum Finished {
    Cycle(Box<Report>),
    /// The names of Services to which served objects would refer.
    Names(BTreeMap<HostName, Namespaces>),
    /// The result of a look at nginx.
    Look {
        /// The outcome, when nginx was started, stopped or restarted.
        changed: Option<Outcome>,
        /// Whether nginx's version or another site of the host changed.
        surveyed: bool,
    },
    /// What explains the answers of an earlier run's generation.
    Recalled(Option<Arc<InForce>>),
    /// A command of the administrator was executed.
    Executed {
        command: ControlCommand,
        /// The result as a text for people.
        result: Result<String, String>,
    },
}

impl CycleTools {
    /// Opens the folders; nginx is looked at, not touched. With the memory of earlier work, under
    /// settings that were read again, versions in quarantine are tried again.
    pub async fn open(settings: &Settings, tables: KindTables, memory: Option<PipelineMemory>) -> Result<Self, Error> {
        let settings = settings.clone();
        let opening = spawn_blocking(move || {
            let is_reload = memory.is_some();
            let mut pipeline = Pipeline::open(&settings, memory).map_err(|error| Error::Pipeline(Box::new(error)))?;
            pipeline.set_readers(tables.readers);
            let state = &settings.apply.state;
            let mut cycle =
                Cycle::open(state, pipeline.applier.in_place()).map_err(|source| Error::unreadable(state, source))?;
            cycle.keep(tables.objects.kinds(), settings.needs(tables.readers));
            if is_reload {
                cycle.release_all();
            }
            Ok(CycleTools { cycle, pipeline, drained: false })
        });
        task_result(opening.await)
    }

    /// What brings a snapshot to nginx.
    pub fn pipeline(&self) -> &Pipeline {
        &self.pipeline
    }

    /// Sets whether the administrator drained this node, so that the remaining connections are
    /// counted.
    pub fn set_drained(&mut self, drained: bool) {
        self.drained = drained;
    }

    /// Runs a cycle for this snapshot, these names and these records of other nodes.
    pub fn turn(mut self, snapshot: Arc<Snapshot>, names: Arc<Names>, peers: Arc<Peers>) -> JoinHandle<Done> {
        spawn_blocking(move || {
            self.prepare(names, &peers);
            let mut report = self.cycle.turn(&snapshot, &mut self.pipeline);
            limit(&mut report.product.findings, self.pipeline.most_findings());
            if matches!(report.outcome, Outcome::Confirmed { .. }) {
                self.pipeline.sweep();
            }
            self.done(Finished::Cycle(Box::new(report)))
        })
    }

    /// Determines to which names served objects would refer.
    pub fn find_names(mut self, snapshot: Arc<Snapshot>, names: Arc<Names>, peers: Arc<Peers>) -> JoinHandle<Done> {
        spawn_blocking(move || {
            self.prepare(names, &peers);
            let names = self.pipeline.names_of(&self.cycle.preview(&snapshot));
            self.done(Finished::Names(names))
        })
    }

    /// Sets the current inputs of the pipeline besides the objects.
    fn prepare(&mut self, names: Arc<Names>, peers: &Peers) {
        self.pipeline.set_clock();
        self.pipeline.set_peers(peers);
        self.pipeline.set_names(names);
    }

    /// Looks whether nginx was started, stopped or restarted.
    pub fn look(mut self) -> JoinHandle<Done> {
        spawn_blocking(move || {
            let changed = self.pipeline.applier.recheck();
            let surveyed = self.pipeline.survey_changed();
            self.done(Finished::Look { changed, surveyed })
        })
    }

    /// Executes a command of the administrator.
    pub fn execute(mut self, command: ControlCommand) -> JoinHandle<Done> {
        spawn_blocking(move || {
            let passes = command == ControlCommand::Resume && self.cycle.let_pass();
            let result = match commands::execute(command, &mut self.pipeline) {
                Err(why) if passes && why == commands::NOT_PINNED => Ok("the removal of hosts is let pass".to_owned()),
                result => result,
            };
            self.done(Finished::Executed { command, result })
        })
    }

    /// Ends the tools and returns what the next ones can remember. The last good versions are on
    /// disk then; the main loop's own threads do not wait for that.
    pub async fn close(self) -> PipelineMemory {
        self.cycle.close().await;
        self.pipeline.into_memory()
    }

    /// Reads the state of nginx and changes nothing.
    pub fn glance(self) -> JoinHandle<Done> {
        spawn_blocking(move || self.done(Finished::Look { changed: None, surveyed: false }))
    }

    /// Reads the state of nginx, and what is kept on disk of what an earlier run served.
    pub fn recall(mut self) -> JoinHandle<Done> {
        spawn_blocking(move || {
            self.pipeline.set_clock();
            let recalled = self.pipeline.recall(&self.cycle.recall());
            self.done(Finished::Recalled(recalled))
        })
    }

    fn done(mut self, result: Finished) -> Done {
        let nginx = Nginx {
            status: self.pipeline.applier.status(),
            version: self.pipeline.nginx_version(),
            pinned: self.pipeline.applier.pinned().cloned(),
            cause: self.pipeline.applier.cause().cloned(),
            connections: self.drained.then(|| self.pipeline.connections()).flatten(),
            refusal: self.pipeline.refusal(),
        };
        Done { result, nginx, work: self }
    }
}

/// The result of a thread. A thread that panicked has left its work half done, so the panic is
/// passed on.
pub fn task_result<T>(result: Result<T, tokio::task::JoinError>) -> T {
    match result {
        Ok(done) => done,
        Err(error) => match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            Err(error) => unreachable!("nobody cancels work: {error}"),
        },
    }
}
