//! Man pages and shell completions from the definition of the command line.

use clap::CommandFactory as _;
use clap_complete::Shell;

use super::Cli;
use super::exit::{Ended, Exit};
use super::{ends, output};

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

/// Every man page of section 8 with its file name: one for the program and one for each command.
pub fn man_pages() -> Vec<(String, Vec<u8>)> {
    let mut command = Cli::command().disable_help_subcommand(true);
    // After this, commands have their full names, such as "ingressd-run".
    command.build();
    let mut commands = vec![(String::new(), command)];
    let mut number = 0;
    while let Some((words, command)) = commands.get(number) {
        let of_step = |step: &clap::Command| format!("{words} {}", step.get_name()).trim().to_owned();
        let steps: Vec<_> = command.get_subcommands().map(|step| (of_step(step), step.clone())).collect();
        commands.extend(steps);
        number += 1;
    }
    let pages = commands.into_iter().map(|(words, command)| {
        let name = format!("{}.8", command.get_display_name().unwrap_or("ingressd"));
        let mut page = Vec::new();
        let rendered = clap_mangen::Man::new(command).section("8").render(&mut page);
        debug_assert!(rendered.is_ok(), "writing to memory cannot fail");
        (name, with_ends(&String::from_utf8_lossy(&page), &words).into_bytes())
    });
    pages.collect()
}

/// Inserts a section about exit statuses into a page, under the usual heading and before the
/// additional text.
fn with_ends(page: &str, words: &str) -> String {
    const BESIDES: &str = ".SH EXTRA\n";
    let place = [BESIDES, ".SH VERSION\n"].iter().find_map(|heading| page.find(heading)).unwrap_or(page.len());
    let (before, besides) = page.split_at(place);
    format!("{before}{}{}", ends::section(words), besides.replacen(BESIDES, ".SH NOTES\n", 1))
}
