//! The daemon inside the demo's own process, on a thread of its own; it must not know what it serves.

use super::session::DemoError;
use crate::config::Settings;

/// A running daemon.
pub struct Running {}

/// Starts it.
pub fn start(_settings: Settings) -> Result<Running, DemoError> {
    Err(DemoError::Daemon("it is not there yet".to_owned()))
}

impl Running {
    /// Asks it to end and waits for that.
    pub async fn stop(self) {}
}
