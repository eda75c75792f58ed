//! Parses lines of an access log, by the format that wrote them or as JSON. It must not know which
//! requests are sent again.

use std::collections::BTreeMap;

use serde_json::Value;

use super::lines::without_time;
use super::request::Scheme;
use ingressd_model::{FormatPart, Refused, log_format};

/// A logged request.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Logged {
    pub method: String,
    /// The path with the query.
    pub target: String,
    /// The host, if the log has it.
    pub host: Option<String>,
    /// The scheme, if the log has it.
    pub scheme: Option<Scheme>,
    /// The status of the response.
    pub status: Option<u16>,
    /// Namespace, Service and port, joined by hyphens.
    pub upstream: Option<String>,
    /// Namespace and name of the Ingress.
    pub ingress: Option<String>,
    /// The user agent.
    pub agent: Option<String>,
}

/// The format of a log: the argument of `log_format`, and the escaping of values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Format {
    parts: Vec<FormatPart>,
    is_json: bool,
}

/// Values by variable names.
pub type Fields = BTreeMap<String, String>;

/// Other names of JSON fields for variables, ignoring case, hyphens, underscores and dots.
const OTHER_NAMES: &[(&str, &[&str])] = &[
    ("request_method", &["requestmethod", "method", "httpmethod", "verb"]),
    ("request_uri", &["requesturi", "uri", "path", "url", "requestpath"]),
    ("args", &["args", "querystring", "requestquery", "query"]),
    ("request", &["request", "requestline"]),
    ("host", &["host", "httphost", "besthttphost", "vhost", "requesthost", "domain", "hostname", "authority"]),
    ("scheme", &["scheme", "passaccessscheme", "protocol", "proto", "requestscheme"]),
    ("status", &["status", "statuscode", "responsestatus", "code"]),
    ("proxy_upstream_name", &["proxyupstreamname", "upstreamname", "ingressupstreamname"]),
    ("namespace", &["namespace", "ingressnamespace"]),
    ("ingress_name", &["ingressname", "ingress"]),
    ("http_user_agent", &["httpuseragent", "useragent", "agent"]),
];

impl Format {
    /// Parses the argument of a `log_format`.
    pub fn new(text: &str, is_json: bool) -> Result<Self, Refused> {
        Ok(Format { parts: log_format(text)?, is_json })
    }

    /// The values of its variables in a line, by name; `None` when it does not match.
    pub fn values(&self, line: &str) -> Option<Fields> {
        self.fields(line)
    }

    /// Parses a line; `None` when it does not match.
    pub fn read(&self, line: &str) -> Option<Logged> {
        let line = line.trim();
        // A time alone may be a part of the format.
        self.whole(line).or_else(|| self.whole(without_time(line)?))
    }

    fn whole(&self, line: &str) -> Option<Logged> {
        let of_format = self.fields(line).as_ref().and_then(Logged::of);
        of_format.or_else(|| Logged::of(&of_json(line)?))
    }

    /// A variable ends where the text behind it begins: quotes in values are escaped.
    fn fields(&self, line: &str) -> Option<Fields> {
        let (mut fields, mut rest) = (Fields::new(), line);
        let mut parts = self.parts.iter().peekable();
        while let Some(part) = parts.next() {
            match part {
                FormatPart::Text(text) => rest = rest.strip_prefix(&**text)?,
                FormatPart::Variable(name) => {
                    let end = match parts.peek() {
                        Some(FormatPart::Text(text)) => end(name, rest, text)?,
                        Some(FormatPart::Variable(_)) => 0,
                        None => rest.len(),
                    };
                    let (value, behind) = rest.split_at(end);
                    fields.insert(name.clone(), self.unescaped(value)?);
                    rest = behind;
                }
            }
        }
        rest.is_empty().then_some(fields)
    }

    fn unescaped(&self, value: &str) -> Option<String> {
        match self.is_json {
            true => serde_json::from_str(&format!("\"{value}\"")).ok(),
            false => Some(without_hexadecimal(value)),
        }
    }
}

/// Where the value of a variable ends, which this text follows. nginx writes lists with `, ` and
/// ` : ` about the endpoints that it asked.
fn end(name: &str, rest: &str, text: &str) -> Option<usize> {
    let is_within = |at: &usize| {
        let (before, behind) = rest.split_at(*at);
        before.ends_with(',') || before.ends_with(" :") || behind.starts_with(" : ")
    };
    let mut ends = rest.match_indices(text).map(|(at, _)| at);
    match name.starts_with("upstream_") {
        true => ends.find(|at| !is_within(at)),
        false => ends.next(),
    }
}

/// nginx writes `\x22` for a quote.
fn without_hexadecimal(value: &str) -> String {
    let mut bytes = Vec::with_capacity(value.len());
    let mut rest = value;
    while let Some((before, behind)) = rest.split_once("\\x") {
        bytes.extend_from_slice(before.as_bytes());
        let byte = behind.get(..2).and_then(|digits| u8::from_str_radix(digits, 16).ok());
        rest = match byte {
            Some(byte) => {
                bytes.push(byte);
                &behind[2..]
            }
            None => {
                bytes.extend_from_slice(b"\\x");
                behind
            }
        };
    }
    bytes.extend_from_slice(rest.as_bytes());
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The fields of a JSON object, by the names of the variables.
fn of_json(line: &str) -> Option<Fields> {
    let object: serde_json::Map<String, Value> = serde_json::from_str(line).ok()?;
    let plain = |name: &str| name.to_ascii_lowercase().replace(['-', '_', '.'], "");
    let mut fields = Fields::new();
    for (name, value) in &object {
        let value = match value {
            Value::String(text) => text.clone(),
            Value::Number(number) => number.to_string(),
            _ => continue,
        };
        let name = plain(name);
        let known = OTHER_NAMES.iter().find(|(_, names)| names.contains(&&*name));
        if let Some((variable, _)) = known {
            fields.entry((*variable).to_owned()).or_insert(value);
        }
    }
    Some(fields)
}

impl Logged {
    fn of(fields: &Fields) -> Option<Self> {
        let field =
            |name: &str| fields.get(name).map(String::as_str).filter(|value| !value.is_empty() && *value != "-");
        let (of_line, rest) = field("request").and_then(|line| line.split_once(' ')).unzip();
        let path = rest.map(|rest| rest.rsplit_once(" HTTP/").map_or(rest, |(path, _)| path));
        let method = field("request_method").or(of_line)?;
        let (mut host, mut scheme) = (["host", "http_host", "best_http_host"].into_iter().find_map(field), None);
        let mut target = match (path.or_else(|| field("request_uri")), field("uri").or_else(|| field("document_uri"))) {
            (Some(target), _) => target.to_owned(),
            (None, uri) => uri?.to_owned(),
        };
        let query = field("args").or_else(|| field("query_string"));
        if let Some(query) = query.filter(|_| !target.contains('?')) {
            target = format!("{target}?{query}");
        }
        // A request to a proxy contains the host.
        let whole = target.clone();
        for (name, of) in [("http://", Scheme::Http), ("https://", Scheme::Https)] {
            if let Some(rest) = whole.strip_prefix(name) {
                let (authority, path) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
                host = Some(authority.rsplit('@').next().unwrap_or_default());
                scheme = Some(of);
                target = if path.starts_with('/') { path.to_owned() } else { format!("/{path}") };
            }
        }
        let reported = ["scheme", "pass_access_scheme"].into_iter().find_map(field).and_then(read_scheme);
        let by_port = || match field("server_port") {
            Some("443") => Some(Scheme::Https),
            Some("80") => Some(Scheme::Http),
            _ => None,
        };
        let by_tls = || fields.get("https").filter(|value| *value == "on").map(|_| Scheme::Https);
        let ingress = field("namespace").zip(field("ingress_name"));
        Some(Logged {
            method: method.to_owned(),
            target,
            host: host.map(|host| without_port(host).to_ascii_lowercase()),
            scheme: scheme.or(reported).or_else(by_tls).or_else(by_port),
            status: field("status").and_then(|status| status.parse().ok()),
            upstream: field("proxy_upstream_name").map(str::to_owned),
            ingress: ingress.map(|(namespace, name)| format!("{namespace}/{name}")),
            agent: field("http_user_agent").map(str::to_owned),
        })
    }
}

/// An address of IPv6 stands in brackets.
fn without_port(host: &str) -> &str {
    match host.find(']') {
        Some(end) if host.starts_with('[') => &host[..=end],
        _ => host.split(':').next().unwrap_or_default(),
    }
}

fn read_scheme(text: &str) -> Option<Scheme> {
    [Scheme::Http, Scheme::Https].into_iter().find(|scheme| text.eq_ignore_ascii_case(scheme.name()))
}
