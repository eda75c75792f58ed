//! One connection for several requests one after the other.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use http::Response;
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::{http1, http2};
use hyper_util::rt::{TokioExecutor, TokioIo};
use rustls::ClientConfig;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};
use tokio::task::JoinHandle;

use super::peer::{self, Peer};
use super::{Reply, Request};
use crate::namespace::Namespace;

/// What to speak.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Version {
    /// HTTP/1.1.
    Http1,
    /// HTTP/2.
    Http2,
}

/// Where a connection begins.
#[derive(Debug, Clone, Default)]
pub struct Start {
    /// The address; `None` leaves it to the kernel.
    pub address: Option<IpAddr>,
    /// The network; `None` for the test's own.
    pub namespace: Option<Namespace>,
    /// What is sent before anything else, as a load balancer does.
    pub first: Vec<u8>,
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// The client could not connect.
    #[error("cannot connect: {0}")]
    Connect(std::io::Error),
    /// The handshake of TLS failed.
    #[error("no TLS: {0}")]
    Tls(std::io::Error),
    /// HTTP went wrong.
    #[error("no answer: {0}")]
    Http(#[from] hyper::Error),
    /// A WebSocket was not opened.
    #[error("no WebSocket: {0}")]
    WebSocket(String),
    /// It took too long.
    #[error("no answer in time")]
    Late,
}

/// A connection. It closes when it is dropped.
pub struct Connection {
    sender: Sender,
    peer: Option<Peer>,
    driver: JoinHandle<()>,
}

enum Sender {
    Http1(http1::SendRequest<Full<Bytes>>),
    Http2(http2::SendRequest<Full<Bytes>>),
}

impl Connection {
    /// Opens a connection; `tls` holds the name to ask for, and the TLS configuration of a client
    /// that shows a certificate.
    pub async fn open(
        to: SocketAddr,
        from: &Start,
        tls: Option<(Option<&str>, Option<&Arc<ClientConfig>>)>,
        version: Version,
    ) -> Result<Self, Failure> {
        let stream = tcp(to, from).await?;
        match tls {
            None => Self::over(stream, None, version).await,
            Some((sni, shows)) => {
                let stream = peer::handshake(stream, sni, shows, version).await.map_err(Failure::Tls)?;
                let peer = Peer::of(stream.get_ref().1);
                Self::over(stream, Some(peer), version).await
            }
        }
    }

    async fn over<S>(stream: S, peer: Option<Peer>, version: Version) -> Result<Self, Failure>
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let stream = TokioIo::new(stream);
        let (sender, driver) = match version {
            Version::Http1 => {
                let (sender, connection) = http1::handshake(stream).await?;
                (Sender::Http1(sender), tokio::spawn(async move { drop(connection.await) }))
            }
            Version::Http2 => {
                let (sender, connection) = http2::handshake(TokioExecutor::new(), stream).await?;
                (Sender::Http2(sender), tokio::spawn(async move { drop(connection.await) }))
            }
        };
        Ok(Connection { sender, peer, driver })
    }

    /// Sends a request and waits for the whole answer.
    pub async fn send(&mut self, request: &Request) -> Result<Reply, Failure> {
        Reply::read(self.begin(request).await?, self.peer.clone()).await
    }

    /// Sends a request and waits for the beginning of the answer.
    pub async fn begin(&mut self, request: &Request) -> Result<Response<Incoming>, Failure> {
        let request = request.build();
        Ok(match &mut self.sender {
            Sender::Http1(sender) => {
                sender.ready().await?;
                sender.send_request(request).await?
            }
            Sender::Http2(sender) => {
                sender.ready().await?;
                sender.send_request(request).await?
            }
        })
    }

    /// Whether the other end has not closed it, as far as is known.
    pub fn is_open(&self) -> bool {
        match &self.sender {
            Sender::Http1(sender) => !sender.is_closed(),
            Sender::Http2(sender) => !sender.is_closed(),
        }
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.driver.abort();
    }
}

/// A plain connection, from a chosen place when asked for.
pub async fn tcp(to: SocketAddr, from: &Start) -> Result<TcpStream, Failure> {
    let connect = async {
        let make = || if to.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() };
        // A socket stays in the network that it is made in.
        let socket = match &from.namespace {
            Some(namespace) => namespace.within(make)?,
            None => make()?,
        };
        if let Some(address) = from.address {
            socket.bind(SocketAddr::new(address, 0))?;
        }
        let mut stream = socket.connect(to).await?;
        stream.set_nodelay(true)?;
        stream.write_all(&from.first).await?;
        Ok(stream)
    };
    connect.await.map_err(Failure::Connect)
}
