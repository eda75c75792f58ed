//! The table of kinds: one row for each kind of Kubernetes that is read, from which watches, rights, decoding, stores and
//! statuses follow.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use k8s_openapi::{ClusterResourceScope, Metadata, NamespaceResourceScope, Resource};
use serde::Serialize;

use self::rows::{ConfigMap, EndpointSlice, Ingress, IngressClass, Namespace, Node, Secret, Service};
use super::cluster::{Item, Known, Need, Scope, Store, Stores, WatchOptions, fingerprint, headers_of, references_of};
use super::unread::DropUnread;
use super::validation::Validate;
use super::{Endpoints, List, Published, Snapshot, Stored};
use crate::model::{Kind, ObjectId};

/// Secrets that are never referred to and can be many and large: releases of Helm, and tokens.
const SECRETS: &str = "type!=helm.sh/release.v1,type!=kubernetes.io/service-account-token";

/// Evaluates an expression with a name for the row of this kind: `Some` of its value, or `None` for what is no kind of
/// Kubernetes.
macro_rules! for_kind {
    ($kind:expr, $row:ident => $body:expr) => {
        $crate::source::kind::for_kind!(
            @ $kind, $row => $body, Ingress, IngressClass, Service, EndpointSlice, Secret, ConfigMap, Node, Namespace
        )
    };
    (@ $value:expr, $row:ident => $body:expr, $($kind:ident),*) => {
        match $value {
            $($crate::model::Kind::$kind => {
                type $row = $crate::source::kind::rows::$kind;
                Some($body)
            })*
            $crate::model::Kind::File | $crate::model::Kind::Settings | $crate::model::Kind::Host => None,
        }
    };
}

pub(super) use for_kind;

/// The types of the rows, by the names of their kinds.
pub(super) mod rows {
    pub use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Node, Secret, Service};
    pub use k8s_openapi::api::discovery::v1::EndpointSlice;
    pub use k8s_openapi::api::networking::v1::{Ingress, IngressClass};
}

/// What may be done with one resource, as a rule of a role has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Permission {
    /// The API group, empty for the oldest one.
    pub group: &'static str,
    /// The resource, with its subresource.
    pub resource: &'static str,
    /// As RBAC names them.
    pub verbs: &'static [&'static str],
    /// What it is for.
    pub purpose: &'static str,
}

impl Permission {
    /// For objects of this kind.
    pub const fn of<K: Resource>(verbs: &'static [&'static str], purpose: &'static str) -> Self {
        Permission { group: K::GROUP, resource: K::URL_PATH_SEGMENT, verbs, purpose }
    }
}

/// Whether objects have namespaces.
pub trait Namespaced {
    const NAMESPACED: bool;
}

impl Namespaced for NamespaceResourceScope {
    const NAMESPACED: bool = true;
}

impl Namespaced for ClusterResourceScope {
    const NAMESPACED: bool = false;
}

/// What is kept of an object.
pub trait Kept: fmt::Debug + Send + Sync + 'static {
    /// What the API server calls the object.
    fn uid(&self) -> Option<&str>;
}

impl<K: Metadata<Ty = ObjectMeta> + fmt::Debug + Send + Sync + 'static> Kept for K {
    fn uid(&self) -> Option<&str> {
        self.metadata().uid.as_deref()
    }
}

/// Of what is read of an object, beside which its uid is kept.
macro_rules! kept_with_uid {
    ($($kept:ty),*) => {
        $(impl Kept for $kept {
            fn uid(&self) -> Option<&str> {
                self.uid.as_deref()
            }
        })*
    };
}

kept_with_uid!(super::Service, Endpoints, super::Namespace);

/// A row of the table. Group, version, plural and scope are those that the type of `k8s_openapi` has.
pub trait Watched: Known + Resource<Scope: Namespaced> + Serialize + Validate + DropUnread + fmt::Debug {
    /// What the model calls it.
    const MODEL_KIND: Kind;
    /// What has to be allowed to read its objects.
    const READ: Permission;
    /// The same in all namespaces, for kinds of which objects may name any.
    const READ_ANYWHERE: Option<Permission> = None;
    /// What has to be allowed to publish in their status, for kinds in which something is published.
    const STATUS: Option<Permission> = None;
    const NAMESPACED: bool = <<Self as Resource>::Scope as Namespaced>::NAMESPACED;
    /// Whether it is read only in the namespaces of those objects that the settings name.
    const NAMED: bool = false;
    /// Only objects with these fields are asked for.
    const FIELDS: Option<&'static str> = None;
    /// How many objects a page of a list has at most.
    const PAGE: u32 = 500;
    /// Whether only objects are kept that something refers to.
    const REFERENCED: bool = false;
    /// Whether its objects refer to those.
    const REFERS: bool = false;

    /// What is kept of an object.
    type Kept: Kept + From<Self>;

    /// Whether anything can be served without it; `None` when it is not watched.
    fn need(_options: &WatchOptions) -> Option<Need> {
        Some(Need::Required)
    }

    /// The objects that the watches keep.
    fn store(stores: &mut Stores) -> &mut Store<Self>;

    /// The objects in a snapshot.
    fn list(snapshot: &Snapshot) -> &List<Self::Kept>;

    /// The objects in a snapshot that is being made.
    fn list_mut(snapshot: &mut Snapshot) -> &mut List<Self::Kept>;

    /// The objects of kinds kept by reference that it may refer to.
    fn references(_kept: &Self::Kept) -> BTreeSet<ObjectId> {
        BTreeSet::new()
    }

    /// Takes the status out of the object, because it does not configure nginx.
    fn take_published(&mut self) -> Option<Published> {
        None
    }

    /// Where objects are kept that are not served but may have a published status.
    fn outside(_stores: &mut Stores) -> Option<&mut Store<Self>> {
        None
    }

    /// What is kept of an object that is not served: its published status, as long as there is one.
    fn bare(_item: Item<Self>) -> Option<Stored<Self::Kept>> {
        None
    }
}

/// Where the objects of a row are: a field of this name in stores and snapshots.
macro_rules! kept_in {
    ($list:ident) => {
        fn store(stores: &mut Stores) -> &mut Store<Self> {
            &mut stores.$list
        }

        fn list(snapshot: &Snapshot) -> &List<Self::Kept> {
            &snapshot.$list
        }

        fn list_mut(snapshot: &mut Snapshot) -> &mut List<Self::Kept> {
            &mut snapshot.$list
        }
    };
}

impl Watched for Ingress {
    type Kept = Self;

    const MODEL_KIND: Kind = Kind::Ingress;
    const READ: Permission = Permission::of::<Self>(&["list", "watch"], "what is served");
    const STATUS: Option<Permission> = Some(Permission {
        resource: "ingresses/status",
        ..Permission::of::<Self>(&["patch"], "the addresses of the nodes; may be left out with publish.status = false")
    });
    const REFERS: bool = true;

    kept_in!(ingresses);

    fn references(kept: &Self) -> BTreeSet<ObjectId> {
        references_of(kept)
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
        let version = fingerprint(&object);
        Some(Stored { id: item.id, version, object: Arc::new(object), published: Some(published), place: None })
    }
}

impl Watched for IngressClass {
    type Kept = Self;

    const MODEL_KIND: Kind = Kind::IngressClass;
    const READ: Permission = Permission::of::<Self>(&["list", "watch"], "which Ingresses are ours");

    kept_in!(ingress_classes);
}

impl Watched for Service {
    type Kept = super::Service;

    const MODEL_KIND: Kind = Kind::Service;
    const READ: Permission = Permission::of::<Self>(&["list", "watch"], "where requests go");

    kept_in!(services);
}

impl Watched for EndpointSlice {
    type Kept = Endpoints;

    const MODEL_KIND: Kind = Kind::EndpointSlice;
    const READ: Permission = Permission::of::<Self>(&["list", "watch"], "where requests go");

    kept_in!(endpoint_slices);
}

impl Watched for Secret {
    type Kept = Self;

    const MODEL_KIND: Kind = Kind::Secret;
    const READ: Permission = Permission::of::<Self>(
        &["get", "list", "watch"],
        "certificates and passwords; only those that are referred to are kept",
    );
    const FIELDS: Option<&'static str> = Some(SECRETS);
    /// One of them may be a megabyte large.
    const PAGE: u32 = 100;
    const REFERENCED: bool = true;

    kept_in!(secrets);
}

impl Watched for ConfigMap {
    type Kept = Self;

    const MODEL_KIND: Kind = Kind::ConfigMap;
    const READ: Permission = Permission::of::<Self>(&["get", "list", "watch"], "the ConfigMaps that the settings name");
    const READ_ANYWHERE: Option<Permission> = Some(Permission::of::<Self>(
        &["get", "list", "watch"],
        "headers for services that say who may pass; only those that are referred to are kept; may be left out otherwise",
    ));
    const NAMED: bool = true;
    /// As large as a Secret.
    const PAGE: u32 = 100;
    const REFERENCED: bool = true;

    kept_in!(config_maps);

    fn references(kept: &Self) -> BTreeSet<ObjectId> {
        headers_of(kept)
    }
}

impl Watched for Node {
    type Kept = Self;

    const MODEL_KIND: Kind = Kind::Node;
    const READ: Permission = Permission::of::<Self>(
        &["list", "watch"],
        "the endpoint mode nodeport and addresses of Nodes; may be left out otherwise",
    );
    const PAGE: u32 = 100;

    kept_in!(nodes);

    fn need(options: &WatchOptions) -> Option<Need> {
        Some(if options.nodes_required { Need::Required } else { Need::Optional })
    }
}

impl Watched for Namespace {
    type Kept = super::Namespace;

    const MODEL_KIND: Kind = Kind::Namespace;
    const READ: Permission = Permission::of::<Self>(
        &["list", "watch"],
        "the settings namespace-selector and hosts.allowed with a selector; may be left out otherwise",
    );

    kept_in!(namespaces);

    /// Where a selector chooses the namespaces, whoever chooses watches them.
    fn need(options: &WatchOptions) -> Option<Need> {
        (options.labels && !matches!(options.scope, Scope::Selected(_))).then_some(Need::Optional)
    }
}

/// What is asked about a kind by those who have only its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Row {
    /// The kind.
    pub kind: Kind,
    /// The version that is read.
    pub version: &'static str,
    /// Group and version, as objects name them.
    pub api_version: &'static str,
    /// Whether its objects have namespaces.
    pub is_namespaced: bool,
    /// Whether it is read only in the namespaces of those objects that the settings name.
    pub is_named: bool,
    /// What has to be allowed to read it.
    pub read: Permission,
    /// The same in all namespaces, where objects may name any.
    pub read_anywhere: Option<Permission>,
    /// What has to be allowed to publish in it.
    pub status: Option<Permission>,
}

impl Row {
    /// The row of a kind; `None` for what is no kind of Kubernetes.
    pub const fn of(kind: Kind) -> Option<Row> {
        const fn row<K: Watched>() -> Row {
            Row {
                kind: K::MODEL_KIND,
                version: K::VERSION,
                api_version: K::API_VERSION,
                is_namespaced: K::NAMESPACED,
                is_named: K::NAMED,
                read: K::READ,
                read_anywhere: K::READ_ANYWHERE,
                status: K::STATUS,
            }
        }
        for_kind!(kind, K => row::<K>())
    }

    /// Every row.
    pub fn all() -> impl Iterator<Item = Row> {
        Kind::ALL.into_iter().filter_map(Row::of)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_those_of_their_kinds_and_statuses_are_subresources() {
        let all: Vec<_> = Row::all().collect();
        assert_eq!(all.len() + 3, Kind::ALL.len(), "files, settings and the host are no kinds of Kubernetes");
        for kind in Kind::ALL {
            let name = for_kind!(kind, K => {
                assert_eq!(K::MODEL_KIND, kind, "the row of {kind:?} is another's");
                kind.name() == <K as Resource>::KIND
            });
            assert_ne!(name, Some(false), "{kind:?} is called otherwise in Kubernetes");
        }
        for row in all {
            let status = format!("{}/status", row.read.resource);
            assert!(
                row.status.is_none_or(|right| right.resource == status && right.group == row.read.group),
                "{row:?}"
            );
        }
    }
}
