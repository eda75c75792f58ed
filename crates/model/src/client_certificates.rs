//! What a host requires of client certificates, and the certificate authorities.

use std::sync::Arc;

use super::{ObjectId, Origin, Pattern, RedirectUrl};

/// Certificates of a certificate authority (CA) from a Secret, with its revocation lists.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Authority {
    /// The Secret, from which file names are derived.
    pub id: Arc<ObjectId>,
    /// The Secret.
    pub origin: Origin,
    /// The CA certificates as PEM.
    pub certificates: Arc<[u8]>,
    /// The certificate revocation lists (CRL) as PEM.
    pub revoked: Option<Arc<[u8]>>,
}

/// What a host requires of client certificates.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Demand {
    /// A valid certificate.
    Required,
    /// A valid certificate, or none.
    Optional,
    /// Any certificate, or none: backends are told whether it is valid.
    Unverified,
}

/// The settings for client certificates. They apply to the whole host, because a certificate is
/// requested before nginx knows the path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientCertificates {
    /// The field that they come from.
    pub origin: Origin,
    /// The CA that must have signed them.
    pub authority: Arc<Authority>,
    /// What is required.
    pub demand: Demand,
    /// The most intermediate certificates in a chain.
    pub depth: u32,
    /// A pattern for the beginning of the common name.
    pub common_name: Option<Pattern>,
    /// Where clients with a missing or invalid certificate are redirected.
    pub error_page: Option<RedirectUrl>,
    /// Whether backends get the certificate in a header.
    pub is_reported: bool,
}

impl ClientCertificates {
    /// Whether requests without a verified certificate are refused, also those without TLS.
    pub fn chooses(&self) -> bool {
        self.demand == Demand::Required || self.common_name.is_some()
    }

    /// Whether both require the same, also when they come from different fields.
    pub fn is_like(&self, other: &Self) -> bool {
        *self == ClientCertificates { origin: self.origin.clone(), ..other.clone() }
    }
}
