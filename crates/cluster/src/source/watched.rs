//! How the objects of each kind are watched: one row for each kind, beside its row in the table of
//! kinds.

use futures_util::future::BoxFuture;
use k8s_openapi::api::networking::v1::IngressStatus;
use kube::Client;
use tokio::time::Instant;

use super::cluster::{self, Clients, ClusterSource, Known, Need, Scope, Section, Shared, Stores, WatchOptions};
use ingressd_model::{Kind, ObjectId};
use ingressd_objects::rows::{ConfigMap, EndpointSlice, Ingress, IngressClass, Namespace, Node, Secret, Service};
use ingressd_objects::{KindRow, Kinds, Published, Row};

/// How the objects of a kind are watched.
pub trait Watched: KindRow + Known + Default {
    /// Whether its status is kept whole, because others may own parts of it.
    const HAS_WHOLE_STATUS: bool = false;

    /// Whether it is required; `None` when it is not watched.
    fn need(_options: &WatchOptions) -> Option<Need> {
        Some(Need::Required)
    }

    /// Moves the status out of the object, because it does not influence nginx.
    fn take_published(&mut self) -> Option<Published> {
        None
    }

    /// How many bytes of an object count against what is kept of its namespace.
    fn weight(_kept: &Self::Kept) -> usize {
        0
    }
}

/// What happens to the objects of one kind, given its name.
type OfObject = fn(&mut Stores, &str, &str);

/// A row of the table of kinds that are watched, as a value.
#[derive(Debug, Clone, Copy)]
pub struct WatchRow {
    /// What is known of the kind apart from watches.
    pub row: Row,
    pub(super) watch: fn(&mut ClusterSource, &Clients, &WatchOptions, &[Section]),
    pub(super) fetch: for<'a> fn(&'a Client, &'a Shared, &'a ObjectId, Instant) -> BoxFuture<'a, ()>,
    pub(super) remove: OfObject,
}

impl WatchRow {
    /// The row of this type.
    pub const fn of<K: Watched>() -> Self {
        WatchRow {
            row: Row::of::<K>(),
            watch: ClusterSource::watch_all::<K>,
            fetch: |client, shared, id, since| Box::pin(cluster::fetch_one::<K>(client, shared, id, since)),
            remove: Stores::remove::<K>,
        }
    }
}

/// A table of kinds that are watched; the default has those of Kubernetes.
#[derive(Debug, Clone, Copy)]
pub struct WatchedKinds(pub &'static [WatchRow]);

/// The kinds of Kubernetes.
pub static WATCHED: [WatchRow; 8] = [
    WatchRow::of::<Ingress>(),
    WatchRow::of::<IngressClass>(),
    WatchRow::of::<Service>(),
    WatchRow::of::<EndpointSlice>(),
    WatchRow::of::<Secret>(),
    WatchRow::of::<ConfigMap>(),
    WatchRow::of::<Node>(),
    WatchRow::of::<Namespace>(),
];

impl WatchedKinds {
    /// The row of a kind.
    pub fn of(self, kind: Kind) -> Option<&'static WatchRow> {
        self.0.iter().find(|row| row.row.kind == kind)
    }

    /// What is known of the kinds apart from watches.
    pub fn kinds(self) -> Kinds {
        self.0.iter().map(|watched| watched.row).collect()
    }
}

impl Default for WatchedKinds {
    fn default() -> Self {
        WatchedKinds(&WATCHED)
    }
}

impl Watched for Ingress {
    fn take_published(&mut self) -> Option<Published> {
        let status = self.status.take().filter(|status| *status != IngressStatus::default());
        Some(Published { status, ..Published::take(&mut self.metadata) })
    }
}

impl Watched for IngressClass {}

impl Watched for Service {}

impl Watched for EndpointSlice {}

impl Watched for Secret {
    fn weight(kept: &Self::Kept) -> usize {
        kept.data.iter().map(|(key, value)| key.len() + value.0.len()).sum()
    }
}

impl Watched for ConfigMap {
    fn weight(kept: &Self) -> usize {
        let data = kept.data.iter().flatten().map(|(key, value)| key.len() + value.len());
        data.chain(kept.binary_data.iter().flatten().map(|(key, value)| key.len() + value.0.len())).sum()
    }
}

impl Watched for Node {
    fn need(options: &WatchOptions) -> Option<Need> {
        Some(if options.nodes_required { Need::Required } else { Need::Optional })
    }
}

impl Watched for Namespace {
    /// Where a selector chooses namespaces, a separate task watches them.
    fn need(options: &WatchOptions) -> Option<Need> {
        (options.labels && !matches!(options.scope, Scope::Selected(_))).then_some(Need::Optional)
    }
}
