//! Logs a failure once, logs once when it is over, and shows what fails now.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;
use std::sync::{Arc, Mutex, PoisonError};

use ingressd_model::finding::{Finding, Reason};
use ingressd_model::{Kind, ObjectId, Origin};

/// A repeated action that may fail.
#[derive(Debug)]
pub struct Trouble {
    what: &'static str,
    /// The causes of failures that were logged since the last success.
    reported: BTreeSet<u16>,
    board: Board,
}

/// All actions that fail now, each with the last reason. Clones share the same state.
#[derive(Debug, Clone, Default)]
pub struct Board(Arc<Mutex<BTreeMap<&'static str, String>>>);

impl Board {
    /// An action whose failures will be shown here. `what` is a clause such as "the Lease cannot
    /// be renewed".
    pub fn trouble(&self, what: &'static str) -> Trouble {
        Trouble { what, reported: BTreeSet::new(), board: self.clone() }
    }

    /// The findings about what fails now.
    pub fn findings(&self) -> Vec<Finding> {
        let failing = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let finding = |(what, why): (&&'static str, &String)| {
            let cluster = Arc::new(ObjectId::new(Kind::HOST, "", "cluster"));
            Finding::new(Reason::PublishingFailed, Origin::object(&cluster), format!("{what}: {why}"))
        };
        failing.iter().map(finding).collect()
    }

    fn set(&self, what: &'static str, why: Option<String>) {
        let mut failing = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match why {
            Some(why) => failing.insert(what, why),
            None => failing.remove(what),
        };
    }
}

impl Trouble {
    /// Records a failure. Failures with one cause, which may differ in their text, are logged
    /// once.
    pub fn failed(&mut self, sort: u16, why: &dyn Display) {
        // The text may quote others, so control characters have to be escaped for terminals.
        let why = why.to_string().replace(char::is_control, " ");
        if self.reported.insert(sort) {
            tracing::warn!("{}: {why}", self.what);
        }
        self.board.set(self.what, Some(why));
    }

    /// Whether a failure was logged.
    pub fn is_reported(&self) -> bool {
        !self.reported.is_empty()
    }

    /// Clears the failure, because the action is not tried any more.
    pub fn ceased(&mut self) {
        self.reported.clear();
        self.board.set(self.what, None);
    }

    pub fn worked(&mut self) {
        if self.is_reported() {
            self.ceased();
            tracing::info!("this problem is solved: {}", self.what);
        }
    }
}

impl Drop for Trouble {
    fn drop(&mut self) {
        self.ceased();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_fails_is_shown_until_it_works() {
        let board = Board::default();
        let notes = || board.findings().into_iter().map(|finding| finding.note.to_string()).collect::<Vec<_>>();
        let mut status = board.trouble("the status cannot be written");
        let mut lease = board.trouble("the Lease cannot be written");
        status.worked();
        assert_eq!(notes(), [""; 0]);
        lease.failed(403, &"forbidden");
        status.failed(0, &"away");
        status.failed(500, &"brok\x1ben");
        assert_eq!(notes(), ["the Lease cannot be written: forbidden", "the status cannot be written: brok en"]);
        status.worked();
        assert_eq!(notes(), ["the Lease cannot be written: forbidden"]);
        drop(lease);
        assert_eq!(notes(), [""; 0]);
    }
}
