//! The command `rollback`: rolls back to a kept generation, through the daemon or without it.

use std::io;

use serde_json::Value;

use super::exit::{Ended, Exit};
use super::settings::SettingsArguments;
use super::status::{unanswered, understood};
use crate::config::Settings;
use crate::daemon::{ControlCommand, control, without_daemon};

/// Arguments of `ingressd rollback`.
#[derive(Debug, clap::Args)]
#[command(
    after_long_help = "nginx is told to read the generation and is proven to run it, as with any change; when it does not take \
    it, everything is as before. From then on nothing that changes in the cluster is applied on this node: what is wrong with objects \
    is still told, but requests go to the endpoints of then, some of which may be gone. The node stays there over restarts of daemon, nginx \
    and host, and says so in `ingressd status`, in the line of `systemctl status`, in the journal, on /readyz and in the metric \
    ingressd_pinned_generation, until `ingressd rollback --resume`. Objects that the generation does not hold are not published for this \
    node. `ingressd diff --list` shows what is kept, `ingressd diff N` what going back to N changes.\n\n\
    Where no daemon runs the command does it itself."
)]
pub struct Arguments {
    /// The generation; without one, the latest before the current that nginx was seen to run.
    #[arg(value_name = "GENERATION", conflicts_with = "resume")]
    generation: Option<u64>,
    /// Apply what the cluster says again.
    #[arg(long)]
    resume: bool,
    #[command(flatten)]
    settings: SettingsArguments,
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Ended {
    let settings = arguments.settings.load_to_ask()?;
    let (command, request) = match (arguments.resume, arguments.generation) {
        (true, _) => (ControlCommand::Resume, "resume".to_owned()),
        (false, None) => (ControlCommand::RollBack(None), "rollback".to_owned()),
        (false, Some(number)) => (ControlCommand::RollBack(Some(number)), format!("rollback {number}")),
    };
    match control::ask(&settings.control_socket, &request, None) {
        Ok(answer) => Ok(told(&understood(&settings, answer)?.1, Exit::Findings)),
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused) => {
            Ok(alone(&settings, command))
        }
        Err(error) => Err(unanswered(&settings, &error)),
    }
}

/// Prints the result of a command; `failed` is the exit status when it could not be executed.
pub fn told(answer: &Value, failed: Exit) -> Exit {
    match (answer["done"].as_str(), answer["error"].as_str()) {
        (Some(done), _) => {
            say!("{}", done.escape_debug());
            Exit::Success
        }
        (None, why) => {
            complain!("ingressd: {}", why.unwrap_or("the daemon did not say what came of it").escape_debug());
            failed
        }
    }
}

/// Rolls back without a daemon: one that cannot start may be the reason for the rollback.
fn alone(settings: &Settings, command: ControlCommand) -> Exit {
    complain!("ingressd: no daemon runs here; this is done without it");
    match without_daemon(settings, command) {
        Ok(Ok(done)) => {
            say!("{}", done.escape_debug());
            Exit::Success
        }
        Ok(Err(why)) => {
            complain!("ingressd: {}", why.escape_debug());
            Exit::Findings
        }
        Err(error) => {
            complain!("ingressd: {error}");
            if error.is_permission() { Exit::Permission } else { Exit::Unavailable }
        }
    }
}
