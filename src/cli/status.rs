//! The command `status`: asks the daemon and shows its response.

mod asking;
mod filter;
mod headline;
mod overview;
mod problems;
mod subject;
mod watching;

pub use asking::{ask, of_another_version, unanswered, understood};
pub use overview::overview;
pub use subject::subject;
pub use watching::{Shown, is_closed, watch};

use std::time::Duration;

use serde_json::Value;

use super::exit::{Ended, Exit};
use super::output::{Format, FormatArguments};
use super::settings::SettingsArguments;
use super::{members, output, page};
use crate::daemon::control;
use filter::Filter;
use ingressd_config::Settings;
use ingressd_model::finding::printable_json;

/// The time between two looks of `--watch`.
const INTERVAL: Duration = Duration::from_secs(2);

/// The longest name of a host or an Ingress.
const LONGEST_NAME: usize = 253;

/// Arguments of `ingressd status`.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
    The first line says whether all is well. Where it is not, the next ones say what needs attention, and what to do about it, \
    as the status page does. Then comes the state; then problems, errors before warnings, each with its object, key, \
    effect and remedy; then this host; then the Ingresses with their states, those first that are not ok. With --namespace, \
    --state or --text only the problems and Ingresses are shown that are asked for:\n\n\
    ok: its newest version is served; before anything was read, the one that an earlier run recorded. partly: its \
    newest version is served, except some routes. closed (503): all its routes answer 503, because their protection \
    cannot be set up or their backends are away; of a canary whose backend is away the main object takes all requests. last good: an earlier version is \
    served, because the newest cannot be. refused: nothing of it is served. waiting: its newest version is \
    not in force yet, because a generation is pinned, nginx takes no changes, or the change is on its way. \
    down: it is ready for nginx, which does not run. not ours: another controller serves it; it is shown only \
    when it is asked for by name.\n\n\
    Colours are used on terminals only, and never where NO_COLOR is set. Lines are as wide as the terminal \
    (COLUMNS): of tables columns are left out and cells are cut. Elsewhere all is shown, a row on a line.")]
pub struct Arguments {
    /// Show everything about this Ingress, or object of another kind, also when another controller
    /// serves it.
    #[arg(value_name = "[KIND/]NAMESPACE/NAME", value_parser = ingress_name, conflicts_with_all = ["host", "cluster"])]
    ingress: Option<String>,
    /// Show which objects serve which paths of this host. `*` stands for hosts that no object
    /// names.
    #[arg(long, value_parser = host_name, conflicts_with = "cluster")]
    host: Option<String>,
    /// Show all nodes of the group, by their Leases, instead of this one.
    #[arg(long)]
    cluster: bool,
    /// Look again every two seconds until Ctrl-C, also while no daemon answers. Output that does
    /// not go to a terminal has only what changed.
    #[arg(long)]
    watch: bool,
    #[command(flatten)]
    filter: Filter,
    #[command(flatten)]
    form: FormatArguments<Format>,
    #[command(flatten)]
    settings: SettingsArguments,
}

/// Whether a request can contain it: blanks and control characters, which end or separate words,
/// are in no name.
fn is_word(text: &str) -> bool {
    !text.is_empty() && !text.contains(|character: char| character.is_whitespace() || character.is_control())
}

fn ingress_name(text: &str) -> Result<String, String> {
    let parts: Vec<_> = text.split('/').collect();
    match parts.len() {
        2 | 3 if parts.iter().all(|part| is_word(part)) && text.len() <= 2 * 64 + LONGEST_NAME => Ok(text.to_owned()),
        _ => Err("an Ingress is named as NAMESPACE/NAME, an object of another kind as KIND/NAMESPACE/NAME".to_owned()),
    }
}

fn host_name(text: &str) -> Result<String, String> {
    match is_word(text) && text.len() <= LONGEST_NAME {
        true => Ok(text.to_owned()),
        false => Err("a host is a name of at most 253 characters without blanks".to_owned()),
    }
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Ended {
    let settings = arguments.settings.load_to_ask()?;
    if arguments.watch {
        return watch(INTERVAL, || look(arguments, &settings));
    }
    let (answer, status) = ask(&settings, &request(arguments))?;
    let (text, exit) = shown(arguments, answer, status)?;
    match arguments.form.format {
        Format::Text => output::show_styled(&text, exit),
        Format::Json => output::show(text, exit),
    }
}

/// One of several looks: a missing daemon is a result too.
fn look(arguments: &Arguments, settings: &Settings) -> Result<Shown, Exit> {
    match control::ask(&settings.control_socket, &request(arguments), control::PATIENCE) {
        Ok(answer) => {
            let (answer, status) = understood(settings, answer)?;
            let essence = watching::essence(&status);
            let (text, _) = shown(arguments, answer, status)?;
            Ok(Shown { text, essence, is_last: false })
        }
        Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => Err(unanswered(settings, &error)),
        Err(error) => {
            let words = asking::nobody(settings, &error);
            let text = match arguments.form.format {
                Format::Text => format!("{words}; it is asked again\n"),
                Format::Json => serde_json::json!({ "error": words }).to_string() + "\n",
            };
            Ok(Shown { text, essence: words.into(), is_last: false })
        }
    }
}

fn request(arguments: &Arguments) -> String {
    match (&arguments.ingress, &arguments.host) {
        (Some(ingress), _) => format!("ingress {ingress}"),
        (None, Some(host)) => format!("host {host}"),
        (None, None) => "status".to_owned(),
    }
}

/// The output for the response, and the exit status.
fn shown(arguments: &Arguments, answer: String, mut status: Value) -> Result<(String, Exit), Exit> {
    arguments.filter.apply(&mut status);
    let status = &status;
    let answer = if arguments.filter.is_some() { status.to_string() } else { answer };
    let is_json = arguments.form.format == Format::Json;
    if let Some(error) = status["error"].as_str() {
        return Err(of_another_version(error));
    }
    if arguments.cluster && status["publishes"].is_null() {
        complain!("ingressd: the daemon serves a folder of manifests: it knows no other nodes");
        return Err(Exit::Unavailable);
    }
    let is_subject = arguments.ingress.is_some() || arguments.host.is_some();
    let is_well = match (arguments.cluster, is_subject) {
        (true, _) => members::are_well(status),
        (_, true) => subject::is_well(status),
        _ => status["ready"] == true,
    };
    let text = match (is_json, arguments.cluster, is_subject) {
        (true, true, _) => printable_json(&members::json(status).to_string()) + "\n",
        (true, ..) => printable_json(&answer) + "\n",
        (_, true, _) => members::table(status, page::width()),
        (_, _, true) => subject::subject(status, page::width()),
        _ => overview::overview(status, arguments.filter.is_some(), page::width()),
    };
    Ok((text, if is_well { Exit::Success } else { Exit::Findings }))
}
