//! The command line: the list of commands and what they share; it must not know what a command does.

pub mod check;
pub mod demo;
pub mod drain;
pub mod exit;
pub mod generate;
mod offline;
pub mod render;
pub mod run;
pub mod settings;
pub mod status;

use std::ffi::OsString;

use clap::{Parser, Subcommand};

use exit::Exit;

/// Makes the distribution's own nginx the ingress of a Kubernetes cluster.
#[derive(Debug, Parser)]
#[command(name = "ingressd", version, max_term_width = 100, arg_required_else_help = true)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// One variant for each command.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Serve: keep this host's nginx at what the manifests say.
    Run(run::Arguments),
    /// Check manifests without a daemon: every finding with file, line and field.
    Check(check::Arguments),
    /// Show the nginx configuration that manifests give, without a daemon.
    Render(render::Arguments),
    /// Ask the running daemon how it is.
    Status(status::Arguments),
    /// Take this node out of what is published, or back in.
    Drain(drain::Arguments),
    /// Serve example manifests with a private nginx until Ctrl-C.
    Demo(demo::Arguments),
    /// Print a completion script for a shell.
    Completions(generate::Arguments),
}

/// Reads the command line and does what it says.
pub fn main(arguments: impl IntoIterator<Item = OsString>) -> Exit {
    let cli = match Cli::try_parse_from(arguments) {
        Ok(cli) => cli,
        Err(error) => {
            // Help and version come this way too; a closed standard output is no reason to complain.
            let _ = error.print();
            return if error.use_stderr() { Exit::Usage } else { Exit::Success };
        }
    };
    match cli.command {
        Command::Run(arguments) => run::run(&arguments),
        Command::Check(arguments) => check::run(&arguments),
        Command::Render(arguments) => render::run(&arguments),
        Command::Status(arguments) => status::run(&arguments),
        Command::Drain(arguments) => drain::run(&arguments),
        Command::Demo(arguments) => demo::run(&arguments),
        Command::Completions(arguments) => generate::run(&arguments),
    }
}
