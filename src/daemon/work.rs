//! Work that blocks, on a thread of its own.

use std::collections::BTreeMap;
use std::sync::Arc;

use tokio::task::{JoinHandle, spawn_blocking};

use super::commands;
use super::commands::ControlCommand;
use super::cycle::{Cycle, Report};
use super::error::Error;
use super::pipeline::{Memory, Pipeline};
use super::publication::Peers;
use crate::apply::{Cause, Contents, NginxState, Outcome, Pinned};
use crate::config::Settings;
use crate::finding::limit;
use crate::model::HostName;
use crate::source::Snapshot;
use crate::translate::{Names, Namespaces};

/// The tools of a cycle. They are moved to the thread that works, so there is only one at a time.
#[derive(Debug)]
pub struct Work {
    cycle: Cycle,
    pipeline: Pipeline,
    drained: bool,
}

/// What a thread came back with.
#[derive(Debug)]
pub struct Done {
    /// For the next one.
    pub work: Work,
    /// What came of it.
    pub result: Finished,
    /// What is true of nginx now.
    pub nginx: Nginx,
}

/// What is true of nginx at one moment.
#[derive(Debug)]
pub struct Nginx {
    /// Its processes and generations.
    pub status: NginxState,
    /// The version of its binary.
    pub version: String,
    /// The generation that the administrator wants to stay at.
    pub pinned: Option<Pinned>,
    /// Why the generation in place was made; `None` when an earlier run made it.
    pub cause: Option<Cause>,
    /// Open connections to the ports of Ingresses; only counted on a node that was taken out.
    pub connections: Option<usize>,
}

/// What came of it.
#[derive(Debug)]
pub enum Finished {
    Cycle(Box<Report>),
    /// The names behind Services to which something refers that would be served.
    Names(BTreeMap<HostName, Namespaces>),
    /// A look at nginx.
    Look {
        /// nginx started, stopped or was restarted.
        changed: Option<Outcome>,
        /// nginx's version or another site of the host changed.
        surveyed: bool,
    },
    /// A command of the administrator was executed.
    Executed {
        /// That.
        command: ControlCommand,
        /// What came of it, in words.
        result: Result<String, String>,
    },
}

impl Work {
    /// Takes the folders into use; nginx is looked at, not touched.
    pub async fn open(settings: &Settings, memory: Option<Memory>) -> Result<Self, Error> {
        let settings = settings.clone();
        let opening = spawn_blocking(move || {
            let pipeline = Pipeline::open(&settings, memory).map_err(|error| Error::Pipeline(Box::new(error)))?;
            let cycle = Cycle::open(&settings.apply.state, pipeline.in_place());
            Ok(Work { cycle, pipeline, drained: false })
        });
        task_result(opening.await)
    }

    /// What the generation that nginx was seen to run last serves; `None` when nobody wrote it down.
    pub fn contents(&self) -> Option<Arc<Contents>> {
        self.pipeline.contents()
    }

    /// The version of nginx's binary.
    pub fn nginx_version(&self) -> String {
        self.pipeline.nginx_version()
    }

    /// Whether the administrator took this node out, so that it matters who is still connected.
    pub fn set_drained(&mut self, drained: bool) {
        self.drained = drained;
    }

    /// Brings nginx to what snapshot and names say; `peers` is what other nodes say.
    pub fn turn(mut self, snapshot: Arc<Snapshot>, names: Arc<Names>, peers: Arc<Peers>) -> JoinHandle<Done> {
        spawn_blocking(move || {
            self.prepare(names, &peers);
            let mut report = self.cycle.turn(&snapshot, &mut self.pipeline);
            limit(&mut report.findings, self.pipeline.most_findings());
            if matches!(report.outcome, Outcome::Confirmed { .. }) {
                self.pipeline.sweep();
            }
            self.done(Finished::Cycle(Box::new(report)))
        })
    }

    /// Finds out to which names something refers that would be served.
    pub fn find_names(mut self, snapshot: Arc<Snapshot>, names: Arc<Names>, peers: Arc<Peers>) -> JoinHandle<Done> {
        spawn_blocking(move || {
            self.prepare(names, &peers);
            let names = self.pipeline.names_of(&self.cycle.preview(&snapshot));
            self.done(Finished::Names(names))
        })
    }

    /// What is known besides objects, as it is now.
    fn prepare(&mut self, names: Arc<Names>, peers: &Peers) {
        self.pipeline.set_clock();
        self.pipeline.set_peers(peers);
        self.pipeline.set_names(names);
    }

    /// Looks whether something happened to nginx.
    pub fn look(mut self) -> JoinHandle<Done> {
        spawn_blocking(move || {
            let changed = self.pipeline.recheck();
            let surveyed = self.pipeline.survey_changed();
            self.done(Finished::Look { changed, surveyed })
        })
    }

    /// Executes a command of the administrator.
    pub fn execute(mut self, command: ControlCommand) -> JoinHandle<Done> {
        spawn_blocking(move || {
            let result = commands::execute(command, &mut self.pipeline);
            self.done(Finished::Executed { command, result })
        })
    }

    /// Ends the tools and returns what the next ones can remember. The last good versions are on
    /// disk then; the main loop's own threads do not wait for that.
    pub async fn close(self) -> Memory {
        self.cycle.close().await;
        self.pipeline.into_memory()
    }

    /// Looks at nginx and leaves everything as it is.
    pub fn glance(self) -> JoinHandle<Done> {
        spawn_blocking(move || self.done(Finished::Look { changed: None, surveyed: false }))
    }

    fn done(mut self, result: Finished) -> Done {
        let nginx = Nginx {
            status: self.pipeline.status(),
            version: self.pipeline.nginx_version(),
            pinned: self.pipeline.pinned().cloned(),
            cause: self.pipeline.cause().cloned(),
            connections: self.drained.then(|| self.pipeline.connections()).flatten(),
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
