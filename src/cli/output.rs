//! Prints the output of commands to a reader who may stop at any time.

use std::fmt::Arguments;
use std::io::{self, IsTerminal as _, Write as _};

use anstream::adapter::strip_str;
use anstream::{AutoStream, ColorChoice};
use clap::builder::ArgPredicate;
use serde_json::Value;

use super::exit::{Ended, Exit};
use ingressd_model::finding::{printable, printable_json};

/// Prints a line on standard output.
macro_rules! say {
    ($($words:tt)*) => { $crate::cli::output::line(format_args!($($words)*)) };
}

/// Prints a line on standard error.
macro_rules! complain {
    ($($words:tt)*) => { $crate::cli::output::error_line(format_args!($($words)*)) };
}

/// How a command answers that has no other ways.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// For people.
    #[default]
    Text,
    /// For programs: one JSON object.
    Json,
}

/// The flags for the form of an answer, to be flattened into the arguments of a command.
#[derive(Debug, Clone, Copy, Default, clap::Args)]
pub struct FormatArguments<F: clap::ValueEnum + Default + Send + Sync + 'static> {
    /// The form of the answer.
    #[arg(long, value_enum, default_value_t, default_value_if("json", ArgPredicate::IsPresent, "json"))]
    pub format: F,
    /// The same as `--format json`.
    #[arg(long = "json", id = "json", conflicts_with = "format")]
    _json: bool,
}

/// The state of the reader.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reader {
    /// The reader may read more.
    There,
    /// The reader is gone.
    Gone,
}

/// Prints the output of a command unchanged, and ends the command.
///
/// # Errors
///
/// When it cannot be written, for example because the disk is full. A reader that has gone is no
/// error.
pub fn show(text: impl AsRef<[u8]>, end: Exit) -> Ended {
    write(text.as_ref()).map(|_| end)
}

/// The same for text of several lines that others wrote: on a terminal it cannot control it.
///
/// # Errors
///
/// As [`show`].
pub fn show_foreign(text: Vec<u8>, end: Exit) -> Ended {
    match io::stdout().is_terminal() {
        true => show(harmless(&String::from_utf8_lossy(&text)), end),
        false => show(text, end),
    }
}

/// The text with everything escaped that could control a terminal, but for ends of lines and tabs.
pub fn harmless(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for part in text.split_inclusive(['\n', '\t']) {
        let words = part.trim_end_matches(['\n', '\t']);
        shown.push_str(&printable(words));
        shown.push_str(&part[words.len()..]);
    }
    shown
}

/// A value as indented JSON, in which no text can control a terminal.
pub fn json(value: &Value) -> String {
    printable_json(&format!("{value:#}\n"))
}

/// The same for text with terminal styles.
///
/// # Errors
///
/// As [`show`].
pub fn show_styled(text: &str, end: Exit) -> Ended {
    report(text).map(|_| end)
}

/// Prints text with styles, which are omitted when the output is no terminal with colours, or when
/// `NO_COLOR` is set.
///
/// # Errors
///
/// When it cannot be written.
pub fn report(text: &str) -> Result<Reader, Exit> {
    let output = io::stdout();
    match output.is_terminal() && AutoStream::choice(&output) != ColorChoice::Never {
        true => write(text.as_bytes()),
        false => write(strip_str(text).to_string().as_bytes()),
    }
}

/// Prints a control sequence for the terminal.
///
/// # Errors
///
/// When it cannot be written.
pub fn steer(sequence: &str) -> Result<Reader, Exit> {
    write(sequence.as_bytes())
}

fn write(bytes: &[u8]) -> Result<Reader, Exit> {
    let mut output = io::stdout().lock();
    match output.write_all(bytes).and_then(|()| output.flush()) {
        Ok(()) => Ok(Reader::There),
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(Reader::Gone),
        Err(error) => {
            complain!("ingressd: standard output cannot be written: {error}");
            Err(Exit::of_error(&error))
        }
    }
}

/// Prints a line about progress, and ignores a closed output.
pub fn line(words: Arguments<'_>) {
    let _ = writeln!(io::stdout(), "{words}");
}

/// The same on standard error.
pub fn error_line(words: Arguments<'_>) {
    let _ = writeln!(io::stderr(), "{words}");
}

#[cfg(test)]
mod tests {
    use super::harmless;

    #[test]
    fn lines_of_others_stay_lines_and_steer_no_terminal() {
        let text = "location ~* \"^/z\u{202e}.*\" {\n\treturn 200;\n\n}\u{1b}[2J";
        let expected = "location ~* \"^/z\\u{202e}.*\" {\n\treturn 200;\n\n}\\u{1b}[2J";
        assert_eq!(harmless(text), expected);
    }
}
