//! Leader election: decides the next action on the leader's Lease, from what was seen of it and
//! when.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use tokio::time::Instant;

use super::options::Timing;

/// The longest time for which a record is believed that does not change, unless our own is valid
/// for longer: the Lease of a leader that died may have any duration.
const LONGEST: Duration = Duration::from_secs(600);

/// The content of the leader's Lease.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Record {
    /// The holder; `None` when the Lease was released.
    pub holder: Option<Arc<str>>,
    /// When its holder acquired it, by the holder's clock.
    pub acquired: Option<Timestamp>,
    /// When its holder last renewed it, by the holder's clock.
    pub renewed: Option<Timestamp>,
    /// How often the holder changed.
    pub transitions: i32,
    /// How long the holder wants it to be valid.
    pub duration: Duration,
}

impl Record {
    /// Reads the content of the Lease.
    pub fn read(lease: &Lease) -> Self {
        let Some(spec) = &lease.spec else { return Record::default() };
        let seconds = spec.lease_duration_seconds.and_then(|seconds| u64::try_from(seconds).ok());
        Record {
            holder: spec.holder_identity.as_deref().filter(|holder| !holder.is_empty()).map(Arc::from),
            acquired: spec.acquire_time.as_ref().map(|time| time.0),
            renewed: spec.renew_time.as_ref().map(|time| time.0),
            transitions: spec.lease_transitions.unwrap_or_default(),
            duration: Duration::from_secs(seconds.unwrap_or_default()),
        }
    }

    /// Writes the content into a Lease and leaves all other fields as they are.
    pub fn write(&self, lease: &mut Lease) {
        let kept = lease.spec.take().unwrap_or_default();
        lease.spec = Some(LeaseSpec {
            holder_identity: Some(self.holder.as_deref().unwrap_or_default().to_owned()),
            acquire_time: self.acquired.map(MicroTime),
            renew_time: self.renewed.map(MicroTime),
            lease_transitions: Some(self.transitions),
            lease_duration_seconds: Some(i32::try_from(self.duration.as_secs()).unwrap_or(i32::MAX)),
            ..kept
        });
    }
}

/// What was last seen of the Lease.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Observed {
    /// Its content; `None` when it did not exist.
    pub record: Option<Record>,
    /// When its content was last seen to change.
    pub changed: Instant,
    /// Whether it may have changed since, so that it has to be read before it can be written.
    pub stale: bool,
}

/// The state of this candidate.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct State {
    /// What was seen of the Lease; `None` before the first look.
    pub observed: Option<Observed>,
    /// When the request began that last made this node the leader or kept it so.
    pub renewed: Option<Instant>,
    /// When the Lease was last read, or a write was tried.
    pub tried: Option<Instant>,
}

/// What to do next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// Read the Lease.
    Read,
    /// Write a record over the one that was seen, provided that the Lease is unchanged; create the
    /// Lease when there is none.
    Write {
        /// Whether the holder changes, so that its time of acquisition is now.
        takes: bool,
        /// The number of changes of the holder after the write.
        transitions: i32,
    },
    /// Do nothing until this time.
    Wait(Instant),
}

/// Decides as the controllers of Kubernetes do: a record is valid for its duration after *we* saw
/// it change, whatever times it contains.
pub fn step(now: Instant, us: &str, state: &State, timing: &Timing) -> Action {
    let Some(observed) = &state.observed else {
        return again(now, state.tried, timing, Action::Read);
    };
    if let Some(renewed) = state.renewed.filter(|renewed| now < *renewed + timing.deadline) {
        let due = renewed + timing.renew;
        let transitions = observed.record.as_ref().map_or(0, |record| record.transitions);
        return match (now < due, observed.stale) {
            (true, _) => Action::Wait(due),
            (false, true) => again(now, state.tried, timing, Action::Read),
            (false, false) => Action::Write { takes: false, transitions },
        };
    }
    if observed.stale {
        return again(now, state.tried, timing, Action::Read);
    }
    let Some(record) = &observed.record else { return Action::Write { takes: true, transitions: 0 } };
    match &record.holder {
        // This node held the Lease before, and no other node acquired it meanwhile.
        Some(holder) if **holder == *us => Action::Write { takes: false, transitions: record.transitions },
        Some(_) if now < observed.changed + record.duration.min(LONGEST).max(timing.duration) => {
            again(now, state.tried, timing, Action::Read)
        }
        _ => Action::Write { takes: true, transitions: record.transitions.saturating_add(1) },
    }
}

/// Delays the action until the pause after the last attempt is over.
fn again(now: Instant, tried: Option<Instant>, timing: &Timing, action: Action) -> Action {
    match tried.map(|tried| tried + timing.retry).filter(|due| now < *due) {
        Some(due) => Action::Wait(due),
        None => action,
    }
}

impl State {
    /// Records that the Lease was read: `None` when there is none.
    pub fn read(&mut self, record: Option<Record>, us: &str, now: Instant) {
        let same = self.observed.as_ref().filter(|observed| observed.record == record);
        let changed = same.map_or(now, |observed| observed.changed);
        if record.as_ref().and_then(|record| record.holder.as_deref()) != Some(us) {
            self.renewed = None;
        }
        self.observed = Some(Observed { record, changed, stale: false });
        self.tried = Some(now);
    }

    /// Records that our record was written by a request that began at this time.
    pub fn wrote(&mut self, record: Record, began: Instant) {
        self.renewed = Some(began);
        self.observed = Some(Observed { record: Some(record), changed: began, stale: false });
        self.tried = Some(began);
    }

    /// Records that a request failed, or that another node was faster.
    pub fn failed(&mut self, now: Instant) {
        self.tried = Some(now);
        self.observed.as_mut().into_iter().for_each(|observed| observed.stale = true);
    }
}

/// The identity under which a run of the daemon on a node holds the Lease: two hosts that were
/// copied from one image have the same identity as nodes, and must not lead both.
pub fn holder_of(node: &str, run: &str) -> Arc<str> {
    format!("{node}_{run}").into()
}

/// The node of a holder.
pub(super) fn node_of(holder: &str) -> Arc<str> {
    holder.rsplit_once('_').map_or(holder, |(node, _)| node).into()
}

/// The leader, as far as this node knows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Leadership {
    /// Until when this node leads; `None` when it does not.
    pub until: Option<Instant>,
    /// The node that held the Lease when it was last seen.
    pub holder: Option<Arc<str>>,
}

impl Leadership {
    /// The leader according to this state.
    pub fn of(state: &State, timing: &Timing) -> Self {
        let record = state.observed.as_ref().and_then(|observed| observed.record.as_ref());
        Leadership {
            until: state.renewed.map(|renewed| renewed + timing.deadline),
            holder: record.and_then(|record| record.holder.as_deref().map(node_of)),
        }
    }

    /// Whether this node leads now.
    pub fn holds(&self, now: Instant) -> bool {
        self.until.is_some_and(|until| now < until)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const US: &str = "us_1";

    fn record(holder: Option<&str>) -> Option<Record> {
        let duration = Duration::from_secs(15);
        Some(Record { holder: holder.map(Arc::from), transitions: 3, duration, ..Record::default() })
    }

    #[test]
    fn what_is_done_follows_from_what_was_seen_and_when() {
        let timing = Timing::of(Duration::from_secs(15));
        // Long enough after the clock's start for all times to lie in its past.
        let now = Instant::now() + Duration::from_secs(1000);
        let ago = |seconds: u64| now - Duration::from_secs(seconds);
        let wait = |seconds: u64| Action::Wait(now + Duration::from_secs(seconds));
        let take = |transitions| Action::Write { takes: true, transitions };
        let renew = Action::Write { takes: false, transitions: 3 };
        let (other, ours) = (|| record(Some("other_2")), || record(Some(US)));
        // Each row: what was seen, how long ago it changed, whether it is stale; when we renewed;
        // when we tried last; the expected action.
        for (what, observed, renewed, tried, expected) in [
            ("nothing seen yet", None, None, None, Action::Read),
            ("nothing seen, just tried", None, None, Some(1), wait(1)),
            ("nothing seen, tried", None, None, Some(2), Action::Read),
            ("no Lease", Some((None, 0, false)), None, Some(0), take(0)),
            ("released", Some((record(None), 0, false)), None, Some(0), take(4)),
            ("just seen to change", Some((other(), 0, false)), None, Some(0), wait(2)),
            ("still fresh", Some((other(), 14, false)), None, Some(2), Action::Read),
            ("expired", Some((other(), 15, false)), None, Some(0), take(4)),
            ("expired, but the last look failed", Some((other(), 15, true)), None, Some(2), Action::Read),
            ("expired, but the last look just failed", Some((other(), 15, true)), None, Some(1), wait(1)),
            ("ours from an earlier run", Some((ours(), 0, false)), None, Some(0), renew.clone()),
            ("ours and fresh", Some((ours(), 1, false)), Some(1), Some(1), wait(4)),
            ("ours and due", Some((ours(), 5, false)), Some(5), Some(5), renew.clone()),
            ("ours, the renewal just failed", Some((ours(), 6, true)), Some(6), Some(1), wait(1)),
            ("ours, the renewal failed", Some((ours(), 7, true)), Some(7), Some(2), Action::Read),
            ("ours, read again", Some((ours(), 7, false)), Some(7), Some(0), renew.clone()),
            ("given up, the API is away", Some((ours(), 10, true)), Some(10), Some(2), Action::Read),
            ("given up, nobody took it", Some((ours(), 60, false)), Some(60), Some(0), renew),
        ] {
            let observed = observed.map(|(record, changed, stale)| Observed { record, changed: ago(changed), stale });
            let state = State { observed, renewed: renewed.map(ago), tried: tried.map(ago) };
            assert_eq!(step(now, US, &state, &timing), expected, "{what}");
        }
    }

    #[test]
    fn a_longer_duration_in_the_record_counts() {
        let timing = Timing::of(Duration::from_secs(15));
        let now = Instant::now() + Duration::from_secs(1000);
        let mut long = record(Some("other_2"));
        long.iter_mut().for_each(|record| record.duration = Duration::from_secs(60));
        let observed = Observed { record: long, changed: now - Duration::from_secs(59), stale: false };
        let mut state = State { observed: Some(observed), renewed: None, tried: None };
        assert_eq!(step(now, US, &state, &timing), Action::Read);
        assert!(matches!(step(now + Duration::from_secs(1), US, &state, &timing), Action::Write { .. }));
        // But not any duration.
        state.observed.iter_mut().filter_map(|seen| seen.record.as_mut()).for_each(|record| {
            record.duration = Duration::from_secs(i32::MAX.unsigned_abs().into());
        });
        let changed = now - Duration::from_secs(59);
        assert_eq!(step(changed + LONGEST - Duration::from_secs(1), US, &state, &timing), Action::Read);
        assert!(matches!(step(changed + LONGEST, US, &state, &timing), Action::Write { .. }));
    }

    #[test]
    fn leadership_ends_by_itself_and_when_somebody_else_holds_the_lease() {
        let timing = Timing::of(Duration::from_secs(15));
        let began = Instant::now();
        let mut state = State::default();
        state.wrote(record(Some(US)).unwrap(), began);
        let leadership = Leadership::of(&state, &timing);
        assert!(leadership.holds(began + Duration::from_millis(9_999)));
        assert!(!leadership.holds(began + Duration::from_secs(10)));
        assert_eq!(leadership.holder.as_deref(), Some("us"), "the node, and not its run");
        // A record that is not exactly ours does not count as ours.
        state.read(record(Some("other_2")), US, began + Duration::from_secs(1));
        assert_eq!(Leadership::of(&state, &timing).until, None);
    }

    #[test]
    fn only_a_change_that_we_see_counts_as_a_sign_of_life() {
        let began = Instant::now();
        let mut state = State::default();
        let mut seen = record(Some("other_2"));
        state.read(seen.clone(), US, began);
        state.read(seen.clone(), US, began + Duration::from_secs(4));
        assert_eq!(state.observed.as_ref().unwrap().changed, began);
        // The other node's clock stands still in the past, and yet it renewed.
        seen.iter_mut().for_each(|record| record.renewed = Some(Timestamp::UNIX_EPOCH));
        state.read(seen, US, began + Duration::from_secs(8));
        assert_eq!(state.observed.unwrap().changed, began + Duration::from_secs(8));
    }

    #[test]
    fn a_record_keeps_what_it_does_not_know_of_a_lease() {
        let mut lease = Lease::default();
        lease.spec.get_or_insert_default().strategy = Some("OldestEmulationVersion".into());
        let written = Record { acquired: Some(Timestamp::UNIX_EPOCH), ..record(Some(US)).unwrap() };
        written.write(&mut lease);
        assert_eq!(Record::read(&lease), written);
        assert_eq!(lease.spec.as_ref().unwrap().strategy.as_deref(), Some("OldestEmulationVersion"));
        Record { holder: None, ..written }.write(&mut lease);
        assert_eq!(Record::read(&lease).holder, None);
    }
}
