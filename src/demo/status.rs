//! The status of the daemon, read by HTTP like any tool does.

use std::net::SocketAddr;

use http::Request;
use http::header::HOST;
use http_body_util::{BodyExt, Empty};
use hyper::body::Bytes;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use serde::Deserialize;
use tokio::net::TcpStream;

/// The part of `/status.json` that the demo shows.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct DaemonStatus {
    /// Whether nginx serves the confirmed generation.
    pub ready: bool,
    /// The phase of the daemon.
    pub phase: String,
    /// The error.
    pub why: Option<String>,
    /// The generation that nginx runs.
    pub generation: Option<u64>,
    /// What is served.
    pub ingresses: Vec<Ingress>,
    /// All findings.
    pub findings: Vec<Finding>,
}

/// An Ingress that is served.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Ingress {
    pub namespace: String,
    pub name: String,
    pub hosts: Vec<String>,
    /// How many routes it owns.
    pub routes: u32,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Finding {
    /// The object.
    pub kind: String,
    pub namespace: String,
    pub name: String,
    pub field: String,
    pub severity: String,
    pub reason: String,
    pub note: String,
}

impl DaemonStatus {
    /// Requests the status; `None` while the daemon does not respond.
    pub async fn ask(address: SocketAddr) -> Option<DaemonStatus> {
        let stream = TcpStream::connect(address).await.ok()?;
        let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.ok()?;
        tokio::spawn(connection);
        let request =
            Request::get("/status.json").header(HOST, address.to_string()).body(Empty::<Bytes>::new()).ok()?;
        let body = sender.send_request(request).await.ok()?.into_body().collect().await.ok()?;
        serde_json::from_slice(&body.to_bytes()).ok()
    }

    /// The finding with this reason about this object.
    pub fn finding(&self, reason: &str, name: &str) -> Option<&Finding> {
        self.findings.iter().find(|finding| finding.reason == reason && finding.name == name)
    }
}
