//! One API request with a deadline, and what its failure means for the next request.

use std::time::Duration;

use crate::source::cluster::explained;

/// The longest `Retry-After` of the API that is respected.
const LONGEST_RETRY_AFTER: Duration = Duration::from_secs(60);

/// The cause that the API names for a namespace that is being deleted.
const TERMINATING: &str = "NamespaceTerminating";

/// Why an API request failed.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// The requested object does not exist.
    #[error("not found: {0}")]
    Missing(String),
    /// The namespace does not exist, or is being deleted, so that nothing can be created in it.
    #[error("no namespace: {0}")]
    NoNamespace(String),
    /// The object exists already.
    #[error("it exists: {0}")]
    Exists(String),
    /// Another write came first (a conflict).
    #[error("conflict: {0}")]
    Conflict(String),
    /// The API refuses this object because of its content.
    #[error("refused: {0}")]
    Refused(String),
    /// The API is unavailable, so that any other request would have failed too.
    #[error("{why}")]
    Away {
        /// The error of the API, or of the connection.
        why: String,
        /// The HTTP status of the response, if there was one.
        code: Option<u16>,
        /// How long the API asks us to wait.
        retry_after: Duration,
    },
}

impl Failure {
    /// A number that is equal for failures with the same cause, whatever was requested.
    pub fn sort(&self) -> u16 {
        match self {
            Failure::Missing(_) | Failure::NoNamespace(_) => 404,
            Failure::Exists(_) | Failure::Conflict(_) => 409,
            Failure::Refused(_) => 422,
            Failure::Away { code, .. } => code.unwrap_or_default(),
        }
    }
}

/// Sends a request and waits for its response until the deadline.
///
/// # Errors
///
/// The error of the API, or that it did not respond in time.
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
        return silence(explained(error));
    };
    let details = status.details.as_ref();
    let is_terminating = details.is_some_and(|details| details.causes.iter().any(|cause| cause.reason == TERMINATING));
    let why = match status.code {
        401 | 403 if !is_terminating => explained(error),
        _ => status.message.clone(),
    };
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
            (403, "Forbidden", json!({}), "Away { why: \"m: GRANTS\", code: Some(403), retry_after: 0ns }"),
            (409, "AlreadyExists", json!({}), "Exists(\"m\")"),
            (409, "Conflict", json!({}), "Conflict(\"m\")"),
            (422, "Invalid", json!({}), "Refused(\"m\")"),
            (429, "", json!({"retryAfterSeconds": 7}), "Away { why: \"m\", code: Some(429), retry_after: 7s }"),
            (503, "", json!({"retryAfterSeconds": 3600}), "Away { why: \"m\", code: Some(503), retry_after: 60s }"),
        ] {
            let expected = expected.replace("GRANTS", "`ingressd kubeconfig --force` grants what the settings need");
            assert_eq!(answer(code, reason, details), expected, "{code} {reason}");
        }
    }
}
