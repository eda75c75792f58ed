//! Competes for the leader's Lease, and renews it while this node holds it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Api;
use kube::api::PostParams;
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

use super::call::{Failure, call};
use super::election::{Action, Leadership, Record, State, step};
use super::membership::asked;
use super::options::Timing;
use super::trouble::Trouble;

/// A candidate for the leader's Lease.
#[derive(Debug)]
pub struct Elector {
    leases: Api<Lease>,
    name: Arc<str>,
    us: Arc<str>,
    timing: Timing,
    state: State,
    /// The Lease as it was last read or written.
    lease: Option<Lease>,
    trouble: Trouble,
}

impl Elector {
    /// A candidate `us` for the Lease of this name.
    pub fn new(leases: Api<Lease>, name: Arc<str>, us: Arc<str>, timing: Timing, trouble: Trouble) -> Self {
        Elector { leases, name, us, timing, state: State::default(), lease: None, trouble }
    }

    /// Competes until `stop` says so, then releases the Lease. It never ends by itself: while the
    /// API is away, there is just no leader here.
    pub async fn run(mut self, reported: watch::Sender<Leadership>, mut stop: watch::Receiver<bool>) {
        loop {
            let now = Instant::now();
            self.report(&reported, now);
            match step(now, &self.us, &self.state, &self.timing) {
                Action::Wait(until) => tokio::select! {
                    () = sleep_until(until) => {}
                    () = asked(&mut stop) => break,
                },
                Action::Read => self.read().await,
                Action::Write { takes, transitions } => self.write(takes, transitions).await,
            }
            if *stop.borrow() {
                break;
            }
        }
        reported.send_modify(|leadership| leadership.until = None);
        self.release().await;
    }

    fn report(&self, reported: &watch::Sender<Leadership>, now: Instant) {
        let leadership = Leadership::of(&self.state, &self.timing);
        let held = reported.borrow().holds(now);
        if leadership.holds(now) != held {
            let (lease, holder) = (&self.name, leadership.holder.as_deref().unwrap_or("nobody").escape_debug());
            match held {
                false => tracing::info!("this node leads: it holds the Lease {lease}"),
                true => tracing::info!("this node no longer leads: the Lease {lease} is held by {holder}"),
            }
        }
        reported.send_if_modified(|old| {
            let changed = *old != leadership;
            *old = leadership;
            changed
        });
    }

    /// The time limit of a request: a renewal that begins in time also ends in time.
    fn patience(&self) -> Duration {
        self.timing.deadline - self.timing.renew
    }

    async fn read(&mut self) {
        match call(self.patience(), self.leases.get_opt(&self.name)).await {
            Ok(lease) => {
                let now = Instant::now();
                self.state.read(lease.as_ref().map(Record::read), &self.us, now);
                self.lease = lease;
                // Where it has to be written next, that decides.
                if !matches!(step(now, &self.us, &self.state, &self.timing), Action::Write { .. }) {
                    self.trouble.worked();
                }
            }
            Err(failure) => self.failed(&failure),
        }
    }

    async fn write(&mut self, takes: bool, transitions: i32) {
        let (began, clock) = (Instant::now(), Timestamp::now());
        let mut lease = self.lease.clone().unwrap_or_else(|| new_lease(&self.name));
        let acquired = match takes {
            true => Some(clock),
            false => Record::read(&lease).acquired.or(Some(clock)),
        };
        let record = Record {
            holder: Some(Arc::clone(&self.us)),
            acquired,
            renewed: Some(clock),
            transitions,
            duration: self.timing.duration,
        };
        record.write(&mut lease);
        match self.put(&lease).await {
            Ok(lease) => {
                self.trouble.worked();
                // The API server's version of the Lease: it may have truncated the times.
                self.state.wrote(Record::read(&lease), began);
                self.lease = Some(lease);
            }
            // Another candidate was faster, which is not a failure.
            Err(Failure::Conflict(_) | Failure::Exists(_)) => self.state.failed(began),
            Err(failure) => self.failed(&failure),
        }
    }

    /// Writes the Lease with the `resourceVersion` that was read, so that no unseen change is
    /// overwritten.
    async fn put(&self, lease: &Lease) -> Result<Lease, Failure> {
        let parameters = PostParams::default();
        match lease.metadata.resource_version {
            Some(_) => call(self.patience(), self.leases.replace(&self.name, &parameters, lease)).await,
            None => call(self.patience(), self.leases.create(&parameters, lease)).await,
        }
    }

    fn failed(&mut self, failure: &Failure) {
        self.trouble.failed(failure.sort(), failure);
        self.state.failed(Instant::now());
    }

    /// Releases the Lease, so that no other candidate has to wait until it expires.
    async fn release(mut self) {
        let Some(mut lease) = self.lease.take() else { return };
        let held = Record::read(&lease);
        if held.holder.as_deref() != Some(&*self.us) {
            return;
        }
        Record { holder: None, renewed: Some(Timestamp::now()), ..held }.write(&mut lease);
        match self.put(&lease).await {
            Ok(_) => tracing::info!("the Lease {} is released", self.name),
            Err(failure) => tracing::info!("the Lease {} ends by itself: {failure}", self.name),
        }
    }
}

fn new_lease(name: &str) -> Lease {
    let labels = BTreeMap::from([("app.kubernetes.io/managed-by".to_owned(), "ingressd".to_owned())]);
    let metadata = ObjectMeta { name: Some(name.to_owned()), labels: Some(labels), ..ObjectMeta::default() };
    Lease { metadata, spec: None }
}
