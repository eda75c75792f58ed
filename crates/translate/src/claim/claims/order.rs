//! The order of claims that several namespaces make, for nodes that did not see them being made.

use std::collections::BTreeMap;

use super::{Claimant, Claims};
use crate::claim::key::Key;
use crate::value::host;
use ingressd_model::{AgedClaim, ClaimOrder, Extent, Lateness, ServerName};

/// The oldest claims of two namespaces on a host, on the wildcard above it, or on the hosts within
/// it.
#[derive(Debug, Clone, Copy, Default)]
struct Rivals<'c> {
    first: Option<(u64, &'c str)>,
    second: Option<(u64, &'c str)>,
}

impl<'c> Rivals<'c> {
    fn of(claimants: &'c [Claimant]) -> Self {
        let mut rivals = Rivals::default();
        rivals.add(claimants);
        rivals
    }

    fn add(&mut self, claimants: &'c [Claimant]) {
        claimants.iter().for_each(|claimant| self.add_one(claimant.number, &claimant.namespace));
    }

    fn add_one(&mut self, number: u64, namespace: &'c str) {
        match self.first {
            Some((oldest, same)) if same == namespace => self.first = Some((oldest.min(number), same)),
            Some(first) if number > first.0 => {
                if self.second.is_none_or(|(second, _)| number < second) {
                    self.second = Some((number, namespace));
                }
            }
            first => {
                if first.is_some() {
                    self.second = first;
                }
                self.first = Some((number, namespace));
            }
        }
    }

    /// Whether another namespace made a claim earlier.
    fn is_later(&self, namespace: &str, number: u64) -> bool {
        let other = self.first.filter(|(_, first)| *first != namespace).or(self.second);
        other.is_some_and(|(other, _)| other < number)
    }
}

impl Claims {
    /// The order of all claims on hosts that several namespaces claim, also by a wildcard above
    /// them.
    pub fn order(&self) -> ClaimOrder {
        let mut rivals = BTreeMap::<&ServerName, Rivals<'_>>::new();
        for (name, claimants) in self.claimed_hosts() {
            rivals.entry(name).or_default().add(claimants);
            let above = host::wildcard_above(name).and_then(|wildcard| self.held.get_key_value(&Key::host(&wildcard)));
            if let Some((Key::Host(_, wildcard, _), above)) = above {
                rivals.entry(name).or_default().add(above);
                rivals.entry(wildcard).or_default().add(claimants);
            }
        }
        // It is unknown which hosts two expressions both match, so all nodes have to try them in
        // one order.
        let expressions = || self.claimed_hosts().filter(|(name, _)| matches!(name, ServerName::Expression(_)));
        let mut of_expressions = Rivals::default();
        expressions().for_each(|(_, claimants)| of_expressions.add(claimants));
        rivals.extend(expressions().map(|(name, _)| (name, of_expressions)));
        let contested = rivals.iter().filter(|(_, rivals)| rivals.second.is_some());
        let mut claims = Vec::new();
        for (name, rivals) in contested {
            let paths = self.paths(name).map(|(beginning, claimants)| (beginning, Rivals::of(claimants)));
            let same = Same { host: Rivals::of(self.of(name)), paths: paths.collect() };
            for claimant in self.of(name) {
                let own = self.paths(name).filter_map(|(beginning, claimants)| {
                    let own = claimants.iter().find(|own| own.namespace == claimant.namespace)?;
                    Some((beginning, own.number))
                });
                claimant.age(name, own.collect(), *rivals, &same, &mut claims);
            }
        }
        ClaimOrder::of(claims)
    }
}

/// The first claimant of a host itself, and of each of its paths.
struct Same<'c> {
    host: Rivals<'c>,
    paths: BTreeMap<&'c str, Rivals<'c>>,
}

impl Same<'_> {
    /// Which other claims on the same path are older.
    fn lateness_of_path(&self, beginning: &str, namespace: &str, number: u64) -> Lateness {
        let is_later = |path| self.paths.get(path).is_some_and(|rivals| rivals.is_later(namespace, number));
        let mut above = beginning.match_indices('/').map(|(index, _)| &beginning[..index]);
        match is_later(beginning) {
            true => Lateness::Same,
            false if above.any(is_later) => Lateness::Below,
            false => Lateness::Beside,
        }
    }
}

impl Claimant {
    /// Adds its claims on a host of which it has these paths. On a shared host paths decide.
    fn age<'a>(
        &'a self,
        host: &'a ServerName,
        paths: Vec<(&'a str, u64)>,
        rivals: Rivals<'_>,
        same: &Same<'_>,
        claims: &mut Vec<AgedClaim<'a>>,
    ) {
        let namespace = &*self.namespace;
        let of_path = |beginning, number| same.lateness_of_path(beginning, namespace, number);
        let is_whole = paths.iter().all(|(_, number)| *number == self.number);
        let of_host = match (self.is_whole, is_whole) {
            (true, _) if same.host.is_later(namespace, self.number) => Lateness::Same,
            (false, true) => {
                let of_paths = paths.iter().map(|(beginning, number)| of_path(beginning, *number));
                of_paths.max().unwrap_or(Lateness::Beside)
            }
            _ => Lateness::Beside,
        };
        let mut add = |number, extent, lateness: &dyn Fn() -> Lateness| {
            let later = rivals.is_later(namespace, number).then(lateness);
            claims.push(AgedClaim { number, host, namespace, extent, later });
        };
        add(self.number, if is_whole { Extent::Whole } else { Extent::Host }, &|| of_host);
        for (beginning, number) in paths.into_iter().filter(|_| !is_whole) {
            add(number, Extent::Place(beginning), &|| of_path(beginning, number));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claim::claims::Line;
    use ingressd_model::Seniority;

    fn claim(
        host: String,
        namespace: &'static str,
        number: u64,
        paths: Option<Vec<(String, u64)>>,
    ) -> impl Iterator<Item = Line<'static>> {
        let line = move |path: Option<String>, number, is_shared: bool| Line {
            host: host.clone().into(),
            path: path.map(Into::into),
            namespace: namespace.into(),
            number,
            exclusive: !is_shared,
            is_shared,
            gone: None,
        };
        let own = line(None, number, paths.is_some());
        let paths = paths.into_iter().flatten().map(move |(path, number)| line(Some(path), number, false));
        std::iter::once(own).chain(paths)
    }

    fn seniority(order: &ClaimOrder, host: &str, namespace: &str, place: Option<&str>) -> Seniority {
        order.seniority(&host::of_rule(Some(host)).unwrap(), namespace, place)
    }

    #[test]
    fn the_first_claim_on_a_wildcard_is_not_later_on_hosts_below_it() {
        let own = (0..3000).flat_map(|number| claim(format!("h{number}.corp.example"), "victim", number + 1, None));
        let evil = (0..1200).flat_map(|number| claim(format!("e{number}.corp.example"), "evil", number + 5000, None));
        let wildcard = |namespace, number| claim("*.corp.example".to_owned(), namespace, number, None);
        let wildcards = [wildcard("victim", 0), wildcard("evil", 4000)].into_iter().flatten();
        let order = Claims::read(own.chain(evil).chain(wildcards)).order();
        assert!(matches!(seniority(&order, "e7.corp.example", "evil", None), Seniority::Last(_)));
        let [victim, evil] = ["victim", "evil"].map(|namespace| seniority(&order, "*.corp.example", namespace, None));
        assert!(victim < evil && matches!(evil, Seniority::Last(_)), "{victim:?} {evil:?}");
    }

    #[test]
    fn a_first_claim_on_a_wildcard_or_path_makes_no_claim_beside_it_later() {
        let hosts = (0..3000).flat_map(|number| claim(format!("h{number}.corp.example"), "victim", number + 1, None));
        let taken = (0..1200).flat_map(|number| claim(format!("h{number}.corp.example"), "evil", number + 5000, None));
        let wildcard = claim("*.corp.example".to_owned(), "evil", 0, None);
        let order = Claims::read(hosts.chain(taken).chain(wildcard)).order();
        let [victim, evil] = ["victim", "evil"].map(|namespace| seniority(&order, "h7.corp.example", namespace, None));
        assert!(victim < evil && matches!(evil, Seniority::Last(_)), "{victim:?} {evil:?}");

        let many = |from: u64, count: u64, mark: &str| -> Vec<_> {
            (0..count).map(|number| (format!("/{mark}{number}"), number + from)).collect()
        };
        let taken = many(9000, 1, "v").into_iter().chain(many(9100, 1200, "e")).chain([("/early".to_owned(), 0)]);
        let evil = claim("shop.example".to_owned(), "evil", 0, Some(taken.collect()));
        let victim = claim("shop.example".to_owned(), "victim", 1, Some(many(1, 3000, "v")));
        let order = Claims::read(evil.chain(victim)).order();
        let [victim, evil] =
            ["victim", "evil"].map(|namespace| seniority(&order, "shop.example", namespace, Some("/v0")));
        assert!(victim < evil && matches!(evil, Seniority::Last(_)), "{victim:?} {evil:?}");
    }

    #[test]
    fn paths_that_came_later_are_later_also_for_the_owner_of_the_host() {
        let many = (0..5000).map(|number| (format!("/{number}"), number + 10)).chain([("/".to_owned(), 0)]).collect();
        let evil = claim("shop.example".to_owned(), "evil", 0, Some(many));
        let victim = claim("shop.example".to_owned(), "victim", 1, Some(vec![("/v".to_owned(), 1)]));
        let order = Claims::read(evil.chain(victim)).order();
        assert!(matches!(seniority(&order, "shop.example", "evil", Some("/7")), Seniority::Last(_)));
        assert!(seniority(&order, "shop.example", "victim", Some("/v")) <= Seniority::Unknown);
    }

    #[test]
    fn expressions_of_several_namespaces_have_one_order() {
        let claims = |of_b| {
            let names = [("~^a$", "a", 2), ("~^b$", of_b, 1), ("x.example", "a", 0)];
            Claims::read(
                names.into_iter().flat_map(|(host, namespace, number)| claim(host.to_owned(), namespace, number, None)),
            )
            .order()
        };
        let order = claims("b");
        assert!(seniority(&order, "~^b$", "b", None) < seniority(&order, "~^a$", "a", None));
        assert!(seniority(&order, "~^a$", "a", None) < Seniority::Unknown);
        assert_eq!(seniority(&order, "x.example", "a", None), Seniority::Unknown);
        assert!(claims("a").is_empty(), "those of one namespace concern nobody else");
    }
}
