//! A snapshot: everything that was read, at one time; shared and never changed.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use k8s_openapi::api::core::v1::{ConfigMap, Node};
use k8s_openapi::api::networking::v1::{IngressClass, IngressClassSpec, IngressStatus};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde_json::Value;

use super::kind::{ROWS, Row};
use super::{AnyList, Endpoints, Entry, Ingress, List, Lists, Namespace, Secret, Service};
use ingressd_model::finding::{Finding, Reason};
use ingressd_model::{Kind, ObjectId, Version};

/// A file with manifests.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SourceFile {
    pub path: Arc<str>,
    /// When its content was written, in nanoseconds since 1970, where the age of files matters.
    pub written: Option<i64>,
}

/// The file and line where a manifest begins.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SourceLocation {
    pub file: Arc<SourceFile>,
    /// First line of the document.
    pub line: u32,
}

impl fmt::Display for SourceLocation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}:{}", self.file.path, self.line)
    }
}

/// An object with its identity and version.
#[derive(Debug)]
pub struct Stored<K: ?Sized> {
    /// Its name.
    pub id: Arc<ObjectId>,
    pub version: Version,
    /// The object, without managed fields and without its published status.
    pub object: Arc<K>,
    /// Its published status, if it has one; never for objects from files.
    pub published: Option<Arc<Published>>,
    /// Where it was written, when it comes from a file.
    pub place: Option<SourceLocation>,
}

impl<K: ?Sized> Clone for Stored<K> {
    fn clone(&self) -> Self {
        Stored {
            id: Arc::clone(&self.id),
            version: self.version.clone(),
            object: Arc::clone(&self.object),
            published: self.published.clone(),
            place: self.place.clone(),
        }
    }
}

/// What controllers write into an object, stored apart from it: a written status then makes no new
/// object, and older snapshots share the objects with newer ones.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Published {
    /// The `resourceVersion` of the object with this status.
    pub revision: Option<Box<str>>,
    /// The `metadata.generation` of the object.
    pub generation: Option<i64>,
    pub status: Option<IngressStatus>,
    /// The status of another kind as it was written, because others may own parts of it; null
    /// where there is none.
    pub whole: Option<Box<Value>>,
    /// The field managers that own a part of the status by server-side apply; `None` when the
    /// object has no managed fields.
    pub appliers: Option<Box<[Box<str>]>>,
}

impl Published {
    /// Takes what these metadata say about statuses, and nothing of the status itself.
    pub fn take(metadata: &mut ObjectMeta) -> Self {
        let appliers = metadata.managed_fields.take().map(|entries| {
            let applied = entries.into_iter().filter(|entry| {
                entry.subresource.as_deref() == Some("status") && entry.operation.as_deref() == Some("Apply")
            });
            applied.filter_map(|entry| entry.manager.map(String::into_boxed_str)).collect()
        });
        let generation = metadata.generation.take();
        Published { generation, appliers, ..Published::new(metadata.resource_version.take(), None) }
    }

    /// The same with this status, whole.
    pub fn take_whole(metadata: &mut ObjectMeta, status: Value) -> Self {
        Published { whole: Some(Box::new(status)), ..Published::take(metadata) }
    }

    /// An empty status counts as none.
    pub fn new(revision: Option<String>, status: Option<IngressStatus>) -> Self {
        let status = status.filter(|status| *status != IngressStatus::default());
        Published { revision: revision.map(String::into_boxed_str), status, ..Published::default() }
    }

    /// Whether the status says nothing that could have been published.
    pub fn is_empty(&self) -> bool {
        let balancer = self.status.as_ref().and_then(|status| status.load_balancer.as_ref());
        let addresses = balancer.and_then(|balancer| balancer.ingress.as_deref()).unwrap_or_default();
        addresses.is_empty() && self.whole.as_ref().is_none_or(|whole| whole.is_null())
    }

    /// Whether this field manager owns a part of the status; `None` when the object has no managed
    /// fields.
    pub fn is_applied_by(&self, manager: &str) -> Option<bool> {
        self.appliers.as_ref().map(|appliers| appliers.iter().any(|applier| **applier == *manager))
    }
}

impl<K> Stored<K> {
    /// The `resourceVersion` of the object.
    pub fn revision(&self) -> Option<&str> {
        self.published.as_ref()?.revision.as_deref()
    }
}

/// Everything that was read. Each list is sorted by namespace and name and has each object once.
#[derive(Debug, Clone, Default)]
pub struct Snapshot {
    pub ingresses: List<Ingress>,
    /// Objects that were taken out because nginx refuses them: nothing of them is served, and they
    /// keep their claims on hosts and paths.
    pub withheld: Lists,
    /// Objects that are not served but have a published status; only their names are kept.
    pub outside: Lists,
    /// IngressClasses.
    pub ingress_classes: List<IngressClass>,
    pub services: List<Service>,
    /// EndpointSlices.
    pub endpoint_slices: List<Endpoints>,
    pub secrets: List<Secret>,
    /// ConfigMaps.
    pub config_maps: List<ConfigMap>,
    pub nodes: List<Node>,
    /// Namespaces. From a cluster they are read only where labels are needed, and then at least
    /// those that are served.
    pub namespaces: List<Namespace>,
    /// Kinds that no stage knows by their type.
    pub further: Lists,
    /// Kinds that are needed and that we lack the right to read: nothing is known about their
    /// objects.
    pub unseen: Vec<Kind>,
    /// Findings about what could not be read.
    pub findings: Vec<Finding>,
    /// Objects whose newest version cannot be used, sorted. An older version may be in the lists.
    pub left_out: Vec<LeftOut>,
    /// The `resourceVersion` up to which all changes of Ingresses and IngressClasses are included,
    /// deletions too.
    pub position: Option<u128>,
}

/// An object whose newest version cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct LeftOut {
    /// Its name.
    pub id: Arc<ObjectId>,
    /// Where it is written, when it comes from a file.
    pub place: Option<SourceLocation>,
    /// Its UID, when it comes from an API server.
    pub uid: Option<Arc<str>>,
    /// The reason of its first problem.
    pub why: Reason,
}

impl Snapshot {
    /// The Service of this name.
    pub fn service(&self, namespace: &str, name: &str) -> Option<&Stored<Service>> {
        self.services.find(namespace, name)
    }

    /// The Secret of this name.
    pub fn secret(&self, namespace: &str, name: &str) -> Option<&Stored<Secret>> {
        self.secrets.find(namespace, name)
    }

    /// The ConfigMap of this name.
    pub fn config_map(&self, namespace: &str, name: &str) -> Option<&Stored<ConfigMap>> {
        self.config_maps.find(namespace, name)
    }

    /// The Namespace of this name. `None` also when nothing is known about it, so that nothing may
    /// be allowed by its labels.
    pub fn namespace(&self, name: &str) -> Option<&Stored<Namespace>> {
        self.namespaces.find("", name)
    }

    /// All objects that may have a status that we publish, served or not.
    pub fn published(&self) -> impl Iterator<Item = Entry<'_>> {
        let lists = self.lists().filter(|(row, _)| row.status.is_some());
        lists.flat_map(|(_, list)| list.entries()).chain(self.outside.entries())
    }

    /// The class of this name.
    pub fn ingress_class(&self, name: &str) -> Option<&Stored<IngressClass>> {
        self.ingress_classes.find("", name)
    }

    /// Puts a class of this controller in the place of one that was not read.
    pub fn stand_in_for_class(&mut self, name: &str, controller: &str) {
        let Err(index) = self.ingress_classes.position("", name) else { return };
        let spec = IngressClassSpec { controller: Some(controller.to_owned()), ..IngressClassSpec::default() };
        let stored = Stored {
            id: Arc::new(ObjectId::new(Kind::INGRESS_CLASS, "", name)),
            version: Version("".into()),
            object: Arc::new(IngressClass { spec: Some(spec), ..IngressClass::default() }),
            published: None,
            place: None,
        };
        self.ingress_classes.edit().insert(index, stored);
    }

    /// The lists of all kinds, with their rows.
    pub fn lists(&self) -> impl Iterator<Item = (&Row, &dyn AnyList)> {
        let known: [&dyn AnyList; ROWS.len()] = [
            &self.ingresses,
            &self.ingress_classes,
            &self.services,
            &self.endpoint_slices,
            &self.secrets,
            &self.config_maps,
            &self.nodes,
            &self.namespaces,
        ];
        ROWS.iter().zip(known).chain(self.further.all())
    }

    /// The list of a kind, with its row.
    pub fn list(&self, kind: Kind) -> Option<(&Row, &dyn AnyList)> {
        self.lists().find(|(row, _)| row.kind == kind)
    }

    /// The names of the objects that are not the same in memory in an earlier snapshot and in this
    /// one, or have another generation, of the kinds whose rows are `wanted`.
    pub fn changed(&self, before: &Snapshot, wanted: impl Fn(&Row) -> bool) -> BTreeSet<Arc<ObjectId>> {
        let mut changed = BTreeSet::new();
        for (row, list) in self.lists().filter(|(row, _)| wanted(row)) {
            match before.list(row.kind) {
                Some((_, before)) => changed.extend(list.changed(before)),
                None => changed.extend(list.entries().map(|entry| Arc::clone(entry.id))),
            }
        }
        let gone = before.lists().filter(|(row, _)| wanted(row) && self.list(row.kind).is_none());
        changed.extend(gone.flat_map(|(_, list)| list.entries()).map(|entry| Arc::clone(entry.id)));
        changed
    }

    /// The object of this name.
    pub fn entry(&self, id: &ObjectId) -> Option<Entry<'_>> {
        self.list(id.kind)?.1.entry(&id.namespace, &id.name)
    }

    /// The names of all objects.
    pub fn ids(&self) -> impl Iterator<Item = &Arc<ObjectId>> {
        self.lists().flat_map(|(_, list)| list.entries()).map(|entry| entry.id)
    }

    /// The objects of both, for manifests that would be put into a cluster: of those in both,
    /// these count.
    #[must_use]
    pub fn over(&self, below: &Snapshot) -> Snapshot {
        let mut both = below.clone();
        for (row, own) in self.lists() {
            let all = own.entries().filter_map(|entry| own.shared(&entry.id.namespace, &entry.id.name));
            all.for_each(|stored| row.edit(&mut both).put(stored));
        }
        both.findings.extend(self.findings.iter().cloned());
        both.findings.sort();
        both.left_out.extend(self.left_out.iter().cloned());
        both.left_out.sort();
        both.left_out.dedup_by(|later, first| later.id == first.id);
        both
    }

    /// The object of this name, when it cannot be used as it is now.
    pub fn left_out(&self, id: &ObjectId) -> Option<&LeftOut> {
        let index = self.left_out.binary_search_by(|left_out| (*left_out.id).cmp(id)).ok()?;
        self.left_out.get(index)
    }

    /// Where the newest version of an object was written, when it comes from a file.
    pub fn place(&self, id: &ObjectId) -> Option<&SourceLocation> {
        if let Some(left_out) = self.left_out(id) {
            return left_out.place.as_ref();
        }
        self.entry(id)?.place
    }

    /// The version of an object.
    pub fn version(&self, id: &ObjectId) -> Option<&Version> {
        Some(self.entry(id)?.version)
    }

    /// The published status of an object that is served or may be.
    pub fn published_in(&self, id: &ObjectId) -> Option<&Published> {
        self.entry(id)?.published
    }

    /// The UID of an object; `None` when it is not known.
    pub fn uid(&self, id: &ObjectId) -> Option<&str> {
        // An earlier version of an object that cannot be used now may have belonged to another
        // object with the same name.
        if let Some(left_out) = self.left_out(id) {
            return left_out.uid.as_deref();
        }
        self.entry(id)?.object.uid()
    }

    /// Whether nothing was read, not even something invalid.
    pub fn is_empty(&self) -> bool {
        self.findings.is_empty() && self.lists().all(|(_, list)| list.count() == 0)
    }

    /// The number of objects of this kind.
    pub fn count(&self, kind: Kind) -> usize {
        self.list(kind).map_or(0, |(_, list)| list.count())
    }
}
