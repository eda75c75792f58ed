//! Renews the connection to the API server when the credentials on disk change or expire.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use notify::{RecommendedWatcher, RecursiveMode, Watcher as _};
use tokio::sync::{Notify, watch};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep_until};

use super::clients::{Clients, Connections, Line};
use super::kubeconfig::{self, Credentials, KubeconfigError};
use super::plugin;
use super::words::words;
use ingressd_model::Digest;

/// How often the files are read without an event of inotify: symbolic links may lead through
/// folders that are not watched.
const LOOK_INTERVAL: Duration = Duration::from_secs(30);

/// How long to wait after an event, because several files are replaced together.
const SETTLE: Duration = Duration::from_millis(100);

/// The first pause after credentials that could not be used; it doubles each time, up to
/// [`LOOK_INTERVAL`].
const RETRY: Duration = Duration::from_secs(2);

/// How long the start waits for the first credentials: a plugin may take longer, and there is
/// other work.
const PATIENCE: Duration = Duration::from_secs(2);

/// How long before their expiry credentials are renewed at most; short-lived ones are renewed in
/// their last fifth.
const MARGIN: Duration = Duration::from_secs(60);

/// The least time between two runs of a plugin because the API server responded 401.
const UNKNOWN_INTERVAL: Duration = Duration::from_secs(10);

/// The clients, and the task that renews their connection until this is dropped.
#[derive(Debug)]
pub struct Connected {
    clients: Clients,
    task: JoinHandle<()>,
}

impl Connected {
    pub fn clients(&self) -> &Clients {
        &self.clients
    }
}

impl Drop for Connected {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Reads a kubeconfig and begins to follow its changes. The API server need not be reachable.
///
/// # Errors
///
/// When the kubeconfig cannot be used. A plugin or token file without credentials is no error: it
/// is tried again.
pub async fn connect(path: &Path) -> Result<Connected, KubeconfigError> {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let credentials = kubeconfig::read(&path).await?;
    let (sender, line) = watch::channel(Line::default());
    let (clients, mut first) = (Clients::new(line.clone()), line);
    let unknown = Arc::clone(clients.unknown());
    let renewal = Renewal {
        path,
        files: Vec::new(),
        fingerprint: Digest::default(),
        plugin: None,
        failures: 0,
        retry: None,
        unknown,
        sender,
    };
    let task = tokio::spawn(renewal.keep(credentials));
    let known = first.wait_for(|line| line.connections.is_some() || line.failure.is_some());
    // The result does not matter: requests fail until there are credentials, and are repeated.
    let _ = tokio::time::timeout(PATIENCE, known).await;
    Ok(Connected { clients, task })
}

struct Renewal {
    path: PathBuf,
    /// The files with the credentials.
    files: Vec<PathBuf>,
    fingerprint: Digest,
    /// The last run of a plugin, when the credentials come from one.
    plugin: Option<Run>,
    /// The number of failed attempts since the last success, and when the next one is due.
    failures: u32,
    retry: Option<Instant>,
    /// Notified when the API server responds 401.
    unknown: Arc<Notify>,
    sender: watch::Sender<Line>,
}

/// A run of a plugin that returned credentials.
#[derive(Debug, Clone, Copy)]
struct Run {
    ended: Instant,
    /// When to run it again, if its credentials expire.
    again: Option<Instant>,
}

impl Run {
    /// A run that ended now, with credentials that expire at this time.
    fn new(valid_until: Option<Timestamp>) -> Self {
        let ended = Instant::now();
        let again = valid_until.map(|end| {
            let left = Duration::try_from(end.duration_since(Timestamp::now())).unwrap_or_default();
            // Credentials that have expired by our clock may be valid by the clock of the API
            // server.
            ended + if left.is_zero() { LOOK_INTERVAL } else { left - (left / 5).min(MARGIN) }
        });
        Run { ended, again }
    }
}

impl Renewal {
    async fn keep(mut self, credentials: Credentials) {
        self.take(Ok(credentials)).await;
        let sign = Arc::new(Notify::new());
        let mut signs = Signs::new(&sign);
        loop {
            signs.watch(&self.files);
            let mut is_due = false;
            // Changes before the folders were watched caused no event.
            if kubeconfig::fingerprint(&self.files) == self.fingerprint {
                let again = self.retry.or_else(|| self.plugin?.again);
                tokio::select! {
                    () = sign.notified() => tokio::time::sleep(SETTLE).await,
                    () = sleep_until(again.unwrap_or_else(Instant::now)), if again.is_some() => is_due = true,
                    () = tokio::time::sleep(LOOK_INTERVAL) => {}
                    () = self.unknown.notified() => {
                        let is_old = |run: Run| run.ended.elapsed() >= UNKNOWN_INTERVAL;
                        is_due = self.failures == 0 && self.plugin.is_some_and(is_old);
                    }
                }
            }
            let fingerprint = kubeconfig::fingerprint(&self.files);
            if is_due || fingerprint != self.fingerprint {
                self.fingerprint = fingerprint;
                let read = kubeconfig::read(&self.path).await;
                self.take(read).await;
            }
        }
    }

    /// Uses new credentials. When they cannot be used the old ones stay.
    async fn take(&mut self, read: Result<Credentials, KubeconfigError>) {
        let made = match read {
            Ok(credentials) => {
                self.files.clone_from(&credentials.files);
                self.fingerprint = credentials.fingerprint;
                make(credentials).await
            }
            Err(error) => Err(words(&error)),
        };
        match made {
            Ok((connections, plugin)) => {
                (self.plugin, self.failures, self.retry) = (plugin, 0, None);
                let renewed = self.sender.borrow().connections.is_some();
                self.sender.send_modify(|line| {
                    line.renewals += 1;
                    (line.connections, line.failure) = (Some(Arc::new(connections)), None);
                });
                if renewed {
                    tracing::info!(path = %self.path.display(), "the credentials for the cluster were renewed: {}", self.path.display());
                }
            }
            Err(why) => {
                let pause = RETRY.saturating_mul(2_u32.saturating_pow(self.failures)).min(LOOK_INTERVAL);
                (self.failures, self.retry) = (self.failures.saturating_add(1), Some(Instant::now() + pause));
                let known = self.sender.borrow().failure.as_deref() == Some(why.as_str());
                if !known {
                    tracing::warn!("credentials for the cluster cannot be used: {why}");
                    self.sender.send_modify(|line| line.failure = Some(why.into()));
                }
            }
        }
    }
}

/// Makes connections with these credentials, and runs the plugin if they need one.
async fn make(mut credentials: Credentials) -> Result<(Connections, Option<Run>), String> {
    let mut run = None;
    if plugin::is_needed(&credentials.config.auth_info) {
        let end = plugin::replace(&mut credentials.config.auth_info).await.map_err(|error| words(&error))?;
        run = Some(Run::new(end));
    }
    // This reads files, which may take a while.
    match tokio::task::spawn_blocking(move || Connections::new(&credentials.config)).await {
        Ok(made) => Ok((made.map_err(|error| words(&error))?, run)),
        Err(error) => Err(error.to_string()),
    }
}

/// Events of inotify about the folders of the files. Without inotify there are none, and the files
/// are only read periodically.
struct Signs {
    watcher: Option<RecommendedWatcher>,
    watched: BTreeSet<PathBuf>,
}

impl Signs {
    fn new(sign: &Arc<Notify>) -> Self {
        let sign = Arc::clone(sign);
        let reported = move |event: notify::Result<notify::Event>| {
            if !event.is_ok_and(|event| event.kind.is_access()) {
                sign.notify_one();
            }
        };
        Signs { watcher: notify::recommended_watcher(reported).ok(), watched: BTreeSet::new() }
    }

    /// Watches the folders of these files, and of the targets of symbolic links.
    fn watch(&mut self, files: &[PathBuf]) {
        let Some(watcher) = &mut self.watcher else { return };
        let targets = files.iter().filter_map(|file| std::fs::canonicalize(file).ok());
        let folders = files.iter().cloned().chain(targets).filter_map(|file| file.parent().map(Path::to_owned));
        let folders: BTreeSet<_> = folders.collect();
        for gone in self.watched.difference(&folders) {
            // The kernel may have removed the watch together with the folder.
            let _ = watcher.unwatch(gone);
        }
        let watched = folders.into_iter().filter(|folder| {
            self.watched.contains(folder) || watcher.watch(folder, RecursiveMode::NonRecursive).is_ok()
        });
        self.watched = watched.collect();
    }
}
