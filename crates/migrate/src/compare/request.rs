//! A request that is sent to both sides: it changes nothing and contains no credentials of a log.
//! It must not know its source.

use std::borrow::Cow;
use std::fmt;

use http::uri::PathAndQuery;
use url::form_urlencoded;

use ingressd_model::HostName;

/// The user agent for both sides, by which a later log shows that a request is from a comparison.
pub const AGENT: &str = concat!("ingressd/", env!("CARGO_PKG_VERSION"), " (migrate compare)");

/// The longest path with its query.
const LONGEST: usize = 4096;

/// Parts of parameter names that mean credentials.
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

/// Complete names of such parameters.
const SECRET_NAMES: &[&str] = &["auth", "authorization", "code", "key", "otp", "pass", "pwd", "sid", "sig", "ticket"];

/// The safe methods. There are no others, so that nothing else can be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Method {
    Get,
    Head,
    Options,
}

impl Method {
    /// The method with this name, if it is one of these.
    pub fn read(name: &str) -> Option<Self> {
        [Method::Get, Method::Head, Method::Options].into_iter().find(|method| method.name() == name)
    }

    pub const fn name(self) -> &'static str {
        match self {
            Method::Get => "GET",
            Method::Head => "HEAD",
            Method::Options => "OPTIONS",
        }
    }
}

/// The scheme of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Scheme {
    /// Without TLS.
    Http,
    /// With TLS.
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

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Request {
    pub scheme: Scheme,
    pub host: String,
    /// Its path with the query.
    pub target: String,
    pub method: Method,
    /// The `Origin` header of browsers.
    pub origin: Option<String>,
}

impl Request {
    /// A request without the credentials in its query, if host and path can be sent.
    pub fn new(method: Method, scheme: Scheme, host: &str, target: &str) -> Option<Self> {
        let host = HostName::new(&host.to_ascii_lowercase()).ok()?.to_string();
        let target = without_credentials(target.split('#').next().unwrap_or_default());
        let is_sound = target.starts_with('/') && target.len() <= LONGEST && PathAndQuery::try_from(&*target).is_ok();
        is_sound.then(|| Request { scheme, host, target: target.into_owned(), method, origin: None })
    }

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

/// The path and query without credentials.
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
