//! Decides which Events are due: one for each new finding, and one for each version of an object
//! that begins to be served.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use super::bucket::Bucket;
use super::notice::{Notice, place_and_note};
use super::queue::{Priority, Queue};
use super::served::{Confirmed, Served};
use super::status::published_addresses;
use ingressd_model::ObjectId;
use ingressd_model::finding::{Finding, Severity, limit};
use ingressd_objects::{Published, Version};

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
pub struct Chronicle {
    told: HashSet<Finding>,
    /// Findings that are not told yet, and since when each exists.
    untold: HashMap<Finding, Instant>,
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
    crowded_out_warnings: HashSet<Arc<str>>,
    /// What was last reported as served of each object (`None` where the first report did not fit
    /// into the queue), and what was served then.
    synced: HashMap<Arc<ObjectId>, Option<Synced>>,
    /// What this node reported when it led before.
    synced_before: HashMap<Arc<ObjectId>, Option<Synced>>,
    confirmed: Option<Arc<[Confirmed]>>,
    /// Namespaces with a report of a served version that did not fit into the queue.
    crowded_out_synced: HashSet<Arc<str>>,
    buckets: HashMap<Arc<ObjectId>, Bucket>,
    queue: Queue,
}

/// A version that was reported as served, and whether all its routes were.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Synced {
    version: Version,
    whole: bool,
}

impl Chronicle {
    /// A chronicle in which nothing is reported yet. `leaderless` is the longest time without a
    /// leader before this node leads.
    pub fn new(leaderless: Duration) -> Self {
        Chronicle { leaderless, ..Chronicle::default() }
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
            Priority::Warning => &self.crowded_out_warnings,
            Priority::Good => &self.crowded_out_synced,
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
        self.crowded_out_warnings.clear();
        let findings = served.findings.iter().chain(others).filter(|finding| finding.severity > Severity::Info);
        let mut findings: Vec<_> = findings.cloned().collect();
        findings.sort();
        limit(&mut findings, MOST_OF_OBJECT);
        let current: HashSet<&Finding> = findings.iter().collect();
        self.told.retain(|finding| current.contains(finding));
        self.untold.retain(|finding, _| current.contains(finding));
        self.ripe = None;
        if self.returned.len() >= MOST_REMEMBERED {
            self.returned.retain(|finding, _| current.contains(finding));
        }
        let mut suppressed = 0;
        for finding in &findings {
            let namespace = &finding.origin.object.namespace;
            if self.told.contains(finding) {
                continue;
            }
            let since = *self.untold.entry(finding.clone()).or_insert(now);
            // The previous leader may have told it, also where it ends before this node does.
            if since == first {
                self.returned.entry(finding.clone()).or_insert(0);
            }
            if now < since + LASTING {
                self.ripe = self.ripe.into_iter().chain([since + LASTING]).min();
                continue;
            }
            if !self.queue.has_room(Priority::Warning, namespace) {
                self.crowded_out_warnings.insert(Arc::clone(namespace));
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
            self.untold.remove(finding);
            self.told.insert(finding.clone());
        }
        suppressed
    }

    fn update_synced(&mut self, served: &Served, now: Instant) -> usize {
        let mut suppressed = 0;
        let Some(confirmed) = served.confirmed.as_ref().filter(|_| served.serving) else { return 0 };
        // Changes by others to objects that are served do not matter here.
        let is_same = self.confirmed.as_ref().is_some_and(|known| Arc::ptr_eq(known, confirmed));
        if is_same && !self.is_due_for(Priority::Good, now) {
            return 0;
        }
        self.confirmed = Some(Arc::clone(confirmed));
        self.crowded_out_synced.clear();
        let mut synced = HashMap::with_capacity(confirmed.len());
        let mut causes = None;
        for confirmed in confirmed.iter() {
            let id = &confirmed.id;
            let Some(version) = served.snapshot.version(id) else { continue };
            let published = served.snapshot.published_in(id);
            let before = self.synced.remove(id);
            let before = before.or_else(|| {
                let reported = self.synced_before.get(id).and_then(Option::as_ref);
                let reported = reported.filter(|told| told.version == confirmed.version).cloned();
                let is_old = || self.is_old(confirmed, published, now);
                reported.or_else(|| is_old().then(|| Synced::of(confirmed))).map(Some)
            });
            // Skipped: an earlier version is served in its place, or a newer one was read
            // meanwhile.
            if *version != confirmed.version {
                synced.extend(before.map(|before| (Arc::clone(id), before)));
                continue;
            }
            let now_served = Synced::of(confirmed);
            // What goes wrong later has its own Event; that all is well again is told here.
            let is_news = match before.as_ref().and_then(Option::as_ref) {
                Some(told) => told.version != *version || (now_served.whole && !told.whole),
                None => true,
            };
            let mut told = match (is_news, &before) {
                (false, Some(before)) => before.clone(),
                _ => Some(now_served),
            };
            if is_news && !self.queue.has_room(Priority::Good, &id.namespace) {
                self.crowded_out_synced.insert(Arc::clone(&id.namespace));
                told = before.flatten();
            } else if is_news {
                let causes = causes.get_or_insert_with(|| causes_of_503(&served.findings));
                let note = served_note(confirmed, causes.get(&**id).copied());
                let revision = published.and_then(|published| published.revision.as_deref()).unwrap_or_default();
                let told = [&*version.0, revision, if confirmed.closed > 0 { "503" } else { "" }];
                if let Some(notice) = Notice::synced(id, &served.snapshot, &told, &note) {
                    suppressed += self.wait(id, notice, now);
                }
            }
            synced.insert(Arc::clone(id), told);
        }
        self.synced = synced;
        self.synced_before.clear();
        suppressed
    }

    /// Whether the previous leader has reported that this version is served. It has if the object
    /// has an address, unless there may have been no leader when this node began to serve it.
    fn is_old(&self, confirmed: &Confirmed, published: Option<&Published>, now: Instant) -> bool {
        let age = now.into_std().saturating_duration_since(confirmed.since);
        !published_addresses(published).0.is_empty() && (confirmed.earlier || age >= self.leaderless)
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
        *self = Chronicle {
            returned: std::mem::take(&mut self.returned),
            synced_before: if synced.is_empty() { std::mem::take(&mut self.synced_before) } else { synced },
            ..Chronicle::new(self.leaderless)
        };
    }
}

impl Synced {
    fn of(confirmed: &Confirmed) -> Self {
        Synced { version: confirmed.version.clone(), whole: confirmed.closed == 0 }
    }
}

/// What nginx serves of an object, and the first cause where some of it answers 503.
fn served_note(confirmed: &Confirmed, cause: Option<&Finding>) -> String {
    let Confirmed { routes, closed, .. } = confirmed;
    match (closed, cause) {
        (0, _) => "nginx serves it".to_owned(),
        (_, None) => format!("nginx passes no request on for {closed} of {routes} routes; see the other Events"),
        (_, Some(cause)) => format!("nginx answers 503 on {closed} of {routes} routes: {}", place_and_note(cause)),
    }
}

/// The first finding of each object whose routes answer 503 because of it.
fn causes_of_503(findings: &[Finding]) -> HashMap<&ObjectId, &Finding> {
    let closes = |finding: &&Finding| finding.severity > Severity::Info && finding.effect().contains("503");
    // The first one of an object remains.
    findings.iter().rev().filter(closes).map(|finding| (&*finding.origin.object, finding)).collect()
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::networking::v1::IngressLoadBalancerIngress;

    use super::*;
    use ingressd_model::finding::Reason;
    use ingressd_model::{Field, Kind, Origin};
    use ingressd_objects::{Ingress, Snapshot, Stored};

    fn finding(name: &str, note: &str) -> Finding {
        let id = Arc::new(ObjectId::new(Kind::Ingress, "shop", name));
        Finding::new(Reason::MissingService, Origin::field(&id, Field::Rule(0)), note)
    }

    /// A look, and another one when what is wrong has lasted for long enough.
    fn look(chronicle: &mut Chronicle, served: &Served, others: &[Finding], now: Instant) -> usize {
        chronicle.update(served, others, now) + chronicle.update(served, others, now + LASTING)
    }

    fn spread(chronicle: &mut Chronicle) -> Vec<String> {
        let now = Instant::now() + SETTLING * 100;
        let notices = std::iter::from_fn(|| chronicle.queue.take(now));
        notices
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
        assert_eq!(look(&mut chronicle, &with(&[a.clone(), info, host]), &[], now), 0);
        let first = spread(&mut chronicle);
        assert!(first.len() == 1 && first[0].starts_with("MissingService a a."), "{first:?}");
        look(&mut chronicle, &with(std::slice::from_ref(&a)), std::slice::from_ref(&b), now + LASTING);
        assert_eq!(spread(&mut chronicle).len(), 1, "only what is new");
        chronicle.update(&with(&[]), std::slice::from_ref(&b), now + LASTING);
        look(&mut chronicle, &with(&[a]), &[b], now + LASTING);
        let again = spread(&mut chronicle);
        assert!(again.len() == 1 && again != first, "{again:?}");
    }

    #[test]
    fn what_ends_at_once_is_not_told_and_nothing_else_has_to_happen_for_what_lasts() {
        let now = Instant::now();
        let mut chronicle = Chronicle::default();
        let with = |findings: &[Finding]| Served { findings: findings.into(), ..Served::default() };
        let (short, long) = (finding("short", "there is no IngressClass"), finding("long", "x"));
        chronicle.update(&with(&[short, long.clone()]), &[], now);
        let served = with(&[long]);
        chronicle.update(&served, &[], now + LASTING / 2);
        assert_eq!((chronicle.take(now), chronicle.is_due(now + LASTING / 2)), (None, false));
        assert_eq!((chronicle.due(now), chronicle.is_due(now + LASTING)), (Some(now + LASTING), true));
        chronicle.update(&served, &[], now + LASTING);
        let told = spread(&mut chronicle);
        assert!(told.len() == 1 && told[0].starts_with("MissingService long "), "{told:?}");
        assert_eq!((chronicle.due(now), chronicle.is_due(now + LASTING)), (None, false));
    }

    #[test]
    fn what_an_earlier_leader_may_have_told_is_told_anew_when_it_comes_back() {
        let now = Instant::now();
        let with = |findings: &[Finding]| Served { findings: findings.into(), ..Served::default() };
        let found = with(&[finding("a", "x")]);
        let (mut earlier, mut chronicle) = (Chronicle::default(), Chronicle::default());
        look(&mut earlier, &found, &[], now);
        chronicle.update(&found, &[], now);
        chronicle.update(&with(&[]), &[], now + LASTING / 2);
        look(&mut chronicle, &found, &[], now + LASTING);
        let (told, again) = (spread(&mut earlier), spread(&mut chronicle));
        assert!(told.len() == 1 && again.len() == 1 && told != again, "{told:?} {again:?}");
    }

    #[test]
    fn names_of_earlier_events_are_passed_over_for_news_that_no_leader_can_have_written() {
        let now = Instant::now();
        let mut chronicle = Chronicle::default();
        let with = |findings: &[Finding]| Served { findings: findings.into(), ..Served::default() };
        let (old, new) = (finding("old", "x"), finding("new", "x"));
        look(&mut chronicle, &with(std::slice::from_ref(&old)), &[], now);
        let mut notice = chronicle.take(now).unwrap();
        assert!(!notice.rename(), "it may have been told by whoever led before");
        look(&mut chronicle, &with(&[old, new]), &[], now + SETTLING);
        let mut notice = chronicle.take(now).unwrap();
        let name = notice.name.clone();
        for number in 1..=9 {
            assert!(notice.rename());
            assert_eq!(notice.name, format!("{name}.{number}"));
        }
        assert!(!notice.rename(), "not for ever");
        look(&mut chronicle, &with(&[finding("newer", "x")]), &[], now + SETTLING);
        let notice = chronicle.take(now).unwrap();
        chronicle.defer(notice, now + SETTLING);
        assert_eq!((chronicle.take(now), chronicle.due(now)), (None, Some(now + SETTLING)), "its namespace rests");
        let mut notice = chronicle.take(now + SETTLING).unwrap();
        assert!(!notice.rename(), "it may have been spread when no answer came");
    }

    #[test]
    fn one_object_cannot_fill_the_cluster_with_events() {
        let now = Instant::now();
        let mut chronicle = Chronicle::default();
        let mut findings: Vec<_> = (0..30).map(|number| finding("a", &number.to_string())).collect();
        findings.push(finding("b", "x"));
        let suppressed = look(&mut chronicle, &Served { findings: findings.into(), ..Served::default() }, &[], now);
        let told = spread(&mut chronicle);
        assert_eq!((suppressed, told.len()), (0, MOST_OF_OBJECT + 2));
        assert_eq!(
            told.iter().filter(|told| told.starts_with("MoreFindings a ")).count(),
            1,
            "and how many more there are"
        );
        let another = Served { findings: [finding("a", "another")].into(), ..Served::default() };
        assert_eq!(look(&mut chronicle, &another, &[], now), 1);
        let later = Served { findings: [finding("a", "later")].into(), ..Served::default() };
        assert_eq!(look(&mut chronicle, &later, &[], now + PER_OBJECT.1), 0);
    }

    #[test]
    fn one_namespace_cannot_take_all_places() {
        let mut chronicle = Chronicle::default();
        let of = |namespace: &str, number: usize| {
            let id = Arc::new(ObjectId::new(Kind::Ingress, namespace, &number.to_string()));
            Finding::new(Reason::MissingService, Origin::object(&id), "x")
        };
        let findings: Vec<_> = (0..5000).map(|number| of("aa", number)).chain([of("zz", 0), of("zz", 1)]).collect();
        look(&mut chronicle, &Served { findings: findings.into(), ..Served::default() }, &[], Instant::now());
        let now = Instant::now();
        let mut next = || chronicle.take(now).unwrap().namespace().to_owned();
        assert_eq!([(); 5].map(|()| next()), ["aa", "zz", "aa", "zz", "aa"]);
    }

    #[test]
    fn what_comes_later_has_its_turn_before_all_that_others_wait_for() {
        let now = Instant::now();
        let mut chronicle = Chronicle::default();
        let of = |namespace: &str, number: usize| {
            let id = Arc::new(ObjectId::new(Kind::Ingress, namespace, &number.to_string()));
            Finding::new(Reason::MissingService, Origin::object(&id), "x")
        };
        let mut findings: Vec<_> = (0..20_000).map(|number| of("aa", number)).collect();
        let with = |findings: &[Finding]| Served { findings: findings.into(), ..Served::default() };
        look(&mut chronicle, &with(&findings), &[], now);
        assert!((0..7).all(|_| chronicle.take(now).is_some_and(|notice| notice.namespace() == "aa")));
        findings.extend((0..100).map(|number| of("zz", number)));
        look(&mut chronicle, &with(&findings), &[], now);
        let now = now + LASTING;
        let (mut writes, mut told) = (Vec::new(), 0);
        while told < 100 {
            if chronicle.is_due(now) {
                chronicle.update(&with(&findings), &[], now);
            }
            told += usize::from(chronicle.take(now).unwrap().namespace() == "zz");
            writes.push(told);
        }
        assert_eq!((writes[1], writes.len()), (1, 200), "each other write is one of it");
    }

    fn serving(version: &str, confirmed: &str, has_address: bool) -> Served {
        let (stored, confirmed) = object("a", version, confirmed, has_address);
        let snapshot = Arc::new(Snapshot { ingresses: vec![stored].into(), ..Snapshot::default() });
        Served { snapshot, confirmed: Some([confirmed].into()), serving: true, ..Served::default() }
    }

    fn object(name: &str, version: &str, confirmed: &str, has_address: bool) -> (Stored<Ingress>, Confirmed) {
        let id = Arc::new(ObjectId::new(Kind::Ingress, "shop", name));
        let mut published = Published::default();
        if has_address {
            let entry = IngressLoadBalancerIngress { ip: Some("192.0.2.1".into()), ..Default::default() };
            published.status.get_or_insert_default().load_balancer.get_or_insert_default().ingress = Some(vec![entry]);
        }
        let stored = Stored {
            id: Arc::clone(&id),
            version: Version(version.into()),
            object: Arc::new(Ingress::default()),
            published: Some(Arc::new(published)),
            place: None,
        };
        (
            stored,
            Confirmed {
                id,
                version: Version(confirmed.into()),
                since: std::time::Instant::now(),
                earlier: false,
                routes: 2,
                closed: 0,
            },
        )
    }

    /// A state with this many served objects and a finding about each.
    fn crowd(objects: usize) -> Served {
        let names: Vec<_> = (0..objects).map(|number| format!("{number:04}")).collect();
        let (stored, confirmed): (Vec<_>, Vec<_>) = names.iter().map(|name| object(name, "1", "1", false)).unzip();
        Served {
            snapshot: Arc::new(Snapshot { ingresses: stored.into(), ..Snapshot::default() }),
            confirmed: Some(confirmed.into()),
            serving: true,
            findings: names.iter().map(|name| finding(name, "x")).collect(),
            ..Served::default()
        }
    }

    #[test]
    fn what_finds_no_room_is_told_when_there_is_some() {
        let now = Instant::now();
        let mut chronicle = Chronicle::default();
        let mut served = crowd(5000);
        assert_eq!(look(&mut chronicle, &served, &[], now), 0, "waiting is not being suppressed");
        let now = now + LASTING;
        // Addresses are written sooner than Events; that does not make a served version old.
        let (stored, _): (Vec<_>, Vec<_>) =
            (0..5000).map(|number| object(&format!("{number:04}"), "1", "1", true)).unzip();
        served.snapshot = Arc::new(Snapshot { ingresses: stored.into(), ..Snapshot::default() });
        let (mut told, mut looks) = (Vec::new(), 0);
        loop {
            if chronicle.is_due(now) {
                looks += 1;
                assert_eq!(chronicle.update(&served, &[], now), 0);
                assert!(!chronicle.is_due(now), "one look is enough until more was spread");
            }
            let Some(notice) = chronicle.take(now) else { break };
            told.push((notice.reason, notice.name.clone()));
        }
        let first = told[..6000].iter().filter(|(reason, _)| *reason == "MissingService").count();
        assert!(first >= 4500, "what is wrong goes first: {first}");
        assert_eq!(told.iter().collect::<HashSet<_>>().len(), 10_000, "of {}", told.len());
        assert!(looks <= 20, "{looks}");
        assert_eq!((chronicle.update(&served, &[], now), chronicle.take(now)), (0, None));
    }

    #[test]
    fn a_new_warning_does_not_wait_for_what_is_good() {
        let now = Instant::now();
        let mut chronicle = Chronicle::default();
        let served = Served { findings: Arc::default(), ..crowd(5000) };
        chronicle.update(&served, &[], now);
        assert_eq!(chronicle.take(now).unwrap().reason, "Synced");
        look(&mut chronicle, &served, &[finding("0007", "x")], now);
        assert_eq!(chronicle.take(now).unwrap().reason, "MissingService");
    }

    #[test]
    fn what_is_closed_is_not_told_to_be_served() {
        let cause = "nginx answers 503 on 1 of 2 routes: spec.rules[0]: there is none";
        let now = Instant::now();
        for (closed, findings, expected) in [
            (0, vec![finding("a", "there is none")], "nginx serves it"),
            (2, Vec::new(), "nginx passes no request on for 2 of 2 routes; see the other Events"),
            (1, vec![finding("b", "x"), finding("a", "there is none")], cause),
        ] {
            let mut served = serving("1", "1", false);
            let confirmed = served.confirmed.iter().flat_map(|confirmed| confirmed.iter());
            served.confirmed = Some(confirmed.map(|confirmed| Confirmed { closed, ..confirmed.clone() }).collect());
            let mut chronicle = Chronicle::default();
            served.findings = findings.into();
            look(&mut chronicle, &served, &[], now);
            let mut told = || std::iter::from_fn(|| chronicle.take(now)).find(|notice| notice.reason == "Synced");
            let first = told().unwrap();
            assert_eq!(first.note, expected);
            // Once all its routes answer, that is told; what fails again has its own Event.
            let mut again = |closed| {
                let confirmed = served.confirmed.iter().flat_map(|confirmed| confirmed.iter());
                served.confirmed = Some(confirmed.map(|confirmed| Confirmed { closed, ..confirmed.clone() }).collect());
                look(&mut chronicle, &served, &[], now);
                std::iter::from_fn(|| chronicle.take(now)).find(|notice| notice.reason == "Synced")
            };
            let whole = again(0);
            assert_eq!(whole.as_ref().map(|notice| &*notice.note), (closed > 0).then_some("nginx serves it"));
            assert!(whole.is_none_or(|notice| notice.name != first.name));
            assert_eq!((again(1), again(0)), (None, None));
        }
    }

    #[test]
    fn what_is_mended_while_it_finds_no_room_is_not_told() {
        let now = Instant::now();
        let mut chronicle = Chronicle::default();
        let served = crowd(5000);
        look(&mut chronicle, &served, &[], now);
        chronicle.update(&Served { findings: Arc::default(), ..served }, &[], now);
        let warnings = spread(&mut chronicle).into_iter().filter(|told| told.starts_with("MissingService")).count();
        assert!((1..5000).contains(&warnings), "{warnings}");
    }

    #[test]
    fn versions_that_were_confirmed_without_a_leader_are_reported_by_the_next_one() {
        let (now, lease) = (Instant::now(), Duration::from_secs(15));
        let earlier = || {
            let mut served = serving("1", "1", true);
            let confirmed = served.confirmed.iter().flat_map(|confirmed| confirmed.iter());
            served.confirmed =
                Some(confirmed.map(|confirmed| Confirmed { earlier: true, ..confirmed.clone() }).collect());
            served
        };
        for (what, served, at, expected) in [
            ("a moment ago", serving("1", "1", true), now, 1),
            ("in the time of another leader", serving("1", "1", true), now + lease * 2, 0),
            ("by the run before", earlier(), now, 0),
        ] {
            let mut chronicle = Chronicle::new(lease);
            chronicle.update(&served, &[], at);
            assert_eq!(spread(&mut chronicle).len(), expected, "{what}");
        }
    }

    #[test]
    fn a_leader_that_was_none_for_a_moment_repeats_nothing_and_reports_what_is_new() {
        let now = Instant::now();
        for (version, expected) in [("1", 0), ("2", 1)] {
            let mut chronicle = Chronicle::new(Duration::from_secs(15));
            chronicle.update(&serving("1", "1", false), &[], now);
            assert_eq!(spread(&mut chronicle).len(), 1);
            chronicle.rest();
            chronicle.rest();
            chronicle.update(&serving(version, version, true), &[], now);
            assert_eq!(spread(&mut chronicle).len(), expected, "version {version}");
            chronicle.update(&serving(version, version, true), &[], now);
            assert_eq!(spread(&mut chronicle).len(), 0);
        }
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
        // A new leader does not repeat what the previous one reported, and reports what is served
        // since then.
        let mut chronicle = Chronicle::default();
        for (what, served, expected) in [
            ("an earlier version is served", serving("4", "3", true), 0),
            ("the newest is served", serving("4", "4", true), 1),
        ] {
            chronicle.update(&served, &[], now);
            assert_eq!(spread(&mut chronicle).len(), expected, "{what}");
        }
        let mut chronicle = Chronicle::default();
        chronicle.update(&serving("4", "4", true), &[], now);
        assert_eq!(spread(&mut chronicle).len(), 0);
    }
}
