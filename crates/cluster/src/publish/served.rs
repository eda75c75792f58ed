//! What the daemon gives to publishing: the objects, the findings, and what nginx was seen to
//! serve.

use std::sync::Arc;
use std::time::Instant;

use super::member::Revision;
use ingressd_model::finding::Finding;
use ingressd_model::{ClaimOrder, ObjectId};
use ingressd_objects::{Snapshot, Version};

/// The state of this host. Lists are sorted by object.
#[derive(Debug, Clone, Default)]
pub struct Served {
    /// Whether the objects were read. Before that, it is only known whether nginx serves the
    /// generation of an earlier run.
    pub informed: bool,
    /// The objects as last read, with their statuses in the cluster.
    pub snapshot: Arc<Snapshot>,
    /// The Ingresses that belong to our class and are valid.
    pub accepted: Arc<[Arc<ObjectId>]>,
    /// Those of the accepted Ingresses of which nothing is served, because a fault of the object
    /// closes all its routes.
    pub closed: Arc<[Arc<ObjectId>]>,
    /// The objects that the confirmed generation serves; `None` for a generation of an earlier run
    /// without such a record.
    pub confirmed: Option<Arc<[Confirmed]>>,
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
    /// The accepted or disputed Ingresses that this node does not serve. Those that are not among
    /// the accepted ones have no route here, because others claimed their hosts and paths first.
    pub unserved: Arc<[Arc<ObjectId>]>,
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

/// An object that the confirmed generation serves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Confirmed {
    /// The object.
    pub id: Arc<ObjectId>,
    /// The version that is served.
    pub version: Version,
    /// When this version began to be served.
    pub since: Instant,
    /// Whether an earlier run served this version already, as far as is known.
    pub earlier: bool,
    /// How many routes it has in that generation, where this is known.
    pub routes: u32,
    /// How many of them answer 503.
    pub closed: u32,
}

impl Served {
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
        self.serves_same_versions(other)
            && Arc::ptr_eq(&self.accepted, &other.accepted)
            && self.closed == other.closed
            && (self.generation, self.serving, self.drained) == (other.generation, other.serving, other.drained)
            && self.informed == other.informed
            && (self.pinned, &self.unserved) == (other.pinned, &other.unserved)
    }

    /// Whether both serve the same versions.
    fn serves_same_versions(&self, other: &Served) -> bool {
        match (&self.confirmed, &other.confirmed) {
            (Some(one), Some(other)) => Arc::ptr_eq(one, other),
            (one, other) => one.is_none() && other.is_none(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_others_write_into_objects_makes_no_difference_to_what_is_served() {
        let confirmed: Arc<[Confirmed]> = Arc::default();
        let id = Arc::new(ObjectId::new(ingressd_model::Kind::Ingress, "shop", "cart"));
        let served = Served { confirmed: Some(Arc::clone(&confirmed)), ..Served::default() };
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
            ("what is accepted", Served { accepted: [].into(), ..served.clone() }, false),
            ("what is closed", Served { closed: [Arc::clone(&id)].into(), ..served.clone() }, false),
            ("what is confirmed", Served { confirmed: Some([].into()), ..served.clone() }, false),
            ("nothing is confirmed", Served { confirmed: None, ..served.clone() }, false),
            ("what there is", Served { informed: true, ..served.clone() }, false),
            ("the generation", Served { generation: Some(1), ..served.clone() }, false),
            ("nginx", Served { serving: true, ..served.clone() }, false),
            ("a pinned generation", Served { pinned: Some(1), ..served.clone() }, false),
            ("what that one lacks", Served { unserved: [id].into(), ..served.clone() }, false),
            ("the administrator's will", Served { drained: true, ..served.clone() }, false),
        ] {
            assert_eq!((served.serves_same(&other), served.is_same(&other)), (serves_same, false), "{what}");
        }
        assert!(served.is_same(&served.clone()));
    }
}
