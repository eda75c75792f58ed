//! Tracks since when each namespace claims its hosts and paths, across versions of objects and
//! restarts.

mod order;

use std::borrow::Cow;
use std::cmp::Ordering;
use std::collections::{BTreeMap, HashMap, btree_map};
use std::iter::Peekable;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::stream_claims::{PortHolder, PortHolders};
use crate::read::since::Since;
use crate::value::host;
use ingressd_model::{ClaimOrder, Port, Seniority, ServerName, shared_namespace};

/// The most hosts and paths of one namespace that are reserved without any object that claims
/// them.
const MOST_RESERVED: usize = 10_000;

/// A number that is not assigned yet.
const UNNUMBERED: u64 = u64::MAX;

/// All present claims, and those that ended a moment ago. They are an input of the translation
/// and, with new ones added, an output.
///
/// An age is a number in the order in which claims were first seen, not a time: this needs no
/// clock, and no two ages are equal.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Claims {
    next: u64,
    hosts: BTreeMap<ServerName, Vec<Claimant>>,
    ports: PortHolders,
}

/// A namespace that claims a host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claimant {
    pub namespace: Arc<str>,
    /// Its age: lower numbers are older.
    pub number: u64,
    /// Whether it claims the host exclusively.
    pub exclusive: bool,
    /// Since when no object of the namespace claims the host any more, in seconds since 1970; the
    /// host stays reserved for a while.
    pub gone: Option<i64>,
    /// The ages of its paths, kept only while the host has several claimants.
    places: Option<BTreeMap<Arc<str>, PlaceClaim>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct PlaceClaim {
    number: u64,
    gone: Option<i64>,
}

/// An iterator over claims, see [`Claims::in_order`].
#[derive(Debug)]
pub struct InOrder<'c>(Peekable<btree_map::Iter<'c, ServerName, Vec<Claimant>>>);

impl<'c> InOrder<'c> {
    /// The claimants of a host; hosts must be asked for in order.
    pub fn of(&mut self, host: &ServerName) -> &'c [Claimant] {
        while self.0.next_if(|(known, _)| *known < host).is_some() {}
        self.0.peek().filter(|(known, _)| *known == host).map(|(_, claimants)| claimants.as_slice()).unwrap_or_default()
    }
}

/// A namespace that claims a host now.
#[derive(Debug, Clone)]
pub struct ClaimingNamespace<'a> {
    pub namespace: &'a Arc<str>,
    /// Whether it claims the host exclusively.
    pub exclusive: bool,
    /// The oldest of its objects that claim the host.
    pub since: Since<'a>,
    /// The keys of its paths.
    pub places: Vec<(Arc<str>, Since<'a>)>,
}

/// A new claim.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct New<'a> {
    seniority: Seniority,
    since: Since<'a>,
    host: &'a ServerName,
    namespace: &'a Arc<str>,
    place: Option<Arc<str>>,
    /// The index of the edit that contains it.
    edit: usize,
}

impl New<'_> {
    /// Gives the claim its age.
    fn number(&self, claimants: &mut [Claimant], number: u64) {
        for claimant in claimants.iter_mut().filter(|claimant| claimant.namespace == *self.namespace) {
            match self.place.as_ref().map(|place| claimant.places.as_mut()?.get_mut(place)) {
                None => claimant.number = number,
                Some(held) => held.into_iter().for_each(|held| held.number = number),
            }
        }
    }
}

impl Claims {
    /// The namespaces of objects that have a port of the node, or had it a moment ago.
    pub fn ports(&self) -> &PortHolders {
        &self.ports
    }

    /// The same claims on hosts, and these on ports.
    pub fn with_ports(mut claims: Arc<Self>, ports: PortHolders) -> Arc<Self> {
        if claims.ports != ports {
            Arc::make_mut(&mut claims).ports = ports;
        }
        claims
    }

    /// The claimants of a host, present or past ones.
    pub fn of(&self, host: &ServerName) -> &[Claimant] {
        self.hosts.get(host).map(Vec::as_slice).unwrap_or_default()
    }

    /// The claims on hosts, for lookups in the order of hosts.
    pub fn in_order(&self) -> InOrder<'_> {
        InOrder(self.hosts.iter().peekable())
    }

    /// All claimed hosts, present or past ones, in order.
    pub fn hosts(&self) -> impl Iterator<Item = &ServerName> {
        self.hosts.keys()
    }

    /// The first claimant of a host.
    pub fn owner(&self, host: &ServerName) -> Option<&Claimant> {
        self.of(host).iter().min_by_key(|claimant| claimant.number)
    }

    /// The age of a namespace's claim on a host; the youngest possible when there is none.
    pub fn number(&self, host: &ServerName, namespace: &str) -> u64 {
        let own = self.of(host).iter().find(|claimant| *claimant.namespace == *namespace);
        own.map_or(UNNUMBERED, |claimant| claimant.number)
    }

    /// Whether a host lies within a wildcard that another namespace claimed earlier and
    /// exclusively.
    pub fn is_within_older(&self, host: &ServerName, claimant: &Claimant) -> bool {
        let owner = crate::value::host::wildcard_above(host).and_then(|wildcard| self.owner(&wildcard));
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
        let wildcards = self.hosts.iter().filter(|(host, _)| matches!(host, ServerName::Wildcard(_)));
        wildcards.flat_map(|(_, claimants)| claimants).any(|claimant| claimant.exclusive)
    }

    /// The age of a path; `None` while no other namespace claims the host.
    pub fn age(&self, host: &ServerName, namespace: &str, place: &str) -> Option<u64> {
        let claimant = self.of(host).iter().find(|claimant| *claimant.namespace == *namespace)?;
        claimant.places.as_ref()?.get(place).map(|held| held.number)
    }

    /// The claims after these requests, which name each host once and in order, and the time at
    /// which the next reservation ends. `grace` is how many seconds a claim outlives its objects.
    /// A claim that is seen for the first time gets its age from the first of `orders`, which come
    /// from other nodes, that knows the host.
    pub fn follow(
        previous: &Arc<Self>,
        asked: &[(&ServerName, Vec<ClaimingNamespace<'_>>)],
        now: i64,
        grace: i64,
        orders: &[Arc<ClaimOrder>],
    ) -> (Arc<Self>, Option<i64>) {
        let mut edits: Vec<(&ServerName, Vec<Claimant>)> = Vec::new();
        let mut new = Vec::new();
        let mut next_end = None;
        let mut moment = Moment { previous, now, grace, orders, reserved: HashMap::new(), edit: 0 };
        let (mut asked, mut known) = (asked.iter().peekable(), previous.hosts.iter().peekable());
        loop {
            let order = match (known.peek(), asked.peek()) {
                (Some((known, _)), Some((asked, _))) => (*known).cmp(*asked),
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (None, None) => break,
            };
            let before = if order.is_le() { known.next() } else { None };
            let asking = if order.is_ge() { asked.next() } else { None };
            let Some(host) = before.map(|(host, _)| host).or(asking.map(|(host, _)| *host)) else { break };
            let before = before.map_or(&[][..], |(_, before)| before);
            let asking = asking.map_or(&[][..], |(_, asking)| asking);
            // Nearly all claims are unchanged.
            if let ([before], [asking]) = (before, asking)
                && before.is_as(asking)
            {
                continue;
            }
            moment.edit = edits.len();
            let after = moment.follow(host, before, asking, &mut new);
            next_end = after.iter().filter_map(Claimant::ends).chain(next_end).min();
            if after != before {
                edits.push((host, after));
            }
        }
        let next_end = next_end.map(|gone| gone.saturating_add(grace));
        if edits.is_empty() {
            return (Arc::clone(previous), next_end);
        }
        let mut claims = Claims::clone(previous);
        new.sort_unstable();
        for new in &new {
            new.number(&mut edits[new.edit].1, claims.next);
            claims.next += 1;
        }
        edits
            .iter()
            .filter(|(_, claimants)| claimants.is_empty())
            .for_each(|(host, _)| drop(claims.hosts.remove(*host)));
        let stay = edits.into_iter().filter(|(_, claimants)| !claimants.is_empty());
        let stay = stay.map(|(host, claimants)| (host.clone(), claimants));
        // To make a map of sorted entries takes a fraction of the time of inserting each.
        match claims.hosts.is_empty() {
            true => claims.hosts = stay.collect(),
            false => claims.hosts.extend(stay),
        }
        (Arc::new(claims), next_end)
    }

    /// The lines to keep for the next start.
    pub fn write(&self) -> impl Iterator<Item = Line<'_>> {
        let of_hosts = self.hosts.iter().flat_map(|(host, claimants)| {
            claimants.iter().map(|claimant| Line {
                host: host::written(host).into(),
                namespace: (&*claimant.namespace).into(),
                number: claimant.number,
                exclusive: claimant.exclusive,
                gone: claimant.gone,
                places: claimant.places.as_ref().map(|places| {
                    places.iter().map(|(place, held)| ((&**place).into(), held.number, held.gone)).collect()
                }),
            })
        });
        let of_ports = self.ports.iter().map(|(port, holder)| Line {
            host: port.to_string().into(),
            namespace: (&*holder.namespace).into(),
            number: 0,
            exclusive: true,
            gone: holder.gone,
            places: None,
        });
        of_hosts.chain(of_ports)
    }

    /// Reads the lines of an earlier run; a line with an invalid host is dropped.
    pub fn read<'a>(lines: impl IntoIterator<Item = Line<'a>>) -> Self {
        let mut claims = Claims::default();
        for line in lines {
            // No host is written so, and versions that know no ports drop the line.
            if let Some(port) = Port::parse(&line.host) {
                claims.ports.insert(port, PortHolder { namespace: shared_namespace(&line.namespace), gone: line.gone });
                continue;
            }
            let Ok(host) = host::of_rule(Some(&line.host)) else { continue };
            let held = |(place, number, gone): (Cow<'_, str>, _, _)| (Arc::from(&*place), PlaceClaim { number, gone });
            let places: Option<BTreeMap<_, _>> = line.places.map(|places| places.into_iter().map(held).collect());
            let claimant = Claimant {
                namespace: shared_namespace(&line.namespace),
                number: line.number,
                exclusive: line.exclusive,
                gone: line.gone,
                places,
            };
            let newest = claimant.places.iter().flatten().map(|(_, held)| held.number).chain([claimant.number]).max();
            claims.next = claims.next.max(newest.unwrap_or_default().saturating_add(1));
            claims.hosts.entry(host).or_default().push(claimant);
        }
        claims
    }
}

/// One claimant of one host as it is stored; field names are a contract with earlier versions of
/// the daemon.
#[derive(Debug, Serialize, Deserialize)]
pub struct Line<'a> {
    host: Cow<'a, str>,
    namespace: Cow<'a, str>,
    number: u64,
    exclusive: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    gone: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    places: Option<Vec<LinePlace<'a>>>,
}

/// A path, its age, and since when it has no claim.
type LinePlace<'a> = (Cow<'a, str>, u64, Option<i64>);

impl Claimant {
    /// Its claims on the host, by objects that are served or not, present or past: path (`None`
    /// for the whole host, when the paths are not known) and age.
    pub fn places(&self) -> impl Iterator<Item = (Option<&str>, u64)> {
        let is_whole = self.gone.is_some() && self.places.is_none();
        let places = self.places.iter().flatten().map(|(place, held)| (Some(&**place), held.number));
        is_whole.then_some((None, self.number)).into_iter().chain(places)
    }

    /// Whether it stays unchanged when it is and was the only claimant.
    fn is_as(&self, asking: &ClaimingNamespace<'_>) -> bool {
        self.namespace == *asking.namespace
            && self.gone.is_none()
            && self.places.is_none()
            && self.exclusive == asking.exclusive
    }

    /// Since when a part of it has ended, if any.
    fn ends(&self) -> Option<i64> {
        self.places.iter().flatten().filter_map(|(_, held)| held.gone).chain(self.gone).min()
    }
}

/// The inputs of an update of claims.
#[derive(Debug)]
struct Moment<'p> {
    previous: &'p Claims,
    now: i64,
    grace: i64,
    orders: &'p [Arc<ClaimOrder>],
    /// The number of reservations so far.
    reserved: HashMap<Arc<str>, usize>,
    /// The index of the edit of the current host.
    edit: usize,
}

impl<'p> Moment<'p> {
    /// Since when a claim without objects has ended; `None` when its reservation is over.
    fn gone(&mut self, namespace: &Arc<str>, before: Option<i64>) -> Option<i64> {
        // A clock that was set back must not prolong the reservation for ever.
        let since = before.unwrap_or(self.now).min(self.now);
        if self.now - since >= self.grace {
            return None;
        }
        let reserved = self.reserved.entry(Arc::clone(namespace)).or_default();
        *reserved += 1;
        (*reserved <= MOST_RESERVED).then_some(since)
    }

    /// The first order that knows the host.
    fn order_of(&self, host: &ServerName, asking: &[ClaimingNamespace<'_>]) -> Option<&'p ClaimOrder> {
        let knows = |order: &&ClaimOrder| {
            asking.iter().any(|asking| order.seniority(host, asking.namespace, None) != Seniority::Unknown)
        };
        self.orders.iter().map(AsRef::as_ref).find(knows)
    }

    fn follow<'a>(
        &mut self,
        host: &'a ServerName,
        before: &[Claimant],
        asking: &[ClaimingNamespace<'a>],
        new: &mut Vec<New<'a>>,
    ) -> Vec<Claimant> {
        let find = |namespace: &str| asking.iter().find(|asking| **asking.namespace == *namespace);
        let order = self.order_of(host, asking);
        let stay = |claimant| self.stay(host, claimant, before.len() == 1, find(&claimant.namespace));
        let mut after: Vec<_> = before.iter().filter_map(stay).collect();
        for asking in asking {
            if !before.iter().any(|claimant| claimant.namespace == *asking.namespace) {
                let seniority = seniority(order, host, asking.namespace, None);
                let (since, namespace) = (asking.since, asking.namespace);
                new.push(New { seniority, since, host, namespace, place: None, edit: self.edit });
                after.push(Claimant {
                    namespace: Arc::clone(asking.namespace),
                    number: UNNUMBERED,
                    exclusive: asking.exclusive,
                    gone: None,
                    places: None,
                });
            }
        }
        // There is one for each host, mostly alone.
        after.shrink_to_fit();
        match after.len() {
            0 | 1 => after.iter_mut().for_each(|claimant| claimant.places = None),
            _ => after.iter_mut().for_each(|claimant| {
                if let Some(asking) = find(&claimant.namespace) {
                    self.follow_places(host, claimant, asking, order, new);
                }
            }),
        }
        after
    }

    fn stay(
        &mut self,
        host: &ServerName,
        claimant: &Claimant,
        is_alone: bool,
        asking: Option<&ClaimingNamespace<'_>>,
    ) -> Option<Claimant> {
        Some(match asking {
            // A claim on a shared host cannot become exclusive at once: others were let in.
            Some(asking) => {
                let exclusive = asking.exclusive && (claimant.exclusive || is_alone);
                Claimant { gone: None, exclusive, ..claimant.clone() }
            }
            // A host that it never had is not reserved.
            None if self.previous.is_within_older(host, claimant) => return None,
            None => {
                let gone = self.gone(&claimant.namespace, claimant.gone)?;
                // Its paths are reserved with it: a path that it does not claim when it is back
                // has ended now.
                let places = claimant.places.as_ref().map(|places| {
                    let mut reserved = |held: &PlaceClaim| self.gone(&claimant.namespace, held.gone.or(Some(gone)));
                    let stay = places.iter().filter_map(|(place, held)| Some((place, held, reserved(held)?)));
                    stay.map(|(place, held, gone)| (Arc::clone(place), PlaceClaim { gone: Some(gone), ..*held }))
                        .collect()
                });
                Claimant { gone: Some(gone), places, ..claimant.clone() }
            }
        })
    }

    fn follow_places<'a>(
        &mut self,
        host: &'a ServerName,
        claimant: &mut Claimant,
        asking: &ClaimingNamespace<'a>,
        order: Option<&ClaimOrder>,
        new: &mut Vec<New<'a>>,
    ) {
        // A namespace that was the only claimant had all of its paths when another one came, even
        // while it was away.
        let was_alone = claimant.places.is_none() && claimant.number != UNNUMBERED;
        let mut before = claimant.places.take().unwrap_or_default();
        let mut places = BTreeMap::new();
        for (place, since) in &asking.places {
            if places.contains_key(place) {
                continue;
            }
            let number = match before.remove(place) {
                Some(held) => held.number,
                None if was_alone => claimant.number,
                None => {
                    let (namespace, since) = (asking.namespace, *since);
                    let seniority = seniority(order, host, namespace, Some(place));
                    let place = Some(Arc::clone(place));
                    new.push(New { seniority, since, host, namespace, place, edit: self.edit });
                    UNNUMBERED
                }
            };
            places.insert(Arc::clone(place), PlaceClaim { number, gone: None });
        }
        for (place, held) in before {
            if let Some(gone) = self.gone(&claimant.namespace, held.gone) {
                places.insert(place, PlaceClaim { gone: Some(gone), ..held });
            }
        }
        claimant.places = Some(places);
    }
}

fn seniority(order: Option<&ClaimOrder>, host: &ServerName, namespace: &str, place: Option<&str>) -> Seniority {
    order.map_or(Seniority::Unknown, |order| order.seniority(host, namespace, place))
}
