//! Which Secrets objects may refer to, so that only those stay in memory; it must not know what any annotation means.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::api::networking::v1::Ingress;

use crate::source::validation::is_subdomain;

/// Namespace and name.
pub type Name = (String, String);

/// Names of Secrets that an Ingress may refer to: those in its `tls`, and every value of an annotation that could be one,
/// alone or behind a namespace. That is more than its dialect would find, and never less.
pub fn of_ingress(ingress: &Ingress) -> BTreeSet<Name> {
    let own = ingress.metadata.namespace.as_deref().unwrap_or_default();
    let tls = ingress.spec.iter().flat_map(|spec| spec.tls.iter().flatten());
    let of_tls = tls.filter_map(|tls| tls.secret_name.as_deref());
    let values = ingress.metadata.annotations.iter().flatten().map(|(_, value)| value.trim());
    let name = |text: &str| match text.split_once('/') {
        Some((namespace, name)) => (namespace.to_owned(), name.to_owned()),
        None => (own.to_owned(), text.to_owned()),
    };
    let possible = |(namespace, name): &Name| is_subdomain(namespace) && is_subdomain(name);
    of_tls.chain(values).map(name).filter(possible).collect()
}

/// What is referred to, and what of it is still to be asked for.
#[derive(Debug, Default)]
pub struct References {
    /// How many objects, and settings, refer to it.
    counts: BTreeMap<Name, usize>,
    /// Parts of the cluster whose Secrets were listed: what comes to be referred to later has to be asked for.
    listed: BTreeSet<Option<String>>,
    /// By part that is being listed: what came to be referred to since, as pages that came before may have had it.
    fresh: BTreeMap<Option<String>, BTreeSet<Name>>,
    /// What is to be asked for, or asked for already and not yet answered.
    missing: BTreeSet<Name>,
}

impl References {
    /// References that are always there.
    pub fn fixed(names: impl IntoIterator<Item = Name>) -> Self {
        References { counts: names.into_iter().map(|name| (name, 1)).collect(), ..References::default() }
    }

    /// Whether anything refers to it.
    pub fn holds(&self, namespace: &str, name: &str) -> bool {
        // A tuple of borrowed strings is no key of this map; looking names up is rare enough.
        self.counts.contains_key(&(namespace.to_owned(), name.to_owned()))
    }

    /// The references of one object changed. Gives what nothing refers to any more.
    pub fn change(&mut self, before: &BTreeSet<Name>, after: &BTreeSet<Name>) -> Vec<Name> {
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

    fn add(&mut self, name: &Name) {
        let section = |namespaced: bool| namespaced.then(|| name.0.clone());
        for section in [section(false), section(true)] {
            if let Some(fresh) = self.fresh.get_mut(&section) {
                fresh.insert(name.clone());
            }
            if self.listed.contains(&section) {
                self.missing.insert(name.clone());
            }
        }
    }

    /// A list of Secrets begins, in a namespace or everywhere.
    pub fn begin(&mut self, section: Option<&str>) {
        self.fresh.insert(section.map(str::to_owned), BTreeSet::new());
    }

    /// It is complete. Gives what may have been on it unnoticed, which is asked for now.
    pub fn end(&mut self, section: Option<&str>) -> BTreeSet<Name> {
        let section = section.map(str::to_owned);
        let fresh = self.fresh.remove(&section).unwrap_or_default();
        self.missing.extend(fresh.iter().cloned());
        self.listed.insert(section);
        fresh
    }

    /// The watch told of it: whatever else is answered about it is older.
    pub fn told(&mut self, namespace: &str, name: &str) {
        if !self.missing.is_empty() {
            self.missing.remove(&(namespace.to_owned(), name.to_owned()));
        }
    }

    /// An answer came to a question. Whether it counts: the watch may have told of it meanwhile.
    pub fn answered(&mut self, name: &Name) -> bool {
        self.missing.remove(name)
    }

    /// What is to be asked for.
    pub fn missing(&self) -> &BTreeSet<Name> {
        &self.missing
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(names: &[(&str, &str)]) -> BTreeSet<Name> {
        names.iter().map(|(namespace, name)| ((*namespace).to_owned(), (*name).to_owned())).collect()
    }

    #[test]
    fn every_value_that_could_be_a_name_counts() {
        let annotation = |key: &str, value: &str| (key.to_owned(), value.to_owned());
        let annotations = [
            annotation("auth-secret", "passwords"),
            annotation("auth-tls-secret", " other/authority "),
            annotation("proxy-body-size", "8m"),
            annotation("configuration-snippet", "deny all;"),
            annotation("path", "a/b/c"),
            annotation("empty", ""),
        ];
        let tls = r#"{"tls": [{"secretName": "tls.example"}, {"secretName": ""}, {}]}"#;
        let ingress = Ingress {
            metadata: k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta {
                namespace: Some("shop".to_owned()),
                annotations: Some(annotations.into()),
                ..Default::default()
            },
            spec: Some(serde_json::from_str(tls).unwrap()),
            ..Ingress::default()
        };
        let expected = [("other", "authority"), ("shop", "8m"), ("shop", "passwords"), ("shop", "tls.example")];
        assert_eq!(of_ingress(&ingress), names(&expected));
    }

    #[test]
    fn what_a_list_may_have_missed_is_asked_for() {
        let mut references = References::default();
        let (early, late, later) = (names(&[("a", "early")]), names(&[("a", "late")]), names(&[("a", "later")]));
        references.change(&BTreeSet::new(), &early);
        references.begin(None);
        references.change(&BTreeSet::new(), &late);
        assert!(references.missing().is_empty(), "the list may still bring it");
        assert_eq!(references.end(None), late);
        assert_eq!(*references.missing(), late);
        references.change(&BTreeSet::new(), &later);
        assert_eq!(references.missing().len(), 2);
        // What the watch tells meanwhile is newer than the answer.
        references.told("a", "late");
        assert!(!references.answered(&("a".to_owned(), "late".to_owned())));
        assert!(references.answered(&("a".to_owned(), "later".to_owned())));
    }

    #[test]
    fn names_are_dropped_with_their_last_reference() {
        let mut references = References::fixed(names(&[("a", "fixed")]));
        let both = names(&[("a", "fixed"), ("a", "one")]);
        references.change(&BTreeSet::new(), &both);
        references.change(&BTreeSet::new(), &names(&[("a", "one")]));
        assert_eq!(references.change(&both, &BTreeSet::new()), []);
        assert_eq!(references.change(&names(&[("a", "one")]), &BTreeSet::new()), [("a".to_owned(), "one".to_owned())]);
        assert!(references.holds("a", "fixed") && !references.holds("a", "one"));
    }

    #[test]
    fn sections_are_lists_of_their_own() {
        let mut references = References::default();
        references.begin(Some("a"));
        references.begin(Some("b"));
        references.end(Some("b"));
        references.change(&BTreeSet::new(), &names(&[("a", "x"), ("b", "x")]));
        assert_eq!(*references.missing(), names(&[("b", "x")]));
        references.end(Some("a"));
        assert_eq!(references.missing().len(), 2);
    }
}
