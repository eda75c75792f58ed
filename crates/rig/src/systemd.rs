//! The messages of the daemon to systemd.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::net::UnixDatagram;
use tokio::task::JoinHandle;

use super::daemon::Daemon;

/// Listens as systemd does, as long as it lives.
pub struct Systemd {
    heard: Arc<Mutex<Heard>>,
    task: JoinHandle<()>,
}

/// The last message, and how often the service reported that it is ready.
#[derive(Debug, Default)]
struct Heard {
    line: String,
    ready: usize,
}

impl Systemd {
    /// Has a daemon that was not started yet tell it everything.
    pub fn listen(daemon: &mut Daemon, folder: &Path) -> Self {
        let path = folder.join("notify");
        let socket = UnixDatagram::bind(&path).unwrap();
        daemon.set_variable("NOTIFY_SOCKET", path.to_str().unwrap());
        let heard = Arc::<Mutex<Heard>>::default();
        let reported = Arc::clone(&heard);
        let task = tokio::spawn(async move {
            let mut datagram = vec![0; 64 * 1024];
            while let Ok(length) = socket.recv(&mut datagram).await {
                let mut reported = reported.lock().unwrap_or_else(PoisonError::into_inner);
                for line in String::from_utf8_lossy(&datagram[..length]).lines() {
                    match line.split_once('=') {
                        Some(("STATUS", text)) => text.clone_into(&mut reported.line),
                        Some(("READY", "1")) => reported.ready += 1,
                        _ => {}
                    }
                }
            }
        });
        Systemd { heard, task }
    }

    /// The line that `systemctl status` would show.
    pub fn line(&self) -> String {
        self.heard.lock().unwrap_or_else(PoisonError::into_inner).line.clone()
    }

    /// How often the daemon said that it is ready.
    pub fn times_ready(&self) -> usize {
        self.heard.lock().unwrap_or_else(PoisonError::into_inner).ready
    }
}

impl Drop for Systemd {
    fn drop(&mut self) {
        self.task.abort();
    }
}
