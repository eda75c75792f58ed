//! What commands say, to somebody who may stop reading at any moment; it must not know what they say.

use std::fmt::Arguments;
use std::io::{self, Write as _};

use super::exit::{Ended, Exit};

/// Prints a line on standard output.
macro_rules! say {
    ($($words:tt)*) => { $crate::cli::output::line(format_args!($($words)*)) };
}

/// Prints a line on standard error.
macro_rules! complain {
    ($($words:tt)*) => { $crate::cli::output::error_line(format_args!($($words)*)) };
}

/// Prints what a command is there to print, and ends it.
///
/// # Errors
///
/// When it cannot be written, as on a full disk. A reader that has seen enough is no error.
pub fn show(text: impl AsRef<[u8]>, end: Exit) -> Ended {
    let mut output = io::stdout().lock();
    match output.write_all(text.as_ref()).and_then(|()| output.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            complain!("ingressd: standard output cannot be written: {error}");
            Err(Exit::of_error(&error))
        }
        _ => Ok(end),
    }
}

/// What is said of work goes on with the work, whether anybody reads it or not.
pub fn line(words: Arguments<'_>) {
    let _ = writeln!(io::stdout(), "{words}");
}

/// The same on standard error.
pub fn error_line(words: Arguments<'_>) {
    let _ = writeln!(io::stderr(), "{words}");
}
