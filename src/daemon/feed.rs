//! Reads the source beside the main loop and passes on changed snapshots.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::error::Error;
use super::link::Link;
use super::status::ReadFrom;
use super::tables::KindTables;
use ingressd_cluster::source::cluster::{ClusterSource, Holder, Scope, WatchHealth, WatchOptions};
use ingressd_cluster::source::{DirectorySource, WatchedKinds};
use ingressd_config::Settings;
use ingressd_model::{Kind, ObjectId};
use ingressd_objects::Snapshot;
use ingressd_translate::EndpointMode;

/// The last observation of the source.
#[derive(Debug, Clone, Default)]
pub struct Observed {
    /// The objects; `None` until everything was read once. They stay when the source fails,
    /// because stale data is better than none.
    pub snapshot: Option<Arc<Snapshot>>,
    /// Changes when the objects change in something that nginx is configured by.
    pub revision: u64,
    /// When a change was first noticed that is in the snapshot.
    pub noticed: Option<Instant>,
    /// When the source was last known to be as in the snapshot.
    pub read: Option<Instant>,
    /// Whether the source is watched and would have reported any change: then the snapshot is
    /// current.
    pub current: bool,
    /// Why the source cannot be read now.
    pub failure: Option<Arc<str>>,
    /// The health of the watches of a cluster.
    pub watches: Arc<[WatchHealth]>,
}

/// The task that reads the source; it stops when this is dropped.
#[derive(Debug)]
pub struct Feed {
    observed: watch::Receiver<Observed>,
    task: JoinHandle<()>,
    /// `None` for a folder, of which everything is read anyway.
    holder: Option<Holder>,
}

impl Feed {
    /// Begins to read and watch the cluster of the link, or the folder that the settings name.
    pub fn start(settings: &Settings, tables: KindTables, link: Option<&Link>) -> Result<Self, Error> {
        match (link, &settings.manifests) {
            (Some(link), _) => Ok(Feed::cluster(link, settings, tables)),
            (None, Some(folder)) => Feed::folder(folder, tables.objects),
            (None, None) => Err(Error::NoSource),
        }
    }

    fn folder(folder: &Path, kinds: WatchedKinds) -> Result<Self, Error> {
        let (mut source, wake) = DirectorySource::start(folder, kinds.kinds())?;
        let (sender, observed) = watch::channel(Observed::default());
        let task = tokio::spawn(async move {
            loop {
                let noticed = Instant::now();
                let read = tokio::task::spawn_blocking(move || {
                    let snapshot = source.snapshot();
                    (source, snapshot)
                });
                let snapshot;
                (source, snapshot) = match read.await {
                    Ok(read) => read,
                    // The main loop must not take the last snapshot for current.
                    Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
                    Err(_) => return,
                };
                let due = source.due();
                sender.send_modify(|observed| match snapshot {
                    Ok(snapshot) => {
                        let is_same = observed.snapshot.as_ref().is_some_and(|known| Arc::ptr_eq(known, &snapshot));
                        *observed = Observed {
                            snapshot: Some(snapshot),
                            revision: observed.revision + u64::from(!is_same),
                            noticed: Some(noticed).filter(|_| !is_same),
                            read: Some(Instant::now()),
                            current: true,
                            ..Observed::default()
                        };
                    }
                    Err(error) => {
                        if std::mem::take(&mut observed.current) {
                            observed.read = Some(noticed);
                        }
                        observed.failure = Some(error.to_string().into());
                    }
                });
                tokio::select! {
                    () = wake.notified() => {}
                    () = tokio::time::sleep_until(due.into()) => {}
                }
            }
        });
        Ok(Feed { observed, task, holder: None })
    }

    fn cluster(link: &Link, settings: &Settings, tables: KindTables) -> Self {
        let (kinds, needs) = (tables.objects, settings.needs(tables.readers));
        let options = WatchOptions { kinds, needs, ..watch_options(settings) };
        let mut source = ClusterSource::start(link.clients(), &options);
        let holder = Some(source.holder());
        let (sender, observed) = watch::channel(Observed::default());
        let task = tokio::spawn(async move {
            loop {
                let reported = source.next().await;
                sender.send_modify(|observed| {
                    *observed = Observed {
                        read: reported.confirmed(),
                        current: false,
                        failure: reported.failure(),
                        // The revision belongs to the snapshot: an earlier snapshot must not get a
                        // later number.
                        revision: if reported.snapshot.is_some() { reported.revision } else { observed.revision },
                        // A change that was not taken yet was noticed earlier than this one.
                        noticed: reported.noticed.or(observed.noticed),
                        snapshot: reported.snapshot.or_else(|| observed.snapshot.take()),
                        watches: reported.watches,
                    };
                });
            }
        });
        Feed { observed, task, holder }
    }

    /// Lets the source keep these objects too, although the newest versions of others do not refer
    /// to them.
    pub fn hold(&self, objects: &BTreeSet<ObjectId>) {
        if let Some(holder) = &self.holder {
            holder.hold(objects);
        }
    }

    /// Waits for the next observation.
    pub async fn next(&mut self) -> Observed {
        if self.observed.changed().await.is_err() {
            match (&mut self.task).await {
                Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
                // The reader has ended with the process; no other one will start.
                _ => std::future::pending::<()>().await,
            }
        }
        self.observed.borrow_and_update().clone()
    }
}

/// Where the objects come from, for the status.
pub fn read_from(settings: &Settings, link: Option<&Link>) -> ReadFrom {
    match (link, &settings.manifests) {
        (Some(link), _) => ReadFrom::Cluster(link.clone(), scope(settings)),
        (None, Some(folder)) => ReadFrom::Folder(folder.clone()),
        (None, None) => ReadFrom::Nothing,
    }
}

/// Which namespaces the settings name.
fn scope(settings: &Settings) -> Scope {
    let cluster = &settings.cluster;
    match (&cluster.namespace_selector, cluster.namespaces.is_empty()) {
        (Some(labels), _) => Scope::Selected(labels.clone()),
        (None, false) => Scope::Namespaces(cluster.namespaces.clone()),
        (None, true) => Scope::Global,
    }
}

/// The settings for watching the cluster.
fn watch_options(settings: &Settings) -> WatchOptions {
    let scope = scope(settings);
    let translate = &settings.translate;
    let name = |kind: Kind| move |(namespace, name): &(Arc<str>, Arc<str>)| ObjectId::new(kind, namespace, name);
    let certificate = translate.default_certificate.iter().map(name(Kind::SECRET));
    let config_maps = settings.ingress_nginx.config_maps().map(name(Kind::CONFIG_MAP));
    WatchOptions {
        scope,
        named: certificate.chain(config_maps).collect(),
        nodes_required: translate.modes().contains(&EndpointMode::NodePort),
        labels: translate.needs_labels(),
        ..WatchOptions::default()
    }
}

impl Drop for Feed {
    fn drop(&mut self) {
        self.task.abort();
    }
}
