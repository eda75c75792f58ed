//! Since when each namespace asks for its hosts and paths, over versions of objects and restarts.

mod order;

use std::borrow::Cow;
use std::cmp::Ordering;
use std::collections::{BTreeMap, HashMap, btree_map};
use std::iter::Peekable;
use std::sync::Arc;

use jiff::Timestamp;
use k8s_openapi::Metadata;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::{Deserialize, Serialize};

use super::host;
use crate::model::{ClaimOrder, ObjectId, Seniority, ServerName};
use crate::source::Stored;

/// How many hosts and paths of one namespace are reserved at most while nobody asks for them.
const MOST_RESERVED: usize = 10_000;

/// Stands for a number that is not given yet.
const UNNUMBERED: u64 = u64::MAX;

/// Every claim that is made, or was until a moment ago: an input of the translation, and with what is new an output of it.
///
/// Ages are numbers in the order in which claims were first seen, not times: they need no clock, and no two are equal.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Claims {
    next: u64,
    hosts: BTreeMap<ServerName, Vec<Claimant>>,
}

/// A namespace that asks for a host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claimant {
    /// The namespace.
    pub namespace: Arc<str>,
    /// The age: the lower, the older.
    pub number: u64,
    /// Whether it would have the host for itself.
    pub exclusive: bool,
    /// Since when no object of the namespace asks any more, in seconds since 1970; the host stays reserved for a while.
    pub gone: Option<i64>,
    /// The ages of its paths, kept only while there are several claimants.
    places: Option<BTreeMap<Arc<str>, Held>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Held {
    number: u64,
    gone: Option<i64>,
}

/// See [`Claims::in_order`].
#[derive(Debug)]
pub struct InOrder<'c>(Peekable<btree_map::Iter<'c, ServerName, Vec<Claimant>>>);

impl<'c> InOrder<'c> {
    /// Who asks for a host, which is none of those before the one that was asked for last.
    pub fn of(&mut self, host: &ServerName) -> &'c [Claimant] {
        while self.0.next_if(|(known, _)| *known < host).is_some() {}
        self.0.peek().filter(|(known, _)| *known == host).map(|(_, claimants)| claimants.as_slice()).unwrap_or_default()
    }
}

/// What decides among claims that are seen for the first time in one moment: the object's age, then what the API server calls
/// it, which nobody can choose, and only for files its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Since<'a> {
    is_undated: bool,
    created: Option<Timestamp>,
    uid: Option<&'a str>,
    id: &'a ObjectId,
}

impl<'a> Since<'a> {
    /// That of an object, of whatever kind.
    pub fn of<K: Metadata<Ty = ObjectMeta>>(stored: &'a Stored<K>) -> Self {
        let metadata = stored.object.metadata();
        let created = metadata.creation_timestamp.as_ref().map(|time| time.0);
        Since { is_undated: created.is_none(), created, uid: metadata.uid.as_deref(), id: &stored.id }
    }
}

/// A namespace that asks for a host now.
#[derive(Debug, Clone)]
pub struct Asking<'a> {
    /// The namespace.
    pub namespace: &'a Arc<str>,
    /// Whether it would have the host for itself.
    pub exclusive: bool,
    /// The oldest of its objects that ask.
    pub since: Since<'a>,
    /// What its paths are known by.
    pub places: Vec<(Arc<str>, Since<'a>)>,
}

/// A claim that was not there before.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct New<'a> {
    seniority: Seniority,
    since: Since<'a>,
    host: &'a ServerName,
    namespace: &'a Arc<str>,
    place: Option<Arc<str>>,
    /// The number of the edit that has it.
    edit: usize,
}

impl New<'_> {
    /// Gives the claim its number among those on its host.
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
    /// Who asks for a host, or did until a moment ago.
    pub fn of(&self, host: &ServerName) -> &[Claimant] {
        self.hosts.get(host).map(Vec::as_slice).unwrap_or_default()
    }

    /// The claims on hosts that are asked for one after the other, in their order.
    pub fn in_order(&self) -> InOrder<'_> {
        InOrder(self.hosts.iter().peekable())
    }

    /// All hosts that anybody asks for, or did until a moment ago, in order.
    pub fn hosts(&self) -> impl Iterator<Item = &ServerName> {
        self.hosts.keys()
    }

    /// Who asked for a host first.
    pub fn owner(&self, host: &ServerName) -> Option<&Claimant> {
        self.of(host).iter().min_by_key(|claimant| claimant.number)
    }

    /// The age of a namespace's claim on a host; the youngest of all where there is none.
    pub fn number(&self, host: &ServerName, namespace: &str) -> u64 {
        let own = self.of(host).iter().find(|claimant| *claimant.namespace == *namespace);
        own.map_or(UNNUMBERED, |claimant| claimant.number)
    }

    /// Whether a host lies within a wildcard that another namespace asked for before this one and has for itself.
    pub fn is_within_older(&self, host: &ServerName, claimant: &Claimant) -> bool {
        let owner = super::host::wildcard_above(host).and_then(|wildcard| self.owner(&wildcard));
        owner.is_some_and(|owner| {
            owner.exclusive && owner.namespace != claimant.namespace && owner.number < claimant.number
        })
    }

    /// Whether any wildcard is for one namespace alone.
    pub fn has_exclusive_wildcard(&self) -> bool {
        let wildcards = self.hosts.iter().filter(|(host, _)| matches!(host, ServerName::Wildcard(_)));
        wildcards.flat_map(|(_, claimants)| claimants).any(|claimant| claimant.exclusive)
    }

    /// The age of a path; `None` while nobody else asks for the host.
    pub fn age(&self, host: &ServerName, namespace: &str, place: &str) -> Option<u64> {
        let claimant = self.of(host).iter().find(|claimant| *claimant.namespace == *namespace)?;
        claimant.places.as_ref()?.get(place).map(|held| held.number)
    }

    /// The claims once these ask, each host once and in order, and the moment at which the next that is reserved ends.
    /// `grace` is for how many seconds a claim outlives its objects. What is seen for the first time is as old as the first of
    /// `orders` says that knows anything of the host, which are those of other nodes.
    pub fn follow(
        previous: &Arc<Self>,
        asked: &[(&ServerName, Vec<Asking<'_>>)],
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
            // As nearly all of them are.
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
        edits.iter().filter(|(_, claimants)| claimants.is_empty()).for_each(|(host, _)| drop(claims.hosts.remove(*host)));
        let stay = edits.into_iter().filter(|(_, claimants)| !claimants.is_empty());
        let stay = stay.map(|(host, claimants)| (host.clone(), claimants));
        // A map that is made of what is in order already takes a fraction of the time.
        match claims.hosts.is_empty() {
            true => claims.hosts = stay.collect(),
            false => claims.hosts.extend(stay),
        }
        (Arc::new(claims), next_end)
    }

    /// What is kept for the next start.
    pub fn write(&self) -> impl Iterator<Item = Line<'_>> {
        self.hosts.iter().flat_map(|(host, claimants)| {
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
        })
    }

    /// What an earlier run left; a line that names no host is left out.
    pub fn read<'a>(lines: impl IntoIterator<Item = Line<'a>>) -> Self {
        let mut claims = Claims::default();
        for line in lines {
            let written = if line.host == "*" { "" } else { &*line.host };
            let Ok(host) = host::of_rule(Some(written)) else { continue };
            let held = |(place, number, gone): (Cow<'_, str>, _, _)| (Arc::from(&*place), Held { number, gone });
            let places: Option<BTreeMap<_, _>> = line.places.map(|places| places.into_iter().map(held).collect());
            let claimant = Claimant {
                namespace: (&*line.namespace).into(),
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

/// One claimant of one host as it is kept; field names are a contract with earlier versions of the daemon.
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

/// A path, its age, and since when nobody asks for it.
type LinePlace<'a> = (Cow<'a, str>, u64, Option<i64>);

impl Claimant {
    /// What it asks for of the host, by objects that are served or are not, or did until a moment ago: path (`None` for the
    /// whole host, where nobody knows which ones they were) and age.
    pub fn places(&self) -> impl Iterator<Item = (Option<&str>, u64)> {
        let is_whole = self.gone.is_some() && self.places.is_none();
        let places = self.places.iter().flatten().map(|(place, held)| (Some(&**place), held.number));
        is_whole.then_some((None, self.number)).into_iter().chain(places)
    }

    /// Whether it stays as it is when nobody else asks for the host, or did.
    fn is_as(&self, asking: &Asking<'_>) -> bool {
        self.namespace == *asking.namespace
            && self.gone.is_none()
            && self.places.is_none()
            && self.exclusive == asking.exclusive
    }

    /// Since when something of it is gone, when that is.
    fn ends(&self) -> Option<i64> {
        self.places.iter().flatten().filter_map(|(_, held)| held.gone).chain(self.gone).min()
    }
}

/// When claims are followed.
#[derive(Debug)]
struct Moment<'p> {
    previous: &'p Claims,
    now: i64,
    grace: i64,
    orders: &'p [Arc<ClaimOrder>],
    /// How many there are already.
    reserved: HashMap<Arc<str>, usize>,
    /// The number of the edit that is made of the host.
    edit: usize,
}

impl<'p> Moment<'p> {
    /// Since when a claim that nobody makes now is gone; `None` when it was reserved for long enough.
    fn gone(&mut self, namespace: &Arc<str>, before: Option<i64>) -> Option<i64> {
        // A clock that was set back must not reserve it for ever.
        let since = before.unwrap_or(self.now).min(self.now);
        if self.now - since >= self.grace {
            return None;
        }
        let reserved = self.reserved.entry(Arc::clone(namespace)).or_default();
        *reserved += 1;
        (*reserved <= MOST_RESERVED).then_some(since)
    }

    /// The first order that knows anything of a host.
    fn order_of(&self, host: &ServerName, asking: &[Asking<'_>]) -> Option<&'p ClaimOrder> {
        let knows = |order: &&ClaimOrder| {
            asking.iter().any(|asking| order.seniority(host, asking.namespace, None) != Seniority::Unknown)
        };
        self.orders.iter().map(AsRef::as_ref).find(knows)
    }

    fn follow<'a>(
        &mut self,
        host: &'a ServerName,
        before: &[Claimant],
        asking: &[Asking<'a>],
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
        asking: Option<&Asking<'_>>,
    ) -> Option<Claimant> {
        Some(match asking {
            // Whoever shares a host cannot have it for itself all at once: others were let in.
            Some(asking) => {
                let exclusive = asking.exclusive && (claimant.exclusive || is_alone);
                Claimant { gone: None, exclusive, ..claimant.clone() }
            }
            // What was never had is not reserved.
            None if self.previous.is_within_older(host, claimant) => return None,
            None => {
                let gone = self.gone(&claimant.namespace, claimant.gone)?;
                // Its paths go with it: what it does not ask for when it is back has been gone since now.
                let places = claimant.places.as_ref().map(|places| {
                    let mut reserved = |held: &Held| self.gone(&claimant.namespace, held.gone.or(Some(gone)));
                    let stay = places.iter().filter_map(|(place, held)| Some((place, held, reserved(held)?)));
                    stay.map(|(place, held, gone)| (Arc::clone(place), Held { gone: Some(gone), ..*held })).collect()
                });
                Claimant { gone: Some(gone), places, ..claimant.clone() }
            }
        })
    }

    fn follow_places<'a>(
        &mut self,
        host: &'a ServerName,
        claimant: &mut Claimant,
        asking: &Asking<'a>,
        order: Option<&ClaimOrder>,
        new: &mut Vec<New<'a>>,
    ) {
        // Whoever was alone had all of its paths when it got company, also while it was away.
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
            places.insert(Arc::clone(place), Held { number, gone: None });
        }
        for (place, held) in before {
            if let Some(gone) = self.gone(&claimant.namespace, held.gone) {
                places.insert(place, Held { gone: Some(gone), ..held });
            }
        }
        claimant.places = Some(places);
    }
}

fn seniority(order: Option<&ClaimOrder>, host: &ServerName, namespace: &str, place: Option<&str>) -> Seniority {
    order.map_or(Seniority::Unknown, |order| order.seniority(host, namespace, place))
}
