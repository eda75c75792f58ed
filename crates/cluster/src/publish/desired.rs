//! Which addresses an object should have, from what is known about it and about the nodes.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::address::Address;
use super::member::{Member, Revision};
use super::members::Life;
use super::served::Offer;
use super::unserved::Unserved;
use ingressd_model::ObjectId;

/// What is known about the nodes.
#[derive(Debug, Clone, Default)]
pub struct Nodes {
    /// The addresses of this node; empty when they must not be published.
    pub own: Vec<Address>,
    /// The other nodes that may be alive and may be published.
    pub others: Vec<(Arc<Member>, Life)>,
    /// All addresses in the records of nodes, and those that this node had before, sorted;
    /// including those that must not be published.
    pub known: Vec<Address>,
}

impl Nodes {
    /// Selects the nodes that may be published. `us` is not among the others, whatever its record
    /// says; `former` are addresses that this node had before.
    pub fn new<'a>(
        us: &Member,
        members: impl Iterator<Item = (&'a Arc<Member>, Life)>,
        former: &BTreeSet<Address>,
    ) -> Self {
        let own = if us.is_published() { us.addresses.clone() } else { Vec::new() };
        let known = us.addresses.iter().chain(former).cloned().collect();
        let mut nodes = Nodes { own, others: Vec::new(), known };
        for (member, life) in members {
            nodes.known.extend(member.addresses.iter().cloned());
            if member.identity != us.identity && member.is_published() && life != Life::Expired {
                nodes.others.push((Arc::clone(member), life));
            }
        }
        nodes.known.sort();
        nodes.known.dedup();
        nodes
    }

    /// Whether the same nodes are published in both, and lack the same objects.
    pub fn is_same(&self, other: &Nodes) -> bool {
        fn part((member, life): &(Arc<Member>, Life)) -> (&str, &[Address], &Unserved, Life) {
            (&member.identity, &member.addresses, &member.unserved, *life)
        }
        self.own == other.own
            && self.known == other.known
            && self.others.iter().map(part).eq(other.others.iter().map(part))
    }

    /// Whether the same nodes are published as before, and none has observed less.
    pub fn follow(&self, before: &Nodes) -> bool {
        let both = before.others.iter().zip(&self.others);
        before.is_same(self) && both.into_iter().all(|((one, _), (other, _))| one.observed <= other.observed)
    }

    /// Whether they have come as far in both.
    pub fn observe_same(&self, other: &Nodes) -> bool {
        let observed = |(member, _): &(Arc<Member>, Life)| member.observed;
        self.others.iter().map(observed).eq(other.others.iter().map(observed))
    }

    /// Whether an address is or was one of our nodes'.
    pub fn knows(&self, address: &Address) -> bool {
        self.known.binary_search(address).is_ok()
    }
}

/// The addresses that the object should have, sorted. `needs` is the revision in which its present
/// content was first seen (`None` when the API's `resourceVersion` is not a number), and `current`
/// what its status has now.
///
/// A node's address is added when the node is known to serve the object: that takes a sign of life
/// and a confirmed generation that contains it. The address stays until there is a reason to
/// remove it, such as a node that is pinned to an earlier generation without the object. An object
/// whose routes are all closed gets no address, and keeps those that it has: DNS names that follow
/// addresses must not vanish because of a brief mistake. An object that this node alone refuses
/// gets no address from it, and keeps those of nodes that serve it: a leader that knows less than
/// other nodes must not withdraw what they serve.
pub fn desired(
    id: &ObjectId,
    (offer, needs): (Offer, Option<Revision>),
    current: &[Address],
    nodes: &Nodes,
) -> Vec<Address> {
    let is_there = |addresses: &[Address]| addresses.iter().any(|address| current.contains(address));
    let is_wanted = match offer {
        Offer::Served => true,
        Offer::Unknown | Offer::Closed => is_there(&nodes.own),
        Offer::Unserved | Offer::Disputed | Offer::Nothing => false,
    };
    let mut wanted = if is_wanted { nodes.own.clone() } else { Vec::new() };
    for (member, life) in nodes.others.iter().filter(|_| offer != Offer::Nothing) {
        let is_served = match (needs, member.observed) {
            (Some(needs), Some(observed)) => needs <= observed,
            // Without revisions nothing can be compared; the node serves something, which has to
            // be enough.
            (None, _) => true,
            (Some(_), None) => false,
        };
        let is_added =
            matches!(offer, Offer::Served | Offer::Unserved | Offer::Unknown) && *life == Life::Alive && is_served;
        if !member.unserved.has(id, needs, member.observed) && (is_added || is_there(&member.addresses)) {
            wanted.extend_from_slice(&member.addresses);
        }
    }
    wanted.sort();
    wanted.dedup();
    wanted
}

#[cfg(test)]
mod tests {
    use super::*;
    use ingressd_model::Kind;

    const A: &str = "192.0.2.1";
    const B: &str = "192.0.2.2";

    fn member(node: &str, address: &str, observed: Option<u128>) -> Member {
        Member { observed: observed.map(Revision), ..Member::serving_at(node, &[address]) }
    }

    fn cart() -> ObjectId {
        ObjectId::new(Kind::INGRESS, "shop", "cart")
    }

    fn texts(addresses: &[Address]) -> Vec<String> {
        addresses.iter().map(ToString::to_string).collect()
    }

    /// The addresses that the status of an Ingress should have, which the node `a` and perhaps
    /// another one serve, and which has these now.
    fn wanted(offer: Offer, other: Option<(Member, Life)>, current: &[&str]) -> Vec<String> {
        let others: Vec<_> = other.into_iter().map(|(member, life)| (Arc::new(member), life)).collect();
        let members = others.iter().map(|(member, life)| (member, *life));
        let nodes = Nodes::new(&member("a", A, None), members, &BTreeSet::new());
        let current: Vec<Address> = current.iter().map(|text| text.parse().unwrap()).collect();
        texts(&desired(&cart(), (offer, Some(Revision(50))), &current, &nodes))
    }

    #[test]
    fn addresses_are_those_of_the_nodes_that_serve_the_object() {
        let up = |observed| Some((member("b", B, observed), Life::Alive));
        let presumed = Some((member("b", B, Some(50)), Life::Presumed));
        let expired = Some((member("b", B, Some(50)), Life::Expired));
        let drained = Some((Member { drained: true, ..member("b", B, Some(50)) }, Life::Alive));
        let unserved = Unserved::of(&[&cart()], false);
        let unserved = Some((Member { unserved, pinned: Some(1), ..member("b", B, Some(49)) }, Life::Alive));
        let down = Some((Member { serving: false, ..member("b", B, Some(50)) }, Life::Alive));
        let [no, unknown, yes] = [Offer::Unserved, Offer::Unknown, Offer::Served];
        for (what, offer, other, current, expected) in [
            ("alone", yes, None, &[][..], &[A][..]),
            ("not ours", Offer::Nothing, up(Some(50)), &[A, B], &[]),
            ("not yet confirmed", no, None, &[], &[]),
            ("left out of the confirmed generation", no, None, &[A], &[]),
            ("after a restart", unknown, None, &[A], &[A]),
            ("after a restart, a new object", unknown, None, &[], &[]),
            ("both serve it", yes, up(Some(50)), &[], &[A, B]),
            ("the other is newer", yes, up(Some(51)), &[], &[A, B]),
            ("the other has not seen it yet", yes, up(Some(49)), &[], &[A]),
            ("the other says nothing", yes, up(None), &[], &[A]),
            ("the other serves an older version", yes, up(Some(49)), &[A, B], &[A, B]),
            ("only the other serves it", no, up(Some(50)), &[], &[B]),
            ("it may be a leftover", yes, presumed.clone(), &[A], &[A]),
            ("it may be restarting", yes, presumed, &[A, B], &[A, B]),
            ("it died", yes, expired, &[A, B], &[A]),
            ("it is drained", yes, drained, &[A, B], &[A]),
            ("it stays at a generation without it", yes, unserved.clone(), &[A, B], &[A]),
            ("only such a one is left", no, unserved, &[B], &[]),
            ("its nginx is down", yes, down, &[A, B], &[A]),
            ("somebody else's address", yes, None, &["203.0.113.9"], &[A]),
        ] {
            assert_eq!(wanted(offer, other, current), expected, "{what}");
        }
    }

    #[test]
    fn what_is_closed_gets_no_address_and_keeps_what_it_has() {
        let other = |observed, life| Some((member("b", B, Some(observed)), life));
        for (what, other, current, expected) in [
            ("new", other(50, Life::Alive), &[][..], &[][..]),
            ("new and alone", None, &[], &[]),
            ("served before", other(50, Life::Alive), &[A, B], &[A, B]),
            ("served before, alone", None, &[A], &[A]),
            ("served before by the other", other(50, Life::Alive), &[B], &[B]),
            ("served before, a node comes", other(50, Life::Alive), &[A], &[A]),
            ("served before, a node goes", other(50, Life::Expired), &[A, B], &[A]),
        ] {
            assert_eq!(wanted(Offer::Closed, other, current), expected, "{what}");
        }
    }

    #[test]
    fn what_this_node_alone_refuses_keeps_the_addresses_of_those_that_serve_it() {
        let serves = member("b", B, Some(50));
        let refuses = Member { unserved: Unserved::of(&[&cart()], false), ..serves.clone() };
        use Offer::{Disputed, Nothing};
        for (what, offer, other, life, current, expected) in [
            ("it serves", Disputed, &serves, Life::Alive, &[A, B][..], &[B][..]),
            ("it may be restarting", Disputed, &serves, Life::Presumed, &[B], &[B]),
            ("nothing was published before", Disputed, &serves, Life::Alive, &[], &[]),
            ("it refuses, too", Disputed, &refuses, Life::Alive, &[A, B], &[]),
            ("it died", Disputed, &serves, Life::Expired, &[A, B], &[]),
            ("refused for what it is", Nothing, &serves, Life::Alive, &[A, B], &[]),
        ] {
            let other = Arc::new(other.clone());
            let nodes = Nodes::new(&member("a", A, None), [(&other, life)].into_iter(), &BTreeSet::new());
            let current: Vec<Address> = current.iter().map(|text| text.parse().unwrap()).collect();
            let wanted = desired(&cart(), (offer, Some(Revision(50))), &current, &nodes);
            assert_eq!(texts(&wanted), expected, "{what}");
        }
    }

    #[test]
    fn a_node_that_does_not_serve_is_not_published_by_itself_either() {
        let wanted = |nodes: &Nodes| desired(&cart(), (Offer::Served, None), &[A.parse().unwrap()], nodes);
        for us in [Member { drained: true, ..member("a", A, None) }, Member { serving: false, ..member("a", A, None) }]
        {
            let nodes = Nodes::new(&us, std::iter::empty(), &BTreeSet::new());
            assert_eq!(texts(&wanted(&nodes)), [""; 0]);
            assert!(nodes.knows(&A.parse().unwrap()));
        }
        // An API without numeric revisions: all that is known is that the other node serves.
        let other = Arc::new(member("b", B, None));
        let nodes = Nodes::new(&member("a", A, None), [(&other, Life::Alive)].into_iter(), &BTreeSet::new());
        assert_eq!(texts(&wanted(&nodes)), [A, B]);
    }
}
