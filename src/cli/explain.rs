//! The command `explain`: why a request is answered as it is, by the running daemon or by
//! manifests; and whether nginx does so.

mod sent;
mod verdict;

mod said;

use std::path::PathBuf;

use serde_json::Value;

use super::check::Files;
use super::exit::{Ended, Exit};
use super::fields::{rows, text as text_of};
use super::offline::Judging;
use super::output::{self, Format, FormatArguments};
use super::page::{self, BAD, FAINT, GOOD, STRONG, styled, wrapped};
use super::settings::SettingsArguments;
use super::status::{ask, of_another_version};
use crate::daemon::explain::Address;
use ingressd_model::finding::{count, printable};
use sent::Sent;
use verdict::{AnswerComparison, verdict};

/// Arguments of `ingressd explain`.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
    The command first shows the route that takes the request, and what nginx does with the request. Both may differ by socket: \
    where another site of this nginx has the host, and where TLS of the host is passed through. Then it lists each option that is \
    written somewhere and has an effect on the request: its value, the place where that was written, and the values that it overrides. \
    The layers of an option are its built-in default, the settings, the ConfigMap of an ingress-nginx and the object: each overrides \
    those before it, and the ceilings of the section limits bound all of them. For an option of a whole host the object is shown that \
    decides about it.\n\n\
    With --send the request is sent once, as GET, to the address where nginx of this host listens for the scheme of the URL, whatever \
    DNS says, and no certificate is asked for. What is compared: the status, where nginx itself answers; the target of a redirect; \
    and, where the daemon counts requests (traffic.enabled), which Ingress and which Service have one more afterwards, for which the \
    command waits up to some seconds. Of answers of a backend nothing else is compared, and nothing where another site of nginx or TLS \
    passthrough has the host.")]
pub struct Arguments {
    /// The request: scheme, port and query may be left out, and matter with --send alone; the host
    /// `*` stands for a host that no object has.
    #[arg(value_name = "URL", value_parser = address)]
    address: Address,
    /// Explain it by these files and folders of manifests, and ask no daemon.
    #[arg(value_name = "FILE|FOLDER")]
    files: Vec<PathBuf>,
    /// Send the request to nginx of this host as well, and say where its answer differs.
    #[arg(long, conflicts_with = "files")]
    send: bool,
    #[command(flatten)]
    judging: Judging,
    /// Show options too that are as they are built in.
    #[arg(long)]
    all: bool,
    #[command(flatten)]
    form: FormatArguments<Format>,
    #[command(flatten)]
    settings: SettingsArguments,
}

pub(super) fn address(text: &str) -> Result<Address, String> {
    Address::read(text).ok_or_else(|| match text.len() > Address::LONGEST {
        true => format!("it has more than {} bytes, which nginx does not take", Address::LONGEST),
        false => "it is no URL such as https://shop.example/cart".to_owned(),
    })
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Ended {
    let (mut answer, sent) = match arguments.files.is_empty() {
        true => asked(arguments)?,
        false => (judged(arguments)?, None),
    };
    let mut end = if is_taken(&answer) { Exit::Success } else { Exit::Findings };
    let mut compared = String::new();
    if let Some(sent) = sent {
        let verdict = verdict(&answer, &sent);
        if !verdict.differences.is_empty() {
            end = Exit::Failures;
        }
        compared = comparison(&verdict, &sent, page::width());
        answer["sent"] = verdict.json(&sent);
    }
    match arguments.form.format {
        Format::Text => output::show_styled(&(text(&answer, arguments.all, page::width()) + &compared), end),
        Format::Json => output::show(output::json(&answer), end),
    }
}

/// Whether an Ingress takes the request.
pub(super) fn is_taken(answer: &Value) -> bool {
    answer["route"]["is_of_object"] == true || !answer["passthrough"].is_null()
}

/// What nginx answered, for people.
fn comparison(verdict: &AnswerComparison, sent: &Sent, width: Option<usize>) -> String {
    let line = |words: &str| wrapped(words, width, 0, 2);
    let mut lines = vec![String::new(), line(&format!("sent to {}: it {}", sent.to, verdict.answered))];
    lines.extend(verdict.differences.iter().map(|words| styled(BAD, &line(&format!("DIFFERS: {words}")))));
    lines.extend(verdict.notes.iter().map(|words| line(words)));
    if verdict.differences.is_empty() && verdict.notes.is_empty() {
        lines.push(styled(GOOD, "agrees with what is said above"));
    }
    lines.join("\n") + "\n"
}

/// By the daemon; with what nginx answers, where that is asked for.
fn asked(arguments: &Arguments) -> Result<(Value, Option<Sent>), Exit> {
    let settings = arguments.settings.load_to_ask()?;
    let (_, mut status) = ask(&settings, &format!("explain {}", arguments.address.written()))?;
    if let Some(error) = status["error"].as_str() {
        return Err(of_another_version(error));
    }
    match status["subject"].take() {
        Value::Null => {
            complain!("ingressd: the daemon has nothing in force yet: `ingressd status` says why");
            Err(Exit::Unavailable)
        }
        answer => {
            let send = || sent::send(&settings, &arguments.address, &answer);
            let sent = arguments.send.then(send).transpose()?;
            Ok((answer, sent))
        }
    }
}

/// By manifests.
fn judged(arguments: &Arguments) -> Result<Value, Exit> {
    let processed = arguments.judging.process(&arguments.files, arguments.settings.load([])?, true)?;
    let files = Files::of(&processed);
    let file = |origin: &_| files.place_of(origin);
    Ok(processed.in_force().explain(&arguments.address, &processed.findings, &file))
}

/// The answer for people.
pub(super) fn text(answer: &Value, all: bool, width: Option<usize>) -> String {
    let name = format!("{}{}", text_of(&answer["host"]), text_of(&answer["path"]));
    let mut lines = vec![styled(STRONG, &wrapped(&name, width, 0, 2))];
    lines.extend(answer["recorded_seconds"].as_u64().map(|age| {
        let words = format!(
            "this is what an earlier run recorded {age} s ago, because nothing was read since; which Services have endpoints is not known"
        );
        wrapped(&words, width, 0, 2)
    }));
    lines.extend(takers(answer).iter().chain(&said::sentences(answer)).map(|words| wrapped(words, width, 0, 2)));
    let options = rows(&answer["options"]);
    let (shown, rest): (Vec<_>, Vec<_>) = options.iter().partition(|option| all || option["is_built_in"] != true);
    let mut text = lines.join("\n") + "\n";
    if !options.is_empty() {
        text += "\n";
    }
    shown.into_iter().for_each(|reported| text += &option(reported, width));
    if !rest.is_empty() {
        let are = count(rest.len(), "option is as it is", "options are as they are");
        text += &styled(FAINT, &wrapped(&format!("{are} built in; --all shows them"), width, 0, 0));
        text += "\n";
    }
    text
}

/// What takes the request, and what happens to it, in sentences.
fn takers(answer: &Value) -> Vec<String> {
    let (route, passed) = (&answer["route"], &answer["passthrough"]);
    let mut reported: Vec<_> = rows(&answer["other_sites"]).iter().map(other_site).collect();
    if !passed.is_null() {
        let (on, does, from) = (sockets(passed), text_of(&passed["does"]), text_of(&passed["from"]));
        reported.push(format!(
            "on {on} {does}, by {from}{}: nginx does not decrypt TLS of the host, so that no path and no option counts there",
            file_of(passed)
        ));
    }
    if !route.is_null() {
        // What was told before is about single sockets.
        let otherwise = if reported.is_empty() { "" } else { "otherwise " };
        let (is_of_object, has_path) = (route["is_of_object"] == true, !route["path"].is_null());
        let is_unmatched = answer["host_is"] == "served" && !has_path && !route["from"].is_null();
        reported.extend(is_unmatched.then(|| "no path of this host matches".to_owned()));
        reported.extend(match is_of_object {
            true => Some(format!("{otherwise}is taken by {}{}", text_of(&route["from"]), file_of(route))),
            false if is_unmatched => None,
            false => Some(format!("{otherwise}is taken by no path of an Ingress")),
        });
        reported.extend(has_path.then(|| path(&route["path"])));
        let before = &route["before"];
        reported.extend((!before.is_null()).then(|| {
            let path = text_of(&before["path"]["text"]);
            format!(
                "comes before {}{}, whose path {path} matches too: of expressions nginx tries the longest text first",
                text_of(&before["from"]),
                file_of(before)
            )
        }));
        let over_plain_http = route["over_plain_http"].as_str();
        // Where TLS goes elsewhere, no request is left that does not go to https.
        reported.extend((passed.is_null() || over_plain_http.is_none()).then(|| text_of(&route["does"])));
        reported.extend(rows(&route["because"]).iter().map(|why| {
            let field =
                why["field"].as_str().filter(|field| !field.is_empty()).map(|field| format!("{}: ", printable(field)));
            format!("because {}{} ({})", field.unwrap_or_default(), text_of(&why["note"]), text_of(&why["reason"]))
        }));
        reported.extend(over_plain_http.map(|redirect| format!("over plain http {}", printable(redirect))));
    }
    if let Some(expression) = route["unless"].as_str() {
        reported
            .push(format!("unless nginx matches the expression {}, which is not judged here", printable(expression)));
    }
    let host = printable(answer["host"].as_str().unwrap_or("HOST"));
    reported.extend(match answer["host_is"].as_str() {
        Some("unknown") => Some(format!(
            "No Ingress that is served has the host, and none takes hosts that nobody has. `ingressd check` of manifests and \
             `ingressd status --host {host}` say why an Ingress that names it is not served."
        )),
        Some("of_other_site") => Some(format!(
            "ingressd gets no request for the host: `ingressd status --host {host}` says what becomes of an Ingress that names it."
        )),
        Some("reserved") => Some(format!(
            "The host is reserved for a namespace that claims it and of which nothing is served for it, so that no expression takes \
             it: `ingressd status --host {host}` says which namespace and why."
        )),
        _ => None,
    });
    reported
}

/// The path that takes the request, as it is written.
fn path(path: &Value) -> String {
    let because = path["because"].as_str().map(|because| format!(", because of {}", printable(because)));
    let compared = match path["compared"].as_str() {
        Some("expression") => " and counts as an expression, without regard to case",
        Some("caseless") => " and counts for all that begins with it, without regard to case",
        _ => "",
    };
    let (text, path_type) = (text_of(&path["text"]), text_of(&path["type"]));
    format!("its path is {text} ({path_type}){compared}{}", because.unwrap_or_default())
}

/// What another site of nginx takes.
fn other_site(site: &Value) -> String {
    let (on, from) = (sockets(site), text_of(&site["from"]));
    let taken = format!("on {on} is taken by another site of this nginx");
    match (site["name"].as_str().map(printable), site["is_unclear"] == true) {
        (Some(name), true) => {
            format!("{taken}, at {from}, if nginx matches its expression {name}, which is not judged here")
        }
        (Some(name), false) => format!("{taken}, which has the name {name} at {from}"),
        (None, _) => format!("{taken}, which gets the requests for unknown hosts, at {from}"),
    }
}

fn sockets(value: &Value) -> String {
    rows(&value["on"]).iter().map(text_of).collect::<Vec<_>>().join(" and ")
}

/// An option with its value, where that was written, and what it took the place of, on lines of
/// this width.
pub fn option(reported: &Value, width: Option<usize>) -> String {
    let name = text_of(&reported["option"]);
    let line = |words: &str| wrapped(words, width, 4, 6);
    let value = wrapped(&value_of(&reported["counts"]), width, 4 + name.len(), 4);
    let mut text = format!("  {}: {value}\n", styled(STRONG, &name));
    text +=
        &format!("    {}\n", line(&format!("{}, about {}", from(&reported["counts"]), text_of(&reported["about"]))));
    for before in rows(&reported["instead_of"]) {
        let before = line(&format!("instead of {}, {}", value_of(before), from(before)));
        text += &format!("    {}\n", styled(FAINT, &before));
    }
    text
}

fn from(written: &Value) -> String {
    match written["from"].as_str() {
        Some(place) if place.contains("built in") => place.to_owned(),
        _ => format!("from {}{}", text_of(&written["from"]), file_of(written)),
    }
}

fn file_of(value: &Value) -> String {
    value["file"].as_str().map(|file| format!(" ({})", printable(file))).unwrap_or_default()
}

/// A value on one line, cut where it is longer.
fn value_of(written: &Value) -> String {
    const LONGEST: usize = 200;
    let value = written["value"].as_str().unwrap_or_default();
    let shown: String = value.chars().take(LONGEST).collect();
    match value {
        "" => "nothing".to_owned(),
        _ if shown.len() < value.len() => format!("{}...", printable(&shown)),
        _ => printable(&shown),
    }
}
