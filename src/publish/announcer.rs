//! Writes Events while this node leads, at a steady pace; it must not know what is news.

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
use super::chronicle::Chronicle;
use super::contention;
use super::counts::{Counts, EventResult};
use super::notice::Notice;
use super::options::Options;
use super::trouble::Trouble;
use super::writer::Inputs;
use crate::model::ObjectId;

/// How long one write may take.
const DEADLINE: Duration = Duration::from_secs(10);

/// First and longest pause after the API failed.
const PAUSE: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(30));

/// Writes Events.
pub struct Announcer {
    client: Client,
    identity: Arc<str>,
    counts: Counts,
    chronicle: Chronicle,
    bucket: Bucket,
    pause: Duration,
    trouble: Trouble,
}

impl Announcer {
    /// Reports as the node of this identity.
    pub fn new(client: Client, identity: Arc<str>, options: &Options, counts: Counts, trouble: Trouble) -> Self {
        Announcer {
            client,
            identity,
            counts,
            chronicle: Chronicle::new(options.lease_duration),
            bucket: Bucket::per_second(options.event_rate, options.event_burst),
            pause: PAUSE.0,
            trouble,
        }
    }

    /// Writes for ever. Nothing that fails here has any other consequence than that an Event is missing.
    pub async fn run(mut self, mut inputs: Inputs, mut contended: watch::Receiver<Vec<Arc<ObjectId>>>) {
        let mut due = Instant::now();
        loop {
            let now = Instant::now();
            if !inputs.leadership.borrow_and_update().holds(now) {
                // The next time it leads, others may have told of some of it: the names of Events keep that apart.
                self.chronicle.rest();
                self.trouble.ceased();
                tokio::select! {
                    changed = inputs.leadership.changed() => if changed.is_err() { return },
                    changed = inputs.served.changed() => if changed.is_err() { return },
                }
                continue;
            }
            if let Some(served) = &*inputs.served.borrow_and_update() {
                let others = contention::findings(&contended.borrow_and_update());
                let suppressed = self.chronicle.update(served, &others, now);
                self.counts.events(EventResult::Suppressed, suppressed);
            }
            // Everything that is waiting goes before anything new is looked at, unless there is something new, or room for what
            // found none.
            loop {
                let is_waiting = self.chronicle.next().is_some();
                tokio::select! {
                    biased;
                    changed = inputs.leadership.changed() => { if changed.is_err() { return } break }
                    changed = inputs.served.changed() => { if changed.is_err() { return } break }
                    changed = contended.changed() => { if changed.is_err() { return } break }
                    () = sleep_until(due), if is_waiting => {}
                }
                let now = Instant::now();
                due = match self.bucket.take(now) {
                    Err(until) => until,
                    Ok(()) => self.announce(now).await,
                };
                if self.chronicle.is_due() {
                    break;
                }
            }
        }
    }

    /// Writes one Event; gives the time for the next.
    async fn announce(&mut self, now: Instant) -> Instant {
        let Some(notice) = self.chronicle.next() else { return now };
        let (written, object) = (self.write(notice).await, notice.regarding.name.clone());
        let result = match written {
            Ok(_) => EventResult::Sent,
            Err(Failure::Exists(_)) if self.chronicle.rename() => return now,
            Err(Failure::Exists(_)) => EventResult::Known,
            // What it is about is gone, or the API will never take it.
            Err(failure @ (Failure::NoNamespace(_) | Failure::Refused(_))) => {
                tracing::debug!("an Event about {object:?} was not written: {failure}");
                EventResult::Failed
            }
            Err(failure) => {
                self.trouble.failed(failure.sort(), &failure);
                let wish = if let Failure::Away { wish, .. } = failure { wish } else { Duration::ZERO };
                let pause = self.pause.max(wish);
                self.pause = (self.pause * 2).min(PAUSE.1);
                self.counts.events(EventResult::Failed, 1);
                // It may be this one alone.
                self.chronicle.defer();
                return Instant::now() + pause;
            }
        };
        self.trouble.worked();
        self.pause = PAUSE.0;
        self.chronicle.spread();
        self.counts.events(result, 1);
        now
    }

    async fn write(&self, notice: &Notice) -> Result<Event, Failure> {
        let events = Api::<Event>::namespaced(self.client.clone(), notice.namespace());
        let event = notice.event(&self.identity, Timestamp::now());
        call(DEADLINE, events.create(&PostParams::default(), &event)).await
    }
}
