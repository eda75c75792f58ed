//! Who may ask, and how much.

use super::{Cidr, Digest, Origin, PasswordFileId, Text};

/// Lists of more networks than this are written once and referred to. For fewer it is cheaper to write them wherever they
/// count: to refer to a list costs each location as much as some hundred networks.
pub const LONG_LIST: usize = 32;

/// Clients by address: the first match decides, denials first; when some are let in by name all others are denied.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct AccessList {
    origin: Origin,
    deny: Vec<Cidr>,
    allow: Vec<Cidr>,
    mark: Option<ListMark>,
}

/// Tells long lists apart: equal for lists of the same networks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ListMark(pub [u8; 10]);

impl AccessList {
    /// A list that this field asked for.
    pub fn new(origin: Origin, deny: Vec<Cidr>, allow: Vec<Cidr>) -> Self {
        let mark = (deny.len() + allow.len() > LONG_LIST).then(|| ListMark::of(&deny, &allow));
        AccessList { origin, deny, allow, mark }
    }

    /// Who asked for it.
    pub fn origin(&self) -> &Origin {
        &self.origin
    }

    /// Networks whose clients are answered 403.
    pub fn deny(&self) -> &[Cidr] {
        &self.deny
    }

    /// Networks whose clients are let in; empty lets in whoever is not denied.
    pub fn allow(&self) -> &[Cidr] {
        &self.allow
    }

    /// How many networks it names.
    pub fn len(&self) -> usize {
        self.deny.len() + self.allow.len()
    }

    /// Whether it names no network, and so lets everybody in.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The name of a list that is too long to be written more than once.
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
