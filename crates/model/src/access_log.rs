//! A line of the access log, made of text and variables.

use std::fmt;
use std::sync::Arc;

use super::catalogue::{Module, Version};
use super::log_format::{FormatPart, log_format};
use super::value::{LONGEST, Pattern, Refused, UrlPath};
use super::{GeoVariable, VariableClass};

/// The default format of ingress-nginx, on which log parsers rely.
pub const USUAL_LINE: &str = "$remote_addr - $remote_user [$time_local] \"$request\" $status $body_bytes_sent \
    \"$http_referer\" \"$http_user_agent\" $request_length $request_time [$proxy_upstream_name] \
    [$proxy_alternative_upstream_name] $upstream_addr $upstream_response_length $upstream_response_time \
    $upstream_status $req_id";

/// A part of a line.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum LogPart {
    /// Literal text.
    Text(Arc<str>),
    /// A variable of nginx.
    Nginx(Arc<str>),
    /// A property of the route that handled the request.
    Route(LogVariable),
    /// What a database tells of the client's address.
    Geo(GeoVariable),
}

/// Properties of a route and its request, by the names of ingress-nginx's variables.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LogVariable {
    /// The namespace of the Service.
    Namespace,
    /// The Ingress that defines the route.
    IngressName,
    ServiceName,
    ServicePort,
    /// Namespace, Service and port, joined by hyphens; `-` where no Service was used.
    Upstream,
    /// The same for a canary that was used in the place of the main backend.
    Alternative,
    /// The request ID: `X-Request-ID`, as the backend gets it.
    RequestId,
    /// Where that Ingress is.
    IngressNamespace,
    /// The path of the rule.
    Path,
    /// The time as in RFC 3339, with milliseconds.
    Time,
    /// The status as a number of JSON, which has no zero in front.
    Status,
    /// The host from the client's point of view, as a trusted proxy tells it.
    Host,
    /// How the client came there: `http` or `https`.
    Scheme,
    /// Where the client connected.
    Port,
}

/// Their names.
const OF_ROUTES: [(&str, LogVariable); 14] = [
    ("namespace", LogVariable::Namespace),
    ("ingress_name", LogVariable::IngressName),
    ("service_name", LogVariable::ServiceName),
    ("service_port", LogVariable::ServicePort),
    ("proxy_upstream_name", LogVariable::Upstream),
    ("proxy_alternative_upstream_name", LogVariable::Alternative),
    ("req_id", LogVariable::RequestId),
    ("ingress_namespace", LogVariable::IngressNamespace),
    ("location_path", LogVariable::Path),
    ("time_rfc3339", LogVariable::Time),
    ("status_number", LogVariable::Status),
    ("best_http_host", LogVariable::Host),
    ("pass_access_scheme", LogVariable::Scheme),
    ("pass_server_port", LogVariable::Port),
];

/// The variables of ingress-nginx for which nginx has one of another name.
const OTHER_NAMES: [(&str, &str); 1] = [("the_real_ip", "remote_addr")];

impl LogVariable {
    /// The names of all of them, and those that ingress-nginx has for variables of nginx.
    pub fn names() -> impl Iterator<Item = &'static str> {
        OF_ROUTES.iter().map(|(name, _)| *name).chain(OTHER_NAMES.iter().map(|(name, _)| *name))
    }
}

/// The default log line of a connection to a TCP or UDP service, in the order of ingress-nginx.
pub const USUAL_LINE_OF_STREAMS: &str =
    "[$remote_addr] [$time_local] $protocol $status $bytes_sent $bytes_received $session_time";

/// Variables of connections to TCP and UDP services, sorted.
const OF_STREAMS: &[&str] = &[
    "binary_remote_addr",
    "bytes_received",
    "bytes_sent",
    "connection",
    "hostname",
    "msec",
    "nginx_version",
    "pid",
    "protocol",
    "proxy_protocol_addr",
    "proxy_protocol_port",
    "proxy_protocol_server_addr",
    "proxy_protocol_server_port",
    "realip_remote_addr",
    "realip_remote_port",
    "remote_addr",
    "remote_port",
    "server_addr",
    "server_port",
    "session_time",
    "status",
    "time_iso8601",
    "time_local",
    "upstream_addr",
    "upstream_bytes_received",
    "upstream_bytes_sent",
    "upstream_connect_time",
    "upstream_first_byte_time",
    "upstream_session_time",
];

/// Variables that an nginx may lack, with their module and first version.
const WITH_NEEDS: &[(&str, Option<Module>, Version)] = &[
    ("connection_time", None, Version(1, 19, 10)),
    ("fastcgi_path_info", Some(Module::FastCgi), Version(1, 18, 0)),
    ("fastcgi_script_name", Some(Module::FastCgi), Version(1, 18, 0)),
    ("http2", Some(Module::Http2), Version(1, 18, 0)),
    ("realip_remote_addr", Some(Module::RealIp), Version(1, 18, 0)),
    ("realip_remote_port", Some(Module::RealIp), Version(1, 18, 0)),
    ("ssl_alpn_protocol", Some(Module::Ssl), Version(1, 21, 4)),
    ("ssl_cipher", Some(Module::Ssl), Version(1, 18, 0)),
    ("ssl_ciphers", Some(Module::Ssl), Version(1, 18, 0)),
    ("ssl_client_escaped_cert", Some(Module::Ssl), Version(1, 18, 0)),
    ("ssl_client_fingerprint", Some(Module::Ssl), Version(1, 18, 0)),
    ("ssl_client_i_dn", Some(Module::Ssl), Version(1, 18, 0)),
    ("ssl_client_s_dn", Some(Module::Ssl), Version(1, 18, 0)),
    ("ssl_client_serial", Some(Module::Ssl), Version(1, 18, 0)),
    ("ssl_client_v_end", Some(Module::Ssl), Version(1, 18, 0)),
    ("ssl_client_v_remain", Some(Module::Ssl), Version(1, 18, 0)),
    ("ssl_client_v_start", Some(Module::Ssl), Version(1, 18, 0)),
    ("ssl_client_verify", Some(Module::Ssl), Version(1, 18, 0)),
    ("ssl_curve", Some(Module::Ssl), Version(1, 21, 5)),
    ("ssl_curves", Some(Module::Ssl), Version(1, 18, 0)),
    ("ssl_early_data", Some(Module::Ssl), Version(1, 18, 0)),
    ("ssl_protocol", Some(Module::Ssl), Version(1, 18, 0)),
    ("ssl_server_name", Some(Module::Ssl), Version(1, 18, 0)),
    ("ssl_session_id", Some(Module::Ssl), Version(1, 18, 0)),
    ("ssl_session_reused", Some(Module::Ssl), Version(1, 18, 0)),
];

/// The length that is reserved for a variable of ours, whose name contains the name of the
/// instance.
const ROOM: usize = 100;

/// What stands around the name of a variable of nginx.
const BRACES: usize = 3;

/// The content of each log line.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct LogLine(Vec<LogPart>);

impl LogLine {
    /// Parses the argument of a `log_format` with known variables.
    pub fn new(text: &str) -> Result<Self, Refused> {
        LogLine::read(text, variable)
    }

    /// The same for a line about connections to TCP and UDP services.
    pub fn of_streams(text: &str) -> Result<Self, Refused> {
        LogLine::read(text, |name| match OF_STREAMS.contains(&name) {
            true => Ok(LogPart::Nginx(name.into())),
            false => Err(Refused(format!("${name} is no variable of nginx for TCP and UDP").into())),
        })
    }

    fn read(text: &str, variable: fn(&str) -> Result<LogPart, Refused>) -> Result<Self, Refused> {
        let (mut parts, mut length) = (Vec::new(), 0);
        for part in log_format(text)? {
            parts.push(match part {
                FormatPart::Text(text) => {
                    length += 2 * text.chars().count();
                    printable(&text)?;
                    LogPart::Text(text.into())
                }
                FormatPart::Variable(name) => {
                    let part = variable(&name)?;
                    length += name.len() + if matches!(part, LogPart::Nginx(_)) { BRACES } else { ROOM };
                    part
                }
            });
        }
        match length {
            0 => Err(Refused::because("it is empty")),
            _ if length > LONGEST => Err(Refused::because("it is longer than nginx takes")),
            _ => Ok(LogLine(parts)),
        }
    }

    /// The parts, in order.
    pub fn parts(&self) -> &[LogPart] {
        &self.0
    }

    /// The variables that nginx has decoded, as [`VariableClass`] says.
    pub fn decoded(&self) -> impl Iterator<Item = &str> {
        self.0.iter().filter_map(LogPart::decoded)
    }

    /// Whether it contains the first name of the server, which differs when hosts share a server.
    pub fn names_server(&self) -> bool {
        self.0.iter().any(|part| matches!(part, LogPart::Nginx(name) if **name == *"server_name"))
    }

    /// Whether it contains this property of the route.
    pub fn reports(&self, wanted: LogVariable) -> bool {
        self.0.contains(&LogPart::Route(wanted))
    }

    /// The line with `-` in the place of variables that an nginx lacks, and the names of these.
    pub fn fit(&self, has: impl Fn(Option<Module>, Version) -> bool) -> (Self, Vec<Arc<str>>) {
        let mut missing = Vec::new();
        let fitted = self.0.iter().map(|part| {
            let needs = |name: &Arc<str>| WITH_NEEDS.iter().find(|(known, ..)| **known == **name);
            match part {
                LogPart::Nginx(name) if needs(name).is_some_and(|(_, module, since)| !has(*module, *since)) => {
                    missing.push(Arc::clone(name));
                    LogPart::Text("-".into())
                }
                part => part.clone(),
            }
        });
        (LogLine(fitted.collect()), missing)
    }
}

/// Refuses characters that could end a line, or be invisible in one.
fn printable(text: &str) -> Result<(), Refused> {
    let is_control = |character: &char| character.is_control() || matches!(character, '\u{2028}' | '\u{2029}');
    text.chars().find(is_control).map_or(Ok(()), |control| {
        Err(Refused(format!("it holds the control character {}", control.escape_unicode()).into()))
    })
}

fn variable(name: &str) -> Result<LogPart, Refused> {
    if let Some((_, variable)) = OF_ROUTES.iter().find(|(known, _)| *known == name) {
        return Ok(LogPart::Route(*variable));
    }
    if let Some(variable) = GeoVariable::named(name) {
        return Ok(LogPart::Geo(variable));
    }
    let name = OTHER_NAMES.iter().find(|(known, _)| *known == name).map_or(name, |(_, instead)| instead);
    match VariableClass::of(name) {
        Some(_) => Ok(LogPart::Nginx(name.into())),
        None => Err(Refused(format!("${name} is no variable of nginx, and none that ingress-nginx has here").into())),
    }
}

impl LogPart {
    /// The name of a variable that nginx has decoded.
    pub fn decoded(&self) -> Option<&str> {
        match self {
            LogPart::Nginx(name) if VariableClass::of(name) == Some(VariableClass::Decoded) => Some(name),
            _ => None,
        }
    }
}

impl fmt::Display for LogPart {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LogPart::Text(text) => formatter.write_str(text),
            LogPart::Nginx(name) => write!(formatter, "${{{name}}}"),
            LogPart::Geo(variable) => write!(formatter, "${{{variable}}}"),
            LogPart::Route(variable) => {
                let name = OF_ROUTES.iter().find(|(_, known)| known == variable).map_or("", |(name, _)| name);
                write!(formatter, "${{{name}}}")
            }
        }
    }
}

/// Requests that are not logged, by path and query.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Unlogged {
    /// Requests with exactly this path and query.
    Exact(UrlPath),
    /// Requests that match an expression.
    Expression {
        /// The expression.
        pattern: Pattern,
        /// Whether case is significant.
        case_sensitive: bool,
    },
}

impl Unlogged {
    /// Parses a path with its query, or an expression behind `~` or `~*`.
    pub fn new(text: &str) -> Result<Self, Refused> {
        let expression = |text: &str, case_sensitive| {
            Pattern::new(text.trim()).map(|pattern| Unlogged::Expression { pattern, case_sensitive })
        };
        match (text.strip_prefix("~*"), text.strip_prefix('~')) {
            (Some(text), _) => expression(text, false),
            (_, Some(text)) => expression(text, true),
            _ => UrlPath::new(text).map(Unlogged::Exact),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<String, String> {
        let line = LogLine::new(text).map_err(|refused| refused.to_string())?;
        Ok(line.parts().iter().map(|part| format!("<{part}>")).collect())
    }

    #[test]
    fn a_line_is_text_and_variables() {
        for (text, expected) in [
            ("$remote_addr - ${Status}x", "<${remote_addr}>< - ><${status}><x>"),
            (
                "{\"ip\":\"$the_real_ip\",\n\"id\":\"$req_id\"}",
                "<{\"ip\":\"><${remote_addr}><\", \"id\":\"><${req_id}><\"}>",
            ),
            ("$pass_access_scheme://$best_http_host", "<${pass_access_scheme}><://><${best_http_host}>"),
            (r#"\"a\\ \'b"#, r#"<"a\ 'b>"#),
            ("a;b}#", "<a;b}#>"),
            (
                "$http_x_real_ip$upstream_http_x$ssl_protocol",
                "<${http_x_real_ip}><${upstream_http_x}><${ssl_protocol}>",
            ),
        ] {
            assert_eq!(read(text).as_deref(), Ok(expected), "{text}");
        }
        assert!(LogLine::new(USUAL_LINE).is_ok_and(|line| line.reports(LogVariable::Upstream)));
    }

    #[test]
    fn a_line_of_streams_has_variables_of_its_own() {
        assert!(OF_STREAMS.is_sorted());
        assert!(LogLine::of_streams(USUAL_LINE_OF_STREAMS).is_ok_and(|line| line.parts().len() == 14));
        for text in ["$request", "$ingress_name", "$ssl_protocol", "$http_a", " "] {
            assert!(LogLine::of_streams(text).is_err(), "{text}");
        }
    }

    #[test]
    fn what_is_no_line_is_refused() {
        for (text, why) in [
            (" ", "empty"),
            ("a $", "names no variable"),
            ("$ a", "names no variable"),
            ("${status", "without its }"),
            ("$nonsense", "$nonsense is no variable"),
            ("$ingressd_dollar", "no variable"),
            ("$http_", "no variable"),
            ("a\tb", "control character"),
            ("a\rb", "control character"),
            (&"x".repeat(3000), "longer"),
            (&"$status".repeat(500), "longer"),
            (&"$req_id".repeat(60), "longer"),
        ] {
            assert!(read(text).is_err_and(|refused| refused.contains(why)), "{text}: {:?}", read(text));
        }
    }

    #[test]
    fn what_an_nginx_lacks_is_a_dash() {
        let line = LogLine::new("$ssl_curve $status").unwrap();
        let (fitted, missing) = line.fit(|_, since| since <= Version(1, 20, 0));
        assert_eq!(fitted.parts().iter().map(ToString::to_string).collect::<String>(), "- ${status}");
        assert_eq!(missing, ["ssl_curve".into()]);
        assert_eq!(line.fit(|_, _| true), (line.clone(), Vec::new()));
    }

    #[test]
    fn what_is_not_logged_is_a_path_or_an_expression() {
        assert!(matches!(Unlogged::new("/healthz?x=1"), Ok(Unlogged::Exact(_))));
        assert!(matches!(Unlogged::new("~* ^/ping"), Ok(Unlogged::Expression { case_sensitive: false, .. })));
        assert!(matches!(Unlogged::new("~^/ping"), Ok(Unlogged::Expression { case_sensitive: true, .. })));
        for text in ["default", "", "~", "~(a*)*(", "/a\nb"] {
            assert!(Unlogged::new(text).is_err(), "{text:?}");
        }
    }
}
