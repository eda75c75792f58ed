//! Looks at nginx between the times when files are applied. A shortage of our own is no answer:
//! what was seen last counts then.

use std::time::Duration;

use super::super::error::ApplyError;
use super::super::host::{Host, NoMaster};
use super::super::old_workers::OldWorkers;
use super::super::outcome::Outcome;
use super::super::process::{Process, Role};
use super::super::verdict::{Pending, ProcessVerdict, at_rest};
use super::{Applier, Attempt};

/// A running master that reports no generation in so many requests in a row gets a SIGHUP.
const SILENT_LOOKS: u32 = 3;

/// The state of nginx at one moment, for status and metrics.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NginxState {
    /// The PID of the master, or the reason why no master is considered to be running.
    pub master: Result<u32, String>,
    /// The number of workers that accept connections.
    pub workers: usize,
    /// Workers that finish their connections, and how many there may be.
    pub old_workers: OldWorkers,
    /// How many draining workers were ended so far because there were too many.
    pub ended: u64,
    /// The generation on disk.
    pub on_disk: Option<u64>,
    /// The generation that nginx serves.
    pub served: Option<u64>,
    /// The latest generation that nginx was seen to run.
    pub confirmed: Option<u64>,
}

impl<H: Host> Applier<H> {
    /// Looks whether nginx was started, stopped or restarted since the last look, or serves
    /// another generation than the one in place; `None` when nothing changed.
    pub fn recheck(&mut self) -> Option<Outcome> {
        // While another instance has nginx reload nothing can be judged; the next look comes soon.
        let _turn = self.turn_within(Duration::ZERO).ok()?;
        self.try_recheck().unwrap_or_else(|error| match error.is_shortage() {
            true => None,
            false => Some(Outcome::Failed { why: error.to_string() }),
        })
    }

    fn try_recheck(&mut self) -> Result<Option<Outcome>, ApplyError> {
        let Some(generation) = self.generations.current().map(|manifest| manifest.generation) else { return Ok(None) };
        let master = match self.host.master() {
            Ok(master) => master,
            Err(NoMaster::Unknown(_)) => return Ok(None),
            Err(NoMaster::Down(why)) => return Ok(self.running.take().map(|_| Outcome::Ready { generation, why })),
        };
        let known = self.predecessor;
        if let Some(why) = self.hands_over()? {
            return Ok((self.predecessor != known).then(|| self.stays(why)));
        }
        let served = self.host.served()?;
        if self.running == Some(master) && served.is_none_or(|served| served == generation) {
            return Ok(None);
        }
        let Some(table) = self.host.table(master)? else { return Ok(None) };
        if served.is_some() {
            self.silent = None;
        }
        match at_rest(&table, generation, served) {
            ProcessVerdict::Confirmed => self.record(Attempt::none(generation), master, Duration::ZERO).map(Some),
            ProcessVerdict::Pending(Pending::Serves(Some(_))) => self.activate(Attempt::none(generation)).map(Some),
            ProcessVerdict::Pending(Pending::Serves(None)) => {
                if self.has_been_silent(master) {
                    // The next look sees the effect. When the signal cannot be sent, there is
                    // nothing else to try.
                    let _ = self.host.hang_up(master);
                }
                Ok(None)
            }
            _ => Ok(None),
        }
    }

    /// Whether this master has reported nothing for so long that it gets a SIGHUP, which happens
    /// once: it may have read its configuration right before our files existed.
    fn has_been_silent(&mut self, master: Process) -> bool {
        let looks = self.silent.filter(|(known, _)| *known == master).map_or(0, |(_, looks)| looks);
        self.silent = Some((master, looks.saturating_add(1)));
        looks + 1 == SILENT_LOOKS
    }

    /// Whether nginx runs, as far as is known.
    pub fn runs(&mut self) -> bool {
        self.master().is_ok()
    }

    /// The running master; while it cannot be looked for, the one that was seen last.
    pub(super) fn master(&mut self) -> Result<Process, String> {
        match self.host.master() {
            Ok(master) => self.master = Ok(master),
            Err(NoMaster::Down(why)) => self.master = Err(why),
            Err(NoMaster::Unknown(why)) => tracing::warn!("nginx is taken to be as before: {why}"),
        }
        self.master.clone()
    }

    /// Whether nginx says that it serves this generation.
    pub(super) fn serves(&mut self, generation: Option<u64>) -> bool {
        self.host.served().is_ok_and(|served| served == generation)
    }

    /// The state of nginx now.
    pub fn status(&mut self) -> NginxState {
        let on_disk = self.generations.current().map(|manifest| manifest.generation);
        let confirmed = self.generations.confirmed();
        let looked = self.look();
        let looked = looked.inspect_err(|error| tracing::warn!("nginx is taken to be as before: {error}"));
        if let Ok(state) = looked {
            self.seen = Some(state);
        }
        let seen = self.seen.clone();
        let seen = seen.unwrap_or_else(|| NginxState::of(Err("nginx was not looked at yet".to_owned())));
        NginxState { ended: self.ended, on_disk, confirmed, ..seen }
    }

    /// What can be seen of nginx.
    fn look(&mut self) -> Result<NginxState, ApplyError> {
        let master = match self.host.master() {
            Ok(master) => master,
            Err(NoMaster::Down(why)) => {
                let old_workers = OldWorkers::of(None, self.options.draining);
                return Ok(NginxState { old_workers, ..NginxState::of(Err(why)) });
            }
            Err(NoMaster::Unknown(why)) => return Err(ApplyError::unseen(why)),
        };
        let table = self.host.table(master)?;
        let workers = table.as_ref().map_or(0, |table| table.in_role(Role::Worker).count());
        // A host that is stalled for half a second must not make the node unready: ask once more.
        let served = match self.host.served()? {
            None => self.host.served()?,
            served => served,
        };
        let old_workers = OldWorkers::of(table.as_ref(), self.options.draining);
        Ok(NginxState { workers, old_workers, served, ..NginxState::of(Ok(master.pid)) })
    }

    /// Why nothing can be confirmed while an upgrade of nginx's binary is under way.
    pub(super) fn hands_over(&mut self) -> Result<Option<String>, ApplyError> {
        self.predecessor = self.host.predecessor()?;
        Ok(self.predecessor.map(|Process { pid, .. }| {
            format!(
                "nginx was told to change its binary, and workers of its master {pid} from before take connections, \
                 too, with a configuration that it cannot read again: changes wait until `kill -QUIT {pid}` ends it"
            )
        }))
    }

    /// The outcome when nothing was switched because nginx cannot be told to reload now.
    pub(super) fn stays(&self, why: String) -> Outcome {
        Outcome::RolledBack { generation: self.generations.confirmed(), why, too_much: None }
    }
}

impl NginxState {
    /// Of this master nothing else is known.
    fn of(master: Result<u32, String>) -> Self {
        let (on_disk, served, confirmed) = (None, None, None);
        NginxState { master, workers: 0, old_workers: OldWorkers::default(), ended: 0, on_disk, served, confirmed }
    }
}
