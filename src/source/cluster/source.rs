//! All watches of a live cluster, and the snapshots that are read from them.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::Namespace;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::clients::{Clients, Line};
use super::fetch::fetch;
use super::health::{Need, Section};
use super::sink::{NamespaceSink, ObjectSink, Shared};
use super::stores::{Observation, Stores};
use super::stream::{Stream, Timing};
use crate::model::{Kind, ObjectId};
use crate::source::kind::{Watched, for_kind, rows};

/// How long a read waits at most for objects that are being requested: what refers to them came a
/// moment ago.
const PATIENCE: Duration = Duration::from_millis(500);

/// Which namespaces are watched.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Scope {
    /// All of them.
    #[default]
    Everywhere,
    /// These, each by itself: we need not be allowed to see others.
    Namespaces(Vec<Arc<str>>),
    /// Those with labels that this selector fits.
    Selected(String),
}

/// What is watched.
#[derive(Debug, Clone, Default)]
pub struct WatchOptions {
    /// Where.
    pub scope: Scope,
    /// Secrets and ConfigMaps that the settings name: nothing is served without the ConfigMaps in the namespaces of these.
    pub named: BTreeSet<ObjectId>,
    /// Whether nothing can be served without Nodes.
    pub nodes_required: bool,
    /// Whether labels of namespaces decide about anything: then the first snapshot waits for
    /// Namespaces, unless we may not see them.
    pub labels: bool,
    /// How patient watches are.
    pub timing: Timing,
}

/// A cluster that is watched; dropped, it is not any more.
#[derive(Debug)]
pub struct ClusterSource {
    shared: Arc<Shared>,
    timing: Timing,
    line: watch::Receiver<Line>,
    tasks: JoinSet<()>,
}

/// Has a source keep objects that nothing in the cluster refers to any more.
#[derive(Debug)]
pub struct Holder(Arc<Shared>);

impl Holder {
    /// These and no others from now on.
    pub fn hold(&self, objects: &BTreeSet<ObjectId>) {
        if self.0.stores().hold(objects) {
            self.0.begin_config_maps();
            self.0.missing.notify_one();
            self.0.changed.notify_one();
        }
    }
}

impl ClusterSource {
    /// Begins to watch.
    pub fn start(clients: &Clients, options: &WatchOptions) -> Self {
        let mut source = ClusterSource {
            shared: Shared::new(Stores::new(options.named.iter().cloned())),
            timing: options.timing,
            line: clients.line(),
            tasks: JoinSet::new(),
        };
        let sections: Vec<Section> = match &options.scope {
            Scope::Everywhere => vec![None],
            Scope::Namespaces(names) => {
                let names: BTreeSet<_> = names.iter().cloned().map(Some).collect();
                names.into_iter().collect()
            }
            Scope::Selected(labels) => {
                source.select(clients, labels);
                vec![None]
            }
        };
        for kind in Kind::ALL {
            let _: Option<()> = for_kind!(kind, K => source.watch_all::<K>(clients, options, &sections));
        }
        let named: BTreeSet<_> = options.named.iter().filter(|id| id.kind == Kind::ConfigMap).collect();
        let selects = matches!(options.scope, Scope::Selected(_));
        for section in sections {
            // Whoever names one is closed where it may not be seen.
            let is_watched = |namespace: &Arc<str>| named.iter().any(|id| id.namespace == *namespace);
            if !section.as_ref().is_some_and(is_watched) {
                source.shared.stores().expect_config_maps(section.clone());
                source.follow::<rows::ConfigMap>(
                    clients,
                    section,
                    selects,
                    source.shared.names_config_maps.subscribe(),
                );
            }
        }
        let shared = Arc::clone(&source.shared);
        source.tasks.spawn(fetch(clients.watch.clone(), shared));
        source
    }

    /// By which it can be had to keep more.
    pub fn holder(&self) -> Holder {
        Holder(Arc::clone(&self.shared))
    }

    /// Watches a kind wherever it is needed.
    fn watch_all<K: Watched>(&mut self, clients: &Clients, options: &WatchOptions, served: &[Section]) {
        let Some(need) = K::need(options) else { return };
        let selects = K::NAMESPACED && !K::NAMED && matches!(options.scope, Scope::Selected(_));
        let named =
            options.named.iter().filter(|id| id.kind == K::MODEL_KIND).map(|id| Some(Arc::clone(&id.namespace)));
        let sections: BTreeSet<Section> = match K::NAMESPACED {
            false => [None].into(),
            true if K::NAMED => named.collect(),
            true => served.iter().cloned().collect(),
        };
        for section in sections {
            self.watch::<K>(clients, section, need, selects);
        }
    }

    fn watch<K: Watched>(&mut self, clients: &Clients, section: Section, need: Need, selects: bool) {
        self.shared.stores().expect(K::MODEL_KIND, section.clone(), need);
        self.follow::<K>(clients, section, selects, watch::channel(true).1);
    }

    /// Begins as soon as `begins` says so.
    fn follow<K: Watched>(
        &mut self,
        clients: &Clients,
        section: Section,
        selects: bool,
        mut begins: watch::Receiver<bool>,
    ) {
        let mut selection = self.shared.relist.subscribe();
        // What has no namespace is not listed anew because of one.
        let relist = if selects { self.shared.relist.subscribe() } else { watch::channel(0).1 };
        let mut referred = self.shared.referred.subscribe();
        let stream = Stream::<K>::new(clients, clients.watch.clone(), section.as_deref(), self.timing);
        let stream = stream.fields(K::FIELDS).page(K::PAGE).relist(relist).revived(self.shared.revived.clone());
        let mut sink = ObjectSink::<K>::new(Arc::clone(&self.shared), section);
        self.tasks.spawn(async move {
            // The senders are held by whoever holds this task.
            if selects {
                let _ = selection.wait_for(|number| *number > 0).await;
            }
            let _ = begins.wait_for(|begins| *begins).await;
            if K::REFERENCED {
                let _ = referred.wait_for(|known| *known).await;
            }
            stream.follow(&mut sink).await;
        });
    }

    fn select(&mut self, clients: &Clients, labels: &str) {
        self.shared.stores().expect(Namespace::MODEL_KIND, None, Need::Required);
        let stream = Stream::<Namespace>::new(clients, clients.watch.clone(), None, self.timing);
        let stream = stream.labels(Some(labels)).revived(self.shared.revived.clone());
        let mut sink = NamespaceSink::new(Arc::clone(&self.shared));
        self.tasks.spawn(async move { stream.follow(&mut sink).await });
    }

    /// Waits until something differs: objects, or how the watches are.
    pub async fn next(&mut self) -> Observation {
        tokio::select! {
            () = self.shared.changed.notified() => {}
            // Without a sender it stays as it is.
            Ok(()) = self.line.changed() => {}
            ended = self.tasks.join_next() => {
                if let Some(Err(error)) = ended
                    && error.is_panic()
                {
                    // The stores may be half changed: nobody must go on with them.
                    std::panic::resume_unwind(error.into_panic());
                }
                // They end only with us.
                std::future::pending::<()>().await;
            }
        }
        let asked = Instant::now();
        loop {
            let youngest = self.shared.stores().missing().youngest();
            let Some(youngest) = youngest else { break };
            // Each Secret is waited for once, from the moment it was first missing: an object that
            // refers to many delays nobody for long.
            let left = PATIENCE.saturating_sub(youngest.elapsed().max(asked.elapsed()));
            if left.is_zero() {
                break;
            }
            let _ = tokio::time::timeout(left, self.shared.changed.notified()).await;
        }
        let credentials = self.line.borrow_and_update().failure.clone();
        Observation { credentials, ..self.shared.stores().read() }
    }
}
