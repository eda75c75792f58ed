//! Certificates, keys and password files as bytes with names.

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

/// Names a certificate by the Secret it comes from, so that a renewed one takes the place of the old.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CertificateId {
    /// Made by the daemon itself for hosts without one.
    SelfSigned,
    /// From this Secret.
    Secret(Arc<ObjectId>),
}

/// A certificate chain with its key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Certificate {
    /// Its name.
    pub id: CertificateId,
    /// The Secret.
    pub origin: Origin,
    /// The chain, PEM, the host's own certificate first.
    pub chain: Arc<[u8]>,
    /// The private key, PEM.
    pub key: SecretBytes,
    /// When clients accept it.
    pub validity: Validity,
}

/// Names a password file by the Secret it comes from.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PasswordFileId {
    /// The Secret.
    pub secret: Arc<ObjectId>,
    /// Read as a map of users (`auth-map`) rather than as one file (`auth-file`).
    pub map: bool,
}

/// Names and password hashes, one `user:hash` a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PasswordFile {
    /// Its name.
    pub id: PasswordFileId,
    /// The Secret.
    pub origin: Origin,
    /// The lines.
    pub content: SecretBytes,
}
