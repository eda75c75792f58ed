//! The command `logs`: requests of the access log, and lines of nginx's error log, by what people
//! ask for.

mod choice;
mod complaints;
mod entry;
mod file;
mod places;
mod text;

use std::path::PathBuf;

use super::exit::{Ended, Exit};
use super::output::{self, Format, FormatArguments, Reader};
use super::settings::SettingsArguments;
use choice::Choice;
use entry::Entry;
use file::{Halt, Reported};
use ingressd_config::duration;
use ingressd_model::finding::{count, printable_json};

/// Arguments of `ingressd logs`.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
    The command reads the access logs that the current generation of nginx's configuration names, and the formats of their lines. A field that the \
    lines lack cannot be asked for: the setting access-log.format = \"json\" logs all of them. docs/logs.md describes them.\n\n\
    A line for people has time, status, duration, method, host with path, Ingress, Service, endpoint and client. With --json each request is an \
    object on a line, with the names of the documented fields.\n\n\
    Of a log that goes to the journal: journalctl -a -t nginx -o cat | ingressd logs --file -")]
pub struct Arguments {
    #[command(flatten)]
    choice: Choice,
    /// Go on with lines that are written from now on, until Ctrl-C; also after a rotation.
    #[arg(long, short = 'f')]
    follow: bool,
    /// Read this file instead; `-` is standard input.
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
    /// Show lines of nginx's error log, of these hosts or of the hosts of this Ingress.
    #[arg(long, conflicts_with_all = ["statuses", "slow", "service"])]
    errors: bool,
    #[command(flatten)]
    form: FormatArguments<Format>,
    #[command(flatten)]
    settings: SettingsArguments,
}

/// Output is collected up to this many bytes.
const CHUNK: usize = 64 << 10;

/// Runs the command.
pub fn run(arguments: &Arguments) -> Ended {
    let settings = arguments.settings.load_without_templates()?;
    if arguments.errors {
        return complaints::run(arguments, &settings);
    }
    let places = places::find(&settings, arguments.file.as_deref())?;
    let mut shown = Shown::new(arguments);
    let mut report = |reported: Reported<&[u8]>| match reported {
        Reported::Line(line) => shown.report(Entry::read(line, &places.formats)),
        Reported::Pause => shown.flush(),
    };
    let read = file::read(&places.files, arguments.choice.earliest(), arguments.follow, &mut report);
    shown.end(read)
}

/// Shows a text.
fn show(text: &str) -> Result<(), Halt> {
    match output::report(text) {
        Ok(Reader::There) => Ok(()),
        Ok(Reader::Gone) => Err(Halt::ReaderGone),
        Err(exit) => Err(Halt::Failed(exit)),
    }
}

/// What was shown, and what waits to be.
struct Shown<'a> {
    arguments: &'a Arguments,
    waiting: String,
    /// How many requests were shown.
    requests: usize,
    /// Lines of other requests, those in no known format, and those that lack what is asked for.
    others: usize,
    unread: usize,
    lacking: usize,
    /// The option whose field they lack.
    lacks: &'static str,
}

impl<'a> Shown<'a> {
    fn new(arguments: &'a Arguments) -> Self {
        Shown { arguments, waiting: String::new(), requests: 0, others: 0, unread: 0, lacking: 0, lacks: "" }
    }

    /// Takes a line.
    fn report(&mut self, entry: Option<Entry>) -> Result<(), Halt> {
        match entry {
            None => self.unread += 1,
            Some(entry) => match self.arguments.choice.lacks(&entry) {
                Some(option) => {
                    (self.lacks, self.lacking) = (option, self.lacking + 1);
                    if self.arguments.follow && self.lacking == 1 {
                        self.complain();
                    }
                }
                None if self.arguments.choice.takes(&entry) => self.show(&entry),
                None => self.others += 1,
            },
        }
        if self.waiting.len() > CHUNK { self.flush() } else { Ok(()) }
    }

    fn show(&mut self, entry: &Entry) {
        self.requests += 1;
        self.waiting += &match self.arguments.form.format {
            Format::Json => printable_json(&entry.json()),
            Format::Text => text::line(entry),
        };
        self.waiting.push('\n');
    }

    fn flush(&mut self) -> Result<(), Halt> {
        show(&std::mem::take(&mut self.waiting))
    }

    fn complain(&self) {
        complain!(
            "ingressd: lines of the log lack what {} asks for, and are left out; set access-log.format = \"json\" to have it \
             in all lines from then on",
            self.lacks
        );
    }

    fn end(mut self, read: Result<(), Halt>) -> Ended {
        if let Err(Halt::Failed(exit)) = read.and_then(|()| self.flush()) {
            return Err(exit);
        }
        if self.lacking > 0 && !self.arguments.follow {
            self.complain();
        }
        if self.unread > 0 {
            complain!(
                "ingressd: {} left out, because no format is known for them",
                count(self.unread, "line was", "lines were")
            );
        }
        if self.requests > 0 || self.arguments.follow {
            return Ok(Exit::Success);
        }
        complain!("ingressd: none of {} fits", count(self.others, "request", "requests"));
        Ok(Exit::Findings)
    }
}

fn name_of(text: &str) -> Result<(String, String), String> {
    match text.split_once('/') {
        Some((namespace, name)) if !namespace.is_empty() && !name.is_empty() && !name.contains('/') => {
            Ok((namespace.to_owned(), name.to_owned()))
        }
        _ => Err("an object is named as NAMESPACE/NAME".to_owned()),
    }
}
