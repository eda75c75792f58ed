//! From the start to the end, over every version of the settings; it must not know what the loop does under one of them.

use std::sync::Arc;

use tokio::sync::{mpsc, watch};

use super::error::Error;
use super::log;
use super::reporter::Reporter;
use super::serving::{Carried, Daemon};
use super::status::Status;
use crate::config::Settings;

/// What the daemon is asked to do while it runs.
#[derive(Debug)]
pub enum Request {
    /// End. nginx goes on as it is.
    Stop,
    /// Go on with these settings, or keep those in force because of what is wrong with the new ones.
    Reload(Result<Box<Settings>, String>),
}

/// Runs until it is asked to stop, or until whoever could ask is gone. `status` always holds what is true.
///
/// # Errors
///
/// When something that the settings name cannot be used: at the start, or by the settings in force after new ones failed.
pub async fn run(
    mut settings: Settings,
    mut requests: mpsc::Receiver<Request>,
    status: watch::Sender<Arc<Status>>,
) -> Result<(), Error> {
    let mut reporter = Reporter::new(status);
    let mut daemon = Daemon::start(&settings, &mut reporter, &mut Carried::default()).await?;
    while let Some(new) = daemon.serve(&mut requests, &mut reporter).await {
        // Folders may stay the same: they have to be let go first.
        let mut carried = daemon.close().await;
        daemon = match Daemon::start(&new, &mut reporter, &mut carried).await {
            Ok(daemon) => {
                settings = *new;
                if let Err(error) = log::set(&settings.log) {
                    tracing::error!("what is logged, and where to, stays as it was: {error}");
                }
                tracing::info!("the settings were read again");
                daemon
            }
            Err(error) => {
                tracing::error!("the new settings cannot be used, those in force stay: {error}");
                match Daemon::start(&settings, &mut reporter, &mut carried).await {
                    Ok(daemon) => daemon,
                    Err(error) => {
                        carried.end().await;
                        return Err(error);
                    }
                }
            }
        };
        reporter.reloaded();
    }
    reporter.stopping();
    daemon.end().await;
    Ok(())
}
