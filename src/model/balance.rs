//! Which endpoint of a group takes a request, and the cookie that tells a client's next ones.

use std::fmt;
use std::sync::Arc;

use super::{HeaderName, RewriteTarget, Text, UrlPath};

/// How an endpoint is chosen where it is not each in its turn. Of what is chosen by, as little as possible moves to another endpoint
/// when endpoints come or go (consistent hashing).
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Balance {
    /// By the client's session: the value of the cookie of this name, or a new one.
    Session(HeaderName),
    /// By text and variables.
    Key(RewriteTarget),
    /// The one with the fewest connections; nothing is kept anywhere.
    LeastConnections,
    /// Of two by chance the one with fewer connections.
    TwoByChance,
    /// By text and variables, of which each value has several endpoints, at most as many, and by chance one of these.
    SharedKey(RewriteTarget, u8),
}

/// `SameSite` of a cookie, RFC 6265bis.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SameSite {
    /// `None`.
    None,
    /// `None`, but nothing to programs that take that for `Strict` or drop the cookie.
    NoneWhereKnown,
    /// `Lax`.
    Lax,
    /// `Strict`.
    Strict,
}

impl SameSite {
    /// As it is written.
    pub const fn name(self) -> &'static str {
        match self {
            SameSite::None | SameSite::NoneWhereKnown => "None",
            SameSite::Lax => "Lax",
            SameSite::Strict => "Strict",
        }
    }
}

/// How a client without a session is given one.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Session {
    /// The cookie; shared by the routes of one object.
    pub cookie: Arc<SessionCookie>,
    /// `Path`: for which requests clients send it.
    pub path: CookiePath,
}

/// The cookie of a session, but for its path. It is `HttpOnly`.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct SessionCookie {
    /// Its name.
    pub name: HeaderName,
    /// `Domain`, where it is not the host alone.
    pub domain: Option<Text>,
    /// `Max-Age` in seconds; without it the cookie ends with the browser.
    pub max_age: Option<u64>,
    /// `SameSite`.
    pub same_site: Option<SameSite>,
    /// `Secure` whatever the request came by; otherwise on requests by https.
    pub always_secure: bool,
    /// A client gets another session with the answer to a request for which an endpoint failed.
    pub changes_on_failure: bool,
}

/// Names are made of it: those of cookies that nobody says anything new about stay what they were.
impl fmt::Debug for SessionCookie {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let SessionCookie { name, domain, max_age, same_site, always_secure, changes_on_failure } = self;
        let mut all = formatter.debug_struct("SessionCookie");
        all.field("name", name).field("domain", domain).field("max_age", max_age).field("same_site", same_site);
        all.field("always_secure", always_secure);
        if *changes_on_failure {
            all.field("changes_on_failure", changes_on_failure);
        }
        all.finish()
    }
}

/// Value of a cookie's `Path`; `/` by default.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct CookiePath(Option<UrlPath>);

impl CookiePath {
    /// The path, when a cookie can name it: up to 1000 visible letters of ASCII without `;`, and without those that nginx's quotes
    /// would make more of.
    pub fn new(path: &UrlPath) -> Option<Self> {
        let text = path.as_str();
        let fits = text.len() <= 1000 && text.bytes().all(|byte| byte.is_ascii_graphic() && !b";\"\\$".contains(&byte));
        fits.then(|| CookiePath(Some(path.clone())))
    }

    /// As text.
    pub fn as_str(&self) -> &str {
        self.0.as_ref().map_or("/", UrlPath::as_str)
    }
}
