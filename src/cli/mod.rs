//! The command line: the list of commands and what they share.

#[macro_use]
mod output;

pub mod admission;
pub mod check;
mod client;
#[cfg(feature = "demo")]
pub mod demo;
pub mod diff;
pub mod doctor;
pub mod drain;
mod ends;
pub mod exit;
pub mod explain;
mod fields;
pub mod generate;
pub mod kubeconfig;
mod kubectl;
pub mod logs;
mod members;
pub mod migrate;
mod offline;
mod page;
pub mod reload;
pub mod render;
pub mod resume;
pub mod rollback;
pub mod run;
mod runtime;
pub mod schema;
pub mod settings;
pub mod setup;
pub mod status;
pub mod templates;
pub mod top;
mod waiting;

use std::ffi::OsString;

use clap::{CommandFactory as _, FromArgMatches as _, Parser, Subcommand};

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
    /// Serve a cluster, or a folder of manifests, with this host's nginx.
    Run(run::Arguments),
    /// Check manifests without a daemon: every finding with file, line and field.
    Check(check::Arguments),
    /// Print policies by which an API server refuses what would be refused here.
    Admission(admission::Arguments),
    /// Print the nginx configuration for manifests, without a daemon.
    Render(render::Arguments),
    /// Say why a request is answered as it is: what takes it, and where each option was written
    /// that counts there.
    Explain(explain::Arguments),
    /// Show what the running daemon serves, and what is wrong.
    Status(status::Arguments),
    /// Show the requests that come to this node, by host, Ingress or Service.
    Top(top::Arguments),
    /// Show requests of the access log, or lines of nginx's error log, by host, Ingress, Service,
    /// status and duration.
    Logs(logs::Arguments),
    /// Make the running daemon read its settings again.
    Reload(reload::Arguments),
    /// Withdraw this node's addresses from all statuses, and wait until no client is connected.
    Drain(drain::Arguments),
    /// Make this host's nginx ready for ingressd, or undo that.
    Setup(setup::Arguments),
    /// Look for problems of this host and its cluster, and say how to solve them.
    Doctor(doctor::Arguments),
    /// Publish this node's addresses again after `drain`.
    Undrain(drain::UndoArguments),
    /// Show what differs between two kept generations, and which object caused it.
    Diff(diff::Arguments),
    /// Go back to a kept generation and stay there.
    Rollback(rollback::Arguments),
    /// Apply changes again that wait: after `rollback`, or because they take many hosts away.
    Resume(resume::Arguments),
    /// Give a node its rights in a cluster, and write its kubeconfig. An administrator runs this.
    Kubeconfig(kubeconfig::Arguments),
    /// Explain, check and compare with your own rights in the cluster, as a plugin of kubectl.
    Kubectl(kubectl::Arguments),
    /// Move from ingress-nginx to ingressd: report what will be equal, print settings, compare the
    /// answers of both, and take over the addresses.
    Migrate(migrate::Arguments),
    /// Serve example manifests with a private nginx until Ctrl-C.
    #[cfg(feature = "demo")]
    Demo(demo::Arguments),
    /// Print the program's templates of nginx's configuration, to begin your own from.
    Templates(templates::Arguments),
    /// Print a completion script for a shell.
    Completions(generate::Arguments),
}

/// Parses the command line and runs the command.
pub fn main(arguments: impl IntoIterator<Item = OsString>) -> Exit {
    let parsed = ends::shown_in_help(Cli::command()).try_get_matches_from(arguments);
    let parsed = parsed.and_then(|matches| Ok((ends::words(&matches), Cli::from_arg_matches(&matches)?)));
    let (words, cli) = match parsed {
        Ok(parsed) => parsed,
        Err(error) => {
            // Help and version are printed here too; a closed standard output is no error.
            let _ = error.print();
            return if error.use_stderr() { Exit::Usage } else { Exit::Success };
        }
    };
    let ended = match cli.command {
        Command::Run(arguments) => run::run(&arguments),
        Command::Check(arguments) => check::run(&arguments),
        Command::Admission(arguments) => admission::run(&arguments),
        Command::Render(arguments) => render::run(&arguments),
        Command::Explain(arguments) => explain::run(&arguments),
        Command::Status(arguments) => status::run(&arguments),
        Command::Top(arguments) => top::run(&arguments),
        Command::Logs(arguments) => logs::run(&arguments),
        Command::Reload(arguments) => reload::run(&arguments),
        Command::Drain(arguments) => drain::run(&arguments),
        Command::Setup(arguments) => setup::run(&arguments),
        Command::Doctor(arguments) => doctor::run(&arguments),
        Command::Undrain(arguments) => drain::undo(&arguments),
        Command::Diff(arguments) => diff::run(&arguments),
        Command::Rollback(arguments) => rollback::run(&arguments),
        Command::Resume(arguments) => resume::run(&arguments),
        Command::Kubeconfig(arguments) => kubeconfig::run(&arguments),
        Command::Kubectl(arguments) => kubectl::run(&arguments),
        Command::Migrate(arguments) => migrate::run(&arguments),
        #[cfg(feature = "demo")]
        Command::Demo(arguments) => Ok(demo::run(&arguments)),
        Command::Templates(arguments) => templates::run(&arguments),
        Command::Completions(arguments) => generate::run(&arguments),
    };
    let exit = ended.unwrap_or_else(|exit| exit);
    debug_assert!(ends::of(&words).is_some_and(|ends| ends.iter().any(|(end, _)| *end == exit)), "{words}: {exit:?}");
    exit
}
