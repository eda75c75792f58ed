//! What systemd is told; it must not know what any of it means.

use std::time::Duration;

use sd_notify::NotifyState;

use super::status::Status;

/// How much longer systemd is asked to wait each time that the start takes longer.
const EXTENSION: Duration = Duration::from_secs(30);

/// The line to systemd; without systemd nothing happens.
#[derive(Debug, Default)]
pub struct Notifier {
    ready: bool,
    line: String,
}

impl Notifier {
    /// The first generation is confirmed. Only the first call says so.
    pub fn ready(&mut self) {
        if !std::mem::replace(&mut self.ready, true) {
            send(&[NotifyState::Ready]);
        }
    }

    /// The loop turned: the watchdog is fed, and before readiness the start is still under way.
    pub fn turned(&mut self, status: &Status, now: std::time::Instant) {
        let line = status.line(now);
        let mut states = vec![NotifyState::Watchdog];
        if !self.ready {
            states.push(NotifyState::ExtendTimeoutUsec(u32::try_from(EXTENSION.as_micros()).unwrap_or(u32::MAX)));
        }
        if self.line != line {
            states.push(NotifyState::Status(&line));
        }
        send(&states);
        self.line = line;
    }

    /// The settings are being read again.
    pub fn reloading(&self) {
        match NotifyState::monotonic_usec_now() {
            Ok(now) => send(&[NotifyState::Reloading, now]),
            Err(error) => tracing::debug!("no monotonic clock for systemd: {error}"),
        }
    }

    /// The settings were read again, or kept.
    pub fn reloaded(&self) {
        if self.ready {
            send(&[NotifyState::Ready]);
        }
    }

    /// The daemon ends; nginx goes on.
    pub fn stopping(&self) {
        send(&[NotifyState::Stopping]);
    }
}

/// How often the loop has to turn for the watchdog, if there is one: three times as often as systemd asks.
pub fn watchdog_interval() -> Option<Duration> {
    sd_notify::watchdog_enabled().map(|limit| limit / 3)
}

fn send(states: &[NotifyState<'_>]) {
    // systemd notices by itself when it hears nothing; a full socket is no reason to stop serving.
    if let Err(error) = sd_notify::notify(states) {
        tracing::debug!("systemd cannot be told: {error}");
    }
}
