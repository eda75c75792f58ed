//! The stages of a run, printed on standard error, each with a time limit.

use std::time::{Duration, Instant};

/// Waits for a stage.
///
/// # Panics
///
/// When it takes longer than its limit, which is one for broken code.
pub async fn stage<T>(size: usize, name: &str, limit: Duration, work: impl Future<Output = T>) -> T {
    eprintln!("{size} Ingresses: {name} (at most {} s)", limit.as_secs());
    let begun = Instant::now();
    let done = tokio::time::timeout(limit, work).await;
    let done = done.unwrap_or_else(|_| panic!("{size} Ingresses: {name} took longer than {limit:?}"));
    eprintln!("{size} Ingresses: {name} took {:.1} s", begun.elapsed().as_secs_f64());
    done
}
