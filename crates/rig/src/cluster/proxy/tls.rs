//! Both ends of the proxy's TLS: a server with its own authority, and a client that trusts the API
//! server's.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};
use rustls::crypto::CryptoProvider;
use rustls::{ClientConfig, RootCertStore, ServerConfig};
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use tokio::net::TcpStream;
use tokio_rustls::{TlsAcceptor, TlsConnector, client, server};

/// How to be a server to the daemon and a client of the API server.
pub struct Ends {
    authority: String,
    acceptor: TlsAcceptor,
    connector: TlsConnector,
}

impl Ends {
    /// A new authority for the server; the client trusts the one given (PEM).
    pub fn new(trusted: &[u8]) -> Self {
        let (authority, acceptor) = make_server();
        Ends { authority, acceptor, connector: make_client(trusted) }
    }

    /// The client trusts another authority from now on.
    pub fn trust(&mut self, authority: &[u8]) {
        self.connector = make_client(authority);
    }

    /// The authority of the server, PEM.
    pub fn authority(&self) -> String {
        self.authority.clone()
    }

    /// Another authority, with another certificate.
    pub fn replace_authority(&mut self) {
        (self.authority, self.acceptor) = make_server();
    }

    /// Shakes hands with a client.
    pub fn accept(&self, stream: TcpStream) -> impl Future<Output = io::Result<server::TlsStream<TcpStream>>> + use<> {
        let acceptor = self.acceptor.clone();
        async move { acceptor.accept(stream).await }
    }

    /// Connects with the API server.
    pub fn connect(&self, to: SocketAddr) -> impl Future<Output = io::Result<client::TlsStream<TcpStream>>> + use<> {
        let connector = self.connector.clone();
        async move {
            let stream = TcpStream::connect(to).await?;
            connector.connect(ServerName::IpAddress(to.ip().into()), stream).await
        }
    }
}

fn provider() -> Arc<CryptoProvider> {
    Arc::new(rustls::crypto::ring::default_provider())
}

fn make_client(trusted: &[u8]) -> TlsConnector {
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(trusted) {
        roots.add(certificate.unwrap()).unwrap();
    }
    let builder = ClientConfig::builder_with_provider(provider()).with_safe_default_protocol_versions().unwrap();
    Arc::new(builder.with_root_certificates(roots).with_no_client_auth()).into()
}

fn make_server() -> (String, TlsAcceptor) {
    let mut parameters = CertificateParams::default();
    parameters.distinguished_name.push(DnType::CommonName, "proxy");
    parameters.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let issuer = CertifiedIssuer::self_signed(parameters, KeyPair::generate().unwrap()).unwrap();
    let key = KeyPair::generate().unwrap();
    let certificate = CertificateParams::new(vec!["127.0.0.1".to_owned()]).unwrap().signed_by(&key, &issuer).unwrap();
    let key = PrivateKeyDer::try_from(key.serialize_der()).unwrap();
    let builder = ServerConfig::builder_with_provider(provider()).with_safe_default_protocol_versions().unwrap();
    let server = builder.with_no_client_auth().with_single_cert(vec![certificate.der().clone()], key).unwrap();
    (issuer.pem(), TlsAcceptor::from(Arc::new(server)))
}
