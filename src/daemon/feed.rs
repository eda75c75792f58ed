//! Snapshots of the manifests as they change, read apart from the loop; it must not know what is done with them.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::source::{DirectorySource, Snapshot, WatchError};

/// What the source said last.
#[derive(Debug, Clone, Default)]
pub struct Reading {
    /// The objects; `None` until everything was read once. It stays when the source fails: stale is not gone.
    pub snapshot: Option<Arc<Snapshot>>,
    /// When a change was first noticed that the snapshot holds.
    pub noticed: Option<Instant>,
    /// When the snapshot was last known to be what the source says; while the source is watched without a failure, it still is.
    pub read: Option<Instant>,
    /// Why the source cannot be read now.
    pub failure: Option<Arc<str>>,
}

/// The reader; dropped, it stops.
#[derive(Debug)]
pub struct Feed {
    readings: watch::Receiver<Reading>,
    task: JoinHandle<()>,
}

impl Feed {
    /// Begins to read and watch the folder.
    pub fn start(folder: &Path) -> Result<Self, WatchError> {
        let (mut source, wake) = DirectorySource::start(folder)?;
        let (sender, readings) = watch::channel(Reading::default());
        let task = tokio::spawn(async move {
            loop {
                let noticed = Instant::now();
                let read = tokio::task::spawn_blocking(move || {
                    let snapshot = source.snapshot();
                    (source, snapshot)
                });
                let snapshot;
                (source, snapshot) = match read.await {
                    Ok(read) => read,
                    // The loop must not go on with what was read before as if it were current.
                    Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
                    Err(_) => return,
                };
                sender.send_modify(|reading| match snapshot {
                    Ok(snapshot) => {
                        let read = Some(Instant::now());
                        *reading = Reading { snapshot: Some(snapshot), noticed: Some(noticed), read, failure: None };
                    }
                    Err(error) => {
                        if reading.failure.is_none() {
                            // Until now the watch would have told of any change.
                            reading.read = reading.read.map(|_| noticed);
                        }
                        reading.failure = Some(error.to_string().into());
                    }
                });
                wake.notified().await;
            }
        });
        Ok(Feed { readings, task })
    }

    /// Waits for the next reading.
    pub async fn next(&mut self) -> Reading {
        if self.readings.changed().await.is_err() {
            match (&mut self.task).await {
                Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
                // The reader ended with the process; there will be no other reading.
                _ => std::future::pending::<()>().await,
            }
        }
        self.readings.borrow_and_update().clone()
    }
}

impl Drop for Feed {
    fn drop(&mut self) {
        self.task.abort();
    }
}
