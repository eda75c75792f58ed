//! The command `run`: it must not know the other commands.

use std::path::PathBuf;

use super::exit::Exit;
use super::settings::SettingsArguments;

/// Arguments of `ingressd run`.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Folder of manifests to serve and watch.
    #[arg(long, value_name = "FOLDER")]
    manifests: Option<PathBuf>,
    #[command(flatten)]
    settings: SettingsArguments,
}

/// Runs the command.
pub fn run(_arguments: &Arguments) -> Exit {
    Exit::Unavailable
}
