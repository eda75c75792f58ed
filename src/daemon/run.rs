//! The loop: one event at a time, work that blocks apart from it; it must not know what snapshots or files hold.

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::net::TcpListener;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;

use super::control::Control;
use super::cycle::{Cycle, Report};
use super::feed::{Feed, Reading};
use super::http::{self, Facts};
use super::log::FindingLog;
use super::metrics::{Cause, Heartbeat, Metrics};
use super::notify::{self, Notifier};
use super::pacing::Pacer;
use super::pipeline::{self, Pipeline};
use super::status::{Phase, Status};
use crate::apply::Outcome;
use crate::config::Settings;
use crate::model::Kind;
use crate::source::{Snapshot, WatchError};

/// First and longest time to the next attempt after one that the host made fail.
const RETRY: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(60));

/// What the daemon is asked to do while it runs.
#[derive(Debug)]
pub enum Request {
    /// End. nginx goes on as it is.
    Stop,
    /// Go on with these settings, or keep those in force because of what is wrong with the new ones.
    Reload(Result<Box<Settings>, String>),
}

/// Why the daemon cannot run.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// There is nothing to serve.
    #[error("nothing to serve: name a folder of manifests with --manifests or the setting manifests")]
    NoSource,
    /// The source cannot be watched.
    #[error(transparent)]
    Source(#[from] WatchError),
    /// An address cannot be used.
    #[error("the address of http.address, {address}, cannot be used: {source}")]
    Http {
        /// The address.
        address: std::net::SocketAddr,
        /// Why.
        source: std::io::Error,
    },
    /// The control socket cannot be made.
    #[error("the socket of control.socket, {}, cannot be made: {source}", path.display())]
    Control {
        /// The path.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// nginx or a folder cannot be used.
    #[error("{0}")]
    Pipeline(#[source] Box<pipeline::Error>),
}

impl Error {
    /// Whether a file or folder may not be used, so that another user would have to run the daemon.
    pub fn is_permission(&self) -> bool {
        let mut source = std::error::Error::source(self);
        while let Some(error) = source {
            let denied = |error: &std::io::Error| error.kind() == std::io::ErrorKind::PermissionDenied;
            if error.downcast_ref().is_some_and(denied) {
                return true;
            }
            source = error.source();
        }
        false
    }
}

/// Everything that can wake the loop.
enum Event {
    Requested(Option<Request>),
    Read(Reading),
    Due,
    Done(Box<Done>),
    Tick,
}

/// What blocks and is moved to a thread of its own while it works.
struct Work {
    cycle: Cycle,
    pipeline: Pipeline,
}

/// What a thread came back with.
struct Done {
    work: Work,
    /// `None` when nginx was only looked at.
    report: Option<Report>,
    /// Whether nginx started, stopped or was restarted.
    changed: Option<Outcome>,
    /// Whether nginx's version or another site of the host changed.
    surveyed: bool,
    nginx: crate::apply::Status,
    nginx_version: String,
}

/// Runs until it is asked to stop, or until whoever could ask is gone. `status` always holds what is true.
pub async fn run(
    settings: Settings,
    mut requests: mpsc::Receiver<Request>,
    status: watch::Sender<Arc<Status>>,
) -> Result<(), Error> {
    let mut notifier = Notifier::default();
    let metrics = Arc::new(Metrics::default());
    let mut findings = FindingLog::default();
    let mut settings = settings;
    let mut daemon = Daemon::start(&settings, &status, &metrics).await?;
    loop {
        let next = daemon.serve(&mut requests, &status, &mut notifier, &mut findings).await;
        match next {
            None => {
                publish(&status, |status| status.phase = Phase::Stopping);
                notifier.stopping();
                return Ok(());
            }
            Some(new) => {
                // Addresses and folders may stay the same: the old ones have to be let go first.
                daemon.close().await;
                daemon = match Daemon::start(&new, &status, &metrics).await {
                    Ok(daemon) => {
                        settings = *new;
                        tracing::info!("the settings were read again");
                        daemon
                    }
                    Err(error) => {
                        tracing::error!("the new settings cannot be used, those in force stay: {error}");
                        Daemon::start(&settings, &status, &metrics).await?
                    }
                };
                notifier.reloaded();
            }
        }
    }
}

/// What runs under one version of the settings.
struct Daemon {
    feed: Feed,
    pacer: Pacer,
    metrics: Arc<Metrics>,
    heartbeat: Arc<Heartbeat>,
    servers: Vec<JoinHandle<()>>,
    /// `None` while a thread has it.
    work: Option<Work>,
    running: Option<JoinHandle<Done>>,
    snapshot: Option<Arc<Snapshot>>,
    cause: Cause,
    /// When the change was noticed that the running cycle carries.
    carried: Option<Instant>,
    noticed: Option<Instant>,
    retry: Option<Instant>,
    patience: Duration,
    recheck: Duration,
    /// The last look at nginx's status port got no answer.
    unanswered: bool,
    began: Instant,
    stopping: Option<Option<Box<Settings>>>,
}

impl Daemon {
    async fn start(
        settings: &Settings,
        status: &watch::Sender<Arc<Status>>,
        metrics: &Arc<Metrics>,
    ) -> Result<Self, Error> {
        let folder = settings.manifests.as_deref().ok_or(Error::NoSource)?;
        let began = Instant::now();
        let heartbeat = Arc::new(Heartbeat::new(began));
        let address = settings.http.address;
        let listener = TcpListener::bind(address).await.map_err(|source| Error::Http { address, source })?;
        let path = &settings.control_socket;
        let control = Control::bind(path).map_err(|source| Error::Control { path: path.clone(), source })?;
        let (opened, state) = (settings.clone(), settings.apply.state.clone());
        let opening = tokio::task::spawn_blocking(move || {
            let pipeline = Pipeline::open(&opened).map_err(|error| Error::Pipeline(Box::new(error)))?;
            Ok::<_, Error>(Work { cycle: Cycle::open(&state), pipeline })
        });
        let work = joined(opening.await)?;
        let version = work.pipeline.nginx_version();
        publish(status, |status| status.nginx_version = version.into());
        let feed = Feed::start(folder)?;
        let facts = Facts {
            status: status.subscribe(),
            metrics: Arc::clone(metrics),
            heartbeat: Arc::clone(&heartbeat),
            nginx: settings.gate.status,
        };
        let servers = vec![tokio::spawn(http::serve(listener, facts)), tokio::spawn(control.serve(status.subscribe()))];
        Ok(Daemon {
            feed,
            pacer: Pacer::new(settings.pacing),
            metrics: Arc::clone(metrics),
            heartbeat,
            servers,
            work: Some(work),
            running: None,
            snapshot: None,
            cause: Cause::Start,
            carried: None,
            noticed: None,
            retry: None,
            patience: RETRY.0,
            recheck: settings.pacing.recheck.max(Duration::from_millis(10)),
            unanswered: false,
            began,
            stopping: None,
        })
    }

    /// Lets go of sockets and folders; returns when they are free.
    async fn close(mut self) {
        for server in std::mem::take(&mut self.servers) {
            server.abort();
            // It ends by being aborted, which is no news.
            let _ = server.await;
        }
    }

    /// Serves until it is asked to stop (`None`) or to go on with other settings.
    async fn serve(
        &mut self,
        requests: &mut mpsc::Receiver<Request>,
        status: &watch::Sender<Arc<Status>>,
        notifier: &mut Notifier,
        findings: &mut FindingLog,
    ) -> Option<Box<Settings>> {
        let period = notify::watchdog_interval().map_or(self.recheck, |watchdog| watchdog.min(self.recheck));
        let mut ticks = tokio::time::interval(period);
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            let event = self.next(requests, &mut ticks).await;
            let now = Instant::now();
            self.heartbeat.beat(now);
            if let Event::Requested(Some(Request::Reload(loaded))) = &event {
                notifier.reloading();
                if loaded.is_err() {
                    // Nothing follows: systemd would wait for the end of the reload.
                    notifier.reloaded();
                }
            }
            match self.handle(event, now, status, findings) {
                ControlFlow::Break(next) => return next,
                ControlFlow::Continue(()) => {}
            }
            let status = Arc::clone(&status.borrow());
            if status.phase == Phase::Serving {
                notifier.ready();
            }
            notifier.turned(&status, now);
        }
    }

    async fn next(&mut self, requests: &mut mpsc::Receiver<Request>, ticks: &mut tokio::time::Interval) -> Event {
        let due = self.due();
        let running = self.running.is_some();
        tokio::select! {
            request = requests.recv(), if self.stopping.is_none() => Event::Requested(request),
            done = async { Some(self.running.as_mut()?.await) }, if running => {
                self.running = None;
                match done {
                    Some(done) => Event::Done(Box::new(joined(done))),
                    None => Event::Tick,
                }
            }
            reading = self.feed.next() => Event::Read(reading),
            () = tokio::time::sleep_until(due.unwrap_or(self.began).into()), if due.is_some() => Event::Due,
            _ = ticks.tick() => Event::Tick,
        }
    }

    /// When the next cycle begins.
    fn due(&self) -> Option<Instant> {
        self.work.as_ref()?;
        self.snapshot.as_ref()?;
        let paced = self.pacer.due().map(|due| self.began + due);
        paced.into_iter().chain(self.retry).min()
    }

    fn handle(
        &mut self,
        event: Event,
        now: Instant,
        status: &watch::Sender<Arc<Status>>,
        findings: &mut FindingLog,
    ) -> ControlFlow<Option<Box<Settings>>> {
        match event {
            Event::Requested(None | Some(Request::Stop)) => self.stopping = Some(None),
            Event::Requested(Some(Request::Reload(Ok(settings)))) => self.stopping = Some(Some(settings)),
            Event::Requested(Some(Request::Reload(Err(why)))) => {
                tracing::error!("the new settings cannot be used, those in force stay:\n{why}");
            }
            Event::Read(reading) => self.read(reading, now, status),
            Event::Due => self.begin_cycle(now),
            Event::Done(done) => self.finish(*done, now, status, findings),
            Event::Tick => self.begin_look(),
        }
        // A cycle that runs is not cut off: it ends with a generation that is confirmed or put back.
        match self.running.is_none().then(|| self.stopping.take()).flatten() {
            Some(next) => ControlFlow::Break(next),
            None => ControlFlow::Continue(()),
        }
    }

    fn read(&mut self, reading: Reading, now: Instant, status: &watch::Sender<Arc<Status>>) {
        publish(status, |status| {
            status.data_read = reading.read.or(status.data_read);
            status.source_failure = reading.failure.clone();
            if let Some(snapshot) = &reading.snapshot {
                status.objects = counts(snapshot);
            }
        });
        if let Some(failure) = &reading.failure {
            tracing::warn!("the source cannot be read, what is served stays: {failure}");
        }
        if let Some(snapshot) = reading.snapshot {
            self.snapshot = Some(snapshot);
            self.noticed = self.noticed.or(reading.noticed);
            self.pacer.changed(now - self.began);
        }
    }

    fn begin_cycle(&mut self, now: Instant) {
        let (Some(mut work), Some(snapshot)) = (self.work.take(), self.snapshot.clone()) else { return };
        if self.pacer.began(now - self.began).is_none() && self.cause != Cause::Nginx {
            self.cause = Cause::Retry;
        }
        self.retry = None;
        self.carried = self.noticed.take();
        self.running = Some(tokio::task::spawn_blocking(move || {
            work.pipeline.set_clock();
            let report = work.cycle.turn(&snapshot, &mut work.pipeline);
            if matches!(report.outcome, Outcome::Confirmed { .. }) {
                work.pipeline.sweep();
            }
            let nginx = work.pipeline.status();
            Done {
                nginx_version: work.pipeline.nginx_version(),
                report: Some(report),
                changed: None,
                surveyed: false,
                nginx,
                work,
            }
        }));
    }

    fn begin_look(&mut self) {
        // Before the first cycle there is nothing that nginx could be seen to have lost.
        if self.stopping.is_some() || matches!(self.cause, Cause::Start) {
            return;
        }
        let Some(mut work) = self.work.take() else { return };
        self.running = Some(tokio::task::spawn_blocking(move || {
            let changed = work.pipeline.recheck();
            let surveyed = work.pipeline.survey_changed();
            let nginx = work.pipeline.status();
            Done { nginx_version: work.pipeline.nginx_version(), report: None, changed, surveyed, nginx, work }
        }));
    }

    fn finish(&mut self, done: Done, now: Instant, status: &watch::Sender<Arc<Status>>, findings: &mut FindingLog) {
        self.work = Some(done.work);
        self.pacer.draining(done.nginx.draining);
        let nginx = done.nginx;
        // One answer that does not come in time on a busy host is not believed to mean anything.
        let served = match nginx.served {
            None if nginx.master.is_ok() && !std::mem::replace(&mut self.unanswered, true) => status.borrow().served,
            served => served,
        };
        self.unanswered = nginx.served.is_none();
        let set_nginx = |status: &mut Status| {
            status.master = nginx.master.as_ref().ok().copied();
            (status.workers, status.draining) = (nginx.workers, nginx.draining);
            status.served = served;
            status.nginx_version = done.nginx_version.as_str().into();
        };
        let Some(report) = done.report else {
            publish(status, set_nginx);
            if let Some(outcome) = done.changed {
                tracing::info!("nginx changed by itself: {}", describe(&outcome));
                // One that read everything by itself was not told to.
                if !matches!(outcome, Outcome::Ready { .. } | Outcome::Confirmed { reload: Duration::ZERO, .. }) {
                    self.metrics.count(Cause::Nginx, &outcome, None);
                }
                // That an earlier generation runs does not mean that the last one does: the cycle that follows tells.
                if !matches!(outcome, Outcome::Unchanged { .. } | Outcome::Confirmed { .. }) {
                    publish(status, |status| set_outcome(status, &outcome));
                }
                self.cause = Cause::Nginx;
                self.retry = Some(now);
            }
            if done.surveyed {
                tracing::info!("nginx or another site of this host changed");
                self.cause = Cause::Nginx;
                self.pacer.changed(now - self.began);
            }
            return;
        };
        let waited = self.carried.take().map(|noticed| now - noticed);
        self.metrics.count(self.cause, &report.outcome, waited);
        self.cause = Cause::Change;
        let reload = match &report.outcome {
            Outcome::Confirmed { test, reload, .. } => Some(*test + *reload),
            Outcome::RolledBack { .. } => Some(Duration::ZERO),
            _ => None,
        };
        self.pacer.ended(reload, nginx.draining);
        self.plan_retry(&report.outcome, now);
        publish(status, |status| {
            set_nginx(status);
            set_outcome(status, &report.outcome);
            status.findings = report.findings.into();
            // After a failure nginx goes on with what it was told before.
            if report.outcome.is_in_place() {
                status.accepted = report.accepted.into();
                status.certificates = report.certificates.into();
            }
        });
        let status = status.borrow();
        if !matches!(report.outcome, Outcome::Unchanged { .. }) {
            tracing::info!(GENERATION = status.generation, "{}", describe(&report.outcome));
        }
        findings.update(&status.findings, status.generation);
    }

    /// What the host made fail is tried again, ever more seldom; what objects made fail waits for them to change.
    fn plan_retry(&mut self, outcome: &Outcome, now: Instant) {
        match outcome {
            Outcome::RolledBack { .. } | Outcome::Failed { .. } => {
                self.retry = Some(now + self.patience);
                self.patience = (self.patience * 2).min(RETRY.1);
            }
            Outcome::Unchanged { .. } | Outcome::Confirmed { .. } | Outcome::Refused { .. } | Outcome::Ready { .. } => {
                self.patience = RETRY.0;
            }
        }
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        self.servers.iter().for_each(JoinHandle::abort);
    }
}

/// The result of a thread. One that panicked has left its work half done: the daemon must not go on as if nothing were.
fn joined<T>(result: Result<T, tokio::task::JoinError>) -> T {
    match result {
        Ok(done) => done,
        Err(error) => match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            Err(error) => unreachable!("nobody cancels work: {error}"),
        },
    }
}

/// Changes the status and tells whoever waits for it.
fn publish(sender: &watch::Sender<Arc<Status>>, change: impl FnOnce(&mut Status)) {
    sender.send_modify(|status| change(Arc::make_mut(status)));
}

fn set_outcome(status: &mut Status, outcome: &Outcome) {
    let (phase, why) = match outcome {
        Outcome::Unchanged { .. } | Outcome::Confirmed { .. } => (Phase::Serving, None),
        Outcome::Ready { why, .. } => (Phase::NginxDown, Some(why.as_str().into())),
        Outcome::Refused { .. } | Outcome::RolledBack { .. } | Outcome::Failed { .. } => {
            (Phase::Failed, Some(describe(outcome).into()))
        }
    };
    (status.phase, status.why) = (phase, why);
    match outcome {
        Outcome::Unchanged { generation } | Outcome::Confirmed { generation, .. } => {
            status.generation = Some(*generation);
        }
        Outcome::RolledBack { generation, .. } => status.generation = *generation,
        Outcome::Ready { .. } | Outcome::Refused { .. } | Outcome::Failed { .. } => {}
    }
}

fn describe(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Unchanged { generation } => format!("nginx runs generation {generation}"),
        Outcome::Confirmed { generation, test, reload, written } => format!(
            "nginx runs generation {generation}: {written} files written, tested in {} ms, reloaded in {} ms",
            test.as_millis(),
            reload.as_millis()
        ),
        Outcome::Refused { complaints } => {
            let words: Vec<_> = complaints.iter().map(|complaint| complaint.words.as_str()).collect();
            format!("nginx refuses the configuration: {}", words.join("; "))
        }
        Outcome::RolledBack { generation: Some(generation), why } => {
            format!("generation {generation} is in place again: {why}")
        }
        Outcome::RolledBack { generation: None, why } | Outcome::Failed { why } => why.clone(),
        Outcome::Ready { generation, why } => {
            format!("generation {generation} is ready for nginx, which does not run: {why}")
        }
    }
}

fn counts(snapshot: &Snapshot) -> Vec<(&'static str, usize)> {
    let kinds = Kind::ALL.into_iter().filter(|kind| !matches!(kind, Kind::File | Kind::Settings | Kind::Host));
    kinds.map(|kind| (kind.name(), snapshot.count(kind))).collect()
}
