//! The order in which namespaces came to claim what several of them claim, in a form short enough
//! for other nodes.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use super::{Digest, ServerName};

/// The most marks that are published; all annotations of an object together may have 256 KiB.
const MOST: usize = 4096;

/// A digest of a claim or a namespace.
type ShortDigest = [u8; 8];

/// The part of a host that a claim is on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Extent<'a> {
    /// The host without its paths.
    Host,
    /// The host with all paths that the namespace has there.
    Whole,
    /// One path, by its key.
    Place(&'a str),
}

/// A claim of a namespace, with its age.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct AgedClaim<'a> {
    /// The age: lower numbers are older.
    pub number: u64,
    pub host: &'a ServerName,
    pub namespace: &'a str,
    /// The part of the host.
    pub extent: Extent<'a>,
    /// What another namespace claimed before, if any did.
    pub later: Option<Lateness>,
}

/// What another namespace claimed before this claim was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Lateness {
    /// Another part of the host, or the wildcard above it.
    Beside,
    /// A path above the claim's.
    Below,
    /// The same path.
    Same,
}

/// The age of a claim compared with others that the same node knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Seniority {
    /// Lower numbers are older.
    Known(u32),
    /// The node does not know the claim, so it is younger.
    Unknown,
    /// The namespace claims more of what others have than could be listed one by one. The number
    /// is its place among these namespaces, the youngest first: those that claimed most.
    Last(Reverse<u32>),
}

/// The order of claims that one node has seen.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ClaimOrder {
    known: BTreeMap<ShortDigest, u32>,
    last: BTreeMap<ShortDigest, u32>,
}

impl ClaimOrder {
    /// The order of these claims, all of which are on hosts that several namespaces claim.
    ///
    /// When there are too many, the namespaces that claim most of what others had before come last
    /// as a whole: a namespace that fills the list counts as young everywhere, and no other does.
    /// A claim on the same path weighs more than one below or beside others. Otherwise an early
    /// wildcard of one namespace, or its early path on a host, would harm others that come to have
    /// many hosts or paths there.
    pub fn of<'a>(mut claims: Vec<AgedClaim<'a>>) -> Self {
        let mut later = BTreeMap::<&str, [usize; 3]>::new();
        for (namespace, lateness) in claims.iter().filter_map(|claim| Some((claim.namespace, claim.later?))) {
            let counts = later.entry(namespace).or_default();
            for (count, least) in counts.iter_mut().zip([Lateness::Same, Lateness::Below, Lateness::Beside]) {
                *count += usize::from(lateness >= least);
            }
        }
        let mut later: Vec<_> = later.into_iter().map(|(namespace, count)| (count, namespace)).collect();
        later.sort_unstable();
        let mut last = Vec::new();
        while claims.len() > MOST
            && let Some((_, namespace)) = later.pop()
        {
            last.push(mark(namespace, None));
            claims.retain(|claim| claim.namespace != namespace);
            let contested: BTreeSet<_> =
                claims.iter().filter(|claim| claim.later.is_some()).map(|claim| claim.host).collect();
            claims.retain(|claim| contested.contains(claim.host));
        }
        claims.sort_unstable();
        let known = claims.iter().take(MOST).zip(0..);
        let known =
            known.map(|(claim, rank)| (mark(claim.namespace, Some((claim.host, claim.extent))), rank)).collect();
        ClaimOrder { known, last: last.into_iter().take(MOST).zip(0..).collect() }
    }

    /// Whether the order is empty.
    pub fn is_empty(&self) -> bool {
        self.known.is_empty() && self.last.is_empty()
    }

    /// The age of a namespace's claim on a host, or on one of its paths.
    pub fn seniority(&self, host: &ServerName, namespace: &str, place: Option<&str>) -> Seniority {
        if let Some(place) = self.last.get(&mark(namespace, None)) {
            return Seniority::Last(Reverse(*place));
        }
        let rank = |extent| self.known.get(&mark(namespace, Some((host, extent))));
        let rank = rank(place.map_or(Extent::Host, Extent::Place)).or_else(|| rank(Extent::Whole));
        rank.map_or(Seniority::Unknown, |rank| Seniority::Known(*rank))
    }

    /// The marks from the oldest to the youngest, and those of namespaces that come last, the
    /// youngest first.
    pub fn marks(&self) -> [Vec<ShortDigest>; 2] {
        [&self.known, &self.last].map(|marks| {
            let mut marks: Vec<_> = marks.iter().map(|(mark, rank)| (*rank, *mark)).collect();
            marks.sort_unstable();
            marks.into_iter().map(|(_, mark)| mark).collect()
        })
    }

    /// The order of these marks; no more are read than are ever published.
    pub fn read(known: impl IntoIterator<Item = ShortDigest>, last: impl IntoIterator<Item = ShortDigest>) -> Self {
        let known = known.into_iter().take(MOST).zip(0..).collect();
        ClaimOrder { known, last: last.into_iter().take(MOST).zip(0..).collect() }
    }
}

fn mark(namespace: &str, on: Option<(&ServerName, Extent<'_>)>) -> ShortDigest {
    let host = |host: &ServerName| match host {
        ServerName::CatchAll => "*".to_owned(),
        ServerName::Exact(host) => host.to_string(),
        ServerName::Wildcard(parent) => format!("*.{parent}"),
        ServerName::Expression(expression) => format!("~{expression}"),
    };
    let (host, sort, place) = match on {
        None => (String::new(), "namespace", ""),
        Some((name, Extent::Host)) => (host(name), "host", ""),
        Some((name, Extent::Whole)) => (host(name), "whole", ""),
        Some((name, Extent::Place(place))) => (host(name), "place", place),
    };
    // Names of namespaces and hosts contain no blank.
    Digest::of_all([sort, " ", namespace, " ", &host, " ", place]).first()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::HostName;

    fn host(name: &str) -> ServerName {
        ServerName::Exact(HostName::new(name).unwrap())
    }

    fn claim<'a>(number: u64, host: &'a ServerName, namespace: &'a str, extent: Extent<'a>) -> AgedClaim<'a> {
        let later = (namespace != "victim").then_some(Lateness::Same);
        AgedClaim { number, host, namespace, extent, later }
    }

    #[test]
    fn claims_are_as_old_as_they_are_said_to_be() {
        let (shop, other) = (host("shop.example"), host("other.example"));
        let order = ClaimOrder::of(vec![
            claim(9, &shop, "late", Extent::Place("/new")),
            claim(4, &shop, "late", Extent::Host),
            claim(1, &shop, "victim", Extent::Whole),
        ]);
        for (host, namespace, place, expected) in [
            (&shop, "victim", None, Seniority::Known(0)),
            (&shop, "victim", Some("/any"), Seniority::Known(0)),
            (&shop, "late", None, Seniority::Known(1)),
            (&shop, "late", Some("/new"), Seniority::Known(2)),
            // The claim on the host says nothing about a path that did not exist then.
            (&shop, "late", Some("/newer"), Seniority::Unknown),
            (&other, "victim", None, Seniority::Unknown),
            (&shop, "nobody", None, Seniority::Unknown),
        ] {
            assert_eq!(order.seniority(host, namespace, place), expected, "{namespace} {place:?}");
        }
        let [known, last] = order.marks();
        assert_eq!(ClaimOrder::read(known, last), order);
    }

    #[test]
    fn only_the_namespace_that_fills_the_list_comes_last() {
        let hosts: Vec<_> = (0..=MOST / 2).map(|number| host(&format!("h{number}.example"))).collect();
        let shop = host("shop.example");
        let of_many = |(host, number)| {
            [claim(number, host, "victim", Extent::Whole), claim(90_000 + number, host, "crowd", Extent::Whole)]
        };
        let claims: Vec<_> = hosts.iter().zip(100..).flat_map(of_many).collect();
        let few = [claim(1, &shop, "victim", Extent::Whole), claim(2, &shop, "few", Extent::Whole)];
        let order = ClaimOrder::of(claims.into_iter().chain(few).collect());
        assert_eq!(order.seniority(&hosts[7], "crowd", None), Seniority::Last(Reverse(0)));
        assert_eq!(order.seniority(&shop, "victim", None), Seniority::Known(0));
        assert_eq!(order.seniority(&shop, "few", None), Seniority::Known(1));
        // No other namespace claims it except one that comes last anyway.
        assert!(order.seniority(&hosts[7], "victim", None) < order.seniority(&hosts[7], "crowd", None));
    }

    /// The owner has more paths below another's than the order has room for, and comes last
    /// itself: but not behind the namespace that claims the same.
    #[test]
    fn of_those_who_come_last_who_asked_for_more_of_the_same_is_the_younger() {
        let shop = host("shop.example");
        let paths: Vec<_> = (0..MOST as u64 + 100).map(|number| (number, format!("/{number}"))).collect();
        let of = |place: usize, namespace, later, age| AgedClaim {
            number: paths[place].0 + age,
            host: &shop,
            namespace,
            extent: Extent::Place(&paths[place].1),
            later: Some(later),
        };
        let above = AgedClaim { number: 0, host: &shop, namespace: "above", extent: Extent::Place(""), later: None };
        let owner = (0..paths.len()).map(|path| of(path, "owner", Lateness::Below, 1));
        // Its name is behind that of the owner, and it has few.
        let thief = (0..3).map(|path| of(path, "thief", Lateness::Same, 90_000));
        let order = ClaimOrder::of(owner.chain(thief).chain([above]).collect());
        let [owner, thief] = ["owner", "thief"].map(|namespace| order.seniority(&shop, namespace, Some("/1")));
        assert!(matches!((owner, thief), (Seniority::Last(_), Seniority::Last(_))), "{owner:?} {thief:?}");
        assert!(owner < thief && order.seniority(&shop, "above", Some("")) < owner);
        let [known, last] = order.marks();
        assert_eq!(ClaimOrder::read(known, last), order);
    }
}
