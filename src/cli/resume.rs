//! The command `resume`: has changes applied again that wait for the administrator.

use super::exit::Ended;
use super::rollback::execute;
use super::settings::SettingsArguments;
use crate::daemon::ControlCommand;

/// Arguments of `ingressd resume`.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
    After `ingressd rollback` it ends the rollback: all that changed in the cluster since then is applied. Where \
    `hosts.most-removed-at-once` holds a change that takes many hosts away, that change is let pass, and the next \
    one of its kind is held again. The command waits for the proof that nginx runs what is wanted now.")]
pub struct Arguments {
    #[command(flatten)]
    settings: SettingsArguments,
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Ended {
    execute(&arguments.settings.load_to_ask()?, ControlCommand::Resume, "resume")
}
