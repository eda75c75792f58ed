//! What the daemon gives to publishing: the objects, the findings, and what nginx was seen to
//! serve.

use std::sync::Arc;

use super::address::Address;
use super::member::Revision;
use super::statuses::Statuses;
use super::unserved::Unserved;
use ingressd_model::finding::Finding;
use ingressd_model::{ClaimOrder, ObjectId, ObjectState, WorkingVersion};
#[cfg(test)]
use ingressd_model::{ServedVersion, Version};
use ingressd_objects::Snapshot;

/// The state of this host. Lists are sorted by object.
#[derive(Debug, Clone, Default)]
pub struct Served {
    /// Whether the objects were read. Before that, it is only known whether nginx serves the
    /// generation of an earlier run.
    pub informed: bool,
    /// The objects as last read, with their statuses in the cluster.
    pub snapshot: Arc<Snapshot>,
    /// How these are read and written.
    pub statuses: Statuses,
    /// The states of the objects.
    pub states: Arc<[Arc<ObjectState>]>,
    /// Whether they tell what nginx serves: not for a generation of an earlier run, which this run
    /// has not confirmed, and which may have no record.
    pub confirmed: bool,
    /// The observed revision of Ingresses in the snapshot that this generation was made from.
    pub observed: Option<Revision>,
    /// All findings.
    pub findings: Arc<[Finding]>,
    /// The confirmed generation.
    pub generation: Option<u64>,
    /// Whether nginx serves it now.
    pub serving: bool,
    /// The generation that the administrator pinned.
    pub pinned: Option<u64>,
    /// The order in which namespaces began to claim what several of them claim.
    pub claim_order: Arc<ClaimOrder>,
    /// Whether the administrator drained this node.
    pub drained: bool,
    /// The state of the daemon in one word, for people.
    pub phase: Arc<str>,
    /// The settings that decide how this node judges objects, as TOML, for those who judge the
    /// same objects elsewhere; `None` where they are too long for a Lease.
    pub settings: Option<Arc<str>>,
    /// The version of nginx; empty where it is not known.
    pub nginx: Arc<str>,
}

/// What this node has to say about the addresses of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Offer {
    /// It is not of our class, or is refused for what it is.
    Nothing,
    /// It is refused here, because as far as this node knows others claimed its hosts and paths
    /// first. Other nodes may know better, and serve it.
    Disputed,
    /// It is ours, and a fault of the object closes all its routes, on every node.
    Closed,
    /// It is ours, and our own confirmed generation serves it.
    Served,
    /// It is ours, and our own confirmed generation does not serve it.
    Unserved,
    /// It is ours, and our generation was made by an earlier run, or is older than the object.
    Unknown,
}

impl Served {
    /// What counts of an object: what is to be served and, after a failure, what nginx goes on
    /// serving. A pinned generation tells nothing about what is ours, nor does what nginx goes on
    /// serving of an object that is not ours any more.
    fn versions<'a>(&self, state: &'a ObjectState) -> impl Iterator<Item = &'a WorkingVersion> {
        let in_place = state.in_place().filter(|_| self.pinned.is_none() && state.is_ours());
        state.working.as_deref().into_iter().chain(in_place)
    }

    /// Whether the object belongs to our class and is valid. An object without a route is not
    /// served, for example when all its paths belong to another object.
    pub fn accepts(&self, state: &ObjectState) -> bool {
        self.versions(state).any(WorkingVersion::has_routes)
    }

    fn closes(&self, state: &ObjectState) -> bool {
        self.versions(state).any(WorkingVersion::is_closed)
    }

    /// Whether this node does not serve an object that is ours, or that is refused because others
    /// claimed its hosts and paths first: on other nodes these may have another owner. An object
    /// that closes its own routes is closed on every node.
    fn is_unserved(&self, state: &ObjectState) -> bool {
        let is_served = |served: &WorkingVersion| served.served > 0 || served.is_closed();
        match self.pinned {
            _ if !self.confirmed => false,
            Some(_) => self.accepts(state) && !self.closes(state) && !state.in_place().is_some_and(is_served),
            None => state.is_ours() && state.in_place().is_some_and(|served| !is_served(served)),
        }
    }

    /// The objects that this node does not serve.
    pub fn unserved(&self) -> Unserved {
        let unserved = self.states.iter().filter(|state| self.is_unserved(state)).map(|state| &*state.id);
        Unserved::of(&unserved.collect::<Vec<_>>(), self.pinned.is_some())
    }

    /// What there is to say about an object, if any is known. `needs` is the revision in which its
    /// present content was first seen: a generation that is older proves nothing about it.
    pub fn offer(&self, state: Option<&ObjectState>, needs: Option<Revision>) -> Offer {
        let is_older = || needs.zip(self.observed).is_some_and(|(needs, observed)| observed < needs);
        match state {
            Some(state) if self.closes(state) => Offer::Closed,
            Some(state) if self.accepts(state) => match state.in_place() {
                _ if !self.confirmed => Offer::Unknown,
                Some(served) if served.served > 0 && is_older() => Offer::Unknown,
                Some(served) if served.served > 0 => Offer::Served,
                _ => Offer::Unserved,
            },
            Some(state) if self.is_unserved(state) => Offer::Disputed,
            _ => Offer::Nothing,
        }
    }

    /// The addresses in the status of an object.
    pub fn published(&self, id: &ObjectId) -> Vec<Address> {
        self.snapshot.entry(id).map(|entry| self.statuses.addresses(entry)).unwrap_or_default()
    }

    /// Whether both are equal. Lists are compared by pointer only.
    pub fn is_same(&self, other: &Served) -> bool {
        self.serves_same(other)
            && Arc::ptr_eq(&self.snapshot, &other.snapshot)
            && Arc::ptr_eq(&self.findings, &other.findings)
            && (self.observed, &self.phase) == (other.observed, &other.phase)
            && self.claim_order == other.claim_order
            && (&self.settings, &self.nginx) == (&other.settings, &other.nginx)
    }

    /// Whether this host serves the same in both. Objects may have changed, which is served only
    /// later, and others may have written statuses.
    pub fn serves_same(&self, other: &Served) -> bool {
        Arc::ptr_eq(&self.states, &other.states)
            && (self.confirmed, self.informed, self.pinned) == (other.confirmed, other.informed, other.pinned)
            && (self.generation, self.serving, self.drained) == (other.generation, other.serving, other.drained)
    }
}

/// An object of ours with two routes in this version, which nginx has served since now.
#[cfg(test)]
pub fn in_place(id: &Arc<ObjectId>, version: &Version) -> Arc<ObjectState> {
    let state = ObjectState::of(id, WorkingVersion::whole(version.clone(), Vec::new(), 2));
    let since = Some(std::time::Instant::now());
    let served = state.working.clone().map(|what| ServedVersion { what, since, is_earlier: false });
    Arc::new(ObjectState { served, ..state })
}

#[cfg(test)]
mod tests {
    use super::*;
    use ingressd_model::Verdict;
    use ingressd_model::finding::Reason;

    #[test]
    fn what_others_write_into_objects_makes_no_difference_to_what_is_served() {
        let served = Served { confirmed: true, ..Served::default() };
        for (what, other, serves_same) in [
            ("objects", Served { snapshot: Arc::default(), ..served.clone() }, true),
            ("how far the generation has come", Served { observed: Some(Revision(1)), ..served.clone() }, true),
            (
                "the order of claims",
                Served { claim_order: ClaimOrder::read([[1; 8]], []).into(), ..served.clone() },
                true,
            ),
            ("findings", Served { findings: [].into(), ..served.clone() }, true),
            ("how the daemon is", Served { phase: "failed".into(), ..served.clone() }, true),
            ("states", Served { states: [].into(), ..served.clone() }, false),
            ("nothing is confirmed", Served { confirmed: false, ..served.clone() }, false),
            ("what there is", Served { informed: true, ..served.clone() }, false),
            ("the generation", Served { generation: Some(1), ..served.clone() }, false),
            ("nginx", Served { serving: true, ..served.clone() }, false),
            ("a pinned generation", Served { pinned: Some(1), ..served.clone() }, false),
            ("the administrator's will", Served { drained: true, ..served.clone() }, false),
        ] {
            assert_eq!((served.serves_same(&other), served.is_same(&other)), (serves_same, false), "{what}");
        }
        assert!(served.is_same(&served.clone()));
    }

    #[test]
    fn what_became_foreign_is_not_ours_although_nginx_takes_no_change_and_goes_on_serving_it() {
        let served = Served { confirmed: true, ..Served::default() };
        let id = Arc::new(ObjectId::new(ingressd_model::Kind::INGRESS, "shop", "cart"));
        let ours = in_place(&id, &Version("1".into()));
        let foreign = Verdict::NotOurs(Reason::ForeignClass);
        let foreign = ObjectState { verdict: foreign, working: None, ..ObjectState::clone(&ours) };
        let offers = [&*ours, &foreign].map(|state| served.offer(Some(state), None));
        assert_eq!(offers, [Offer::Served, Offer::Nothing]);
        assert_eq!([&*ours, &foreign].map(|state| served.accepts(state)), [true, false]);
    }
}
