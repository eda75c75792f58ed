//! The claims after those of one translation: who stays, what is reserved, and what is new.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use super::{Claimant, Claims, UNNUMBERED};
use crate::allowed::Allowances;
use crate::claim::key::Key;
use crate::read::since::Since;
use crate::{Options, World};
use ingressd_model::{ClaimOrder, Port, Seniority, ServerName};

/// The most hosts and paths of one namespace that are reserved without any object that claims
/// them.
const MOST_RESERVED: usize = 10_000;

/// A claim of an object, served or not. Those on paths count only where several namespaces claim
/// the host.
#[derive(Debug, Clone)]
pub struct Ask<'a> {
    pub key: Key,
    pub namespace: &'a Arc<str>,
    pub since: Since<'a>,
    /// Whether it claims the host exclusively.
    pub exclusive: bool,
}

/// A new claim.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct New<'a> {
    seniority: Seniority,
    since: Since<'a>,
    key: &'a Key,
    namespace: &'a Arc<str>,
    /// The index of the edit that contains it.
    edit: usize,
}

/// A claimant of a host that has several.
#[derive(Debug)]
struct Party {
    namespace: Arc<str>,
    /// The age of all of its paths, where it was the only claimant until now, even while it was
    /// away.
    whole: Option<u64>,
    gone: Option<i64>,
}

/// The claims while they are being updated.
#[derive(Debug)]
pub struct Update<'p> {
    previous: &'p Arc<Claims>,
    now: i64,
    /// How many seconds a claim outlives its objects.
    grace: i64,
    /// Those of other nodes: a claim that is seen for the first time gets its age from the first
    /// that knows the host.
    orders: &'p [Arc<ClaimOrder>],
    /// The number of reservations so far.
    reserved: HashMap<Arc<str>, usize>,
    edits: Vec<(Key, Vec<Claimant>)>,
    /// Whether these say nothing but that hosts have the one claimant who asks for them: then
    /// nothing is decided otherwise under the new claims.
    is_final: bool,
    new: Vec<New<'p>>,
    /// Since when the first claim is reserved.
    first_gone: Option<i64>,
    /// The order that knows the present host, and its claimants if there are several.
    order: Option<&'p ClaimOrder>,
    parties: Vec<Party>,
    /// The namespaces that claimed hosts within each wildcard host before.
    within: OnceCell<HashMap<ServerName, HashSet<&'p str>>>,
}

impl<'p> Update<'p> {
    /// No change of these claims yet.
    pub fn of(previous: &'p Arc<Claims>, options: &Options, world: &'p World) -> Self {
        Update {
            previous,
            now: world.now,
            grace: options.host_grace,
            orders: &world.claim_orders,
            reserved: HashMap::new(),
            edits: Vec::new(),
            is_final: true,
            new: Vec::new(),
            first_gone: None,
            order: None,
            parties: Vec::new(),
            within: OnceCell::new(),
        }
    }

    /// Since when a claim without objects has ended; `None` when its reservation is over.
    pub fn gone(&mut self, namespace: &Arc<str>, before: Option<i64>) -> Option<i64> {
        // A clock that was set back must not prolong the reservation for ever.
        let since = before.unwrap_or(self.now).min(self.now);
        if self.now - since >= self.grace {
            return None;
        }
        let reserved = self.reserved.entry(Arc::clone(namespace)).or_default();
        *reserved += 1;
        (*reserved <= MOST_RESERVED).then_some(since)
    }

    /// Whether hosts within a wildcard host are claimed by other namespaces.
    fn has_others_within(&self, name: &ServerName, own: &str) -> bool {
        let within = || self.within.get_or_init(|| self.previous.within_wildcards()).get(name);
        matches!(name, ServerName::Wildcard(_)) && within().is_some_and(|all| all.iter().any(|other| *other != own))
    }

    fn edit(&mut self, key: &Key, before: &[Claimant], after: Vec<Claimant>) {
        let gone = after.iter().filter_map(|claimant| claimant.gone);
        self.first_gone = gone.chain(self.first_gone).min();
        if after != before {
            let is_of_host = matches!(key, Key::Host(_, _, None));
            self.is_final &= is_of_host && matches!(&after[..], [one] if one.gone.is_none());
            self.edits.push((key.clone(), after));
        }
    }

    /// Follows who has ports now.
    pub fn follow_ports(&mut self, mut holders: BTreeMap<Port, Claimant>) {
        let previous = self.previous;
        let ports: BTreeSet<_> = previous.ports().map(|(port, _)| port).chain(holders.keys().copied()).collect();
        for port in ports {
            let (key, after) = (Key::port(port), holders.remove(&port).into_iter().collect());
            self.edit(&key, previous.on(&key), after);
        }
    }

    /// Follows claims on hosts and paths, sorted by what they are on.
    pub fn follow_names(&mut self, asks: &'p [Ask<'p>], allowances: &mut Allowances<'_>) {
        let mut known = self.previous.names().peekable();
        let mut asked = asks.chunk_by(|one, other| one.key == other.key).peekable();
        loop {
            let keys = [known.peek().map(|(key, _)| *key), asked.peek().map(|asking| &asking[0].key)];
            let Some(key) = keys.into_iter().flatten().min() else { break };
            let before = known.next_if(|(other, _)| *other == key).map_or(&[][..], |(_, before)| before);
            let asking = asked.next_if(|asking| asking[0].key == *key).unwrap_or_default();
            let Key::Host(_, name, beginning) = key else { continue };
            let after = match (before, beginning) {
                // Nearly all claims are unchanged.
                ([before], None) if !asking.is_empty() && asking.iter().all(|ask| before.is_as(ask)) => {
                    self.parties.clear();
                    continue;
                }
                (_, None) => self.claimants(name, before, asking, allowances),
                (_, Some(beginning)) => self.claimants_of_path((name, beginning), before, asking),
            };
            self.edit(key, before, after);
        }
    }

    /// The claimants of a host.
    fn claimants(
        &mut self,
        name: &ServerName,
        before: &[Claimant],
        asking: &'p [Ask<'p>],
        allowances: &mut Allowances<'_>,
    ) -> Vec<Claimant> {
        // The oldest object speaks for its namespace, also while it cannot be served.
        let find =
            |namespace: &str| asking.iter().filter(|ask| **ask.namespace == *namespace).min_by_key(|ask| ask.since);
        let knows = |order: &&ClaimOrder| {
            asking.iter().any(|ask| order.seniority(name, ask.namespace, None) != Seniority::Unknown)
        };
        self.order = self.orders.iter().map(AsRef::as_ref).find(knows);
        let mut after = Vec::new();
        for claimant in before {
            let stays = match find(&claimant.namespace) {
                // A claim on a shared host cannot become exclusive at once: others were let in.
                Some(ask) => {
                    let is_alone = || before.len() == 1 && !self.has_others_within(name, &claimant.namespace);
                    let exclusive = ask.exclusive && (claimant.exclusive || is_alone());
                    Some(Claimant { gone: None, exclusive, ..claimant.clone() })
                }
                // A host that it never had is not reserved.
                None if self.previous.has_nothing(name, claimant, allowances) => None,
                None => {
                    let gone = self.gone(&claimant.namespace, claimant.gone);
                    gone.map(|gone| Claimant { gone: Some(gone), ..claimant.clone() })
                }
            };
            after.extend(stays);
        }
        let known = after.len();
        for ask in asking {
            if !after.iter().any(|claimant| claimant.namespace == *ask.namespace) {
                let exclusive = find(ask.namespace).is_some_and(|oldest| oldest.exclusive);
                let namespace = Arc::clone(ask.namespace);
                let number = self.number(name, None, ask.namespace, asking);
                after.push(Claimant { namespace, number, exclusive, is_whole: false, gone: None });
            }
        }
        // There is one for each host, mostly alone.
        after.shrink_to_fit();
        self.parties.clear();
        let is_shared = after.len() > 1;
        for (place, claimant) in after.iter_mut().enumerate() {
            if is_shared {
                let whole = (claimant.is_whole && place < known).then_some(claimant.number);
                self.parties.push(Party { namespace: Arc::clone(&claimant.namespace), whole, gone: claimant.gone });
            }
            claimant.is_whole = !is_shared || claimant.has_left_alone();
        }
        after
    }

    /// The claimants of a path: it is kept with the host. A path that a namespace does not claim
    /// when it is back has ended then.
    fn claimants_of_path(
        &mut self,
        (name, beginning): (&ServerName, &'p Arc<str>),
        before: &[Claimant],
        asking: &'p [Ask<'p>],
    ) -> Vec<Claimant> {
        let parties = std::mem::take(&mut self.parties);
        let mut after = Vec::with_capacity(parties.len());
        for Party { namespace, whole, gone } in &parties {
            let held = before.iter().find(|held| held.namespace == *namespace);
            let ask = asking.iter().find(|ask| ask.namespace == namespace);
            let (number, gone) = match (ask, held) {
                (Some(_), Some(held)) => (held.number, None),
                (Some(ask), None) => {
                    let number = whole.unwrap_or_else(|| self.number(name, Some(beginning), ask.namespace, asking));
                    (number, None)
                }
                (None, Some(held)) => match self.gone(namespace, held.gone.or(*gone)) {
                    Some(gone) => (held.number, Some(gone)),
                    None => continue,
                },
                (None, None) => continue,
            };
            let namespace = Arc::clone(namespace);
            after.push(Claimant { namespace, number, exclusive: true, is_whole: true, gone });
        }
        self.parties = parties;
        after
    }

    /// The age of a claim that is new, which it gets when all are known.
    fn number(
        &mut self,
        name: &ServerName,
        beginning: Option<&str>,
        namespace: &'p Arc<str>,
        asking: &'p [Ask<'p>],
    ) -> u64 {
        let own = asking.iter().filter(|ask| ask.namespace == namespace);
        if let Some(Ask { key, since, .. }) = own.min_by_key(|ask| ask.since) {
            let seniority = self.order.map(|order| order.seniority(name, namespace, beginning));
            let seniority = seniority.unwrap_or(Seniority::Unknown);
            self.new.push(New { seniority, since: *since, key, namespace, edit: self.edits.len() });
        }
        UNNUMBERED
    }

    /// The claims, the time at which the next reservation ends, and whether all is decided in the
    /// same way under these claims.
    pub fn finish(mut self) -> (Arc<Claims>, Option<i64>, bool) {
        let ends = self.first_gone.map(|gone| gone.saturating_add(self.grace));
        if self.edits.is_empty() {
            return (Arc::clone(self.previous), ends, true);
        }
        let mut claims = Claims::clone(self.previous);
        self.new.sort_unstable();
        for new in &self.new {
            let claimants = self.edits.get_mut(new.edit).into_iter().flat_map(|(_, claimants)| claimants);
            for claimant in claimants.filter(|claimant| claimant.namespace == *new.namespace) {
                claimant.number = claims.next;
            }
            claims.next += 1;
        }
        let (stay, end): (Vec<_>, Vec<_>) = self.edits.into_iter().partition(|(_, claimants)| !claimants.is_empty());
        end.iter().for_each(|(key, _)| drop(claims.held.remove(key)));
        // To make a map of sorted entries takes a fraction of the time of inserting each.
        match claims.held.is_empty() {
            true => claims.held = stay.into_iter().collect(),
            false => claims.held.extend(stay),
        }
        (Arc::new(claims), ends, self.is_final)
    }
}

impl Claimant {
    /// Whether it stays unchanged when it is and was the only claimant.
    fn is_as(&self, ask: &Ask<'_>) -> bool {
        self.namespace == *ask.namespace && self.gone.is_none() && self.is_whole && self.exclusive == ask.exclusive
    }
}
