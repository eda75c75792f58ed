//! The command `status`: it must not know the other commands.

use super::exit::Exit;

/// Arguments of `ingressd status`.
#[derive(Debug, clap::Args)]
pub struct Arguments {}

/// Runs the command.
pub fn run(_arguments: &Arguments) -> Exit {
    Exit::Unavailable
}
