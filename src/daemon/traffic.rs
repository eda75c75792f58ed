//! Requests by object, read from a log that nginx writes for the daemon and counted here, and what
//! nginx complains about.

mod errors;
mod exposition;
mod figures;
mod line;
mod named;
mod recent;
mod report;
mod spool;
mod table;

use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, UNIX_EPOCH};

use tokio::sync::watch;
use tokio::task::{JoinSet, spawn_blocking};
use tokio::time::{MissedTickBehavior, interval};

use super::publication::node_name;
use super::status::Status;
pub use errors::{ERROR_KINDS, ErrorLine, ExposedErrors};
use errors::{Errors, Tail};
pub use exposition::Exposed;
use figures::Figures;
use ingressd_config::Settings;
use ingressd_translate::INGRESS_NGINX;
use line::Line;
use named::Named;
pub use named::{Controller, ExposedNamed};
pub use report::{Counted, TrafficReport, quantile};
use spool::{Read, Spool};
use table::Table;

/// How often lines are read. nginx keeps them back for a second.
const INTERVAL: Duration = Duration::from_secs(1);

/// How many bytes of lines are read whole each time: those of some 10,000 requests a second.
/// Where more wait, a part of them is read.
const MOST_READ: u64 = 1 << 20;

/// What was counted since the start.
#[derive(Debug, Default)]
pub struct Traffic(Mutex<Figures>, AtomicU64, Errors);

impl Traffic {
    /// Counts one line about a request for an unknown host.
    #[cfg(test)]
    pub fn count(&self, line: &str) {
        let mut figures = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        figures.count(&Line::read(line.as_bytes()).unwrap(), None);
        self.1.fetch_add(1, Ordering::Relaxed);
    }

    /// What nginx complained about.
    pub fn errors(&self) -> &Errors {
        &self.2
    }

    /// How many requests were counted, without waiting for those that are being counted.
    pub fn requests(&self) -> u64 {
        self.1.load(Ordering::Relaxed)
    }

    /// Counts as these settings want it.
    fn prepare(&self, settings: &Settings) {
        let controller = settings.traffic.ingress_nginx_names.then(|| controller(settings));
        let mut figures = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        figures.counts = settings.traffic.enabled;
        if figures.named.as_ref().map(|named| &named.controller) != controller.as_ref() {
            figures.named = controller.map(Named::of);
        }
    }

    /// The labels of this controller, where metrics have the names of ingress-nginx as well.
    pub fn controller(&self) -> Option<Controller> {
        let figures = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        figures.named.as_ref().map(|named| named.controller.clone())
    }

    /// Counts the lines that wait; `now` is the time since counting began.
    fn take(&self, spool: &Spool, table: &Table, now: Duration) {
        // No metric is written meanwhile.
        let mut figures = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        figures.minute = minute();
        table.begin();
        let (mut count, mut skipped) = (0, Vec::new());
        let mut report = |figures: &mut Figures, line: &[u8], stands_for| match Line::read(line) {
            Some(line) => {
                count += stands_for;
                figures.count(&Line { stands_for, ..line }, table.destination(line.host, line.route));
            }
            None => figures.unread += stands_for,
        };
        figures.sampling.begin(spool.waiting().unwrap_or_default(), MOST_READ);
        let read = spool.take(|line| match figures.sampling.pass() {
            Some(stands_for) => report(&mut figures, line, stands_for),
            None => {
                skipped.clear();
                skipped.extend_from_slice(line);
            }
        });
        if let Some(stands_for) = figures.sampling.end() {
            report(&mut figures, &skipped, stands_for);
        }
        self.1.fetch_add(count, Ordering::Relaxed);
        let read = read.and_then(|read| match read {
            Read::Enough => Ok(()),
            Read::Full => {
                figures.overflows += 1;
                spool.give_up()
            }
        });
        figures.read = now;
        let failed = std::mem::replace(&mut figures.fails, read.is_err());
        if let Some(error) = read.err().filter(|_| !failed) {
            tracing::warn!("requests are not counted as long as {} cannot be read: {error}", spool.lines().display());
        }
    }
}

/// The minute that it is, since 1970.
pub fn minute() -> u64 {
    UNIX_EPOCH.elapsed().unwrap_or_default().as_secs() / 60
}

/// The controller that these settings replace.
fn controller(settings: &Settings) -> Controller {
    let classes = &settings.translate.classes;
    let replaced = classes.iter().find(|class| *class.dialect == INGRESS_NGINX).or(classes.first());
    Controller {
        class: replaced.map_or_else(|| Arc::from("k8s.io/ingress-nginx"), |class| Arc::clone(&class.controller)),
        pod: node_name(settings.publish.node.as_deref()).into(),
    }
}

/// Makes what nginx writes into, and returns the file that nginx has to include; `None` where
/// requests are not counted.
pub fn prepare(settings: &Settings) -> Option<PathBuf> {
    if !settings.traffic.enabled {
        return None;
    }
    match Spool::make(&settings.traffic.folder, &settings.instance) {
        Ok(spool) => Some(spool.included()),
        Err(error) => {
            tracing::warn!(
                "requests are not counted by object, because {} cannot be used: {error}; let traffic.folder name another \
                 folder, or set traffic.enabled to false",
                settings.traffic.folder.display()
            );
            None
        }
    }
}

/// The file that nginx has to include, where a daemon with these settings has made one since the
/// host's start; nothing is written.
pub fn found(settings: &Settings) -> Option<PathBuf> {
    settings.traffic.enabled.then(|| spool::found(&settings.traffic.folder)).flatten()
}

/// Counts until it is dropped; complaints are those in nginx's error log, where that is a file.
pub fn follow(
    settings: &Settings,
    traffic: &Arc<Traffic>,
    status: watch::Receiver<Arc<Status>>,
    error_log: Option<PathBuf>,
) -> JoinSet<()> {
    traffic.prepare(settings);
    let folder = settings.traffic.enabled.then(|| settings.traffic.folder.clone());
    let error_log = error_log.filter(|_| settings.traffic.errors);
    if settings.traffic.errors && error_log.is_none() {
        tracing::info!("nginx's error log is no file, so that what nginx complains about is not counted");
    }
    let mut task = JoinSet::new();
    if folder.is_some() || error_log.is_some() {
        let logs = Logs { folder, errors: error_log.map(Tail::of) };
        task.spawn(turn(logs, Arc::clone(traffic), status));
    }
    task
}

/// What is read.
struct Logs {
    /// The folder with the lines about requests.
    folder: Option<PathBuf>,
    errors: Option<Tail>,
}

impl Logs {
    fn read(mut self, traffic: &Traffic, table: &Table, now: Duration) -> Self {
        // There is another spool after it was full, or taken away.
        if let Some(Ok(spool)) = self.folder.as_deref().map(Spool::open) {
            traffic.take(&spool, table, now);
        }
        if let Some(tail) = &mut self.errors {
            traffic.errors().take(tail, table);
        }
        self
    }
}

async fn turn(mut logs: Logs, traffic: Arc<Traffic>, status: watch::Receiver<Arc<Status>>) {
    let (began, mut ticks) = (Instant::now(), interval(INTERVAL));
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut table: Option<Arc<Table>> = None;
    loop {
        ticks.tick().await;
        let now = status.borrow().in_force.clone();
        // Lines that were written under the last generation are counted by what it had. What an
        // earlier run left waits until it is known what nginx serves.
        if let Some(table) = table.clone() {
            let traffic = Arc::clone(&traffic);
            // A panic ends the process, or nobody needs an answer.
            let Ok(read) = spawn_blocking(move || logs.read(&traffic, &table, began.elapsed())).await else { return };
            logs = read;
        }
        if let Some(now) = now.filter(|now| table.as_ref().is_none_or(|table| !table.is_of(now))) {
            table = Some(Arc::new(Table::of(now)));
        }
    }
}
