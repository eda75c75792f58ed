//! The signals that end a program.

use tokio::signal::unix::{SignalKind, signal};

/// Waits until this process is asked to end: by Ctrl-C, by its terminal, or by another program.
pub async fn asked_to_end() {
    let [mut interrupt, mut terminate, mut hangup] =
        [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup()].map(|kind| signal(kind).unwrap());
    tokio::select! {
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
        _ = hangup.recv() => {}
    }
}
