//! A simulated nginx without processes, which reads the generation behind the link when it is
//! signalled.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ingressd_apply::process::{Effort, Process, Role, Table};
use ingressd_apply::{ApplyError, Host, NoMaster, Tested};

/// A handle on the nginx; clones share it, as daemons that follow each other share the real one.
#[derive(Clone)]
pub struct Simulated {
    root: PathBuf,
    state: Arc<Mutex<State>>,
    refuses: Refuses,
}

/// Returns the message for a configuration that it refuses.
type Refuses = fn(&str) -> Option<String>;

#[derive(Default)]
struct State {
    now: u64,
    workers: u32,
    served: Option<u64>,
    hang_ups: u32,
    /// It never serves the generation that it reads.
    deaf: bool,
    /// How many of the next looks nobody can take, once it has read something.
    unseen: u32,
}

const MASTER: Process = Process { pid: 1, started: 1 };

impl Simulated {
    pub fn new(root: &Path) -> Self {
        Simulated {
            root: root.to_owned(),
            state: Arc::new(Mutex::new(State { now: 1000, ..State::default() })),
            refuses: |_| None,
        }
    }

    /// An nginx that refuses configurations by a rule.
    pub fn refusing(root: &Path, refuses: Refuses) -> Self {
        Simulated { refuses, ..Simulated::new(root) }
    }

    /// An nginx whose configuration does not include ours.
    pub fn deaf(root: &Path) -> Self {
        let nginx = Simulated::new(root);
        nginx.close_ears();
        nginx
    }

    /// From now on it serves nothing that it reads.
    pub fn close_ears(&self) {
        self.state.lock().unwrap().deaf = true;
    }

    /// From now on it does not say what it serves, unless it reads something.
    pub fn silence(&self) {
        self.state.lock().unwrap().served = None;
    }

    /// After the next signal nobody can look for its master so many times.
    pub fn hide(&self, looks: u32) {
        self.state.lock().unwrap().unseen = looks;
    }

    /// From now on it serves this generation, whatever is in place.
    pub fn serve(&self, generation: u64) {
        self.state.lock().unwrap().served = Some(generation);
    }

    pub fn hang_ups(&self) -> u32 {
        self.state.lock().unwrap().hang_ups
    }
}

impl Host for Simulated {
    fn master(&mut self) -> Result<Process, NoMaster> {
        let mut state = self.state.lock().unwrap();
        if state.hang_ups > 0 && state.unseen > 0 {
            state.unseen -= 1;
            return Err(NoMaster::Unknown("too many open files".to_owned()));
        }
        Ok(MASTER)
    }

    fn predecessor(&mut self) -> Result<Option<Process>, ApplyError> {
        Ok(None)
    }

    fn table(&mut self, master: Process) -> Result<Option<Table>, ApplyError> {
        let mut state = self.state.lock().unwrap();
        state.now += 1000;
        let worker = Process { pid: 100 + state.workers, started: 1000 };
        Ok(Some(Table { at: state.now, master, effort: Effort::default(), children: vec![(worker, Role::Worker)] }))
    }

    fn was_killed(&mut self, _master: Process) -> Result<bool, ApplyError> {
        Ok(false)
    }

    fn hang_up(&mut self, _master: Process) -> Result<(), ApplyError> {
        let mut state = self.state.lock().unwrap();
        state.workers += 1;
        state.hang_ups += 1;
        let text = fs::read_to_string(self.root.join("current/http/generation.conf")).unwrap_or_default();
        if state.deaf {
            return Ok(());
        }
        state.served = text.split("default \"").nth(1).and_then(|rest| rest.split(' ').next()?.parse().ok());
        Ok(())
    }

    fn retire(&mut self, _worker: Process) -> Result<(), ApplyError> {
        Ok(())
    }

    fn end(&mut self, _worker: Process) -> Result<(), ApplyError> {
        Ok(())
    }

    fn test(&mut self, instead: Option<&Path>) -> Result<Tested, ApplyError> {
        let words = instead.and_then(|path| (self.refuses)(&fs::read_to_string(path).unwrap()));
        Ok(Tested { accepted: words.is_none(), words: words.unwrap_or_default() })
    }

    fn limit_tests(&mut self, _limit: Option<Duration>) {}

    fn served(&mut self) -> Result<Option<u64>, ApplyError> {
        Ok(self.state.lock().unwrap().served)
    }
}
