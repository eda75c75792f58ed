//! One request with a deadline, and what its failure means for the next one.

use std::error::Error;
use std::time::Duration;

/// The longest time that we wait because the API says so.
const LONGEST_RETRY_AFTER: Duration = Duration::from_secs(60);

/// What the API says of a namespace in which nothing can be made any more.
const TERMINATING: &str = "NamespaceTerminating";

/// Why a request did not do what it was for.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// What was asked for does not exist.
    #[error("not found: {0}")]
    Missing(String),
    /// The namespace does not exist, or is going away, so that nothing can be made in it any more.
    #[error("no namespace: {0}")]
    NoNamespace(String),
    /// It exists already.
    #[error("it exists: {0}")]
    Exists(String),
    /// Another write came first (a conflict).
    #[error("conflict: {0}")]
    Conflict(String),
    /// The API refuses this one for what it holds.
    #[error("refused: {0}")]
    Refused(String),
    /// Any other request might have fared the same.
    #[error("{why}")]
    Away {
        /// What the API says, or why it says nothing.
        why: String,
        /// The code of its answer, if there was one.
        code: Option<u16>,
        /// How long it asks us to wait.
        retry_after: Duration,
    },
}

impl Failure {
    /// The same for failures that have the same cause, whatever was asked for.
    pub fn sort(&self) -> u16 {
        match self {
            Failure::Missing(_) | Failure::NoNamespace(_) => 404,
            Failure::Exists(_) | Failure::Conflict(_) => 409,
            Failure::Refused(_) => 422,
            Failure::Away { code, .. } => code.unwrap_or_default(),
        }
    }
}

/// Sends a request and waits for its answer, but not longer than this.
///
/// # Errors
///
/// What the API says, or that it said nothing in time.
pub async fn call<T>(deadline: Duration, request: impl Future<Output = Result<T, kube::Error>>) -> Result<T, Failure> {
    match tokio::time::timeout(deadline, request).await {
        Ok(Ok(answer)) => Ok(answer),
        Ok(Err(error)) => Err(failure(&error)),
        Err(_) => Err(silence(format!("no answer within {} s", deadline.as_secs_f32()))),
    }
}

fn silence(why: String) -> Failure {
    Failure::Away { why, code: None, retry_after: Duration::ZERO }
}

fn failure(error: &kube::Error) -> Failure {
    let kube::Error::Api(status) = error else {
        let cause = error.source().map(|source| format!(": {source}")).unwrap_or_default();
        let text = error.to_string();
        return silence(if text.contains(&cause) { text } else { text + &cause });
    };
    let why = status.message.clone();
    let details = status.details.as_ref();
    let is_terminating = details.is_some_and(|details| details.causes.iter().any(|cause| cause.reason == TERMINATING));
    match status.code {
        404 if details.is_some_and(|details| details.kind == "namespaces") => Failure::NoNamespace(why),
        404 => Failure::Missing(why),
        403 if is_terminating => Failure::NoNamespace(why),
        409 if status.reason == "AlreadyExists" => Failure::Exists(why),
        409 => Failure::Conflict(why),
        400 | 413 | 415 | 422 => Failure::Refused(why),
        code => {
            let seconds = details.map_or(0, |details| details.retry_after_seconds);
            let retry_after = Duration::from_secs(seconds.into()).min(LONGEST_RETRY_AFTER);
            Failure::Away { why, code: Some(code), retry_after }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_an_answer_means_for_the_next_request() {
        let answer = |code: u16, reason: &str, details: serde_json::Value| {
            let status = json!({"code": code, "reason": reason, "message": "m", "details": details});
            let status: kube::core::Status = serde_json::from_value(status).unwrap();
            format!("{:?}", failure(&kube::Error::Api(status.boxed())))
        };
        let terminating = json!({"causes": [{"reason": TERMINATING}]});
        for (code, reason, details, expected) in [
            (404, "NotFound", json!({}), "Missing(\"m\")"),
            (404, "NotFound", json!({"kind": "namespaces"}), "NoNamespace(\"m\")"),
            (403, "Forbidden", terminating, "NoNamespace(\"m\")"),
            (403, "Forbidden", json!({}), "Away { why: \"m\", code: Some(403), retry_after: 0ns }"),
            (409, "AlreadyExists", json!({}), "Exists(\"m\")"),
            (409, "Conflict", json!({}), "Conflict(\"m\")"),
            (422, "Invalid", json!({}), "Refused(\"m\")"),
            (429, "", json!({"retryAfterSeconds": 7}), "Away { why: \"m\", code: Some(429), retry_after: 7s }"),
            (503, "", json!({"retryAfterSeconds": 3600}), "Away { why: \"m\", code: Some(503), retry_after: 60s }"),
        ] {
            assert_eq!(answer(code, reason, details), expected, "{code} {reason}");
        }
    }
}
