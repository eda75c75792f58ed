//! How far the withdrawal of a drained node has come, according to the cluster.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use ingressd_cluster::publish::{Address, Life, Peer, Served, View};
use ingressd_model::ObjectState;

/// The withdrawal of a drained node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Withdrawal {
    /// Nothing is published, because the source is a folder.
    Unpublished,
    /// The node is known to a cluster.
    Published {
        /// How many objects have an address of this node in their status that no other node
        /// publishes.
        objects: usize,
        /// Whether the Lease of this node says that it is drained.
        noted: bool,
        /// Whether the data about the cluster is current.
        current: bool,
        /// How many other nodes are published.
        others: usize,
    },
}

impl Withdrawal {
    /// Evaluates the statuses and Leases that were last read from the cluster. Addresses that
    /// another instance applied to objects of other classes stay, as they should.
    pub fn of(served: &Served, view: Option<View>, current: bool) -> Self {
        let Some(view) = view else { return Withdrawal::Unpublished };
        let own = view.members.iter().find(|peer| peer.member.identity == view.identity);
        let others = view.members.iter().filter(|Peer { member, life, .. }| {
            member.identity != view.identity && member.is_published() && *life != Life::Expired
        });
        let others: Vec<_> = others.filter(|peer| !peer.member.addresses.is_empty()).collect();
        let theirs: BTreeSet<&Address> = others.iter().flat_map(|peer| &peer.member.addresses).collect();
        let ours: Vec<_> = own.iter().flat_map(|peer| &peer.member.addresses).collect();
        let ours: Vec<_> = ours.into_iter().filter(|address| !theirs.contains(address)).collect();
        let has_ours = |addresses: &[Address]| ours.iter().any(|address| addresses.contains(address));
        let with_ours = served.snapshot.published().filter(|entry| has_ours(&served.statuses.addresses(*entry)));
        let accepts = |id| ObjectState::find(&served.states, id).is_some_and(|state| served.accepts(state));
        let objects = with_ours.filter(|entry| {
            let applied = entry.published.and_then(|published| published.is_applied_by(&view.manager));
            applied != Some(false) || accepts(entry.id)
        });
        let objects = objects.count();
        let noted = own.is_some_and(|peer| peer.member.drained);
        Withdrawal::Published { objects, noted, current, others: others.len() }
    }

    /// The withdrawal as JSON. Member names are a contract.
    pub fn json(&self, connections: Option<usize>) -> Value {
        match self {
            Withdrawal::Unpublished => json!({"published": false, "done": true, "connections": connections}),
            Withdrawal::Published { objects, noted, current, others } => json!({
                "published": true,
                "done": *noted && *current && *objects == 0,
                "noted": noted,
                "current": current,
                "ingresses": objects,
                "others": others,
                "connections": connections,
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use super::*;
    use ingressd_cluster::publish::{Member, Mode, Writes};
    use ingressd_model::{Kind, ObjectId, WorkingVersion};
    use ingressd_objects::{Ingress, Published, Snapshot, Stored, Version};

    const MANAGER: &str = "ingressd/ingressd/ingressd";

    fn member(identity: &str, address: &str, drained: bool) -> Arc<Member> {
        let (identity, addresses) = (identity.into(), vec![address.parse().unwrap()]);
        Arc::new(Member { identity, addresses, serving: true, drained, ..Member::default() })
    }

    /// Ingresses with these addresses in their status.
    fn snapshot(addresses: &[&[&str]]) -> Snapshot {
        let mut snapshot = Snapshot::default();
        for (number, addresses) in addresses.iter().enumerate() {
            let entries: Vec<_> = addresses.iter().map(|ip| json!({"ip": ip})).collect();
            let status = json!({"loadBalancer": {"ingress": entries}});
            let status = Some(serde_json::from_value(status).unwrap());
            snapshot.ingresses.edit().push(Stored {
                id: Arc::new(ObjectId::new(Kind::INGRESS, "shop", &number.to_string())),
                version: Version("1".into()),
                object: Arc::new(Ingress::default()),
                published: Some(Arc::new(Published::new(None, status))),
                place: None,
            });
        }
        snapshot
    }

    #[test]
    fn it_is_done_when_the_cluster_says_so() {
        const A: &str = "192.0.2.1";
        const B: &str = "192.0.2.2";
        let (out, still_in) = (member("a", A, true), member("a", A, false));
        let other = || Some((member("b", B, false), Life::Alive));
        for (what, us, other, statuses, current, done, left) in [
            ("it is out", &out, other(), &[&[B][..], &[][..]][..], true, true, 0),
            ("two still have it", &out, other(), &[&[A, B], &[A]], true, false, 2),
            ("its Lease says nothing yet", &still_in, other(), &[&[B]], true, false, 0),
            ("what is known is old", &out, other(), &[&[B]], false, false, 0),
            (
                "another stands for the address",
                &out,
                Some((member("b", A, false), Life::Alive)),
                &[&[A]],
                true,
                true,
                0,
            ),
            ("that one is gone", &out, Some((member("b", A, false), Life::Expired)), &[&[A]], true, false, 1),
            ("that one is out, too", &out, Some((member("b", A, true), Life::Alive)), &[&[A]], true, false, 1),
        ] {
            let members = [(Arc::clone(us), Life::Alive)].into_iter().chain(other);
            let members = members.map(|(member, life)| Peer { member, life, age: Duration::ZERO }).collect();
            let (mode, addresses) = (Mode::Nodes, None);
            let view = View {
                identity: "a".into(),
                manager: MANAGER.into(),
                leads: false,
                leader: None,
                mode,
                writes: Writes::Now,
                addresses,
                members,
            };
            let served = Served { snapshot: Arc::new(snapshot(statuses)), ..Served::default() };
            let withdrawal = Withdrawal::of(&served, Some(view), current).json(Some(7));
            assert_eq!((&withdrawal["done"], &withdrawal["ingresses"]), (&json!(done), &json!(left)), "{what}");
            assert_eq!(withdrawal["connections"], 7);
        }
        let served = Served { snapshot: Arc::new(snapshot(&[&[A]])), ..Served::default() };
        assert_eq!(Withdrawal::of(&served, None, true).json(None)["done"], true, "nothing is published");
    }

    #[test]
    fn what_another_instance_of_this_host_publishes_is_not_waited_for() {
        const A: &str = "192.0.2.1";
        for (what, appliers, accepted, left) in [
            ("ours", Some(vec![MANAGER]), true, 1),
            ("ours, of a class that is not any more", Some(vec!["other", MANAGER]), false, 1),
            ("written by hand into ours", Some(vec![]), true, 1),
            ("another's", Some(vec!["other"]), false, 0),
            ("nobody knows", None, false, 1),
        ] {
            let mut snapshot = snapshot(&[&[A]]);
            let stored = &mut snapshot.ingresses.edit()[0];
            let published = Published::clone(stored.published.as_ref().unwrap());
            let appliers = appliers.map(|names| names.into_iter().map(Box::from).collect());
            stored.published = Some(Arc::new(Published { appliers, ..published }));
            let working = WorkingVersion::whole(stored.version.clone(), Vec::new(), 1);
            let states = accepted.then(|| Arc::new(ObjectState::of(&stored.id, working))).into_iter().collect();
            let served = Served { snapshot: Arc::new(snapshot), states, ..Served::default() };
            let peer = Peer { member: member("a", A, true), life: Life::Alive, age: Duration::ZERO };
            let view = View {
                identity: "a".into(),
                manager: MANAGER.into(),
                leads: false,
                leader: None,
                mode: Mode::Nodes,
                writes: Writes::Now,
                addresses: None,
                members: vec![peer],
            };
            assert_eq!(Withdrawal::of(&served, Some(view), true).json(None)["ingresses"], left, "{what}");
        }
    }
}
