//! Decides where requests are logged, and how, from the settings and from what `nginx.conf` says.
//! It must not know who asked for it.

use std::collections::BTreeSet;
use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use super::{OtherSites, StreamLogOptions};
use ingressd_model::{ByteSize, LogLine, USUAL_LINE, Unlogged};

/// Which hosts use the log line of the settings.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum LogFormat {
    /// The hosts of the ingress-nginx dialect.
    #[default]
    Dialect,
    /// All hosts.
    IngressNginx,
    /// No host: lines have the format that `nginx.conf` names.
    NginxConf,
    /// All hosts, and the line is the documented one in JSON.
    Json,
}

/// The administrator's settings for access logs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccessLogOptions {
    /// Whether anything is logged.
    pub enabled: bool,
    /// Whether requests are, where anything is.
    pub requests: bool,
    /// Whether requests for hosts that no object has are logged as well.
    pub unknown_hosts: bool,
    /// Which hosts use the log line.
    pub format: LogFormat,
    /// The log line.
    pub line: Option<LogLine>,
    /// Whether the values of variables are escaped for JSON.
    pub json: bool,
    /// The file; `None` keeps the logs that `nginx.conf` names.
    pub path: Option<PathBuf>,
    /// How nginx buffers lines.
    pub buffering: Buffering,
    /// Requests that are not logged.
    pub unlogged: Vec<Unlogged>,
    /// Whether subrequests to external authentication services are logged as well.
    pub questions: bool,
    /// Whether lines go to a syslog server instead of a file.
    pub syslog: bool,
    /// The address of the syslog server.
    pub syslog_address: Option<SyslogServer>,
    /// The port of the syslog server.
    pub syslog_port: u16,
    /// How connections to TCP and UDP services are logged.
    pub streams: StreamLogOptions,
}

impl AccessLogOptions {
    /// Before anything is put in: what the rows of the settings say is its default.
    pub fn empty() -> Self {
        AccessLogOptions {
            enabled: false,
            requests: false,
            unknown_hosts: false,
            format: LogFormat::Dialect,
            line: None,
            json: false,
            path: None,
            buffering: Buffering::default(),
            unlogged: Vec::new(),
            questions: false,
            syslog: false,
            syslog_address: None,
            syslog_port: 0,
            streams: StreamLogOptions::empty(),
        }
    }
}

/// Who takes lines by the protocol of syslog.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SyslogServer {
    Address(IpAddr),
    /// One of this host.
    Socket(SyslogSocket),
}

/// The path of a socket, of which nothing means anything to nginx.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SyslogSocket(String);

impl SyslogSocket {
    /// The longest path that a socket has.
    const LONGEST: usize = 107;

    /// Takes an absolute path of letters, digits, `.`, `_`, `-` and `/`.
    pub fn new(path: &str) -> Option<Self> {
        let is_plain = path.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-/".contains(&byte));
        (is_plain && path.starts_with('/') && path.len() <= Self::LONGEST).then(|| SyslogSocket(path.to_owned()))
    }
}

impl fmt::Display for SyslogSocket {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// How nginx buffers lines before it writes them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Buffering {
    /// The size of the buffer.
    pub size: Option<ByteSize>,
    /// How long lines wait in the buffer at most.
    pub flush: Option<Duration>,
    /// The compression level, 1 to 9.
    pub gzip: Option<u8>,
}

impl Buffering {
    /// Whether nginx keeps a buffer.
    fn is_asked(self) -> bool {
        self.size.is_some() || self.gzip.is_some()
    }
}

/// A log that `nginx.conf` has at `http` level, for all sites.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostLog {
    /// Its file or syslog server, as written.
    pub place: String,
    /// Its format, where it names one.
    pub format: Option<String>,
    /// Its other parameters, such as `buffer=32k`.
    pub parameters: Vec<String>,
}

impl HostLog {
    fn is_off(&self) -> bool {
        self.place == "off"
    }
}

/// Where log lines go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LogPlace {
    File(PathBuf),
    /// To a syslog server.
    Syslog(SocketAddr),
    /// To a syslog server of this host.
    Socket(SyslogSocket),
    /// A place that `nginx.conf` names, as written there.
    Host(String),
}

/// One `access_log` of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogTarget {
    /// Where it is.
    pub place: LogPlace,
    /// The format that `nginx.conf` names, where the log line of the settings is not used; `None`
    /// is nginx's own.
    pub format: Option<String>,
    /// How nginx buffers lines.
    pub buffering: Buffering,
    /// Other parameters that `nginx.conf` gives.
    pub parameters: Vec<String>,
}

/// The logs of a server.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Logs {
    /// What `nginx.conf` has at `http` level: nothing is written.
    #[default]
    Inherited,
    /// No log.
    Off,
    /// These.
    To(Vec<LogTarget>),
}

impl Logs {
    /// The same without what is inherited: a server with one more log would lose that.
    pub fn spelled_out(self, other_sites: &OtherSites, of_nginx: &str) -> Self {
        let target = |log: &HostLog| LogTarget {
            place: LogPlace::Host(log.place.clone()),
            format: log.format.clone(),
            buffering: Buffering::default(),
            parameters: log.parameters.clone(),
        };
        match (self, other_sites.logs.as_slice()) {
            (Logs::Inherited, []) => {
                let log = HostLog { place: of_nginx.to_owned(), format: None, parameters: Vec::new() };
                Logs::To(vec![target(&log)])
            }
            (Logs::Inherited, logs) if logs.iter().any(HostLog::is_off) => Logs::Off,
            (Logs::Inherited, logs) => Logs::To(logs.iter().map(target).collect()),
            (logs, _) => logs,
        }
    }
}

/// The decision about access logs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AccessLog {
    /// The log line of the settings, where some host uses it.
    pub line: Option<Arc<LogLine>>,
    /// Whether the values of variables are escaped for JSON.
    pub json: bool,
    /// Whether all hosts use the log line, and not only those of the dialect.
    pub global: bool,
    pub logs: Logs,
    /// Requests for hosts that no object has are not logged.
    pub leaves_out_unknown_hosts: bool,
    /// Requests that are not logged.
    pub unlogged: Vec<Unlogged>,
    /// Whether subrequests to external authentication services are logged as well.
    pub questions: bool,
}

impl AccessLog {
    /// The log line of a host, which may be one of the dialect; `None` where the format is
    /// nginx.conf's.
    pub fn line(&self, is_of_dialect: bool) -> Option<&LogLine> {
        self.line.as_deref().filter(|_| self.global || is_of_dialect)
    }
}

/// Decides about access logs.
pub fn decide(options: &AccessLogOptions, other_sites: &OtherSites, mut report: impl FnMut(String)) -> AccessLog {
    let mut wants = options.format != LogFormat::NginxConf;
    let logs = logs(options, other_sites, wants, &mut report);
    wants &= matches!(logs, Logs::To(_));
    let is_json = options.format == LogFormat::Json;
    if is_json && logs == Logs::Inherited {
        report(
            "access-log.format is json, but nginx.conf has no access log for all sites or switches it off, so nothing \
              is logged as JSON; set listen.access-log"
                .to_owned(),
        );
    }
    let usual = || LogLine::new(USUAL_LINE).ok();
    let line = match is_json {
        true => LogLine::json(),
        false => options.line.clone().or_else(usual),
    };
    let line = line.filter(|_| wants);
    let unlogged = match logs {
        Logs::To(_) => options.unlogged.clone(),
        Logs::Inherited | Logs::Off => Vec::new(),
    };
    AccessLog {
        line: line.map(Arc::new),
        json: options.json || is_json,
        global: matches!(options.format, LogFormat::IngressNginx | LogFormat::Json),
        logs,
        leaves_out_unknown_hosts: !options.unknown_hosts,
        unlogged,
        questions: options.questions,
    }
}

fn logs(
    options: &AccessLogOptions,
    other_sites: &OtherSites,
    wants_line: bool,
    report: &mut impl FnMut(String),
) -> Logs {
    let of_host = &other_sites.logs;
    let explicit = match (options.syslog, &options.syslog_address, &options.path) {
        (true, Some(SyslogServer::Address(address)), _) => {
            Some(LogPlace::Syslog(SocketAddr::new(*address, options.syslog_port)))
        }
        (true, Some(SyslogServer::Socket(socket)), _) => Some(LogPlace::Socket(socket.clone())),
        (true, None, _) => {
            report(
                "access-log.syslog is on, but access-log.syslog-address names no server, so it has no effect; set \
                  access-log.syslog-address"
                    .to_owned(),
            );
            None
        }
        (false, _, Some(path)) => Some(LogPlace::File(path.clone())),
        (false, _, None) => None,
    };
    match explicit {
        _ if !(options.enabled && options.requests) => Logs::Off,
        Some(place) => {
            let buffering = buffering(options.buffering, &place, other_sites, report);
            Logs::To(vec![LogTarget { place, format: None, buffering, parameters: Vec::new() }])
        }
        // The administrator's `nginx.conf` switches logs off.
        None if of_host.iter().any(HostLog::is_off) => Logs::Inherited,
        None if !wants_line && options.unlogged.is_empty() && !options.buffering.is_asked() => Logs::Inherited,
        None if of_host.is_empty() => Logs::Inherited,
        None => Logs::To(
            of_host
                .iter()
                .map(|log| {
                    let place = LogPlace::Host(log.place.clone());
                    let buffering = match log.parameters.is_empty() {
                        true => buffering(options.buffering, &place, other_sites, report),
                        false => Buffering::default(),
                    };
                    LogTarget { place, format: log.format.clone(), buffering, parameters: log.parameters.clone() }
                })
                .collect(),
        ),
    }
}

/// nginx keeps one buffer for each file, also when several sites log to it, and refuses two sizes.
pub(super) fn buffering(
    wanted: Buffering,
    place: &LogPlace,
    other_sites: &OtherSites,
    report: &mut impl FnMut(String),
) -> Buffering {
    let path = match place {
        LogPlace::Syslog(_) | LogPlace::Socket(_) => return Buffering::default(),
        LogPlace::File(path) => path.to_string_lossy().into_owned(),
        LogPlace::Host(place) if place.starts_with("syslog:") || place.contains('$') => return Buffering::default(),
        LogPlace::Host(place) => place.clone(),
    };
    if wanted.is_asked() && other_sites.buffered_logs.contains(&path) {
        report(format!(
            "nginx.conf sets a buffer for {path}, and nginx allows one for each file, so access-log.parameters has no \
                effect on it; remove one of the two"
        ));
        return Buffering::default();
    }
    wanted
}

/// Parses the arguments of an `access_log` directive.
pub fn host_log(arguments: &[String]) -> Option<HostLog> {
    let (place, rest) = arguments.split_first()?;
    let (format, parameters) = match rest.split_first() {
        Some((format, parameters)) if !is_parameter(format) => (Some(format.clone()), parameters),
        _ => (None, rest),
    };
    Some(HostLog { place: place.clone(), format, parameters: parameters.to_vec() })
}

fn is_parameter(word: &str) -> bool {
    word == "gzip" || ["buffer=", "flush=", "gzip=", "if="].iter().any(|start| word.starts_with(start))
}

/// The file of a log, if the log has a buffer.
pub fn buffered(log: &HostLog) -> Option<String> {
    let has_buffer = log.parameters.iter().any(|word| word.starts_with("buffer=") || word.starts_with("gzip"));
    has_buffer.then(|| log.place.clone())
}

/// Files of logs with a buffer.
pub type BufferedLogs = BTreeSet<String>;

#[cfg(test)]
mod tests {
    use super::*;

    fn log(text: &str) -> HostLog {
        let words: Vec<_> = text.split_whitespace().map(str::to_owned).collect();
        host_log(&words).unwrap()
    }

    fn decided(options: &AccessLogOptions, host: &[&str]) -> (AccessLog, usize) {
        let logs: Vec<_> = host.iter().map(|text| log(text)).collect();
        let buffered_logs = logs.iter().filter_map(buffered).collect();
        let other_sites = OtherSites { logs, buffered_logs, ..OtherSites::default() };
        let mut reported = 0;
        let decided = decide(options, &other_sites, |_| reported += 1);
        (decided, reported)
    }

    fn shown(options: &AccessLogOptions, host: &[&str]) -> String {
        let (AccessLog { line, logs, .. }, reported) = decided(options, host);
        let line = if line.is_some() { "line " } else { "" };
        let target = |target: &LogTarget| {
            let place = match &target.place {
                LogPlace::File(path) => path.display().to_string(),
                LogPlace::Syslog(address) => format!("syslog {address}"),
                LogPlace::Socket(socket) => format!("socket {socket}"),
                LogPlace::Host(place) => format!("host {place}"),
            };
            let buffer = target.buffering.size.map_or(String::new(), |size| format!(" {size}"));
            format!("{place}{buffer} {}", target.parameters.join(" ")).trim().to_owned()
        };
        let logs = match logs {
            Logs::Inherited => "inherited".to_owned(),
            Logs::Off => "off".to_owned(),
            Logs::To(targets) => targets.iter().map(target).collect::<Vec<_>>().join(", "),
        };
        format!("{line}{logs} {reported}")
    }

    #[test]
    fn what_would_be_inherited_can_be_spelled_out() {
        let spelled_out = |logs: Logs, host: &[&str]| {
            let other_sites = OtherSites { logs: host.iter().map(|text| log(text)).collect(), ..OtherSites::default() };
            match logs.spelled_out(&other_sites, "/usual") {
                Logs::To(targets) => targets.into_iter().map(|target| (target.place, target.parameters)).collect(),
                logs => vec![(LogPlace::Host(format!("{logs:?}")), Vec::new())],
            }
        };
        let at = |place: &str, parameters: &[&str]| {
            (LogPlace::Host(place.to_owned()), parameters.iter().map(|one| (*one).to_owned()).collect::<Vec<_>>())
        };
        assert_eq!(spelled_out(Logs::Inherited, &[]), [at("/usual", &[])]);
        assert_eq!(spelled_out(Logs::Inherited, &["/a main if=$x", "/b"]), [at("/a", &["if=$x"]), at("/b", &[])]);
        assert_eq!(spelled_out(Logs::Inherited, &["off"]), [at("Off", &[])]);
        assert_eq!(spelled_out(Logs::Off, &["/a"]), [at("Off", &[])]);
    }

    #[test]
    fn logs_are_where_the_settings_or_nginx_conf_have_them() {
        let usual = AccessLogOptions::default();
        let path = AccessLogOptions { path: Some("/log".into()), ..usual.clone() };
        let off = AccessLogOptions { enabled: false, ..usual.clone() };
        let as_host = AccessLogOptions { format: LogFormat::NginxConf, ..usual.clone() };
        let unlogged = vec![Unlogged::new("/healthz").unwrap()];
        let size = Buffering { size: Some(ByteSize(4096)), ..Buffering::default() };
        let buffered = AccessLogOptions { buffering: size, ..usual.clone() };
        let syslog = AccessLogOptions {
            syslog: true,
            syslog_address: Some(SyslogServer::Address([192, 0, 2, 1].into())),
            ..buffered.clone()
        };
        for (options, host, expected) in [
            (&usual, &["/a main"][..], "line host /a 0"),
            (
                &usual,
                &["/a main buffer=1k if=$x", "syslog:server=x"],
                "line host /a buffer=1k if=$x, host syslog:server=x 0",
            ),
            (&usual, &[], "inherited 0"),
            (&usual, &["off"], "inherited 0"),
            (&path, &["off"], "line /log 0"),
            (&off, &["/a"], "off 0"),
            (&as_host, &["/a main"], "inherited 0"),
            (&AccessLogOptions { unlogged, ..as_host.clone() }, &["/a main"], "host /a 0"),
            (&buffered, &["/a main"], "line host /a 4k 0"),
            (&AccessLogOptions { path: Some("/a".into()), ..buffered.clone() }, &["/a main gzip"], "line /a 1"),
            (&syslog, &["/a"], "line syslog 192.0.2.1:514 0"),
            (&AccessLogOptions { syslog_address: None, ..syslog.clone() }, &["/a"], "line host /a 4k 1"),
        ] {
            assert_eq!(shown(options, host), expected, "{options:?} {host:?}");
        }
    }
}
