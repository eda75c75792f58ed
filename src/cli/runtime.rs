//! What runs the requests of a command.

use tokio::runtime::{Builder, Runtime};

use super::exit::Exit;

/// Starts it, on one thread.
pub fn start() -> Result<Runtime, Exit> {
    Builder::new_current_thread().enable_all().build().map_err(|error| {
        complain!("ingressd: threads cannot be started: {error}");
        Exit::of_error(&error)
    })
}
