//! TLS for a backend, with a new certificate.

use std::sync::Arc;

use rustls::ServerConfig;
use rustls_pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use tokio_rustls::TlsAcceptor;

/// Why a backend cannot use TLS.
#[derive(Debug, thiserror::Error)]
pub enum TlsSetupError {
    /// The certificate cannot be made.
    #[error("cannot make a certificate for the backend {name}: {source}; its name must be a DNS name")]
    Certificate {
        /// The backend.
        name: String,
        /// The error.
        source: rcgen::Error,
    },
    /// The TLS library refuses its own settings.
    #[error("cannot set up TLS for a backend: {0}")]
    Settings(#[from] rustls::Error),
}

/// Accepts connections for a backend of this name, with HTTP/2 and HTTP/1.1 on offer.
pub fn acceptor(name: &str) -> Result<TlsAcceptor, TlsSetupError> {
    let made = rcgen::generate_simple_self_signed([name.to_owned()])
        .map_err(|source| TlsSetupError::Certificate { name: name.to_owned(), source })?;
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(made.signing_key.serialize_der()));
    let mut settings = ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.der().clone()], key)?;
    settings.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(TlsAcceptor::from(Arc::new(settings)))
}
