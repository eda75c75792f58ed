//! The points at which a run of setup may be killed, for tests.

/// The environment variable that makes a process of a debug build abort at the point with this
/// number, from 1, as if it were killed there.
#[cfg(debug_assertions)]
const ABORT_AT: &str = "TEST_INGRESSD_SETUP_ABORT_AT";

/// Announces that a point is reached.
#[cfg(debug_assertions)]
pub fn reached() {
    use std::sync::atomic::{AtomicUsize, Ordering};
    static REACHED: AtomicUsize = AtomicUsize::new(0);
    let number = REACHED.fetch_add(1, Ordering::Relaxed) + 1;
    if std::env::var(ABORT_AT).is_ok_and(|wanted| wanted == number.to_string()) {
        std::process::abort();
    }
}

/// Does nothing in release builds.
#[cfg(not(debug_assertions))]
pub fn reached() {}
