//! Which nodes are alive, judged by when this node saw their records change.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::Lease;
use tokio::time::Instant;

use super::member::Member;
use super::order::Order;
use ingressd_model::ClaimOrder;

/// How certain it is that a node is alive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Life {
    /// Its record did not change for the duration of its Lease.
    Expired,
    /// Its record existed when we began to watch, and may be a leftover: that is enough to keep
    /// published addresses, but not to add any.
    Presumed,
    /// It was seen to renew its record.
    Alive,
}

impl Life {
    /// The word for people and machines.
    pub const fn name(self) -> &'static str {
        match self {
            Life::Expired => "expired",
            Life::Presumed => "presumed",
            Life::Alive => "alive",
        }
    }
}

#[derive(Debug, Clone)]
struct KnownMember {
    member: Arc<Member>,
    duration: Duration,
    renewed: Option<Timestamp>,
    created: Option<Timestamp>,
    /// When the record was last seen to change, or first seen.
    changed: Instant,
    proven: bool,
}

/// The records of all nodes. Clocks of other nodes are not trusted, and time without a working
/// watch does not count: after an outage of the API each node gets the full duration again.
#[derive(Debug, Clone)]
pub struct Members {
    seen: BTreeMap<Arc<str>, KnownMember>,
    /// When anything was last seen; `None` before the first complete list.
    looked: Option<Instant>,
    /// How long the watch may be silent before it counts as failed; our own record changes more
    /// often.
    blind_after: Duration,
    /// The name of the Lease with the administrator's order, and the order.
    order: Option<(Arc<str>, Order)>,
}

impl Members {
    /// No members for Leases with this duration.
    pub fn new(duration: Duration) -> Self {
        Members { seen: BTreeMap::new(), looked: None, blind_after: duration * 2 / 3, order: None }
    }

    /// Whether there was a complete list.
    pub fn is_complete(&self) -> bool {
        self.looked.is_some()
    }

    /// What the administrator ordered all nodes of the group to do.
    pub fn order(&self) -> Option<Order> {
        self.order.as_ref().map(|(_, order)| *order)
    }

    /// Replaces all records by a complete list.
    pub fn replace(&mut self, leases: &[Lease], now: Instant) {
        self.look(now);
        let before = std::mem::take(&mut self.seen);
        self.order = None;
        for lease in leases {
            let known = before.get(lease.metadata.name.as_deref().unwrap_or_default());
            self.put(lease, known.cloned(), false, now);
        }
    }

    /// Adds or updates a record.
    pub fn apply(&mut self, lease: &Lease, now: Instant) {
        self.look(now);
        let known = self.seen.remove(lease.metadata.name.as_deref().unwrap_or_default());
        self.put(lease, known, true, now);
    }

    /// Removes the record of this name, which was deleted.
    pub fn delete(&mut self, name: &str, now: Instant) {
        self.look(now);
        self.seen.remove(name);
        self.order.take_if(|(lease, _)| **lease == *name);
    }

    fn look(&mut self, now: Instant) {
        if self.looked.is_some_and(|looked| now - looked > self.blind_after) {
            self.seen.values_mut().for_each(|seen| seen.changed = now);
        }
        self.looked = Some(now);
    }

    fn put(&mut self, lease: &Lease, known: Option<KnownMember>, is_news: bool, now: Instant) {
        let name: Arc<str> = lease.metadata.name.as_deref().unwrap_or_default().into();
        if self.order.as_ref().is_some_and(|(lease, _)| *lease == name) {
            self.order = None;
        }
        if let Some(order) = Order::read(lease) {
            self.order = Some((name, order));
            return;
        }
        let Some((member, duration)) = Member::read(lease) else { return };
        let renewed = lease.spec.as_ref().and_then(|spec| spec.renew_time.as_ref()).map(|time| time.0);
        let (changed, proven) = match known {
            Some(seen) if seen.renewed == renewed && seen.member.identity == member.identity => {
                (seen.changed, seen.proven)
            }
            Some(_) => (now, true),
            None => (now, is_news),
        };
        let created = lease.metadata.creation_timestamp.as_ref().map(|time| time.0);
        self.seen.insert(name, KnownMember { member: Arc::new(member), duration, renewed, created, changed, proven });
    }

    /// How long ago each record was seen to change, in the order of [`Members::members`].
    pub fn ages(&self, now: Instant) -> impl Iterator<Item = Duration> {
        self.seen.values().map(move |seen| now.saturating_duration_since(seen.changed))
    }

    /// Every node and how certain it is that it is alive, by name.
    pub fn members(&self, now: Instant) -> impl Iterator<Item = (&Arc<Member>, Life)> {
        let now = self.looked.map_or(now, |looked| now.min(looked + self.blind_after));
        self.seen.values().map(move |seen| {
            let life = match (now >= seen.changed + seen.duration, seen.proven) {
                (true, _) => Life::Expired,
                (false, true) => Life::Alive,
                (false, false) => Life::Presumed,
            };
            (&seen.member, life)
        })
    }

    /// The orders of claims in the records of all nodes, alive or not: this node's first, then by
    /// age of the record.
    pub fn claim_orders(&self, identity: &str) -> Arc<[Arc<ClaimOrder>]> {
        let mut seen: Vec<_> = self.seen.values().filter(|seen| !seen.member.claim_order.is_empty()).collect();
        seen.sort_by_key(|seen| (*seen.member.identity != *identity, seen.created.is_none(), seen.created));
        seen.into_iter().map(|seen| Arc::clone(&seen.member.claim_order)).collect()
    }

    /// The order of claims in the record of one node.
    pub fn claim_order(&self, identity: &str) -> Arc<ClaimOrder> {
        let own = self.seen.values().find(|seen| *seen.member.identity == *identity);
        own.map(|own| Arc::clone(&own.member.claim_order)).unwrap_or_default()
    }

    /// When the next record expires, if no change is seen before.
    pub fn next_expiry(&self, now: Instant) -> Option<Instant> {
        self.seen.values().map(|seen| seen.changed + seen.duration).filter(|expiry| *expiry > now).min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DURATION: Duration = Duration::from_secs(15);

    fn lease(node: &str, renewed: i64, duration: Duration) -> Lease {
        let member = Member::serving_at(node, &["192.0.2.1"]);
        let now = Timestamp::from_second(renewed).unwrap();
        member.lease("ingressd", duration, now, now)
    }

    fn lives(members: &Members, now: Instant) -> Vec<Life> {
        members.members(now).map(|(_, life)| life).collect()
    }

    /// The state of node `a` after these steps: a time in seconds at which it is seen, and the
    /// renew time in its record. `b` is seen every 5 s.
    fn after(steps: &[(u64, i64)], last: u64) -> Life {
        let began = Instant::now();
        let mut members = Members::new(DURATION);
        for second in 0..=last {
            let now = began + Duration::from_secs(second);
            match steps.iter().find(|(at, _)| *at == second) {
                Some((0, renewed)) => members.replace(&[lease("a", *renewed, DURATION)], now),
                Some((_, renewed)) => members.apply(&lease("a", *renewed, DURATION), now),
                None if second % 5 == 0 => members.apply(&lease("b", second as i64, DURATION), now),
                None => {}
            }
        }
        lives(&members, began + Duration::from_secs(last))[0]
    }

    #[test]
    fn a_node_lives_as_long_as_its_record_is_seen_to_change() {
        for (steps, last, expected) in [
            // The clocks do not matter: only that the time in the record changes.
            (&[(0, 5000)][..], 14, Life::Presumed),
            (&[(0, 5000)], 15, Life::Expired),
            (&[(0, 5000), (3, 4000)], 3, Life::Alive),
            (&[(0, 5000), (3, 4000)], 17, Life::Alive),
            (&[(0, 5000), (3, 4000)], 18, Life::Expired),
            // A change of the Lease by another client is no sign of life.
            (&[(0, 5000), (3, 5000)], 14, Life::Presumed),
            (&[(0, 5000), (3, 5000)], 15, Life::Expired),
            // The node comes back.
            (&[(0, 5000), (20, 6000)], 20, Life::Alive),
            // A node whose Lease was created while we watched.
            (&[(7, 5000)], 7, Life::Alive),
        ] {
            assert_eq!(after(steps, last), expected, "{steps:?} at {last}");
        }
    }

    #[test]
    fn a_time_in_which_nothing_is_seen_does_not_count() {
        let began = Instant::now();
        let at = |seconds| began + Duration::from_secs(seconds);
        let mut members = Members::new(DURATION);
        assert!(!members.is_complete());
        members.replace(&[lease("a", 1, DURATION)], began);
        members.apply(&lease("a", 2, DURATION), at(1));
        assert_eq!(lives(&members, at(300)), [Life::Alive], "blind: nothing is held to have happened");
        members.replace(&[lease("a", 2, DURATION)], at(300));
        assert_eq!(lives(&members, at(309)), [Life::Alive], "the full duration again");
        members.apply(&lease("b", 1, DURATION), at(309));
        assert_eq!(lives(&members, at(316)), [Life::Expired, Life::Alive]);
    }

    #[test]
    fn an_order_counts_from_when_it_is_seen_until_it_is_gone() {
        let order = |order: Order| serde_json::from_value(order.lease("edge", "ingressd")).unwrap();
        let (began, mut members) = (Instant::now(), Members::new(DURATION));
        members.replace(&[lease("a", 1, DURATION), order(Order::Hold)], began);
        assert_eq!((members.order(), lives(&members, began).len()), (Some(Order::Hold), 1));
        members.apply(&order(Order::Publish), began);
        assert_eq!(members.order(), Some(Order::Publish));
        members.delete(&Order::lease_name("ingressd"), began);
        assert_eq!(members.order(), None);
        members.apply(&order(Order::Publish), began);
        members.replace(&[lease("a", 1, DURATION)], began);
        assert_eq!(members.order(), None);
    }

    #[test]
    fn a_record_counts_for_as_long_as_it_says() {
        let began = Instant::now();
        let grace = Duration::from_secs(60);
        let mut members = Members::new(DURATION);
        members.replace(&[lease("a", 1, grace), lease("b", 1, DURATION)], began);
        for second in (5..=55).step_by(5) {
            members.apply(&lease("b", second as i64, DURATION), began + Duration::from_secs(second));
        }
        assert_eq!(lives(&members, began + Duration::from_secs(59)), [Life::Presumed, Life::Alive]);
        assert_eq!(members.next_expiry(began + Duration::from_secs(59)), Some(began + grace));
        assert_eq!(lives(&members, began + Duration::from_secs(60))[0], Life::Expired);
        members.delete(&lease("a", 1, grace).metadata.name.unwrap(), began + Duration::from_secs(60));
        assert_eq!(lives(&members, began + Duration::from_secs(60)), [Life::Alive]);
    }
}
