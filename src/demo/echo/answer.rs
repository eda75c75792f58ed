//! What a backend tells about a request, as a value that tests read back.

use std::net::SocketAddr;

use serde::{Deserialize, Serialize};

/// Every answer carries the address that was reached in this header, whatever its body is.
pub const ADDRESS_HEADER: &str = "x-echo-address";

/// What reached a backend.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answer {
    /// The backend's name.
    pub name: String,
    /// The address that was reached.
    pub address: SocketAddr,
    /// Where the connection came from.
    pub client: SocketAddr,
    /// As it arrived: `GET`, or what a proxy made of it.
    pub method: String,
    /// The request target as it was received: path and query.
    pub path: String,
    /// `HTTP/1.0`, `HTTP/1.1` or `HTTP/2`.
    pub protocol: String,
    /// The headers as received, names in lower case; `:authority` of HTTP/2 counts as `host`.
    pub headers: Vec<(String, String)>,
    /// What the TLS handshake gave; none on a plain connection.
    pub tls: Option<TlsFacts>,
    /// Length of the request's body in bytes.
    pub body_length: u64,
}

impl Answer {
    /// The value of a header, when it was received exactly once.
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut values = self.headers.iter().filter(|(header, _)| header == name);
        values.next().map(|(_, value)| value.as_str()).filter(|_| values.next().is_none())
    }
}

/// What a TLS handshake gave.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TlsFacts {
    /// For example `TLSv1_3`.
    pub version: String,
    /// The name that the client asked for.
    pub sni: Option<String>,
    /// The protocol that was agreed on.
    pub alpn: Option<String>,
}

impl TlsFacts {
    /// The facts of a finished handshake.
    pub fn of(connection: &rustls::ServerConnection) -> Self {
        TlsFacts {
            version: connection.protocol_version().map(|version| format!("{version:?}")).unwrap_or_default(),
            sni: connection.server_name().map(str::to_owned),
            alpn: connection.alpn_protocol().map(|name| String::from_utf8_lossy(name).into_owned()),
        }
    }
}
