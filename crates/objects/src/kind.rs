//! The table of kinds: one row for each kind of Kubernetes that is read. Rights, decoding, lists
//! of snapshots and statuses follow from it. It must not know how objects are watched.

use std::collections::BTreeSet;
use std::fmt;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use k8s_openapi::{ClusterResourceScope, Metadata, NamespaceResourceScope, Resource};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::references::{of_config_map, of_ingress};
use super::rows::{ConfigMap, EndpointSlice, Ingress, IngressClass, Namespace, Node, Secret, Service};
use super::unread::DropUnread;
use super::validation::Validate;
use super::{Endpoints, List, Snapshot, Stored};
use ingressd_model::{Kind, ObjectId};

/// Excludes Secrets that are never referred to and can be many and large: Helm releases, and
/// tokens.
const SECRETS: &str = "type!=helm.sh/release.v1,type!=kubernetes.io/service-account-token";

/// Evaluates an expression with a name for the row of this kind: `Some` of its value, or `None`
/// for a kind that is not of Kubernetes.
#[macro_export]
macro_rules! for_kind {
    ($kind:expr, $row:ident => $body:expr) => {
        $crate::for_kind!(
            @ $kind, $row => $body, Ingress, IngressClass, Service, EndpointSlice, Secret, ConfigMap, Node, Namespace
        )
    };
    (@ $value:expr, $row:ident => $body:expr, $($kind:ident),*) => {
        match $value {
            $(::ingressd_model::Kind::$kind => {
                type $row = $crate::rows::$kind;
                Some($body)
            })*
            ::ingressd_model::Kind::File | ::ingressd_model::Kind::Settings | ::ingressd_model::Kind::Host => None,
        }
    };
}

/// A right for one resource, as a rule of a Role has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Permission {
    /// The API group; empty for the core group.
    pub group: &'static str,
    /// The resource, with its subresource.
    pub resource: &'static str,
    /// The verbs of RBAC.
    pub verbs: &'static [&'static str],
    /// Its purpose, for comments in manifests.
    pub purpose: &'static str,
}

impl Permission {
    /// A right for objects of this kind.
    pub const fn of<K: Resource>(verbs: &'static [&'static str], purpose: &'static str) -> Self {
        Permission { group: K::GROUP, resource: K::URL_PATH_SEGMENT, verbs, purpose }
    }
}

pub trait Namespaced {
    const NAMESPACED: bool;
}

impl Namespaced for NamespaceResourceScope {
    const NAMESPACED: bool = true;
}

impl Namespaced for ClusterResourceScope {
    const NAMESPACED: bool = false;
}

/// The part of an object that is kept.
pub trait Kept: fmt::Debug + Send + Sync + 'static {
    /// The UID of the object.
    fn uid(&self) -> Option<&str>;
}

impl<K: Metadata<Ty = ObjectMeta> + fmt::Debug + Send + Sync + 'static> Kept for K {
    fn uid(&self) -> Option<&str> {
        self.metadata().uid.as_deref()
    }
}

/// Implements it for a part that is kept beside the object's UID.
macro_rules! kept_with_uid {
    ($($kept:ty),*) => {
        $(impl Kept for $kept {
            fn uid(&self) -> Option<&str> {
                self.uid.as_deref()
            }
        })*
    };
}

kept_with_uid!(super::Ingress, super::Service, Endpoints, super::Namespace);

/// A row of the table. Group, version, plural and scope come from the type in `k8s_openapi`.
pub trait KindRow:
    Resource<Scope: Namespaced>
    + Metadata<Ty = ObjectMeta>
    + DeserializeOwned
    + Serialize
    + Validate
    + DropUnread
    + fmt::Debug
    + Send
    + Sync
    + 'static
{
    /// Its name in the model.
    const MODEL_KIND: Kind;
    /// The right to read its objects.
    const READ: Permission;
    /// The same for all namespaces, for kinds whose objects may be named across namespaces.
    const READ_ANYWHERE: Option<Permission> = None;
    /// The right to write its status, for kinds in which something is published.
    const STATUS: Option<Permission> = None;
    const NAMESPACED: bool = <<Self as Resource>::Scope as Namespaced>::NAMESPACED;
    /// Whether it is read only in the namespaces of objects that the settings name.
    const NAMED: bool = false;
    /// A field selector for its objects.
    const FIELDS: Option<&'static str> = None;
    /// The number of objects on a page of a list.
    const PAGE: u32 = 500;
    /// Whether objects are kept only while something refers to them.
    const REFERENCED: bool = false;
    /// Whether its objects refer to such objects.
    const REFERS: bool = false;

    /// The part of an object that is kept.
    type Kept: Kept + From<Self>;

    /// Its list in a snapshot.
    fn list(snapshot: &Snapshot) -> &List<Self::Kept>;

    /// Its list in a snapshot that is being made.
    fn list_mut(snapshot: &mut Snapshot) -> &mut List<Self::Kept>;

    /// The objects that it may refer to, of kinds that are kept by reference.
    fn references(_stored: &Stored<Self::Kept>) -> BTreeSet<ObjectId> {
        BTreeSet::new()
    }
}

/// Says in which field of a snapshot the objects of a row are.
macro_rules! kept_in {
    ($list:ident) => {
        fn list(snapshot: &Snapshot) -> &List<Self::Kept> {
            &snapshot.$list
        }

        fn list_mut(snapshot: &mut Snapshot) -> &mut List<Self::Kept> {
            &mut snapshot.$list
        }
    };
}

impl KindRow for Ingress {
    type Kept = super::Ingress;

    const MODEL_KIND: Kind = Kind::Ingress;
    const READ: Permission = Permission::of::<Self>(&["list", "watch"], "what is served");
    const STATUS: Option<Permission> = Some(Permission {
        resource: "ingresses/status",
        ..Permission::of::<Self>(&["patch"], "the addresses of the nodes; not needed with publish.status = false")
    });
    const REFERS: bool = true;

    kept_in!(ingresses);

    fn references(stored: &Stored<Self::Kept>) -> BTreeSet<ObjectId> {
        of_ingress(stored)
    }
}

impl KindRow for IngressClass {
    type Kept = Self;

    const MODEL_KIND: Kind = Kind::IngressClass;
    const READ: Permission = Permission::of::<Self>(&["list", "watch"], "which Ingresses ingressd serves");

    kept_in!(ingress_classes);
}

impl KindRow for Service {
    type Kept = super::Service;

    const MODEL_KIND: Kind = Kind::Service;
    const READ: Permission = Permission::of::<Self>(&["list", "watch"], "where requests go");

    kept_in!(services);
}

impl KindRow for EndpointSlice {
    type Kept = Endpoints;

    const MODEL_KIND: Kind = Kind::EndpointSlice;
    const READ: Permission = Permission::of::<Self>(&["list", "watch"], "where requests go");

    kept_in!(endpoint_slices);
}

impl KindRow for Secret {
    type Kept = Self;

    const MODEL_KIND: Kind = Kind::Secret;
    const READ: Permission = Permission::of::<Self>(
        &["get", "list", "watch"],
        "certificates and passwords; only those that objects refer to are kept",
    );
    const FIELDS: Option<&'static str> = Some(SECRETS);
    /// A Secret may be a megabyte large.
    const PAGE: u32 = 100;
    const REFERENCED: bool = true;

    kept_in!(secrets);
}

impl KindRow for ConfigMap {
    type Kept = Self;

    const MODEL_KIND: Kind = Kind::ConfigMap;
    const READ: Permission = Permission::of::<Self>(&["get", "list", "watch"], "the ConfigMaps that the settings name");
    const READ_ANYWHERE: Option<Permission> = Some(Permission::of::<Self>(
        &["get", "list", "watch"],
        "headers and parameters of FastCGI that annotations name; only those that objects refer to are kept; \
            otherwise not needed",
    ));
    const NAMED: bool = true;
    /// A ConfigMap may be a megabyte large.
    const PAGE: u32 = 100;
    const REFERENCED: bool = true;

    kept_in!(config_maps);

    fn references(stored: &Stored<Self>) -> BTreeSet<ObjectId> {
        of_config_map(stored)
    }
}

impl KindRow for Node {
    type Kept = Self;

    const MODEL_KIND: Kind = Kind::Node;
    const READ: Permission = Permission::of::<Self>(
        &["list", "watch"],
        "the endpoint mode nodeport and addresses of Nodes; otherwise not needed",
    );
    const PAGE: u32 = 100;

    kept_in!(nodes);
}

impl KindRow for Namespace {
    type Kept = super::Namespace;

    const MODEL_KIND: Kind = Kind::Namespace;
    const READ: Permission = Permission::of::<Self>(
        &["list", "watch"],
        "the settings namespace-selector and hosts.allowed with a selector; otherwise not needed",
    );

    kept_in!(namespaces);
}

/// The properties of a kind as values, for code that has only its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Row {
    /// The kind.
    pub kind: Kind,
    /// The API version that is read.
    pub version: &'static str,
    /// Group and version, as in `apiVersion`.
    pub api_version: &'static str,
    pub is_namespaced: bool,
    /// Whether it is read only in the namespaces of objects that the settings name.
    pub is_named: bool,
    /// The right to read it.
    pub read: Permission,
    /// The same for all namespaces, for kinds whose objects may be named across namespaces.
    pub read_anywhere: Option<Permission>,
    /// The right to write its status.
    pub status: Option<Permission>,
}

impl Row {
    /// The row of a kind; `None` for a kind that is not of Kubernetes.
    pub const fn of(kind: Kind) -> Option<Row> {
        const fn row<K: KindRow>() -> Row {
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
