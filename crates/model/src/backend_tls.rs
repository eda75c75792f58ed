//! TLS towards backends that are verified or that get a client certificate.

use std::sync::Arc;

use super::{Ciphers, HostName, ObjectId};

/// The TLS settings towards the endpoints of an upstream. What is not set here is nginx's default.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BackendTls {
    pub secret: Arc<ObjectId>,
    /// Whether the Secret has a client certificate and key.
    pub has_certificate: bool,
    /// The most certificate authorities between the backend's certificate and a CA of the Secret;
    /// `None` does not verify.
    pub verify_depth: Option<u32>,
    /// The name that the certificate must have; `None` means the name of the Service.
    pub name: Option<HostName>,
    /// Whether the name is sent in the handshake (SNI).
    pub sends_name: bool,
    /// The versions of TLS.
    pub protocols: Protocols,
    /// The ciphers, in the notation of OpenSSL.
    pub ciphers: Option<Ciphers>,
}

/// Versions of TLS.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Protocols {
    /// TLS 1.2 and 1.3.
    #[default]
    Both,
    /// TLS 1.2 only.
    Tls12,
    /// TLS 1.3 only.
    Tls13,
}

impl Protocols {
    /// The versions with these names; all for an empty list. `None` when a name is unknown or of
    /// an unsafe version.
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

    /// Their names in nginx.
    pub fn names(self) -> &'static [&'static str] {
        match self {
            Protocols::Both => &["TLSv1.2", "TLSv1.3"],
            Protocols::Tls12 => &["TLSv1.2"],
            Protocols::Tls13 => &["TLSv1.3"],
        }
    }
}
