//! The kinds that are watched: what is requested, what of it is kept, and the fingerprint that
//! tells versions apart; it must not know when.

use std::collections::BTreeSet;
use std::sync::Arc;

use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Node, Secret, Service};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use k8s_openapi::api::networking::v1::{Ingress, IngressClass};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::Serialize;

use super::found::{Found, Known, Undecodable};
use super::references;
use super::store::Store;
use super::stores::Stores;
use crate::model::{Digester, Kind, ObjectId};
use crate::source::identity;
use crate::source::unread::DropUnread;
use crate::source::validation::{Problem, Validate};
use crate::source::{Endpoints, Published, Stored, Version};

/// Secrets that are never referred to and can be many and large: releases of Helm, and tokens.
const SECRETS: &str = "type!=helm.sh/release.v1,type!=kubernetes.io/service-account-token";

/// Written by kubectl for itself; it can be larger than the object.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// A kind that is watched.
pub trait Watched: Known + Serialize + Validate + DropUnread + std::fmt::Debug {
    /// What the model calls it.
    const MODEL_KIND: Kind;
    /// Whether its objects have namespaces.
    const NAMESPACED: bool = true;
    /// Only objects with these fields are asked for.
    const FIELDS: Option<&'static str> = None;
    /// How many objects a page of a list has at most.
    const PAGE: u32 = 500;
    /// Whether only objects are kept that something refers to.
    const REFERENCED: bool = false;
    /// Whether its objects have a status that we publish.
    const PUBLISHED: bool = false;

    /// What is kept of an object.
    type Kept: std::fmt::Debug + Send + Sync;

    /// Keeps what is read later.
    fn keep(self) -> Self::Kept;

    /// Where its objects are.
    fn store(stores: &mut Stores) -> &mut Store<Self>;

    /// The objects of kinds kept by reference that it may refer to.
    fn references(_kept: &Self::Kept) -> BTreeSet<ObjectId> {
        BTreeSet::new()
    }

    /// Takes the status out of the object, because it does not configure nginx.
    fn take_published(&mut self) -> Option<Published> {
        None
    }

    /// Where objects are kept that are not served but may have a published status, for kinds that
    /// can.
    fn outside(_stores: &mut Stores) -> Option<&mut Store<Self>> {
        None
    }

    /// What is kept of an object that is not served: its published status, as long as there is
    /// one.
    fn bare(_item: Item<Self>) -> Option<Stored<Self::Kept>> {
        None
    }
}

impl Watched for Ingress {
    type Kept = Self;

    const MODEL_KIND: Kind = Kind::Ingress;
    const PUBLISHED: bool = true;

    fn keep(self) -> Self {
        self
    }

    fn store(stores: &mut Stores) -> &mut Store<Self> {
        &mut stores.ingresses
    }

    fn references(kept: &Self) -> BTreeSet<ObjectId> {
        references::of_ingress(kept)
    }

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

    fn bare(item: Item<Self>) -> Option<Stored<Self>> {
        let (uid, published) = match item.outcome {
            Ok(stored) => (stored.object.metadata.uid.clone(), stored.published?),
            Err(unfit) => (unfit.uid.as_deref().map(str::to_owned), Arc::new(unfit.published?)),
        };
        let addresses = published.status.as_ref()?.load_balancer.as_ref()?.ingress.as_ref()?;
        if addresses.is_empty() {
            return None;
        }
        let object = Ingress { metadata: ObjectMeta { uid, ..ObjectMeta::default() }, ..Ingress::default() };
        let version = version(&object);
        Some(Stored { id: item.id, version, object: Arc::new(object), published: Some(published), place: None })
    }
}

impl Watched for IngressClass {
    type Kept = Self;

    const MODEL_KIND: Kind = Kind::IngressClass;
    const NAMESPACED: bool = false;

    fn keep(self) -> Self {
        self
    }

    fn store(stores: &mut Stores) -> &mut Store<Self> {
        &mut stores.ingress_classes
    }
}

impl Watched for Service {
    type Kept = crate::source::Service;

    const MODEL_KIND: Kind = Kind::Service;

    fn keep(self) -> Self::Kept {
        self.into()
    }

    fn store(stores: &mut Stores) -> &mut Store<Self> {
        &mut stores.services
    }
}

impl Watched for EndpointSlice {
    type Kept = Endpoints;

    const MODEL_KIND: Kind = Kind::EndpointSlice;

    fn keep(self) -> Endpoints {
        self.into()
    }

    fn store(stores: &mut Stores) -> &mut Store<Self> {
        &mut stores.endpoint_slices
    }
}

impl Watched for Secret {
    type Kept = Self;

    const MODEL_KIND: Kind = Kind::Secret;
    const FIELDS: Option<&'static str> = Some(SECRETS);
    /// One of them may be a megabyte large.
    const PAGE: u32 = 100;
    const REFERENCED: bool = true;

    fn keep(self) -> Self {
        self
    }

    fn store(stores: &mut Stores) -> &mut Store<Self> {
        &mut stores.secrets
    }
}

impl Watched for ConfigMap {
    type Kept = Self;

    const MODEL_KIND: Kind = Kind::ConfigMap;
    /// As large as a Secret.
    const PAGE: u32 = 100;
    const REFERENCED: bool = true;

    fn keep(self) -> Self {
        self
    }

    fn store(stores: &mut Stores) -> &mut Store<Self> {
        &mut stores.config_maps
    }

    fn references(kept: &Self) -> BTreeSet<ObjectId> {
        references::of_config_map(kept)
    }
}

impl Watched for Node {
    type Kept = Self;

    const MODEL_KIND: Kind = Kind::Node;
    const NAMESPACED: bool = false;
    const PAGE: u32 = 100;

    fn keep(self) -> Self {
        self
    }

    fn store(stores: &mut Stores) -> &mut Store<Self> {
        &mut stores.nodes
    }
}

impl Watched for Namespace {
    type Kept = crate::source::Namespace;

    const MODEL_KIND: Kind = Kind::Namespace;
    const NAMESPACED: bool = false;

    fn keep(self) -> Self::Kept {
        self.into()
    }

    fn store(stores: &mut Stores) -> &mut Store<Self> {
        &mut stores.namespaces
    }
}

/// An object that is fit to be kept, or what is wrong with it.
#[derive(Debug)]
pub struct Item<K: Watched> {
    /// Its name.
    pub id: Arc<ObjectId>,
    /// The object as it is kept, or what is wrong.
    pub outcome: Result<Stored<K::Kept>, Unfit>,
}

/// Why an object is not kept.
#[derive(Debug)]
pub struct Unfit {
    /// What is wrong.
    pub problems: Vec<Problem>,
    /// What the API server calls it.
    pub uid: Option<Arc<str>>,
    /// The published status, which is valid whatever is wrong with the rest.
    pub published: Option<Published>,
}

impl<K: Watched> Item<K> {
    /// Checks and trims what was found; `None` when it has a name that no API server would give.
    pub fn of(found: Found<K>) -> Option<Self> {
        let namespace = K::NAMESPACED.then_some(found.namespace.as_str());
        let id = identity::named(K::MODEL_KIND, K::NAMESPACED, namespace, Some(&found.name)).ok()?;
        let id = Arc::new(id);
        let outcome = match found.object {
            Ok(mut object) => {
                object.complete();
                let mut problems = Vec::new();
                object.validate(&mut problems);
                match problems.is_empty() {
                    true => Ok(stored(&id, object)),
                    false => {
                        let uid = object.metadata().uid.as_deref().map(Arc::from);
                        Err(Unfit { problems, uid, published: object.take_published() })
                    }
                }
            }
            Err(Undecodable { why, uid, status }) => {
                // Other kinds have a status of another form, which is not published by us.
                let status = status.and_then(|status| serde_json::from_value(status).ok());
                let published = Some(Published::new(found.position, status));
                Err(Unfit { problems: vec![Problem::undecodable(why)], uid, published })
            }
        };
        Some(Item { id, outcome })
    }
}

fn stored<K: Watched>(id: &Arc<ObjectId>, mut object: K) -> Stored<K::Kept> {
    let published = object.take_published().map(Arc::new);
    object.drop_unread();
    let metadata = object.metadata_mut();
    metadata.managed_fields = None;
    metadata.owner_references = None;
    metadata.finalizers = None;
    metadata.generate_name = None;
    metadata.self_link = None;
    metadata.resource_version = None;
    metadata.generation = None;
    if let Some(annotations) = &mut metadata.annotations {
        annotations.remove(LAST_APPLIED);
        if annotations.is_empty() {
            metadata.annotations = None;
        }
    }
    Stored { id: Arc::clone(id), version: version(&object), object: Arc::new(object.keep()), published, place: None }
}

/// The fingerprint: a digest of what is kept. A change of anything else, such as a status or a
/// label, makes no new version. It stays the same over restarts, and a new object of an old name
/// differs by its uid.
fn version<K: Serialize>(object: &K) -> Version {
    let mut digester = Digester::default();
    // Writing to a digest does not fail, and the types of the API have no keys that JSON could not take.
    let _ = serde_json::to_writer(&mut digester, object);
    Version(digester.finish().hexadecimal(16).into())
}
