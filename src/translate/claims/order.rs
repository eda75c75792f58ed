//! The order of those claims that several namespaces make, for nodes that were not there to see it.

use std::collections::BTreeMap;

use super::{Claimant, Claims, Held};
use crate::model::{AgedClaim, ClaimOrder, Extent, ServerName};
use crate::translate::host;

impl Claims {
    /// The order of all claims on hosts for which several namespaces ask, be it by a wildcard above them.
    pub fn order(&self) -> ClaimOrder {
        let mut contested = BTreeMap::<&ServerName, u64>::new();
        for (name, claimants) in &self.hosts {
            let oldest = claimants.iter().map(|claimant| claimant.number).min().unwrap_or_default();
            if claimants.len() > 1 {
                contested.entry(name).or_insert(oldest);
            }
            let above = host::wildcard_above(name).and_then(|wildcard| self.hosts.get_key_value(&wildcard));
            let Some((wildcard, above)) = above else { continue };
            let is_among = |claimant: &Claimant| claimants.iter().any(|own| own.namespace == claimant.namespace);
            if claimants.len() == 1 && above.iter().all(is_among) {
                continue;
            }
            let oldest = above.iter().map(|claimant| claimant.number).chain([oldest]).min().unwrap_or_default();
            for name in [name, wildcard] {
                let known = contested.entry(name).or_insert(oldest);
                *known = oldest.min(*known);
            }
        }
        let claims = contested.into_iter().flat_map(|(name, oldest)| {
            let claimants = self.of(name).iter();
            claimants.flat_map(move |claimant| claimant.aged(name, claimant.number > oldest))
        });
        ClaimOrder::of(claims.collect())
    }
}

impl Claimant {
    fn aged<'a>(&'a self, host: &'a ServerName, is_later: bool) -> impl Iterator<Item = AgedClaim<'a>> {
        let is_old = |(_, held): (&_, &Held)| held.number == self.number;
        let is_whole = self.places.as_ref().is_none_or(|places| places.iter().all(is_old));
        let extent = if is_whole { Extent::Whole } else { Extent::Host };
        let places = self.places.iter().flatten().filter(move |_| !is_whole);
        let places = places.map(|(place, held)| (held.number, Extent::Place(place)));
        let namespace = &*self.namespace;
        let all = std::iter::once((self.number, extent)).chain(places);
        all.map(move |(number, extent)| AgedClaim { number, host, namespace, extent, is_later })
    }
}
