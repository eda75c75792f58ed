//! From the start to the end, over every version of the settings.

use std::sync::Arc;

use tokio::sync::{mpsc, watch};

use super::error::Error;
use super::log;
use super::reporter::Reporter;
use super::serving::{Daemon, Handover};
use super::status::Status;
use crate::config::Settings;

/// What the daemon is asked to do while it runs.
#[derive(Debug)]
pub enum Request {
    /// End. nginx goes on as it is.
    Stop,
    /// Read the settings again, and go on with them, or keep those in force because of what is wrong with the new ones.
    Reload,
}

/// Reads the settings from wherever they come, or says what is wrong with them.
pub type Load = Box<dyn Fn() -> Result<Box<Settings>, String> + Send + Sync>;

/// Runs until it is asked to stop, or until nobody is left who could ask. `status` is always
/// current.
///
/// # Errors
///
/// When something that the settings name cannot be used: at the start, or by the settings in force after new ones failed.
pub async fn run(
    mut settings: Settings,
    load: Load,
    mut requests: mpsc::Receiver<Request>,
    status: watch::Sender<Arc<Status>>,
) -> Result<(), Error> {
    let mut reporter = Reporter::new(status);
    let mut daemon = Daemon::start(&settings, &mut reporter, &mut Handover::default()).await?;
    while let Some(new) = daemon.serve(&load, &mut requests, &mut reporter).await {
        // Folders may stay the same: they have to be let go first.
        let mut handover = daemon.close().await;
        let mut result = Ok(());
        daemon = match Daemon::start(&new, &mut reporter, &mut handover).await {
            Ok(daemon) => {
                settings = *new;
                if let Err(error) = log::set(&settings.log) {
                    tracing::error!("what is logged, and where to, stays as it was: {error}");
                }
                daemon
            }
            Err(error) => {
                result = Err(error.to_string());
                match Daemon::start(&settings, &mut reporter, &mut handover).await {
                    Ok(daemon) => daemon,
                    Err(error) => {
                        handover.end().await;
                        return Err(error);
                    }
                }
            }
        };
        daemon.reloaded(result, &mut reporter);
    }
    reporter.stopping();
    daemon.end().await;
    Ok(())
}
