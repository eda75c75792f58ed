//! Man pages and shell completions from the definition of the command line.

use clap::CommandFactory as _;
use clap_complete::Shell;

use super::Cli;
use super::exit::{Ended, Exit};
use super::output;

/// Arguments of `ingressd completions`.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// The shell.
    shell: Shell,
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Ended {
    output::show(completions(arguments.shell), Exit::Success)
}

/// The completion script for a shell.
pub fn completions(shell: Shell) -> Vec<u8> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "ingressd", &mut script);
    script
}

/// Every man page of section 8 with its file name: the program's and one for each command.
pub fn man_pages() -> Vec<(String, Vec<u8>)> {
    let mut command = Cli::command().disable_help_subcommand(true);
    // Only then have commands their full names, such as "ingressd-run".
    command.build();
    let mut commands = vec![command];
    let mut number = 0;
    while let Some(command) = commands.get(number) {
        let steps: Vec<_> = command.get_subcommands().cloned().collect();
        commands.extend(steps);
        number += 1;
    }
    let pages = commands.into_iter().map(|command| {
        let name = format!("{}.8", command.get_display_name().unwrap_or("ingressd"));
        let mut page = Vec::new();
        let rendered = clap_mangen::Man::new(command).section("8").render(&mut page);
        debug_assert!(rendered.is_ok(), "writing to memory cannot fail");
        (name, page)
    });
    pages.collect()
}
