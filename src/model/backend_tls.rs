//! How TLS is spoken to backends that are verified or ask for a certificate; it must not know which backends there are.

use std::sync::Arc;

use super::{HostName, ObjectId, Text};

/// How TLS is spoken to the endpoints of a group. What is not said here nginx does by default.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BackendTls {
    /// The Secret.
    pub secret: Arc<ObjectId>,
    /// It holds a certificate and key to show to the backend.
    pub has_certificate: bool,
    /// The authority in it must have signed the certificate of the backend, through at most this many others.
    pub verify_depth: Option<u32>,
    /// The name that the certificate has to have; `None` is that of the Service.
    pub name: Option<HostName>,
    /// The name is told in the handshake (SNI).
    pub tells_name: bool,
    /// Versions of TLS.
    pub protocols: Protocols,
    /// Ciphers, in the words of OpenSSL.
    pub ciphers: Option<Text>,
}

/// Versions of TLS.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Protocols {
    /// 1.2 and 1.3.
    Both,
    /// 1.2 alone.
    Tls12,
    /// 1.3 alone.
    Tls13,
}
