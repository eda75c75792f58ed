//! The comparable parts of a response, without those that differ in each response anyway. It must
//! not know the other response.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use http::HeaderMap;
use http::header::{CONTENT_TYPE, LOCATION, SET_COOKIE};
use url::Url;
use x509_parser::prelude::{FromDer as _, GeneralName, X509Certificate};

use super::request::Request;
use ingressd_model::Digest;

/// Headers that are not compared: those about the connection, the time, a single request, or the
/// length of the body.
const IGNORED: &[&str] = &[
    "age",
    "connection",
    "content-length",
    "date",
    "keep-alive",
    "request-id",
    "server",
    "server-timing",
    "traceparent",
    "tracestate",
    "transfer-encoding",
    "x-amzn-trace-id",
    "x-b3-spanid",
    "x-b3-traceid",
    "x-correlation-id",
    "x-request-id",
    "x-request-start",
    "x-response-time",
    "x-runtime",
    "x-trace-id",
];

/// Headers with lists, whose order and case do not matter.
const LISTS: &[&str] = &[
    "access-control-allow-headers",
    "access-control-allow-methods",
    "access-control-expose-headers",
    "allow",
    "cache-control",
    "strict-transport-security",
    "vary",
];

/// Headers with times: only their presence is compared.
const TIMES: &[&str] = &["expires"];

/// The end of pages that nginx generates, with or without its version.
const PAGE_OF_NGINX: &str = "<hr><center>nginx";

/// The longest such page.
const LONGEST_PAGE: usize = 1024;

/// A part of a response that is compared.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Part {
    /// Whether there is a response.
    Answer,
    Status,
    Certificate,
    /// The target of a redirect.
    Location,
    /// The name and attributes of a cookie, without its value.
    Cookie(String),
    Header(String),
    Body,
}

impl fmt::Display for Part {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Part::Answer => formatter.write_str("answer"),
            Part::Status => formatter.write_str("status"),
            Part::Certificate => formatter.write_str("certificate"),
            Part::Location => formatter.write_str("location"),
            Part::Cookie(name) => write!(formatter, "cookie {name}"),
            Part::Header(name) => write!(formatter, "header {name}"),
            Part::Body => formatter.write_str("body"),
        }
    }
}

/// The result of a request.
#[derive(Debug, Clone)]
pub enum Answer {
    /// A response.
    Some(Answered),
    /// No response.
    None(Silence),
}

/// A response.
#[derive(Debug, Clone, Default)]
pub struct Answered {
    pub status: u16,
    pub headers: HeaderMap,
    /// The body, as far as it was read.
    pub body: Vec<u8>,
    /// Whether the body was longer.
    pub is_cut: bool,
    /// The server's certificate as DER.
    pub certificate: Option<Vec<u8>>,
}

/// Why there is no response.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
pub enum Silence {
    /// The port is closed.
    #[error("nothing listens there")]
    NoConnection,
    /// TLS was refused.
    #[error("the TLS handshake fails")]
    NoTls,
    /// The connection ended.
    #[error("the connection ends without an answer")]
    NoAnswer,
    /// The time limit was exceeded.
    #[error("no answer in time")]
    Late,
}

/// The ports of a side, which its redirects may contain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ports {
    pub http: u16,
    pub https: u16,
}

impl fmt::Display for Ports {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{},{}", self.http, self.https)
    }
}

impl FromStr for Ports {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let port = |text: &str| text.trim().parse().ok().filter(|port| *port > 0);
        let both = text.split_once(',').and_then(|(http, https)| Some((port(http)?, port(https)?)));
        both.map(|(http, https)| Ports { http, https }).ok_or("it is not of the form HTTP,HTTPS")
    }
}

/// All compared parts of the response to this request.
pub fn reported(answer: &Answer, request: &Request, ports: Ports) -> BTreeMap<Part, String> {
    let answered = match answer {
        Answer::Some(answered) => answered,
        Answer::None(silence) => return BTreeMap::from([(Part::Answer, silence.to_string())]),
    };
    let mut reported = BTreeMap::from([
        (Part::Answer, "an answer".to_owned()),
        (Part::Status, answered.status.to_string()),
        (Part::Body, body(answered)),
    ]);
    if let Some(certificate) = &answered.certificate {
        reported.insert(Part::Certificate, described(certificate, &request.host));
    }
    for name in answered.headers.keys() {
        let values = answered.headers.get_all(name).iter().map(|value| String::from_utf8_lossy(value.as_bytes()));
        match name.as_str() {
            _ if *name == SET_COOKIE => reported.extend(values.map(|value| cookie(&value))),
            _ if *name == LOCATION => {
                let places = values.map(|value| location(&value, request, ports));
                reported.insert(Part::Location, places.collect::<Vec<_>>().join(", "));
            }
            name if IGNORED.contains(&name) => {}
            text => {
                let value = values.collect::<Vec<_>>().join(", ");
                reported.insert(Part::Header(text.to_owned()), header(text, value.trim()));
            }
        }
    }
    reported
}

fn header(name: &str, value: &str) -> String {
    match name {
        _ if TIMES.contains(&name) => "a time".to_owned(),
        _ if LISTS.contains(&name) => {
            let mut entries: Vec<_> = value.split([',', ';']).map(|entry| entry.trim().to_ascii_lowercase()).collect();
            entries.retain(|entry| !entry.is_empty());
            entries.sort();
            entries.dedup();
            entries.join(", ")
        }
        _ if *name == CONTENT_TYPE => value.to_ascii_lowercase().replace("; ", ";"),
        _ => value.to_owned(),
    }
}

/// The cookie's name, with its attributes in order; its value and expiry differ each time.
fn cookie(value: &str) -> (Part, String) {
    let mut pieces = value.split(';').map(str::trim);
    let name = pieces.next().and_then(|pair| pair.split('=').next()).unwrap_or_default().trim();
    let mut attributes: Vec<_> = pieces.filter(|piece| !piece.is_empty()).map(attribute).collect();
    attributes.sort();
    let reported = if attributes.is_empty() { "no attributes".to_owned() } else { attributes.join("; ") };
    (Part::Cookie(name.to_owned()), reported)
}

fn attribute(piece: &str) -> String {
    let (name, value) = piece.split_once('=').map_or((piece, None), |(name, value)| (name, Some(value.trim())));
    let name = name.trim().to_ascii_lowercase();
    match value {
        Some(_) if name == "expires" => name,
        Some(value) if name == "samesite" => format!("{name}={}", value.to_ascii_lowercase()),
        Some(value) => format!("{name}={value}"),
        None => name,
    }
}

/// The absolute URL of a redirect's target, however it is written, without the side's own port or
/// the default port. An invalid URL is unchanged.
fn location(value: &str, request: &Request, ports: Ports) -> String {
    let place = Url::parse(&request.url()).and_then(|asked| asked.join(value));
    let Ok(mut place) = place else { return value.to_owned() };
    let own = match place.scheme() {
        "http" => ports.http,
        "https" => ports.https,
        _ => return place.into(),
    };
    if place.port() == Some(own) {
        // A URL with a host may have a port or none.
        let _ = place.set_port(None);
    }
    place.into()
}

/// The length and digest of the body; for a page of nginx itself its text.
fn body(answered: &Answered) -> String {
    let body = &answered.body[..];
    let text = std::str::from_utf8(body).ok().filter(|text| text.len() <= LONGEST_PAGE);
    if let Some((page, _)) = text.and_then(|text| text.split_once(PAGE_OF_NGINX)) {
        return format!("a page of nginx, {}", Digest::of(page.as_bytes()).hexadecimal(8));
    }
    match (body.len(), answered.is_cut) {
        (0, _) => "nothing".to_owned(),
        (length, false) => format!("{length} bytes, {}", Digest::of(body).hexadecimal(8)),
        (length, true) => format!("more than {length} bytes, {}", Digest::of(body).hexadecimal(8)),
    }
}

/// The names of a certificate and its digest. Default certificates of programs are all described
/// alike: each installation has a new one, which no client trusts.
fn described(certificate: &[u8], host: &str) -> String {
    let digest = Digest::of(certificate).hexadecimal(8);
    let Ok((_, parsed)) = X509Certificate::from_der(certificate) else { return digest };
    let alternative = parsed.subject_alternative_name().ok().flatten();
    let names = alternative.iter().flat_map(|extension| &extension.value.general_names);
    let names: Vec<_> = names
        .filter_map(|name| match name {
            GeneralName::DNSName(name) => Some(name.to_ascii_lowercase()),
            _ => None,
        })
        .collect();
    let within = host.split_once('.').map(|(_, parent)| format!("*.{parent}"));
    let is_for_host = names.iter().any(|name| *name == host || Some(name) == within.as_ref());
    if !is_for_host && parsed.issuer() == parsed.subject() {
        return "a self-signed one, for another host".to_owned();
    }
    format!("{}, {digest}", names.join(" "))
}
