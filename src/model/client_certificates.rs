//! What a host asks of the certificates of its clients, and the authorities that sign certificates.

use std::sync::Arc;

use super::{ObjectId, Origin, Pattern, RedirectUrl};

/// Certificates of authorities from a Secret, and what they took back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Authority {
    /// The Secret, by which files are named.
    pub id: Arc<ObjectId>,
    /// The Secret.
    pub origin: Origin,
    /// The certificates, PEM.
    pub certificates: Arc<[u8]>,
    /// The lists of revoked certificates, PEM.
    pub revoked: Option<Arc<[u8]>>,
}

/// What clients have to show.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Demand {
    /// A certificate of the authority.
    Required,
    /// A certificate of the authority, or none.
    Optional,
    /// Any certificate, or none: backends are told whether it is good.
    Unverified,
}

/// How a host treats certificates of clients. It is one for the whole host: they are asked for before nginx knows the path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientCertificates {
    /// The field that asked for them.
    pub origin: Origin,
    /// Who has signed them.
    pub authority: Arc<Authority>,
    /// What clients have to show.
    pub demand: Demand,
    /// How many authorities may stand between a certificate and one that is known.
    pub depth: u32,
    /// What the common name has to begin with.
    pub common_name: Option<Pattern>,
    /// Where clients are sent whose certificate is missing or not good.
    pub error_page: Option<RedirectUrl>,
    /// Backends are told the certificate.
    pub is_told: bool,
}

impl ClientCertificates {
    /// Whether requests are answered only to clients whose certificate was verified. Those that come without TLS are not.
    pub fn chooses(&self) -> bool {
        self.demand == Demand::Required || self.common_name.is_some()
    }

    /// Whether both ask for the same, wherever they were asked for.
    pub fn is_like(&self, other: &Self) -> bool {
        *self == ClientCertificates { origin: self.origin.clone(), ..other.clone() }
    }
}
