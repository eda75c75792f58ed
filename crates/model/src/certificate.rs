//! Certificates, keys and password files, as bytes with identities.

use std::fmt;
use std::sync::Arc;

use super::{ObjectId, Origin, Refused, Validity};

/// Bytes that are never printed.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct SecretBytes(pub Arc<[u8]>);

impl fmt::Debug for SecretBytes {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "SecretBytes({} bytes)", self.0.len())
    }
}

/// Identifies a certificate by its Secret, so that a renewed one replaces the old one.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CertificateId {
    /// The daemon's own certificate for hosts without one.
    SelfSigned,
    /// From this Secret.
    Secret(Arc<ObjectId>),
}

/// What is known of a certificate however often it is renewed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Presented {
    /// Its identity.
    pub id: CertificateId,
    /// The Secret.
    pub origin: Origin,
    /// Where it says that a responder tells whether it is revoked (OCSP): what its author chose.
    pub responder: Option<Arc<str>>,
    /// Whether its chain has the certificate of its issuer, without which no such question can be
    /// asked.
    pub has_issuer: bool,
}

/// A certificate chain with its key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Certificate {
    /// What of it is known for longer.
    pub of: Arc<Presented>,
    /// The chain as PEM, the host's certificate first.
    pub chain: Arc<[u8]>,
    /// The private key as PEM.
    pub key: SecretBytes,
    /// When clients accept it.
    pub validity: Validity,
}

/// Identifies a password file by its Secret.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PasswordFileId {
    pub secret: Arc<ObjectId>,
    /// Whether the Secret is a map of users (`auth-map`) rather than one file (`auth-file`).
    pub map: bool,
}

/// User names and password hashes, one `user:hash` on each line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PasswordFile {
    /// Its identity.
    pub id: PasswordFileId,
    /// The Secret.
    pub origin: Origin,
    /// The lines.
    pub content: SecretBytes,
}

/// A key by which nginx encrypts the TLS sessions that clients keep. With it an attacker can
/// decrypt recorded connections of these sessions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TicketKey {
    /// Who says it.
    pub origin: Origin,
    /// Its bytes.
    content: SecretBytes,
}

impl TicketKey {
    /// How many bytes nginx takes: for AES with 128 and with 256 bits.
    pub const LENGTHS: [usize; 2] = [48, 80];

    /// A key of as many bytes as nginx takes.
    pub fn new(bytes: Vec<u8>, origin: Origin) -> Result<Self, Refused> {
        match Self::LENGTHS.contains(&bytes.len()) {
            true => Ok(TicketKey { origin, content: SecretBytes(bytes.into()) }),
            false => Err(Refused(format!("it has {} bytes, and nginx takes 48 or 80", bytes.len()).into())),
        }
    }

    pub fn bytes(&self) -> Arc<[u8]> {
        Arc::clone(&self.content.0)
    }
}

/// Parameters of Diffie and Hellman's exchange of keys, which were proven, for ciphers with DHE.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DhParameters {
    /// Who has them.
    pub origin: Origin,
    /// PEM.
    pub content: Arc<[u8]>,
}
