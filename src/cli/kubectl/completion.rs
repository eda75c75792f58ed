//! Completions of kubectl's plugin, in the form in which kubectl asks for them: a line each, and a
//! number that says what the shell may add.

use clap::{Arg, Command, CommandFactory as _};

use crate::cli::exit::{Ended, Exit};
use crate::cli::{Cli, output};

/// The shell adds nothing of its own, or names of files (`cobra.ShellCompDirective`).
const NOTHING_ELSE: u8 = 4;
const FILES_TOO: u8 = 0;

/// Completes these words, of which the last is begun.
pub fn complete(words: &[String]) -> Ended {
    let mut command = Cli::command();
    command.build();
    let plugin = command.find_subcommand("kubectl").ok_or(Exit::Usage)?;
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    output::show(completions(plugin, &words), Exit::Success)
}

fn completions(plugin: &Command, words: &[&str]) -> String {
    let (begun, before) = words.split_last().unwrap_or((&"", &[]));
    let command = before.iter().fold(plugin, |command, word| command.find_subcommand(word).unwrap_or(command));
    let takes_value = |argument: &&Arg| argument.get_action().takes_values() && !argument.is_positional();
    let flag = |argument: &Arg| argument.get_long().map(|name| format!("--{name}"));
    let of_flag = before.last().and_then(|last| {
        let is_named = |argument: &&Arg| flag(argument).as_deref() == Some(last);
        command.get_arguments().filter(takes_value).find(is_named)
    });
    let mut lines: Vec<String> = match of_flag {
        Some(argument) => argument.get_possible_values().iter().map(|value| value.get_name().to_owned()).collect(),
        None if begun.starts_with('-') => command.get_arguments().filter_map(flag).collect(),
        None => command
            .get_subcommands()
            .filter(|step| !step.is_hide_set())
            .map(|step| step.get_name().to_owned())
            .collect(),
    };
    lines.retain(|line| line.starts_with(begun));
    let directive = if lines.is_empty() { FILES_TOO } else { NOTHING_ELSE };
    lines.push(format!(":{directive}\n"));
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_flags_and_values_are_completed() {
        let mut command = Cli::command();
        command.build();
        let plugin = command.find_subcommand("kubectl").unwrap();
        for (words, expected) in [
            (&[""][..], "check\ndiff\nexplain\nhelp\nstatus\n:4\n"),
            (&["ex"], "explain\n:4\n"),
            (&["diff", "--na"], "--namespace\n:4\n"),
            (&["diff", "--format", ""], "text\njson\n:4\n"),
            (&["diff", "--namespace", "sh"], ":0\n"),
            (&["diff", "manifests/"], ":0\n"),
        ] {
            let mut lines: Vec<_> = completions(plugin, words).lines().map(str::to_owned).collect();
            let mut wanted: Vec<_> = expected.lines().map(str::to_owned).collect();
            lines.sort();
            wanted.sort();
            assert_eq!(lines, wanted, "{words:?}");
        }
    }
}
