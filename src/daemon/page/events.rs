//! Tells open pages that something changed. What changed they ask for like anybody else, so that
//! this costs little however large the cluster is.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::StreamExt as _;
use futures_util::stream::BoxStream;
use http_body_util::StreamBody;
use hyper::body::Frame;
use tokio::sync::watch;
use tokio::time::{Instant, sleep, sleep_until};

use crate::daemon::metrics::Metrics;
use crate::daemon::status::Status;
use ingressd_cluster::publish::{Life, Member, Outlook};

/// How long a stream lasts. The browser opens another one, before this one is ended as too old.
const LONGEST: Duration = Duration::from_secs(25);

/// The least time between two events.
const LEAST: Duration = Duration::from_secs(2);

/// How often it is looked for what nobody reports: other nodes, and requests.
const LOOK: Duration = Duration::from_secs(5);

/// What a page shows, as far as it can be compared cheaply. The status is kept, so that no other
/// list takes the place of one of its lists in memory.
struct Shown {
    status: Arc<Status>,
    members: Vec<(Arc<Member>, Life)>,
    leader: Option<Arc<str>>,
    requests: u64,
}

impl Shown {
    fn of(status: &Arc<Status>, metrics: &Metrics) -> Self {
        let view = status.outlook.as_ref().map(Outlook::view);
        let members = view.iter().flat_map(|view| &view.members);
        let members = members.map(|peer| (Arc::clone(&peer.member), peer.life)).collect();
        let requests = metrics.traffic().requests();
        Shown { status: Arc::clone(status), members, leader: view.and_then(|view| view.leader), requests }
    }

    fn differs(&self, other: &Self) -> bool {
        self.members != other.members
            || self.leader != other.leader
            || self.requests != other.requests
            || differs(&self.status, &other.status)
    }
}

/// Whether a page shows these otherwise. Ages are no difference.
fn differs(one: &Status, other: &Status) -> bool {
    let numbers = |status: &Status| (status.generation, status.served, status.prepared, status.workers, status.master);
    let words = |status: &Status| {
        [&status.why, &status.source_failure, &status.refused_settings, &status.refusal].map(Option::clone)
    };
    let conditions =
        |status: &Status| (status.data_current, status.concluded, status.reported.drained, status.old_workers.draining);
    let in_force = |status: &Status| status.in_force.as_ref().map(Arc::as_ptr);
    one.phase != other.phase
        || numbers(one) != numbers(other)
        || words(one) != words(other)
        || conditions(one) != conditions(other)
        || one.pinned_note() != other.pinned_note()
        || in_force(one) != in_force(other)
        || !Arc::ptr_eq(&one.findings, &other.findings)
        || !Arc::ptr_eq(&one.states, &other.states)
        || !Arc::ptr_eq(&one.certificates, &other.certificates)
        || !Arc::ptr_eq(&one.outcomes, &other.outcomes)
        || !Arc::ptr_eq(&one.watches, &other.watches)
}

/// The body of a response with server-sent events.
pub type Events = StreamBody<BoxStream<'static, Result<Frame<Bytes>, Infallible>>>;

/// A stream of which the connection asks for the next event, and which ends with it.
struct Stream {
    status: watch::Receiver<Arc<Status>>,
    metrics: Arc<Metrics>,
    end: Instant,
    /// What the reader knows; `None` before the first line.
    last: Option<Shown>,
    /// When the next event may be told.
    next: Instant,
}

/// Server-sent events, for as long as somebody reads them.
pub fn follow(status: watch::Receiver<Arc<Status>>, metrics: Arc<Metrics>) -> Events {
    let now = Instant::now();
    let stream = Stream { status, metrics, end: now + LONGEST, last: None, next: now };
    let events = futures_util::stream::unfold(stream, async |mut stream| {
        let words = stream.wait().await?;
        Some((Ok(Frame::data(Bytes::from_static(words.as_bytes()))), stream))
    });
    StreamBody::new(events.boxed())
}

impl Stream {
    /// The next event; `None` at the end.
    async fn wait(&mut self) -> Option<&'static str> {
        let Some(last) = &self.last else {
            self.last = Some(Shown::of(&self.status.borrow_and_update(), &self.metrics));
            // The first line tells the browser how soon to come again.
            return Some("retry: 1000\n\n");
        };
        sleep_until(self.end.min(self.next)).await;
        loop {
            tokio::select! {
                changed = self.status.changed() => changed.ok()?,
                () = sleep(LOOK) => {}
                () = sleep_until(self.end) => return None,
            }
            let now = Shown::of(&self.status.borrow_and_update(), &self.metrics);
            if now.differs(last) {
                (self.last, self.next) = (Some(now), Instant::now() + LEAST);
                return Some("event: changed\ndata: 1\n\n");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::daemon::status::Phase;

    #[test]
    fn ages_are_no_change_and_what_is_shown_is_one() {
        let status = Status::default();
        let metrics = Metrics::default();
        let shown = |status: Status| Shown::of(&Arc::new(status), &metrics);
        let now = Some(std::time::Instant::now());
        assert!(!shown(Status { data_read: now, ..status.clone() }).differs(&shown(status.clone())));
        for changed in [
            Status { phase: Phase::Serving, ..status.clone() },
            Status { served: Some(2), ..status.clone() },
            Status { why: Some("disk full".into()), ..status.clone() },
            Status { data_current: true, ..status.clone() },
        ] {
            assert!(shown(changed.clone()).differs(&shown(status.clone())), "{changed:?}");
        }
        let before = shown(status.clone());
        metrics.traffic().count("a.example - - 200 GET 0.100 9 1 -");
        assert!(shown(status).differs(&before), "a request");
    }
}
