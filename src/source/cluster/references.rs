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
