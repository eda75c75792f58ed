//! Reports events to status, metrics, log and systemd. It must not decide what happens next.

use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use tokio::sync::watch;

use super::cycle::{Product, Report};
use super::explain::InForce;
use super::feed::Observed;
use super::link::Link;
use super::log::FindingLog;
use super::metrics::{Cause, Metrics};
use super::notify::Notifier;
use super::outcomes;
use super::publication::Publication;
use super::status::{Phase, ReadFrom, Status, refused_by_nginx};
use super::work::Nginx;
use ingressd_apply::{self as apply, Contents, Outcome};
use ingressd_cluster::publish::Outlook;
use ingressd_model::ObjectState;
use ingressd_model::finding::count;
use ingressd_objects::Snapshot;
use ingressd_translate::Limits;

/// The states of objects, with what nginx serves of them.
type States = Arc<[Arc<ObjectState>]>;

/// The outputs of reports, which are kept across settings.
#[derive(Debug)]
pub struct Reporter {
    status: watch::Sender<Arc<Status>>,
    metrics: Arc<Metrics>,
    findings: FindingLog,
    notifier: Notifier,
    /// Whether the last look at nginx's status port got no answer.
    unanswered: bool,
}

impl Reporter {
    /// A reporter that begins with the value of `status`.
    pub fn new(status: watch::Sender<Arc<Status>>) -> Self {
        Reporter {
            status,
            metrics: Arc::default(),
            findings: FindingLog::default(),
            notifier: Notifier::default(),
            unanswered: false,
        }
    }

    /// The status, and changes of it.
    pub fn status(&self) -> watch::Receiver<Arc<Status>> {
        self.status.subscribe()
    }

    /// The metrics since the start.
    pub fn metrics(&self) -> &Arc<Metrics> {
        &self.metrics
    }

    /// Reports what an earlier run recorded of the generation that nginx runs, and when it was
    /// made: until the source is read, nothing else is known.
    pub fn left(&self, contents: &Contents, states: &States, made: Option<SystemTime>) {
        let age = made.and_then(|made| made.elapsed().ok());
        self.change(|status| {
            // Settings that are read again have no part in this.
            if !status.concluded {
                status.certificates = contents.certificates.clone().into();
                status.states = Arc::clone(states);
                status.left = age.map(|age| (age, Instant::now()));
            }
        });
    }

    /// Reports what explains the answers of an earlier run's generation.
    pub fn recalled(&self, in_force: Option<Arc<InForce>>) {
        self.change(|status| {
            if !status.concluded {
                status.in_force = in_force;
            }
        });
    }

    /// Reports the version of nginx's binary.
    pub fn found(&self, nginx_version: &str) {
        self.change(|status| status.nginx_version = nginx_version.into());
    }

    /// Sets the limits on reports.
    pub fn limited(&self, limits: &Limits) {
        self.change(|status| status.limits = limits.clone());
    }

    /// Reports which source is read, a cluster or a folder.
    pub fn connected(&self, read_from: ReadFrom, link: Option<&Link>, outlook: Option<&Outlook>) {
        self.change(|status| {
            status.read_from = read_from;
            status.outlook = outlook.cloned();
            status.watches = Arc::default();
            status.requests = link.map(|link| Arc::clone(link.clients().requests()));
        });
    }

    /// Reports that another API server is published to.
    pub fn publishes_anew(&self, outlook: Option<&Outlook>) {
        self.change(|status| status.outlook = outlook.cloned());
    }

    /// Reports that the source was read, or could not be.
    pub fn read(&self, observed: &Observed) {
        self.change(|status| {
            status.data_read = observed.read.or(status.data_read);
            status.data_current = observed.current;
            status.source_failure = observed.failure.clone();
            status.watches = Arc::clone(&observed.watches);
            if let Some(snapshot) = &observed.snapshot {
                status.objects = counts(snapshot);
            }
        });
        // Each watch of a cluster logs by itself when it fails, and when it works again.
        if let (Some(failure), true) = (&observed.failure, observed.watches.is_empty()) {
            tracing::warn!("the source cannot be read, and nginx goes on serving what it has: {failure}");
        }
    }

    /// Reports the state of nginx.
    pub fn looked(&mut self, nginx: &Nginx) {
        let served = self.served(nginx);
        let left_by_earlier_run = nginx
            .status
            .served
            .filter(|served| nginx.status.confirmed == Some(*served) && nginx.status.on_disk == Some(*served));
        self.change(|status| {
            set_nginx(status, nginx, served);
            // What nginx serves does not depend on whether the source can be read.
            if let (Phase::Starting, Some(generation)) = (status.phase, left_by_earlier_run) {
                (status.phase, status.generation) = (Phase::Serving, Some(generation));
            }
            // Before a cycle has told, only the look at nginx does.
            match (&nginx.status.master, status.phase, status.concluded) {
                (Err(why), Phase::Serving, false) => {
                    (status.phase, status.why) = (Phase::NginxDown, Some(why.as_str().into()));
                }
                (Ok(_), Phase::NginxDown, false) if left_by_earlier_run.is_some() => {
                    (status.phase, status.why) = (Phase::Serving, None);
                }
                _ => {}
            }
        });
    }

    /// The generation that nginx returns. A single missing answer, as on a busy host, is ignored,
    /// unless another generation was confirmed since the last one.
    fn served(&mut self, nginx: &Nginx) -> Option<u64> {
        let was_unanswered = std::mem::replace(&mut self.unanswered, nginx.status.served.is_none());
        let status = self.status.borrow();
        match nginx.status.served {
            None if nginx.status.master.is_ok() && !was_unanswered && nginx.status.confirmed == status.generation => {
                status.served
            }
            served => served,
        }
    }

    /// Reports that nginx started, stopped, or was restarted by another process.
    pub fn nginx_changed(&self, outcome: &Outcome) {
        tracing::info!("nginx changed by itself: {}", describe(outcome));
        // An nginx that was restarted has read everything without our signal.
        if !matches!(outcome, Outcome::Ready { .. } | Outcome::Confirmed { reload: Duration::ZERO, .. }) {
            self.metrics.count(Cause::Nginx, outcome, None);
        }
        // nginx may run an earlier generation and not the last one: the next cycle finds out.
        if !matches!(outcome, Outcome::Unchanged { .. } | Outcome::Confirmed { .. }) {
            self.change(|status| set_outcome(status, outcome));
        }
    }

    /// Reports that nginx's version or another site of the host changed.
    pub fn surveyed(&self) {
        tracing::info!("nginx or another site of this host changed");
    }

    /// Reports that a cycle ended; `waited` is the time since its oldest change.
    pub fn concluded(
        &mut self,
        cause: Cause,
        report: Report,
        states: &States,
        nginx: &Nginx,
        waited: Option<Duration>,
    ) {
        let Report { outcome, product, quarantined, tests, .. } = report;
        let Product { findings, certificates, estimate, claims, in_force, .. } = product;
        self.metrics.tested(&tests);
        self.metrics.count(cause, &outcome, waited);
        // The confirmation has just got this answer from nginx.
        let heard = match &outcome {
            Outcome::Confirmed { generation, .. } => Some(*generation),
            // The first cycle of a run has asked nginx as well.
            Outcome::Unchanged { generation } if !self.status.borrow().concluded => Some(*generation),
            _ => None,
        };
        let heard = heard.filter(|_| nginx.status.served.is_none() && nginx.status.master.is_ok());
        let served = self.served(nginx).or(heard);
        // This is set at once, so that no reader sees nginx run a generation that is not reported
        // as confirmed yet.
        self.change(|status| {
            set_nginx(status, nginx, served);
            set_outcome(status, &outcome);
            let steps = &status.outcomes;
            if let Some(steps) = outcomes::with(steps, &outcome, nginx.cause.as_ref(), waited, SystemTime::now()) {
                status.outcomes = steps;
            }
            status.findings = findings.into();
            status.reports_down = matches!(outcome.of_nginx(), Outcome::Ready { .. } | Outcome::Killed { .. });
            status.states = Arc::clone(states);
            status.quarantined = quarantined.into();
            // After a failure nginx goes on with the earlier generation.
            if outcome.is_in_place() {
                status.concluded = true;
                status.certificates = certificates.into();
                status.estimate = estimate;
                status.claims = claims;
                status.in_force = in_force;
            }
            set_pinned_contents(status, nginx);
        });
        let status = Arc::clone(&self.status.borrow());
        match &outcome {
            Outcome::Unchanged { .. } | Outcome::Pinned { waiting: 0, .. } => {}
            Outcome::Pinned { generation, .. } => {
                tracing::warn!(GENERATION = status.generation, PINNED = generation, "{}", describe(&outcome));
            }
            outcome => tracing::info!(GENERATION = status.generation, "{}", with_cause(outcome, nginx.cause.as_ref())),
        }
        let most = status.limits.findings_of_namespace;
        self.findings.update(&status.findings, status.generation, most, Instant::now());
    }

    /// Reports that a command of the administrator was executed, or failed.
    pub fn executed(&mut self, result: &Result<String, String>, states: &States, nginx: &Nginx) {
        match result {
            Ok(what) => tracing::warn!(GENERATION = nginx.status.confirmed, "{what}"),
            Err(why) => tracing::error!(GENERATION = nginx.status.confirmed, "{why}"),
        }
        self.looked(nginx);
        self.change(|status| {
            status.states = Arc::clone(states);
            set_pinned_contents(status, nginx);
        });
    }

    /// Reports what is served of each object.
    pub fn published(&self, publication: &Publication) {
        let reported = publication.served();
        self.status.send_if_modified(|status| {
            let differs = !status.reported.is_same(reported);
            if differs {
                Arc::make_mut(status).reported = reported.clone();
            }
            differs
        });
    }

    /// Reports a turn of the main loop.
    pub fn turned(&mut self, now: Instant) {
        let status = Arc::clone(&self.status.borrow());
        // This is sent even when the first change of this run failed: units that wait for this one
        // must not wait because of a bad object.
        if status.ready().is_ok() {
            self.notifier.ready();
        }
        self.notifier.turned(&status, now);
    }

    /// Reports that the settings are being reloaded.
    pub fn reloading(&mut self) {
        self.notifier.reloading();
    }

    /// Reports that new settings are in force, or why the earlier ones still are.
    pub fn reloaded(&mut self, result: &Result<(), String>) {
        match result {
            Ok(()) => tracing::info!("the settings were read again"),
            Err(why) => tracing::error!("the new settings cannot be used, and those in force stay:\n{why}"),
        }
        self.change(|status| status.refused_settings = result.as_ref().err().map(|why| why.as_str().into()));
        // systemd waits for the end of the reload, whatever the result is.
        self.notifier.reloaded();
    }

    /// Reports that the daemon ends.
    pub fn stopping(&mut self) {
        self.change(|status| status.phase = Phase::Stopping);
        self.notifier.stopping();
    }

    /// Changes the status and notifies its receivers.
    fn change(&self, change: impl FnOnce(&mut Status)) {
        self.status.send_modify(|status| change(Arc::make_mut(status)));
    }
}

fn set_nginx(status: &mut Status, nginx: &Nginx, served: Option<u64>) {
    status.master = nginx.status.master.as_ref().ok().copied();
    status.workers = nginx.status.workers;
    (status.old_workers, status.ended) = (nginx.status.old_workers, nginx.status.ended);
    status.served = served;
    status.generation = nginx.status.confirmed;
    status.nginx_version = nginx.version.as_str().into();
    status.pinned = nginx.pinned.clone();
    status.connections = nginx.connections;
    if status.refusal != nginx.refusal {
        match &nginx.refusal {
            Some(words) => tracing::error!("{}", refused_by_nginx(words)),
            None => tracing::info!("nginx accepts the host's configuration again"),
        }
        status.refusal = nginx.refusal.clone();
    }
}

/// A pinned generation serves what it did when it was made.
fn set_pinned_contents(status: &mut Status, nginx: &Nginx) {
    let Some(contents) = nginx.pinned.as_ref().and_then(|pinned| pinned.contents.as_ref()) else { return };
    status.certificates = contents.certificates.clone().into();
    status.concluded = true;
}

fn set_outcome(status: &mut Status, outcome: &Outcome) {
    let (phase, why) = match outcome {
        Outcome::Pinned { outcome, .. } => return set_outcome(status, outcome),
        Outcome::Unchanged { .. } | Outcome::Confirmed { .. } => (Phase::Serving, None),
        Outcome::Ready { why, .. } | Outcome::Killed { why, .. } => (Phase::NginxDown, Some(why.as_str().into())),
        Outcome::Refused { .. } | Outcome::RolledBack { .. } | Outcome::Failed { .. } => {
            (Phase::Failed, Some(describe(outcome).into()))
        }
    };
    (status.phase, status.why) = (phase, why);
    status.prepared = match outcome {
        Outcome::Ready { generation, .. } => Some(*generation),
        Outcome::Killed { generation, .. } => *generation,
        _ => None,
    };
}

/// A sentence about an outcome; for a new generation with its cause.
fn with_cause(outcome: &Outcome, cause: Option<&apply::Cause>) -> String {
    match (outcome, cause) {
        (Outcome::Confirmed { .. } | Outcome::Ready { .. }, Some(cause)) => {
            format!("{}; cause: {cause}", describe(outcome))
        }
        _ => describe(outcome),
    }
}

/// A sentence about an outcome, for people.
pub fn describe(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Pinned { generation, waiting, outcome } => format!(
            "generation {generation} is pinned: {} not applied and endpoints may be stale, until \
             `ingressd resume`; {}",
            count(*waiting, "changed file is", "changed files are"),
            describe(outcome)
        ),
        Outcome::Unchanged { generation } => format!("nginx runs generation {generation}"),
        Outcome::Confirmed { generation, test, reload, written } => format!(
            "nginx runs generation {generation}: {} written, the test took {} ms, the reload {} ms",
            count(*written, "file", "files"),
            test.as_millis(),
            reload.as_millis()
        ),
        Outcome::Refused { complaints, .. } => {
            let words: Vec<_> = complaints.iter().map(|complaint| complaint.words.as_str()).collect();
            format!("nginx refuses the configuration: {}", words.join("; "))
        }
        Outcome::RolledBack { generation: Some(generation), why, .. } => {
            format!("generation {generation} is in place again: {why}")
        }
        Outcome::RolledBack { generation: None, why, .. } | Outcome::Failed { why } => why.clone(),
        Outcome::Killed { generation: Some(generation), why, .. } => {
            format!("generation {generation} is in place again for the start of nginx, which does not run: {why}")
        }
        Outcome::Killed { generation: None, why, .. } => format!("nginx does not run: {why}"),
        Outcome::Ready { generation, why } => {
            format!("generation {generation} is ready for nginx, which does not run: {why}")
        }
    }
}

fn counts(snapshot: &Snapshot) -> Vec<(&'static str, usize)> {
    snapshot.lists().map(|(row, list)| (row.kind.name(), list.count())).collect()
}
