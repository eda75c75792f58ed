//! Checks and trims the objects of a stream, and puts them into the stores.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use k8s_openapi::api::core::v1::Namespace;
use tokio::sync::{Notify, watch};

use super::found::Found;
use super::health::{Section, WatchHealth};
use super::item::Item;
use super::stores::Stores;
use super::stream::{Failure, Sink};
use super::words::explained;
use crate::source::watched::Watched;
use ingressd_model::Kind;
use ingressd_objects::KindRow as _;

/// The stores, shared by the watches and their readers.
#[derive(Debug)]
pub struct Shared {
    stores: Mutex<Stores>,
    /// Notified when something has changed.
    pub changed: Notify,
    /// Notified when there may be objects to request.
    pub missing: Notify,
    /// Whether all objects with references were listed, so that it is known which objects are
    /// referenced.
    pub referred: watch::Sender<bool>,
    /// Whether some object names a ConfigMap.
    pub names_config_maps: watch::Sender<bool>,
    /// Incremented when other namespaces are selected.
    pub relist: watch::Sender<u64>,
    /// Incremented when a watch that failed works again.
    pub revived: watch::Sender<u64>,
}

impl Shared {
    /// A state in which nothing is known.
    pub fn new(stores: Stores) -> Arc<Self> {
        Arc::new(Shared {
            stores: Mutex::new(stores),
            changed: Notify::new(),
            missing: Notify::new(),
            referred: watch::Sender::new(false),
            names_config_maps: watch::Sender::new(false),
            relist: watch::Sender::new(0),
            revived: watch::Sender::new(0),
        })
    }

    /// Starts the watches of ConfigMaps if an object names one. What was said once stays: the
    /// stores may have changed on another thread since this one looked.
    pub fn begin_config_maps(&self) {
        let names = self.stores().wants_config_maps();
        self.names_config_maps.send_if_modified(|known| names && !std::mem::replace(known, true));
    }

    /// Locks the stores, for a moment only.
    pub fn stores(&self) -> MutexGuard<'_, Stores> {
        self.stores.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Updates the health of a watch, and notifies readers when it has changed.
    pub fn note_health(&self, kind: Kind, section: &Section, change: impl FnOnce(&mut WatchHealth)) {
        if let Some(health) = self.stores().health(kind, section) {
            change(health);
        }
        self.changed.notify_one();
    }

    fn note_failure(&self, kind: Kind, section: &Section, failure: &Failure) {
        let why: Arc<str> = explained(failure).into();
        self.note_health(kind, section, |health| {
            if health.failure.is_none() {
                let place = section.as_deref().map(|namespace| format!(" in the namespace {namespace}"));
                let kind = kind.name();
                tracing::warn!(KIND = kind, "{kind} cannot be watched{}: {why}", place.unwrap_or_default());
            }
            health.refused = failure.is_refusal();
            health.done_without |= health.refused;
            health.failure = Some(why);
        });
    }

    /// Records that the API server does not have the kind. It is asked again as after a failure.
    /// What was deleted with the kind while the watch was down was reported by nobody.
    fn note_absence<K: Watched>(&self, section: &Section) {
        self.stores().take_over::<K>(section, Vec::new(), Vec::new());
        let kind = K::MODEL_KIND;
        self.note_health(kind, section, |health| {
            if !std::mem::replace(&mut health.is_absent, true) {
                tracing::info!(KIND = kind.name(), "the API server has no {}", kind.name());
            }
            (health.failure, health.refused, health.heard) = (None, false, Some(Instant::now()));
        });
    }

    fn note_answer(&self, kind: Kind, section: &Section, position: Option<&str>) {
        self.note_health(kind, section, |health| {
            if health.failure.take().is_some() {
                let kind = kind.name();
                tracing::info!(KIND = kind, "{kind} is watched again");
            }
            (health.refused, health.is_absent, health.heard) = (false, false, Some(Instant::now()));
            health.position = position.and_then(|position| position.parse().ok());
        });
    }
}

/// Stores the objects of one kind.
#[derive(Debug)]
pub struct ObjectSink<K: Watched> {
    shared: Arc<Shared>,
    section: Section,
    /// The list that is being read, so far.
    listed: Vec<Item<K>>,
    /// The part of it that is not served but has a published status.
    outside: Vec<Item<K>>,
}

impl<K: Watched> ObjectSink<K> {
    /// A sink for this namespace, or for all.
    pub fn new(shared: Arc<Shared>, section: Section) -> Self {
        ObjectSink { shared, section, listed: Vec::new(), outside: Vec::new() }
    }

    fn settle(&self) {
        let asks_for_routes = K::MODEL_KIND.asks_for_routes();
        if asks_for_routes {
            let synced = self.shared.stores().knows_references();
            self.shared.begin_config_maps();
            self.shared.referred.send_if_modified(|referred| synced && !std::mem::replace(referred, true));
        }
        // A ConfigMap may name other ConfigMaps.
        if asks_for_routes || K::REFERENCED {
            self.shared.missing.notify_one();
        }
        self.shared.changed.notify_one();
    }
}

impl<K: Watched> Sink<K> for ObjectSink<K> {
    fn begin(&mut self) {
        self.listed.clear();
        self.outside.clear();
        self.shared.stores().begin::<K>(&self.section);
    }

    fn page(&mut self, found: Vec<Found<K>>) {
        let (kept, others): (Vec<_>, Vec<_>) = {
            let stores = self.shared.stores();
            found.into_iter().partition(|found| stores.keeps::<K>(&found.namespace, &found.name))
        };
        self.listed.extend(kept.into_iter().filter_map(Item::of));
        if K::STATUS.is_some() {
            self.outside.extend(others.into_iter().filter_map(Item::of).filter_map(Item::bare));
        }
    }

    fn end(&mut self) {
        let (listed, outside) = (std::mem::take(&mut self.listed), std::mem::take(&mut self.outside));
        self.shared.stores().replace(&self.section, listed, outside);
        self.shared.missing.notify_one();
        self.settle();
    }

    fn applied(&mut self, found: Found<K>) {
        let is_kept = self.shared.stores().keeps::<K>(&found.namespace, &found.name);
        if (is_kept || K::STATUS.is_some())
            && let Some(item) = Item::of(found)
        {
            match is_kept {
                true => self.shared.stores().apply(item),
                false => self.shared.stores().pass_over(item),
            }
            self.settle();
        }
    }

    fn deleted(&mut self, namespace: &str, name: &str) {
        self.shared.stores().delete::<K>(namespace, name);
        self.settle();
    }

    fn heard(&mut self, position: Option<&str>) {
        self.shared.note_answer(K::MODEL_KIND, &self.section, position);
    }

    fn failed(&mut self, failure: &Failure) {
        if K::MAY_BE_ABSENT && failure.code() == 404 {
            self.shared.note_absence::<K>(&self.section);
        } else {
            self.shared.note_failure(K::MODEL_KIND, &self.section, failure);
        }
        self.settle();
    }
}

/// Stores which namespaces are selected, so that the others are ignored.
#[derive(Debug)]
pub struct NamespaceSink {
    shared: Arc<Shared>,
    objects: ObjectSink<Namespace>,
    names: BTreeSet<String>,
    /// The list that is being read, so far.
    listed: BTreeSet<String>,
}

impl NamespaceSink {
    /// A sink that has seen no namespace.
    pub fn new(shared: Arc<Shared>) -> Self {
        let objects = ObjectSink::new(Arc::clone(&shared), None);
        NamespaceSink { shared, objects, names: BTreeSet::new(), listed: BTreeSet::new() }
    }

    fn select(&self) {
        self.shared.stores().select(self.names.clone());
        // Added namespaces have to be listed, and lists remove those that are not selected any
        // more.
        self.shared.relist.send_modify(|number| *number += 1);
    }
}

impl Sink<Namespace> for NamespaceSink {
    fn begin(&mut self) {
        self.listed.clear();
        self.objects.begin();
    }

    fn page(&mut self, found: Vec<Found<Namespace>>) {
        self.listed.extend(found.iter().map(|found| found.name.clone()));
        self.objects.page(found);
    }

    fn end(&mut self) {
        let listed = std::mem::take(&mut self.listed);
        let first = !self.shared.stores().is_synced(Namespace::MODEL_KIND);
        let differs = std::mem::replace(&mut self.names, listed) != self.names || first;
        self.objects.end();
        if differs {
            self.select();
        }
    }

    fn applied(&mut self, found: Found<Namespace>) {
        let is_new = self.names.insert(found.name.clone());
        self.objects.applied(found);
        if is_new {
            self.select();
        }
    }

    fn deleted(&mut self, _: &str, name: &str) {
        // While its Ingresses are known, its labels are kept too: `Stores` drops the namespace
        // with the last of them.
        if self.names.remove(name) {
            self.select();
        }
    }

    fn heard(&mut self, position: Option<&str>) {
        self.objects.heard(position);
    }

    fn failed(&mut self, failure: &Failure) {
        self.objects.failed(failure);
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::Service;
    use k8s_openapi::api::networking::v1::Ingress;
    use serde_json::json;

    use super::super::health::Need;
    use super::*;

    #[test]
    fn what_went_with_its_kind_while_nobody_watched_is_gone() {
        let mut stores = Stores::default();
        stores.expect(Kind::SERVICE, None, Need::Required);
        let shared = Shared::new(stores);
        let mut sink = ObjectSink::<Service>::new(Arc::clone(&shared), None);
        let service = json!({ "metadata": { "namespace": "shop", "name": "web" }, "spec": {} });
        sink.begin();
        sink.page(vec![Found::of(service).unwrap()]);
        sink.end();
        let services = || shared.stores().read().snapshot.map(|snapshot| snapshot.services.len());
        assert_eq!(services(), Some(1));
        shared.note_absence::<Service>(&None);
        assert_eq!(services(), Some(0));
    }

    #[test]
    fn objects_that_may_be_missing_do_not_delay_what_others_need() {
        let is_known = |need: Need, code: u16| {
            let mut stores = Stores::default();
            stores.expect(Kind::INGRESS, None, need);
            let shared = Shared::new(stores);
            let status = kube::core::Status::failure("no", "no").with_code(code);
            let failure = Failure::Client(kube::Error::Api(status.boxed()));
            ObjectSink::<Ingress>::new(Arc::clone(&shared), None).failed(&failure);
            *shared.referred.borrow()
        };
        assert!(is_known(Need::Optional, 403));
        assert!(!is_known(Need::Optional, 500), "they may be listed in a moment");
        assert!(!is_known(Need::Required, 403));
    }

    #[test]
    fn a_thread_that_looked_too_early_does_not_stop_the_watches_of_config_maps() {
        let mut stores = Stores::default();
        stores.expect_config_maps(None);
        let shared = Shared::new(stores);
        // Another thread has seen an object that names one since this thread looked.
        shared.names_config_maps.send_replace(true);
        shared.begin_config_maps();
        assert!(*shared.names_config_maps.borrow());
    }
}
