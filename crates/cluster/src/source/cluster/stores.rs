//! The cache of all watches, from which snapshots are made.

use std::any::Any;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Instant;

use k8s_openapi::api::core::v1::Namespace;

use super::health::{Need, Section, WatchHealth};
use super::item::Item;
use super::kept_bytes::KeptBytes;
use super::references::{Missing, References};
use super::store::{AnyStore, Effect, Store};
use crate::source::watched::{Watched, WatchedKinds};
use ingressd_model::{Kind, ObjectId};
use ingressd_objects::{List, Needs, Snapshot};

/// Everything that is known about the cluster.
#[derive(Debug, Default)]
pub struct Stores {
    kinds: WatchedKinds,
    /// By kind, each with the type of its row.
    stores: BTreeMap<Kind, Box<dyn AnyStore>>,
    /// The same for objects in namespaces that are not selected, as long as they have a published
    /// status.
    outside: BTreeMap<Kind, Box<dyn AnyStore>>,
    needs: Needs,
    references: References,
    /// Objects that readers of snapshots want to keep, whether or not anything refers to them
    /// here.
    held: BTreeSet<ObjectId>,
    /// The namespaces that the settings select by labels; `None` when they do not.
    selected: Option<BTreeSet<String>>,
    health: BTreeMap<(Kind, Section), WatchHealth>,
    /// The namespaces whose ConfigMaps are watched as soon as an object names one.
    idle: Vec<Section>,
    /// Counts changes of objects, and changes of anything.
    revision: u64,
    /// When the oldest change was noticed that is in no snapshot.
    noticed: Option<Instant>,
}

/// The store of a kind among those of all.
fn typed<K: Watched>(stores: &mut BTreeMap<Kind, Box<dyn AnyStore>>) -> &mut Store<K> {
    let store = stores.entry(K::MODEL_KIND).or_insert_with(|| Box::new(Store::<K>::default()));
    let store = (&mut **store as &mut dyn Any).downcast_mut();
    store.unwrap_or_else(|| unreachable!("two types are of the kind {}", K::MODEL_KIND.name()))
}

/// The known state at one time.
#[derive(Debug, Clone, Default)]
pub struct Observation {
    /// The objects; `None` until every required watch has listed everything.
    pub snapshot: Option<Arc<Snapshot>>,
    /// Incremented whenever objects change; statuses that others wrote do not count.
    pub revision: u64,
    /// When the oldest change was noticed that earlier observations do not have.
    pub noticed: Option<Instant>,
    /// The health of the watches, by kind and namespace.
    pub watches: Arc<[WatchHealth]>,
    /// Why the newest credentials cannot be used; the earlier ones may still work.
    pub credentials: Option<Arc<str>>,
}

impl Observation {
    /// When the API server last confirmed everything that is known; `None` before the first time.
    pub fn confirmed(&self) -> Option<Instant> {
        let needed = self.watches.iter().filter(|watch| watch.synced || watch.need == Need::Required);
        needed.map(|watch| watch.heard).min().flatten()
    }

    /// What is wrong with the required watches, and with the credentials, in one line.
    pub fn failure(&self) -> Option<Arc<str>> {
        let mut kinds_by_reason: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for watch in self.watches.iter().filter(|watch| !watch.is_settled() || watch.synced) {
            let Some(why) = watch.failure.as_deref() else { continue };
            let kinds = kinds_by_reason.entry(why).or_default();
            if !kinds.contains(&watch.kind.name()) {
                kinds.push(watch.kind.name());
            }
        }
        let watches = kinds_by_reason.into_iter().map(|(why, kinds)| format!("{}: {why}", kinds.join(", ")));
        let credentials = self.credentials.iter().map(|why| format!("credentials: {why}"));
        let all: Vec<_> = credentials.chain(watches).collect();
        (!all.is_empty()).then(|| all.join("; ").into())
    }
}

impl Stores {
    /// A state in which nothing is known; `fixed` are objects that the settings name.
    pub fn new(kinds: WatchedKinds, needs: Needs, fixed: impl IntoIterator<Item = ObjectId>) -> Self {
        Stores { kinds, needs, references: References::fixed(fixed), ..Stores::default() }
    }

    /// The kinds that are watched.
    pub fn kinds(&self) -> WatchedKinds {
        self.kinds
    }

    /// The objects of a kind.
    fn of<K: Watched>(&mut self) -> &mut Store<K> {
        typed(&mut self.stores)
    }

    /// Those that are not served but have a published status; `None` for kinds in which we publish
    /// nothing.
    fn outside<K: Watched>(&mut self) -> Option<&mut Store<K>> {
        K::STATUS.map(|_| typed(&mut self.outside))
    }

    /// Announces a watch of this kind.
    pub fn expect(&mut self, kind: Kind, section: Section, need: Need) {
        self.health.insert((kind, section.clone()), WatchHealth::new(kind, section, need));
    }

    /// Announces a watch of ConfigMaps that starts as soon as an object names one.
    pub fn expect_config_maps(&mut self, section: Section) {
        self.idle.push(section);
    }

    /// Whether ConfigMaps are watched now.
    pub fn wants_config_maps(&self) -> bool {
        self.idle.is_empty()
    }

    /// Selects exactly these namespaces from now on. Added ones have to be listed again.
    pub fn select(&mut self, namespaces: BTreeSet<String>) {
        self.selected = Some(namespaces);
    }

    /// Whether a new or changed object with this name is to be kept.
    pub fn keeps<K: Watched>(&self, namespace: &str, name: &str) -> bool {
        match K::REFERENCED {
            // It may be in a namespace that is not served, if the settings allow references across
            // namespaces.
            true => self.references.holds(&ObjectId::new(K::MODEL_KIND, namespace, name)),
            false => !K::NAMESPACED || self.selected.as_ref().is_none_or(|selected| selected.contains(namespace)),
        }
    }

    /// Takes over a new or changed object that a watch reported.
    pub fn apply<K: Watched>(&mut self, item: Item<K>) {
        if K::REFERENCED {
            self.references.reported(&item.id);
        }
        self.put(item);
    }

    /// Stores an object, and counts what it needs.
    fn put<K: Watched>(&mut self, item: Item<K>) {
        let id = Arc::clone(&item.id);
        let item = if K::REFERENCED { KeptBytes::beside::<K>(self.of::<K>().list(), &id).admit(item) } else { item };
        let before = self.needed::<K>(&id.namespace, &id.name);
        // An object that cannot be decoded is served in its earlier version, with what that needs.
        let after = item.outcome.as_ref().map_or_else(|_| before.clone(), |stored| self.needs.of(stored));
        let effect = self.of::<K>().apply(item);
        self.refer(&id.namespace, &before, &after);
        self.note(effect);
        if let Some(outside) = self.outside::<K>() {
            outside.delete(&id.namespace, &id.name);
        }
    }

    /// Handles an object that is not to be kept. An earlier version of it is dropped with the next
    /// list.
    pub fn pass_over<K: Watched>(&mut self, item: Item<K>) {
        let id = Arc::clone(&item.id);
        let is_kept = self.of::<K>().list().find(&id.namespace, &id.name).is_some();
        let Some(outside) = self.outside::<K>().filter(|_| !is_kept) else { return };
        match item.bare() {
            Some(bare) => outside.apply(bare),
            None => outside.delete(&id.namespace, &id.name),
        };
    }

    /// Handles the deletion of an object.
    pub fn delete<K: Watched>(&mut self, namespace: &str, name: &str) {
        if K::REFERENCED {
            self.references.reported(&ObjectId::new(K::MODEL_KIND, namespace, name));
        }
        self.remove::<K>(namespace, name);
        if let Some(outside) = self.outside::<K>() {
            outside.delete(namespace, name);
        }
    }

    /// What the known object of this name needs.
    fn needed<K: Watched>(&mut self, namespace: &str, name: &str) -> BTreeSet<ObjectId> {
        let known = typed::<K>(&mut self.stores).list().find(namespace, name);
        known.map(|known| self.needs.of(known)).unwrap_or_default()
    }

    /// Removes an object, with what it needs.
    pub(in crate::source) fn remove<K: Watched>(&mut self, namespace: &str, name: &str) {
        let before = self.needed::<K>(namespace, name);
        let effect = self.of::<K>().delete(namespace, name);
        self.refer(&namespace.into(), &before, &BTreeSet::new());
        self.note(effect);
        if K::REFERENCED && effect == Effect::Objects {
            // There may be room now for what was left out.
            let left_out: Vec<_> = self.of::<K>().left_out_in(namespace).cloned().collect();
            left_out.iter().for_each(|id| self.references.ask_again(id));
        }
    }

    /// Records that a list begins.
    pub fn begin<K: Watched>(&mut self, section: &Section) {
        if K::REFERENCED {
            self.references.begin(K::MODEL_KIND, section.as_deref());
        }
    }

    /// Takes over all objects of a kind; `outside` are those that are not served but have a
    /// published status.
    pub fn take_over<K: Watched>(&mut self, section: &Section, items: Vec<Item<K>>, outside: Vec<Item<K>>) {
        if let Some(store) = self.outside::<K>() {
            store.replace(section.as_deref(), outside, |_| false);
        }
        let fresh =
            if K::REFERENCED { self.references.end(K::MODEL_KIND, section.as_deref()) } else { BTreeSet::new() };
        let spared = |id: &ObjectId| fresh.contains(id);
        let before = self.of::<K>().list().clone();
        let items = KeptBytes::default().admit_all(&before, items);
        let effect = self.of::<K>().replace(section.as_deref(), items, spared);
        let after = self.of::<K>().list().clone();
        self.refer_all::<K>(&before, &after);
        self.note(effect);
        if K::MODEL_KIND.asks_for_routes() {
            self.forget_namespaces();
        }
    }

    /// Records that a list is complete.
    pub fn replace<K: Watched>(&mut self, section: &Section, items: Vec<Item<K>>, outside: Vec<Item<K>>) {
        self.take_over(section, items, outside);
        if let Some(health) = self.health.get_mut(&(K::MODEL_KIND, section.clone())) {
            if !health.synced {
                // The last required list completes the first snapshot, which is a change whatever
                // it contains.
                self.revision += 1;
            }
            health.synced = true;
        }
    }

    /// Namespaces that are not selected any more are kept as long as there are objects of them
    /// that may ask for routes.
    fn forget_namespaces(&mut self) {
        let known: Vec<_> = self.of::<Namespace>().list().iter().map(|stored| Arc::clone(&stored.id.name)).collect();
        let Some(selected) = &self.selected else { return };
        let has_some =
            |name: &str| self.stores.iter().any(|(kind, store)| kind.asks_for_routes() && store.has_of(name));
        let useless: Vec<_> = known.into_iter().filter(|name| !selected.contains(&**name) && !has_some(name)).collect();
        for name in useless {
            let effect = self.of::<Namespace>().delete("", &name);
            self.note(effect);
        }
    }

    /// Updates what all objects in two lists need; objects that are the same in both cost
    /// one comparison.
    fn refer_all<K: Watched>(&mut self, before: &List<K::Kept>, after: &List<K::Kept>) {
        for stored in after {
            let known = before.find(&stored.id.namespace, &stored.id.name);
            if !known.is_some_and(|known| Arc::ptr_eq(&known.object, &stored.object)) {
                let before = known.map(|known| self.needs.of(known)).unwrap_or_default();
                self.refer(&stored.id.namespace, &before, &self.needs.of(stored));
            }
        }
        for stored in before {
            if after.find(&stored.id.namespace, &stored.id.name).is_none() {
                self.refer(&stored.id.namespace, &self.needs.of(stored), &BTreeSet::new());
            }
        }
    }

    /// From now on keeps these objects, whether or not anything refers to them. Returns whether
    /// they differ from those before.
    pub fn hold(&mut self, objects: &BTreeSet<ObjectId>) -> bool {
        let before = std::mem::replace(&mut self.held, objects.clone());
        self.refer(&"".into(), &before, objects);
        before != *objects
    }

    fn refer(&mut self, asker: &Arc<str>, before: &BTreeSet<ObjectId>, after: &BTreeSet<ObjectId>) {
        if after.iter().any(|id| id.kind == Kind::CONFIG_MAP) {
            // Nothing new is served before the ConfigMaps are listed, or known to be refused.
            for section in std::mem::take(&mut self.idle) {
                self.expect(Kind::CONFIG_MAP, section, Need::Optional);
            }
        }
        for id in self.references.change(asker, before, after) {
            if let Some(row) = self.kinds.of(id.kind).filter(|watched| watched.row.is_referenced) {
                (row.remove)(self, &id.namespace, &id.name);
            }
        }
    }

    fn note(&mut self, effect: Effect) {
        if effect == Effect::Objects {
            self.revision += 1;
            self.noticed.get_or_insert_with(Instant::now);
        }
    }

    /// Whether objects have changed since the last complete observation, not only statuses.
    pub fn has_news(&self) -> bool {
        self.noticed.is_some()
    }

    /// The objects to request.
    pub fn missing(&mut self) -> &mut Missing {
        self.references.missing()
    }

    /// Stores the response for an object that is missing since then; `None` when it does not
    /// exist.
    pub fn answered<K: Watched>(&mut self, id: &ObjectId, since: tokio::time::Instant, item: Option<Item<K>>) {
        if let (true, Some(item)) = (self.missing().answered(id, since), item) {
            self.put(item);
        }
    }

    /// The health of a watch.
    pub fn health(&mut self, kind: Kind, section: &Section) -> Option<&mut WatchHealth> {
        self.health.get_mut(&(kind, section.clone()))
    }

    /// Whether this kind was listed in every namespace.
    pub fn is_synced(&self, kind: Kind) -> bool {
        self.health.values().filter(|health| health.kind == kind).all(|health| health.synced || health.is_absent)
    }

    /// Whether all objects were listed whose readers say what they need, but for kinds that
    /// snapshots are made without.
    pub fn knows_references(&self) -> bool {
        self.health.values().filter(|health| health.kind.asks_for_routes()).all(WatchHealth::is_settled)
    }

    /// The known state now.
    pub fn read(&mut self) -> Observation {
        let complete = self.health.values().all(WatchHealth::is_settled);
        let snapshot = complete.then(|| Arc::new(self.snapshot()));
        let noticed = snapshot.as_ref().and_then(|_| self.noticed.take());
        Observation {
            snapshot,
            revision: self.revision,
            noticed,
            watches: self.health.values().cloned().collect(),
            credentials: None,
        }
    }

    /// The observed revision of all kinds that are published and decide about it. Working watches
    /// of several kinds and namespaces are at most moments apart. Without a working watch of a
    /// kind that is published, the revisions of other kinds say nothing about its objects.
    fn position(&self, now: Instant) -> Option<u128> {
        let of = |kind: Kind| self.health.values().filter(move |health| health.kind == kind && !health.is_absent);
        let newest = |kind: Kind| of(kind).filter_map(|health| health.position).max();
        let published = self.kinds.0.iter().filter(|watched| watched.row.status.is_some());
        let published = published.map(|watched| watched.row.kind).filter(|kind| of(*kind).next().is_some());
        match published.clone().all(|kind| of(kind).any(|health| health.is_heard(now))) {
            true => published.map(newest).max().flatten().max(newest(Kind::INGRESS_CLASS)),
            false => published.map(newest).min().flatten(),
        }
    }

    /// Kinds that snapshots are made without, because we lack the right to read them.
    fn unseen(&self) -> Vec<Kind> {
        let of = |kind: &Kind| self.health.values().any(|health| health.kind == *kind && health.is_unseen());
        self.kinds.0.iter().map(|watched| watched.row.kind).filter(of).collect()
    }

    fn snapshot(&mut self) -> Snapshot {
        let mut snapshot =
            Snapshot { unseen: self.unseen(), position: self.position(Instant::now()), ..Snapshot::default() };
        self.stores.values().for_each(|store| store.show(&mut snapshot));
        self.outside.values().for_each(|store| store.show_in(&mut snapshot.outside));
        snapshot.findings.sort();
        snapshot.left_out.sort();
        snapshot
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use k8s_openapi::api::core::v1::ConfigMap;
    use k8s_openapi::api::networking::v1::Ingress;
    use serde_json::json;

    use super::super::found::Found;
    use super::super::tests::needs;
    use super::*;

    #[test]
    fn an_object_is_in_one_list_also_before_the_next_is_complete() {
        let mut stores = Stores::default();
        let item = || {
            let published = json!({ "loadBalancer": { "ingress": [{ "ip": "192.0.2.1" }] } });
            let spec = json!({ "rules": [{ "host": "shop.example" }] });
            let metadata = json!({ "namespace": "shop", "name": "web" });
            let object = json!({ "metadata": metadata, "spec": spec, "status": published });
            Item::of(Found::<Ingress>::of(object).unwrap()).unwrap()
        };
        let lists = |stores: &mut Stores| {
            let outside = stores.outside::<Ingress>().map_or(0, |outside| outside.list().len());
            (stores.of::<Ingress>().list().len(), outside)
        };
        let shop = || BTreeSet::from(["shop".to_owned()]);
        stores.select(BTreeSet::new());
        assert!(!stores.keeps::<Ingress>("shop", "web"));
        stores.pass_over(item());
        assert_eq!(lists(&mut stores), (0, 1));
        stores.select(shop());
        assert!(stores.keeps::<Ingress>("shop", "web"));
        stores.apply(item());
        assert_eq!(lists(&mut stores), (1, 0));
        stores.select(BTreeSet::new());
        stores.pass_over(item());
        assert_eq!(lists(&mut stores), (1, 0));
        stores.replace::<Ingress>(&None, Vec::new(), item().bare().into_iter().collect());
        assert_eq!(lists(&mut stores), (0, 1));
        stores.delete::<Ingress>("shop", "web");
        assert_eq!(lists(&mut stores), (0, 0));
    }

    #[test]
    fn an_object_that_was_requested_counts_what_it_names_as_one_that_was_watched() {
        let ingress = |name: &str, annotations: serde_json::Value| {
            let metadata = json!({ "namespace": "shop", "name": name, "annotations": annotations });
            let spec = json!({ "rules": [{ "host": "shop.example" }] });
            Item::of(Found::<Ingress>::of(json!({ "metadata": metadata, "spec": spec })).unwrap()).unwrap()
        };
        let map = || {
            let metadata = json!({ "namespace": "shop", "name": "map" });
            let object = json!({ "metadata": metadata, "data": { "needs-config-map": "both" } });
            Item::of(Found::<ConfigMap>::of(object).unwrap()).unwrap()
        };
        let mut stores = Stores { needs: needs(), ..Stores::default() };
        stores.replace::<ConfigMap>(&None, Vec::new(), Vec::new());
        stores.apply(ingress("a", json!({ "needs-config-map": "map" })));
        stores.apply(ingress("b", json!({ "needs-config-map": "both" })));
        while let Some((id, since)) = stores.missing().take() {
            stores.answered(&id, since, (*id.name == *"map").then(map));
        }
        assert!(stores.keeps::<ConfigMap>("shop", "map"));
        // The one that names it goes, and the other one stays.
        stores.delete::<Ingress>("shop", "a");
        assert!(!stores.keeps::<ConfigMap>("shop", "map"));
        assert!(stores.keeps::<ConfigMap>("shop", "both"), "b names it");
        stores.delete::<Ingress>("shop", "b");
        assert!(!stores.keeps::<ConfigMap>("shop", "both"));
    }

    #[test]
    fn a_revision_of_classes_says_nothing_about_ingresses_that_are_not_watched() {
        let now = Instant::now();
        let ago = |seconds| Some(now - Duration::from_secs(seconds));
        let watch = |kind: Kind, section: Option<&str>, position, heard, failure: Option<&str>| WatchHealth {
            position: Some(position),
            heard,
            failure: failure.map(Arc::from),
            ..WatchHealth::new(kind, section.map(Arc::from), Need::Required)
        };
        let class = || watch(Kind::INGRESS_CLASS, None, 120, ago(1), None);
        let services = || watch(Kind::SERVICE, None, 500, ago(1), None);
        for (what, ingresses, expected) in [
            ("both work", vec![watch(Kind::INGRESS, None, 100, ago(59), None)], 120),
            ("it is ahead", vec![watch(Kind::INGRESS, None, 130, ago(59), None)], 130),
            ("it fails", vec![watch(Kind::INGRESS, None, 100, ago(1), Some("refused"))], 100),
            ("it hangs", vec![watch(Kind::INGRESS, None, 100, ago(80), None)], 100),
            ("it never began", vec![watch(Kind::INGRESS, None, 100, None, None)], 100),
            (
                "one namespace may not be seen",
                vec![
                    watch(Kind::INGRESS, Some("a"), 90, ago(1), Some("refused")),
                    watch(Kind::INGRESS, Some("b"), 100, ago(1), None),
                ],
                120,
            ),
        ] {
            let watches = ingresses.into_iter().chain([class(), services()]);
            let health = watches.map(|health| ((health.kind, health.section.clone()), health)).collect();
            assert_eq!(Stores { health, ..Stores::default() }.position(now), Some(expected), "{what}");
        }
    }

    #[test]
    fn the_age_is_that_of_the_oldest_and_failures_are_reported_once() {
        let now = Instant::now();
        let away = Some(Arc::from("connection refused"));
        let watch = |kind, need, heard: Option<u64>| WatchHealth {
            heard: heard.map(|seconds| now + Duration::from_secs(seconds)),
            synced: heard.is_some(),
            ..WatchHealth::new(kind, None, need)
        };
        let mut watches = vec![
            watch(Kind::INGRESS, Need::Required, Some(8)),
            watch(Kind::NODE, Need::Optional, None),
            WatchHealth { failure: away.clone(), ..watch(Kind::SECRET, Need::Required, Some(5)) },
            WatchHealth { failure: away, ..watch(Kind::SERVICE, Need::Required, Some(9)) },
        ];
        (watches[1].refused, watches[1].done_without) = (true, true);
        watches[1].failure = Some("forbidden".into());
        let observed = |watches: &[WatchHealth]| Observation { watches: watches.into(), ..Observation::default() };
        assert_eq!(observed(&watches).confirmed(), Some(now + Duration::from_secs(5)));
        assert_eq!(observed(&watches).failure().as_deref(), Some("Secret, Service: connection refused"));
        let expired = Observation { credentials: Some("expired".into()), ..observed(&watches[..2]) };
        assert_eq!(expired.failure().as_deref(), Some("credentials: expired"));
        // The age is unknown as long as one watch never received anything.
        watches[0].heard = None;
        assert_eq!(observed(&watches).confirmed(), None);
    }
}
