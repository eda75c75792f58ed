//! The end of the demo, as Ctrl-C or the service manager ask for it.

use tokio::signal::unix::{SignalKind, signal};

/// Waits for SIGINT or SIGTERM. Whoever waits has to clean up: the signals no longer end the process by themselves.
pub async fn ended() {
    match (signal(SignalKind::interrupt()), signal(SignalKind::terminate())) {
        (Ok(mut interrupt), Ok(mut terminate)) => {
            tokio::select! { _ = interrupt.recv() => {}, _ = terminate.recv() => {} }
        }
        // Without handlers the signals end the process as they always do.
        _ => std::future::pending().await,
    }
}

/// Does the work, or drops it half done when a signal comes: `None`.
pub async fn unless_ended<T>(work: impl Future<Output = T>) -> Option<T> {
    tokio::select! {
        done = work => Some(done),
        () = ended() => None,
    }
}
