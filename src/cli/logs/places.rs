//! Where requests are logged, and in which formats: as the current generation says, and where that
//! names no log, nginx.conf. It must not know who asks.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};

use crate::cli::exit::Exit;
use ingressd_config::Settings;
use ingressd_migrate::compare::Format;
use ingressd_model::USUAL_LINE;
use ingressd_nginx::access_log::{HostLog, host_log};
use ingressd_nginx::syntax;

/// nginx's own format.
pub const COMBINED: &str = "$remote_addr - $remote_user [$time_local] \"$request\" $status $body_bytes_sent \
    \"$http_referer\" \"$http_user_agent\"";

/// The logs of requests.
pub struct AccessLogs {
    pub files: Vec<PathBuf>,
    /// What their lines may look like.
    pub formats: Vec<Format>,
}

/// Finds them; where a file is named, only their formats.
pub fn find(settings: &Settings, file: Option<&Path>) -> Result<AccessLogs, Exit> {
    let (mut logs, mut formats) = of_generation(&settings.apply.root.join("current/http"));
    // Another nginx may be there than the one that wrote the log.
    if let Ok(survey) = settings.survey() {
        if logs.is_empty() {
            let built_in = HostLog { place: survey.capabilities.access_log, format: None, parameters: Vec::new() };
            logs = if survey.other_sites.logs.is_empty() { vec![built_in] } else { survey.other_sites.logs };
        }
        let lines = survey.other_sites.lines.iter().filter(|line| line.name == "log_format");
        formats.extend(lines.filter_map(|line| format(&line.arguments)));
    }
    // Others are those of logs that are about something else.
    formats.retain(|(name, _)| logs.iter().any(|log| log.format.as_ref() == Some(name)));
    let mut formats: Vec<_> = formats.into_iter().map(|(_, format)| format).collect();
    formats.extend([USUAL_LINE, COMBINED].into_iter().filter_map(|text| Format::new(text, false).ok()));
    if let Some(file) = file {
        return Ok(AccessLogs { files: vec![file.to_owned()], formats });
    }
    let places = logs.into_iter().map(|log| log.place);
    let (files, others): (BTreeSet<_>, BTreeSet<_>) = places.partition(|place| place.starts_with('/'));
    if files.is_empty() {
        complain!(
            "ingressd: requests are logged to no file ({}); set listen.access-log, or name one with --file; where they go \
             to the journal: journalctl -a -t nginx -o cat | ingressd logs --file -",
            Vec::from_iter(others).join(", ")
        );
        return Err(Exit::NoInput);
    }
    Ok(AccessLogs { files: files.into_iter().map(PathBuf::from).collect(), formats })
}

/// The logs that servers of ours have, and the format of ours. There may be very many servers, so
/// that their files are not parsed.
fn of_generation(folder: &Path) -> (Vec<HostLog>, Vec<(String, Format)>) {
    let mut found = BTreeSet::new();
    for entry in fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok) {
        let Ok(file) = File::open(entry.path()) else { continue };
        let lines = BufReader::new(file).lines().map_while(Result::ok);
        found.extend(
            lines
                .map(|line| line.trim().to_owned())
                .filter(|line| ["access_log ", "log_format "].iter().any(|name| line.starts_with(name))),
        );
    }
    let parsed = found.iter().filter_map(|line| syntax::parse(line.as_bytes()).ok()).flatten();
    let (mut logs, mut formats) = (Vec::new(), Vec::new());
    for directive in parsed {
        match &*directive.name {
            "log_format" => formats.extend(format(&directive.arguments)),
            _ => logs.extend(host_log(&directive.arguments)),
        }
    }
    // The second one stands for no log, where requests are counted.
    logs.retain(|log| log.place != "off" && !log.parameters.iter().any(|parameter| parameter == "if=0"));
    (logs, formats)
}

/// The format of a directive `log_format`, with its name.
fn format(arguments: &[String]) -> Option<(String, Format)> {
    let (name, rest) = arguments.split_first()?;
    let escaped = rest.first().and_then(|word| word.strip_prefix("escape="));
    let text = if escaped.is_some() { &rest[1..] } else { rest };
    let format = Format::new(&plain(&text.concat()), escaped == Some("json")).ok()?;
    Some((name.clone(), format))
}

/// The text with the variables of ours as the settings name them.
fn plain(text: &str) -> String {
    const NAMES: [(&str, &str); 11] = [
        ("ingress_namespace", "ingress_namespace"),
        ("ingress", "ingress_name"),
        ("namespace", "namespace"),
        ("service", "service_name"),
        ("port", "service_port"),
        ("upstream", "proxy_upstream_name"),
        ("alternative", "proxy_alternative_upstream_name"),
        ("request_id", "req_id"),
        ("path", "location_path"),
        ("time", "time_rfc3339"),
        ("status", "status_number"),
    ];
    let mut parts = text.split("${");
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (name, behind) = part.split_once('}').unwrap_or((part, ""));
        let own = name.split_once("_log_").filter(|(ours, _)| ours.starts_with("ingressd"));
        let named = own.and_then(|(_, own)| NAMES.iter().find(|(name, _)| *name == own));
        plain += &format!("${{{}}}{behind}", named.map_or(name, |(_, name)| name));
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logs_and_formats_are_those_of_the_generation() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
        write(
            "10-access-log.conf",
            "log_format ingressd_line escape=default \"${ingressd__blue_log_ingress} \\\"${status}\";\n",
        );
        write("server-a.conf", "server {\n    access_log /var/log/a.log ingressd_line;\n    access_log off;\n}\n");
        write("server-b.conf", "    access_log \"/b c.log\";\n access_log syslog:server=127.0.0.1 combined if=0;\n");
        let (logs, formats) = of_generation(folder.path());
        assert_eq!(logs.into_iter().map(|log| log.place).collect::<Vec<_>>(), ["/b c.log", "/var/log/a.log"]);
        let [(_, format)] = formats.as_slice() else { panic!("{formats:?}") };
        let values = format.values("web \"200").unwrap();
        assert_eq!((&*values["ingress_name"], &*values["status"]), ("web", "200"));
    }
}
