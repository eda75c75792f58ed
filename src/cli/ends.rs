//! The exit statuses of each command with their meaning, as in help and man page. No command has
//! other ones. It must not know how a command comes to its end.

use std::fmt::Write as _;

use clap::{ArgMatches, Command};

use super::exit::Exit;

/// An exit status with its meaning.
type End = (Exit, &'static str);

const BAD_SETTINGS: End = (Exit::Configuration, "the settings cannot be used");
const BAD_ACCESS: End = (Exit::Configuration, "the kubeconfig or the settings cannot be used");
const NO_FILE: End = (Exit::Permission, "this user may not use a file");
const NO_SOCKET: End = (Exit::Permission, "this user may not connect to the daemon");
const NOT_ALLOWED: End = (Exit::Permission, "the administrator lacks a right");
const NO_RIGHT: End = (Exit::Permission, "you lack the right to read Ingresses or Services of the namespace");
const NO_CLUSTER: End = (Exit::Unavailable, "the API server cannot be reached, or refuses a request");
const NO_DAEMON: End = (Exit::Unavailable, "no daemon answers");
const NO_OUTPUT: End = (Exit::Unavailable, "the output cannot be written");
const NO_NGINX: End = (Exit::Unavailable, "nginx of this host cannot be asked, or the output cannot be written");

/// What is true of every command that has no words of its own for it.
const USAGE: End = (Exit::Usage, "the command line is wrong");

/// A command with its exit statuses.
struct CommandEnds {
    command: &'static str,
    ends: &'static [End],
}

const fn command(command: &'static str) -> CommandEnds {
    CommandEnds { command, ends: &[] }
}

impl CommandEnds {
    const fn ends(self, ends: &'static [End]) -> Self {
        CommandEnds { ends, ..self }
    }
}

/// The exit statuses by command.
const ENDS: &[CommandEnds] = &[
    command("admission").ends(&[(Exit::Success, "the policies are printed"), NO_OUTPUT, NO_FILE, BAD_SETTINGS]),
    command("check").ends(&[
        (Exit::Success, "no error was found, and with --strict no warning"),
        (Exit::Findings, "an error was found, or with --strict a warning"),
        (Exit::NoInput, "a manifest cannot be read"),
        NO_NGINX,
        NO_FILE,
        BAD_SETTINGS,
    ]),
    command("completions").ends(&[(Exit::Success, "the script is printed"), NO_OUTPUT]),
    command("demo").ends(&[
        (Exit::Success, "the user ended it, or with --check everything is right"),
        (Exit::Findings, "with --check: something is wrong"),
        (Exit::Unavailable, "nginx, the examples or a port cannot be used"),
        NO_FILE,
    ]),
    command("diff").ends(&[
        (Exit::Success, "nothing differs"),
        (Exit::Findings, "something differs"),
        (Exit::NoInput, "a generation is not kept or cannot be read"),
        NO_OUTPUT,
        NO_FILE,
        BAD_SETTINGS,
    ]),
    command("doctor").ends(&[
        (Exit::Success, "all is well"),
        (Exit::Findings, "there are warnings"),
        (Exit::Failures, "there are errors"),
        NO_OUTPUT,
    ]),
    command("drain").ends(&[
        (Exit::Success, "no client is connected any more, or with --no-wait the daemon has noted the order"),
        (Exit::Findings, "the node is withdrawn, and clients are still connected"),
        (Exit::Unavailable, "no daemon answers, or the withdrawal was not seen in time"),
        NO_SOCKET,
        BAD_SETTINGS,
    ]),
    command("explain").ends(&[
        (Exit::Success, "an Ingress takes the request"),
        (Exit::Findings, "no Ingress takes the request"),
        (Exit::Failures, "with --send: nginx answers otherwise"),
        (Exit::NoInput, "a manifest cannot be read"),
        (
            Exit::Unavailable,
            "no daemon answers, nginx of this host cannot be asked, or the output cannot be written",
        ),
        NO_SOCKET,
        BAD_SETTINGS,
    ]),
    command("kubeconfig").ends(&[
        (Exit::Success, "the credentials are written and work"),
        (Exit::Unavailable, "the API server cannot be reached, or refuses a request"),
        (Exit::CannotCreate, "the file exists already"),
        (Exit::Permission, "the administrator lacks a right, or this user may not use a file"),
        (Exit::Configuration, "the administrator's kubeconfig or the settings cannot be used"),
    ]),
    command("kubectl __complete").ends(&[(Exit::Success, "the completions are printed"), NO_OUTPUT]),
    command("kubectl check").ends(&[
        (Exit::Success, "no error was found"),
        (Exit::Findings, "an error was found"),
        (Exit::NoInput, "a manifest cannot be read"),
        NO_CLUSTER,
        NO_RIGHT,
        BAD_ACCESS,
    ]),
    command("kubectl diff").ends(&[
        (Exit::Success, "the manifests change nothing of what is served"),
        (Exit::Findings, "they change something"),
        (Exit::NoInput, "a manifest cannot be read"),
        NO_CLUSTER,
        NO_RIGHT,
        BAD_ACCESS,
    ]),
    command("kubectl explain").ends(&[
        (Exit::Success, "an Ingress takes the request"),
        (Exit::Findings, "no Ingress takes the request"),
        (Exit::NoInput, "a manifest cannot be read"),
        NO_CLUSTER,
        NO_RIGHT,
        BAD_ACCESS,
    ]),
    command("kubectl status").ends(&[
        (
            Exit::Success,
            "every node that is not drained lives and serves, and no Ingress of the namespace has an error",
        ),
        (Exit::Findings, "one of these is not the case"),
        NO_CLUSTER,
        NO_RIGHT,
        BAD_ACCESS,
    ]),
    command("logs").ends(&[
        (Exit::Success, "something is shown, or the user ended --follow"),
        (Exit::Findings, "nothing is found"),
        (Exit::NoInput, "a log cannot be found or read"),
        (Exit::Unavailable, "nginx of this host cannot be asked, or the output cannot be written"),
        (Exit::Permission, "this user may not read a file, or may not connect to the daemon"),
        BAD_SETTINGS,
    ]),
    command("migrate compare").ends(&[
        (Exit::Success, "both answer alike"),
        (Exit::Findings, "something differs, or neither answers"),
        (Exit::Usage, "the command line is wrong, or there are several controllers"),
        (Exit::NoInput, "a file cannot be read, or there is no request to send"),
        (Exit::Unavailable, "a side or the API server cannot be reached"),
        (Exit::Permission, "the administrator lacks a right, or this user may not use a file"),
        BAD_ACCESS,
    ]),
    command("migrate report").ends(&[
        (Exit::Success, "nothing is refused"),
        (Exit::Findings, "something is refused"),
        (Exit::Usage, "the command line is wrong, or there are several controllers"),
        (Exit::NoInput, "a file cannot be read"),
        (Exit::Unavailable, "the API server cannot be reached, or refuses a request"),
        NOT_ALLOWED,
        BAD_ACCESS,
    ]),
    command("migrate settings").ends(&[
        (Exit::Success, "the settings are printed"),
        (Exit::Usage, "the command line is wrong, there are several controllers, or the controller has the ports"),
        (Exit::NoInput, "a file cannot be read"),
        (Exit::Unavailable, "the API server cannot be reached, or refuses a request"),
        NOT_ALLOWED,
        (Exit::Configuration, "the kubeconfig cannot be used"),
    ]),
    command("migrate take-over").ends(&[
        (
            Exit::Success,
            "every Ingress has the addresses that it should have, or with --dry-run nothing prevents the take-over",
        ),
        (
            Exit::Findings,
            "something prevents the take-over and nothing was changed, or single Ingresses lack addresses",
        ),
        (Exit::Usage, "the command line is wrong, or there are several controllers"),
        (Exit::NoInput, "the report, or the file of what was there before, cannot be read"),
        (Exit::Unavailable, "the API server or the nodes do not answer"),
        (Exit::CannotCreate, "the file of what was there before is of another cluster"),
        (Exit::Permission, "the administrator lacks a right, or this user may not use a file"),
        BAD_ACCESS,
    ]),
    command("reload").ends(&[
        (Exit::Success, "the settings are in force"),
        NO_DAEMON,
        NO_SOCKET,
        (Exit::Configuration, "the new settings cannot be used, and those from before stay in force"),
    ]),
    command("render").ends(&[
        (Exit::Success, "the configuration is written"),
        (Exit::NoInput, "a manifest cannot be read"),
        NO_NGINX,
        NO_FILE,
        BAD_SETTINGS,
    ]),
    command("resume").ends(&[
        (Exit::Success, "what is wanted now is applied, or will be as soon as it has been read"),
        (Exit::Findings, "nothing waits, or nginx does not run it, and everything is as before"),
        (Exit::Unavailable, "nginx or the daemon cannot be used"),
        NO_FILE,
        BAD_SETTINGS,
    ]),
    command("rollback").ends(&[
        (Exit::Success, "nginx runs the generation, or will run it when it starts"),
        (Exit::Findings, "nginx does not run the generation, and everything is as before"),
        (Exit::Unavailable, "nginx or the daemon cannot be used"),
        NO_FILE,
        BAD_SETTINGS,
    ]),
    command("run").ends(&[
        (Exit::Success, "a signal ended it"),
        (Exit::Unavailable, "an address or nginx cannot be used"),
        NO_FILE,
        BAD_ACCESS,
    ]),
    command("setup").ends(&[
        (Exit::Success, "the steps are done, shown or undone"),
        (Exit::Findings, "--undo left files that somebody changed since setup"),
        (Exit::Unavailable, "nginx refuses its configuration, or is not installed"),
        NO_FILE,
        BAD_SETTINGS,
    ]),
    command("status").ends(&[
        (
            Exit::Success,
            "nginx serves the confirmed generation; with NAMESPACE/NAME or --host: it is served and nothing is wrong with it; with \
             --cluster: every node that is not drained lives and serves; with --watch: the reader of the output is gone",
        ),
        (Exit::Findings, "one of these is not the case"),
        (
            Exit::Unavailable,
            "no daemon answers, or with --cluster: it serves a folder of manifests, and so has no other nodes",
        ),
        NO_SOCKET,
        BAD_SETTINGS,
    ]),
    command("templates").ends(&[(Exit::Success, "the text or the names are printed"), NO_OUTPUT]),
    command("top").ends(&[
        (Exit::Success, "the figures are shown"),
        (Exit::Unavailable, "no daemon answers, or it does not count requests"),
        NO_SOCKET,
        BAD_SETTINGS,
    ]),
    command("undrain").ends(&[(Exit::Success, "the daemon has noted the order"), NO_DAEMON, NO_SOCKET, BAD_SETTINGS]),
];

/// The exit statuses of a command, in numerical order; `None` for a command that only has
/// subcommands.
pub fn of(words: &str) -> Option<Vec<End>> {
    let own = ENDS.iter().find(|row| row.command == words)?.ends;
    let mut ends = own.to_vec();
    if own.iter().all(|(exit, _)| *exit != Exit::Usage) {
        ends.push(USAGE);
    }
    ends.sort_by_key(|(exit, _)| exit.number());
    Some(ends)
}

/// The name of the command that was given, such as `migrate report`.
pub fn words(matches: &ArgMatches) -> String {
    let (mut words, mut within) = (Vec::new(), matches);
    while let Some((name, deeper)) = within.subcommand() {
        words.push(name);
        within = deeper;
    }
    words.join(" ")
}

/// Adds the exit statuses of each command to its help.
pub fn shown_in_help(command: Command) -> Command {
    reported(command, "")
}

fn reported(command: Command, words: &str) -> Command {
    let command = command.mut_subcommands(|step| {
        let words = format!("{words} {}", step.get_name());
        reported(step, words.trim())
    });
    let Some(ends) = of(words) else { return command };
    let before = command.get_after_long_help().map(|text| format!("{text}\n\n")).unwrap_or_default();
    let lines = ends.iter().map(|(exit, meaning)| format!("\n  {:<4}{meaning}", exit.number()));
    let text = format!("{before}Exit status:{}", lines.collect::<String>());
    command.after_long_help(text)
}

/// The section of a man page about the exit statuses.
pub fn section(words: &str) -> String {
    let mut section = ".SH \"EXIT STATUS\"\n".to_owned();
    let Some(ends) = of(words) else {
        return section + "It is the exit status of the command that is run, or 64 when there is none.\n";
    };
    for (exit, meaning) in ends {
        // Writing to a string does not fail.
        let _ = writeln!(
            section,
            ".TP\n\\fB{}\\fR\n{}",
            exit.number(),
            meaning.replace('-', "\\-").replace('\'', "\\*(Aq")
        );
    }
    section
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use clap::CommandFactory as _;

    use super::*;
    use crate::cli::Cli;

    fn commands(command: &Command, words: &str, found: &mut BTreeSet<String>) {
        let mut is_group = false;
        for step in command.get_subcommands() {
            is_group = true;
            commands(step, format!("{words} {}", step.get_name()).trim(), found);
        }
        if !is_group {
            found.insert(words.to_owned());
        }
    }

    #[test]
    fn every_command_has_its_ends_in_order_and_each_once() {
        let mut found = BTreeSet::new();
        commands(&Cli::command(), "", &mut found);
        let mut rows: BTreeSet<_> = ENDS.iter().map(|row| row.command.to_owned()).collect();
        if cfg!(not(feature = "demo")) {
            rows.remove("demo");
        }
        assert_eq!(found, rows);
        for CommandEnds { command: words, ends: own } in ENDS {
            let ends = of(words).unwrap();
            let numbers: Vec<_> = ends.iter().map(|(exit, _)| exit.number()).collect();
            assert!(numbers.is_sorted_by(|one, next| one < next), "{words}: {numbers:?}");
            assert!(numbers.contains(&0) && numbers.contains(&64), "{words}: {numbers:?}");
            assert!(own.iter().all(|(_, meaning)| !meaning.ends_with('.')), "{words}");
        }
    }

    #[test]
    fn every_command_with_forms_has_them_by_one_name_and_json_by_its_own() {
        fn look(command: &Command, found: &mut usize) {
            let has = |name: &str| command.get_arguments().any(|argument| argument.get_long() == Some(name));
            let has_forms =
                |argument: &clap::Arg| argument.get_possible_values().iter().any(|value| value.matches("json", false));
            for argument in command.get_arguments().filter(|argument| has_forms(argument)) {
                assert_eq!(argument.get_long(), Some("format"), "{}", command.get_name());
            }
            assert_eq!(has("format"), has("json"), "{}", command.get_name());
            *found += usize::from(has("json"));
            command.get_subcommands().for_each(|step| look(step, found));
        }
        let mut found = 0;
        look(&Cli::command(), &mut found);
        assert!(found >= 6, "{found}");
    }

    #[test]
    fn help_ends_with_them() {
        let mut command = shown_in_help(Cli::command());
        command.build();
        let migrate = command.find_subcommand_mut("migrate").unwrap();
        let help = migrate.find_subcommand_mut("report").unwrap().render_long_help().to_string();
        assert!(
            help.contains("\n\nExit status:\n  0   nothing is refused\n  1   something is refused\n  64  "),
            "{help}"
        );
    }
}
