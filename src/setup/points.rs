//! The moments between which a run of setup may be cut off.

/// The variable that lets a process of a debug build abort at the moment of this number, from 1, as if it were killed there.
#[cfg(debug_assertions)]
const ABORT_AT: &str = "TEST_INGRESSD_SETUP_ABORT_AT";

/// Tells that a moment is reached.
#[cfg(debug_assertions)]
pub fn reached() {
    use std::sync::atomic::{AtomicUsize, Ordering};
    static REACHED: AtomicUsize = AtomicUsize::new(0);
    let number = REACHED.fetch_add(1, Ordering::Relaxed) + 1;
    if std::env::var(ABORT_AT).is_ok_and(|wanted| wanted == number.to_string()) {
        std::process::abort();
    }
}

/// Nothing happens there.
#[cfg(not(debug_assertions))]
pub fn reached() {}
