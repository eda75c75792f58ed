//! Where others reach the daemon, open over every version of the settings that does not move it; it must not know what is asked there.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use tokio::net::TcpListener;

use super::control::Control;
use super::drain::Drain;
use super::error::Error;
use crate::config::Settings;

/// The sockets, and what is ordered there without any work. Whoever connects while the settings are read again waits for a
/// moment and is answered.
#[derive(Debug)]
pub struct Entrance {
    address: SocketAddr,
    /// Of the http endpoints.
    pub http: Arc<TcpListener>,
    /// The socket of commands.
    pub control: Arc<Control>,
    state: PathBuf,
    /// Whether this node is taken out.
    pub drain: Drain,
}

impl Entrance {
    /// Opens what these settings name; what they name as those before did stays open as it is.
    pub async fn open(settings: &Settings, earlier: Option<&Entrance>) -> Result<Self, Error> {
        let address = settings.http.address;
        let http = match earlier.filter(|earlier| earlier.address == address) {
            Some(earlier) => Arc::clone(&earlier.http),
            None => Arc::new(TcpListener::bind(address).await.map_err(|source| Error::Http { address, source })?),
        };
        let path = &settings.control_socket;
        let control = match earlier.filter(|earlier| earlier.control.is_at(path)) {
            Some(earlier) => Arc::clone(&earlier.control),
            None => Arc::new(Control::bind(path).map_err(|source| Error::Control { path: path.clone(), source })?),
        };
        let state = settings.apply.state.clone();
        let drain = match earlier.filter(|earlier| earlier.state == state) {
            Some(earlier) => earlier.drain.clone(),
            None => Drain::open(&state),
        };
        Ok(Entrance { address, http, control, state, drain })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_is_not_moved_stays_open() {
        let folder = tempfile::tempdir().unwrap();
        let mut settings = Settings::default();
        settings.http.address = SocketAddr::from(([127, 0, 0, 1], 0));
        settings.control_socket = folder.path().join("control.sock");
        settings.apply.state = folder.path().join("state");
        let first = Entrance::open(&settings, None).await.unwrap();
        let same = Entrance::open(&settings, Some(&first)).await.unwrap();
        assert!(Arc::ptr_eq(&first.http, &same.http) && Arc::ptr_eq(&first.control, &same.control));
        first.drain.set(true).unwrap();
        assert!(*same.drain.watch().borrow(), "it is the same mark");
        drop(first);
        assert!(settings.control_socket.exists(), "it is still in use");

        // One that somebody removed is made again, and stays when the one before ends.
        std::fs::remove_file(&settings.control_socket).unwrap();
        let same = Entrance::open(&settings, Some(&same)).await.unwrap();
        assert!(settings.control_socket.exists());

        let old = settings.control_socket.clone();
        settings.control_socket = folder.path().join("other.sock");
        settings.http.address = SocketAddr::from(([127, 0, 0, 2], 0));
        settings.apply.state = folder.path().join("elsewhere");
        let moved = Entrance::open(&settings, Some(&same)).await.unwrap();
        assert!(!Arc::ptr_eq(&moved.http, &same.http) && !*moved.drain.watch().borrow());
        // The settings before may have to go on: theirs are open until then.
        assert!(old.exists());
        drop(same);
        assert!(!old.exists() && settings.control_socket.exists());
    }
}
