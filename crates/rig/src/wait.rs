//! Waiting for an event of a process, with a time limit.

use std::fmt::Debug;
use std::time::Duration;

use tokio::time::{Instant, sleep};

/// Longest time that anything here may take; a limit for broken code, never a measure of speed.
/// What the daemon lets rest waits for nine times as long as a busy machine took to find it.
pub const LIMIT: Duration = Duration::from_secs(480);

/// Asks until there is an answer.
///
/// # Panics
///
/// When there is none in [`LIMIT`], naming what was waited for.
pub async fn until<T>(what: &str, ask: impl AsyncFnMut() -> Option<T>) -> T {
    until_within(LIMIT, what, ask).await
}

/// Asks until there is an answer to what is more than [`LIMIT`] is for.
///
/// # Panics
///
/// When there is none in this time, naming what was waited for.
pub async fn until_within<T>(limit: Duration, what: &str, mut ask: impl AsyncFnMut() -> Option<T>) -> T {
    let end = Instant::now() + limit;
    loop {
        if let Some(answer) = ask().await {
            return answer;
        }
        assert!(Instant::now() < end, "waited {limit:?} in vain for {what}");
        sleep(Duration::from_millis(5)).await;
    }
}

/// Asks until the answer is as it should be, and shows the last one when it never is.
///
/// # Panics
///
/// When that takes longer than [`LIMIT`].
pub async fn until_right<T: Debug>(what: &str, mut ask: impl AsyncFnMut() -> T, right: impl Fn(&T) -> bool) -> T {
    let end = Instant::now() + LIMIT;
    loop {
        let answer = ask().await;
        if right(&answer) {
            return answer;
        }
        assert!(Instant::now() < end, "waited {LIMIT:?} in vain for {what}; last seen: {answer:#?}");
        sleep(Duration::from_millis(5)).await;
    }
}
