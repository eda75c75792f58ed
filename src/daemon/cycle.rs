//! One cycle: make the files for a snapshot, apply them, and take out what nginx refuses; it must not know how any of it is done.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::candidates;
use super::last_good::{Keeper, LastGood};
use super::objects;
use super::quarantine::Quarantine;
use crate::apply::{Complaint, Outcome};
use crate::finding::{Finding, Reason};
use crate::model::{Field, Kind, ObjectId, Origin};
use crate::render::{Digest, FileSet};
use crate::source::{LeftOut, Snapshot, Version};
use crate::translate::Accepted;

/// How often files are made and applied in one cycle at most, while culprits are looked for.
const MOST_ATTEMPTS: usize = 100;

/// How often a snapshot is translated in one attempt at most, while refused versions are put back.
const MOST_PASSES: usize = 4;

/// What a cycle has done by others: from a snapshot to files, and from files to a running nginx.
pub trait Stages {
    /// Everything that may judge objects otherwise tomorrow, by one name: nginx with its modules, and ourselves.
    fn judge(&self) -> Arc<str>;
    /// Translates, gates and renders.
    fn make(&mut self, snapshot: &Snapshot) -> Product;
    /// Applies.
    fn apply(&mut self, files: &FileSet) -> Outcome;
    /// Makes files in which no hosts share anything, from now on, because of what nginx says of them; false when they do not.
    fn part(&mut self, words: &str) -> bool;
    /// Makes files as before that.
    fn join(&mut self);
    /// What nginx says about the same snapshot with the program's own templates, nothing being applied; `None` where these are
    /// in use, or nobody can tell.
    fn complaints_without_templates(&mut self, snapshot: &Snapshot) -> Option<Vec<Complaint>>;
}

/// What was made from a snapshot.
#[derive(Debug, Default)]
pub struct Product {
    /// The files.
    pub files: FileSet,
    /// What is wrong with the objects, or cannot be had here.
    pub findings: Vec<Finding>,
    /// The Ingresses that are ours.
    pub accepted: Vec<Accepted>,
    /// Object versions that cannot be served as written.
    pub refused: Vec<(Arc<ObjectId>, Version)>,
    /// Secrets with certificates that are served, and the end of their validity in seconds since 1970.
    pub certificates: Vec<(Arc<ObjectId>, i64)>,
}

impl Product {
    /// The objects whose versions are good when these files are.
    fn worth(&self) -> BTreeSet<Arc<ObjectId>> {
        let files = self.files.files.values();
        let owners = files.flat_map(|file| file.owners.0.iter()).map(|(_, origin)| &origin.object);
        let mut worth: BTreeSet<_> = owners.chain(self.accepted.iter().map(|accepted| &accepted.id)).cloned().collect();
        worth.retain(|id| !self.refused.iter().any(|(refused, _)| refused == id));
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
    /// Certificates that are served, see [`Product::certificates`].
    pub certificates: Vec<(Arc<ObjectId>, i64)>,
    /// How many attempts it took.
    pub attempts: usize,
    /// How long the test of each attempt took that had one.
    pub tests: Vec<Duration>,
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
    /// The files of which it is written down what they are made of.
    proposed: Option<Digest>,
    /// Whether nginx has taken anything since these settings are in force, and the administrator's templates with it.
    taken: bool,
}

/// A version that is not served in this attempt.
#[derive(Debug, Clone)]
struct Exclusion {
    version: Version,
    left_out: bool,
}

/// Several objects may have caused one complaint: they are taken out one after the other until it falls silent. The last
/// one taken is guilty; the others come back, and are taken again only if the complaint comes back with them.
#[derive(Debug)]
struct Trial {
    complaint: Complaint,
    guilty: Vec<Arc<ObjectId>>,
    taken: Vec<Arc<ObjectId>>,
    waiting: VecDeque<Arc<ObjectId>>,
}

/// How a trial stands after an attempt.
enum Verdict {
    Continue,
    Guilty,
    Nobody,
}

impl Trial {
    fn excluded(&self) -> impl Iterator<Item = &Arc<ObjectId>> {
        self.guilty.iter().chain(&self.taken)
    }

    fn complaint_stays(&mut self) -> Verdict {
        match self.waiting.pop_front() {
            Some(next) => self.taken.push(next),
            None => return Verdict::Nobody,
        }
        Verdict::Continue
    }

    fn complaint_is_gone(&mut self) -> Verdict {
        self.guilty.extend(self.taken.pop());
        match self.taken.is_empty() {
            true => Verdict::Guilty,
            false => {
                self.waiting = self.taken.drain(..).collect();
                Verdict::Continue
            }
        }
    }
}

impl Cycle {
    /// Continues with what an earlier run left in the state folder; `in_place` are the files that nginx has or will read.
    pub fn open(state: &Path, in_place: Option<Digest>) -> Self {
        let store = Arc::new(Mutex::new(LastGood::open(state, in_place)));
        let keeper = Keeper::start(Arc::clone(&store));
        Cycle {
            state: state.to_owned(),
            quarantine: Quarantine::open(state),
            store,
            keeper,
            confirmed: Arc::default(),
            proposed: None,
            taken: false,
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
        let before = self.quarantine.clone_entries();
        let mut trial: Option<Trial> = None;
        let mut attempts = 0;
        let mut tests = Vec::new();
        loop {
            attempts += 1;
            let (served, product) = self.make(snapshot, stages, trial.as_ref());
            let worth = Arc::new(product.worth());
            self.propose(&served, &worth, &product.files);
            let mut outcome = stages.apply(&product.files);
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
                // New templates are the first suspect. Once nginx has taken something made with them, what changed since is.
                Outcome::Refused { .. } if by_templates && !self.taken => {
                    if self.ends_well(&mut trial, snapshot, attempts) {
                        continue;
                    }
                }
                Outcome::Refused { complaints, .. } => {
                    // What nginx refuses however it is written is the fault of objects.
                    let complaints = own.as_ref().filter(|own| !own.is_empty()).unwrap_or(complaints);
                    // Alone, whoever shared a file is blamed by name; or nobody is, and sharing was the fault.
                    let doubt = complaints.iter().find(|complaint| is_doubtful(complaint));
                    if attempts < MOST_ATTEMPTS && doubt.is_some_and(|complaint| stages.part(&complaint.words)) {
                        continue;
                    }
                    if attempts < MOST_ATTEMPTS && self.judge(complaints, snapshot, &mut trial) {
                        stages.join();
                        continue;
                    }
                    stages.join();
                    // Taking objects out did not help: whoever was blamed in this cycle is innocent for all we know.
                    self.quarantine.restore(before);
                }
                Outcome::Confirmed { .. } | Outcome::Unchanged { .. } | Outcome::Ready { .. } => {
                    self.taken = true;
                    if self.ends_well(&mut trial, snapshot, attempts) {
                        continue;
                    }
                }
                Outcome::RolledBack { .. } | Outcome::Failed { .. } | Outcome::Pinned { .. } => {}
            }
            let report = self.report(snapshot, &served, product, worth, outcome);
            return Report { attempts, tests, ..report };
        }
    }

    /// Ends a trial whose complaint is gone, or says that it goes on.
    fn ends_well(&mut self, trial: &mut Option<Trial>, snapshot: &Snapshot, attempts: usize) -> bool {
        let Some(running) = trial else { return false };
        if let Verdict::Continue = running.complaint_is_gone()
            && attempts < MOST_ATTEMPTS
        {
            return true;
        }
        self.convict_all(running, snapshot);
        false
    }

    /// Adds the last good versions of objects that the source could not make anything of since it began.
    fn complete<'a>(&self, snapshot: &'a Snapshot) -> Cow<'a, Snapshot> {
        let mut completed = Cow::Borrowed(snapshot);
        let missing = snapshot.left_out.iter().filter(|left_out| objects::version(snapshot, &left_out.id).is_none());
        for LeftOut { id, .. } in missing {
            let store = self.store.lock().unwrap_or_else(PoisonError::into_inner);
            // It has no version that the earlier one would have to differ from.
            objects::put_back(completed.to_mut(), id, &self.confirmed, Some(&Version("".into())), &*store);
        }
        completed
    }

    /// Makes files from the snapshot without excluded versions; versions that the translation refuses are excluded in turn.
    fn make<'a>(
        &self,
        snapshot: &'a Snapshot,
        stages: &mut impl Stages,
        trial: Option<&Trial>,
    ) -> (Cow<'a, Snapshot>, Product) {
        let mut excluded = self.excluded(snapshot, trial);
        let mut about_refused: Vec<Finding> = Vec::new();
        for pass in 1.. {
            let served = self.substitute(snapshot, &excluded);
            let mut product = stages.make(&served);
            let before = excluded.len();
            for (id, version) in product.refused.iter().filter(|_| pass < MOST_PASSES) {
                // Without an earlier version it stays where it is: the translation leaves it out by itself and says so.
                if excluded.contains_key(id) || !self.has_earlier(id, version) {
                    continue;
                }
                excluded.insert(Arc::clone(id), Exclusion { version: version.clone(), left_out: false });
            }
            if excluded.len() == before {
                // Findings about a version that took the place of a refused one would hide what is wrong with it.
                product.findings.retain(|finding| !about_refused.iter().any(|other| other.origin == finding.origin));
                product.findings.append(&mut about_refused);
                return (served, product);
            }
            // What is wrong with a refused version may be told of whoever refers to it, as of the Ingress that names a
            // Secret: everything told with it counts.
            about_refused.append(&mut product.findings);
        }
        unreachable!("the last pass excludes nothing")
    }

    fn excluded(&self, snapshot: &Snapshot, trial: Option<&Trial>) -> BTreeMap<Arc<ObjectId>, Exclusion> {
        let entries = self.quarantine.entries();
        let entries = entries.map(|(id, entry)| {
            (Arc::clone(id), Exclusion { version: entry.version.clone(), left_out: entry.left_out })
        });
        let mut excluded: BTreeMap<_, _> = entries.collect();
        for id in trial.iter().flat_map(|trial| trial.excluded()) {
            if let Some(version) = objects::version(snapshot, id) {
                let left_out = excluded.contains_key(id);
                excluded.insert(Arc::clone(id), Exclusion { version: version.clone(), left_out });
            }
        }
        excluded
    }

    fn substitute<'a>(
        &self,
        snapshot: &'a Snapshot,
        excluded: &BTreeMap<Arc<ObjectId>, Exclusion>,
    ) -> Cow<'a, Snapshot> {
        let mut served = Cow::Borrowed(snapshot);
        for (id, exclusion) in excluded {
            let store = self.store.lock().unwrap_or_else(PoisonError::into_inner);
            let not = (!exclusion.left_out).then_some(&exclusion.version);
            objects::put_back(served.to_mut(), id, &self.confirmed, not, &*store);
        }
        served
    }

    fn has_earlier(&self, id: &ObjectId, version: &Version) -> bool {
        let store = self.store.lock().unwrap_or_else(PoisonError::into_inner);
        objects::put_back(&mut Snapshot::default(), id, &self.confirmed, Some(version), &*store).is_some()
    }

    /// Decides what the next attempt does without. False when nobody can be blamed.
    fn judge(&mut self, complaints: &[Complaint], snapshot: &Snapshot, trial: &mut Option<Trial>) -> bool {
        if let Some(mut running) = trial.take() {
            let stays = complaints.iter().any(|complaint| is_same(complaint, &running.complaint));
            match if stays { running.complaint_stays() } else { running.complaint_is_gone() } {
                Verdict::Continue => {
                    *trial = Some(running);
                    return true;
                }
                Verdict::Guilty => self.convict_all(&running, snapshot),
                Verdict::Nobody => return false,
            }
        }
        let mut convicted = false;
        let mut doubtful = None;
        for complaint in complaints {
            let mut candidates = self.candidates(complaint, snapshot);
            match candidates.len() {
                0 => {}
                1 => convicted |= candidates.pop_front().is_some_and(|id| self.convict(complaint, &id, snapshot)),
                _ => doubtful = doubtful.or(Some((complaint, candidates))),
            }
        }
        if let (false, Some((complaint, mut waiting))) = (convicted, doubtful)
            && let Some(first) = waiting.pop_front()
        {
            *trial = Some(Trial { complaint: complaint.clone(), guilty: Vec::new(), taken: vec![first], waiting });
            return true;
        }
        convicted
    }

    /// Who may have caused a complaint and can still be taken out: those that changed since nginx last agreed come first.
    fn candidates(&self, complaint: &Complaint, snapshot: &Snapshot) -> VecDeque<Arc<ObjectId>> {
        let can_be_taken_out = |id: &Arc<ObjectId>| {
            objects::version(snapshot, id).is_some() && !self.quarantine.get(id).is_some_and(|entry| entry.left_out)
        };
        if let Some(origin) = complaint.origin.as_ref().filter(|origin| can_be_taken_out(&origin.object)) {
            return VecDeque::from([Arc::clone(&origin.object)]);
        }
        let mut seen = BTreeSet::new();
        let suspects = complaint.suspects.iter().filter(|id| can_be_taken_out(id) && seen.insert(Arc::clone(id)));
        let has_changed = |id: &ObjectId| objects::version(snapshot, id) != objects::version(&self.confirmed, id);
        let (changed, same): (Vec<_>, Vec<_>) = suspects.cloned().partition(|id| has_changed(id));
        changed.into_iter().chain(same).collect()
    }

    fn convict_all(&mut self, trial: &Trial, snapshot: &Snapshot) {
        for id in trial.excluded() {
            self.convict(&trial.complaint, id, snapshot);
        }
    }

    fn convict(&mut self, complaint: &Complaint, id: &Arc<ObjectId>, snapshot: &Snapshot) -> bool {
        let Some(version) = objects::version(snapshot, id).cloned() else { return false };
        let origin = complaint.origin.as_ref().filter(|origin| origin.object == *id);
        let field = origin.map_or(Field::Object, |origin| origin.field.clone());
        self.quarantine.put(Arc::clone(id), version, complaint.words.clone(), field);
        true
    }

    /// Writes down what the files are made of before they are applied: killed right after nginx took them, the daemon knows
    /// at its next start which versions were good.
    fn propose(&mut self, served: &Snapshot, worth: &BTreeSet<Arc<ObjectId>>, files: &FileSet) {
        let digest = files.digest();
        if self.proposed != Some(digest) {
            // While the store is being written nobody knows what it holds: everything is proposed then.
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
        let Product { mut findings, accepted, certificates, .. } = product;
        findings.extend(snapshot.findings.iter().cloned());
        for (id, entry) in self.quarantine.entries() {
            findings.push(Quarantine::finding(id, entry, objects::version(served, id)));
        }
        findings.extend(findings_of(&outcome));
        findings.sort();
        findings.dedup();
        if matches!(outcome, Outcome::Confirmed { .. } | Outcome::Unchanged { .. }) {
            self.confirmed = Arc::new(Snapshot { findings: Vec::new(), ..served.clone() });
            self.keeper.keep(Arc::clone(&self.confirmed), worth);
        }
        Report { outcome, findings, accepted, certificates, attempts: 0, tests: Vec::new() }
    }
}

/// Whether several objects may have caused it, and nothing tells which.
fn is_doubtful(complaint: &Complaint) -> bool {
    complaint.origin.is_none() && complaint.suspects.len() > 1
}

/// Whether two complaints are about the same thing; lines shift when an object is taken out.
fn is_same(one: &Complaint, other: &Complaint) -> bool {
    let file = |complaint: &Complaint| complaint.place.as_ref().map(|(file, _)| Arc::clone(file));
    one.words == other.words && file(one) == file(other)
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

/// What an outcome means for whoever runs the host.
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
        Outcome::Ready { why, .. } => tell(Reason::NginxDown, why.clone()),
        Outcome::Failed { why } => tell(Reason::WriteFailed, why.clone()),
    }
}

#[cfg(test)]
mod tests;
