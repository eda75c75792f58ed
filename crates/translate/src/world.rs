//! What the world says beside the objects: an input of the translation, like the snapshot.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use ingressd_model::{Certificate, ClaimOrder, HostName};

/// What the world says at one time.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct World {
    /// The time, in seconds since 1970: a translation has no clock.
    pub now: i64,
    /// The DNS answers for names of Services.
    pub names: Arc<Names>,
    /// Addresses of this host and of other edge nodes, each with a port of our own listeners; none
    /// of them may be an upstream.
    pub own_addresses: Vec<SocketAddr>,
    /// The orders of claims that other nodes have seen, the best informed first: claims that are
    /// seen for the first time here may not be new to them.
    pub claim_orders: Arc<[Arc<ClaimOrder>]>,
    /// The daemon's own certificate, for hosts without one when the settings name none.
    pub self_signed: Option<Arc<Certificate>>,
}

impl World {
    /// Whether the other one differs in nothing but a later time.
    pub fn is_before(&self, later: &World) -> bool {
        let World { now, names, own_addresses, claim_orders, self_signed } = later;
        self.now <= *now
            && (&self.names, &self.own_addresses, &self.claim_orders, &self.self_signed)
                == (names, own_addresses, claim_orders, self_signed)
    }
}

/// What is known about one name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NameAnswer {
    /// The addresses of the last answer, sorted; they stay when DNS fails.
    pub addresses: Vec<IpAddr>,
    /// Whether the answer had more addresses than are used.
    pub is_cut: bool,
    /// Why there is no newer answer; one clause.
    pub failure: Option<Arc<str>>,
    /// Whether DNS is not asked for it: it counts as a name whose addresses are not known.
    pub is_unasked: bool,
}

/// Answers by name. A missing name was not queried yet.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Names(pub BTreeMap<HostName, NameAnswer>);

impl Names {
    /// Names that DNS is not asked for.
    pub fn unasked(names: impl IntoIterator<Item = HostName>) -> Self {
        let unasked = || NameAnswer { is_unasked: true, ..NameAnswer::default() };
        Names(names.into_iter().map(|name| (name, unasked())).collect())
    }
}

/// The namespaces of Services with a name.
pub type Namespaces = BTreeSet<Arc<str>>;
