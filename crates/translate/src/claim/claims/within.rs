//! Claims on wildcard hosts beside those on hosts within them.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use super::{Claimant, Claims};
use crate::claim::key::Key;
use crate::options::allowed::Allowances;
use crate::value::host;
use ingressd_model::ServerName;

/// A claim that gets another age: its present one, and whose it is on what.
type Late = (u64, Arc<str>, Key);

impl Claims {
    /// Whether a host lies within a wildcard that another namespace claimed earlier and
    /// exclusively.
    pub fn is_within_older(&self, host: &ServerName, claimant: &Claimant) -> bool {
        let owner = host::wildcard_above(host).and_then(|wildcard| self.owner(&wildcard));
        owner.is_some_and(|owner| {
            owner.exclusive && owner.namespace != claimant.namespace && owner.number < claimant.number
        })
    }

    /// Whether the owner of a host is another namespace than that of the wildcard above it, and
    /// claimed it earlier.
    pub fn is_older_than_wildcard(&self, host: &ServerName, wildcard: &ServerName) -> bool {
        let owners = self.owner(host).zip(self.owner(wildcard));
        owners.is_some_and(|(own, above)| own.namespace != above.namespace && own.number < above.number)
    }

    /// Whether any wildcard is exclusive.
    pub fn has_exclusive_wildcard(&self) -> bool {
        let wildcards = self.claimed_hosts().filter(|(host, _)| matches!(host, ServerName::Wildcard(_)));
        wildcards.flat_map(|(_, claimants)| claimants).any(|claimant| claimant.exclusive)
    }

    /// The namespaces that claim hosts within each wildcard host.
    pub fn within_wildcards(&self) -> HashMap<ServerName, HashSet<&str>> {
        let mut within = HashMap::<_, HashSet<_>>::new();
        for (host, claimants) in self.claimed_hosts() {
            let Some(wildcard) = host::wildcard_above(host) else { continue };
            within.entry(wildcard).or_default().extend(claimants.iter().map(|claimant| &*claimant.namespace));
        }
        within
    }

    /// Whether a claimant has nothing of a host that it asks for, because the wildcard host above
    /// it is another namespace's and the administrator does not name the host for this one.
    pub fn has_nothing(&self, host: &ServerName, own: &Claimant, allowances: &mut Allowances<'_>) -> bool {
        self.is_within_older(host, own) && !allowances.of(&own.namespace).lists(host)
    }

    /// The same claims, of which those that have nothing come after those that have it, however
    /// early they were made: on a host within the wildcard host of others, and on a wildcard host
    /// that is another's. When that ends, they take nothing.
    pub fn behind_holders(self: Arc<Self>, allowances: &mut Allowances<'_>) -> Arc<Self> {
        if !self.has_exclusive_wildcard() {
            return self;
        }
        let is_contested = |(host, claimants): &(&ServerName, &[Claimant])| {
            matches!(host, ServerName::Wildcard(_)) && claimants.len() > 1
        };
        let contested = self.claimed_hosts().filter(is_contested);
        // What others have within each of them.
        let mut wildcards: BTreeMap<_, Vec<&Claimant>> = contested.map(|(host, _)| (host, Vec::new())).collect();
        let mut late = Vec::<Late>::new();
        for (host, claimants) in self.claimed_hosts() {
            let above = if wildcards.is_empty() { None } else { host::wildcard_above(host) };
            let above = above.and_then(|above| wildcards.get_mut(&above));
            if claimants.len() == 1 && above.is_none() {
                continue;
            }
            let (idle, holders): (Vec<_>, Vec<_>) =
                claimants.iter().partition(|own| self.has_nothing(host, own, allowances));
            self.add_late(host, &idle, &holders, &mut late);
            above.into_iter().for_each(|above| above.extend(&holders));
        }
        for (wildcard, holders) in wildcards {
            let Some(owner) = self.owner(wildcard).filter(|owner| owner.exclusive) else { continue };
            let idle: Vec<_> = self.of(wildcard).iter().filter(|own| own.namespace != owner.namespace).collect();
            self.add_late(wildcard, &idle, &holders, &mut late);
        }
        if late.is_empty() {
            return self;
        }
        let mut claims = Arc::unwrap_or_clone(self);
        late.sort_unstable();
        for same in late.chunk_by(|(one, ..), (other, ..)| one == other) {
            for (_, namespace, key) in same {
                let own = claims.held.get_mut(key).into_iter().flatten().filter(|own| own.namespace == *namespace);
                own.for_each(|own| own.number = claims.next);
            }
            claims.next += 1;
        }
        Arc::new(claims)
    }

    /// Adds the claims on a host and its paths of those that have nothing, in their order, where
    /// one of them is older than what another namespace has.
    fn add_late(&self, host: &ServerName, idle: &[&Claimant], holders: &[&Claimant], late: &mut Vec<Late>) {
        let is_before = |own: &&Claimant| {
            holders.iter().any(|holder| own.number < holder.number && own.namespace != holder.namespace)
        };
        if !idle.iter().any(is_before) {
            return;
        }
        let paths = self.paths(host).map(|(beginning, claimants)| (Key::path(host, beginning), claimants));
        for (key, claimants) in paths.chain([(Key::host(host), self.of(host))]) {
            let own = claimants.iter().filter(|own| idle.iter().any(|idle| idle.namespace == own.namespace));
            late.extend(own.map(|own| (own.number, Arc::clone(&own.namespace), key.clone())));
        }
    }
}
