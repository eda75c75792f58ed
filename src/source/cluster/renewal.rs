//! Keeps the connection to the API server at the credentials that are on disk; it must not know what it is used for.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use notify::{RecommendedWatcher, RecursiveMode, Watcher as _};
use tokio::sync::{Notify, watch};
use tokio::task::JoinHandle;

use super::clients::{Clients, Connections, Line};
use super::kubeconfig::{self, Credentials, KubeconfigError};
use super::words::words;

/// How often the files are looked at without a sign: links may lead through folders that are not watched.
const LOOK_INTERVAL: Duration = Duration::from_secs(30);

/// How long files may still be changing after a sign of change: several are replaced together.
const SETTLE: Duration = Duration::from_millis(100);

/// Time to the next attempt while there are no credentials that were ever of use.
const RETRY: Duration = Duration::from_secs(2);

/// How long a credential plugin may take.
const PLUGIN_TIMEOUT: Duration = Duration::from_secs(60);

/// How long before their end credentials are asked for again.
const MARGIN: jiff::SignedDuration = jiff::SignedDuration::from_secs(60);

/// The clients, and what keeps them connected for as long as it lives.
#[derive(Debug)]
pub struct Connected {
    clients: Clients,
    task: JoinHandle<()>,
}

impl Connected {
    /// The clients.
    pub fn clients(&self) -> &Clients {
        &self.clients
    }
}

impl Drop for Connected {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Reads a kubeconfig and begins to follow it. The API server need not be there.
///
/// # Errors
///
/// When the kubeconfig is of no use. A plugin or token file that gives nothing yet is no error: it is asked again.
pub async fn connect(path: &Path) -> Result<Connected, KubeconfigError> {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let credentials = kubeconfig::read(&path).await?;
    let (sender, line) = watch::channel(Line::default());
    let clients = Clients::new(line);
    let mut renewal = Renewal { path, files: Vec::new(), fingerprint: [0; 32], sender };
    renewal.take(Ok(credentials)).await;
    let task = tokio::spawn(renewal.keep());
    Ok(Connected { clients, task })
}

struct Renewal {
    path: PathBuf,
    /// What the credentials were made of.
    files: Vec<PathBuf>,
    fingerprint: [u8; 32],
    sender: watch::Sender<Line>,
}

impl Renewal {
    async fn keep(mut self) {
        let sign = Arc::new(Notify::new());
        let mut signs = Signs::new(&sign);
        loop {
            signs.watch(&self.files);
            let (failed, connected) = {
                let line = self.sender.borrow();
                (line.failure.is_some(), line.connections.is_some())
            };
            let pause = if connected { LOOK_INTERVAL.min(self.time_left()).max(RETRY) } else { RETRY };
            // What changed before the folders were watched gave no sign.
            if kubeconfig::fingerprint(&self.files) == self.fingerprint {
                tokio::select! {
                    () = sign.notified() => tokio::time::sleep(SETTLE).await,
                    () = tokio::time::sleep(pause) => {}
                }
            }
            let fingerprint = kubeconfig::fingerprint(&self.files);
            if failed || self.time_left().is_zero() || fingerprint != self.fingerprint {
                self.fingerprint = fingerprint;
                let read = kubeconfig::read(&self.path).await;
                self.take(read).await;
            }
        }
    }

    /// Puts new credentials into use. When they are of no use the old ones stay.
    async fn take(&mut self, read: Result<Credentials, KubeconfigError>) {
        let made = match read {
            Ok(credentials) => {
                self.files.clone_from(&credentials.files);
                self.fingerprint = credentials.fingerprint;
                self.make(credentials).await
            }
            Err(error) => Err(words(&error)),
        };
        match made {
            Ok(connections) => {
                let renewed = self.sender.borrow().connections.is_some();
                self.sender.send_modify(|line| {
                    line.renewals += 1;
                    (line.connections, line.failure) = (Some(Arc::new(connections)), None);
                });
                if renewed {
                    tracing::info!(path = %self.path.display(), "the credentials for the cluster were renewed");
                }
            }
            Err(why) => {
                let known = self.sender.borrow().failure.as_deref() == Some(why.as_str());
                if !known {
                    tracing::warn!("credentials for the cluster cannot be used: {why}");
                    self.sender.send_modify(|line| line.failure = Some(why.into()));
                }
            }
        }
    }

    async fn make(&self, credentials: Credentials) -> Result<Connections, String> {
        let making = tokio::task::spawn_blocking(move || Connections::new(&credentials.config));
        match tokio::time::timeout(PLUGIN_TIMEOUT, making).await {
            Ok(Ok(made)) => made.map_err(|error| words(&error)),
            Ok(Err(error)) => Err(error.to_string()),
            Err(_) => Err(format!("no credentials within {} s", PLUGIN_TIMEOUT.as_secs())),
        }
    }

    /// How long the credentials are still of use.
    fn time_left(&self) -> Duration {
        let line = self.sender.borrow();
        let end = line.connections.as_ref().and_then(|connections| connections.valid_until);
        let left = end.map(|end| end.duration_since(jiff::Timestamp::now()) - MARGIN);
        left.map_or(Duration::MAX, |left| Duration::try_from(left).unwrap_or_default())
    }
}

/// Signs of change in the folders of files. Without inotify there are none, and the files are only looked at now and then.
struct Signs {
    watcher: Option<RecommendedWatcher>,
    watched: BTreeSet<PathBuf>,
}

impl Signs {
    fn new(sign: &Arc<Notify>) -> Self {
        let sign = Arc::clone(sign);
        let told = move |event: notify::Result<notify::Event>| {
            if !event.is_ok_and(|event| event.kind.is_access()) {
                sign.notify_one();
            }
        };
        Signs { watcher: notify::recommended_watcher(told).ok(), watched: BTreeSet::new() }
    }

    /// Watches the folders of these files, and of what they link to.
    fn watch(&mut self, files: &[PathBuf]) {
        let Some(watcher) = &mut self.watcher else { return };
        let targets = files.iter().filter_map(|file| std::fs::canonicalize(file).ok());
        let folders = files.iter().cloned().chain(targets).filter_map(|file| file.parent().map(Path::to_owned));
        let folders: BTreeSet<_> = folders.collect();
        for gone in self.watched.difference(&folders) {
            // The kernel may have dropped the watch together with the folder.
            let _ = watcher.unwatch(gone);
        }
        let watched = folders.into_iter().filter(|folder| {
            self.watched.contains(folder) || watcher.watch(folder, RecursiveMode::NonRecursive).is_ok()
        });
        self.watched = watched.collect();
    }
}
