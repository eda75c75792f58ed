//! A request that changes nothing and tells no secret of a log, as both sides are asked it; it must not know where it comes from.

use std::borrow::Cow;
use std::fmt;

use http::uri::PathAndQuery;
use url::form_urlencoded;

use crate::model::HostName;

/// How both sides are told who asks: what it asked is not asked again when a log is read later.
pub const AGENT: &str = concat!("ingressd/", env!("CARGO_PKG_VERSION"), " (migrate compare)");

/// The longest path with its query that is asked.
const LONGEST: usize = 4096;

/// Parts of names of parameters that are credentials.
const SECRET_PARTS: &[&str] = &[
    "token",
    "secret",
    "passw",
    "signature",
    "session",
    "credential",
    "apikey",
    "api_key",
    "api-key",
    "jwt",
    "saml",
    "x-amz-",
    "x-goog-",
];

/// Whole names of such parameters.
const SECRET_NAMES: &[&str] = &["auth", "authorization", "code", "key", "otp", "pass", "pwd", "sid", "sig", "ticket"];

/// A method that asks for something and changes nothing. There are no others, so that nothing else can be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Method {
    /// GET.
    Get,
    /// HEAD.
    Head,
    /// OPTIONS.
    Options,
}

impl Method {
    /// The method of this name, if it is one of these.
    pub fn read(name: &str) -> Option<Self> {
        [Method::Get, Method::Head, Method::Options].into_iter().find(|method| method.name() == name)
    }

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Method::Get => "GET",
            Method::Head => "HEAD",
            Method::Options => "OPTIONS",
        }
    }
}

/// Whether TLS is spoken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Scheme {
    /// No.
    Http,
    /// Yes.
    Https,
}

impl Scheme {
    /// As URLs have it.
    pub const fn name(self) -> &'static str {
        match self {
            Scheme::Http => "http",
            Scheme::Https => "https",
        }
    }
}

/// A request.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Request {
    /// Whether it goes over TLS.
    pub scheme: Scheme,
    /// The host that it names.
    pub host: String,
    /// Path and query.
    pub target: String,
    /// The method.
    pub method: Method,
    /// Where the page comes from that asks, as browsers say it.
    pub origin: Option<String>,
}

impl Request {
    /// A request, when host and target can be sent; credentials in the query are left out of it.
    pub fn new(method: Method, scheme: Scheme, host: &str, target: &str) -> Option<Self> {
        let host = HostName::new(&host.to_ascii_lowercase()).ok()?.to_string();
        let target = without_credentials(target.split('#').next().unwrap_or_default());
        let is_sound = target.starts_with('/') && target.len() <= LONGEST && PathAndQuery::try_from(&*target).is_ok();
        is_sound.then(|| Request { scheme, host, target: target.into_owned(), method, origin: None })
    }

    /// Its URL.
    pub fn url(&self) -> String {
        format!("{}://{}{}", self.scheme.name(), self.host, self.target)
    }

    /// The path without the query.
    pub fn path(&self) -> &str {
        self.target.split('?').next().unwrap_or_default()
    }
}

impl fmt::Display for Request {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} {}", self.method.name(), self.url())?;
        match &self.origin {
            Some(origin) => write!(formatter, " from {origin}"),
            None => Ok(()),
        }
    }
}

/// The target without the parameters that let somebody in.
fn without_credentials(target: &str) -> Cow<'_, str> {
    let Some((path, query)) = target.split_once('?') else { return target.into() };
    let is_secret = |parameter: &&str| form_urlencoded::parse(parameter.as_bytes()).any(|(name, _)| is_secret(&name));
    if !query.split(['&', ';']).any(|parameter| is_secret(&parameter)) {
        return target.into();
    }
    let kept: Vec<_> = query.split(['&', ';']).filter(|parameter| !is_secret(parameter)).collect();
    match kept.is_empty() {
        true => path.into(),
        false => format!("{path}?{}", kept.join("&")).into(),
    }
}

fn is_secret(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    SECRET_NAMES.contains(&&*name) || SECRET_PARTS.iter().any(|part| name.contains(part))
}
