//! One request with a deadline, and what its failure means for the next one; it must not know what is asked.

use std::error::Error;
use std::time::Duration;

/// Why a request did not do what it was for.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// What was asked for does not exist.
    #[error("not found: {0}")]
    Missing(String),
    /// Somebody else was faster, or it exists already.
    #[error("conflict: {0}")]
    Conflict(String),
    /// The API refuses this one for what it holds.
    #[error("refused: {0}")]
    Refused(String),
    /// Any other request would have fared the same.
    #[error("{0}")]
    Away(String),
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
        Err(_) => Err(Failure::Away(format!("no answer within {} s", deadline.as_secs_f32()))),
    }
}

fn failure(error: &kube::Error) -> Failure {
    let kube::Error::Api(status) = error else {
        let cause = error.source().map(|source| format!(": {source}")).unwrap_or_default();
        let text = error.to_string();
        return Failure::Away(if text.contains(&cause) { text } else { text + &cause });
    };
    let text = status.message.clone();
    match status.code {
        404 => Failure::Missing(text),
        409 => Failure::Conflict(text),
        400 | 413 | 415 | 422 => Failure::Refused(text),
        _ => Failure::Away(text),
    }
}
