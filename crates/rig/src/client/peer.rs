//! TLS towards a server whose certificate is returned and not verified.

use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{
    ClientSessionMemoryCache, ClientSessionStore, Resumption, Tls12ClientSessionValue, Tls13ClientSessionValue,
    WantsClientCert,
};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::{
    ClientConfig, ClientConnection, ConfigBuilder, DigitallySignedStruct, Error, NamedGroup, SignatureScheme,
};
use rustls_pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use x509_parser::prelude::{FromDer, GeneralName, X509Certificate};

use super::connection::Version;

/// The other end of TLS.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Peer {
    /// The certificate, DER.
    pub certificate: Vec<u8>,
    /// The names it is for.
    pub names: Vec<String>,
    /// Whether an earlier session was resumed.
    pub is_resumed: bool,
    /// For example `TLSv1_3`.
    pub version: String,
    /// The cipher suite, as rustls names it.
    pub cipher: String,
    /// What was agreed on by ALPN.
    pub alpn: Option<String>,
}

impl Peer {
    /// What a finished handshake showed.
    pub fn of(connection: &ClientConnection) -> Self {
        let certificate = connection.peer_certificates().and_then(|chain| chain.first()).expect("a certificate");
        let (_, parsed) = X509Certificate::from_der(certificate).unwrap();
        let alternative = parsed.subject_alternative_name().unwrap();
        let names = alternative.iter().flat_map(|extension| &extension.value.general_names);
        Peer {
            certificate: certificate.to_vec(),
            names: names
                .filter_map(|name| match name {
                    GeneralName::DNSName(name) => Some((*name).to_owned()),
                    _ => None,
                })
                .collect(),
            is_resumed: connection.handshake_kind() == Some(rustls::HandshakeKind::Resumed),
            version: connection.protocol_version().map(|version| format!("{version:?}")).unwrap_or_default(),
            cipher: connection
                .negotiated_cipher_suite()
                .map(|suite| format!("{:?}", suite.suite()))
                .unwrap_or_default(),
            alpn: connection.alpn_protocol().map(|name| String::from_utf8_lossy(name).into_owned()),
        }
    }
}

/// Shakes hands, asking for a name or for none.
pub async fn handshake(
    stream: TcpStream,
    sni: Option<&str>,
    shows: Option<&Arc<ClientConfig>>,
    version: Version,
) -> std::io::Result<TlsStream<TcpStream>> {
    let mut settings = shows.map_or_else(|| accepting_all().with_no_client_auth(), |config| (**config).clone());
    settings.enable_sni = sni.is_some();
    settings.alpn_protocols = match version {
        Version::Http1 => vec![b"http/1.1".to_vec()],
        Version::Http2 => vec![b"h2".to_vec()],
    };
    let name = ServerName::try_from(sni.unwrap_or("localhost").to_owned()).unwrap();
    TlsConnector::from(Arc::new(settings)).connect(name, stream).await
}

fn accepting_all() -> ConfigBuilder<ClientConfig, WantsClientCert> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let verifier = Arc::new(AcceptAll(Arc::clone(&provider)));
    ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .dangerous()
        .with_custom_certificate_verifier(verifier)
}

/// The TLS configuration of a client that shows a certificate: it opens new sessions, or resumes
/// the last one also under another name.
pub fn showing(chain: Vec<CertificateDer<'static>>, key: PrivateKeyDer<'static>, resumes: bool) -> Arc<ClientConfig> {
    let mut config = accepting_all().with_client_auth_cert(chain, key).unwrap();
    config.resumption = match resumes {
        true => Resumption::store(Arc::new(OneName(ClientSessionMemoryCache::new(8)))),
        false => Resumption::disabled(),
    };
    Arc::new(config)
}

/// Sessions of all servers as if they were one.
#[derive(Debug)]
struct OneName(ClientSessionMemoryCache);

fn one_name() -> ServerName<'static> {
    ServerName::try_from("one").unwrap()
}

impl ClientSessionStore for OneName {
    fn set_kx_hint(&self, _name: ServerName<'static>, group: NamedGroup) {
        self.0.set_kx_hint(one_name(), group);
    }

    fn kx_hint(&self, _name: &ServerName<'_>) -> Option<NamedGroup> {
        self.0.kx_hint(&one_name())
    }

    fn set_tls12_session(&self, _name: ServerName<'static>, value: Tls12ClientSessionValue) {
        self.0.set_tls12_session(one_name(), value);
    }

    fn tls12_session(&self, _name: &ServerName<'_>) -> Option<Tls12ClientSessionValue> {
        self.0.tls12_session(&one_name())
    }

    fn remove_tls12_session(&self, _name: &ServerName<'static>) {
        self.0.remove_tls12_session(&one_name());
    }

    fn insert_tls13_ticket(&self, _name: ServerName<'static>, value: Tls13ClientSessionValue) {
        self.0.insert_tls13_ticket(one_name(), value);
    }

    fn take_tls13_ticket(&self, _name: &ServerName<'static>) -> Option<Tls13ClientSessionValue> {
        self.0.take_tls13_ticket(&one_name())
    }
}

/// Takes every certificate: tests look at the one that came. Signatures are still checked.
#[derive(Debug)]
struct AcceptAll(Arc<CryptoProvider>);

impl ServerCertVerifier for AcceptAll {
    fn verify_server_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, certificate, signature, &self.0.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, certificate, signature, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
