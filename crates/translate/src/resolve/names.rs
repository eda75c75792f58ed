//! Which DNS names Services lead to, and which of them are queried.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use super::service;
use crate::dialects;
use crate::select;
use crate::value::{ExternalName, ServiceAddress};
use crate::{ClassRule, Namespaces, Options};
use ingressd_model::HostName;
use ingressd_objects::{Ingress, Snapshot};

/// The names that may be queried, each with its namespaces.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Wanted {
    /// Names of Services that Ingresses of our classes use as backends, or those of them that are
    /// served.
    pub referred: BTreeMap<HostName, Namespaces>,
    /// Names of other Services, which earlier versions of Ingresses may use.
    pub others: BTreeMap<HostName, Namespaces>,
}

/// The names that are queried.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ChosenNames {
    /// Each name with the namespaces that it is queried for.
    pub names: BTreeMap<HostName, Namespaces>,
    /// Names that are not queried, because each of their namespaces has too many.
    pub refused: BTreeSet<HostName>,
}

impl Wanted {
    /// The names that a translation of this snapshot may need.
    pub fn of(snapshot: &Snapshot, options: &Options) -> Self {
        let mut wanted = Wanted::default();
        let mut external = BTreeMap::<Arc<str>, HashMap<&str, (HostName, bool)>>::new();
        for stored in snapshot.services.iter().filter(|_| options.external_names) {
            let read = stored.object.external_name.as_deref().map(ExternalName::read);
            if let Some(Ok(ExternalName::Name(name))) = read {
                external.entry(Arc::clone(&stored.id.namespace)).or_default().insert(&stored.id.name, (name, false));
            }
        }
        let has_external = !external.is_empty();
        let mut refer = |namespace: &str, service: &str| {
            if let Some((_, is_referred)) = external.get_mut(namespace).and_then(|services| services.get_mut(service)) {
                *is_referred = true;
            }
        };
        for (address, namespace) in dialects::services_by_url(snapshot, options) {
            match service::in_cluster(&address, &options.cluster_domain).as_deref() {
                Ok(ServiceAddress::Name(name, _)) => {
                    wanted.referred.entry(name.clone()).or_default().insert(Arc::clone(namespace));
                }
                Ok(ServiceAddress::Service { namespace, name, .. }) => refer(namespace, name),
                Ok(ServiceAddress::SameHost | ServiceAddress::Address(..)) | Err(_) => {}
            }
        }
        for claim in dialects::claims_on_ports(snapshot, &options.streams, &mut Vec::new()) {
            refer(claim.namespace, claim.service);
        }
        for stored in snapshot.ingresses.iter().filter(|_| has_external) {
            if let Some(class) = select::of_ingress(stored, snapshot, options) {
                services(&stored.object, class).for_each(|service| refer(&stored.id.namespace, service));
            }
        }
        if let Some((namespace, service)) = &options.default_backend {
            refer(namespace, service);
        }
        for (namespace, services) in external {
            for (name, is_referred) in services.into_values() {
                let names = if is_referred { &mut wanted.referred } else { &mut wanted.others };
                names.entry(name).or_default().insert(Arc::clone(&namespace));
            }
        }
        wanted
    }

    /// The same, where those that are referred to are the names that are served: a snippet refers
    /// to Services, too.
    pub fn of_served(mut self, served: &BTreeMap<HostName, Namespaces>) -> Self {
        let (referred, others) = (std::mem::take(&mut self.referred), std::mem::take(&mut self.others));
        for (name, namespaces) in referred.into_iter().chain(others) {
            let is_served = |namespace: &Arc<str>| served.get(&name).is_some_and(|served| served.contains(namespace));
            let (of_served, rest): (Namespaces, Namespaces) = namespaces.into_iter().partition(is_served);
            for (names, namespaces) in [(&mut self.referred, of_served), (&mut self.others, rest)] {
                if !namespaces.is_empty() {
                    names.entry(name.clone()).or_default().extend(namespaces);
                }
            }
        }
        self
    }

    /// Selects the names that are queried: those of Ingresses, and those that are `known` already,
    /// no more than `most` of each namespace. A name of several namespaces counts for each.
    pub fn choose(&self, most: usize, is_known: impl Fn(&HostName) -> bool) -> ChosenNames {
        let mut counts = HashMap::<&Arc<str>, usize>::new();
        let mut chosen = ChosenNames::default();
        let known = self.others.iter().filter(|(name, _)| is_known(name));
        for (name, namespaces) in self.referred.iter().chain(known) {
            let mut with_room = Namespaces::new();
            for namespace in namespaces {
                let count = counts.entry(namespace).or_default();
                if *count < most {
                    *count += 1;
                    with_room.insert(Arc::clone(namespace));
                }
            }
            match with_room.is_empty() {
                true => drop(chosen.refused.insert(name.clone())),
                false => chosen.names.entry(name.clone()).or_default().extend(with_room),
            }
        }
        chosen
    }
}

/// The Services that an Ingress of this class uses as backends.
fn services<'o>(ingress: &'o Ingress, class: &ClassRule) -> impl Iterator<Item = &'o str> + use<'o> {
    let paths = ingress.rules.iter().flat_map(|rule| &rule.paths).map(|path| &path.backend);
    let backends = ingress.default_backend.as_deref().into_iter().chain(paths);
    backends.filter_map(|backend| backend.service.as_deref()).chain(dialects::default_backend(ingress, class))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wanted(referred: &[(&str, &str)], others: &[(&str, &str)]) -> Wanted {
        let names = |pairs: &[(&str, &str)]| {
            let mut names = BTreeMap::<_, Namespaces>::new();
            for (name, namespace) in pairs {
                names.entry(HostName::new(name).unwrap()).or_default().insert(Arc::from(*namespace));
            }
            names
        };
        Wanted { referred: names(referred), others: names(others) }
    }

    #[test]
    fn a_namespace_with_too_many_names_lacks_its_own() {
        let all = wanted(
            &[("a.x", "crowd"), ("b.x", "crowd"), ("c.x", "crowd"), ("c.x", "victim"), ("d.x", "crowd")],
            &[("b.x", "other"), ("e.x", "other"), ("f.x", "other")],
        );
        let chosen = all.choose(2, |name| name.as_str() != "f.x");
        let names: Vec<_> = chosen
            .names
            .iter()
            .map(|(name, namespaces)| {
                format!("{name} {}", namespaces.iter().map(|one| &**one).collect::<Vec<_>>().join(","))
            })
            .collect();
        assert_eq!(names, ["a.x crowd", "b.x crowd,other", "c.x victim", "e.x other"]);
        assert_eq!(chosen.refused, [HostName::new("d.x").unwrap()].into());
    }
}
