//! How TLS is spoken to backends that are verified or ask for a certificate.

use std::sync::Arc;

use super::{Ciphers, HostName, ObjectId};

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
    pub ciphers: Option<Ciphers>,
}

/// Versions of TLS.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Protocols {
    /// 1.2 and 1.3.
    #[default]
    Both,
    /// 1.2 alone.
    Tls12,
    /// 1.3 alone.
    Tls13,
}

impl Protocols {
    /// What is meant by these names, none of them by all; `None` when one is of no version that is safe.
    pub fn of<'a>(names: impl IntoIterator<Item = &'a str>) -> Option<Self> {
        let mut found = (false, false);
        for name in names {
            match name {
                "TLSv1.2" => found.0 = true,
                "TLSv1.3" => found.1 = true,
                _ => return None,
            }
        }
        Some(match found {
            (true, false) => Protocols::Tls12,
            (false, true) => Protocols::Tls13,
            _ => Protocols::Both,
        })
    }

    /// As nginx writes them.
    pub fn names(self) -> &'static [&'static str] {
        match self {
            Protocols::Both => &["TLSv1.2", "TLSv1.3"],
            Protocols::Tls12 => &["TLSv1.2"],
            Protocols::Tls13 => &["TLSv1.3"],
        }
    }
}
