//! The command `rollback`: rolls back to a kept generation, through the daemon or without it.

use std::io;

use serde_json::Value;

use super::exit::{Ended, Exit};
use super::settings::SettingsArguments;
use super::status::{unanswered, understood};
use super::waiting::waiting;
use crate::daemon::{ControlCommand, control, without_daemon};
use ingressd_config::Settings;

/// Arguments of `ingressd rollback`.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
    nginx is told to read the generation, and the command waits for the proof that nginx runs it, as with any \
    change. When nginx does not take it, everything is as before.\n\n\
    From then on no change of the cluster is applied on this node. Findings about objects are still reported, \
    but requests go to the endpoints of that generation, some of which may no longer exist. The node stays \
    there over restarts of daemon, nginx and host, until `ingressd resume`. `ingressd status`, the \
    line of `systemctl status`, the journal, /readyz and the metric ingressd_pinned_generation show it. \
    Objects that the generation does not hold are not published for this node. `ingressd diff --list` shows \
    which generations are kept, and `ingressd diff N` shows what going back to N changes.\n\n\
    Where no daemon runs, the command itself changes nginx.")]
pub struct Arguments {
    /// The generation. The default is the latest before the current one that nginx was seen to
    /// run.
    #[arg(value_name = "GENERATION")]
    generation: Option<u64>,
    #[command(flatten)]
    settings: SettingsArguments,
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Ended {
    let settings = arguments.settings.load_to_ask()?;
    let request = match arguments.generation {
        None => "rollback".to_owned(),
        Some(number) => format!("rollback {number}"),
    };
    execute(&settings, ControlCommand::RollBack(arguments.generation), &request)
}

/// Has the daemon execute a command, or does so itself where none runs.
pub fn execute(settings: &Settings, command: ControlCommand, request: &str) -> Ended {
    let _waiting = waiting("the proof that nginx runs it");
    match control::ask(&settings.control_socket, request, None) {
        Ok(answer) => Ok(reported(&understood(settings, answer)?.1, Exit::Findings)),
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused) => {
            Ok(alone(settings, command))
        }
        Err(error) => Err(unanswered(settings, &error)),
    }
}

/// Prints the result of a command; `failed` is the exit status when it could not be executed.
pub fn reported(answer: &Value, failed: Exit) -> Exit {
    match (answer["done"].as_str(), answer["error"].as_str()) {
        (Some(done), _) => {
            say!("{}", done.escape_debug());
            Exit::Success
        }
        (None, why) => {
            complain!(
                "ingressd: {}",
                why.unwrap_or("the daemon did not report the result; `ingressd status` shows it").escape_debug()
            );
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
