//! The command `reload`: has the daemon reload its settings, and reports the result.

use super::exit::{Ended, Exit};
use super::rollback::reported;
use super::settings::{SettingsArguments, complain};
use super::status::{unanswered, understood};
use super::waiting::waiting;
use crate::daemon::control;

/// Arguments of `ingressd reload`.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
    `systemctl reload ingressd` runs this command. The daemon finishes the change that is under way, and then \
    goes on with the settings that it reads. If they have a mistake, or need something that is not available, \
    the settings from before stay in force. This command, `ingressd status`, the line of `systemctl status` \
    and the journal say so, until the daemon reads settings that it can use.")]
pub struct Arguments {
    #[command(flatten)]
    settings: SettingsArguments,
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Ended {
    // The daemon reports mistakes, because its flags and environment may differ.
    let (settings, wrong) = arguments.settings.sources([]).load_what_can_be();
    let _waiting = waiting("the daemon to finish its change and to read the settings");
    match control::ask(&settings.control_socket, "reload", None) {
        Ok(answer) => Ok(reported(&understood(&settings, answer)?.1, Exit::Configuration)),
        Err(error) => {
            if let Some(wrong) = wrong {
                complain(&wrong);
            }
            Err(unanswered(&settings, &error))
        }
    }
}
