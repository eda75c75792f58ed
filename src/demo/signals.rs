//! The signals that end the demo.

use tokio::signal::unix::{SignalKind, signal};

/// Waits for SIGINT or SIGTERM. The caller has to clean up, because the signals do not end the
/// process any more.
pub async fn ended() {
    match (signal(SignalKind::interrupt()), signal(SignalKind::terminate())) {
        (Ok(mut interrupt), Ok(mut terminate)) => {
            tokio::select! { _ = interrupt.recv() => {}, _ = terminate.recv() => {} }
        }
        // Without handlers the signals end the process as usual.
        _ => std::future::pending().await,
    }
}

/// Does the work, or drops it when a signal comes: then returns `None`.
pub async fn unless_ended<T>(work: impl Future<Output = T>) -> Option<T> {
    tokio::select! {
        done = work => Some(done),
        () = ended() => None,
    }
}
