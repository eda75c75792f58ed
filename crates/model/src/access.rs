//! Access control: address lists, passwords, and limits per client.

use super::{Cidr, Digest, Origin, PasswordFileId, Text};

/// The longest list that is written in place. Longer ones are written once and referred to: a
/// reference costs each location as much as some hundred networks.
pub const LONG_LIST: usize = 32;

/// Access by client address: the first match decides, and denials come first. When some networks
/// are allowed by name, all others are denied.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct AccessList {
    origin: Origin,
    deny: Vec<Cidr>,
    allow: Vec<Cidr>,
    mark: Option<ListMark>,
}

/// Identifies a long list: equal for lists of the same networks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ListMark(pub [u8; 10]);

impl AccessList {
    /// A list that comes from this field.
    pub fn new(origin: Origin, deny: Vec<Cidr>, allow: Vec<Cidr>) -> Self {
        let mark = (deny.len() + allow.len() > LONG_LIST).then(|| ListMark::of(&deny, &allow));
        AccessList { origin, deny, allow, mark }
    }

    /// The field that it comes from.
    pub fn origin(&self) -> &Origin {
        &self.origin
    }

    /// Networks whose clients get 403.
    pub fn deny(&self) -> &[Cidr] {
        &self.deny
    }

    /// Networks whose clients are allowed; when empty, all that are not denied are.
    pub fn allow(&self) -> &[Cidr] {
        &self.allow
    }

    /// The number of networks.
    pub fn len(&self) -> usize {
        self.deny.len() + self.allow.len()
    }

    /// Whether it has no network, and so allows every client.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The identity of a list that is too long to be written in place.
    pub fn mark(&self) -> Option<ListMark> {
        self.mark
    }
}

impl ListMark {
    fn of(deny: &[Cidr], allow: &[Cidr]) -> Self {
        let networks = deny.iter().map(|network| ('-', network)).chain(allow.iter().map(|network| ('+', network)));
        ListMark(Digest::of_all(networks.map(|(sign, network)| format!("{sign}{network} "))).first())
    }
}

/// Basic authentication, RFC 7617.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct BasicAuthentication {
    /// The realm shown to the user.
    pub realm: Text,
    /// The file with names and password hashes.
    pub file: PasswordFileId,
}

/// A rate of requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LimitRate {
    /// Requests per second.
    PerSecond(u32),
    /// Requests per minute.
    PerMinute(u32),
}

/// Limits for each client address; each object that sets them has counters of its own.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ClientLimits {
    /// The object, whose routes share the counters.
    pub origin: Origin,
    /// Rates, each with its burst.
    pub rates: Vec<(LimitRate, u32)>,
    /// Simultaneous connections.
    pub connections: Option<u32>,
    /// Clients that are not limited.
    pub exempt: Vec<Cidr>,
}
