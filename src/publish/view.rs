//! Who publishes what, for whoever asks this node; it must not know who asks.

use std::fmt;
use std::sync::Arc;

use tokio::sync::watch;
use tokio::time::Instant;

use super::contention;
use super::election::Leadership;
use super::member::Member;
use super::roster::{Life, Roster};
use super::trouble::Board;
use crate::finding::Finding;
use crate::model::ObjectId;

/// What can be asked at any time.
#[derive(Clone)]
pub struct Outlook {
    pub(super) identity: Arc<str>,
    pub(super) leadership: watch::Receiver<Leadership>,
    pub(super) roster: watch::Receiver<Roster>,
    pub(super) contended: watch::Receiver<Vec<Arc<ObjectId>>>,
    pub(super) board: Board,
}

/// What is true now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct View {
    /// This node.
    pub identity: Arc<str>,
    /// Whether it leads.
    pub leads: bool,
    /// Who leads, as the Lease said last.
    pub leader: Option<Arc<str>>,
    /// All nodes by name of their Leases, this one included.
    pub members: Vec<(Arc<Member>, Life)>,
}

impl Outlook {
    /// Looks.
    pub fn view(&self) -> View {
        let now = Instant::now();
        let leadership = self.leadership.borrow();
        let roster = self.roster.borrow();
        View {
            identity: Arc::clone(&self.identity),
            leads: leadership.holds(now),
            leader: leadership.holder.clone(),
            members: roster.members(now).map(|(member, life)| (Arc::clone(member), life)).collect(),
        }
    }

    /// What is wrong with what is published, sorted.
    pub fn findings(&self) -> Vec<Finding> {
        let mut findings = contention::findings(&self.contended.borrow());
        findings.extend(self.board.findings());
        findings.sort();
        findings
    }
}

impl fmt::Debug for Outlook {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.view().fmt(formatter)
    }
}
