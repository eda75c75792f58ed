//! Man pages and shell completions from the definition of the command line.

use clap::CommandFactory as _;
use clap_complete::Shell;

use super::Cli;
use super::exit::{Ended, Exit};
use super::{ends, output};
use ingressd_config::Settings;

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
        let steps = command.get_subcommands().filter(|step| !step.is_hide_set());
        let steps: Vec<_> = steps.map(|step| (of_step(step), step.clone())).collect();
        commands.extend(steps);
        number += 1;
    }
    let pages = commands.into_iter().map(|(words, command)| {
        let name = format!("{}.8", command.get_display_name().unwrap_or("ingressd"));
        let mut page = Vec::new();
        let version = format!("ingressd {}", env!("CARGO_PKG_VERSION"));
        let rendered = clap_mangen::Man::new(command).section("8").source(version).render(&mut page);
        debug_assert!(rendered.is_ok(), "writing to memory cannot fail");
        (name, completed(&String::from_utf8_lossy(&page), &words).into_bytes())
    });
    pages.collect()
}

/// The files of the program, for its own page; those of the settings come from their defaults.
fn files() -> Vec<(String, &'static str)> {
    let Settings { apply, control_socket, .. } = Settings::default();
    let own = |path: &str| path.to_owned();
    vec![
        (own("/etc/ingressd/ingressd.toml"), "The settings: see ingressd.toml(5)."),
        (own("/etc/ingressd/conf.d/*.toml"), "Drop-ins of the settings, in the order of their names."),
        (own("/etc/ingressd/kubeconfig"), "The credentials of the node, as ingressd-kubeconfig(8) writes them."),
        (
            apply.root.display().to_string(),
            "The generations of nginx's configuration, with a link to the one in force.",
        ),
        (apply.state.display().to_string(), "What the daemon has to know after a restart."),
        (control_socket.display().to_string(), "The socket by which commands ask the daemon."),
        (own("/usr/share/doc/ingressd/docs/"), "The documentation."),
        (own("/usr/share/ingressd/demo/"), "The manifests of ingressd-demo(8)."),
    ]
}

/// What people begin with.
const EXAMPLES: &[(&str, &str)] = &[
    ("ingressd demo", "Serve example manifests with a private nginx, to see what ingressd does."),
    ("ingressd check manifests/", "Find the mistakes in a folder of manifests."),
    ("ingressd setup && ingressd doctor", "Make the nginx of this host ready, and see what is missing."),
    ("ingressd status --state wrong", "Show which Ingresses are not as they should be."),
    ("ingressd explain https://shop.example/cart", "Say why a request is answered as it is."),
    ("ingressd migrate report", "Say what of an ingress-nginx stays equal."),
];

/// Adds the sections that clap does not know: exit statuses under the usual heading and before the
/// additional text, files, examples and other pages.
fn completed(page: &str, words: &str) -> String {
    const BESIDES: &str = ".SH EXTRA\n";
    let place = |headings: &[&str]| headings.iter().find_map(|heading| page.find(heading)).unwrap_or(page.len());
    let (begins, ends) = (place(&[BESIDES, ".SH VERSION\n"]), place(&[".SH VERSION\n"]));
    let (before, besides, version) = (&page[..begins], &page[begins..ends], &page[ends..]);
    let besides = besides.replacen(BESIDES, ".SH NOTES\n", 1);
    let own = if words.is_empty() { own_sections() } else { String::new() };
    let others = match words {
        "" => "ingressd.toml(5), ingressd-annotations(7), nginx(8), systemctl(1), journalctl(1)",
        "check" | "explain" | "admission" => "ingressd(8), ingressd.toml(5), ingressd-annotations(7)",
        _ => "ingressd(8), ingressd.toml(5)",
    };
    let others = format!(".SH \"SEE ALSO\"\n{}\n", escaped(others));
    format!("{before}{}{besides}{own}{others}{version}", ends::section(words))
}

/// Files and examples of the program.
fn own_sections() -> String {
    let row = |(what, about): (&str, &str)| format!(".TP\n\\fB{}\\fR\n{}\n", escaped(what), escaped(about));
    let files: String = files().iter().map(|(path, about)| row((path, about))).collect();
    let examples: String = EXAMPLES.iter().copied().map(row).collect();
    format!(".SH FILES\n{files}.SH EXAMPLES\n{examples}")
}

fn escaped(text: &str) -> String {
    text.replace('-', "\\-").replace('\'', "\\*(Aq")
}
