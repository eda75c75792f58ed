//! The daemon inside the demo's own process, exactly as `ingressd run` runs it.

use std::sync::Arc;

use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;

use super::session::DemoError;
use crate::daemon::{self, KindTables, Load, Request, Status};
use ingressd_config::Settings;

/// A running daemon.
pub struct Running {
    requests: mpsc::Sender<Request>,
    task: JoinHandle<Result<(), daemon::Error>>,
}

pub fn start(settings: Settings) -> Running {
    let (requests, received) = mpsc::channel(1);
    // Its status is read over HTTP, as tools of users do.
    let (status, _) = watch::channel(Arc::new(Status::default()));
    let load: Load = Box::new(|| Err("the demo has no settings to read".to_owned()));
    Running { requests, task: tokio::spawn(daemon::run(settings, KindTables::default(), load, received, status)) }
}

impl Running {
    /// Fails when it has ended by itself.
    pub async fn check(&mut self) -> Result<(), DemoError> {
        if !self.task.is_finished() {
            return Ok(());
        }
        let why = match (&mut self.task).await {
            Ok(Ok(())) => "it ended".to_owned(),
            Ok(Err(error)) => error.to_string(),
            Err(error) => error.to_string(),
        };
        Err(DemoError::Daemon(why))
    }

    /// Asks it to stop, and waits for that.
    pub async fn stop(self) {
        if self.requests.send(Request::Stop).await.is_ok() {
            let _ = self.task.await;
        }
    }
}
