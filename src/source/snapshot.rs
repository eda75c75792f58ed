//! One moment of everything that was read, shared and never changed.

use std::fmt;
use std::sync::Arc;

use k8s_openapi::api::core::v1::{ConfigMap, Node, Secret};
use k8s_openapi::api::networking::v1::{Ingress, IngressClass, IngressClassSpec, IngressStatus};

use super::kind::{Kept as _, Watched as _, for_kind};
use super::{Endpoints, List, Namespace, Service};
use crate::finding::Finding;
use crate::model::{Kind, ObjectId};

/// Tells versions of one object apart: the `resourceVersion` with the uid, or a digest of the manifest.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version(pub Arc<str>);

/// The file and line where a manifest begins; lines count from 1.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SourceLocation {
    /// Path of the file.
    pub file: Arc<str>,
    /// First line of the document.
    pub line: u32,
}

impl fmt::Display for SourceLocation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}:{}", self.file, self.line)
    }
}

/// An object with its name and version.
#[derive(Debug)]
pub struct Stored<K> {
    /// Its name.
    pub id: Arc<ObjectId>,
    /// Its version.
    pub version: Version,
    /// The object, without managed fields, and without what is published in it.
    pub object: Arc<K>,
    /// What is published in it, where something is; never for objects from files.
    pub published: Option<Arc<Published>>,
    /// Where it was written, when it came from a file.
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

/// What controllers write into an object, apart from it: so that thousands of first statuses make no object anew, and snapshots that
/// are older share the objects with newer ones.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Published {
    /// The `resourceVersion` in which it stands there.
    pub revision: Option<Box<str>>,
    /// The `status`.
    pub status: Option<IngressStatus>,
    /// The names under which somebody applied to the status what stands there still, by server-side apply; `None` when the
    /// object does not tell.
    pub appliers: Option<Box<[Box<str>]>>,
}

impl Published {
    /// An empty status is none.
    pub fn new(revision: Option<String>, status: Option<IngressStatus>) -> Self {
        let status = status.filter(|status| *status != IngressStatus::default());
        Published { revision: revision.map(String::into_boxed_str), status, appliers: None }
    }

    /// Whether something stands there that was applied under this name; `None` when the object does not tell.
    pub fn is_applied_by(&self, manager: &str) -> Option<bool> {
        self.appliers.as_ref().map(|appliers| appliers.iter().any(|applier| **applier == *manager))
    }
}

impl<K> Stored<K> {
    /// The `resourceVersion` of an object in which something is published.
    pub fn revision(&self) -> Option<&str> {
        self.published.as_ref()?.revision.as_deref()
    }
}

/// Everything that was read. Each list is sorted by namespace and name and holds each object once.
#[derive(Debug, Clone, Default)]
pub struct Snapshot {
    /// Ingresses.
    pub ingresses: List<Ingress>,
    /// Ingresses that are taken out for what nginx says of them: nothing of them is served, and what they ask for stays theirs.
    pub withheld: List<Ingress>,
    /// Ingresses where nothing is served, bare of all but their names, in which something is published.
    pub outside: List<Ingress>,
    /// Classes.
    pub ingress_classes: List<IngressClass>,
    /// Services.
    pub services: List<Service>,
    /// Endpoint slices.
    pub endpoint_slices: List<Endpoints>,
    /// Secrets.
    pub secrets: List<Secret>,
    /// ConfigMaps.
    pub config_maps: List<ConfigMap>,
    /// Nodes.
    pub nodes: List<Node>,
    /// Namespaces; from a cluster only where their labels were asked for, and then those that are served at least.
    pub namespaces: List<Namespace>,
    /// Kinds that were asked for and that we may not see: nothing is known of their objects, whatever there is.
    pub unseen: Vec<Kind>,
    /// What could not be read.
    pub findings: Vec<Finding>,
    /// Objects that cannot be used as they are now, sorted. An older version may be in the lists.
    pub left_out: Vec<LeftOut>,
    /// The `resourceVersion` up to which changes of Ingresses and of their classes are in it, also those that took something away.
    pub position: Option<u128>,
}

/// An object that cannot be used as it is now.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct LeftOut {
    /// Its name.
    pub id: Arc<ObjectId>,
    /// Where it is written, when that is a file.
    pub place: Option<SourceLocation>,
    /// What the API server calls it, when it comes from one.
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

    /// The Namespace of this name; `None` also where nothing is known of it, so that nothing may follow from its labels.
    pub fn namespace(&self, name: &str) -> Option<&Stored<Namespace>> {
        self.namespaces.find("", name)
    }

    /// All in which something may be published, served or not.
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

    /// The object of this name, when it cannot be used as it is now.
    pub fn left_out(&self, id: &ObjectId) -> Option<&LeftOut> {
        let index = self.left_out.binary_search_by(|left_out| (*left_out.id).cmp(id)).ok()?;
        self.left_out.get(index)
    }

    /// Where the newest version of an object was written, when it came from a file.
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

    /// What is published in an object that is served or may be.
    pub fn published_in(&self, id: &ObjectId) -> Option<&Published> {
        for_kind!(id.kind, K => K::list(self).find(&id.namespace, &id.name)?.published.as_deref())?
    }

    /// What the API server calls an object; `None` when nobody knows.
    pub fn uid(&self, id: &ObjectId) -> Option<&str> {
        // An earlier version of what cannot be used now may have been another object.
        if let Some(left_out) = self.left_out(id) {
            return left_out.uid.as_deref();
        }
        for_kind!(id.kind, K => K::list(self).find(&id.namespace, &id.name)?.object.uid())?
    }

    /// Whether nothing was read, not even something wrong.
    pub fn is_empty(&self) -> bool {
        self.findings.is_empty() && Kind::ALL.iter().all(|kind| self.count(*kind) == 0)
    }

    /// How many objects of this kind were read.
    pub fn count(&self, kind: Kind) -> usize {
        for_kind!(kind, K => K::list(self).len()).unwrap_or(0)
    }
}
