//! The output of the running demo: requests to try, then hosts, generation and findings whenever
//! they change.

use std::fmt::Write as _;
use std::io::Write;
use std::path::Path;
use std::pin::pin;
use std::time::Duration;

use super::examples::Examples;
use super::session::{DemoError, HTTP_PORT, HTTPS_PORT, Session};
use super::signals;
use super::status::{DaemonStatus, Finding};
use ingressd_model::finding::{count, printable};

/// How often the daemon is asked.
const PERIOD: Duration = Duration::from_millis(100);

/// The control sequence that clears the screen.
const CLEAR: &str = "\x1b[H\x1b[2J";

/// Shows the demo until a signal ends it. A terminal is redrawn at each change; elsewhere a line
/// is printed.
pub async fn show(session: &mut Session, output: &mut impl Write, terminal: bool) -> Result<(), DemoError> {
    let mut ended = pin!(signals::ended());
    let introduction = introduction(session)?;
    let mut last = None;
    if !terminal {
        print(output, &introduction)?;
    }
    loop {
        let status = session.status().await?;
        if status != last {
            session.supply_again().await?;
            if let Some(status) = &status {
                let text = match terminal {
                    true => format!("{CLEAR}{introduction}\n{}", table(status)),
                    false => line(status),
                };
                print(output, &text)?;
            }
            last = status;
        }
        tokio::select! {
            () = &mut ended => return Ok(()),
            () = tokio::time::sleep(PERIOD) => {}
        }
    }
}

fn print(output: &mut impl Write, text: &str) -> Result<(), DemoError> {
    output.write_all(text.as_bytes()).and_then(|()| output.flush()).map_err(DemoError::Output)
}

fn introduction(session: &Session) -> Result<String, DemoError> {
    let mut text = format!(
        "nginx serves the manifests of {} on 127.0.0.1:{HTTP_PORT} and :{HTTPS_PORT}.\n\
         The status page is http://{}/\n{} Ctrl-C ends the demo. To try:\n\n",
        session.examples.display(),
        session.daemon_status,
        how_to_edit(&session.examples)
    );
    for (_, requests) in Examples::read(&session.examples)?.requests()? {
        for example in requests {
            let _ = writeln!(text, "  {}   # {}", example.command(HTTP_PORT, HTTPS_PORT), example.status);
        }
    }
    Ok(text)
}

/// The files of a package are not to be edited.
fn how_to_edit(examples: &Path) -> String {
    match examples.starts_with("/usr") {
        false => "Edit them and watch;".to_owned(),
        true => format!("To edit and watch them: cp -r {} examples && ingressd demo examples\n", examples.display()),
    }
}

/// The status as a table.
fn table(status: &DaemonStatus) -> String {
    let mut text = String::new();
    let _ = writeln!(text, "{}\n", state(status));
    let _ = writeln!(text, "{:<34} {:<24} {:>6}", "HOST", "INGRESS", "ROUTES");
    for ingress in &status.ingresses {
        let name = format!("{}/{}", ingress.namespace, ingress.name);
        for host in &ingress.hosts {
            let _ = writeln!(text, "{host:<34} {name:<24} {:>6}", ingress.routes);
        }
    }
    if !status.findings.is_empty() {
        text += "\nFINDINGS\n";
    }
    for finding in &status.findings {
        let _ = writeln!(text, "{}", describe(finding));
    }
    text
}

fn line(status: &DaemonStatus) -> String {
    let findings: String = status.findings.iter().map(|finding| format!("  {}\n", describe(finding))).collect();
    format!("{}\n{findings}", state(status))
}

fn state(status: &DaemonStatus) -> String {
    let generation = status.generation.map_or("no generation yet".to_owned(), |number| format!("generation {number}"));
    let hosts: usize = status.ingresses.iter().map(|ingress| ingress.hosts.len()).sum();
    let why = status.why.as_ref().map(|why| format!(" ({why})")).unwrap_or_default();
    format!(
        "{}{why}: {generation}, {}, {}",
        status.phase,
        count(hosts, "host", "hosts"),
        count(status.findings.len(), "finding", "findings")
    )
}

fn describe(finding: &Finding) -> String {
    let Finding { kind, namespace, name, field, severity, reason, note } = finding;
    let place = if field.is_empty() { String::new() } else { format!(" {field}") };
    let slash = if namespace.is_empty() { "" } else { "/" };
    // The note may quote what a user wrote.
    printable(&format!("{severity} {reason}: {kind} {namespace}{slash}{name}{place}: {note}"))
}

#[cfg(test)]
mod tests {
    use super::super::status::Ingress;
    use super::*;

    #[test]
    fn the_table_holds_hosts_and_findings_and_no_control_characters() {
        let status = DaemonStatus {
            phase: "serving".into(),
            generation: Some(7),
            ingresses: vec![Ingress {
                namespace: "default".into(),
                name: "shop".into(),
                hosts: vec!["shop.localhost".into()],
                routes: 2,
            }],
            findings: vec![Finding { reason: "Quarantined".into(), note: "bad \x1b[2J".into(), ..Finding::default() }],
            ..DaemonStatus::default()
        };
        let table = table(&status);
        for part in [
            "serving: generation 7, 1 host, 1 finding",
            "shop.localhost",
            "default/shop",
            "Quarantined",
            "bad \\u{1b}[2J",
        ] {
            assert!(table.contains(part), "{part} is not in {table}");
        }
    }
}
