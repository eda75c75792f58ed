//! Sends SIGHUP and watches until nginx is proven to run a generation, or proven not to.

use std::time::{Duration, Instant};

use super::error::ApplyError;
use super::host::{Host, NoMaster};
use super::old_workers::surplus;
use super::options::Options;
use super::process::{Effort, Process, Table};
use super::steps::{Step, Steps};
use super::verdict::{Pending, ProcessVerdict, after_hang_up, at_rest, replaced};
use ingressd_model::finding;

/// The message about a master that started no new worker, though a test of the same configuration
/// passes.
pub const RESIGNED: &str = "nginx did not load it, though nginx -t accepts it: its error log says why; often another \
    program listens on one of the addresses, which nginx -t does not notice";

/// The message about a master that ended without an error message.
pub const KILLED: &str =
    "its master was killed while it read the configuration, as the kernel does when memory runs out";

/// How waiting for one generation ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Confirmation {
    /// Every worker runs it.
    Confirmed {
        master: Process,
        /// The time from SIGHUP to the proof.
        reload: Duration,
    },
    /// No master runs.
    Down(String),
    /// The master that got the signal was killed before every worker ran the generation.
    Killed(String),
    /// nginx reported why it does not take the generation.
    Refused(String),
    /// The time to wait is over.
    Late {
        /// What was missing.
        why: String,
        /// Whether the configuration may be too much for nginx, so that a smaller one would have
        /// been confirmed.
        too_much: bool,
    },
}

/// Since when the master has been idle. While it reads a configuration it is busy, however long
/// that takes, and a test beside it would only slow it down.
#[derive(Debug, Default)]
struct Idleness {
    since: Option<Instant>,
    last: Effort,
}

impl Idleness {
    fn seen(&mut self, now: Option<Effort>) -> Duration {
        let Some(now) = now.filter(|now| now.sleeps && *now == self.last) else {
            self.last = now.unwrap_or_default();
            self.since = None;
            return Duration::ZERO;
        };
        self.last = now;
        self.since.get_or_insert_with(Instant::now).elapsed()
    }
}

/// By what factor the time limit grows for a generation that nginx ran before: its master reads
/// one configuration after the other, and a reload takes two or three times as long as a test.
const AGAIN: u32 = 4;

/// How often nginx is asked again for the generation it serves when it does not answer; each
/// attempt takes half a second.
const MOST_UNANSWERED: u32 = 3;

/// What to wait for, and how.
#[derive(Debug)]
pub struct Confirm<'a> {
    options: &'a Options,
    generation: u64,
    timeout: Duration,
}

impl<'a> Confirm<'a> {
    /// Waits for this generation.
    pub fn of(options: &'a Options, generation: u64) -> Self {
        Confirm { options, generation, timeout: options.confirm_timeout }
    }

    /// Waits for a generation that nginx ran before. The master may first have to finish reading
    /// another one that is too large.
    pub fn again(self) -> Self {
        Confirm { timeout: self.timeout * AGAIN, ..self }
    }

    /// Whether this master runs the generation without being signalled; waits while its workers
    /// are too young to judge.
    pub fn at_rest(&self, host: &mut impl Host, master: Process) -> Result<bool, ApplyError> {
        let (begun, mut unanswered) = (Instant::now(), 0);
        while begun.elapsed() < self.timeout {
            let Some(table) = host.table(master)? else { return Ok(false) };
            match self.with_served(host, |served| at_rest(&table, self.generation, served))? {
                ProcessVerdict::Confirmed => return Ok(true),
                ProcessVerdict::Pending(Pending::Count { .. }) => self.pause(begun),
                // A busy host may not answer for a moment; a reload would add to its work.
                ProcessVerdict::Pending(Pending::Serves(None)) if unanswered < MOST_UNANSWERED => {
                    unanswered += 1;
                    self.pause(begun);
                }
                _ => return Ok(false),
            }
        }
        Ok(false)
    }

    /// Tells the master to reload and waits. Where the old workers would then be too many, the
    /// oldest are ended first, and counted in `ended`. After an error nginx has not been told;
    /// whatever else this returns, it may read the generation now or later.
    pub fn hang_up(
        &self,
        host: &mut impl Host,
        steps: &mut Steps,
        ended: &mut u64,
    ) -> Result<Confirmation, ApplyError> {
        let master = match host.master() {
            Ok(master) => master,
            Err(NoMaster::Down(why)) => return Ok(Confirmation::Down(why)),
            Err(NoMaster::Unknown(why)) => return Err(ApplyError::unseen(why)),
        };
        let begun = Instant::now();
        let mut before = host.table(master)?;
        let surplus = before.as_ref().map(|before| surplus(before, self.options.draining)).unwrap_or_default();
        if !surplus.is_empty() {
            *ended += self.end(host, master, surplus);
            before = host.table(master)?;
        }
        match (host.hang_up(master), &before) {
            (Ok(()), Some(_)) => steps.reached(Step::HungUp),
            (Err(error), Some(_)) if host.table(master)?.is_some() => return Err(error),
            // The master ended right now, and not because of the signal: one that takes its place
            // reads what is on disk.
            _ => before = None,
        }
        Ok(self.watch(host, before, begun))
    }

    /// Ends old workers, and with them their connections. Returns how many.
    fn end(&self, host: &mut impl Host, master: Process, mut workers: Vec<Process>) -> u64 {
        workers.retain(|worker| match host.end(*worker) {
            Ok(()) => true,
            Err(error) => {
                tracing::warn!("an old worker of nginx goes on, though there are too many: {error}");
                false
            }
        });
        let (begun, count) = (Instant::now(), workers.len() as u64);
        if count > 0 {
            let most = self.options.draining.generations;
            tracing::warn!(
                "{} ended, and their connections with them: no more than {most} for each worker may finish theirs at once \
                 (pacing.most-draining)",
                finding::count(count, "old worker of nginx is", "old workers of nginx are")
            );
        }
        // New workers would need memory beside the old ones. A busy worker ends when it next
        // handles events.
        while !workers.is_empty() && begun.elapsed() < self.options.suspicion {
            self.pause(begun);
            if let Ok(now) = host.table(master) {
                let children = now.map(|now| now.children).unwrap_or_default();
                workers.retain(|worker| children.iter().any(|(one, _)| one == worker));
            }
        }
        count
    }

    /// `before` is the process table of the master that got the signal, if one did.
    fn watch(&self, host: &mut impl Host, mut before: Option<Table>, begun: Instant) -> Confirmation {
        let (mut passed, mut missing_since, mut idleness) = (None::<Instant>, None, Idleness::default());
        // Why the test of the whole configuration told nothing.
        let mut untested = None;
        let mut retired = Vec::new();
        let mut reported = before.as_ref().map(|before| before.master);
        loop {
            let (mut idle, mut verdict) = (Duration::ZERO, ProcessVerdict::Pending(Pending::NoNewWorker));
            let master = host.master();
            // Reported at once: when nginx is started again, it starts with the files on disk.
            if let Some(gone) =
                reported.filter(|reported| master != Ok(*reported) && matches!(host.table(*reported), Ok(None)))
            {
                match host.was_killed(gone) {
                    Ok(true) => return Confirmation::Killed(KILLED.to_owned()),
                    Ok(false) => reported = None,
                    // It is asked again.
                    Err(_) => {}
                }
            }
            if let Ok(master) = master {
                missing_since = None;
                // A master other than the one that got the signal has read the configuration by
                // itself.
                before = before.filter(|before| before.master == master);
                let now = host.table(master);
                idle = idleness.seen(now.as_ref().ok().and_then(|now| Some(now.as_ref()?.effort)));
                match now {
                    Ok(Some(now)) => {
                        verdict =
                            self.judge(host, before.as_ref(), &now).unwrap_or(ProcessVerdict::Pending(Pending::Unseen));
                        retire(host, before.as_ref(), &now, &mut retired);
                    }
                    Ok(None) => {}
                    Err(_) => verdict = ProcessVerdict::Pending(Pending::Unseen),
                }
            }
            match (verdict, master) {
                (ProcessVerdict::Confirmed, Ok(master)) => {
                    return Confirmation::Confirmed { master, reload: begun.elapsed() };
                }
                (_, Err(NoMaster::Down(why)))
                    if missing_since.get_or_insert_with(Instant::now).elapsed() > self.options.suspicion =>
                {
                    return Confirmation::Down(why);
                }
                (_, Err(NoMaster::Unknown(why))) if begun.elapsed() > self.timeout => {
                    return Confirmation::Late { why: self.in_time(&why), too_much: false };
                }
                (ProcessVerdict::Pending(Pending::NoNewWorker), Ok(_))
                    if passed.is_none() && untested.is_none() && idle > self.options.suspicion =>
                {
                    match host.test(None) {
                        Ok(tested) if tested.accepted => passed = Some(Instant::now()),
                        Ok(tested) => return Confirmation::Refused(tested.words.trim_end().to_owned()),
                        Err(error) => untested = Some(error),
                    }
                }
                // A test waits for the same things as a master, such as DNS answers for names in
                // other sites: only a master that was idle all the time may have given up.
                (ProcessVerdict::Pending(Pending::NoNewWorker), Ok(_))
                    if passed.is_some_and(|passed| passed.elapsed().min(idle) > self.options.resignation) =>
                {
                    return Confirmation::Late { why: RESIGNED.to_owned(), too_much: true };
                }
                (ProcessVerdict::Pending(pending), Ok(_)) if begun.elapsed() > self.timeout => {
                    let too_much = pending.is_of_reading() && untested.is_none();
                    // A master that is idle after the test has passed would have given up soon.
                    let has_resigned = passed.is_some() && pending == Pending::NoNewWorker && !idle.is_zero();
                    let why = match untested {
                        // An idle master and a test that does not end wait for the same thing.
                        Some(error) => format!("{}, and {error}", self.in_time(&pending)),
                        None if has_resigned => RESIGNED.to_owned(),
                        None => self.in_time(&pending),
                    };
                    return Confirmation::Late { why, too_much };
                }
                (ProcessVerdict::Impossible(why), _) if begun.elapsed() > self.timeout => {
                    return Confirmation::Late { why: self.in_time(&why), too_much: false };
                }
                _ => {}
            }
            self.pause(begun);
        }
    }

    /// Reading the process table costs as much as nginx needs to read a few hosts: after a tenth
    /// of a second it happens less often.
    fn pause(&self, begun: Instant) {
        std::thread::sleep(self.options.poll.max(begun.elapsed() / 32));
    }

    fn in_time(&self, missing: &impl std::fmt::Display) -> String {
        format!("for {} s {missing}", self.timeout.as_secs())
    }

    fn judge(&self, host: &mut impl Host, before: Option<&Table>, now: &Table) -> Result<ProcessVerdict, ApplyError> {
        self.with_served(host, |served| match before {
            Some(before) => after_hang_up(before, now, self.generation, served),
            None => at_rest(now, self.generation, served),
        })
    }

    /// Asks the status address, and who else may answer there, only when everything else is
    /// proven.
    fn with_served(
        &self,
        host: &mut impl Host,
        judge: impl Fn(Option<u64>) -> ProcessVerdict,
    ) -> Result<ProcessVerdict, ApplyError> {
        let verdict = match judge(None) {
            ProcessVerdict::Pending(Pending::Serves(None)) => judge(host.served()?),
            verdict => verdict,
        };
        Ok(match verdict {
            ProcessVerdict::Confirmed => {
                let predecessor = |old: Process| ProcessVerdict::Pending(Pending::Predecessor(old.pid));
                host.predecessor()?.map_or(ProcessVerdict::Confirmed, predecessor)
            }
            verdict => verdict,
        })
    }
}

/// Tells each old worker once to finish, when new ones have replaced it. Without the right to do
/// so this is left to the master.
fn retire(host: &mut impl Host, before: Option<&Table>, now: &Table, retired: &mut Vec<Process>) {
    for worker in before.map(|before| replaced(before, now)).unwrap_or_default() {
        if !retired.contains(&worker) {
            retired.push(worker);
            // A worker that has ended meanwhile, or that only the master may signal, is no
            // failure.
            let _ = host.retire(worker);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Effort, Idleness};

    #[test]
    fn a_master_that_works_is_not_idle() {
        let sleeps = |spent| Some(Effort { spent, sleeps: true });
        let works = |spent| Some(Effort { spent, sleeps: false });
        let rows = [
            (vec![sleeps(7), sleeps(7)], true),
            (vec![sleeps(7)], false),
            (vec![sleeps(7), sleeps(8)], false),
            (vec![sleeps(7), sleeps(7), works(7)], false),
            (vec![sleeps(7), sleeps(7), works(7), sleeps(7)], false),
            (vec![sleeps(7), sleeps(7), None], false),
            (vec![works(7), works(7)], false),
        ];
        for (seen, idle) in rows {
            let mut idleness = Idleness::default();
            for effort in &seen {
                let _ = idleness.seen(*effort);
            }
            assert_eq!(idleness.since.is_some(), idle, "{seen:?}");
        }
    }
}
