//! Whether a command is one that its program knows.

use std::path::Path;
use std::process::Command;

use clap::Parser as _;
use ingressd::cli::Cli;

use super::pages::root;

/// What may stand before the name of a program.
const BEFORE: &[&str] = &["sudo", "!"];

/// Checks what can be checked by looking. Commands that are tried on a booted system may be of any
/// program.
pub fn check(command: &str, is_tried: bool) -> Result<(), String> {
    let line = command.lines().next().unwrap_or_default();
    let line = line.split(" <<'").next().unwrap_or_default();
    let words = shlex::split(line).ok_or_else(|| format!("{line}: a quote has no end"))?;
    let mut checked = false;
    for words in words.split(|word| ["|", "&&", "||", ";", ">", ">>", "2>&1"].contains(&word.as_str())) {
        let words: Vec<_> = words.iter().map(String::as_str).skip_while(|word| BEFORE.contains(word)).collect();
        let Some((program, arguments)) = words.split_first() else { continue };
        checked |= match *program {
            "ingressd" => known_to_us(arguments)?,
            "make" => known_to_make(arguments)?,
            // It is a plugin.
            "kubectl" if arguments.first() == Some(&"ingressd") => {
                known_to_us(&[&["kubectl"], &arguments[1..]].concat())?
            }
            "kubectl" => known_to_kubectl(arguments)?,
            _ => false,
        };
    }
    match checked || is_tried {
        true => Ok(()),
        false => Err(format!("{line}: nothing checks this: let it be run on a `node` or in a `cluster`")),
    }
}

/// Whether the arguments are such that ingressd takes them.
pub fn known_to_us(arguments: &[&str]) -> Result<bool, String> {
    match Cli::try_parse_from([&["ingressd"], arguments].concat()) {
        Ok(_) => Ok(true),
        Err(error) if !error.use_stderr() => Ok(true),
        Err(error) => Err(format!("ingressd {}: {error}", arguments.join(" "))),
    }
}

fn known_to_make(arguments: &[&str]) -> Result<bool, String> {
    let makefile = std::fs::read_to_string(root().join("Makefile")).unwrap();
    let unknown = arguments.iter().filter(|word| !word.contains('=') && !makefile.contains(&format!("\n{word}:")));
    match unknown.collect::<Vec<_>>()[..] {
        [] => Ok(true),
        ref unknown => Err(format!("make {unknown:?}: there is no such target")),
    }
}

/// Its own help has every flag.
fn known_to_kubectl(arguments: &[&str]) -> Result<bool, String> {
    let binary = Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("cluster").join("cluster");
    let commands = arguments.iter().position(|word| !word.starts_with('-') && !word.contains('/')).unwrap_or(0);
    let verbs = match arguments.get(commands..) {
        Some([verb @ ("create" | "rollout" | "config"), what, ..]) => vec![*verb, *what],
        Some([verb, ..]) => vec![*verb],
        _ => return Err("kubectl without a command".to_owned()),
    };
    let help = |words: &[&str]| {
        let output = Command::new(&binary).arg("kubectl").args(words).output();
        let output = output.unwrap_or_else(|error| panic!("{}: {error}: run tests/cluster/build", binary.display()));
        (output.status.success(), String::from_utf8_lossy(&output.stdout).into_owned())
    };
    let (known, own) = help(&[&verbs[..], &["--help"]].concat());
    let (_, general) = help(&["options"]);
    if !known || !own.contains(&format!("kubectl {}", verbs.join(" "))) {
        return Err(format!("kubectl has no command {verbs:?}"));
    }
    let flags =
        arguments.iter().take_while(|word| **word != "--").filter(|word| word.starts_with('-') && word.len() > 1);
    for flag in flags {
        let name = flag.split('=').next().unwrap_or_default();
        let shown = match name.starts_with("--") {
            true => format!("{name}="),
            false => format!("{name}, "),
        };
        if !own.contains(&shown) && !general.contains(&shown) {
            return Err(format!("kubectl {}: there is no flag {name}", verbs.join(" ")));
        }
    }
    Ok(true)
}
