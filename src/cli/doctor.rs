//! The command `doctor`: checks whether host and cluster are ready for each other.

mod text;

use std::collections::BTreeSet;

use clap::builder::PossibleValuesParser;

use super::exit::{Ended, Exit};
use super::output::{Format, FormatArguments};
use super::settings::SettingsArguments;
use super::waiting::waiting;
use super::{output, page};
use crate::doctor::{CHECKS, FIRST, Level, Line, Report, examine, manual};
use ingressd_config::Settings;

/// The name of findings about the settings, which precede all checks.
const SETTINGS: &str = "settings";

/// The name of the finding that another user has to run the command.
const USER: &str = "user";

/// Arguments of `ingressd doctor`.
#[derive(Debug, clap::Args)]
#[command(after_long_help = manual())]
pub struct Arguments {
    /// Make only these checks, and show what is right, too.
    #[arg(value_name = "CHECK", value_parser = PossibleValuesParser::new(CHECKS.iter().map(|check| check.name)))]
    checks: Vec<String>,
    /// Show also what is right.
    #[arg(long)]
    all: bool,
    #[command(flatten)]
    form: FormatArguments<Format>,
    #[command(flatten)]
    settings: SettingsArguments,
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Ended {
    let sources = arguments.settings.sources([]);
    let (settings, wrong) = match sources.load() {
        Ok(settings) => (settings, None),
        Err(wrong) => (sources.load_what_can_be().0, Some(wrong)),
    };
    let all = arguments.checks.is_empty();
    let wanted = CHECKS.iter().map(|check| check.name);
    let names = wanted.filter(|name| all || arguments.checks.iter().any(|check| check == name)).collect();
    let mut report = examine_now(&settings, &names)?;
    if let Some(wrong) = wrong {
        let remedy = "mend the settings, then `systemctl reload ingressd`: a daemon that runs goes on with those from before, and \
                      the next start fails; what follows is judged by the settings that can be used";
        report.lines.insert(0, (SETTINGS, Line::error(wrong.to_string(), remedy)));
    }
    if !nix::unistd::geteuid().is_root() {
        let text = "this user is not root, and cannot see all of nginx, the daemon and the credentials";
        report.lines.insert(0, (USER, Line::warning(text, "run it as root: `sudo ingressd doctor`")));
    }
    let end = match report.worst() {
        Level::Ok | Level::Note => Exit::Success,
        Level::Warning => Exit::Findings,
        Level::Error => Exit::Failures,
    };
    match arguments.form.format {
        Format::Text => output::show_styled(&text::text(&report, arguments.all || !all, page::width()), end),
        Format::Json => output::show(output::json(&report.json()), end),
    }
}

/// Runs the checks of kubeconfig, permissions and nginx, for commands that prepared them.
pub fn report_first_checks(settings: &Settings) {
    if let Ok(report) = examine_now(settings, &FIRST.iter().copied().collect()) {
        let reported = text::text(&report, true, page::width());
        let _ = output::report(&format!("\nThe first checks of `ingressd doctor`:\n{reported}"));
    }
}

/// Runs these checks.
///
/// # Errors
///
/// When threads cannot be started.
fn examine_now(settings: &Settings, names: &BTreeSet<&str>) -> Result<Report, Exit> {
    let runtime = crate::cli::runtime::start()?;
    let _waiting = waiting("nginx and the API server to answer the checks");
    Ok(runtime.block_on(examine(settings, names)))
}
