//! Which names are queried by DNS: those of Services to which served objects refer.

use std::collections::BTreeMap;

use ingressd_model::HostName;
use ingressd_translate::{Names, Namespaces, Wanted};

/// Names with the namespaces that have them.
type Referred = BTreeMap<HostName, Namespaces>;

/// The names that are wanted. A translation finds out what is served. Before a cycle with a name
/// that was never queried, the snapshot is translated once for that, so that the first generation
/// with the name has its addresses.
#[derive(Debug, Default)]
pub struct WantedNames {
    /// The names in the newest snapshot.
    candidates: Wanted,
    /// The names of served objects, by the last translation.
    served: Referred,
    /// The names in that snapshot.
    judged: Referred,
    /// The names in the snapshot that is being translated.
    under_way: Referred,
}

impl WantedNames {
    /// Sets the names in a newer snapshot.
    pub fn read(&mut self, candidates: Wanted) -> Wanted {
        self.candidates = candidates;
        self.wanted()
    }

    /// Whether there is a name without an answer, of which it is not known whether a served object
    /// refers to it.
    pub fn has_unjudged(&self, known: &Names) -> bool {
        self.candidates.referred.iter().any(|(name, namespaces)| {
            let judged = self.judged.get(name);
            !known.0.contains_key(name) && !judged.is_some_and(|judged| namespaces.is_subset(judged))
        })
    }

    /// Records that a translation of the newest snapshot begins.
    pub fn begin(&mut self) {
        self.under_way.clone_from(&self.candidates.referred);
    }

    /// Records that the translation has ended, with the names of served objects.
    pub fn judged(&mut self, served: Referred) -> Wanted {
        self.judged = std::mem::take(&mut self.under_way);
        self.served = served;
        self.wanted()
    }

    fn wanted(&self) -> Wanted {
        self.candidates.clone().of_served(&self.served)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ingressd_translate::NameAnswer;

    /// Parses names from `NAME/NAMESPACE` and so on.
    fn names(written: &str) -> Referred {
        let mut names = Referred::new();
        for (name, namespace) in written.split_whitespace().filter_map(|pair| pair.split_once('/')) {
            names.entry(HostName::new(name).unwrap()).or_default().insert(namespace.into());
        }
        names
    }

    fn written(names: &Referred) -> String {
        let pairs =
            names.iter().flat_map(|(name, namespaces)| namespaces.iter().map(move |one| format!("{name}/{one}")));
        pairs.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn only_what_is_served_is_wanted() {
        let mut wanted = WantedNames::default();
        let nothing = Names::default();
        let read = |referred: &str| Wanted { referred: names(referred), others: names("o.x/a") };
        let reported =
            |Wanted { referred, others }: Wanted| format!("{}; others {}", written(&referred), written(&others));
        assert_eq!(reported(wanted.read(read("n.x/a n.x/b m.x/b"))), "; others m.x/b n.x/a n.x/b o.x/a");
        assert!(wanted.has_unjudged(&nothing), "nobody knows what is served");
        wanted.begin();
        assert_eq!(reported(wanted.judged(names("n.x/b"))), "n.x/b; others m.x/b n.x/a o.x/a");
        assert!(!wanted.has_unjudged(&nothing), "what is not served is not looked at again");
        // A name that came during the translation is not judged yet.
        wanted.begin();
        wanted.read(read("n.x/a n.x/b m.x/b m.x/c"));
        wanted.judged(names("n.x/b"));
        assert!(wanted.has_unjudged(&nothing));
        let known = Names(names("m.x/c").into_keys().map(|name| (name, NameAnswer::default())).collect());
        assert!(!wanted.has_unjudged(&known), "nobody has to wait for what is known");
    }
}
