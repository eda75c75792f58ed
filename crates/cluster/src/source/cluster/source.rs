//! All watches of a live cluster, and the snapshots that are made from them.

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
use crate::source::watched::{Watched, WatchedKinds};
use ingressd_model::{Kind, ObjectId};
use ingressd_objects::{KindRow as _, Needs, rows};

/// How long a read waits at most for objects that are being requested because something refers to
/// them since a moment ago.
const PATIENCE: Duration = Duration::from_millis(500);

/// The least time between two reads while no object changes. When a node is drained, the status of
/// every object changes, and each read costs something for every object.
const SPACING: Duration = Duration::from_millis(50);

/// The namespaces that are watched.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Scope {
    /// All of them.
    #[default]
    Global,
    /// These namespaces, each by a watch of its own: rights for others are not needed.
    Namespaces(Vec<Arc<str>>),
    /// Namespaces whose labels match this selector.
    Selected(String),
}

/// The options of the watches.
#[derive(Debug, Clone, Default)]
pub struct WatchOptions {
    /// The namespaces.
    pub scope: Scope,
    /// Secrets and ConfigMaps that the settings name. Nothing is served before the ConfigMaps in
    /// the namespaces of these were listed.
    pub named: BTreeSet<ObjectId>,
    /// Whether nothing can be served without Nodes.
    pub nodes_required: bool,
    /// Whether labels of namespaces matter: then the first snapshot waits for Namespaces, unless
    /// we lack the right to read them.
    pub labels: bool,
    /// The timing of the watches.
    pub timing: Timing,
    /// The kinds that are watched.
    pub kinds: WatchedKinds,
    /// What their objects need of those that are kept only then.
    pub needs: Needs,
}

/// A watched cluster; the watches end when this is dropped.
#[derive(Debug)]
pub struct ClusterSource {
    shared: Arc<Shared>,
    timing: Timing,
    line: watch::Receiver<Line>,
    tasks: JoinSet<()>,
    /// When the last read was.
    read: Option<Instant>,
}

/// A handle by which a source is told to keep objects that nothing in the cluster refers to any
/// more.
#[derive(Debug)]
pub struct Holder(Arc<Shared>);

impl Holder {
    /// From now on keeps exactly these objects.
    pub fn hold(&self, objects: &BTreeSet<ObjectId>) {
        if self.0.stores().hold(objects) {
            self.0.begin_config_maps();
            self.0.missing.notify_one();
            self.0.changed.notify_one();
        }
    }
}

impl ClusterSource {
    /// Starts the watches.
    pub fn start(clients: &Clients, options: &WatchOptions) -> Self {
        let mut source = ClusterSource {
            shared: Shared::new(Stores::new(options.kinds, options.needs.clone(), options.named.iter().cloned())),
            timing: options.timing,
            line: clients.line(),
            tasks: JoinSet::new(),
            read: None,
        };
        let sections: Vec<Section> = match &options.scope {
            Scope::Global => vec![None],
            Scope::Namespaces(names) => {
                let names: BTreeSet<_> = names.iter().cloned().map(Some).collect();
                names.into_iter().collect()
            }
            Scope::Selected(labels) => {
                source.select(clients, labels);
                vec![None]
            }
        };
        for row in options.kinds.0 {
            (row.watch)(&mut source, clients, options, &sections);
        }
        let named: BTreeSet<_> = options.named.iter().filter(|id| id.kind == Kind::CONFIG_MAP).collect();
        let selects = matches!(options.scope, Scope::Selected(_));
        for section in sections {
            // Without the right to read the ConfigMap, the objects that name it are closed.
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

    /// The handle for objects to keep.
    pub fn holder(&self) -> Holder {
        Holder(Arc::clone(&self.shared))
    }

    /// Watches a kind in all namespaces where it is needed.
    pub(in crate::source) fn watch_all<K: Watched>(
        &mut self,
        clients: &Clients,
        options: &WatchOptions,
        served: &[Section],
    ) {
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

    /// Starts a watch as soon as `begins` is true.
    fn follow<K: Watched>(
        &mut self,
        clients: &Clients,
        section: Section,
        selects: bool,
        mut begins: watch::Receiver<bool>,
    ) {
        let mut selection = self.shared.relist.subscribe();
        // Cluster-scoped kinds are not listed again when namespaces are selected.
        let relist = if selects { self.shared.relist.subscribe() } else { watch::channel(0).1 };
        let mut referred = self.shared.referred.subscribe();
        let stream = Stream::<K>::new(clients, clients.watch.clone(), section.as_deref(), self.timing);
        let stream = stream.fields(K::FIELDS).page(K::PAGE).relist(relist).revived(self.shared.revived.clone());
        let mut sink = ObjectSink::<K>::new(Arc::clone(&self.shared), section);
        self.tasks.spawn(async move {
            // The senders live as long as this task.
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

    /// Waits until something changes: objects, or the health of watches.
    pub async fn next(&mut self) -> Observation {
        tokio::select! {
            () = self.shared.changed.notified() => {}
            // Without a sender it never changes.
            Ok(()) = self.line.changed() => {}
            ended = self.tasks.join_next() => {
                if let Some(Err(error)) = ended
                    && error.is_panic()
                {
                    // The stores may be half changed, and must not be used any more.
                    std::panic::resume_unwind(error.into_panic());
                }
                // The tasks end only when this value is dropped.
                std::future::pending::<()>().await;
            }
        }
        if let Some(due) = self.read.map(|read| read + SPACING) {
            while !self.shared.stores().has_news() {
                if tokio::time::timeout_at(due, self.shared.changed.notified()).await.is_err() {
                    break;
                }
            }
        }
        let asked = Instant::now();
        loop {
            let youngest = self.shared.stores().missing().youngest();
            let Some(youngest) = youngest else { break };
            // Each Secret is waited for once, from the moment it was first missing: an object with
            // many references does not delay others for long.
            let left = PATIENCE.saturating_sub(youngest.elapsed().max(asked.elapsed()));
            if left.is_zero() {
                break;
            }
            let _ = tokio::time::timeout(left, self.shared.changed.notified()).await;
        }
        let credentials = self.line.borrow_and_update().failure.clone();
        self.read = Some(Instant::now());
        Observation { credentials, ..self.shared.stores().read() }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::found::Found;
    use super::super::item::Item;
    use super::*;

    fn web(revision: &str, path: &str, published: &str) -> Item<rows::Ingress> {
        let published = json!({ "loadBalancer": { "ingress": [{ "ip": published }] } });
        let path = json!({ "path": path, "pathType": "Prefix", "backend": { "service": { "name": "web", "port": { "number": 80 } } } });
        let spec = json!({ "rules": [{ "host": "shop.example", "http": { "paths": [path] } }] });
        let metadata = json!({ "namespace": "shop", "name": "web", "resourceVersion": revision });
        let object = json!({ "metadata": metadata, "spec": spec, "status": published });
        Item::of(Found::<rows::Ingress>::of(object).unwrap()).unwrap()
    }

    #[tokio::test(start_paused = true)]
    async fn statuses_are_read_together_and_objects_at_once() {
        let (_line, line) = watch::channel(Line::default());
        let shared = Shared::new(Stores::default());
        let mut source = ClusterSource { shared, timing: Timing::default(), line, tasks: JoinSet::new(), read: None };
        source.tasks.spawn(std::future::pending());
        for (item, waits) in [
            (web("1", "/", "192.0.2.1"), false),
            (web("2", "/", "192.0.2.2"), true),
            (web("3", "/", "192.0.2.3"), true),
            (web("4", "/new", "192.0.2.3"), false),
            (web("5", "/new", "192.0.2.4"), true),
        ] {
            source.shared.stores().apply(item);
            source.shared.changed.notify_one();
            let begun = Instant::now();
            source.next().await;
            assert_eq!(begun.elapsed() >= SPACING, waits);
        }
        // One that comes while it waits for others.
        let shared = Arc::clone(&source.shared);
        shared.stores().apply(web("6", "/new", "192.0.2.5"));
        shared.changed.notify_one();
        let begun = Instant::now();
        let (observation, ()) = tokio::join!(source.next(), async {
            tokio::time::sleep(SPACING / 2).await;
            shared.stores().apply(web("7", "/newest", "192.0.2.5"));
            shared.changed.notify_one();
        });
        assert!(begun.elapsed() < SPACING && observation.noticed.is_some());
        // After a pause a status is read at once, too.
        tokio::time::sleep(SPACING).await;
        shared.stores().apply(web("8", "/newest", "192.0.2.6"));
        shared.changed.notify_one();
        let begun = Instant::now();
        source.next().await;
        assert!(begun.elapsed().is_zero());
    }
}
