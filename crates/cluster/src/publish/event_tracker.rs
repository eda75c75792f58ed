//! Decides which Events are due: one for each new finding, and one for each version of an object
//! that begins to be served.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use super::address::Address;
use super::bucket::Bucket;
use super::notice::{Notice, place_and_note};
use super::queue::{Priority, Queue};
use super::served::Served;
use ingressd_model::finding::{Finding, Severity, limit};
use ingressd_model::{ObjectId, ObjectState, ServedVersion};
use ingressd_objects::Version;

/// How many findings of one object become Events at once, however many the settings show
/// elsewhere.
const MOST_OF_OBJECT: usize = 24;

/// The burst of Events about one object, including the one about suppressed Events, and the time
/// until one more is allowed.
const PER_OBJECT: (u32, Duration) = (MOST_OF_OBJECT as u32 + 1, Duration::from_secs(60));

/// A finding that appears so soon after this node became leader may be older than that, because
/// findings are not all made at once.
const SETTLING: Duration = Duration::from_secs(60);

/// How long a finding has to last until it is told. What is created together arrives over several
/// watches in any order, so that something seems to be missing for a moment.
const LASTING: Duration = Duration::from_secs(2);

/// For how many findings the number of returns is remembered, and for how many objects the rate.
const MOST_REMEMBERED: usize = 10_000;

/// What was reported, and the queue of Events. A notice that does not fit into the queue counts as
/// not reported, and is made again when there is room.
#[derive(Debug, Default)]
pub struct EventTracker {
    reported: HashSet<Finding>,
    /// Findings that are not told yet, and since when each exists.
    unreported: HashMap<Finding, Instant>,
    /// When the first finding that has not lasted for long enough will have.
    ripe: Option<Instant>,
    /// How often each finding that was reported before came back.
    returned: HashMap<Finding, u32>,
    /// The longest time without any leader before this node became leader.
    leaderless: Duration,
    /// When this node became leader.
    first: Option<Instant>,
    /// The findings at the last look.
    findings: Option<Arc<[Finding]>>,
    others: Vec<Finding>,
    /// Namespaces with a warning that did not fit into the queue.
    without_room_for_warnings: HashSet<Arc<str>>,
    /// What was last reported as served of each object (`None` where the first report did not fit
    /// into the queue), and what was served then.
    synced: HashMap<Arc<ObjectId>, Option<Synced>>,
    /// What this node reported when it led before.
    synced_before: HashMap<Arc<ObjectId>, Option<Synced>>,
    states: Option<Arc<[Arc<ObjectState>]>>,
    /// The objects to look at again although their states stay, because what is served of them
    /// could not be told yet.
    unsettled: BTreeSet<Arc<ObjectId>>,
    /// Namespaces with a report of a served version that did not fit into the queue.
    without_room_for_synced: HashSet<Arc<str>>,
    buckets: HashMap<Arc<ObjectId>, Bucket>,
    queue: Queue,
}

/// A version that was reported as served, and whether all its routes were.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Synced {
    version: Version,
    whole: bool,
}

impl EventTracker {
    /// A tracker in which nothing is reported yet. `leaderless` is the longest time without a
    /// leader before this node leads.
    pub fn new(leaderless: Duration) -> Self {
        EventTracker { leaderless, ..EventTracker::default() }
    }

    /// Compares the state with what was reported and queues what is new. Returns the number of
    /// suppressed notices.
    ///
    /// `others` are the findings about publishing.
    pub fn update(&mut self, served: &Served, others: &[Finding], now: Instant) -> usize {
        self.update_findings(served, others, now) + self.update_synced(served, now)
    }

    /// Whether a finding has lasted for long enough, or the queue has room again for notices that
    /// did not fit, so that an update is due although nothing is new.
    pub fn is_due(&self, now: Instant) -> bool {
        self.is_due_for(Priority::Warning, now) || self.is_due_for(Priority::Good, now)
    }

    fn is_due_for(&self, sort: Priority, now: Instant) -> bool {
        if sort == Priority::Warning && self.ripe.is_some_and(|ripe| ripe <= now) {
            return true;
        }
        let namespaces = match sort {
            Priority::Warning => &self.without_room_for_warnings,
            Priority::Good => &self.without_room_for_synced,
        };
        namespaces.iter().any(|namespace| self.queue.has_enough_room(sort, namespace))
    }

    fn update_findings(&mut self, served: &Served, others: &[Finding], now: Instant) -> usize {
        let first = *self.first.get_or_insert(now);
        let is_same = self.findings.as_ref().is_some_and(|known| Arc::ptr_eq(known, &served.findings));
        if is_same && self.others == others && !self.is_due_for(Priority::Warning, now) {
            return 0;
        }
        self.findings = Some(Arc::clone(&served.findings));
        self.others = others.to_vec();
        self.without_room_for_warnings.clear();
        let findings = served.findings.iter().chain(others).filter(|finding| finding.severity > Severity::Info);
        let mut findings: Vec<_> = findings.cloned().collect();
        findings.sort();
        limit(&mut findings, MOST_OF_OBJECT);
        let current: HashSet<&Finding> = findings.iter().collect();
        self.reported.retain(|finding| current.contains(finding));
        self.unreported.retain(|finding, _| current.contains(finding));
        self.ripe = None;
        if self.returned.len() >= MOST_REMEMBERED {
            self.returned.retain(|finding, _| current.contains(finding));
        }
        let mut suppressed = 0;
        for finding in &findings {
            let namespace = &finding.origin.object.namespace;
            if self.reported.contains(finding) {
                continue;
            }
            let since = *self.unreported.entry(finding.clone()).or_insert(now);
            // The previous leader may have told it, also where it ends before this node does.
            if since == first {
                self.returned.entry(finding.clone()).or_insert(0);
            }
            if now < since + LASTING {
                self.ripe = self.ripe.into_iter().chain([since + LASTING]).min();
                continue;
            }
            if !self.queue.has_room(Priority::Warning, namespace) {
                self.without_room_for_warnings.insert(Arc::clone(namespace));
                continue;
            }
            // Findings that exist at first may have been reported by the previous leader, or by
            // this node: they get the same name, so that the API answers that the Event exists.
            let again = if since == first { 0 } else { 1 };
            let occurrence = self.returned.get(finding).map_or(0, |returned| returned + again);
            if let Some(mut notice) = Notice::of_finding(finding, &served.snapshot, occurrence) {
                notice.is_news = since - first >= SETTLING;
                suppressed += self.wait(&finding.origin.object, notice, now);
                self.returned.insert(finding.clone(), occurrence);
            }
            self.unreported.remove(finding);
            self.reported.insert(finding.clone());
        }
        suppressed
    }

    fn update_synced(&mut self, served: &Served, now: Instant) -> usize {
        let mut suppressed = 0;
        if !served.confirmed || !served.serving {
            return 0;
        }
        // Changes by others to objects that are served do not matter here.
        let is_same = self.states.as_ref().is_some_and(|known| Arc::ptr_eq(known, &served.states));
        if is_same && !self.is_due_for(Priority::Good, now) {
            return 0;
        }
        let before = self.states.replace(Arc::clone(&served.states)).unwrap_or_default();
        self.without_room_for_synced.clear();
        let mut causes = None;
        let differing = ObjectState::differences(&before, &served.states);
        let differing = differing.map(|either| Arc::clone(&either.reduce(|_, state| state).id));
        let mut looked_at = std::mem::take(&mut self.unsettled);
        looked_at.extend(differing);
        for id in &looked_at {
            let before = self.synced.remove(id);
            let state = ObjectState::find(&served.states, id);
            let in_place = state.and_then(|state| Some((state, state.served.as_ref()?)));
            let Some((state, in_place)) = in_place.filter(|(_, in_place)| in_place.what.served > 0) else { continue };
            let Some(version) = served.snapshot.version(id) else {
                self.unsettled.insert(Arc::clone(id));
                continue;
            };
            let published = served.snapshot.published_in(id);
            let before = before.or_else(|| {
                let reported = self.synced_before.get(id).and_then(Option::as_ref);
                let reported = reported.filter(|reported| reported.version == in_place.what.version).cloned();
                let is_old = || self.is_old(in_place, &served.published(id), now);
                reported.or_else(|| is_old().then(|| Synced::of(in_place))).map(Some)
            });
            // Skipped: an earlier version is served in its place, or a newer one was read
            // meanwhile.
            if *version != in_place.what.version {
                self.synced.extend(before.map(|before| (Arc::clone(id), before)));
                self.unsettled.insert(Arc::clone(id));
                continue;
            }
            let now_served = Synced::of(in_place);
            // What goes wrong later has its own Event; that all is well again is told here.
            let is_news = match before.as_ref().and_then(Option::as_ref) {
                Some(reported) => reported.version != *version || (now_served.whole && !reported.whole),
                None => true,
            };
            let mut reported = match (is_news, &before) {
                (false, Some(before)) => before.clone(),
                _ => Some(now_served),
            };
            if is_news && !self.queue.has_room(Priority::Good, &id.namespace) {
                self.without_room_for_synced.insert(Arc::clone(&id.namespace));
                self.unsettled.insert(Arc::clone(id));
                reported = before.flatten();
            } else if is_news {
                let causes = causes.get_or_insert_with(|| causes_of_503(&served.findings));
                let note = served_note(in_place, causes.get(&**id).copied());
                let revision = published.and_then(|published| published.revision.as_deref()).unwrap_or_default();
                let reported = [&*version.0, revision, if in_place.what.answering_503() > 0 { "503" } else { "" }];
                if let Some(notice) = Notice::synced(state, &served.snapshot, &reported, &note) {
                    suppressed += self.wait(id, notice, now);
                }
            }
            self.synced.insert(Arc::clone(id), reported);
        }
        self.synced_before.clear();
        suppressed
    }

    /// Whether the previous leader has reported that this version is served. It has if the object
    /// has an address, unless there may have been no leader when this node began to serve it.
    fn is_old(&self, served: &ServedVersion, published: &[Address], now: Instant) -> bool {
        let age = served.since.map_or(Duration::ZERO, |since| now.into_std().saturating_duration_since(since));
        !published.is_empty() && (served.is_earlier || age >= self.leaderless)
    }

    /// Queues a notice unless there were too many about the object. Returns how many were
    /// suppressed.
    fn wait(&mut self, id: &Arc<ObjectId>, notice: Notice, now: Instant) -> usize {
        if self.buckets.len() >= MOST_REMEMBERED {
            self.buckets.retain(|_, bucket| !bucket.is_full(now));
        }
        let bucket = self.buckets.entry(Arc::clone(id)).or_insert_with(|| Bucket::new(PER_OBJECT.0, PER_OBJECT.1));
        if bucket.take(now).is_err() {
            return 1;
        }
        self.queue.push(notice);
        0
    }

    /// When the next notice may be written, or the next finding has lasted for long enough: `None`
    /// when there is neither. A time in the past means now.
    pub fn due(&self, now: Instant) -> Option<Instant> {
        self.queue.due(now).into_iter().chain(self.ripe).min()
    }

    /// Takes the next notice. One that is not written has to be put back.
    pub fn take(&mut self, now: Instant) -> Option<Notice> {
        self.queue.take(now)
    }

    /// Puts a notice back that was not written.
    pub fn put_back(&mut self, notice: Notice) {
        self.queue.push(notice);
    }

    /// Puts a notice back that could not be written: all others of its namespace go first, and
    /// none of the namespace is written before that time. The Event may exist all the same.
    pub fn defer(&mut self, mut notice: Notice, until: Instant) {
        notice.is_news = false;
        self.queue.rest(notice.regarding.namespace.clone().unwrap_or_default(), until);
        self.queue.push(notice);
    }

    /// Clears what is reported, because this node leads no longer. The next leader reports the
    /// state under the same names; the counters go on. What is served has other names once its
    /// status is written: when this node leads again, it does not report that a second time.
    pub fn rest(&mut self) {
        let synced = std::mem::take(&mut self.synced);
        *self = EventTracker {
            returned: std::mem::take(&mut self.returned),
            synced_before: if synced.is_empty() { std::mem::take(&mut self.synced_before) } else { synced },
            ..EventTracker::new(self.leaderless)
        };
    }
}

impl Synced {
    fn of(ServedVersion { what, .. }: &ServedVersion) -> Self {
        Synced { version: what.version.clone(), whole: what.answering_503() == 0 }
    }
}

/// What nginx serves of an object, and the first cause where some of it answers 503.
fn served_note(ServedVersion { what, .. }: &ServedVersion, cause: Option<&Finding>) -> String {
    let (routes, closed) = (what.served.saturating_add(what.closed), what.answering_503());
    match (closed, cause) {
        (0, _) => "nginx serves it".to_owned(),
        (_, None) => format!("nginx passes no request on for {closed} of {routes} routes; see the other Events"),
        (_, Some(cause)) => format!("nginx answers 503 on {closed} of {routes} routes: {}", place_and_note(cause)),
    }
}

/// The first finding of each object whose routes answer 503 because of it.
fn causes_of_503(findings: &[Finding]) -> HashMap<&ObjectId, &Finding> {
    let closes = |finding: &&Finding| finding.severity > Severity::Info && finding.closes_routes();
    // The first one of an object remains.
    findings.iter().rev().filter(closes).map(|finding| (&*finding.origin.object, finding)).collect()
}

#[cfg(test)]
mod tests;
