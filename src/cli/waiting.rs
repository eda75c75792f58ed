//! Says on a terminal what a command waits for, where that takes longer than a second. What a
//! script reads stays as it is.

use std::io::{IsTerminal as _, stderr};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

/// Nobody wonders before.
const SOON: Duration = Duration::from_secs(1);

/// What waits until this is dropped.
#[derive(Debug)]
pub struct Waiting(Option<(Sender<()>, JoinHandle<()>)>);

/// Waits for what these words name, behind "waiting for".
pub fn waiting(what: &'static str) -> Waiting {
    Waiting(stderr().is_terminal().then(|| {
        let (done, is_done) = channel();
        let reporter = std::thread::spawn(move || {
            if is_done.recv_timeout(SOON) == Err(RecvTimeoutError::Timeout) {
                complain!("waiting for {what}");
            }
        });
        (done, reporter)
    }))
}

impl Drop for Waiting {
    fn drop(&mut self) {
        if let Some((done, reporter)) = self.0.take() {
            drop(done);
            // It says one line and cannot fail otherwise.
            let _ = reporter.join();
        }
    }
}
