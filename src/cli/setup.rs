//! The command `setup`: prepares this host's nginx, or restores it.

use std::path::{Path, PathBuf};

use super::doctor::report_first_checks;
use super::exit::{Ended, Exit};
use super::output;
use super::settings::SettingsArguments;
use super::waiting::waiting;
use crate::daemon::control;
use crate::setup::{Choices, Error, Planned, STEPS, Setup, Step, Undone, undo_script};
use ingressd_config::{DEFAULT_FILE, Settings};

/// What a terminal is told where that takes long.
const TEST: &str = "nginx to test its configuration";

/// Arguments of `ingressd setup`.
#[derive(Debug, clap::Args)]
#[command(after_long_help = manual())]
pub struct Arguments {
    /// Carry out the steps. Without this option they are only shown.
    #[arg(long, conflicts_with = "undo")]
    yes: bool,
    /// Also disable the distribution's default site where it answers requests for unknown hosts.
    #[arg(long, conflicts_with = "undo")]
    disable_default_site: bool,
    /// Put back every byte as it was before, all or nothing, and take what is served out of force.
    #[arg(long)]
    undo: bool,
    /// Leave files as they are that somebody changed since setup, and no longer remember what was
    /// there before.
    #[arg(long, requires = "undo")]
    keep_edited: bool,
    /// Undo this step only.
    #[arg(long, requires = "undo", value_name = "STEP", value_parser = step)]
    step: Option<&'static Step>,
    /// Print a shell script that puts nginx's files back when ingressd is no longer installed.
    /// Packages keep it when they are removed.
    #[arg(long, conflicts_with_all = ["yes", "undo", "disable_default_site"])]
    undo_script: bool,
    #[command(flatten)]
    settings: SettingsArguments,
}

fn step(name: &str) -> Result<&'static Step, String> {
    let names = || STEPS.iter().map(|step| step.name).collect::<Vec<_>>().join(", ");
    STEPS.iter().find(|step| step.name == name).ok_or_else(|| format!("the steps are {}", names()))
}

fn manual() -> String {
    let steps = STEPS.iter().map(|step| format!("{}: {}", step.name, step.about));
    format!(
        "nginx tests its configuration before and after each step, and a step after which nginx refuses it is undone. nginx is \
         neither started nor reloaded: it reads the changes when the daemon reloads it. The file setup.json in the state folder keeps \
         what was there before, for --undo. Steps that are done already are left alone, so the command may be run at any time. At \
         the end it makes the first checks of `ingressd doctor`, which do not count for the exit status.\n\n\
         The steps:\n\n{}",
        steps.collect::<Vec<_>>().join("\n\n")
    )
    .replace('`', "'")
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Ended {
    let settings = arguments.settings.load_without_templates()?;
    let file = arguments.settings.config.clone().unwrap_or_else(|| DEFAULT_FILE.into());
    let file = std::path::absolute(&file).unwrap_or(file);
    let folder = file.parent().map_or_else(|| PathBuf::from("/"), Path::to_owned);
    let choices = Choices { disable_default_site: arguments.disable_default_site };
    let done = match arguments.undo_script {
        true => match undo_script(&settings) {
            Ok(script) => return output::show(script, Exit::Success),
            Err(error) => Err(error),
        },
        false => {
            let mut setup = Setup::new(&settings, &folder, choices);
            match (arguments.undo, arguments.yes) {
                (true, _) => {
                    let undone = undo(&mut setup, arguments.step, arguments.keep_edited);
                    undone.inspect(|_| {
                        if arguments.step.is_none() {
                            report_of_daemon(&settings);
                        }
                    })
                }
                (_, true) => carry_out(&mut setup),
                (_, false) => preview(&mut setup),
            }
        }
    };
    match done {
        Ok(exit) if arguments.undo || arguments.undo_script => Ok(exit),
        Ok(exit) => {
            report_first_checks(&settings);
            Ok(exit)
        }
        Err(error) => {
            complain!("ingressd: {error}");
            Err(if error.is_permission() { Exit::Permission } else { Exit::Unavailable })
        }
    }
}

/// A daemon that runs puts what it makes in force again.
fn report_of_daemon(settings: &Settings) {
    if control::ask(&settings.control_socket, "status", control::PATIENCE).is_ok() {
        say!(
            "The daemon runs, and puts what it makes in force again: `systemctl disable --now ingressd`, and then undo once \
             more."
        );
    }
}

fn preview(setup: &mut Setup<'_>) -> Result<Exit, Error> {
    let mut pending = false;
    let looking = waiting(TEST);
    let steps = setup.preview()?;
    drop(looking);
    for (step, planned) in steps {
        pending |= matches!(planned, Planned::Change(_));
        show(step, &planned, "would");
    }
    match pending {
        true => say!("Nothing was changed: `ingressd setup --yes` does what would be done."),
        false => say!("There is nothing to do."),
    }
    Ok(Exit::Success)
}

fn carry_out(setup: &mut Setup<'_>) -> Result<Exit, Error> {
    let mut changed = false;
    let _waiting = waiting(TEST);
    setup.carry_out(&mut |step, planned| {
        changed |= matches!(planned, Planned::Change(_));
        show(step, planned, "did");
    })?;
    if changed {
        say!("nginx was not reloaded: the daemon does that when it has something to serve.");
    } else {
        say!("There was nothing to do.");
    }
    Ok(Exit::Success)
}

fn show(step: &Step, planned: &Planned, verb: &str) {
    let name = step.name;
    match planned {
        Planned::Nothing(why) => say!("ok      {name}: {why}"),
        Planned::Left(why) => say!("left    {name}: {why}"),
        Planned::Change(changes) => {
            for (what, _) in changes {
                say!("{verb:7} {name}: {what}");
            }
        }
    }
}

fn undo(setup: &mut Setup<'_>, step: Option<&Step>, keep_edited: bool) -> Result<Exit, Error> {
    let (mut any, mut edited) = (false, false);
    setup.undo(step, keep_edited, &mut |undone| {
        any = true;
        match undone {
            Undone::Restored(path) => say!("undone  {}", path.display()),
            Undone::OutOfForce(path) => say!(
                "undone  {}: nothing of the cluster is served any more when nginx is reloaded or started",
                path.display()
            ),
            Undone::InUse(path) => say!("left    {}: it is in use, and stays with what is in it", path.display()),
            Undone::Edited { path, step, forgotten: false } => {
                edited = true;
                say!(
                    "left    {}: somebody changed it after the step {step} did; take out by hand what setup added, and run this \
                     again with --keep-edited",
                    path.display()
                );
            }
            Undone::Edited { path, .. } => say!("kept    {}: it stays as somebody changed it", path.display()),
        }
    })?;
    if !any {
        say!("There is nothing to undo.");
    }
    Ok(if edited { Exit::Findings } else { Exit::Success })
}
