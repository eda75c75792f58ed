//! `ingressd status --watch`: shows the status repeatedly until it is interrupted.

use std::io::{IsTerminal as _, stdout};
use std::os::fd::AsFd as _;

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use serde_json::Value;

use crate::cli::exit::{Ended, Exit};
use crate::cli::output::{self, Reader};

/// The time between two looks, in milliseconds.
const INTERVAL: u16 = 2000;

/// The control sequence that clears the terminal with its scrollback.
const ANEW: &str = "\u{1b}[H\u{1b}[2J\u{1b}[3J";

/// One output.
#[derive(Debug, Clone, PartialEq)]
pub struct Shown {
    /// What is shown.
    pub text: String,
    /// The part that has to change for another output where the screen is not redrawn.
    pub essence: Value,
}

/// Shows the results of `look` until the reader is gone. A terminal is redrawn each time;
/// elsewhere only changes are printed.
///
/// # Errors
///
/// When looking cannot succeed any more, or nothing can be written.
pub fn watch(mut look: impl FnMut() -> Result<Shown, Exit>) -> Ended {
    let is_terminal = stdout().is_terminal();
    let mut before = None;
    loop {
        let shown = look()?;
        let reader = match is_terminal {
            true => output::steer(ANEW).and_then(|_| output::tell(&shown.text))?,
            false if differs(&mut before, shown.essence) => output::tell(&shown.text)?,
            false => Reader::There,
        };
        if reader == Reader::Gone || is_closed() {
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
fn is_closed() -> bool {
    let output = stdout();
    let mut waited = [PollFd::new(output.as_fd(), PollFlags::empty())];
    match poll(&mut waited, PollTimeout::from(INTERVAL)) {
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
