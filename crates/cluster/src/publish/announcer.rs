//! Writes Events while this node leads, at a limited rate.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::events::v1::Event;
use kube::api::PostParams;
use kube::{Api, Client};
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

use super::bucket::Bucket;
use super::call::{Failure, call};
use super::contention;
use super::counts::{Counts, EventResult};
use super::documentation::Documentation;
use super::event_tracker::EventTracker;
use super::notice::Notice;
use super::options::Options;
use super::trouble::Trouble;
use super::writer::Inputs;
use ingressd_model::ObjectId;

/// How long one write may take.
const DEADLINE: Duration = Duration::from_secs(10);

/// First and longest pause after the API failed.
const PAUSE: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(30));

/// Writes Events.
pub struct Announcer {
    client: Client,
    identity: Arc<str>,
    documentation: Documentation,
    counts: Counts,
    tracker: EventTracker,
    bucket: Bucket,
    pause: Duration,
    /// The namespace of the last failed Event, when none was written since.
    failed: Option<String>,
    /// How long each namespace is skipped after its next failed Event, where its last one failed
    /// too.
    rests: HashMap<String, Duration>,
    trouble: Trouble,
}

impl Announcer {
    /// An announcer that reports as the node of this identity.
    pub fn new(client: Client, identity: Arc<str>, options: &Options, counts: Counts, trouble: Trouble) -> Self {
        Announcer {
            client,
            identity,
            documentation: options.documentation.clone(),
            counts,
            tracker: EventTracker::new(options.lease_duration),
            bucket: Bucket::per_second(options.event_rate, options.event_burst),
            pause: PAUSE.0,
            failed: None,
            rests: HashMap::new(),
            trouble,
        }
    }

    /// Writes for ever. A failure here has no other consequence than that an Event is missing.
    pub async fn run(mut self, mut inputs: Inputs, mut contended: watch::Receiver<Vec<Arc<ObjectId>>>) {
        let mut due = Instant::now();
        loop {
            let now = Instant::now();
            if !inputs.leadership.borrow_and_update().holds(now) {
                // When this node leads again, another leader may have reported some of it: the
                // names of Events prevent duplicates.
                self.tracker.rest();
                self.trouble.ceased();
                self.failed = None;
                self.rests.clear();
                tokio::select! {
                    changed = inputs.leadership.changed() => if changed.is_err() { return },
                    changed = inputs.served.changed() => if changed.is_err() { return },
                }
                continue;
            }
            if let Some(served) = &*inputs.served.borrow_and_update() {
                let others = contention::findings(&contended.borrow_and_update());
                let suppressed = self.tracker.update(served, &others, now);
                self.counts.events(EventResult::Suppressed, suppressed);
            }
            // The queue is emptied before the state is compared again, unless the state changed, a
            // finding has lasted for long enough, or there is room again for notices that found
            // none.
            loop {
                let next = self.tracker.due(Instant::now());
                tokio::select! {
                    biased;
                    changed = inputs.leadership.changed() => { if changed.is_err() { return } break }
                    changed = inputs.served.changed() => { if changed.is_err() { return } break }
                    changed = contended.changed() => { if changed.is_err() { return } break }
                    () = sleep_until(next.map_or(due, |next| next.max(due))), if next.is_some() => {}
                }
                let now = Instant::now();
                due = match self.bucket.take(now) {
                    Err(until) => until,
                    Ok(()) => self.announce(now).await,
                };
                if self.tracker.is_due(Instant::now()) {
                    break;
                }
            }
        }
    }

    /// Writes one Event. Returns when the next one may be written.
    async fn announce(&mut self, now: Instant) -> Instant {
        let Some(mut notice) = self.tracker.take(now) else { return now };
        let result = match self.write(&notice).await {
            Ok(_) => EventResult::Sent,
            Err(Failure::Exists(_)) if notice.rename() => {
                self.tracker.put_back(notice);
                return now;
            }
            Err(Failure::Exists(_)) => EventResult::Known,
            // The object is gone, or the API will never accept the Event.
            Err(failure @ (Failure::NoNamespace(_) | Failure::Refused(_))) => {
                tracing::debug!("an Event about {:?} was not written: {failure}", notice.regarding.name);
                EventResult::Failed
            }
            Err(failure) => {
                self.counts.events(EventResult::Failed, 1);
                return self.fail(notice, &failure);
            }
        };
        self.trouble.worked();
        self.pause = PAUSE.0;
        self.failed = None;
        self.rests.remove(notice.namespace());
        self.counts.events(result, 1);
        now
    }

    /// Handles a failed Event. The cause may be its namespace, for example a quota: then that
    /// namespace is skipped and all others go on, until an Event of another namespace fails next.
    /// Returns when the next Event may be written.
    fn fail(&mut self, notice: Notice, failure: &Failure) -> Instant {
        let now = Instant::now();
        let namespace = notice.namespace().to_owned();
        let retry_after = if let Failure::Away { retry_after, .. } = *failure { retry_after } else { Duration::ZERO };
        let rest = self.rests.entry(namespace.clone()).or_insert(PAUSE.0);
        let until = now + retry_after.max(*rest);
        *rest = (*rest * 2).min(PAUSE.1);
        self.tracker.defer(notice, until);
        let before = self.failed.replace(namespace);
        if before.is_some() {
            self.trouble.failed(failure.sort(), failure);
        }
        if retry_after.is_zero() && (before.is_none() || before == self.failed) {
            return now;
        }
        let pause = self.pause.max(retry_after);
        self.pause = (self.pause * 2).min(PAUSE.1);
        now + pause
    }

    async fn write(&self, notice: &Notice) -> Result<Event, Failure> {
        let events = Api::<Event>::namespaced(self.client.clone(), notice.namespace());
        let event = notice.event(&self.identity, &self.documentation, Timestamp::now());
        call(DEADLINE, events.create(&PostParams::default(), &event)).await
    }
}
