//! Load balancing: how the endpoint of a request is selected, and the cookie of session affinity.

use std::sync::Arc;

use super::{HeaderName, RewriteTarget, Text, UrlPath};

/// How an endpoint is selected, where something asks for it. Where it is selected by a key, few
/// keys move to another endpoint when endpoints come or go (consistent hashing).
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Balance {
    /// By the session of the client: the value of this cookie, or a new one.
    Session(HeaderName),
    /// By a key made of text and variables.
    Key(RewriteTarget),
    /// The one of two random endpoints with fewer connections, as without a balance.
    TwoByChance,
    /// By a key of which each value has at most this many endpoints; one of these is selected at
    /// random.
    SharedKey(RewriteTarget, u8),
    /// The endpoint that this cookie names, as long as it exists; otherwise a random one.
    Named(HeaderName),
}

impl Balance {
    /// The cookie of the client's session, where that selects the endpoint.
    pub const fn cookie(&self) -> Option<&HeaderName> {
        match self {
            Balance::Session(cookie) | Balance::Named(cookie) => Some(cookie),
            Balance::Key(_) | Balance::TwoByChance | Balance::SharedKey(..) => None,
        }
    }
}

/// The `SameSite` attribute of a cookie, RFC 6265bis.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SameSite {
    None,
    /// `None`, without the attribute for clients that misinterpret `None`.
    NoneWhereKnown,
    Lax,
    Strict,
}

impl SameSite {
    /// Its value in the cookie.
    pub const fn name(self) -> &'static str {
        match self {
            SameSite::None | SameSite::NoneWhereKnown => "None",
            SameSite::Lax => "Lax",
            SameSite::Strict => "Strict",
        }
    }
}

/// How a client without a session gets one.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Session {
    /// The cookie; shared by the routes of one object.
    pub cookie: Arc<SessionCookie>,
    /// The `Path` attribute of the cookie.
    pub path: CookiePath,
}

/// The session cookie without its path. It is `HttpOnly`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct SessionCookie {
    pub name: HeaderName,
    /// `Domain`, when the cookie is not for the host alone.
    pub domain: Option<Text>,
    /// `Max-Age` in seconds; without it the cookie lasts until the browser is closed.
    pub max_age: Option<u64>,
    /// `SameSite`.
    pub same_site: Option<SameSite>,
    /// Whether it is always `Secure`; otherwise only in responses by https.
    pub always_secure: bool,
    /// Whether a client gets another session when an endpoint failed for its request.
    pub changes_on_failure: bool,
}

/// The value of a cookie's `Path`; `/` by default.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct CookiePath(Option<UrlPath>);

impl CookiePath {
    /// The path, when a cookie can contain it: up to 1000 visible ASCII characters without `;`,
    /// and without those that nginx expands in quoted text.
    pub fn new(path: &UrlPath) -> Option<Self> {
        let text = path.as_str();
        let fits = text.len() <= 1000 && text.bytes().all(|byte| byte.is_ascii_graphic() && !b";\"\\$".contains(&byte));
        fits.then(|| CookiePath(Some(path.clone())))
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        self.0.as_ref().map_or("/", UrlPath::as_str)
    }
}
