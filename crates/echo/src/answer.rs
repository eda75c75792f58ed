//! The response of a backend about a request, as a value that tests can parse.

use std::net::SocketAddr;

use serde::{Deserialize, Serialize};

/// The header with the address that the request reached, in every response.
pub const ADDRESS_HEADER: &str = "x-echo-address";

/// The request as it reached a backend.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answer {
    /// The backend's name.
    pub name: String,
    /// The address that the request reached.
    pub address: SocketAddr,
    /// The address that the connection came from.
    pub client: SocketAddr,
    /// The method: `GET`, or what a proxy made of it.
    pub method: String,
    /// The path with the query, as received.
    pub path: String,
    /// `HTTP/1.0`, `HTTP/1.1` or `HTTP/2`.
    pub protocol: String,
    /// The headers as received, with lower-case names; `:authority` of HTTP/2 counts as `host`.
    pub headers: Vec<(String, String)>,
    /// Facts about TLS; `None` for a plain connection.
    pub tls: Option<TlsFacts>,
    /// Length of the request's body in bytes.
    pub body_length: u64,
}

impl Answer {
    /// The value of a header that was received exactly once.
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut values = self.headers.iter().filter(|(header, _)| header == name);
        values.next().map(|(_, value)| value.as_str()).filter(|_| values.next().is_none())
    }
}

/// Facts about a TLS handshake.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TlsFacts {
    /// For example `TLSv1_3`.
    pub version: String,
    /// The server name that the client sent.
    pub sni: Option<String>,
    /// The negotiated protocol.
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
