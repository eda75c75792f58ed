//! Sends requests to one place over a kept connection, and returns the responses. It must not know
//! what they are compared with.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use http::header::{ACCESS_CONTROL_REQUEST_METHOD, HOST, ORIGIN, USER_AGENT};
use http_body_util::{BodyExt as _, Empty};
use hyper::body::Bytes;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::{ClientConfig, DigitallySignedStruct, SignatureScheme};
use rustls_pki_types::{CertificateDer, ServerName, UnixTime};
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;

use ingressd_migrate::compare::{Answer, Answered, Method, Request, Scheme, Side, Silence};

/// The limits of a request.
#[derive(Debug, Clone)]
pub struct Bounds {
    /// The time limit of a request with all of its steps.
    pub deadline: Duration,
    /// How much of a body is read.
    pub most_body: usize,
    /// Whether each connection begins with a header of the PROXY protocol.
    pub says_client: bool,
    /// The user agent, by which a later log shows where a request is from.
    pub agent: &'static str,
}

/// Why a side cannot be asked at all.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Its name cannot be resolved.
    #[error("{0} cannot be resolved: {1}")]
    Resolve(String, std::io::Error),
    /// Nothing listens there.
    #[error("nothing can be asked at {0}: {1}")]
    Connect(SocketAddr, std::io::Error),
    /// The TLS library refuses its own settings.
    #[error("TLS cannot be spoken: {0}")]
    Tls(#[from] rustls::Error),
}

/// One side.
pub struct Client {
    /// Where it is.
    pub side: Side,
    address: SocketAddr,
    bounds: Bounds,
    tls: TlsConnector,
    connection: Option<Connection>,
}

/// A connection. It closes when it is dropped.
struct Connection {
    sender: http1::SendRequest<Empty<Bytes>>,
    /// The server name of the TLS handshake; `None` without TLS.
    name: Option<String>,
    certificate: Option<Vec<u8>>,
    driver: JoinHandle<()>,
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.driver.abort();
    }
}

impl Client {
    /// A client for a side, whose name is resolved once.
    pub async fn new(side: Side, bounds: Bounds) -> Result<Self, Error> {
        let resolved = tokio::net::lookup_host((side.address.trim_matches(['[', ']']), side.ports.http)).await;
        let none = || std::io::Error::from(std::io::ErrorKind::NotFound);
        let address = resolved.and_then(|mut all| all.next().ok_or_else(none));
        let address = address.map_err(|error| Error::Resolve(side.address.clone(), error))?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let verifier = Arc::new(LookAtAny(Arc::clone(&provider)));
        let config = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions()?;
        let mut config = config.dangerous().with_custom_certificate_verifier(verifier).with_no_client_auth();
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Client { side, address, bounds, tls: TlsConnector::from(Arc::new(config)), connection: None })
    }

    /// Opens a connection and closes it.
    pub async fn look(&self, scheme: Scheme) -> Result<(), Error> {
        let address = self.address_for(scheme);
        let connected = timeout(self.bounds.deadline, TcpStream::connect(address)).await;
        let connected = connected.unwrap_or_else(|late| Err(late.into()));
        connected.map(drop).map_err(|error| Error::Connect(address, error))
    }

    /// Sends a request.
    pub async fn ask(&mut self, request: &Request) -> Answer {
        let deadline = self.bounds.deadline;
        let answered = timeout(deadline, self.exchange(request)).await.unwrap_or(Err(Silence::Late));
        answered.map_or_else(
            |silence| {
                self.connection = None;
                Answer::None(silence)
            },
            Answer::Some,
        )
    }

    fn address_for(&self, scheme: Scheme) -> SocketAddr {
        let port = match scheme {
            Scheme::Http => self.side.ports.http,
            Scheme::Https => self.side.ports.https,
        };
        SocketAddr::new(self.address.ip(), port)
    }

    async fn exchange(&mut self, request: &Request) -> Result<Answered, Silence> {
        let name = (request.scheme == Scheme::Https).then_some(&*request.host);
        let is_kept = |kept: &Connection| kept.name.as_deref() == name && !kept.sender.is_closed();
        let kept = self.connection.take().filter(is_kept);
        if let Some(mut connection) = kept {
            // The other end may just have closed a kept connection.
            match connection.send(request, &self.bounds).await {
                Ok((answered, may_stay)) => {
                    self.connection = may_stay.then_some(connection);
                    return Ok(answered);
                }
                Err(_) => drop(connection),
            }
        }
        let mut connection = self.connect(request.scheme, name).await?;
        let (answered, may_stay) = connection.send(request, &self.bounds).await?;
        self.connection = may_stay.then_some(connection);
        Ok(answered)
    }

    async fn connect(&self, scheme: Scheme, name: Option<&str>) -> Result<Connection, Silence> {
        let mut stream = TcpStream::connect(self.address_for(scheme)).await.map_err(|_| Silence::NoConnection)?;
        if self.bounds.says_client {
            let addresses = stream.local_addr().and_then(|own| Ok((own, stream.peer_addr()?)));
            let (own, other) = addresses.map_err(|_| Silence::NoConnection)?;
            stream.write_all(proxy_header(own, other).as_bytes()).await.map_err(|_| Silence::NoAnswer)?;
        }
        let Some(host) = name else { return Connection::over(stream, None, None).await };
        let server = ServerName::try_from(host.to_owned()).map_err(|_| Silence::NoTls)?;
        let stream = self.tls.connect(server, stream).await.map_err(|_| Silence::NoTls)?;
        let certificate =
            stream.get_ref().1.peer_certificates().and_then(|chain| chain.first()).map(|der| der.to_vec());
        Connection::over(stream, Some(host.to_owned()), certificate).await
    }
}

impl Connection {
    async fn over<S>(stream: S, name: Option<String>, certificate: Option<Vec<u8>>) -> Result<Self, Silence>
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let (sender, connection) = http1::handshake(TokioIo::new(stream)).await.map_err(|_| Silence::NoAnswer)?;
        let driver = tokio::spawn(async move { drop(connection.await) });
        Ok(Connection { sender, name, certificate, driver })
    }

    /// Sends a request; returns the response, and whether the connection can be used again.
    async fn send(&mut self, request: &Request, bounds: &Bounds) -> Result<(Answered, bool), Silence> {
        self.sender.ready().await.map_err(|_| Silence::NoAnswer)?;
        let sent = self.sender.send_request(built(request, bounds.agent)?).await.map_err(|_| Silence::NoAnswer)?;
        let (head, mut incoming) = sent.into_parts();
        let mut answered = Answered {
            status: head.status.as_u16(),
            headers: head.headers,
            certificate: self.certificate.clone(),
            ..Answered::default()
        };
        while let Some(frame) = incoming.frame().await {
            let Ok(data) = frame.map_err(|_| Silence::NoAnswer)?.into_data() else { continue };
            let room = bounds.most_body - answered.body.len();
            answered.body.extend_from_slice(&data[..data.len().min(room)]);
            if data.len() > room {
                answered.is_cut = true;
                return Ok((answered, false));
            }
        }
        Ok((answered, true))
    }
}

/// The request as it is sent: as by clients of the usual ports, with only method, host and path
/// from a log.
fn built(request: &Request, agent: &str) -> Result<http::Request<Empty<Bytes>>, Silence> {
    let mut built = http::Request::builder()
        .method(request.method.name())
        .uri(&request.target)
        .header(HOST, &request.host)
        .header(USER_AGENT, agent);
    if let Some(origin) = &request.origin {
        built = built.header(ORIGIN, origin);
        if request.method == Method::Options {
            built = built.header(ACCESS_CONTROL_REQUEST_METHOD, "GET");
        }
    }
    built.body(Empty::new()).map_err(|_| Silence::NoAnswer)
}

/// Version 1 of the PROXY protocol header.
fn proxy_header(own: SocketAddr, other: SocketAddr) -> String {
    let (own, other) = (
        SocketAddr::new(own.ip().to_canonical(), own.port()),
        SocketAddr::new(other.ip().to_canonical(), other.port()),
    );
    let family = if own.is_ipv4() { "TCP4" } else { "TCP6" };
    format!("PROXY {family} {} {} {} {}\r\n", own.ip(), other.ip(), own.port(), other.port())
}

/// Accepts every certificate, because certificates are compared: nothing secret is sent, and
/// responses are not trusted. Signatures are still verified.
#[derive(Debug)]
struct LookAtAny(Arc<CryptoProvider>);

impl ServerCertVerifier for LookAtAny {
    fn verify_server_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, certificate, signature, &self.0.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, certificate, signature, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
