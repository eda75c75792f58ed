//! What the daemon tells about itself, asked for as any tool would.

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
    /// Where the daemon stands.
    pub phase: String,
    /// What failed.
    pub why: Option<String>,
    /// The generation that nginx runs.
    pub generation: Option<u64>,
    /// What is served.
    pub ingresses: Vec<Ingress>,
    /// What is wrong.
    pub findings: Vec<Finding>,
}

/// An Ingress that is served.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Ingress {
    pub namespace: String,
    pub name: String,
    pub hosts: Vec<String>,
    /// How many routes are its own.
    pub routes: u32,
}

/// Something that is wrong.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Finding {
    /// The object.
    pub kind: String,
    pub namespace: String,
    pub name: String,
    /// The place in it.
    pub field: String,
    /// How bad it is.
    pub severity: String,
    /// What sort of thing it is.
    pub reason: String,
    /// What is wrong.
    pub note: String,
}

impl DaemonStatus {
    /// Asks the daemon; `None` while it does not answer.
    pub async fn ask(address: SocketAddr) -> Option<DaemonStatus> {
        let stream = TcpStream::connect(address).await.ok()?;
        let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.ok()?;
        tokio::spawn(connection);
        let request =
            Request::get("/status.json").header(HOST, address.to_string()).body(Empty::<Bytes>::new()).ok()?;
        let body = sender.send_request(request).await.ok()?.into_body().collect().await.ok()?;
        serde_json::from_slice(&body.to_bytes()).ok()
    }

    /// The finding of this reason about this object.
    pub fn finding(&self, reason: &str, name: &str) -> Option<&Finding> {
        self.findings.iter().find(|finding| finding.reason == reason && finding.name == name)
    }
}
