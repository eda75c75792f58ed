//! Messages to systemd (sd_notify).

use std::collections::VecDeque;
use std::ffi::OsStr;
use std::io;
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::time::Duration;

use sd_notify::NotifyState;

use super::status::{Status, Tally};

/// By how much the start timeout of systemd is extended each time.
const EXTENSION: Duration = Duration::from_secs(30);

/// The notification socket of systemd; without systemd nothing is sent.
#[derive(Debug, Default)]
pub struct Notifier {
    ready: bool,
    line: String,
    tally: Tally,
    /// Messages that could not be sent yet because the socket was full, in order.
    unsent: VecDeque<String>,
}

impl Notifier {
    /// Reports that nginx serves a confirmed generation. Only the first call sends it.
    pub fn ready(&mut self) {
        if !std::mem::replace(&mut self.ready, true) {
            self.report(&[NotifyState::Ready]);
        }
    }

    /// Reports a turn of the loop: it resets the watchdog, and before readiness extends the start
    /// timeout.
    pub fn turned(&mut self, status: &Status, now: std::time::Instant) {
        self.flush();
        self.tally.follow(&status.states);
        let line = status.line(now, &self.tally);
        let mut states = vec![NotifyState::Watchdog];
        if !self.ready {
            states.push(NotifyState::ExtendTimeoutUsec(u32::try_from(EXTENSION.as_micros()).unwrap_or(u32::MAX)));
        }
        if self.line != line {
            states.push(NotifyState::Status(&line));
        }
        // Both are sent again at the next turn.
        if send(&text(&states)) {
            self.line = line;
        }
    }

    /// Reports that the settings are being reloaded.
    pub fn reloading(&mut self) {
        match NotifyState::monotonic_usec_now() {
            Ok(now) => self.report(&[NotifyState::Reloading, now]),
            Err(error) => tracing::debug!("no monotonic clock for systemd: {error}"),
        }
    }

    /// Reports that the reload has ended, with new settings or the earlier ones.
    pub fn reloaded(&mut self) {
        if self.ready {
            self.report(&[NotifyState::Ready]);
        }
    }

    /// Reports that the daemon ends, while nginx goes on.
    pub fn stopping(&mut self) {
        self.report(&[NotifyState::Stopping]);
    }

    fn report(&mut self, states: &[NotifyState<'_>]) {
        self.unsent.push_back(text(states));
        self.flush();
    }

    fn flush(&mut self) {
        while self.unsent.front().is_some_and(|text| send(text)) {
            self.unsent.pop_front();
        }
    }
}

/// How often the loop has to turn for the watchdog, if there is one: three times as often as
/// systemd asks.
pub fn watchdog_interval() -> Option<Duration> {
    sd_notify::watchdog_enabled().map(|limit| limit / 3)
}

fn text(states: &[NotifyState<'_>]) -> String {
    states.iter().map(|state| format!("{state}\n")).collect()
}

/// Returns whether the message was sent or can never be sent. A full socket must neither stop nor
/// delay the service.
fn send(text: &str) -> bool {
    let Some(address) = std::env::var_os("NOTIFY_SOCKET") else { return true };
    match send_to(&address, text) {
        Ok(()) => true,
        Err(error) => {
            tracing::debug!("systemd cannot be told: {error}");
            error.kind() != io::ErrorKind::WouldBlock
        }
    }
}

/// Sends without blocking; the library would block the main loop while the socket is full.
fn send_to(address: &OsStr, text: &str) -> io::Result<()> {
    let address = match address.as_bytes().strip_prefix(b"@") {
        Some(name) => SocketAddr::from_abstract_name(name)?,
        None => SocketAddr::from_pathname(address)?,
    };
    let socket = UnixDatagram::unbound()?;
    socket.set_nonblocking(true)?;
    socket.send_to_addr(text.as_bytes(), &address).map(|_| ())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_waits_for_a_reader() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("notify");
        let socket = UnixDatagram::bind(&path).unwrap();
        // The socket has no reader: a sender that waited for room would wait for ever.
        let (sender, receiver) = std::sync::mpsc::channel();
        let sent = path.clone();
        std::thread::spawn(move || {
            let full = (0..100_000).find_map(|_| send_to(sent.as_os_str(), "WATCHDOG=1\n").err());
            let _ = sender.send(full);
        });
        let full = receiver.recv_timeout(Duration::from_secs(60)).expect("it waits").expect("the socket is full");
        assert_eq!(full.kind(), std::io::ErrorKind::WouldBlock);
        let mut datagram = [0; 64];
        let length = socket.recv(&mut datagram).unwrap();
        assert_eq!(&datagram[..length], b"WATCHDOG=1\n");
    }
}
