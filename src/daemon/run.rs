//! Runs the daemon from start to end, across changes of its settings.

use std::sync::Arc;

use tokio::sync::{mpsc, watch};

use super::error::Error;
use super::files;
use super::log;
use super::reporter::Reporter;
use super::serving::{Daemon, Handover};
use super::status::Status;
use super::tables::KindTables;
use ingressd_config::Settings;

/// A request to the running daemon.
#[derive(Debug)]
pub enum Request {
    /// Stop. nginx goes on as it is.
    Stop,
    /// Reload the settings, or keep the present ones when the new ones are wrong.
    Reload,
}

/// Reads the settings from all of their sources, or returns what is wrong with them.
pub type Load = Box<dyn Fn() -> Result<Box<Settings>, String> + Send + Sync>;

/// Runs until it is asked to stop, or until all senders of requests are gone, with the kinds of
/// these tables. `status` is always current.
///
/// # Errors
///
/// When something that the settings name cannot be used: at the start, or when the earlier
/// settings cannot be used again after new ones failed.
pub async fn run(
    mut settings: Settings,
    tables: KindTables,
    load: Load,
    mut requests: mpsc::Receiver<Request>,
    status: watch::Sender<Arc<Status>>,
) -> Result<(), Error> {
    files::prepare(&settings);
    let mut reporter = Reporter::new(status);
    let mut daemon = Daemon::start(&settings, tables, &mut reporter, &mut Handover::default()).await?;
    while let Some(new) = daemon.serve(&load, &mut requests, &mut reporter).await {
        // Both settings may use the same folders, so they have to be closed first.
        let mut handover = daemon.close().await;
        let mut result = Ok(());
        daemon = match Daemon::start(&new, tables, &mut reporter, &mut handover).await {
            Ok(daemon) => {
                settings = *new;
                if let Err(error) = log::set(&settings.log) {
                    tracing::error!("the settings of the log cannot be changed, and those in force stay: {error}");
                }
                daemon
            }
            Err(error) => {
                result = Err(error.to_string());
                match Daemon::start(&settings, tables, &mut reporter, &mut handover).await {
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
