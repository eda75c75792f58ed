//! The command `status`: asks the daemon and shows what it says; it must not know the other commands.

use std::io::{self, Write as _};

use serde_json::Value;

use super::exit::Exit;
use super::settings::SettingsArguments;
use crate::daemon::control;

/// Arguments of `ingressd status`.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Exit status: 0 when nginx serves the confirmed generation, 1 when it does not, \
    69 when no daemon answers, 77 when its socket may not be used.")]
pub struct Arguments {
    /// How the answer is shown.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    #[command(flatten)]
    settings: SettingsArguments,
}

/// How the answer is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    /// A table for people.
    Text,
    /// The daemon's own words, one JSON object.
    Json,
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Exit {
    let settings = match arguments.settings.load([]) {
        Ok(settings) => settings,
        Err(exit) => return exit,
    };
    let path = &settings.control_socket;
    let answer = match control::ask(path) {
        Ok(answer) => answer,
        Err(error) => {
            match error.kind() {
                io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused => {
                    eprintln!("ingressd: no daemon runs here: nobody answers on {}", path.display());
                }
                _ => eprintln!("ingressd: the daemon cannot be asked on {}: {error}", path.display()),
            }
            return Exit::of_error(&error);
        }
    };
    let Ok(status) = serde_json::from_str::<Value>(&answer) else {
        eprintln!("ingressd: the answer on {} is not to be understood: is it another version?", path.display());
        return Exit::Unavailable;
    };
    let shown = match arguments.format {
        Format::Json => answer + "\n",
        Format::Text => table(&status),
    };
    match io::stdout().write_all(shown.as_bytes()) {
        Ok(()) if status["ready"] == true => Exit::Success,
        Ok(()) => Exit::Findings,
        Err(error) => Exit::of_error(&error),
    }
}

/// The answer for people.
fn table(status: &Value) -> String {
    let text = |value: &Value| match value {
        Value::String(text) => printable(text),
        Value::Null => "-".to_owned(),
        other => other.to_string(),
    };
    let why = status["why"].as_str().map(|why| format!(" ({})", printable(why))).unwrap_or_default();
    let nginx = &status["nginx"];
    let mut lines = vec![
        format!("state       {}{why}", text(&status["phase"])),
        format!("generation  {}", text(&status["generation"])),
        format!(
            "nginx       {}, master {}, {} workers, {} draining",
            text(&nginx["version"]),
            text(&nginx["master"]),
            text(&nginx["workers"]),
            text(&nginx["draining"])
        ),
        format!("serves      {} hosts, {} routes", text(&status["hosts"]), text(&status["routes"])),
        match &status["data_age_seconds"] {
            Value::Null => "data        not read yet".to_owned(),
            age => format!("data        read {} s ago", text(age)),
        },
        format!("role        {}", text(&status["role"])),
    ];
    if let Some(failure) = status["source_failure"].as_str() {
        lines.push(format!("source      {}", printable(failure)));
    }
    let rows = |name: &str| status[name].as_array().cloned().unwrap_or_default();
    let ingresses = rows("ingresses");
    if !ingresses.is_empty() {
        lines.push(String::new());
        let mut table = vec![["NAMESPACE", "INGRESS", "ROUTES", "HOSTS"].map(str::to_owned)];
        table.extend(ingresses.iter().map(|ingress| {
            let hosts = ingress["hosts"].as_array().into_iter().flatten().map(text).collect::<Vec<_>>().join(",");
            [text(&ingress["namespace"]), text(&ingress["name"]), text(&ingress["routes"]), hosts]
        }));
        lines.extend(aligned(&table));
    }
    let findings = rows("findings");
    if !findings.is_empty() {
        lines.push(String::new());
        let mut table = vec![["SEVERITY", "REASON", "OBJECT", "NOTE"].map(str::to_owned)];
        table.extend(findings.iter().map(|finding| {
            let name = [&finding["namespace"], &finding["name"]].map(text);
            let name = name.iter().filter(|part| !part.is_empty()).cloned().collect::<Vec<_>>().join("/");
            let object = [text(&finding["kind"]), name, text(&finding["field"])].join(" ");
            [text(&finding["severity"]), text(&finding["reason"]), object.trim_end().to_owned(), text(&finding["note"])]
        }));
        lines.extend(aligned(&table));
    }
    lines.join("\n") + "\n"
}

/// Notes may quote what users wrote: nothing of it may steer the terminal.
fn printable(text: &str) -> String {
    text.chars()
        .flat_map(|character| match character.is_control() {
            true => character.escape_default().collect::<Vec<_>>(),
            false => vec![character],
        })
        .collect()
}

/// Columns as wide as their widest cell, the last one as it is.
fn aligned(rows: &[[String; 4]]) -> Vec<String> {
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let (first, second, third) = (width(0), width(1), width(2));
    let line = |[a, b, c, d]: &[String; 4]| format!("{a:first$}  {b:second$}  {c:third$}  {d}");
    rows.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn people_get_a_table_that_no_object_can_forge() {
        let status = serde_json::json!({
            "phase": "serving", "generation": 7, "hosts": 1, "routes": 2, "data_age_seconds": 3, "role": "standalone",
            "nginx": {"version": "1.22.1", "master": 12, "workers": 2, "draining": 0},
            "ingresses": [{"namespace": "shop", "name": "cart", "routes": 2, "hosts": ["a.example", "b.example"]}],
            "findings": [{"kind": "Ingress", "namespace": "shop", "name": "cart", "field": "", "severity": "error",
                "reason": "Quarantined", "note": "bad \u{1b}[2J\nvalue"}],
        });
        let expected = "\
state       serving
generation  7
nginx       1.22.1, master 12, 2 workers, 0 draining
serves      1 hosts, 2 routes
data        read 3 s ago
role        standalone

NAMESPACE  INGRESS  ROUTES  HOSTS
shop       cart     2       a.example,b.example

SEVERITY  REASON       OBJECT             NOTE
error     Quarantined  Ingress shop/cart  bad \\u{1b}[2J\\nvalue
";
        assert_eq!(table(&status), expected);
    }
}
