//! Tracks which Secrets and ConfigMaps objects refer to, so that only those stay in memory.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::sync::Arc;

use crate::source::{Ingress, Stored};
use k8s_openapi::api::core::v1::ConfigMap;
use tokio::time::Instant;

use crate::model::{Kind, ObjectId, is_subdomain};

/// The kind and the namespace (or all namespaces) of one list request.
type Listing = (Kind, Option<String>);

/// The endings of annotation keys, in all dialects, whose values name an object of these kinds.
const SUFFIXES: [(&str, Kind); 4] = [
    ("-secret", Kind::Secret),
    ("-set-headers", Kind::ConfigMap),
    ("-params-configmap", Kind::ConfigMap),
    ("custom-headers", Kind::ConfigMap),
];

/// How many annotations of an object may name Secrets and ConfigMaps. No dialect has half as many
/// such keys, and without a limit invented keys would make every node request whatever they name.
const MOST_ANNOTATIONS: usize = 64;

/// Whether an annotation with this key may name a Secret or ConfigMap.
pub fn may_refer(key: &str) -> bool {
    kind_of(key).is_some()
}

fn kind_of(key: &str) -> Option<Kind> {
    SUFFIXES.iter().find(|(suffix, _)| key.ends_with(suffix)).map(|(_, kind)| *kind)
}

/// The Secrets and ConfigMaps that an Ingress may refer to: those in its `tls`, and the values of
/// annotations that may name one, with or without a namespace. This includes at least those that
/// its dialect would find.
pub fn of_ingress(stored: &Stored<Ingress>) -> BTreeSet<ObjectId> {
    let own = &*stored.id.namespace;
    let of_tls = stored.object.tls.iter().filter_map(|tls| tls.secret_name.as_deref());
    let annotations = stored.object.annotations.iter();
    let annotations = annotations.filter_map(|(key, value)| Some((kind_of(key)?, value.trim())));
    let of_tls = of_tls.map(|name| (Kind::Secret, name));
    let parts = |(kind, text): (Kind, &'_ str)| match text.split_once('/') {
        Some((namespace, name)) => (kind, namespace.to_owned(), name.to_owned()),
        None => (kind, own.to_owned(), text.to_owned()),
    };
    let all = of_tls.chain(annotations.take(MOST_ANNOTATIONS)).map(parts);
    let possible = all.filter(|(_, namespace, name)| is_subdomain(namespace) && is_subdomain(name));
    possible.map(|(kind, namespace, name)| ObjectId::new(kind, &namespace, &name)).collect()
}

/// Keys of ingress-nginx's ConfigMap that name other ConfigMaps, with headers.
pub const KEYS_OF_HEADERS: [&str; 2] = ["add-headers", "proxy-set-headers"];

/// The key that names a Secret with parameters for ciphers.
pub const KEY_OF_DH_PARAMETERS: &str = "ssl-dh-param";

/// The ConfigMaps and the Secret in the same namespace that a ConfigMap refers to by its keys
/// about headers and by the key above. This is evaluated for each ConfigMap that is kept, whatever
/// its purpose is.
pub fn of_config_map(stored: &Stored<ConfigMap>) -> BTreeSet<ObjectId> {
    let own = &*stored.id.namespace;
    let data = stored.object.data.iter().flatten();
    let kind = |key: &str| match key {
        KEY_OF_DH_PARAMETERS => Some(Kind::Secret),
        _ => KEYS_OF_HEADERS.contains(&key).then_some(Kind::ConfigMap),
    };
    let named = data.filter_map(|(key, value)| Some((kind(key)?, value.trim().split_once('/')?)));
    let possible = named.filter(|(_, (namespace, name))| *namespace == own && is_subdomain(name));
    possible.map(|(kind, (namespace, name))| ObjectId::new(kind, namespace, name)).collect()
}

/// The referenced objects, and those of them that still have to be requested.
#[derive(Debug, Default)]
pub struct References {
    /// The number of references to each object, from objects and settings.
    counts: BTreeMap<ObjectId, usize>,
    /// The lists that were read: an object that becomes referenced afterwards has to be requested.
    listed: BTreeSet<Listing>,
    /// For each list that is being read: references that are new since it began, because earlier
    /// pages may have contained the object.
    fresh: BTreeMap<Listing, BTreeSet<ObjectId>>,
    missing: Missing,
}

impl References {
    /// References that always exist.
    pub fn fixed(names: impl IntoIterator<Item = ObjectId>) -> Self {
        References { counts: names.into_iter().map(|name| (name, 1)).collect(), ..References::default() }
    }

    /// Whether anything refers to the object.
    pub fn holds(&self, id: &ObjectId) -> bool {
        self.counts.contains_key(id)
    }

    /// Replaces the references of one object. Returns the objects that nothing refers to any more.
    pub fn change(&mut self, before: &BTreeSet<ObjectId>, after: &BTreeSet<ObjectId>) -> Vec<ObjectId> {
        for name in after.difference(before) {
            let count = self.counts.entry(name.clone()).or_default();
            *count += 1;
            if *count == 1 {
                self.add(name);
            }
        }
        let mut dropped = Vec::new();
        for name in before.difference(after) {
            let Some(count) = self.counts.get_mut(name) else { continue };
            *count -= 1;
            if *count == 0 {
                self.counts.remove(name);
                self.missing.remove(name);
                for fresh in self.fresh.values_mut() {
                    fresh.remove(name);
                }
                dropped.push(name.clone());
            }
        }
        dropped
    }

    fn add(&mut self, id: &ObjectId) {
        for listing in [(id.kind, None), (id.kind, Some(id.namespace.to_string()))] {
            if let Some(fresh) = self.fresh.get_mut(&listing) {
                fresh.insert(id.clone());
            }
            if self.listed.contains(&listing) {
                self.missing.add(id);
            }
        }
    }

    /// Records that a list of a kind begins, in a namespace or in all.
    pub fn begin(&mut self, kind: Kind, section: Option<&str>) {
        self.fresh.insert((kind, section.map(str::to_owned)), BTreeSet::new());
    }

    /// Records that the list is complete. Returns the objects that may have been on it without
    /// being kept; they are requested now.
    pub fn end(&mut self, kind: Kind, section: Option<&str>) -> BTreeSet<ObjectId> {
        let listing = (kind, section.map(str::to_owned));
        let fresh = self.fresh.remove(&listing).unwrap_or_default();
        fresh.iter().for_each(|id| self.missing.add(id));
        self.listed.insert(listing);
        fresh
    }

    /// Records that the watch reported the object: any response to a request for it is older.
    pub fn told(&mut self, id: &ObjectId) {
        self.missing.remove(id);
    }

    /// The objects to request.
    pub fn missing(&mut self) -> &mut Missing {
        &mut self.missing
    }
}

/// The queue of requests. Namespaces take turns: a namespace that names many objects delays only
/// its own.
#[derive(Debug, Default)]
pub struct Missing {
    /// Every object without a response yet, and since when it is missing.
    since: BTreeMap<ObjectId, Instant>,
    /// Those of them that are not being requested now, by namespace.
    waiting: BTreeMap<Arc<str>, BTreeSet<ObjectId>>,
    /// The namespace that had its turn last.
    last: Arc<str>,
    /// When objects became missing, in order, up to the last one that still is.
    arrivals: Vec<(Instant, ObjectId)>,
}

impl Missing {
    fn add(&mut self, id: &ObjectId) {
        let now = Instant::now();
        if let Entry::Vacant(entry) = self.since.entry(id.clone()) {
            entry.insert(now);
            self.arrivals.push((now, id.clone()));
            self.wait(id);
        }
    }

    fn wait(&mut self, id: &ObjectId) {
        self.waiting.entry(Arc::clone(&id.namespace)).or_default().insert(id.clone());
    }

    fn remove(&mut self, id: &ObjectId) -> bool {
        self.stop_waiting(id);
        self.since.remove(id).is_some()
    }

    fn stop_waiting(&mut self, id: &ObjectId) {
        if let Some(waiting) = self.waiting.get_mut(&id.namespace) {
            waiting.remove(id);
            if waiting.is_empty() {
                self.waiting.remove(&id.namespace);
            }
        }
    }

    /// Takes the next object to request, of the namespace whose turn it is, and since when it is
    /// missing.
    pub fn take(&mut self) -> Option<(ObjectId, Instant)> {
        let later = self.waiting.range::<str, _>((Bound::Excluded(&*self.last), Bound::Unbounded)).next();
        let (_, waiting) = later.or_else(|| self.waiting.first_key_value())?;
        let id = waiting.first()?.clone();
        self.last = Arc::clone(&id.namespace);
        self.stop_waiting(&id);
        let since = *self.since.get(&id)?;
        Some((id, since))
    }

    /// Puts an object back whose request failed; it is requested again, if it is still referenced.
    pub fn put_back(&mut self, id: &ObjectId) {
        if self.since.contains_key(id) {
            self.wait(id);
        }
    }

    /// Records the response for an object that is missing since then. Returns whether the response
    /// is valid: the watch may have reported the object meanwhile, or nothing may have referred to
    /// it for a while, in which its events were dropped.
    pub fn answered(&mut self, id: &ObjectId, since: Instant) -> bool {
        self.since.get(id) == Some(&since) && self.remove(id)
    }

    /// Since when the last missing object is missing.
    pub fn youngest(&mut self) -> Option<Instant> {
        while let Some((since, name)) = self.arrivals.last() {
            if self.since.get(name) == Some(since) {
                return Some(*since);
            }
            self.arrivals.pop();
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::{IngressTls, Version};

    const SECRET: Kind = Kind::Secret;

    fn secret(namespace: &str, name: &str) -> ObjectId {
        ObjectId::new(SECRET, namespace, name)
    }

    fn stored<K>(kind: Kind, namespace: &str, object: K) -> Stored<K> {
        let id = Arc::new(ObjectId::new(kind, namespace, "it"));
        Stored { id, version: Version("1".into()), object: Arc::new(object), published: None, place: None }
    }

    fn names(names: &[(&str, &str)]) -> BTreeSet<ObjectId> {
        names.iter().map(|(namespace, name)| secret(namespace, name)).collect()
    }

    #[test]
    fn every_value_that_could_be_a_name_counts_where_one_may_stand() {
        let annotation = |key: &str, value: &str| (key.to_owned(), value.to_owned());
        let annotations = [
            annotation("auth-secret", "passwords"),
            annotation("auth-tls-secret", " other/authority "),
            annotation("proxy-ssl-secret", "8m"),
            annotation("proxy-body-size", "9m"),
            annotation("auth-secret-type", "auth-file"),
            annotation("auth-proxy-set-headers", "headers"),
            annotation("fastcgi-params-configmap", "other/params"),
            annotation("custom-headers", "other/answers"),
            annotation("auth-response-headers", "x-user"),
            annotation("snippet-secret", "deny all;"),
            annotation("path-secret", "a/b/c"),
            annotation("empty-secret", ""),
        ];
        let tls = [Some("tls.example"), Some(""), None];
        let tls = tls.map(|name| IngressTls { secret_name: name.map(Box::from), ..IngressTls::default() });
        let ingress = Ingress { annotations: annotations.into(), tls: tls.into(), ..Ingress::default() };
        let expected = [("other", "authority"), ("shop", "8m"), ("shop", "passwords"), ("shop", "tls.example")];
        let mut expected = names(&expected);
        expected.insert(ObjectId::new(Kind::ConfigMap, "shop", "headers"));
        expected.insert(ObjectId::new(Kind::ConfigMap, "other", "params"));
        expected.insert(ObjectId::new(Kind::ConfigMap, "other", "answers"));
        assert_eq!(of_ingress(&stored(Kind::Ingress, "shop", ingress)), expected);
    }

    #[test]
    fn a_config_map_names_objects_of_its_own_namespace_by_three_keys() {
        let data = [
            ("add-headers", "edge/answers"),
            ("proxy-set-headers", "other/requests"),
            ("ssl-dh-param", " edge/exchange "),
            ("default-ssl-certificate", "edge/certificate"),
        ];
        let named = |data: &[(&str, &str)]| {
            let data = data.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
            of_config_map(&stored(Kind::ConfigMap, "edge", ConfigMap { data: Some(data), ..ConfigMap::default() }))
        };
        let mut expected = names(&[("edge", "exchange")]);
        expected.insert(ObjectId::new(Kind::ConfigMap, "edge", "answers"));
        assert_eq!(named(&data), expected);
        assert_eq!(named(&[("ssl-dh-param", "other/exchange")]), names(&[]));
    }

    #[test]
    fn what_a_list_may_have_missed_is_asked_for() {
        let mut references = References::default();
        let (early, late, later) = (names(&[("a", "early")]), names(&[("a", "late")]), names(&[("a", "later")]));
        references.change(&BTreeSet::new(), &early);
        references.begin(SECRET, None);
        references.change(&BTreeSet::new(), &late);
        assert!(references.missing().take().is_none(), "the list may still bring it");
        assert_eq!(references.end(SECRET, None), late);
        let (name, since) = references.missing().take().unwrap();
        assert_eq!(late, [name.clone()].into());
        references.change(&BTreeSet::new(), &later);
        let (other, other_since) = references.missing().take().unwrap();
        assert_eq!((later, references.missing().take()), ([other.clone()].into(), None));
        // An event of the watch is newer than the response.
        references.told(&secret("a", "late"));
        assert!(!references.missing().answered(&name, since));
        assert!(references.missing().answered(&other, other_since));
        // So is a change while nothing referred to the Secret.
        references.change(&late, &BTreeSet::new());
        references.change(&BTreeSet::new(), &late);
        assert!(!references.missing().answered(&name, since));
        assert_eq!(references.missing().take().unwrap().0, name, "it is asked for anew");
    }

    #[test]
    fn each_namespace_has_its_turn() {
        let mut references = References::default();
        references.end(SECRET, None);
        let flood: BTreeSet<_> = (0..9999).map(|number| secret("a", &format!("{number:04}"))).collect();
        references.change(&BTreeSet::new(), &flood);
        let mut order = Vec::new();
        let mut take = |references: &mut References| {
            let (name, since) = references.missing().take().unwrap();
            order.push(name.namespace.to_string());
            (name, since)
        };
        take(&mut references);
        references.change(&BTreeSet::new(), &names(&[("b", "x"), ("b", "y"), ("c", "x")]));
        for _ in 0..3 {
            take(&mut references);
        }
        // A failed request has its turn again, unless nothing refers to the object any more.
        let failed = take(&mut references);
        references.change(&names(&[("b", "y")]), &BTreeSet::new());
        references.missing().put_back(&failed.0);
        for _ in 0..3 {
            take(&mut references);
        }
        assert_eq!(order, ["a", "b", "c", "a", "b", "a", "a", "a"]);
    }

    #[test]
    fn the_youngest_is_the_last_that_is_still_missing() {
        let mut references = References::default();
        references.end(SECRET, None);
        assert_eq!(references.missing().youngest(), None);
        references.change(&BTreeSet::new(), &names(&[("a", "old")]));
        let old = references.missing().youngest();
        references.change(&BTreeSet::new(), &names(&[("b", "new")]));
        assert!(references.missing().youngest() > old && old.is_some());
        references.told(&secret("b", "new"));
        assert_eq!(references.missing().youngest(), old);
        references.told(&secret("a", "old"));
        assert_eq!(references.missing().youngest(), None);
        assert!(references.missing.arrivals.is_empty());
    }

    #[test]
    fn whoever_makes_up_keys_has_few_of_them_asked_for() {
        let annotations = (0..43_000).map(|number| (format!("example.com/{number}-secret"), format!("name-{number}")));
        let ingress = Ingress { annotations: annotations.collect(), ..Ingress::default() };
        assert_eq!(of_ingress(&stored(Kind::Ingress, "shop", ingress)).len(), MOST_ANNOTATIONS);
    }

    #[test]
    fn names_are_dropped_with_their_last_reference() {
        let mut references = References::fixed(names(&[("a", "fixed")]));
        let both = names(&[("a", "fixed"), ("a", "one")]);
        references.change(&BTreeSet::new(), &both);
        references.change(&BTreeSet::new(), &names(&[("a", "one")]));
        assert_eq!(references.change(&both, &BTreeSet::new()), []);
        assert_eq!(references.change(&names(&[("a", "one")]), &BTreeSet::new()), [secret("a", "one")]);
        assert!(references.holds(&secret("a", "fixed")) && !references.holds(&secret("a", "one")));
    }

    #[test]
    fn sections_are_lists_of_their_own() {
        let mut references = References::default();
        references.begin(SECRET, Some("a"));
        references.begin(SECRET, Some("b"));
        references.end(SECRET, Some("b"));
        references.change(&BTreeSet::new(), &names(&[("a", "x"), ("b", "x")]));
        let mut missing = || references.missing().take().map(|(name, _)| name);
        assert_eq!((missing(), missing()), (Some(secret("b", "x")), None));
        references.end(SECRET, Some("a"));
        let mut missing = || references.missing().take().map(|(name, _)| name);
        assert_eq!((missing(), missing()), (Some(secret("a", "x")), None));
    }
}
