//! Sends the requests of the examples to the demo's nginx, and trusts only the demo's CA.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::header::{
    AUTHORIZATION, CONNECTION, CONTENT_TYPE, HOST, SEC_WEBSOCKET_KEY, SEC_WEBSOCKET_VERSION, TE, UPGRADE,
};
use http::{HeaderValue, Method, Request, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper::body::Bytes;
use hyper::client::conn::{http1, http2};
use hyper_util::rt::{TokioExecutor, TokioIo};
use rustls::{ClientConfig, RootCertStore};
use rustls_pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use super::request::{ExampleRequest, Kind};

/// A client of the demo's nginx.
#[derive(Clone)]
pub struct Client {
    http_port: u16,
    https_port: u16,
    connector: ClientConfig,
}

/// A response.
#[derive(Debug)]
pub struct Answer {
    pub status: StatusCode,
    /// The `grpc-status`, from the trailers or the head.
    pub grpc_status: Option<String>,
    pub body: Bytes,
}

/// Why there is no response.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// The connection failed, or the certificate is not valid.
    #[error("no connection: {0}")]
    Connect(#[from] std::io::Error),
    /// The HTTP exchange failed.
    #[error("no answer: {0}")]
    Http(#[from] hyper::Error),
    /// The request cannot be written.
    #[error("not a request: {0}")]
    Request(#[from] http::Error),
    /// The host is not a DNS name.
    #[error("not a host: {0}")]
    Host(#[from] rustls_pki_types::InvalidDnsNameError),
}

impl Client {
    /// A client for these ports.
    ///
    /// # Errors
    ///
    /// When the TLS library refuses its own settings.
    pub fn new(http_port: u16, https_port: u16, roots: Arc<RootCertStore>) -> Result<Self, rustls::Error> {
        let connector = ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .with_safe_default_protocol_versions()?
            .with_root_certificates(roots)
            .with_no_client_auth();
        Ok(Client { http_port, https_port, connector })
    }

    /// Sends a request on a new connection.
    pub async fn send(&self, example: &ExampleRequest) -> Result<Answer, ClientError> {
        let port = if example.is_tls() { self.https_port } else { self.http_port };
        let stream = TcpStream::connect(SocketAddr::from((Ipv4Addr::LOCALHOST, port))).await?;
        if !example.is_tls() {
            return exchange(stream, example, port).await;
        }
        let mut settings = self.connector.clone();
        let protocol: &[u8] = if example.kind == Kind::Grpc { b"h2" } else { b"http/1.1" };
        settings.alpn_protocols = vec![protocol.to_vec()];
        let name = ServerName::try_from(example.host().to_owned())?;
        let stream = TlsConnector::from(Arc::new(settings)).connect(name, stream).await?;
        exchange(stream, example, port).await
    }
}

async fn exchange<S>(stream: S, example: &ExampleRequest, port: u16) -> Result<Answer, ClientError>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let request = request(example, port)?;
    let stream = TokioIo::new(stream);
    let response = match example.kind {
        Kind::Grpc => {
            let (mut sender, connection) = http2::handshake(TokioExecutor::new(), stream).await?;
            tokio::spawn(connection);
            sender.send_request(request).await?
        }
        Kind::Http | Kind::WebSocket => {
            let (mut sender, connection) = http1::handshake(stream).await?;
            tokio::spawn(connection);
            sender.send_request(request).await?
        }
    };
    let (head, body) = response.into_parts();
    if head.status == StatusCode::SWITCHING_PROTOCOLS {
        return Ok(Answer { status: head.status, grpc_status: None, body: Bytes::new() });
    }
    let collected = body.collect().await?;
    let grpc_status =
        collected.trailers().and_then(|trailers| trailers.get("grpc-status")).or(head.headers.get("grpc-status"));
    let grpc_status = grpc_status.and_then(|value| value.to_str().ok()).map(str::to_owned);
    Ok(Answer { status: head.status, grpc_status, body: collected.to_bytes() })
}

fn request(example: &ExampleRequest, port: u16) -> Result<Request<Full<Bytes>>, ClientError> {
    let authority = format!("{}:{port}", example.host());
    let target = example.url.path_and_query().map_or("/", |target| target.as_str());
    let mut request = Request::builder().method(&example.method);
    for (name, value) in &example.headers {
        request = request.header(name, value);
    }
    if let Some(user) = &example.user {
        request = request.header(AUTHORIZATION, format!("Basic {}", STANDARD.encode(user)));
    }
    let request = match example.kind {
        Kind::Http => request.uri(target).header(HOST, authority).body(Full::default()),
        Kind::WebSocket => request
            .uri(target)
            .header(HOST, authority)
            .header(CONNECTION, HeaderValue::from_static("Upgrade"))
            .header(UPGRADE, HeaderValue::from_static("websocket"))
            .header(SEC_WEBSOCKET_VERSION, HeaderValue::from_static("13"))
            .header(SEC_WEBSOCKET_KEY, STANDARD.encode([0; 16]))
            .body(Full::default()),
        Kind::Grpc => request
            .method(Method::POST)
            .uri(format!("https://{authority}{target}"))
            .header(CONTENT_TYPE, HeaderValue::from_static("application/grpc"))
            .header(TE, HeaderValue::from_static("trailers"))
            // A message without fields: not compressed, zero bytes.
            .body(Full::new(Bytes::from_static(&[0; 5]))),
    };
    Ok(request?)
}
