//! Lines of nginx's error log, by the hosts that they are about.

use std::path::PathBuf;

use serde_json::{Value, json};

use super::file::{self, Halt, Reported};
use super::{Arguments, show};
use crate::cli::exit::{Ended, Exit};
use crate::cli::output::Format;
use crate::cli::page::{BAD, DOUBTFUL, FAINT, styled};
use crate::cli::status::ask;
use crate::daemon::ErrorLine;
use ingressd_config::Settings;
use ingressd_model::finding::{count, printable, printable_json};

/// Runs the command for the error log.
pub fn run(arguments: &Arguments, settings: &Settings) -> Ended {
    let path = match &arguments.file {
        Some(file) => file.clone(),
        None => of_nginx(settings)?,
    };
    let mut choice = arguments.choice.clone();
    if let Some((namespace, name)) = &choice.ingress {
        let mut hosts = hosts(settings, namespace, name)?;
        // Hosts that nobody has are in no list of the daemon, and other Ingresses have all others.
        hosts.retain(|host| host != "*");
        if hosts.is_empty() {
            complain!(
                "ingressd: Ingress {}/{} has no host of its own by which lines of nginx's error log could be told: \
                 `ingressd explain` says what nginx said of it",
                printable(namespace),
                printable(name)
            );
            return Err(Exit::Findings);
        }
        choice.hosts.extend(hosts);
    }
    let is_about_all = choice.hosts.is_empty() && choice.ingress.is_none();
    let (mut found, mut read_lines) = (0_usize, 0_usize);
    let mut report = |reported: Reported<&[u8]>| {
        let Reported::Line(line) = reported else { return Ok(()) };
        read_lines += 1;
        let text = String::from_utf8_lossy(line);
        let Some(line) = ErrorLine::read(&text) else { return Ok(()) };
        let host = line.request.map_or("", |request| without_port(request.host));
        let is_late = choice.earliest().is_none_or(|since| line.time().is_some_and(|time| time >= since));
        if !is_late || !(is_about_all || choice.has_host(host)) {
            return Ok(());
        }
        found += 1;
        let shown = match arguments.form.format {
            Format::Json => as_json(&line),
            Format::Text => as_text(&text, &line),
        };
        show(&(shown + "\n"))
    };
    match file::read(&[path], arguments.choice.earliest(), arguments.follow, &mut report) {
        Err(Halt::Failed(exit)) => Err(exit),
        _ if found > 0 || arguments.follow => Ok(Exit::Success),
        _ => {
            complain!("ingressd: none of {} fits", count(read_lines, "line", "lines"));
            Ok(Exit::Findings)
        }
    }
}

fn of_nginx(settings: &Settings) -> Result<PathBuf, Exit> {
    let survey = settings.survey().map_err(|error| {
        complain!("ingressd: {error}");
        Exit::Unavailable
    })?;
    survey.error_log().ok_or_else(|| {
        complain!("ingressd: nginx's error log is no file: see error_log in {}", survey.configuration.display());
        Exit::NoInput
    })
}

/// The hosts of an Ingress, as the daemon knows them.
fn hosts(settings: &Settings, namespace: &str, name: &str) -> Result<Vec<String>, Exit> {
    let (_, answer) = ask(settings, &format!("ingress {namespace}/{name}"))?;
    let routes = answer["subject"]["asks"].as_array().into_iter().flatten();
    Ok(routes.filter_map(|route| route["host"].as_str()).map(str::to_owned).collect())
}

fn without_port(host: &str) -> &str {
    host.rsplit_once(':')
        .filter(|(_, port)| port.bytes().all(|byte| byte.is_ascii_digit()))
        .map_or(host, |(host, _)| host)
}

fn as_text(text: &str, line: &ErrorLine<'_>) -> String {
    let style = match line.level {
        "warn" => DOUBTFUL,
        _ => BAD,
    };
    let kind = styled(style, &format!("{:<20}", line.kind().name));
    format!("{}  {kind}  {}", styled(FAINT, &text[..19]), printable(text[19..].trim_start()))
}

fn as_json(line: &ErrorLine<'_>) -> String {
    let request = line.request;
    let reported: Value = json!({
        "time": line.time().map(|time| time.to_string()),
        "level": line.level,
        "kind": line.kind().name,
        "message": line.message,
        "host": request.map(|request| request.host),
        "uri": request.map(|request| request.target),
        "upstream": request.and_then(|request| request.upstream),
        "remote_addr": request.map(|request| request.client),
    });
    printable_json(&reported.to_string())
}
