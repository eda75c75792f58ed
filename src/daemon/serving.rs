//! The main loop under one version of the settings: one event at a time.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::{mpsc, watch};
use tokio::task::{JoinHandle, JoinSet};

use super::commands::{CommandQueue, ControlCommand, QueuedCommand};
use super::cycle::Report;
use super::dns::Dns;
use super::error::Error;
use super::feed::{self, Feed, Observed};
use super::link::Link;
use super::listeners::Listeners;
use super::metrics::{Cause, Heartbeat};
use super::names::NameWatch;
use super::notify;
use super::options;
use super::pacing::{Next, Pacer};
use super::pipeline::PipelineMemory;
use super::publication::{Peers, Publication};
use super::reporter::Reporter;
use super::retry::Retry;
use super::run::{Load, Request};
use super::tables::KindTables;
use super::traffic;
use super::work::{CycleTools, Done, Finished, Nginx, task_result};
use ingressd_apply::{Outcome, host_stops};
use ingressd_config::Settings;
use ingressd_objects::Snapshot;
use ingressd_translate::{self, Wanted};

/// How long a change waits for the first DNS answer for a name, so that its routes are not closed
/// for a moment.
const PATIENCE: Duration = Duration::from_millis(500);

/// How long the first cycle waits for the records of other nodes, which come from the same API
/// server as the objects.
const PEERS_PATIENCE: Duration = Duration::from_secs(3);

/// The least time between DNS queries for a name, whatever the settings say.
const SHORTEST: Duration = Duration::from_millis(100);

/// How long to wait for the source before checking whether nginx serves the generation of an
/// earlier run.
const SOURCE_PATIENCE: Duration = Duration::from_secs(2);

/// How long the sender of a command waits for a source that cannot be read; less than what systemd
/// grants a reload.
const FOLLOWING_PATIENCE: Duration = Duration::from_secs(20);

/// The events that wake the main loop.
enum Event {
    Requested(Option<Request>),
    Read(Observed),
    Resolved,
    /// The records of other nodes were read.
    Known,
    Due,
    Done(Box<Done>),
    Drained,
    Command(QueuedCommand),
    Tick,
}

/// What is kept across settings, and handed over once nothing can fail any more.
#[derive(Default)]
pub struct Handover {
    listeners: Option<Listeners>,
    queue: Option<CommandQueue>,
    publication: Option<Publication>,
    memory: Option<PipelineMemory>,
}

impl Handover {
    /// Ends what no settings have taken over.
    pub async fn end(self) {
        if let Some(publication) = self.publication {
            publication.stop().await;
        }
    }
}

/// The parts that run under one version of the settings.
pub struct Daemon {
    feed: Feed,
    publication: Publication,
    listeners: Listeners,
    drained: watch::Receiver<bool>,
    queue: CommandQueue,
    names: NameWatch,
    /// The records of other nodes.
    peers: Arc<Peers>,
    translate: ingressd_translate::Options,
    pacer: Pacer,
    retry: Retry,
    heartbeat: Arc<Heartbeat>,
    /// `None` while a thread uses it.
    work: Option<CycleTools>,
    running: Option<JoinHandle<Done>>,
    snapshot: Option<Arc<Snapshot>>,
    /// The revision of the snapshot.
    revision: Option<u64>,
    cause: Cause,
    /// When the oldest change of the running cycle was noticed.
    cycle_noticed: Option<Instant>,
    noticed: Option<Instant>,
    /// Until when a cycle waits for the first answer for a name.
    patience: Instant,
    /// Until when the first cycle waits for the records of other nodes.
    peers_patience: Instant,
    /// Whether the names to query were determined for the next cycle.
    knows_names: bool,
    /// Whether it was looked up what an earlier run served, because the source cannot be read.
    recalled: bool,
    /// When the passage of time alone makes another cycle necessary.
    ends: Option<Instant>,
    recheck: Duration,
    began: Instant,
    stopping: Option<Option<Box<Settings>>>,
    /// What counts requests; it ends when this is dropped.
    _traffic: JoinSet<()>,
}

impl Daemon {
    /// Opens addresses, folders and the source, and continues from the state under the earlier
    /// settings.
    pub async fn start(
        settings: &Settings,
        tables: KindTables,
        reporter: &mut Reporter,
        earlier: &mut Handover,
    ) -> Result<Self, Error> {
        let began = Instant::now();
        let queue = earlier.queue.get_or_insert_with(CommandQueue::open);
        let listeners = Listeners::open(settings, reporter, queue.sender(), earlier.listeners.as_mut()).await?;
        let work = CycleTools::open(settings, tables, earlier.memory.take());
        let source = async {
            let link = Link::of(settings, earlier.publication.as_ref().and_then(Publication::link)).await?;
            // This has to happen before anything is read from another API server.
            if let Some(earlier) = &mut earlier.publication {
                earlier.follow_server();
            }
            let feed = Feed::start(settings, tables, link.as_ref())?;
            Ok::<_, Error>((link, feed))
        };
        // The objects are read while nginx is surveyed.
        let (work, source) = tokio::join!(work, source);
        let (work, (link, feed)) = (work?, source?);
        reporter.found(&work.pipeline().nginx_version());
        let error_log = work.pipeline().error_log();
        reporter.limited(&settings.translate.limits);
        let mut publication = Publication::start(
            (settings, tables.statuses),
            link,
            reporter.metrics().published(),
            earlier.publication.take(),
        )
        .await;
        if let Some(contents) = work.pipeline().earlier() {
            publication.found(contents, began);
            reporter.left(contents, publication.states(), work.pipeline().earlier_made());
        }
        reporter.connected(feed::read_from(settings, publication.link()), publication.link(), publication.outlook());
        let (drained, heartbeat) = (listeners.drained(), listeners.heartbeat());
        let dns = Dns::of(&settings.names.resolvers);
        let (least, limits) = (settings.names.interval.max(SHORTEST), &settings.translate.limits);
        let state = &settings.apply.state;
        let names = NameWatch::start(dns, least, limits, state).map_err(|source| Error::unreadable(state, source))?;
        let queue = earlier.queue.take().unwrap_or_else(CommandQueue::open);
        if let Some(earlier) = earlier.listeners.take() {
            earlier.close().await;
        }
        Ok(Daemon {
            feed,
            publication,
            listeners,
            drained,
            queue,
            names,
            peers: Arc::default(),
            translate: settings.translate_options(),
            pacer: Pacer::new(settings.pacing),
            retry: Retry::default(),
            heartbeat,
            work: Some(work),
            running: None,
            snapshot: None,
            revision: None,
            cause: Cause::Start,
            cycle_noticed: None,
            noticed: None,
            patience: began,
            peers_patience: began,
            knows_names: false,
            recalled: false,
            ends: None,
            recheck: settings.pacing.recheck.max(Duration::from_millis(10)),
            began,
            stopping: None,
            _traffic: traffic::follow(settings, reporter.metrics().traffic(), reporter.status(), error_log),
        })
    }

    /// Closes the folders; returns when they are free and the last good versions are on disk.
    /// Publishing goes on, and requests that come meanwhile are answered under the next settings.
    pub async fn close(mut self) -> Handover {
        let memory = let_go(self.work).await;
        self.queue.settings_change();
        let (listeners, queue, publication) = (Some(self.listeners), Some(self.queue), Some(self.publication));
        Handover { listeners, queue, publication, memory }
    }

    /// Ends. nginx goes on, unless the whole host shuts down.
    pub async fn end(self) {
        let Daemon { publication, work, listeners, .. } = self;
        let farewell = async {
            match tokio::task::spawn_blocking(host_stops).await {
                Ok(true) => {
                    tracing::info!("this host goes down: its addresses are withdrawn at once");
                    publication.leave().await;
                }
                _ => publication.stop().await,
            }
        };
        tokio::join!(farewell, let_go(work));
        // Requests that came until now get the response that the daemon ends.
        listeners.close().await;
    }

    /// Serves until it is asked to stop (`None`) or to continue with other settings, which `load`
    /// reads.
    pub async fn serve(
        &mut self,
        load: &Load,
        requests: &mut mpsc::Receiver<Request>,
        reporter: &mut Reporter,
    ) -> Option<Box<Settings>> {
        let period = notify::watchdog_interval().map_or(self.recheck, |watchdog| watchdog.min(self.recheck));
        let mut ticks = tokio::time::interval(period);
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            let event = self.next(requests, &mut ticks).await;
            let now = Instant::now();
            self.heartbeat.beat(now);
            if let ControlFlow::Break(next) = self.handle(event, load, now, reporter) {
                return next;
            }
            self.publication.expect_alive();
            if self.publication.follow_server() {
                reporter.publishes_anew(self.publication.outlook());
            }
            self.follow_peers(now);
            self.publication.report(&reporter.status().borrow(), *self.drained.borrow(), now);
            reporter.published(&self.publication);
            reporter.turned(now);
        }
    }

    async fn next(&mut self, requests: &mut mpsc::Receiver<Request>, ticks: &mut tokio::time::Interval) -> Event {
        let due = self.due();
        let running = self.running.is_some();
        let idle = !running && self.work.is_some() && self.stopping.is_none();
        tokio::select! {
            request = requests.recv(), if self.stopping.is_none() => Event::Requested(request),
            done = async { Some(self.running.as_mut()?.await) }, if running => {
                self.running = None;
                match done {
                    Some(done) => Event::Done(Box::new(task_result(done))),
                    None => Event::Tick,
                }
            }
            observed = self.feed.next() => Event::Read(observed),
            // The sender lives as long as the control socket.
            Ok(()) = self.drained.changed() => Event::Drained,
            // A command waits for the end of the running cycle.
            Some(queued) = self.queue.next(), if idle => Event::Command(queued),
            () = self.names.changed() => Event::Resolved,
            () = self.publication.peers_known(), if self.awaits_peers() => Event::Known,
            () = tokio::time::sleep_until(due.unwrap_or(self.began).into()), if due.is_some() => Event::Due,
            _ = ticks.tick() => Event::Tick,
        }
    }

    /// When the next cycle begins.
    fn due(&self) -> Option<Instant> {
        self.work.as_ref()?;
        self.snapshot.as_ref()?;
        let paced = self.pacer.next().map(|next| self.began + next.at());
        let due = paced.into_iter().chain(self.retry.due()).chain(self.ends).min();
        let due = due.map(|due| if self.names.is_waiting() { due.max(self.patience) } else { due });
        due.map(|due| if self.awaits_peers() { due.max(self.peers_patience) } else { due })
    }

    /// Whether the first cycle waits for the records of other nodes: claims that this node sees
    /// for the first time may not be new to them.
    fn awaits_peers(&self) -> bool {
        matches!(self.cause, Cause::Start) && self.publication.awaits_peers()
    }

    /// Whether only the old workers have to be counted, on which the next cycle depends.
    fn looks_first(&self, now: Instant) -> bool {
        let is_due = self.retry.due().into_iter().chain(self.ends).any(|due| due <= now);
        !is_due && matches!(self.pacer.next(), Some(Next::Look(_)))
    }

    fn handle(
        &mut self,
        event: Event,
        load: &Load,
        now: Instant,
        reporter: &mut Reporter,
    ) -> ControlFlow<Option<Box<Settings>>> {
        match event {
            Event::Requested(None | Some(Request::Stop)) => self.stopping = Some(None),
            Event::Requested(Some(Request::Reload)) => self.reload(load, reporter),
            Event::Read(observed) => self.read(observed, now, reporter),
            Event::Resolved => self.change(now, now),
            // The cycle that waited for this is due.
            Event::Known => {}
            Event::Due if self.looks_first(now) => self.begin_glance(),
            Event::Due => self.begin_cycle(now),
            Event::Done(done) => self.finish(*done, now, reporter),
            // The mark is reported with everything else after each turn; connections are counted
            // from now on.
            Event::Drained => self.begin_look(),
            Event::Command(queued) => self.execute(queued, load, reporter),
            Event::Tick => {
                if self.snapshot.is_none() && self.began.elapsed() >= FOLLOWING_PATIENCE {
                    self.queue.nothing_follows();
                }
                self.begin_look();
            }
        }
        // A running cycle is not cut off: it ends with a generation that is confirmed or rolled
        // back.
        match self.running.is_none().then(|| self.stopping.take()).flatten() {
            Some(next) => ControlFlow::Break(next),
            None => ControlFlow::Continue(()),
        }
    }

    fn read(&mut self, observed: Observed, now: Instant, reporter: &Reporter) {
        reporter.read(&observed);
        let is_new = self.publication.read(&observed);
        let Some(snapshot) = observed.snapshot else { return };
        self.names.read(Wanted::of(&snapshot, &self.translate));
        if self.snapshot.replace(snapshot).is_none() {
            self.peers_patience = now + PEERS_PATIENCE;
        }
        // Changes of statuses alone need no new look at all objects.
        if self.revision.replace(observed.revision) != Some(observed.revision) || is_new {
            // Names that are never answered must not delay earlier changes: these wait no longer
            // than they would have.
            if self.pacer.next().is_none() {
                self.patience = now + PATIENCE;
            }
            self.change(now, observed.noticed.unwrap_or(now));
        }
    }

    fn change(&mut self, now: Instant, noticed: Instant) {
        self.noticed.get_or_insert(noticed);
        self.pacer.changed(now - self.began);
    }

    /// Takes over the records of other nodes. A request to the address of another node would come
    /// back when that node sends it here.
    fn follow_peers(&mut self, now: Instant) {
        let peers = self.publication.peers();
        // The order in which they saw claims matters for claims that this node sees for the first
        // time, and is not a change.
        let is_change = peers.addresses != self.peers.addresses;
        if peers != *self.peers {
            self.peers = Arc::new(peers);
        }
        if is_change {
            self.change(now, now);
        }
    }

    fn begin_cycle(&mut self, now: Instant) {
        let Some(snapshot) = self.snapshot.clone() else { return };
        let Some(work) = self.take_work() else { return };
        // The records that ended the wait may have come since they were last taken over.
        self.follow_peers(now);
        self.names.judge();
        // This happens once for each cycle: endless new names must not keep it from beginning.
        if !std::mem::replace(&mut self.knows_names, true) && self.names.has_unjudged() {
            self.running = Some(work.find_names(snapshot, self.names.answers(), Arc::clone(&self.peers)));
            return;
        }
        self.knows_names = false;
        if self.pacer.began(now - self.began).is_none() && self.cause != Cause::Nginx {
            self.cause = Cause::Retry;
        }
        self.retry.began();
        self.ends = None;
        self.cycle_noticed = self.noticed.take();
        self.publication.began();
        self.running = Some(work.turn(snapshot, self.names.answers(), Arc::clone(&self.peers)));
    }

    fn execute(&mut self, queued: QueuedCommand, load: &Load, reporter: &mut Reporter) {
        let Some(command) = self.queue.begin(queued) else { return };
        if command == ControlCommand::Reload {
            return self.reload(load, reporter);
        }
        let Some(work) = self.take_work() else { return };
        self.running = Some(work.execute(command));
    }

    /// Reloads the settings. When they can be read, they are used as soon as nothing runs any
    /// more.
    fn reload(&mut self, load: &Load, reporter: &mut Reporter) {
        reporter.reloading();
        match load() {
            Ok(settings) => self.stopping = Some(Some(settings)),
            Err(why) => self.reloaded(Err(why), reporter),
        }
    }

    /// Reports that new settings are in force, or why the earlier ones still are.
    pub fn reloaded(&mut self, result: Result<(), String>, reporter: &mut Reporter) {
        reporter.reloaded(&result);
        let reported = result.map(|()| "the settings were read again and are in force".to_owned());
        // The sender waits until nginx runs what follows from them.
        self.queue.executed(ControlCommand::Reload, reported, true);
    }

    /// Takes the tools of a cycle, unless other work uses them.
    fn take_work(&mut self) -> Option<CycleTools> {
        let mut work = self.work.take()?;
        work.set_drained(*self.drained.borrow());
        Some(work)
    }

    fn begin_look(&mut self) {
        let waits_for_source = self.snapshot.is_none() && self.began.elapsed() >= SOURCE_PATIENCE;
        // Before the first cycle it is not known what nginx should run.
        if self.stopping.is_some() || (matches!(self.cause, Cause::Start) && !waits_for_source) {
            return;
        }
        let Some(work) = self.take_work() else { return };
        self.running = Some(match (waits_for_source, self.recalled) {
            (true, false) => work.recall(),
            (true, true) => work.glance(),
            (false, _) => work.look(),
        });
        self.recalled |= waits_for_source;
    }

    fn begin_glance(&mut self) {
        if let Some(work) = self.take_work() {
            self.running = Some(work.glance());
        }
    }

    fn finish(&mut self, done: Done, now: Instant, reporter: &mut Reporter) {
        let Done { work, result, nginx } = done;
        self.work = Some(work);
        self.pacer.looked(now - self.began, nginx.status.old_workers);
        match result {
            Finished::Cycle(report) => self.conclude(*report, &nginx, now, reporter),
            Finished::Names(names) => {
                self.names.judged(names);
                self.patience = now + PATIENCE;
            }
            Finished::Recalled(in_force) => {
                reporter.recalled(in_force);
                reporter.looked(&nginx);
            }
            Finished::Look { changed, surveyed } => {
                reporter.looked(&nginx);
                if let Some(outcome) = changed {
                    reporter.nginx_changed(&outcome);
                    self.cause = Cause::Nginx;
                    self.retry.at(now);
                }
                if surveyed {
                    reporter.surveyed();
                    self.cause = Cause::Nginx;
                    self.pacer.changed(now - self.began);
                }
            }
            Finished::Executed { command, result } => {
                self.publication.pin(nginx.pinned.as_ref(), now);
                reporter.executed(&result, self.publication.states(), &nginx);
                // A cycle reports what is pinned and what is not applied because of it, and what
                // is applied again.
                let follows = result.is_ok() && self.snapshot.is_some();
                if follows {
                    self.pacer.changed(now - self.began);
                }
                self.queue.executed(command, result, follows);
            }
        }
    }

    fn conclude(&mut self, mut report: Report, nginx: &Nginx, now: Instant, reporter: &mut Reporter) {
        self.names.judged(std::mem::take(&mut report.product.names));
        let reload = match &report.outcome {
            Outcome::Confirmed { reload, .. } => Some(*reload),
            Outcome::RolledBack { .. } => Some(Duration::ZERO),
            _ => None,
        };
        self.pacer.ended(now - self.began, reload);
        self.retry.ended(&report.outcome, now);
        if let Some(after) = report.again {
            self.retry.at(now + after);
        }
        self.feed.hold(&report.held);
        let left = |due: i64| Duration::from_secs(due.saturating_sub(options::now()).max(1).unsigned_abs());
        self.ends = report.product.due.map(|due| now + left(due));
        let noticed_first = self.cycle_noticed.take();
        if !report.outcome.is_in_place() {
            // The change still waits, and has waited since it was first noticed.
            self.noticed = noticed_first.or(self.noticed);
        }
        let waited = noticed_first.map(|noticed| now - noticed);
        let cause = std::mem::replace(&mut self.cause, Cause::Change);
        self.publication.concluded(&report, nginx.pinned.as_ref(), now);
        self.queue.concluded(&report.outcome);
        reporter.concluded(cause, report, self.publication.states(), nginx, waited);
    }
}

/// Returns when folders are free and what was served last is on disk.
async fn let_go(work: Option<CycleTools>) -> Option<PipelineMemory> {
    match work {
        Some(work) => Some(work.close().await),
        None => None,
    }
}
