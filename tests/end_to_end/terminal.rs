//! What commands write to a terminal: lines as wide as it is, colours where they are wanted, and
//! what is waited for.

use std::process::{Command, Stdio};

use nix::sys::signal::{Signal, kill};
use unicode_width::UnicodeWidthStr as _;

use rig::client::get;
use rig::load::Load;
use rig::manifests::ingress;
use rig::wait;

/// The command in a shell on a terminal of so many columns, with these variables.
fn in_terminal(command: &Command, columns: u16, variables: &[(&str, &str)]) -> Command {
    let words = std::iter::once(command.get_program()).chain(command.get_args()).map(|word| word.to_str().unwrap());
    let line = shlex::try_join(words).unwrap();
    let mut script = Command::new("script");
    // A shell may set COLUMNS by itself, and where CI is set a dumb terminal has colours too.
    let unset = "env --unset=COLUMNS --unset=NO_COLOR --unset=CLICOLOR --unset=CLICOLOR_FORCE --unset=CI TERM=xterm";
    let set = variables.iter().map(|(name, value)| format!(" {name}={value}")).collect::<String>();
    let line = format!("stty rows 24 cols {columns}; {unset}{set} {line}");
    script.args(["--quiet", "--return", "--command", &line, "/dev/null"]).stdin(Stdio::null());
    script
}

/// What the command writes there.
pub fn on_a_terminal(command: &Command, columns: u16, variables: &[(&str, &str)]) -> String {
    String::from_utf8(in_terminal(command, columns, variables).output().unwrap().stdout).unwrap()
}

#[test]
fn every_command_is_readable_on_80_columns_and_colours_nothing_where_nobody_wants_it() {
    rig::run(async |rig| {
        let long = "a-service-with-a-long-name-that-is-not-there-and-never-was";
        let hosts: Vec<_> = (0..8).map(|number| format!("host-{number}-with-a-long-name.example.test")).collect();
        let many = hosts.iter().fold(ingress("many"), |many, host| many.host(host, "web"));
        let refused = ingress("refused").class("nginx").host("refused.test", "web").annotation("canary", "perhaps");
        let origins = hosts.iter().map(|host| format!("https://{host}")).collect::<Vec<_>>().join(", ");
        let wordy = ingress("a").class("nginx").host("a.test", long).annotation("enable-cors", "true");
        let wordy = wordy.annotation("cors-allow-origin", &origins);
        rig.manifests.write("a.yaml", &[wordy.build(), many.build(), refused.build()]);
        rig.start().await;
        let load = Load::new(&[get("http://host-0-with-a-long-name.example.test/")]).rates(20, 5).start();
        for (name, arguments) in [
            ("status", &[][..]),
            ("status", &["default/a"]),
            ("status", &["--host", "a.test"]),
            ("explain", &["http://a.test/a/path", "--all", "--send"]),
            ("explain", &["nobody.test"]),
            ("doctor", &["--all"]),
            ("diff", &["--list"]),
            ("top", &["--once", "--interval", "2"]),
        ] {
            let mut command = rig.daemon.command(name);
            command.args(arguments);
            let shown = tokio::task::spawn_blocking(move || {
                let coloured = on_a_terminal(&command, 80, &[]);
                let plain = on_a_terminal(&command, 80, &[("NO_COLOR", "1")]);
                let piped = command.env("CLICOLOR_FORCE", "1").env("COLUMNS", "40").output().unwrap();
                (coloured, plain, String::from_utf8([piped.stdout, piped.stderr].concat()).unwrap())
            });
            let (coloured, plain, piped) = shown.await.unwrap();
            assert!(coloured.contains('\u{1b}'), "{name} {arguments:?}: {coloured}");
            assert!(!plain.contains('\u{1b}') && !piped.contains('\u{1b}'), "{name} {arguments:?}: {plain}{piped}");
            let widest = plain.lines().max_by_key(|line| line.trim_end().width()).unwrap_or_default();
            assert!(widest.trim_end().width() <= 80, "{name} {arguments:?}: {widest}\nin\n{plain}");
            assert!(!piped.contains("waiting for"), "{name}: {piped}");
        }
        load.stop().await;
    });
}

#[test]
fn a_terminal_shows_what_takes_long() {
    rig::run(async |rig| {
        rig.manifests.write("a.yaml", &[ingress("a").host("a.test", "web").build()]);
        rig.start().await;
        // A daemon that is busy: it goes on when the command has said what it waits for.
        let daemon = rig.daemon.pid();
        kill(daemon, Signal::SIGSTOP).unwrap();
        let mut reload = in_terminal(&rig.daemon.command("reload"), 80, &[]);
        let file = rig.folder().join("shown");
        let mut reload = reload.stdout(std::fs::File::create(&file).unwrap()).spawn().unwrap();
        let shown = || std::fs::read_to_string(&file).unwrap_or_default();
        let is_reported = async || shown().contains("waiting for the daemon to finish").then_some(());
        wait::until("what it waits for", is_reported).await;
        kill(daemon, Signal::SIGCONT).unwrap();
        let ended = wait::until("its end", async || reload.try_wait().unwrap()).await;
        assert!(ended.success(), "{}", shown());
    });
}
