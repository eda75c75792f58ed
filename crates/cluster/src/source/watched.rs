//! How the objects of each kind are watched: one row for each kind, beside its row in the table of
//! kinds.

use std::sync::Arc;

use super::cluster::{Item, Known, Need, Scope, Store, Stores, WatchOptions, fingerprint};
use ingressd_objects::rows::{ConfigMap, EndpointSlice, Ingress, IngressClass, Namespace, Node, Secret, Service};
use ingressd_objects::{KindRow, Published, Stored};

/// How the objects of a kind are watched, and where they are in the stores.
pub trait Watched: KindRow + Known {
    /// Whether it is required; `None` when it is not watched.
    fn need(_options: &WatchOptions) -> Option<Need> {
        Some(Need::Required)
    }

    /// Its store within the stores.
    fn store(stores: &mut Stores) -> &mut Store<Self>;

    /// Moves the status out of the object, because it does not influence nginx.
    fn take_published(&mut self) -> Option<Published> {
        None
    }

    /// How many bytes of an object count against what is kept of its namespace.
    fn weight(_kept: &Self::Kept) -> usize {
        0
    }

    /// The store of objects that are not served but may have a published status.
    fn outside(_stores: &mut Stores) -> Option<&mut Store<Self>> {
        None
    }

    /// The part that is kept of an object that is not served: its published status, if it has one.
    fn bare(_item: Item<Self>) -> Option<Stored<Self::Kept>> {
        None
    }
}

/// Says in which field of the stores the objects of a row are.
macro_rules! stored_in {
    ($store:ident) => {
        fn store(stores: &mut Stores) -> &mut Store<Self> {
            &mut stores.$store
        }
    };
}

impl Watched for Ingress {
    stored_in!(ingresses);

    fn take_published(&mut self) -> Option<Published> {
        let appliers = self.metadata.managed_fields.take().map(|entries| {
            let applied = entries.into_iter().filter(|entry| {
                entry.subresource.as_deref() == Some("status") && entry.operation.as_deref() == Some("Apply")
            });
            applied.filter_map(|entry| entry.manager.map(String::into_boxed_str)).collect()
        });
        let published = Published::new(self.metadata.resource_version.take(), self.status.take());
        Some(Published { appliers, ..published })
    }

    fn outside(stores: &mut Stores) -> Option<&mut Store<Self>> {
        Some(&mut stores.outside)
    }

    fn bare(item: Item<Self>) -> Option<Stored<Self::Kept>> {
        let (uid, published) = match item.outcome {
            Ok(stored) => (stored.object.uid.clone(), stored.published?),
            Err(unfit) => (unfit.uid.as_deref().map(Box::from), Arc::new(unfit.published?)),
        };
        let addresses = published.status.as_ref()?.load_balancer.as_ref()?.ingress.as_ref()?;
        if addresses.is_empty() {
            return None;
        }
        let object = ingressd_objects::Ingress { uid, ..ingressd_objects::Ingress::default() };
        let version = fingerprint(&object);
        Some(Stored { id: item.id, version, object: Arc::new(object), published: Some(published), place: None })
    }
}

impl Watched for IngressClass {
    stored_in!(ingress_classes);
}

impl Watched for Service {
    stored_in!(services);
}

impl Watched for EndpointSlice {
    stored_in!(endpoint_slices);
}

impl Watched for Secret {
    stored_in!(secrets);

    fn weight(kept: &Self) -> usize {
        kept.data.iter().flatten().map(|(key, value)| key.len() + value.0.len()).sum()
    }
}

impl Watched for ConfigMap {
    stored_in!(config_maps);

    fn weight(kept: &Self) -> usize {
        let data = kept.data.iter().flatten().map(|(key, value)| key.len() + value.len());
        data.chain(kept.binary_data.iter().flatten().map(|(key, value)| key.len() + value.0.len())).sum()
    }
}

impl Watched for Node {
    stored_in!(nodes);

    fn need(options: &WatchOptions) -> Option<Need> {
        Some(if options.nodes_required { Need::Required } else { Need::Optional })
    }
}

impl Watched for Namespace {
    stored_in!(namespaces);

    /// Where a selector chooses namespaces, a separate task watches them.
    fn need(options: &WatchOptions) -> Option<Need> {
        (options.labels && !matches!(options.scope, Scope::Selected(_))).then_some(Need::Optional)
    }
}
