//! The state of the daemon: one value from which all responses are made.

mod attention;
mod document;
mod expressions;
mod inquiry;
mod tally;

pub use attention::{LONGEST_QUIET, verdict};
pub use inquiry::Inquiry;
pub use tally::Tally;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::estimate::Estimate;
use super::explain::InForce;
use super::host_findings::of_nginx;
use super::link::Link;
use super::outcomes::Step;
use super::withdrawal::Withdrawal;
use ingressd_apply::{OldWorkers, Pinned};
use ingressd_cluster::publish::{Outlook, Served, View};
use ingressd_cluster::source::cluster::{Requests, Scope, WatchHealth};
use ingressd_model::finding::{Finding, Reason, count};
use ingressd_model::{Kind, ObjectId, ObjectState, Origin, Standing, Verdict, WorkingVersion};
use ingressd_translate::{Claims, Limits};

/// The phase of the daemon.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Phase {
    /// Nothing was applied yet.
    #[default]
    Starting,
    /// nginx runs the newest generation.
    Serving,
    /// The generation is ready, but nginx does not run.
    NginxDown,
    /// The last attempt failed: nginx runs an earlier generation, if it runs.
    Failed,
    /// The daemon is about to end; nginx goes on.
    Stopping,
}

impl Phase {
    /// The word for people and machines.
    pub const fn name(self) -> &'static str {
        match self {
            Phase::Starting => "starting",
            Phase::Serving => "serving",
            Phase::NginxDown => "nginx-down",
            Phase::Failed => "failed",
            Phase::Stopping => "stopping",
        }
    }
}

/// Where the objects come from.
#[derive(Debug, Clone, Default)]
pub enum ReadFrom {
    /// This is not known yet.
    #[default]
    Nothing,
    /// A folder of manifests.
    Folder(PathBuf),
    /// A cluster, and which of its namespaces.
    Cluster(Link, Scope),
}

/// The status of the daemon.
#[derive(Debug, Clone, Default)]
pub struct Status {
    /// The phase of the daemon.
    pub phase: Phase,
    /// The error, or why nginx counts as down.
    pub why: Option<Arc<str>>,
    /// The latest generation that nginx was confirmed to run.
    pub generation: Option<u64>,
    /// The generation that is ready for the next start of nginx, which does not run.
    pub prepared: Option<u64>,
    /// The generation that nginx returns on its status port; `None` when it does not answer.
    pub served: Option<u64>,
    /// The generation that the administrator pinned.
    pub pinned: Option<Pinned>,
    /// The PID of nginx's master.
    pub master: Option<u32>,
    /// The version of nginx's binary.
    pub nginx_version: Arc<str>,
    /// Workers that accept connections.
    pub workers: usize,
    /// Workers that finish their connections.
    pub old_workers: OldWorkers,
    /// How many draining workers were ended because there were too many.
    pub ended: u64,
    /// Whether this run made the generation, or found it to be current.
    pub concluded: bool,
    /// The states of objects.
    pub states: Arc<[Arc<ObjectState>]>,
    /// The objects with a version in quarantine.
    pub quarantined: Arc<[Arc<ObjectId>]>,
    /// The claims on hosts and paths of what is served.
    pub claims: Arc<Claims>,
    /// What `explain` needs; `None` before this run has made something of objects, or has found on
    /// disk what an earlier one served.
    pub in_force: Option<Arc<InForce>>,
    /// Where the objects come from.
    pub read_from: ReadFrom,
    /// How many objects of each kind were read.
    pub objects: Vec<(&'static str, usize)>,
    /// What became of the latest changes.
    pub outcomes: Arc<[Step]>,
    /// The findings of the last cycle.
    pub findings: Arc<[Finding]>,
    /// Whether one of them tells that nginx does not run.
    pub reports_down: bool,
    /// What is wrong with the settings that were read last; then the earlier ones are in force.
    pub refused_settings: Option<Arc<str>>,
    /// How many findings are reported.
    pub limits: Limits,
    /// Certificates that are served, and when they expire, in seconds since 1970.
    pub certificates: Arc<[(Arc<ObjectId>, i64)]>,
    /// The estimated cost of each namespace for nginx, as served.
    pub estimate: Arc<Estimate>,
    /// When the data of the source was last known to be complete.
    pub data_read: Option<Instant>,
    /// The age of what an earlier run recorded, at a moment.
    pub left: Option<(Duration, Instant)>,
    /// Whether the data is current: the source would have reported any change.
    pub data_current: bool,
    /// Why the source cannot be read.
    pub source_failure: Option<Arc<str>>,
    /// The health of the watches of a cluster.
    pub watches: Arc<[WatchHealth]>,
    /// Counters of the requests to the API server.
    pub requests: Option<Arc<Requests>>,
    /// The state of publishing; `None` when the source is a folder.
    pub outlook: Option<Outlook>,
    /// The published state of this host.
    pub reported: Served,
    /// Open connections to the ports of Ingresses; only counted on a drained node.
    pub connections: Option<usize>,
    /// nginx's complaint, where it could not be started with the host's configuration.
    pub refusal: Option<Arc<str>>,
}

/// A sentence that nginx refuses the host's configuration, with its complaint.
pub fn refused_by_nginx(words: &str) -> String {
    format!(
        "nginx refuses the host's configuration, goes on with what it has, and could not be started again: do not restart it, \
         correct what it names and test with `nginx -t`: {words}"
    )
}

impl Status {
    /// Whether nginx serves the confirmed generation; the error says why not.
    pub fn ready(&self) -> Result<(), String> {
        let phase = || match &self.why {
            Some(why) => format!("{}: {why}", self.phase.name()),
            None => self.phase.name().to_owned(),
        };
        match (self.phase, self.generation, self.served) {
            (Phase::Starting | Phase::NginxDown | Phase::Stopping, ..) | (Phase::Failed, None, _) => Err(phase()),
            // After a failure nginx goes on with the earlier generation; phase, metric and finding
            // report that the last change is missing.
            (_, Some(confirmed), Some(served)) if served == confirmed => Ok(()),
            (_, _, Some(served)) => Err(format!("nginx serves generation {served}, which is not the confirmed one")),
            (_, _, None) if self.master.is_none() => Err("nginx does not run: `systemctl start nginx`".to_owned()),
            (_, _, None) => {
                Err("nginx does not tell which generation it serves; does nginx.conf still include ours?".to_owned())
            }
        }
    }

    /// A sentence for `/readyz` that the node is pinned.
    pub fn pinned_note(&self) -> Option<String> {
        let pinned = self.pinned.as_ref()?;
        Some(format!(
            "PINNED to {}: changes are not applied and endpoints may be stale, until `ingressd resume`",
            place(pinned)
        ))
    }

    /// How far the withdrawal of this node has come.
    pub fn withdrawal(&self) -> Withdrawal {
        // A lost watch is noticed, because this node's own record has to come back as well.
        let published = |watch: &&WatchHealth| watch.kind.asks_for_routes() && !watch.is_absent;
        let mut published = self.watches.iter().filter(published).peekable();
        let is_current = published.peek().is_some() && published.all(|watch| watch.state() == "current");
        // Before the first cycle it is not known which objects belong to our class.
        let is_current = is_current && self.reported.informed;
        Withdrawal::of(&self.reported, self.outlook.as_ref().map(Outlook::view), is_current)
    }

    /// A sentence that nginx could not be started again.
    pub fn refusal_note(&self) -> Option<String> {
        self.refusal.as_deref().map(refused_by_nginx)
    }

    /// The findings about objects, this host and publishing.
    pub fn all_findings(&self) -> Vec<Finding> {
        let of_publishing = self.outlook.as_ref().map(Outlook::findings).unwrap_or_default();
        let of_itself = self.findings_of_itself();
        self.findings.iter().cloned().chain(of_publishing).chain(of_itself).collect()
    }

    /// The number of these findings.
    fn count_findings(&self) -> usize {
        let of_publishing = self.outlook.as_ref().map_or(0, |outlook| outlook.findings().len());
        let of_itself = self.findings_of_itself();
        self.findings.len() + of_publishing + of_itself.count()
    }

    /// The findings of the daemon and of nginx that no cycle makes.
    fn findings_of_itself(&self) -> impl Iterator<Item = Finding> {
        [self.settings_finding(), self.refusal_finding(), self.old_workers_finding(), self.down_finding()]
            .into_iter()
            .flatten()
    }

    /// The finding that nginx could not be started again. A change that failed because of it has
    /// the same reason, and says so already.
    fn refusal_finding(&self) -> Option<Finding> {
        Some(of_nginx(Reason::ReloadFailed, self.refusal_note()?))
    }

    /// The finding that the settings could not be reloaded.
    fn settings_finding(&self) -> Option<Finding> {
        let why = self.refused_settings.as_ref()?;
        let settings = Arc::new(ObjectId::new(Kind::SETTINGS, "", "ingressd.toml"));
        let note = format!("{why}; the earlier settings are in force, and the next start will fail");
        Some(Finding::new(Reason::SettingsRefused, Origin::object(&settings), note))
    }

    /// The finding that nginx does not run, where no cycle has told it yet.
    fn down_finding(&self) -> Option<Finding> {
        let why = self.why.as_ref().filter(|_| self.phase == Phase::NginxDown && !self.reports_down)?;
        Some(of_nginx(Reason::NginxDown, start_nginx(why)))
    }

    /// The finding that old workers come close to their limit.
    fn old_workers_finding(&self) -> Option<Finding> {
        let OldWorkers { draining, most, .. } = self.old_workers;
        let report = || {
            let note = format!(
                "{draining} of at most {most} old workers finish their connections, so reloads wait until \
                    each had its time (pacing.draining-time), and at {most} the oldest workers are ended; long \
                    connections, such as WebSockets, keep them; pacing.most-draining allows more of them, which \
                    takes memory"
            );
            of_nginx(Reason::DrainingWorkers, note)
        };
        self.old_workers.are_many().then(report)
    }

    /// What is served, counted.
    pub fn tally(&self) -> Tally {
        Tally::of(&self.states)
    }

    /// The age of the data of the source; `None` before it was read.
    pub fn data_age(&self, now: Instant) -> Option<Duration> {
        let read = self.data_read?;
        Some(if self.data_current { Duration::ZERO } else { now - read })
    }

    /// The age of what is served: that of the data, or of what an earlier run recorded.
    pub fn served_age(&self, now: Instant) -> Option<Duration> {
        let of_record = || self.left.map(|(age, at)| age + now.saturating_duration_since(at));
        self.data_age(now).or_else(of_record)
    }

    /// The status line of `systemctl status`.
    pub fn line(&self, now: Instant, tally: &Tally) -> String {
        let generation = self.generation.map_or("no generation".to_owned(), |number| format!("generation {number}"));
        let serves = match self.is_known() {
            true => format!("{}, {}", count(tally.hosts(), "host", "hosts"), count(tally.routes(), "route", "routes")),
            false => "as an earlier run left it".to_owned(),
        };
        let age = match self.data_age(now) {
            None => "no data".to_owned(),
            Some(Duration::ZERO) => "data current".to_owned(),
            Some(age) => format!("data {} s old", age.as_secs()),
        };
        let state = match (self.phase, &self.why) {
            (Phase::Serving, _) => match self.ready() {
                Ok(()) => "serving".to_owned(),
                Err(why) => format!("not serving ({why})"),
            },
            (phase, Some(why)) => format!("{} ({why})", phase.name()),
            (phase, None) => phase.name().to_owned(),
        };
        let age = match self.stale_kinds() {
            kinds if kinds.is_empty() => age,
            kinds => format!("{age} ({} cannot be watched)", kinds.join(", ")),
        };
        let findings = count(self.count_findings(), "finding", "findings");
        let state = match &self.pinned {
            Some(pinned) => format!("PINNED to {}; {state}", place(pinned)),
            None => state,
        };
        let state = match self.refused_settings.as_deref().and_then(|why| why.lines().next()) {
            Some(why) => format!("NEW SETTINGS REFUSED ({why}); {state}"),
            None => state,
        };
        let drained = match (self.reported.drained, self.connections) {
            (false, _) => String::new(),
            (true, None) => ", DRAINED".to_owned(),
            (true, Some(open)) => format!(", DRAINED with {}", count(open, "open connection", "open connections")),
        };
        format!("{state}: {generation}, {serves}, {findings}, {age}, role {}{drained}", self.role())
    }

    /// Whether it is known which objects are served: not while nginx runs the generation of an
    /// earlier run.
    pub fn is_known(&self) -> bool {
        self.generation.is_none() || self.concluded
    }

    /// The role of this node in its group, in one word.
    fn role(&self) -> &'static str {
        match self.outlook.as_ref().map(Outlook::view) {
            None => "standalone",
            Some(View { leads: true, .. }) => "leader",
            Some(View { leads: false, .. }) => "follower",
        }
    }

    /// The kinds whose watch fails, without duplicates.
    fn stale_kinds(&self) -> Vec<&'static str> {
        let failing =
            self.watches.iter().filter(|watch| watch.failure.is_some() && (watch.synced || !watch.is_settled()));
        let mut kinds: Vec<_> = failing.map(|watch| watch.kind.name()).collect();
        kinds.dedup();
        kinds
    }

    /// The objects that are served, or will be as soon as nginx runs, with the versions of them.
    pub fn in_force(&self) -> impl Iterator<Item = (&Arc<ObjectState>, &WorkingVersion)> {
        self.states.iter().filter_map(|state| Some((state, state.in_force()?)))
    }

    /// The objects of our classes of which nothing is served.
    pub fn not_served(&self) -> impl Iterator<Item = &Arc<ObjectState>> {
        self.states.iter().filter(|state| state.is_ours() && state.in_force().is_none())
    }

    fn state(&self, id: &ObjectId) -> Option<&ObjectState> {
        ObjectState::find(&self.states, id).map(|state| &**state)
    }

    /// Whether no more is known than what an earlier run recorded of what nginx serves.
    fn is_recorded(&self) -> bool {
        self.data_read.is_none() && !self.concluded
    }

    /// How an object stands. Whether there is a newer version is not known of any that an earlier
    /// run recorded.
    pub fn standing(&self, state: &ObjectState) -> Standing {
        let is_recorded = self.is_recorded() && state.verdict == Verdict::Unjudged;
        match state.in_place() {
            Some(version) if is_recorded && version.served > 0 => Standing::Served,
            _ => state.standing(),
        }
    }

    /// How each object of our classes stands.
    pub fn standings(&self) -> impl Iterator<Item = (Kind, Standing)> {
        let all = self.states.iter().map(|state| (state.id.kind, self.standing(state)));
        all.filter(|(_, standing)| *standing != Standing::NotOurs)
    }

    /// The addresses in the status of an object.
    fn published(&self, id: &ObjectId) -> Vec<String> {
        self.reported.published(id).iter().map(ToString::to_string).collect()
    }
}

/// Why nginx does not run, and what to do.
pub fn start_nginx(why: &str) -> String {
    format!("{why}; start nginx: `systemctl status nginx` and `ingressd doctor` tell what keeps it from that")
}

/// The pinned generation, and what is not applied because of it.
fn place(pinned: &Pinned) -> String {
    let generation = pinned.pin.generation;
    match pinned.waiting {
        None => format!("generation {generation}"),
        Some(0) => format!("generation {generation}, nothing waits"),
        Some(1) => format!("generation {generation}, 1 changed file waits"),
        Some(waiting) => format!("generation {generation}, {waiting} changed files wait"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use ingressd_apply::Pin;
    use ingressd_cluster::source::cluster::Need;
    use ingressd_model::{ObjectPlace, PlaceKind, ServedVersion, Version};

    #[test]
    fn only_the_confirmed_generation_is_ready() {
        let serving = Status { phase: Phase::Serving, generation: Some(7), served: Some(7), ..Status::default() };
        assert_eq!(serving.ready(), Ok(()));
        let rows = [
            (Phase::Serving, Some(7), Some(6), Err("nginx serves generation 6")),
            (Phase::Serving, Some(7), None, Err("does not run")),
            (Phase::Failed, Some(7), Some(7), Ok(())),
            (Phase::Failed, Some(7), Some(8), Err("nginx serves generation 8")),
            (Phase::Failed, Some(7), None, Err("does not run")),
            (Phase::Failed, None, None, Err("failed: disk full")),
            (Phase::NginxDown, Some(7), Some(7), Err("nginx-down: disk full")),
            (Phase::Starting, Some(7), Some(7), Err("starting")),
            (Phase::Stopping, Some(7), Some(7), Err("stopping")),
        ];
        for (phase, generation, served, expected) in rows {
            let status = Status { phase, generation, served, why: Some("disk full".into()), ..Status::default() };
            let ready = status.ready();
            match expected {
                Ok(()) => assert_eq!(ready, Ok(()), "{phase:?} {served:?}"),
                Err(words) => assert!(ready.clone().is_err_and(|why| why.contains(words)), "{phase:?}: {ready:?}"),
            }
        }
    }

    #[test]
    fn what_gets_none_of_its_hosts_is_among_what_is_not_served() {
        let id = Arc::new(ObjectId::new(Kind::INGRESS, "shop", "cart"));
        let working = Arc::new(WorkingVersion::default());
        let served = ServedVersion { what: Arc::clone(&working), since: None, is_earlier: false };
        let place =
            ObjectPlace { at: PlaceKind::Host("a.example".into()), verdict: Verdict::Refused(Reason::HostOwned) };
        let (places, working, served) = ([place].into(), Some(working), Some(served));
        let state = ObjectState { places, working, served, ..ObjectState::new(&id, Verdict::Good) };
        let status = Status { states: [Arc::new(state)].into(), ..Status::default() };
        let json = status.json(Instant::now());
        let known = json!({"kind": "Ingress", "namespace": "shop", "name": "cart", "state": "refused", "reason": "HostOwned",
            "hosts": ["a.example"]});
        assert_eq!((&json["ingresses"], &json["not_served"]), (&json!([]), &json!([known])));
        let subject = &status.answer(&Inquiry::Object((*id).clone()), Instant::now())["subject"];
        assert_eq!(subject["hosts"], json!(["a.example"]));
    }

    #[test]
    fn the_line_says_generation_hosts_routes_age_and_role() {
        let now = Instant::now();
        let served = |name: &str, hosts: &[&str]| {
            let hosts = hosts.iter().map(|host| Arc::from(*host)).collect();
            let what = Arc::new(WorkingVersion::whole(Version("1".into()), hosts, 2));
            let served = Some(ServedVersion { what, since: None, is_earlier: true });
            let id = Arc::new(ObjectId::new(Kind::INGRESS, "shop", name));
            Arc::new(ObjectState { served, ..ObjectState::new(&id, Verdict::Unjudged) })
        };
        let status = Status {
            phase: Phase::Serving,
            generation: Some(7),
            served: Some(7),
            concluded: true,
            states: [served("a", &["x.example", "y.example"]), served("b", &["x.example"])].into(),
            data_read: Some(now),
            data_current: true,
            ..Status::default()
        };
        let later = now + Duration::from_secs(3);
        let line = |status: &Status| status.line(later, &status.tally());
        assert_eq!(
            line(&status),
            "serving: generation 7, 2 hosts, 4 routes, 0 findings, data current, role standalone"
        );
        let left = Status { data_read: None, concluded: false, states: Arc::default(), ..status.clone() };
        assert_eq!(
            line(&left),
            "serving: generation 7, as an earlier run left it, 0 findings, no data, role standalone"
        );
        assert_eq!((&left.json(later)["hosts"], &status.json(later)["hosts"]), (&Value::Null, &json!(2)));
        let pin = Pin { generation: 7, since: 0 };
        let pinned = |waiting| Status { pinned: Some(Pinned { pin, waiting, contents: None }), ..status.clone() };
        for (waiting, words) in [
            (None, "PINNED to generation 7; serving: "),
            (Some(0), "PINNED to generation 7, nothing waits; serving: "),
            (Some(2), "PINNED to generation 7, 2 changed files wait; serving: "),
        ] {
            assert!(line(&pinned(waiting)).starts_with(words), "{}", line(&pinned(waiting)));
            assert_eq!(pinned(waiting).json(later)["pinned"]["waiting_files"], json!(waiting));
        }
        for (connections, words) in [(None, ", DRAINED"), (Some(3), ", DRAINED with 3 open connections")] {
            let reported = Served { drained: true, ..Served::default() };
            let drained = Status { reported, connections, ..status.clone() };
            assert!(line(&drained).ends_with(words), "{}", line(&drained));
        }
        let states = |status: &Status| status.standings().map(|(_, standing)| standing).collect::<Vec<_>>();
        let recorded = Status { data_read: None, concluded: false, ..status.clone() };
        assert_eq!(states(&recorded), [Standing::Served; 2], "as an earlier run recorded them");
        let read = Status { concluded: false, ..status.clone() };
        assert_eq!(states(&read), [Standing::Waiting; 2], "what was read may differ");
        let record = Some((Duration::from_secs(90), now));
        let left = Status { data_read: None, left: record, ..status.clone() };
        assert_eq!((left.data_age(later), left.served_age(later)), (None, Some(Duration::from_secs(93))));
        let failed = Status { data_current: false, left: record, ..status };
        assert_eq!(failed.served_age(later), Some(Duration::from_secs(3)));
        assert_eq!(
            line(&failed),
            "serving: generation 7, 2 hosts, 4 routes, 0 findings, data 3 s old, role standalone"
        );
        assert_eq!(Status::default().ready(), Err("starting".to_owned()));
    }

    #[test]
    fn one_namespace_takes_no_more_room_than_it_may() {
        let of = |namespace: &str, name: &str| {
            let object = Arc::new(ObjectId::new(Kind::INGRESS, namespace, name));
            Finding::new(Reason::UnknownAnnotation, Origin::object(&object), "x".repeat(9000))
        };
        let bulk = (0..20_000).map(|number| of("crowd", &number.to_string()));
        let status = Status { findings: bulk.chain([of("victim", "cart")]).collect(), ..Status::default() };
        let json = status.json(Instant::now());
        let findings = json["findings"].as_array().unwrap();
        assert_eq!((findings.len(), &findings[200]["namespace"]), (201, &json!("victim")));
        assert_eq!(json["findings_left_out"], json!([{"namespace": "crowd", "count": 19_800}]));
        assert!(json.to_string().len() < 400_000, "{}", json.to_string().len());
        assert!(status.line(Instant::now(), &status.tally()).contains(" 20001 findings"));
    }

    #[test]
    fn watches_that_fail_are_shown_with_the_age_of_what_they_said() {
        let now = Instant::now();
        let watch = |kind, need, synced, failure: Option<&str>, refused| WatchHealth {
            done_without: refused,
            synced,
            heard: synced.then_some(now),
            failure: failure.map(Arc::from),
            refused,
            ..WatchHealth::new(kind, None, need)
        };
        let watches = [
            watch(Kind::INGRESS, Need::Required, true, None, false),
            watch(Kind::NODE, Need::Optional, false, Some("not allowed"), true),
            watch(Kind::SECRET, Need::Required, true, Some("not allowed"), true),
            watch(Kind::SERVICE, Need::Required, false, Some("away"), false),
        ];
        let status = Status { watches: watches.into(), data_read: Some(now), ..Status::default() };
        let later = now + Duration::from_secs(40);
        let line = status.line(later, &status.tally());
        assert!(line.contains("data 40 s old (Secret, Service cannot be watched)"), "{line}");
        let json = status.json(later);
        let shown: Vec<_> =
            (0..4).map(|watch| (&json["watches"][watch]["state"], &json["watches"][watch]["age_seconds"])).collect();
        let expected = json!([["current", 40], ["refused", null], ["refused", 40], ["failing", null]]);
        assert_eq!(json!(shown), expected);
    }
}
