//! What is news: each finding when it appears, each version of an object when it is served; it must not know how news is spread.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use super::bucket::Bucket;
use super::ledger::published;
use super::notice::Notice;
use super::served::{Carried, Served};
use crate::finding::{Finding, Severity};
use crate::model::ObjectId;
use crate::source::Version;

/// Events about one object at once, and how long until one more.
const PER_OBJECT: (u32, Duration) = (20, Duration::from_secs(60));

/// Most notices that wait, and most things of which it is remembered how often they came back.
const MOST_WAITING: usize = 1000;
const MOST_REMEMBERED: usize = 10_000;

/// What was told and what is to be told.
#[derive(Debug, Default)]
pub struct Chronicle {
    told: HashSet<Finding>,
    /// How often something told before came back.
    returned: HashMap<Finding, u32>,
    /// The version of each object that was last told to be served, and what was served then.
    synced: HashMap<Arc<ObjectId>, Version>,
    carried: Option<Arc<[Carried]>>,
    buckets: HashMap<Arc<ObjectId>, Bucket>,
    waiting: VecDeque<Notice>,
}

impl Chronicle {
    /// Takes note of what is true now; what is news waits to be spread. Gives the number of notices that were suppressed.
    ///
    /// `others` are findings that do not come from the daemon's rooms.
    pub fn update(&mut self, served: &Served, others: &[Finding], now: Instant) -> usize {
        let mut suppressed = 0;
        let findings = served.findings.iter().chain(others).filter(|finding| finding.severity > Severity::Info);
        let current: HashSet<Finding> = findings.cloned().collect();
        let mut news: Vec<_> = current.difference(&self.told).cloned().collect();
        news.sort();
        for finding in news {
            let occurrence = self.returned.get(&finding).map_or(0, |returned| returned + 1);
            if let Some(notice) = Notice::of_finding(&finding, &served.snapshot, occurrence) {
                suppressed += self.wait(&finding.origin.object, notice, now);
                if self.returned.len() >= MOST_REMEMBERED {
                    self.returned.retain(|finding, _| current.contains(finding));
                }
                self.returned.insert(finding, occurrence);
            }
        }
        self.told = current;
        suppressed + self.update_synced(served, now)
    }

    fn update_synced(&mut self, served: &Served, now: Instant) -> usize {
        let mut suppressed = 0;
        let Some(carried) = served.carried.as_ref().filter(|_| served.serving) else { return 0 };
        // What others write into thousands of objects changes nothing here.
        if self.carried.as_ref().is_some_and(|known| Arc::ptr_eq(known, carried)) {
            return 0;
        }
        self.carried = Some(Arc::clone(carried));
        let mut synced = HashMap::with_capacity(carried.len());
        for carried in carried.iter() {
            let id = &carried.id;
            let Some(stored) = served.snapshot.ingresses.find(&id.namespace, &id.name) else { continue };
            let before = self.synced.remove(id);
            // An earlier version is served in its place, or a newer one was read meanwhile.
            if stored.version != carried.version {
                synced.extend(before.map(|before| (Arc::clone(id), before)));
                continue;
            }
            // After a start: what has an address was told to be served by whoever wrote it.
            let is_news = match &before {
                Some(before) => *before != stored.version,
                None => published(&stored.object).0.is_empty(),
            };
            if is_news {
                let note = format!("{id}: nginx serves it");
                if let Some(notice) = Notice::synced(id, &served.snapshot, &stored.version.0, &note) {
                    suppressed += self.wait(id, notice, now);
                }
            }
            synced.insert(Arc::clone(id), stored.version.clone());
        }
        self.synced = synced;
        suppressed
    }

    /// Queues a notice unless there were too many; gives how many were suppressed.
    fn wait(&mut self, id: &Arc<ObjectId>, notice: Notice, now: Instant) -> usize {
        if self.buckets.len() >= MOST_REMEMBERED {
            self.buckets.retain(|_, bucket| !bucket.is_full(now));
        }
        let bucket = self.buckets.entry(Arc::clone(id)).or_insert_with(|| Bucket::new(PER_OBJECT.0, PER_OBJECT.1));
        if bucket.take(now).is_err() || self.waiting.len() >= MOST_WAITING {
            return 1;
        }
        self.waiting.push_back(notice);
        0
    }

    /// The notice that waits longest.
    pub fn next(&self) -> Option<&Notice> {
        self.waiting.front()
    }

    /// It cannot be spread now: all others go first.
    pub fn defer(&mut self) {
        self.waiting.rotate_left(1.min(self.waiting.len()));
    }

    /// It was spread, or nothing will come of it.
    pub fn spread(&mut self) {
        self.waiting.pop_front();
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::networking::v1::{Ingress, IngressLoadBalancerIngress};

    use super::*;
    use crate::finding::Reason;
    use crate::model::{Field, Kind, Origin};
    use crate::source::{Snapshot, Stored};

    fn finding(name: &str, note: &str) -> Finding {
        let id = Arc::new(ObjectId::new(Kind::Ingress, "shop", name));
        Finding::new(Reason::MissingService, Origin::field(&id, Field::Rule(0)), note)
    }

    fn spread(chronicle: &mut Chronicle) -> Vec<String> {
        let notices = std::mem::take(&mut chronicle.waiting);
        notices
            .iter()
            .map(|notice| format!("{} {} {}", notice.reason, notice.regarding.name.as_deref().unwrap(), notice.name))
            .collect()
    }

    #[test]
    fn a_finding_is_told_when_it_appears_and_when_it_comes_back() {
        let now = Instant::now();
        let mut chronicle = Chronicle::default();
        let with = |findings: &[Finding]| Served { findings: findings.into(), ..Served::default() };
        let (a, b) = (finding("a", "x"), finding("b", "x"));
        let info = Finding { severity: Severity::Info, ..finding("c", "x") };
        let host =
            Finding::new(Reason::NginxDown, Origin::object(&Arc::new(ObjectId::new(Kind::Host, "", "nginx"))), "x");
        assert_eq!(chronicle.update(&with(&[a.clone(), info, host]), &[], now), 0);
        let first = spread(&mut chronicle);
        assert!(first.len() == 1 && first[0].starts_with("MissingService a a."), "{first:?}");
        chronicle.update(&with(std::slice::from_ref(&a)), std::slice::from_ref(&b), now);
        assert_eq!(spread(&mut chronicle).len(), 1, "only what is new");
        chronicle.update(&with(&[]), std::slice::from_ref(&b), now);
        chronicle.update(&with(&[a]), &[b], now);
        let again = spread(&mut chronicle);
        assert!(again.len() == 1 && again != first, "{again:?}");
    }

    #[test]
    fn one_object_cannot_fill_the_cluster_with_events() {
        let now = Instant::now();
        let mut chronicle = Chronicle::default();
        let mut findings: Vec<_> = (0..30).map(|number| finding("a", &number.to_string())).collect();
        findings.push(finding("b", "x"));
        let suppressed = chronicle.update(&Served { findings: findings.into(), ..Served::default() }, &[], now);
        assert_eq!((suppressed, spread(&mut chronicle).len()), (10, 21));
        let later = Served { findings: [finding("a", "later")].into(), ..Served::default() };
        assert_eq!(chronicle.update(&later, &[], now + PER_OBJECT.1), 0);
    }

    fn serving(version: &str, carried: &str, has_address: bool) -> Served {
        let id = Arc::new(ObjectId::new(Kind::Ingress, "shop", "a"));
        let mut object = Ingress::default();
        if has_address {
            let entry = IngressLoadBalancerIngress { ip: Some("192.0.2.1".into()), ..Default::default() };
            object.status.get_or_insert_default().load_balancer.get_or_insert_default().ingress = Some(vec![entry]);
        }
        let version = Version(version.into());
        let stored = Stored { id: Arc::clone(&id), version, object: Arc::new(object), place: None };
        let carried = Carried { id, version: Version(carried.into()), since: std::time::Instant::now() };
        let snapshot = Arc::new(Snapshot { ingresses: vec![stored].into(), ..Snapshot::default() });
        Served { snapshot, carried: Some([carried].into()), serving: true, ..Served::default() }
    }

    #[test]
    fn each_version_is_told_to_be_served_once() {
        let now = Instant::now();
        let mut chronicle = Chronicle::default();
        for (what, served, expected) in [
            ("a new version that is not served yet", serving("2", "1", false), 0),
            ("a new object", serving("2", "2", false), 1),
            ("the same, with the address that we wrote", serving("2", "2", true), 0),
            ("a new version, not served", serving("3", "2", true), 0),
            ("a new version", serving("3", "3", true), 1),
            ("nginx is down", Served { serving: false, ..serving("4", "4", true) }, 0),
            ("it is up again", serving("4", "4", true), 1),
        ] {
            chronicle.update(&served, &[], now);
            assert_eq!(spread(&mut chronicle).len(), expected, "{what}");
        }
        // A new leader does not repeat what the one before told.
        let mut chronicle = Chronicle::default();
        chronicle.update(&serving("4", "4", true), &[], now);
        assert_eq!(spread(&mut chronicle).len(), 0);
    }
}
