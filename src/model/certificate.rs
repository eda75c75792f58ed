//! Certificates, keys and password files, as bytes with identities.

use std::fmt;
use std::sync::Arc;

use super::{ObjectId, Origin, Validity};

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

/// A certificate chain with its key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Certificate {
    /// Its identity.
    pub id: CertificateId,
    /// The Secret.
    pub origin: Origin,
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
    /// The Secret.
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
