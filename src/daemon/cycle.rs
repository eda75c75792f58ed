//! One cycle: render the files for a snapshot, apply them, and take out the versions that nginx
//! refuses. It must not know how any of it is done.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use self::bisection::Progress;
use self::judging::Attempt;
use self::proof::{Asked, Releases};
use self::removal::Removals;
use self::searches::Searches;
use self::stragglers::Stragglers;
use self::weighing::Weighings;
use self::worth::Worth;
use super::estimate::Estimate;
use super::explain::InForce;
use super::host_findings::of_nginx;
use super::last_good::{Keeper, LastGood};
use super::objects;
use super::proposed;
use super::quarantine::Quarantine;
use super::states::JudgedStates;
use super::status::start_nginx;
use ingressd_apply::{Complaint, Outcome};
use ingressd_model::finding::{Finding, Reason};
use ingressd_model::{HostName, ObjectId, ObjectState, RefusedVersion};
use ingressd_nginx::render::{Digest, FileSet};
use ingressd_objects::{Kinds, Needs, Snapshot};
use ingressd_translate::{Claims, Namespaces};

mod bisection;
mod good;
mod judging;
mod proof;
mod removal;
mod searches;
mod stragglers;
mod substitution;
#[cfg(test)]
mod tests;
mod weighing;
mod worth;

/// The most attempts in one cycle while culprits are looked for.
const MOST_ATTEMPTS: usize = 100;

/// After so many attempts, or this time, all candidates return to the versions that nginx ran
/// before, so that all other changes are served.
const PATIENT_ATTEMPTS: usize = 50;
const PATIENCE: Duration = Duration::from_secs(20);

/// The stages that a cycle uses: from a snapshot to files, and from files to a running nginx.
pub trait Stages {
    /// The current time.
    fn now(&self) -> Instant {
        Instant::now()
    }
    /// Identifies everything that judges objects beside the objects themselves: the version of
    /// nginx with its modules and the configuration of its host, the version of ingressd, its
    /// settings, and the layer of settings from the cluster.
    fn judge(&self, snapshot: &Snapshot) -> Arc<str>;
    /// The ConfigMap that is a layer of the settings.
    fn layer(&self) -> Option<Arc<ObjectId>> {
        None
    }
    /// Translates, gates and renders a snapshot.
    fn make(&mut self, snapshot: &Snapshot) -> Product;
    /// Applies files.
    fn apply(&mut self, files: &FileSet) -> Outcome;
    /// Looks whether nginx accepts the files in place, and limits the time of each further attempt
    /// accordingly, until [`Stages::end_weighing`]. Returns false when nginx does not accept them,
    /// or does not run.
    fn begin_weighing(&mut self) -> bool;
    /// Ends these time limits.
    fn end_weighing(&mut self);
    /// Records that these claims on hosts and paths are those of what is served now.
    fn settle(&mut self, claims: &Arc<Claims>);
    /// From now on makes files in which hosts share no server, because nginx refused a shared one
    /// with this message. Returns false when they did not share any.
    fn stop_sharing(&mut self, words: &str) -> bool;
    /// Lets hosts share servers again.
    fn resume_sharing(&mut self);
    /// The outcome when nginx refuses what is in place already: then no object is to blame.
    fn fault_of_host(&mut self) -> Option<Outcome> {
        None
    }
    /// How many hosts one change may take away; 0 for any number.
    fn most_removed(&self) -> usize {
        0
    }
    /// What nginx serves by an earlier run's record, as far as there is one.
    fn states_of_earlier_run(&self) -> Vec<Arc<ObjectState>> {
        Vec::new()
    }
    /// Whether the administrator's templates are in use.
    fn has_templates(&self) -> bool {
        false
    }
    /// Tests files of a snapshot without applying them, made with the administrator's templates or
    /// with those of the program. Returns nginx's complaints, or `None` where the test is
    /// impossible.
    fn try_out(&mut self, _snapshot: &Snapshot, _has_templates: bool) -> Option<Vec<Complaint>> {
        None
    }
}

/// The result of translating and rendering a snapshot.
#[derive(Debug, Default)]
pub struct Product {
    pub(crate) files: Arc<FileSet>,
    /// Findings about objects and about this host.
    pub findings: Vec<Finding>,
    /// The states of objects, without the verdict of a cycle.
    pub states: Vec<Arc<ObjectState>>,
    /// Object versions that cannot be served as written.
    pub refused: Vec<RefusedVersion>,
    /// Of those, why the ones were refused whose place earlier versions take in the cycle.
    pub replaced: BTreeMap<Arc<ObjectId>, Reason>,
    /// Secrets with certificates that are served, and when they expire, in seconds since 1970.
    pub certificates: Vec<(Arc<ObjectId>, i64)>,
    /// The estimated cost of each namespace for nginx.
    pub estimate: Arc<Estimate>,
    /// The claims on hosts and paths that these files are based on.
    pub claims: Arc<Claims>,
    /// When the passage of time alone changes what is served, in seconds since 1970.
    pub due: Option<i64>,
    /// The DNS names of Services that are used, with the namespaces that use them.
    pub names: BTreeMap<HostName, Namespaces>,
    /// What explains answers.
    pub in_force: Option<Arc<InForce>>,
}

/// The result of a cycle.
#[derive(Debug)]
pub struct Report {
    /// The outcome of the last attempt.
    pub outcome: Outcome,
    /// What was made for it, without the files: with all findings, sorted and without duplicates,
    /// and with judged states; what nginx serves of them is not known yet.
    pub product: Product,
    /// The objects with a version in quarantine.
    pub quarantined: Vec<Arc<ObjectId>>,
    /// The Secrets and ConfigMaps that served versions need which are not the newest.
    pub held: BTreeSet<ObjectId>,
    /// The number of attempts.
    pub attempts: usize,
    /// The duration of the test of each attempt that had one.
    pub tests: Vec<Duration>,
    /// After how long another cycle is needed at the latest, because changes wait for it.
    pub again: Option<Duration>,
}

impl Report {
    /// A report with nothing but an outcome.
    pub fn of(outcome: Outcome) -> Self {
        Report {
            outcome,
            product: Product::default(),
            quarantined: Vec::new(),
            held: BTreeSet::new(),
            attempts: 0,
            tests: Vec::new(),
            again: None,
        }
    }
}

/// The state that is kept from cycle to cycle.
#[derive(Debug)]
pub struct Cycle {
    state: PathBuf,
    needs: Needs,
    quarantine: Quarantine,
    store: Arc<Mutex<LastGood>>,
    keeper: Keeper,
    worth: Worth,
    judged: JudgedStates,
    /// What nginx runs, including last good versions; empty before the first confirmation.
    confirmed: Arc<Snapshot>,
    /// The digest of the files whose objects were recorded last.
    proposed: Option<Digest>,
    /// Whether nginx has accepted anything under the present settings and the administrator's
    /// templates.
    taken: bool,
    /// The namespaces whose changes come after those of all others.
    stragglers: Stragglers,
    weighings: Weighings,
    /// The time when nginx last answered.
    now: Instant,
    /// Since when the time of attempts has not been charged to a namespace.
    began: Instant,
    /// How many versions of each namespace were refused since then.
    refused: BTreeMap<Arc<str>, u32>,
    /// How often in a row nginx was killed while it read a new configuration.
    kills: u32,
    releases: Releases,
    asked: Asked,
    removals: Removals,
}

impl Cycle {
    /// Continues with what an earlier run left in the state folder. `in_place` are the files that
    /// nginx runs or will read.
    ///
    /// # Errors
    ///
    /// When there may be something that cannot be read now.
    pub fn open(state: &Path, in_place: Option<Digest>) -> io::Result<Self> {
        let store = Arc::new(Mutex::new(LastGood::open(state, in_place)?));
        let keeper = Keeper::start(Arc::clone(&store), state);
        let now = Instant::now();
        Ok(Cycle {
            state: state.to_owned(),
            needs: Needs::default(),
            quarantine: Quarantine::open(state)?,
            store,
            keeper,
            worth: Worth::default(),
            judged: JudgedStates::default(),
            confirmed: Arc::default(),
            proposed: None,
            taken: false,
            stragglers: Stragglers::default(),
            weighings: Weighings::default(),
            now,
            began: now,
            refused: BTreeMap::new(),
            kills: 0,
            releases: Releases::default(),
            asked: Asked::default(),
            removals: Removals::default(),
        })
    }

    /// Keeps objects of these kinds from now on, and what they need.
    pub fn keep(&mut self, kinds: Kinds, needs: Needs) {
        self.needs = needs;
        self.store.lock().unwrap_or_else(PoisonError::into_inner).set_kinds(kinds);
    }

    /// What is kept on disk of what an earlier run served.
    pub fn recall(&self) -> Snapshot {
        self.store.lock().unwrap_or_else(PoisonError::into_inner).snapshot()
    }

    /// Ends every quarantine: all versions are tried again.
    pub fn release_all(&mut self) {
        self.quarantine.release_all();
    }

    /// Ends the cycle; what is served is on disk then.
    pub async fn close(self) {
        self.keeper.close().await;
    }

    /// Applies the snapshot, without the versions that nginx refuses.
    pub fn turn(&mut self, snapshot: &Snapshot, stages: &mut impl Stages) -> Report {
        let completed = self.complete(snapshot);
        self.recall_hosts(stages);
        let snapshot = &*self.hold(&completed, stages);
        self.quarantine.keep_in_force(snapshot, &stages.judge(snapshot));
        let mut before = self.quarantine.clone_entries();
        self.now = stages.now();
        let began = self.now;
        self.begin_to_count();
        self.forget_searches(snapshot);
        let mut searches = Searches { waiting: self.waiting(snapshot), ..Searches::default() };
        // The result for the changes of all others, once the changes that wait for them are tried.
        let mut others: Option<Report> = None;
        let mut attempts = 0;
        let mut tests = Vec::new();
        loop {
            attempts += 1;
            let (mut served, mut product, mut held) = self.make(snapshot, stages, &searches);
            self.quarantine.save();
            self.propose(&served, &product);
            let mut outcome = stages.apply(&product.files);
            self.now = stages.now();
            tests.extend(outcome.test());
            if let (Outcome::Refused { .. }, true) = (&outcome, attempts == 1) {
                outcome = stages.fault_of_host().unwrap_or(outcome);
            }
            let own = match outcome {
                Outcome::Refused { .. } if stages.has_templates() => stages.try_out(&served, false),
                _ => None,
            };
            let by_templates = own.as_ref().is_some_and(Vec::is_empty);
            if by_templates {
                blame_templates(&mut outcome);
            }
            let has_weighed = searches.weighing.is_some();
            match &outcome {
                // New templates are the first candidate. Once nginx has run files that were made
                // with them, the changed objects are.
                Outcome::Refused { .. } if by_templates && !self.taken => {
                    if self.ends_well(&mut searches, snapshot, attempts) {
                        continue;
                    }
                }
                Outcome::Refused { complaints, .. } => {
                    // A complaint that both sets of templates cause comes from objects.
                    let complaints = own.as_ref().filter(|own| !own.is_empty()).unwrap_or(complaints);
                    if attempts == 1 && self.blames_layer(complaints, snapshot, stages) {
                        continue;
                    }
                    // With a file for each host the objects that shared one can be told apart; or
                    // nginx accepts the files, and sharing was the cause.
                    let doubt = complaints.iter().find(|complaint| is_doubtful(complaint));
                    let is_last = attempts >= MOST_ATTEMPTS;
                    if !is_last && doubt.is_some_and(|complaint| stages.stop_sharing(&complaint.words)) {
                        continue;
                    }
                    let in_a_hurry = attempts >= PATIENT_ATTEMPTS || self.now - began >= PATIENCE;
                    let attempt = Attempt { snapshot, served: &served, states: &product.states, in_a_hurry };
                    let goes_on = !is_last && self.judge(complaints, &attempt, &mut searches.running);
                    stages.resume_sharing();
                    let comes_last = self.charge();
                    match others.take() {
                        // Others may have changed meanwhile, and go first again.
                        Some(report) if goes_on && searches.running.is_empty() => {
                            let again = Some(Duration::ZERO);
                            return self.ended(Report { attempts, tests, again, ..report }, stages);
                        }
                        report => others = report,
                    }
                    if goes_on {
                        if others.is_none() && comes_last {
                            searches.wait_for(self.waiting(snapshot));
                        }
                        continue;
                    }
                    // Objects that were too much stay in quarantine, and the next cycle goes on
                    // from there. But where taking out objects did not help, the objects that were
                    // blamed in this cycle may be without fault.
                    if !is_last {
                        self.quarantine.restore(before);
                    }
                    // Objects that were taken out temporarily still exist.
                    (served, product, held) = self.make(snapshot, stages, &Searches::default());
                }
                Outcome::RolledBack { too_much: Some(words), .. } => {
                    let attempt = (&*served, &*product.files);
                    self.weighed(Some(words), snapshot, attempt, &mut searches);
                    if !has_weighed && self.search_the_heaviest(words, snapshot, attempt, &mut searches, stages) {
                        continue;
                    }
                    if let Some(report) = others {
                        let waiting = self.waiting(snapshot);
                        // The report knows nothing of versions that were just put into quarantine.
                        let goes_on = self.goes_on(&waiting) || !self.refused.is_empty();
                        let again = if goes_on { Some(Duration::ZERO) } else { self.rests(&waiting) };
                        return self.ended(Report { attempts, tests, again, ..report }, stages);
                    }
                    (served, product, held) = self.make(snapshot, stages, &Searches::default());
                }
                Outcome::Killed { read: true, why, .. } => {
                    self.quarantine_killers(why, snapshot, (&served, &*product.files));
                    (served, product, held) = self.make(snapshot, stages, &Searches::default());
                }
                // An nginx that does not run tells nothing about the objects that are left out
                // temporarily.
                Outcome::Ready { .. } if searches.weighing.take().is_some() => {
                    (served, product, held) = self.make(snapshot, stages, &Searches::default());
                }
                Outcome::Confirmed { .. } | Outcome::Unchanged { .. } | Outcome::Ready { .. } => {
                    self.taken = true;
                    if self.ends_well(&mut searches, snapshot, attempts) {
                        continue;
                    }
                    self.weighed(None, snapshot, (&served, &*product.files), &mut searches);
                    stages.settle(&product.claims);
                }
                Outcome::RolledBack { .. }
                | Outcome::Killed { .. }
                | Outcome::Failed { .. }
                | Outcome::Pinned { .. } => {}
            }
            let is_in_place = outcome.is_in_place();
            let has_changed = matches!(outcome, Outcome::Confirmed { .. });
            let goes_on = is_in_place && self.prove(snapshot, has_changed, stages);
            let report = self.report(snapshot, &served, product, outcome, stages);
            held.append(&mut self.needed_by_held(snapshot, &completed));
            let mut report = Report { held, ..report };
            let waiting = self.waiting(snapshot);
            if goes_on || has_weighed && self.goes_on(&waiting) {
                report.again = Some(Duration::ZERO);
            } else if is_in_place {
                report.again = self.rests(&waiting);
            }
            if is_in_place {
                searches.waiting.clone_from(&waiting);
                let may_go_on = others.is_none() && !has_weighed && attempts < MOST_ATTEMPTS;
                if may_go_on && self.let_in(&mut searches, stages) {
                    self.begin_to_count();
                    before = self.quarantine.clone_entries();
                    others = Some(report);
                    continue;
                }
                let waits = |namespace: &str| waiting.iter().any(|waiting| *waiting.id.namespace == *namespace);
                self.stragglers.caught_up(self.now, |namespace| !waits(namespace));
            }
            // Reports that nginx got the changes of all others, whatever happened afterwards.
            if let (Some(others), Outcome::Unchanged { .. }) = (others, &report.outcome) {
                report.outcome = others.outcome;
            }
            return self.ended(Report { attempts, tests, ..report }, stages);
        }
    }

    /// What follows when a cycle ends.
    fn ended(&mut self, report: Report, stages: &mut impl Stages) -> Report {
        self.quarantine.save();
        stages.end_weighing();
        report
    }

    /// Ends searches whose complaints are gone, or says that some go on.
    fn ends_well(&mut self, searches: &mut Searches, snapshot: &Snapshot, attempts: usize) -> bool {
        for mut search in std::mem::take(&mut searches.running) {
            match search.bisection.go_on(false) {
                Progress::Continue if attempts < MOST_ATTEMPTS => searches.running.push(search),
                _ => self.quarantine_all(&search, snapshot),
            }
        }
        self.charge();
        !searches.running.is_empty()
    }

    /// Records what the files are made of before they are applied: if the daemon is killed right
    /// after nginx took them, its next start knows which versions were good.
    fn propose(&mut self, served: &Snapshot, product: &Product) {
        let (good, digest) = (self.good(served, product), product.files.digest());
        self.worth.follow(good, product);
        // While the store is being written its contents are not known: then all that may differ is
        // recorded.
        let kept = self.store.try_lock().ok();
        if self.keeper.is_done() && kept.as_ref().is_some_and(|kept| kept.is_complete()) {
            self.worth.written();
        }
        if self.proposed != Some(digest) {
            proposed::propose(&self.state, self.worth.good(), self.worth.unwritten(), digest, kept.as_deref());
            self.proposed = Some(digest);
        }
    }

    fn report(
        &mut self,
        snapshot: &Snapshot,
        served: &Snapshot,
        product: Product,
        outcome: Outcome,
        stages: &impl Stages,
    ) -> Report {
        if matches!(outcome, Outcome::Confirmed { .. } | Outcome::Unchanged { .. }) {
            self.confirm_hosts(snapshot, &product.states, stages);
            self.confirmed = Arc::new(self.worth.good().clone());
            self.kills = 0;
            self.keeper.keep(Arc::clone(&self.confirmed), self.worth.send(), Arc::clone(&product.claims));
        }
        let mut product = Product { files: Arc::default(), ..product };
        let findings = &mut product.findings;
        findings.extend(snapshot.findings.iter().cloned());
        for (id, entry) in self.quarantine.entries() {
            findings.push(Quarantine::finding(id, entry, objects::version(served, id)));
        }
        findings.extend(findings_of(&outcome));
        findings.extend(self.findings_of_removals());
        findings.sort();
        findings.dedup();
        let (states, replaced) = (std::mem::take(&mut product.states), std::mem::take(&mut product.replaced));
        product.states = self.judged.states(snapshot, replaced, states);
        tracing::debug!(states = self.judged.step.looked_at, "looked at for the verdicts");
        let quarantined = self.quarantine.entries().map(|(id, _)| Arc::clone(id)).collect();
        Report { product, quarantined, ..Report::of(outcome) }
    }
}

/// Whether several objects may have caused the complaint, and it is not known which.
fn is_doubtful(complaint: &Complaint) -> bool {
    complaint.origin.is_none() && complaint.candidates.len() > 1
}

/// Adds to a refusal that the administrator's templates caused it.
fn blame_templates(outcome: &mut Outcome) {
    let Outcome::Refused { complaints, .. } = outcome else { return };
    for complaint in complaints {
        complaint.words.push_str(
            " (because of the templates of nginx.templates: made with those of the program, nginx takes the same objects; \
             correct the templates and reload the settings)",
        );
    }
}

/// The finding about this host that follows from an outcome.
fn findings_of(outcome: &Outcome) -> Vec<Finding> {
    let report = |reason, note| vec![of_nginx(reason, note)];
    match outcome {
        Outcome::Unchanged { .. } | Outcome::Confirmed { .. } => Vec::new(),
        Outcome::Pinned { generation, outcome, .. } => {
            let note = format!(
                "the administrator went back to generation {generation}: no change of the cluster is applied, and requests \
                 go to the endpoints of then, which may be gone; `ingressd resume` ends it"
            );
            [report(Reason::Pinned, note), findings_of(outcome)].concat()
        }
        Outcome::Refused { complaints, .. } => {
            let words: Vec<_> = complaints.iter().map(|complaint| complaint.words.as_str()).collect();
            report(
                Reason::ReloadFailed,
                format!("nginx refuses the configuration and no object can be blamed: {}", words.join("; ")),
            )
        }
        Outcome::RolledBack { why, .. } => report(Reason::ReloadFailed, why.clone()),
        Outcome::Ready { why, .. } | Outcome::Killed { why, .. } => report(Reason::NginxDown, start_nginx(why)),
        Outcome::Failed { why } => report(Reason::WriteFailed, why.clone()),
    }
}
