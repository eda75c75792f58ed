//! The keys of the section `access-log`. They must not know files or layers.

use super::table::{SettingRow, row};
use super::value::{Setting, above_zero, one_of, text};
use config::Value;
use ingressd_model::{ByteSize, LogLine, Unlogged};
use ingressd_nginx::{Buffering, LogFormat, SyslogServer, SyslogSocket};
use ingressd_translate::Scope;
use ingressd_translate::value::{byte_size, integer};

/// Its keys.
pub const ROWS: &[SettingRow] = &[
    row!("access-log.enabled", Scope::Server, "true", gate.access_log.enabled)
        .doc("Whether requests for hosts of the cluster, and connections to TCP and UDP services, are logged. Where nginx.conf has `access_log off` for all sites, and no file or syslog server is set here, requests are not logged."),
    row!("access-log.requests", Scope::Server, "true", gate.access_log.requests)
        .doc("Whether requests are logged, where `access-log.enabled` is true."),
    row!("access-log.unknown-hosts", Scope::Server, "true", gate.access_log.unknown_hosts)
        .doc("Whether requests for unknown hosts are logged as well. Where an Ingress without a host, or with `spec.defaultBackend`, answers them, they are logged like others."),
    row!("access-log.format", Scope::Server, r#""dialect""#, gate.access_log.format)
        .doc("Which hosts log in the format of `access-log.line`: `dialect` for those of the ingress-nginx dialect, `ingress-nginx` for all, `nginx.conf` for none. With `json` all hosts log one JSON object a line, whose fields are documented in logs.md, and `access-log.line` and `access-log.escape-json` do not count. The others log in the format that nginx.conf sets for all sites. Where nginx.conf has no `access_log`, and `listen.access-log` is empty, all of them log in nginx's default format to its default file."),
    row!("access-log.line", Scope::Server, r#""""#, gate.access_log.line)
        .doc("Format of a line: text and variables of nginx, as in `log_format`, and `$namespace`, `$service_name`, `$service_port`, `$proxy_upstream_name` and `$proxy_alternative_upstream_name` (of the Service that got the request; without one the names are `-`), `$ingress_namespace`, `$ingress_name`, `$location_path` (the path of the rule), `$req_id`, `$time_rfc3339`, `$status_number` and `$the_real_ip`. A format with `$ingress_namespace`, `$ingress_name` or `$location_path` adds a directive to each location. Empty is the format of ingress-nginx, with its fields in its order."),
    row!("access-log.escape-json", Scope::Server, "false", gate.access_log.json)
        .doc("Whether values of variables are escaped for strings of JSON. Otherwise they are escaped by nginx's default. They are always escaped, because clients could otherwise forge lines."),
    row!("access-log.parameters", Scope::Server, r#""""#, gate.access_log.buffering)
        .doc("Parameters of nginx's `access_log` for a file, for example `buffer=32k flush=5s`, or `gzip=1` to compress it."),
    row!("access-log.skip", Scope::Server, "[]", gate.access_log.unlogged)
        .doc("Requests that are not logged, by path and query: a value, or a regular expression behind `~` (`~*` ignores case), for example `~^/healthz`."),
    row!("access-log.questions", Scope::Server, "false", gate.access_log.questions)
        .doc("Whether requests to authentication services (`auth-url`) are logged in addition to the requests of clients."),
    row!("access-log.syslog", Scope::Server, "false", gate.access_log.syslog)
        .doc("Whether lines go to a syslog server instead of a file."),
    row!("access-log.syslog-address", Scope::Server, r#""""#, gate.access_log.syslog_address)
        .doc("IP address of that server, or `unix:` and the path of its socket on this host: `unix:/dev/log` is the journal of systemd. A name is refused, because a reload would fail whenever DNS does not resolve it."),
    row!("access-log.syslog-port", Scope::Server, "514", gate.access_log.syslog_port, |port, value| {
        above_zero(port, value, "0 is no port")
    })
        .doc("UDP port of that server."),
    row!("access-log.streams", Scope::Listener, "true", gate.access_log.streams.enabled)
        .doc("Whether connections to TCP and UDP services are logged, where `access-log.stream-path` or `listen.access-log` names a file. With `access-log.enabled = false` they are not logged."),
    row!("access-log.stream-path", Scope::Listener, r#""""#, gate.access_log.streams.path)
        .doc("Absolute path of the log of these connections. Empty is the file of `listen.access-log`; without one the `access_log` in the `stream` block of nginx.conf is used, if there is one."),
    row!("access-log.stream-line", Scope::Listener, r#""""#, gate.access_log.streams.line, |line, value| {
        *line = match text(value)? {
            "" => None,
            line => Some(LogLine::of_streams(line).map_err(|refused| refused.to_string())?),
        };
        Ok(())
    })
        .doc("Format of a line of that log: text and variables of nginx's stream module, such as `$remote_addr`, `$protocol`, `$status`, `$bytes_sent`, `$session_time` and `$upstream_addr`. Empty is the format of ingress-nginx."),
];

impl Setting for LogFormat {
    fn read(value: &Value) -> Result<Self, String> {
        let words = [
            ("dialect", LogFormat::Dialect),
            ("ingress-nginx", LogFormat::IngressNginx),
            ("nginx.conf", LogFormat::NginxConf),
            ("json", LogFormat::Json),
        ];
        one_of(value, &words)
    }
}

impl Setting for SyslogServer {
    fn read(value: &Value) -> Result<Self, String> {
        let text = text(value)?;
        match text.strip_prefix("unix:") {
            Some(path) => SyslogSocket::new(path)
                .map(SyslogServer::Socket)
                .ok_or_else(|| "it is no absolute path of letters, digits, `.`, `_` and `-`".to_owned()),
            None => Setting::read(value).map(SyslogServer::Address),
        }
    }
}

impl Setting for LogLine {
    fn read(value: &Value) -> Result<Self, String> {
        LogLine::new(text(value)?).map_err(|refused| refused.to_string())
    }
}

impl Setting for Unlogged {
    fn read(value: &Value) -> Result<Self, String> {
        let text = text(value)?;
        Unlogged::new(text).map_err(|refused| format!("{text:?} is refused: {refused}"))
    }
}

const LARGEST_BUFFER: u64 = 16 << 20;

impl Setting for Buffering {
    fn read(value: &Value) -> Result<Self, String> {
        let mut buffering = Buffering::default();
        for word in text(value)?.split_whitespace() {
            let wrong = |why: &dyn std::fmt::Display| format!("{word:?} is refused: {why}");
            match word.split_once('=').unwrap_or((word, "1")) {
                ("buffer", size) => {
                    let size: ByteSize = byte_size(size, 1024, LARGEST_BUFFER).map_err(|why| wrong(&why))?;
                    buffering.size = Some(size);
                }
                ("flush", time) => buffering.flush = Some(super::value::duration(time).map_err(|why| wrong(&why))?),
                ("gzip", level) => {
                    let level = integer(level, 1, 9).map_err(|why| wrong(&why))?;
                    buffering.gzip = u8::try_from(level).ok();
                }
                _ => return Err(wrong(&"it is none of buffer=32k, flush=5s and gzip=1")),
            }
        }
        match buffering.flush.is_some_and(|flush| flush.as_millis() == 0 || flush.as_secs() > 86_400) {
            true => Err("flush is a time of up to a day".to_owned()),
            false if buffering.flush.is_some() && buffering.size.is_none() && buffering.gzip.is_none() => {
                Err("flush needs buffer or gzip".to_owned())
            }
            false => Ok(buffering),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_gathered_as_nginx_can() {
        for (text, expected) in [
            ("", Ok("")),
            ("buffer=32k flush=5s gzip", Ok("32k 5s 1")),
            ("gzip=9", Ok("9")),
            ("flush=5s", Err("needs buffer")),
            ("buffer=0", Err("is refused")),
            ("buffer=1g", Err("is refused")),
            ("gzip=10", Err("is refused")),
            ("buffer=32k flush=0s", Err("up to a day")),
            ("if=$x", Err("none of")),
            ("buffer=32k;", Err("is refused")),
        ] {
            let read = Buffering::read(&Value::new(None, text));
            let shown = read.map(|Buffering { size, flush, gzip }| {
                let parts = [
                    size.map(|size| size.to_string()),
                    flush.map(|flush| format!("{}s", flush.as_secs())),
                    gzip.map(|level| level.to_string()),
                ];
                parts.into_iter().flatten().collect::<Vec<_>>().join(" ")
            });
            match (shown, expected) {
                (Ok(shown), Ok(expected)) => assert_eq!(shown, expected, "{text}"),
                (Err(why), Err(expected)) => assert!(why.contains(expected), "{text}: {why}"),
                (shown, _) => panic!("{text}: {shown:?}"),
            }
        }
    }
}
