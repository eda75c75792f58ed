//! The command `drain`: takes this node out of what is published, or back in; it must not know how that is done.

use super::exit::Exit;
use super::settings::SettingsArguments;
use super::status::ask;

/// Arguments of `ingressd drain`.
#[derive(Debug, clap::Args)]
#[command(
    after_long_help = "The addresses of this node are withdrawn from the status of all Ingresses; nginx and the daemon go on \
    as they are, so that clients who still come are served. It lasts over restarts until it is undone.\n\n\
    Exit status: 0 when it is noted, 69 when no daemon answers, 77 when its socket may not be used."
)]
pub struct Arguments {
    /// Take the node back in.
    #[arg(long)]
    undo: bool,
    #[command(flatten)]
    settings: SettingsArguments,
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Exit {
    let settings = match arguments.settings.load([]) {
        Ok(settings) => settings,
        Err(exit) => return exit,
    };
    let request = if arguments.undo { "undrain" } else { "drain" };
    match ask(&settings, request) {
        Ok((_, answer)) => match answer["error"].as_str() {
            None => Exit::Success,
            Some(why) => {
                eprintln!("ingressd: {}", why.escape_debug());
                Exit::Unavailable
            }
        },
        Err(exit) => exit,
    }
}
