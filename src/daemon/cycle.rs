//! One cycle: make the files for a snapshot, apply them, and take out what nginx refuses; it must not know how any of it is done.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use self::judging::Attempt;
use self::searches::Searches;
use self::stragglers::Stragglers;
use self::trial::Verdict;
use super::candidates;
use super::explain::InForce;
use super::last_good::{Keeper, LastGood};
use super::objects;
use super::quarantine::Quarantine;
use super::standing::{self, Judgement};
use crate::apply::{Complaint, Outcome};
use crate::finding::{Finding, Reason};
use crate::model::cost::Cost;
use crate::model::{HostName, Kind, ObjectId, Origin};
use crate::render::{Digest, FileSet};
use crate::source::{Snapshot, Version};
use crate::translate::{Accepted, Claims, Namespaces};

mod good;
mod judging;
mod searches;
mod stragglers;
mod substitution;
#[cfg(test)]
mod tests;
mod trial;
mod weighing;

/// How often files are made and applied in one cycle at most, while culprits are looked for.
const MOST_ATTEMPTS: usize = 100;

/// After so many attempts all suspects go back to what nginx ran before, so that everybody else's
/// changes are served.
const PATIENT_ATTEMPTS: usize = 50;

/// The stages that a cycle uses: from a snapshot to files, and from files to a running nginx.
pub trait Stages {
    /// What time it is.
    fn now(&self) -> Instant {
        Instant::now()
    }
    /// Names everything that judges objects: the version of nginx with its modules, and that of
    /// ingressd.
    fn judge(&self) -> Arc<str>;
    /// Translates, gates and renders.
    fn make(&mut self, snapshot: &Snapshot) -> Product;
    /// Applies.
    fn apply(&mut self, files: &FileSet) -> Outcome;
    /// Looks whether nginx accepts what is in place, and gives each further attempt no more time than that suggests, until
    /// [`Stages::end_weighing`]; false when it does not, or does not run.
    fn begin_weighing(&mut self) -> bool;
    /// Gives attempts their usual time again.
    fn end_weighing(&mut self);
    /// These claims on hosts and paths are those of what is served now.
    fn settle(&mut self, claims: &Arc<Claims>);
    /// Makes files in which no hosts share anything, from now on, because of what nginx says of them; false when they do not.
    fn stop_sharing(&mut self, words: &str) -> bool;
    /// Makes files as before that.
    fn resume_sharing(&mut self);
    /// What nginx says about the same snapshot with the program's own templates, nothing being applied; `None` where these are
    /// in use, or nobody can tell.
    fn complaints_without_templates(&mut self, snapshot: &Snapshot) -> Option<Vec<Complaint>>;
}

/// What was made from a snapshot.
#[derive(Debug, Default)]
pub struct Product {
    pub(crate) files: FileSet,
    /// What is wrong with the objects, or cannot be had here.
    pub findings: Vec<Finding>,
    /// The Ingresses that are ours.
    pub accepted: Vec<Accepted>,
    /// Object versions that cannot be served as written.
    pub refused: Vec<(Arc<ObjectId>, Version)>,
    /// Secrets with certificates that are served, and the end of their validity in seconds since 1970.
    pub certificates: Vec<(Arc<ObjectId>, i64)>,
    /// What each namespace costs nginx, as estimated.
    pub costs: Vec<(Arc<str>, Cost)>,
    /// The claims on hosts and paths that these files are made by.
    pub claims: Arc<Claims>,
    /// When time alone changes what is served, in seconds since 1970.
    pub due: Option<i64>,
    /// The names behind Services to which what is served refers, with the namespaces that have them.
    pub names: BTreeMap<HostName, Namespaces>,
    /// What explains answers.
    pub in_force: Option<Arc<InForce>>,
}

impl Product {
    /// The objects whose versions are good when these files are.
    fn worth(&self) -> BTreeSet<Arc<ObjectId>> {
        let files = self.files.files.values();
        let owners = files.flat_map(|file| file.owners.0.iter()).map(|(_, origin)| &origin.object);
        let mut worth: BTreeSet<_> = owners.chain(self.accepted.iter().map(|accepted| &accepted.id)).cloned().collect();
        for (refused, _) in &self.refused {
            worth.remove(refused);
        }
        worth
    }
}

/// How a cycle ended.
#[derive(Debug)]
pub struct Report {
    /// How the last attempt ended.
    pub outcome: Outcome,
    /// Everything worth telling, sorted, each once.
    pub findings: Vec<Finding>,
    /// The Ingresses that are ours, as they are served.
    pub accepted: Vec<Accepted>,
    /// How each Ingress of ours was judged, sorted.
    pub judgements: Vec<Judgement>,
    /// Certificates that are served, see [`Product::certificates`].
    pub certificates: Vec<(Arc<ObjectId>, i64)>,
    /// What each namespace costs nginx, as estimated.
    pub costs: Vec<(Arc<str>, Cost)>,
    /// The Secrets that versions refer to which are served though they are not the newest.
    pub held: BTreeSet<ObjectId>,
    /// See [`Product::claims`].
    pub claims: Arc<Claims>,
    /// See [`Product::due`].
    pub due: Option<i64>,
    /// See [`Product::names`].
    pub names: BTreeMap<HostName, Namespaces>,
    /// See [`Product::in_force`].
    pub in_force: Option<Arc<InForce>>,
    /// How many attempts it took.
    pub attempts: usize,
    /// How long the test of each attempt took that had one.
    pub tests: Vec<Duration>,
    /// After how long another cycle has to come, whatever changes until then: somebody's changes wait for it.
    pub again: Option<Duration>,
}

impl Report {
    /// Nothing but the outcome.
    pub fn of(outcome: Outcome) -> Self {
        Report {
            outcome,
            findings: Vec::new(),
            accepted: Vec::new(),
            judgements: Vec::new(),
            certificates: Vec::new(),
            costs: Vec::new(),
            held: BTreeSet::new(),
            claims: Arc::default(),
            due: None,
            names: BTreeMap::new(),
            in_force: None,
            attempts: 0,
            tests: Vec::new(),
            again: None,
        }
    }
}

/// What is remembered from cycle to cycle.
#[derive(Debug)]
pub struct Cycle {
    state: PathBuf,
    quarantine: Quarantine,
    store: Arc<Mutex<LastGood>>,
    keeper: Keeper,
    /// What nginx runs, last good versions included; empty before the first confirmation.
    confirmed: Arc<Snapshot>,
    /// The files whose objects are written down.
    proposed: Option<Digest>,
    /// Whether nginx has taken anything since these settings are in force, and the administrator's templates with it.
    taken: bool,
    /// Whose changes come after those of everybody else.
    stragglers: Stragglers,
    /// The time, as it was when nginx answered last.
    now: Instant,
    /// The time that attempts take from here on is not yet charged to a namespace.
    began: Instant,
    /// How many versions of each namespace were refused since then.
    refused: BTreeMap<Arc<str>, u32>,
    /// How often in a row nginx was killed while it read a new configuration.
    kills: u32,
}

impl Cycle {
    /// Continues with what an earlier run left in the state folder; `in_place` are the files that nginx has or will read.
    pub fn open(state: &Path, in_place: Option<Digest>) -> Self {
        let store = Arc::new(Mutex::new(LastGood::open(state, in_place)));
        let keeper = Keeper::start(Arc::clone(&store), state);
        let now = Instant::now();
        Cycle {
            state: state.to_owned(),
            quarantine: Quarantine::open(state),
            store,
            keeper,
            confirmed: Arc::default(),
            proposed: None,
            taken: false,
            stragglers: Stragglers::default(),
            now,
            began: now,
            refused: BTreeMap::new(),
            kills: 0,
        }
    }

    /// Ends it: what is served is on disk then.
    pub async fn close(self) {
        self.keeper.close().await;
    }

    /// Brings nginx to what the snapshot says, without the versions that it refuses.
    pub fn turn(&mut self, snapshot: &Snapshot, stages: &mut impl Stages) -> Report {
        let snapshot = &*self.complete(snapshot);
        self.quarantine.keep_in_force(snapshot, &stages.judge());
        let mut before = self.quarantine.clone_entries();
        self.now = stages.now();
        self.begin_to_count();
        let mut searches = Searches { waiting: self.waiting(snapshot), ..Searches::default() };
        // The result for everybody else's changes, once the changes that wait for them are tried.
        let mut others: Option<Report> = None;
        let mut attempts = 0;
        let mut tests = Vec::new();
        loop {
            attempts += 1;
            let (mut served, mut product, mut held) = self.make(snapshot, stages, &searches);
            let worth = Arc::new(product.worth());
            self.propose(&self.good(&served, &product), &worth, &product.files);
            let mut outcome = stages.apply(&product.files);
            self.now = stages.now();
            tests.extend(outcome.test());
            let own = match outcome {
                Outcome::Refused { .. } => stages.complaints_without_templates(&served),
                _ => None,
            };
            let by_templates = own.as_ref().is_some_and(Vec::is_empty);
            if by_templates {
                blame_templates(&mut outcome);
            }
            match &outcome {
                // New templates are the first suspect. Once nginx has run files that were made
                // with them, the objects that changed since are.
                Outcome::Refused { .. } if by_templates && !self.taken => {
                    if self.ends_well(&mut searches, snapshot, attempts) {
                        continue;
                    }
                }
                Outcome::Refused { complaints, .. } => {
                    // What nginx refuses with either templates is caused by objects.
                    let complaints = own.as_ref().filter(|own| !own.is_empty()).unwrap_or(complaints);
                    // With files of their own, the objects that shared one can be told apart; or
                    // nginx accepts them, and sharing was the cause.
                    let doubt = complaints.iter().find(|complaint| is_doubtful(complaint));
                    let is_last = attempts >= MOST_ATTEMPTS;
                    if !is_last && doubt.is_some_and(|complaint| stages.stop_sharing(&complaint.words)) {
                        continue;
                    }
                    let in_a_hurry = attempts >= PATIENT_ATTEMPTS;
                    let attempt = Attempt { snapshot, served: &served, accepted: &product.accepted, in_a_hurry };
                    let goes_on = !is_last && self.judge(complaints, &attempt, &mut searches.trials);
                    stages.resume_sharing();
                    let is_crowd = self.charge();
                    match others.take() {
                        // Everybody else may have changed meanwhile, and goes first again.
                        Some(report) if goes_on && searches.is_idle() => {
                            stages.end_weighing();
                            return Report { attempts, tests, again: Some(Duration::ZERO), ..report };
                        }
                        report => others = report,
                    }
                    if goes_on {
                        if others.is_none() && is_crowd {
                            searches.wait_for(self.waiting(snapshot));
                        }
                        continue;
                    }
                    // Objects that were too much stay in quarantine, and the next cycle goes on
                    // from there. But where taking objects out did not help, those that were
                    // blamed in this cycle may be innocent.
                    if !is_last {
                        self.quarantine.restore(before);
                    }
                    // What was taken out for a moment is not gone.
                    (served, product, held) = self.make(snapshot, stages, &Searches::default());
                }
                Outcome::RolledBack { too_much: Some(words), .. } => {
                    let attempt = (&*served, &product.files);
                    if attempts < MOST_ATTEMPTS && self.weigh(words, snapshot, attempt, &mut searches, stages) {
                        continue;
                    }
                    (served, product, held) = self.make(snapshot, stages, &Searches::default());
                }
                Outcome::Killed { read: true, why, .. } => {
                    self.convict_killers(why, snapshot, (&served, &product.files));
                    (served, product, held) = self.make(snapshot, stages, &Searches::default());
                }
                // An nginx that does not run says nothing about the objects that are left out for
                // the moment.
                Outcome::Ready { .. } if searches.weighing.is_some() => {
                    (served, product, held) = self.make(snapshot, stages, &Searches::default());
                }
                Outcome::Confirmed { .. } | Outcome::Unchanged { .. } | Outcome::Ready { .. } => {
                    self.taken = true;
                    if self.ends_well(&mut searches, snapshot, attempts) {
                        continue;
                    }
                    stages.settle(&product.claims);
                }
                Outcome::RolledBack { .. }
                | Outcome::Killed { .. }
                | Outcome::Failed { .. }
                | Outcome::Pinned { .. } => {}
            }
            let is_in_place = outcome.is_in_place();
            let report = self.report(snapshot, &served, product, worth, outcome);
            let mut report = Report { held, ..report };
            if is_in_place {
                if others.is_none() && attempts < MOST_ATTEMPTS && self.let_in(&mut searches, stages) {
                    self.begin_to_count();
                    before = self.quarantine.clone_entries();
                    others = Some(report);
                    continue;
                }
                report.again = self.rests(&searches.waiting);
                let waits =
                    |namespace: &str| searches.waiting.iter().any(|waiting| *waiting.id.namespace == *namespace);
                self.stragglers.caught_up(self.now, |namespace| !waits(namespace));
            }
            // Report that nginx got the changes of everybody else, whatever came after.
            if let (Some(others), Outcome::Unchanged { .. }) = (others, &report.outcome) {
                report.outcome = others.outcome;
            }
            stages.end_weighing();
            return Report { attempts, tests, ..report };
        }
    }

    /// Ends trials whose complaints are gone, or says that some go on.
    fn ends_well(&mut self, searches: &mut Searches, snapshot: &Snapshot, attempts: usize) -> bool {
        for mut trial in std::mem::take(&mut searches.trials) {
            match trial.complaint_is_gone() {
                Verdict::Continue if attempts < MOST_ATTEMPTS => searches.trials.push(trial),
                _ => self.convict_all(&trial, snapshot),
            }
        }
        self.weigh_less(snapshot, searches);
        self.charge();
        !searches.is_idle()
    }

    /// Writes down what the files are made of before they are applied: killed right after nginx took them, the daemon knows
    /// at its next start which versions were good.
    fn propose(&mut self, served: &Snapshot, worth: &BTreeSet<Arc<ObjectId>>, files: &FileSet) {
        let digest = files.digest();
        if self.proposed != Some(digest) {
            // While the store is being written its contents are not known: everything is written
            // down then.
            let kept = self.store.try_lock().ok();
            candidates::propose(&self.state, served, worth, digest, kept.as_deref());
            self.proposed = Some(digest);
        }
    }

    fn report(
        &mut self,
        snapshot: &Snapshot,
        served: &Snapshot,
        product: Product,
        worth: Arc<BTreeSet<Arc<ObjectId>>>,
        outcome: Outcome,
    ) -> Report {
        if matches!(outcome, Outcome::Confirmed { .. } | Outcome::Unchanged { .. }) {
            self.confirmed = Arc::new(self.good(served, &product));
            self.kills = 0;
            self.keeper.keep(Arc::clone(&self.confirmed), worth, Arc::clone(&product.claims));
        }
        let Product { mut findings, accepted, certificates, costs, claims, due, names, in_force, .. } = product;
        findings.extend(snapshot.findings.iter().cloned());
        for (id, entry) in self.quarantine.entries() {
            findings.push(Quarantine::finding(id, entry, objects::version(served, id)));
        }
        findings.extend(findings_of(&outcome));
        findings.sort();
        findings.dedup();
        let judgements = standing::judge(snapshot, &accepted, &findings);
        let known = Report { findings, accepted, judgements, certificates, costs, ..Report::of(outcome) };
        Report { claims, due, names, in_force, ..known }
    }
}

/// Whether several objects may have caused it, and it is not known which.
fn is_doubtful(complaint: &Complaint) -> bool {
    complaint.origin.is_none() && complaint.suspects.len() > 1
}

/// Says of a refusal that the administrator's templates caused it.
fn blame_templates(outcome: &mut Outcome) {
    let Outcome::Refused { complaints, .. } = outcome else { return };
    for complaint in complaints {
        complaint.words.push_str(
            " (because of the templates of nginx.templates: made with those of the program, nginx takes the same objects; \
             mend the templates and reload the settings)",
        );
    }
}

/// The finding about the host that follows from an outcome.
fn findings_of(outcome: &Outcome) -> Vec<Finding> {
    let nginx = Arc::new(ObjectId::new(Kind::Host, "", "nginx"));
    let tell = |reason, note: String| vec![Finding::new(reason, Origin::object(&nginx), note)];
    match outcome {
        Outcome::Unchanged { .. } | Outcome::Confirmed { .. } => Vec::new(),
        Outcome::Pinned { generation, outcome, .. } => {
            let note = format!(
                "the administrator went back to generation {generation}: no change of the cluster is applied, and requests \
                 go to the endpoints of then, which may be gone; `ingressd rollback --resume` ends it"
            );
            [tell(Reason::Pinned, note), findings_of(outcome)].concat()
        }
        Outcome::Refused { complaints, .. } => {
            let words: Vec<_> = complaints.iter().map(|complaint| complaint.words.as_str()).collect();
            tell(
                Reason::ReloadFailed,
                format!("nginx refuses the configuration and no object can be blamed: {}", words.join("; ")),
            )
        }
        Outcome::RolledBack { why, .. } => tell(Reason::ReloadFailed, why.clone()),
        Outcome::Ready { why, .. } | Outcome::Killed { why, .. } => tell(
            Reason::NginxDown,
            format!("{why}; start nginx: `systemctl status nginx` and `ingressd doctor` tell what keeps it from that"),
        ),
        Outcome::Failed { why } => tell(Reason::WriteFailed, why.clone()),
    }
}
