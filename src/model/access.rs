//! Who may ask, and how much; it must not know where the lists come from.

use super::{Cidr, Origin, PasswordFileId, Text};

/// Clients by address: the first match decides, denials first; when `allow` is not empty all others are denied.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct AccessList {
    /// Answered with 403.
    pub deny: Vec<Cidr>,
    /// Let in; empty lets in whoever is not denied.
    pub allow: Vec<Cidr>,
}

/// Basic authentication, RFC 7617.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct BasicAuthentication {
    /// The realm shown to the user.
    pub realm: Text,
    /// The file with names and password hashes.
    pub file: PasswordFileId,
}

/// A number of requests in a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LimitRate {
    /// Requests each second.
    PerSecond(u32),
    /// Requests each minute.
    PerMinute(u32),
}

/// What each client address may ask for at most; counted apart for each object that sets it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ClientLimits {
    /// The object: its routes share one count.
    pub origin: Origin,
    /// Rates, each with the burst that is let through at once.
    pub rates: Vec<(LimitRate, u32)>,
    /// Simultaneous connections.
    pub connections: Option<u32>,
    /// Clients that are not limited.
    pub exempt: Vec<Cidr>,
}
