//! The table of kinds: one row for each kind of Kubernetes that is read. Rights, decoding, lists
//! of snapshots and statuses follow from it.

use std::any::Any;
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use k8s_openapi::jiff::Timestamp;
use k8s_openapi::{ClusterResourceScope, Metadata, NamespaceResourceScope, Resource};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::manifest::{self, Purpose};
use super::rows::{ConfigMap, EndpointSlice, Ingress, IngressClass, Namespace, Node, Secret, Service};
use super::unread::DropUnread;
use super::validation::Problem;
use super::validation::Validate;
use super::{AnyList, Endpoints, List, Lists, Snapshot};
use ingressd_model::Kind;

/// Excludes Secrets that are never referred to and can be many and large: Helm releases, and
/// tokens.
const SECRETS: &str = "type!=helm.sh/release.v1,type!=kubernetes.io/service-account-token";

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
pub trait Kept: Any + fmt::Debug + Send + Sync {
    /// The UID of the object.
    fn uid(&self) -> Option<&str>;

    /// The same, for those who keep it: the same in memory where there may be many objects.
    fn shared_uid(&self) -> Option<Arc<str>> {
        self.uid().map(Arc::from)
    }

    /// When it was created, where that is kept.
    fn created(&self) -> Option<Timestamp> {
        None
    }
}

impl dyn Kept {
    /// The object, where it is of this type.
    pub fn as_type<K: Kept>(&self) -> Option<&K> {
        (self as &dyn Any).downcast_ref()
    }
}

impl<K: Metadata<Ty = ObjectMeta> + fmt::Debug + Send + Sync + 'static> Kept for K {
    fn uid(&self) -> Option<&str> {
        self.metadata().uid.as_deref()
    }

    fn created(&self) -> Option<Timestamp> {
        self.metadata().creation_timestamp.as_ref().map(|time| time.0)
    }
}

impl Kept for super::Ingress {
    fn uid(&self) -> Option<&str> {
        self.uid.as_deref()
    }

    fn shared_uid(&self) -> Option<Arc<str>> {
        self.uid.clone()
    }

    fn created(&self) -> Option<Timestamp> {
        self.created
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

kept_with_uid!(super::Service, Endpoints, super::Namespace, super::Secret);

/// How objects are kept on disk for the next start.
#[derive(Debug, Clone, Copy)]
pub struct Lasting<K> {
    write: fn(&K) -> Option<Value>,
    read: fn(Value) -> Option<K>,
}

impl<K: Serialize + DeserializeOwned> Lasting<K> {
    /// As they are in memory.
    pub const fn whole() -> Self {
        Lasting { write: |kept| serde_json::to_value(kept).ok(), read: |value| serde_json::from_value(value).ok() }
    }
}

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
    /// Whether an API server may not have the kind, as with a custom resource: then there is none
    /// of its objects, which is no mistake.
    const MAY_BE_ABSENT: bool = false;
    /// Whether an earlier version takes the place of an object that cannot be served.
    const IS_PUT_BACK: bool = false;
    /// How its objects are kept for the next start, if they are.
    const LASTING: Option<Lasting<Self::Kept>> = None;

    /// The part of an object that is kept.
    type Kept: Kept + From<Self>;

    /// Its list in a snapshot.
    fn list(snapshot: &Snapshot) -> &List<Self::Kept> {
        snapshot.further.list::<Self>()
    }

    /// Its list in a snapshot that is being made.
    fn list_mut(snapshot: &mut Snapshot) -> &mut List<Self::Kept> {
        snapshot.further.list_mut::<Self>()
    }
}

/// Says in which field of a snapshot the objects of a row are, which stages know by their type.
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

    const MODEL_KIND: Kind = Kind::INGRESS;
    const IS_PUT_BACK: bool = true;
    const LASTING: Option<Lasting<Self::Kept>> = Some(Lasting::whole());
    const READ: Permission = Permission::of::<Self>(&["list", "watch"], "what is served");
    const STATUS: Option<Permission> = Some(Permission {
        resource: "ingresses/status",
        ..Permission::of::<Self>(&["patch"], "the addresses of the nodes; not needed with publish.status = false")
    });

    kept_in!(ingresses);
}

impl KindRow for IngressClass {
    type Kept = Self;

    const MODEL_KIND: Kind = Kind::INGRESS_CLASS;
    /// Others are read by it.
    const LASTING: Option<Lasting<Self::Kept>> = Some(Lasting::whole());
    const READ: Permission = Permission::of::<Self>(&["list", "watch"], "which Ingresses ingressd serves");

    kept_in!(ingress_classes);
}

impl KindRow for Service {
    type Kept = super::Service;

    const MODEL_KIND: Kind = Kind::SERVICE;
    const IS_PUT_BACK: bool = true;
    const LASTING: Option<Lasting<Self::Kept>> = Some(Lasting::whole());
    const READ: Permission = Permission::of::<Self>(&["list", "watch"], "where requests go");

    kept_in!(services);
}

impl KindRow for EndpointSlice {
    type Kept = Endpoints;

    const MODEL_KIND: Kind = Kind::ENDPOINT_SLICE;
    /// Addresses of an earlier run are of no use, so that slices are not kept on disk.
    const IS_PUT_BACK: bool = true;
    const READ: Permission = Permission::of::<Self>(&["list", "watch"], "where requests go");

    kept_in!(endpoint_slices);
}

impl KindRow for Secret {
    type Kept = super::Secret;

    const MODEL_KIND: Kind = Kind::SECRET;
    const IS_PUT_BACK: bool = true;
    const LASTING: Option<Lasting<Self::Kept>> = Some(Lasting::whole());
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

    const MODEL_KIND: Kind = Kind::CONFIG_MAP;
    const IS_PUT_BACK: bool = true;
    const LASTING: Option<Lasting<Self::Kept>> = Some(Lasting::whole());
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
}

impl KindRow for Node {
    type Kept = Self;

    const MODEL_KIND: Kind = Kind::NODE;
    const READ: Permission = Permission::of::<Self>(
        &["list", "watch"],
        "the endpoint mode nodeport and addresses of Nodes; otherwise not needed",
    );
    const PAGE: u32 = 100;

    kept_in!(nodes);
}

impl KindRow for Namespace {
    type Kept = super::Namespace;

    const MODEL_KIND: Kind = Kind::NAMESPACE;
    /// Others are read by it.
    const LASTING: Option<Lasting<Self::Kept>> = Some(Lasting::whole());
    const READ: Permission = Permission::of::<Self>(
        &["list", "watch"],
        "the settings namespace-selector and hosts.allowed with a selector; otherwise not needed",
    );

    kept_in!(namespaces);
}

/// Decodes an object with the checks of an API server, and adds its problems.
type Decode = fn(Value, Purpose, &mut Vec<Problem>) -> Option<Arc<dyn Kept>>;

/// A row as a value, for code that has only the name of its kind.
#[derive(Debug, Clone, Copy)]
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
    /// Whether objects are kept only while something refers to them.
    pub is_referenced: bool,
    /// Whether an earlier version takes the place of an object that cannot be served.
    pub is_put_back: bool,
    /// Whether its objects are kept for the next start.
    pub lasts: bool,
    decode: Decode,
    write: fn(&dyn Kept) -> Option<Value>,
    read_back: fn(Value) -> Option<Arc<dyn Kept>>,
    edit: fn(&mut Snapshot) -> &mut dyn AnyList,
    edit_in: fn(&mut Lists) -> &mut dyn AnyList,
}

/// The kinds of Kubernetes that are read.
pub static ROWS: [Row; 8] = [
    Row::of::<Ingress>(),
    Row::of::<IngressClass>(),
    Row::of::<Service>(),
    Row::of::<EndpointSlice>(),
    Row::of::<Secret>(),
    Row::of::<ConfigMap>(),
    Row::of::<Node>(),
    Row::of::<Namespace>(),
];

impl Row {
    /// The row of this type.
    pub const fn of<K: KindRow>() -> Self {
        Row {
            kind: K::MODEL_KIND,
            version: K::VERSION,
            api_version: K::API_VERSION,
            is_namespaced: K::NAMESPACED,
            is_named: K::NAMED,
            read: K::READ,
            read_anywhere: K::READ_ANYWHERE,
            status: K::STATUS,
            is_referenced: K::REFERENCED,
            is_put_back: K::IS_PUT_BACK,
            lasts: K::LASTING.is_some(),
            decode: |value, purpose, problems| {
                Some(Arc::new(K::Kept::from(manifest::typed::<K>(value, purpose, problems)?)))
            },
            write: |kept| (K::LASTING?.write)(kept.as_type()?),
            read_back: |value| Some(Arc::new((K::LASTING?.read)(value)?)),
            edit: |snapshot| K::list_mut(snapshot),
            edit_in: |lists| lists.list_mut::<K>(),
        }
    }

    /// The object in a manifest, as far as it can be decoded, with its problems.
    pub fn decode(&self, value: Value, purpose: Purpose, problems: &mut Vec<Problem>) -> Option<Arc<dyn Kept>> {
        (self.decode)(value, purpose, problems)
    }

    /// An object in the form on disk; `None` where its kind is not kept.
    pub fn write(&self, kept: &dyn Kept) -> Option<Value> {
        (self.write)(kept)
    }

    /// The object of that form; `None` where it has another form now.
    pub fn read_back(&self, value: Value) -> Option<Arc<dyn Kept>> {
        (self.read_back)(value)
    }

    /// The list of the kind in a snapshot that is being made.
    pub fn edit<'s>(&self, snapshot: &'s mut Snapshot) -> &'s mut dyn AnyList {
        (self.edit)(snapshot)
    }

    /// The list of the kind among others that are being made.
    pub fn edit_in<'l>(&self, lists: &'l mut Lists) -> &'l mut dyn AnyList {
        (self.edit_in)(lists)
    }
}

/// A table of kinds; the default has those of Kubernetes.
#[derive(Debug, Clone)]
pub struct Kinds(Arc<[Row]>);

impl Kinds {
    /// The row of a kind.
    pub fn of(&self, kind: Kind) -> Option<&Row> {
        self.iter().find(|row| row.kind == kind)
    }
}

impl Default for Kinds {
    fn default() -> Self {
        ROWS.into_iter().collect()
    }
}

impl FromIterator<Row> for Kinds {
    fn from_iter<I: IntoIterator<Item = Row>>(rows: I) -> Self {
        Kinds(rows.into_iter().collect())
    }
}

impl Deref for Kinds {
    type Target = [Row];

    fn deref(&self) -> &[Row] {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_in_order_and_statuses_are_subresources() {
        assert!(ROWS.is_sorted_by_key(|row| row.kind));
        for row in &ROWS {
            let status = format!("{}/status", row.read.resource);
            assert!(
                row.status.is_none_or(|right| right.resource == status && right.group == row.read.group),
                "{row:?}"
            );
        }
    }

    #[test]
    fn a_kind_is_called_as_in_kubernetes() {
        fn check<K: KindRow>() {
            assert_eq!(K::MODEL_KIND.name(), <K as Resource>::KIND);
        }
        check::<Ingress>();
        check::<IngressClass>();
        check::<Service>();
        check::<EndpointSlice>();
        check::<Secret>();
        check::<ConfigMap>();
        check::<Node>();
        check::<Namespace>();
    }
}
