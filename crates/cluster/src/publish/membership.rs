//! Keeps this node's own Lease up to date.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::Lease;
use kube::Api;
use kube::api::PostParams;
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

use super::call::{Failure, call};
use super::member::{Member, lease_name};
use super::options::{Options, Timing};
use super::order::Writes;
use super::own_addresses::OwnAddresses;
use super::served::Served;
use super::trouble::Trouble;

/// The least time between two writes of the record when no urgent part of it changed.
const SPACING: Duration = Duration::from_secs(1);

/// The `phase` in the last record of a daemon that was stopped cleanly, while its nginx goes on.
pub const STOPPED: &str = "stopped";

/// Keeps this node's record up to date.
#[derive(Debug)]
pub struct Membership {
    leases: Api<Lease>,
    identity: Identity,
    options: Arc<Options>,
    acquired: Timestamp,
    /// The Lease as it was last read or written; `None` when it has to be read.
    lease: Option<Lease>,
    /// The record that was written last, and when that write began.
    written: Option<(Member, Instant)>,
    failed: Option<Instant>,
    trouble: Trouble,
    /// What is told of another host with the same identity, and when it was noticed last.
    duplicate: Trouble,
    duplicate_noticed: Option<Instant>,
    writes: watch::Receiver<Writes>,
}

impl Membership {
    /// Keeps the record of the node of this identity. `writes` comes from the status writer.
    pub fn new(
        leases: Api<Lease>,
        identity: Identity,
        options: Arc<Options>,
        (trouble, duplicate): (Trouble, Trouble),
        writes: watch::Receiver<Writes>,
    ) -> Self {
        let (acquired, lease, written) = (Timestamp::now(), None, None);
        let (failed, duplicate_noticed) = (None, None);
        Membership {
            leases,
            identity,
            options,
            acquired,
            lease,
            written,
            failed,
            trouble,
            duplicate,
            duplicate_noticed,
            writes,
        }
    }

    /// Keeps the record until `stop` says so; then writes a last one that is valid for the grace
    /// period.
    ///
    /// Nothing is written before it is known what nginx serves and under which addresses: until
    /// then the record of the previous run stands.
    pub async fn run(
        mut self,
        mut served: watch::Receiver<Option<Served>>,
        mut place: watch::Receiver<Option<Arc<OwnAddresses>>>,
        mut stop: watch::Receiver<bool>,
    ) {
        loop {
            let member = self.member(&served.borrow_and_update(), &place.borrow_and_update());
            let due = member.as_ref().map(|member| self.due(member, Instant::now()));
            tokio::select! {
                biased;
                () = asked(&mut stop) => break,
                () = sleep_until(due.unwrap_or_else(Instant::now)), if due.is_some() => {
                    if let Some(member) = member {
                        self.write(member, self.options.lease_duration).await;
                    }
                }
                changed = served.changed() => if changed.is_err() { break },
                changed = place.changed() => if changed.is_err() { break },
                // Without a writer this never changes.
                Ok(()) = self.writes.changed() => {}
            }
        }
        let last = self.member(&served.borrow(), &place.borrow());
        // Also when this run has written none: the record of the previous run may come from other
        // settings.
        if let Some(member) = last {
            let (member, duration) = farewell(member, &self.options);
            self.write(member, duration).await;
        }
    }

    /// The record of this node, when all of its parts are known.
    fn member(&self, served: &Option<Served>, place: &Option<Arc<OwnAddresses>>) -> Option<Member> {
        let writes = Some(*self.writes.borrow());
        Some(Member { writes, ..Member::of(&self.identity.node, served.as_ref()?, place.as_ref()?) })
    }

    /// When the record has to be written.
    fn due(&self, member: &Member, now: Instant) -> Instant {
        let timing = self.options.timing();
        due(member, self.written.as_ref(), self.failed, &timing, now)
    }

    async fn write(&mut self, member: Member, duration: Duration) {
        let began = Instant::now();
        match self.put(&member, duration).await {
            Ok(lease) => {
                self.trouble.worked();
                self.lease = Some(lease);
                (self.written, self.failed) = (Some((member, began)), None);
            }
            Err(failure) => {
                if !matches!(failure, Failure::Conflict(_) | Failure::Exists(_)) {
                    self.trouble.failed(failure.sort(), &failure);
                }
                (self.lease, self.failed) = (None, Some(began));
            }
        }
    }

    /// Looks who wrote the Lease as it is now. After this run has written it, no earlier run does.
    fn look_for_duplicate(&mut self, seen: Option<&Lease>, name: &str) {
        let now = Instant::now();
        let run = seen.and_then(|lease| lease.metadata.annotations.as_ref()?.get(RUN));
        if self.written.is_some() && run.is_some_and(|run| **run != *self.identity.run) {
            self.duplicate_noticed = Some(now);
            let why = "give each host a machine ID of its own (systemd-machine-id-setup), or set publish.node";
            self.duplicate.failed(0, &format_args!("both write the Lease {name}; {why}"));
        }
        if self.duplicate_noticed.is_some_and(|noticed| now > noticed + self.options.lease_duration) {
            self.duplicate_noticed = None;
            self.duplicate.worked();
        }
    }

    async fn put(&mut self, member: &Member, duration: Duration) -> Result<Lease, Failure> {
        let timing = self.options.timing();
        let patience = timing.deadline - timing.renew;
        let mut lease = member.lease(&self.options.lease, duration, self.acquired, Timestamp::now());
        let name = lease_name(&self.options.lease, &self.identity.node);
        lease.metadata.annotations.get_or_insert_default().insert(RUN.to_owned(), self.identity.run.to_string());
        let seen = match &self.lease {
            Some(lease) => Some(lease.clone()),
            None => call(patience, self.leases.get_opt(&name)).await?,
        };
        self.look_for_duplicate(seen.as_ref(), &name);
        let parameters = PostParams::default();
        match seen {
            Some(seen) => {
                lease.metadata.resource_version = seen.metadata.resource_version;
                call(patience, self.leases.replace(&name, &parameters, &lease)).await
            }
            None => call(patience, self.leases.create(&parameters, &lease)).await,
        }
    }
}

/// The annotation with the run of the daemon that wrote the Lease last.
const RUN: &str = "ingressd/run";

/// The identity of this node, and what tells this run of its daemon from others.
#[derive(Debug)]
pub struct Identity {
    /// Host name and machine ID.
    pub node: Arc<str>,
    pub run: Arc<str>,
}

/// Waits for the request to stop, or until the sender is gone.
pub async fn asked(stop: &mut watch::Receiver<bool>) {
    let _ = stop.wait_for(|stop| *stop).await;
}

/// The last record and its duration. The API accepts no Lease with a duration of 0: without a
/// grace period the record itself says that the node is withdrawn.
fn farewell(member: Member, options: &Options) -> (Member, Duration) {
    let serving = member.serving && !options.grace.is_zero();
    let duration = if serving { options.grace } else { options.lease_duration };
    (Member { phase: STOPPED.into(), serving, ..member }, duration)
}

fn due(
    member: &Member,
    written: Option<&(Member, Instant)>,
    failed: Option<Instant>,
    timing: &Timing,
    now: Instant,
) -> Instant {
    let next = match written {
        None => now,
        Some((last, began)) if last == member => *began + timing.renew,
        Some((last, began)) => {
            let Member { observed, generation, phase, claim_order, .. } = last.clone();
            match *last == (Member { observed, generation, phase, claim_order, ..member.clone() }) {
                // Only the generation's number or the phase changed.
                true => *began + SPACING.min(timing.renew),
                false => now,
            }
        }
    };
    failed.map_or(next, |failed| next.max(failed + timing.retry))
}

impl Member {
    /// The record of this node.
    pub fn of(identity: &Arc<str>, served: &Served, place: &OwnAddresses) -> Self {
        Member {
            identity: Arc::clone(identity),
            addresses: place.addresses.clone(),
            serving: served.serving,
            drained: served.drained,
            generation: served.generation,
            observed: served.observed,
            pinned: served.pinned,
            unserved: served.unserved(),
            claim_order: Arc::clone(&served.claim_order),
            version: env!("CARGO_PKG_VERSION").into(),
            phase: Arc::clone(&served.phase),
            writes: None,
            settings: served.settings.clone(),
            nginx: Arc::clone(&served.nginx),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::publish::Unserved;
    use crate::publish::member::Revision;

    #[test]
    fn what_must_be_known_at_once_is_written_at_once() {
        let timing = Timing::of(Duration::from_secs(15));
        let began = Instant::now();
        let member = Member { observed: Some(Revision(5)), ..Member::serving_at("a", &[]) };
        let now = began + Duration::from_millis(300);
        let written = (member.clone(), began);
        let when = |other: Member, failed: Option<Instant>| {
            due(&other, Some(&written), failed, &timing, now).saturating_duration_since(began).as_millis()
        };
        assert_eq!(due(&member, None, None, &timing, now), now);
        assert_eq!(when(member.clone(), None), 5000);
        assert_eq!(when(Member { observed: Some(Revision(6)), generation: Some(2), ..member.clone() }, None), 1000);
        assert_eq!(when(Member { phase: "failed".into(), ..member.clone() }, None), 1000);
        assert_eq!(when(Member { serving: false, ..member.clone() }, None), 300);
        assert_eq!(when(Member { addresses: vec!["192.0.2.1".parse().unwrap()], ..member.clone() }, None), 300);
        assert_eq!(when(Member { drained: true, observed: None, ..member.clone() }, None), 300);
        assert_eq!(when(Member { pinned: Some(1), ..member.clone() }, None), 300);
        assert_eq!(when(Member { unserved: Unserved::Newer, ..member.clone() }, None), 300);
        assert_eq!(when(Member { writes: Some(Writes::Held), ..member.clone() }, None), 300);
        assert_eq!(when(Member { serving: false, ..member }, Some(began + Duration::from_millis(200))), 2200);
    }
}
