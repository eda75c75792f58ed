//! `ingressd status --watch` and `ingressd top`: show something repeatedly until they are
//! interrupted.

use std::io::{IsTerminal as _, stdout};
use std::os::fd::AsFd as _;
use std::time::Duration;

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use serde_json::Value;

use crate::cli::exit::{Ended, Exit};
use crate::cli::output::{self, Reader};

/// The control sequence that clears the terminal with its scrollback.
const ANEW: &str = "\u{1b}[H\u{1b}[2J\u{1b}[3J";

/// One output.
#[derive(Debug, Clone, PartialEq)]
pub struct Shown {
    /// What is shown.
    pub text: String,
    /// The part that has to change for another output where the screen is not redrawn.
    pub essence: Value,
    /// Whether nothing follows. Then a terminal keeps what it had before.
    pub is_last: bool,
}

/// Shows the results of `look`, between which so much time is, until the reader is gone. A
/// terminal is redrawn each time; elsewhere only changes are printed.
///
/// # Errors
///
/// When looking cannot succeed any more, or nothing can be written.
pub fn watch(interval: Duration, mut look: impl FnMut() -> Result<Shown, Exit>) -> Ended {
    let is_terminal = stdout().is_terminal();
    let mut before = None;
    loop {
        let shown = look()?;
        let reader = match is_terminal && !shown.is_last {
            true if shown.text.is_empty() => Reader::There,
            true => output::steer(ANEW).and_then(|_| output::report(&shown.text))?,
            false if differs(&mut before, shown.essence) => output::report(&shown.text)?,
            false => Reader::There,
        };
        if shown.is_last || reader == Reader::Gone || is_closed(interval) {
            return Ok(Exit::Success);
        }
    }
}

/// Whether this differs from the last output, which it then becomes.
fn differs(before: &mut Option<Value>, essence: Value) -> bool {
    let differs = before.as_ref() != Some(&essence);
    *before = Some(essence);
    differs
}

/// Waits; returns whether the reader is gone.
pub fn is_closed(interval: Duration) -> bool {
    let output = stdout();
    let mut waited = [PollFd::new(output.as_fd(), PollFlags::empty())];
    match poll(&mut waited, PollTimeout::try_from(interval).unwrap_or(PollTimeout::MAX)) {
        Ok(events) => events > 0,
        Err(error) => error != nix::errno::Errno::EINTR,
    }
}

/// A response without values that change as time passes.
pub fn essence(value: &Value) -> Value {
    match value {
        Value::Object(members) => {
            let lasting = members.iter().filter(|(name, _)| !name.ends_with("_seconds"));
            lasting.map(|(name, value)| (name.clone(), essence(value))).collect()
        }
        Value::Array(values) => values.iter().map(essence).collect(),
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_did_not_change_is_not_shown_again() {
        let mut before = None;
        let shown = [1, 1, 2, 2, 1].map(|value| differs(&mut before, json!(value)));
        assert_eq!(shown, [true, false, true, false, true]);
    }

    #[test]
    fn time_alone_is_no_change() {
        let status = |age: u64, generation: u64| json!({"data_age_seconds": age, "members": [{"seen_seconds": age, "generation": generation}]});
        assert_eq!(essence(&status(1, 7)), essence(&status(9, 7)));
        assert_ne!(essence(&status(1, 7)), essence(&status(1, 8)));
    }
}
