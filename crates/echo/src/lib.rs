//! A backend that describes each request in its response: by HTTP/1.1, HTTP/2, WebSocket and gRPC,
//! plain or with TLS.

mod answer;
mod grpc;
mod service;
mod switches;
mod tls;
mod websocket;

pub use answer::{ADDRESS_HEADER, Answer, TlsFacts};
pub use tls::TlsSetupError;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;

use service::Connection;

/// A backend with a name. One listener on all addresses of the host can serve for several, and
/// reports which address was reached.
#[derive(Clone)]
pub struct Echo {
    name: Arc<str>,
    tls: Option<TlsAcceptor>,
    /// Whether clients of a backend with TLS may also come without.
    is_both: bool,
}

/// How a connection with TLS begins.
const HANDSHAKE: u8 = 0x16;

impl Echo {
    /// A backend without TLS: HTTP/1.1 and HTTP/2 with prior knowledge.
    pub fn plain(name: &str) -> Self {
        Echo { name: name.into(), tls: None, is_both: false }
    }

    /// A backend with TLS and a new certificate: HTTP/1.1 or HTTP/2, selected by ALPN.
    ///
    /// # Errors
    ///
    /// When the certificate cannot be made.
    pub fn tls(name: &str) -> Result<Self, TlsSetupError> {
        Ok(Echo { name: name.into(), tls: Some(tls::acceptor(name)?), is_both: false })
    }

    /// A backend that speaks TLS to clients who begin with it, and otherwise does without.
    ///
    /// # Errors
    ///
    /// As [`Echo::tls`].
    pub fn with_and_without_tls(name: &str) -> Result<Self, TlsSetupError> {
        Ok(Echo { is_both: true, ..Echo::tls(name)? })
    }

    /// Serves until the future is dropped, which also closes its connections.
    pub async fn serve(self, listener: TcpListener) {
        let mut connections = JoinSet::new();
        loop {
            tokio::select! {
                accepted = listener.accept() => match accepted {
                    Ok((stream, _)) => drop(connections.spawn(self.clone().serve_stream(stream))),
                    // For example, there are no file descriptors left: other connections may close
                    // meanwhile.
                    Err(_) => tokio::time::sleep(Duration::from_millis(10)).await,
                },
                Some(_) = connections.join_next() => {}
            }
        }
    }

    async fn serve_stream(self, stream: TcpStream) {
        let (Ok(address), Ok(client)) = (stream.local_addr(), stream.peer_addr()) else { return };
        let [address, client] = [address, client].map(canonical);
        let mut connection = Connection { name: self.name, address, client, tls: None };
        let mut first = [0];
        let is_plain = self.is_both && stream.peek(&mut first).await.is_ok_and(|_| first != [HANDSHAKE]);
        match self.tls.filter(|_| !is_plain) {
            None => serve_requests(stream, connection).await,
            Some(acceptor) => {
                let Ok(stream) = acceptor.accept(stream).await else { return };
                connection.tls = Some(TlsFacts::of(stream.get_ref().1));
                serve_requests(stream, connection).await;
            }
        }
    }
}

/// A listener on `::` sees IPv4 addresses as `::ffff:10.244.0.1`; this returns the usual form.
fn canonical(address: SocketAddr) -> SocketAddr {
    SocketAddr::new(address.ip().to_canonical(), address.port())
}

async fn serve_requests(stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static, connection: Connection) {
    let connection = Arc::new(connection);
    let service = service_fn(move |request| service::answer(Arc::clone(&connection), request));
    let server = auto::Builder::new(TokioExecutor::new());
    // A backend does not mind clients that go away.
    let _ = server.serve_connection_with_upgrades(TokioIo::new(stream), service).await;
}
