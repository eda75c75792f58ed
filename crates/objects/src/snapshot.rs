//! A snapshot: everything that was read, at one time; shared and never changed.

use std::fmt;
use std::sync::Arc;

use k8s_openapi::api::core::v1::{ConfigMap, Node, Secret};
use k8s_openapi::api::networking::v1::{IngressClass, IngressClassSpec, IngressStatus};

use super::kind::{Kept as _, KindRow as _};
use super::{Endpoints, Ingress, List, Namespace, Service, for_kind};
use ingressd_model::finding::Finding;
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
pub struct Stored<K> {
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

impl<K> Clone for Stored<K> {
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
    pub status: Option<IngressStatus>,
    /// The field managers that own a part of the status by server-side apply; `None` when the
    /// object has no managed fields.
    pub appliers: Option<Box<[Box<str>]>>,
}

impl Published {
    /// An empty status counts as none.
    pub fn new(revision: Option<String>, status: Option<IngressStatus>) -> Self {
        let status = status.filter(|status| *status != IngressStatus::default());
        Published { revision: revision.map(String::into_boxed_str), status, appliers: None }
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
    /// Ingresses that were taken out because nginx refuses them: nothing of them is served, and
    /// they keep their claims on hosts and paths.
    pub withheld: List<Ingress>,
    /// Ingresses that are not served but have a published status; only their names are kept.
    pub outside: List<Ingress>,
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

    /// All Ingresses that may have a published status, served or not.
    pub fn published(&self) -> impl Iterator<Item = &Stored<Ingress>> {
        self.ingresses.iter().chain(&self.outside)
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
            id: Arc::new(ObjectId::new(Kind::IngressClass, "", name)),
            version: Version("".into()),
            object: Arc::new(IngressClass { spec: Some(spec), ..IngressClass::default() }),
            published: None,
            place: None,
        };
        self.ingress_classes.edit().insert(index, stored);
    }

    /// The names of all objects.
    pub fn ids(&self) -> impl Iterator<Item = &Arc<ObjectId>> {
        fn of<K>(list: &List<K>) -> Vec<&Arc<ObjectId>> {
            list.iter().map(|stored| &stored.id).collect()
        }
        Kind::ALL.into_iter().filter_map(|kind| for_kind!(kind, K => of(K::list(self)))).flatten()
    }

    /// The objects of both, for manifests that would be put into a cluster: of those in both,
    /// these count.
    #[must_use]
    pub fn over(&self, below: &Snapshot) -> Snapshot {
        let mut both = below.clone();
        for kind in Kind::ALL {
            let _: Option<()> = for_kind!(kind, K => {
                let own = K::list(self);
                if !own.is_empty() {
                    let list = K::list_mut(&mut both).edit();
                    list.retain(|stored| own.find(&stored.id.namespace, &stored.id.name).is_none());
                    list.extend(own.iter().cloned());
                    list.sort_by(|one, other| one.id.cmp(&other.id));
                }
            });
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
        for_kind!(id.kind, K => K::list(self).find(&id.namespace, &id.name)?.place.as_ref())?
    }

    /// The version of an object.
    pub fn version(&self, id: &ObjectId) -> Option<&Version> {
        for_kind!(id.kind, K => &K::list(self).find(&id.namespace, &id.name)?.version)
    }

    /// The published status of an object that is served or may be.
    pub fn published_in(&self, id: &ObjectId) -> Option<&Published> {
        for_kind!(id.kind, K => K::list(self).find(&id.namespace, &id.name)?.published.as_deref())?
    }

    /// The UID of an object; `None` when it is not known.
    pub fn uid(&self, id: &ObjectId) -> Option<&str> {
        // An earlier version of an object that cannot be used now may have belonged to another
        // object with the same name.
        if let Some(left_out) = self.left_out(id) {
            return left_out.uid.as_deref();
        }
        for_kind!(id.kind, K => K::list(self).find(&id.namespace, &id.name)?.object.uid())?
    }

    /// Whether nothing was read, not even something invalid.
    pub fn is_empty(&self) -> bool {
        self.findings.is_empty() && Kind::ALL.iter().all(|kind| self.count(*kind) == 0)
    }

    /// The number of objects of this kind.
    pub fn count(&self, kind: Kind) -> usize {
        for_kind!(kind, K => K::list(self).len()).unwrap_or(0)
    }
}
