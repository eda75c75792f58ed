//! A view of publishing for status and commands: members, leader and addresses.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;

use super::address::Address;
use super::contention;
use super::election::Leadership;
use super::member::Member;
use super::members::{Life, Members};
use super::options::Mode;
use super::order::Writes;
use super::own_addresses::OwnAddresses;
use super::trouble::Board;
use ingressd_model::finding::Finding;
use ingressd_model::{ClaimOrder, ObjectId};

/// Handles to the state of publishing, which can be read at any time.
#[derive(Clone)]
pub struct Outlook {
    pub(super) identity: Arc<str>,
    pub(super) manager: Arc<str>,
    pub(super) leadership: watch::Receiver<Leadership>,
    pub(super) members: watch::Receiver<Members>,
    pub(super) contended: watch::Receiver<Vec<Arc<ObjectId>>>,
    pub(super) place: watch::Receiver<Option<Arc<OwnAddresses>>>,
    pub(super) mode: Mode,
    pub(super) writes: watch::Receiver<Writes>,
    pub(super) board: Board,
}

/// The state of publishing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct View {
    /// This node.
    pub identity: Arc<str>,
    /// The field manager of all nodes of the group.
    pub manager: Arc<str>,
    /// Whether it is the leader.
    pub leads: bool,
    /// The leader, as the Lease named it last.
    pub leader: Option<Arc<str>>,
    /// Where the published addresses come from.
    pub mode: Mode,
    /// Whether this node writes statuses.
    pub writes: Writes,
    /// The addresses of this node; `None` while they are not known.
    pub addresses: Option<Vec<Address>>,
    /// All nodes by the name of their Leases, including this one.
    pub members: Vec<Peer>,
}

/// A node with its record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Peer {
    /// The record.
    pub member: Arc<Member>,
    /// How certain it is that the node is alive.
    pub life: Life,
    /// How long ago the record was seen to change.
    pub age: Duration,
}

impl Outlook {
    /// Reads the present state.
    pub fn view(&self) -> View {
        let now = Instant::now();
        // Each is looked at by itself: a thread that holds one while it waits for another can wait
        // for ever, because readers wait for writers that wait for readers.
        let writes = *self.writes.borrow();
        let addresses = self.place.borrow().as_ref().map(|place| place.addresses.clone());
        let leadership = self.leadership.borrow().clone();
        let members = self.members.borrow();
        let peer = |((member, life), age): ((&Arc<Member>, Life), _)| Peer { member: Arc::clone(member), life, age };
        let peers = members.members(now).zip(members.ages(now)).map(peer);
        View {
            identity: Arc::clone(&self.identity),
            manager: Arc::clone(&self.manager),
            leads: leadership.holds(now),
            leader: leadership.holder,
            mode: self.mode,
            writes,
            addresses,
            members: peers.collect(),
        }
    }

    /// The orders of claims in the records of all nodes: this node's first, then by age of the
    /// record.
    pub fn claim_orders(&self) -> Arc<[Arc<ClaimOrder>]> {
        self.members.borrow().claim_orders(&self.identity)
    }

    /// The order in the record of this node.
    pub fn own_claim_order(&self) -> Arc<ClaimOrder> {
        self.members.borrow().claim_order(&self.identity)
    }

    /// Whether the records of all nodes were read once.
    pub fn knows_members(&self) -> bool {
        self.members.borrow().is_complete()
    }

    /// Waits until the records of all nodes were read once.
    pub async fn members_known(&self) {
        // The wait fails when the watch has ended: callers have a deadline of their own.
        let _ = self.members.clone().wait_for(Members::is_complete).await;
    }

    /// The findings about publishing, sorted.
    pub fn findings(&self) -> Vec<Finding> {
        let mut findings = contention::findings(&self.contended.borrow());
        findings.extend(self.board.findings());
        findings.extend(self.place.borrow().iter().flat_map(|place| place.findings()));
        findings.sort();
        findings
    }
}

impl fmt::Debug for Outlook {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.view().fmt(formatter)
    }
}
