//! The rules by which the proxy handles calls instead of passing them on.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use http::StatusCode;
use serde_json::{Value, json};
use tokio::sync::Notify;

use super::call::Call;
use crate::wait;

/// What happens to a call.
#[derive(Clone)]
pub enum Action {
    /// It is passed on later.
    Delay(Duration),
    /// It is answered with this status and a `Status` object that says so.
    Refuse(StatusCode),
    /// It is answered as API servers do that are busy: 429 in plain text, and after how many
    /// seconds to ask again.
    Busy(u32),
    /// Its connection is closed without an answer.
    Cut,
    /// It is held until it is let go, before it reaches the API server.
    HoldCall(Hold),
    /// It is passed on, and the answer is held until it is let go.
    HoldAnswer(Hold),
    /// It is passed on, and the answer, a JSON object that is no stream, is changed.
    Edit(Arc<dyn Fn(&mut Value) + Send + Sync>),
}

/// The calls that are held, and the tasks that wait for that. Clones share it.
#[derive(Clone, Default)]
pub struct Hold(Arc<(Notify, Notify)>);

impl Hold {
    /// Waits until something is held.
    pub async fn arrived(&self) {
        let held = tokio::time::timeout(wait::LIMIT, self.0.0.notified()).await;
        held.unwrap_or_else(|_| panic!("no call came that is to be held"));
    }

    /// Lets it go.
    pub fn let_go(&self) {
        self.0.1.notify_one();
    }

    /// Says that something is held, and waits until it is let go.
    pub(super) async fn keep(&self) {
        self.0.0.notify_one();
        self.0.1.notified().await;
    }
}

struct Rule {
    number: usize,
    matches: Box<dyn Fn(&Call) -> bool + Send>,
    action: Action,
    /// How often it still holds.
    times: usize,
}

/// Rules, the first of which that matches is applied. Clones share them.
#[derive(Clone, Default)]
pub struct Rules(Arc<Mutex<(usize, Vec<Rule>)>>);

impl Rules {
    /// Adds a rule that holds until it is removed, and returns its number.
    pub fn add(&self, matches: impl Fn(&Call) -> bool + Send + 'static, action: Action) -> usize {
        self.add_times(usize::MAX, matches, action)
    }

    /// Adds a rule for so many calls.
    pub fn add_times(&self, times: usize, matches: impl Fn(&Call) -> bool + Send + 'static, action: Action) -> usize {
        let mut rules = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        rules.0 += 1;
        let number = rules.0;
        rules.1.push(Rule { number, matches: Box::new(matches), action, times });
        number
    }

    /// Removes a rule.
    pub fn remove(&self, number: usize) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).1.retain(|rule| rule.number != number);
    }

    /// Removes all of them.
    pub fn clear(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).1.clear();
    }

    /// What to do about a call.
    pub fn action(&self, call: &Call) -> Option<Action> {
        let mut rules = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let rule = rules.1.iter_mut().find(|rule| rule.times > 0 && (rule.matches)(call))?;
        rule.times -= 1;
        Some(rule.action.clone())
    }
}

impl fmt::Debug for Action {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Action::Delay(time) => write!(formatter, "delayed by {time:?}"),
            Action::Refuse(status) => write!(formatter, "refused with {status}"),
            Action::Busy(seconds) => write!(formatter, "refused for {seconds} s"),
            Action::Cut => formatter.write_str("cut"),
            Action::HoldCall(_) => formatter.write_str("held"),
            Action::HoldAnswer(_) => formatter.write_str("passed on, with the answer held"),
            Action::Edit(_) => formatter.write_str("edited"),
        }
    }
}

/// A `Status` object as the API server sends it with an error.
pub fn status(code: StatusCode) -> Value {
    let reason = match code {
        StatusCode::GONE => "Expired",
        StatusCode::FORBIDDEN => "Forbidden",
        StatusCode::NOT_FOUND => "NotFound",
        StatusCode::TOO_MANY_REQUESTS => "TooManyRequests",
        StatusCode::CONFLICT => "Conflict",
        _ => "InternalError",
    };
    json!({
        "apiVersion": "v1", "kind": "Status", "metadata": {}, "status": "Failure",
        "message": format!("the test's proxy says {code}"), "reason": reason, "code": code.as_u16()
    })
}
