//! The default certificate for hosts without one, generated once and kept.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rcgen::{CertificateParams, DnType, KeyPair};

use super::state_file;
use ingressd_apply::is_shortage;
use ingressd_model::{Certificate, CertificateId, Kind, ObjectId, Origin, Presented, SecretBytes, Validity};

/// The common name of the certificate, which tells its readers what is missing.
const COMMON_NAME: &str = "ingressd default certificate";

/// Why there is no default certificate.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// It cannot be written.
    #[error("the default certificate cannot be kept in {path}: {source}; check apply.state")]
    Keep {
        /// The file.
        path: String,
        /// The error of the file system.
        source: std::io::Error,
    },
    /// It cannot be generated.
    #[error("the default certificate cannot be made: {0}")]
    Make(#[from] rcgen::Error),
}

/// Reads the certificate from the state folder, or generates it. One file contains key and chain,
/// so that they always match.
pub fn kept_in(state: &Path) -> Result<Certificate, Error> {
    let path = file(state);
    let failed = |source| Error::Keep { path: path.display().to_string(), source };
    if let Some(certificate) = read(&path).map_err(failed)? {
        return Ok(certificate);
    }
    let (certificate, text) = make()?;
    state_file::write_bytes(&path, text.as_bytes()).map_err(failed)?;
    Ok(certificate)
}

/// The certificate of the state folder, or a temporary one: for commands that write nothing.
pub fn as_in(state: &Path) -> Result<Certificate, Error> {
    match read(&file(state)) {
        Ok(Some(certificate)) => Ok(certificate),
        Ok(None) | Err(_) => make().map(|(certificate, _)| certificate),
    }
}

fn file(state: &Path) -> PathBuf {
    state.join("default-certificate.pem")
}

/// Generates a certificate and the text of its file.
fn make() -> Result<(Certificate, String), Error> {
    let key = KeyPair::generate()?;
    let mut parameters = CertificateParams::new(vec!["ingressd.invalid".to_owned()])?;
    parameters.distinguished_name.push(DnType::CommonName, COMMON_NAME);
    let certificate = parameters.self_signed(&key)?;
    let (key, chain) = (key.serialize_pem(), certificate.pem());
    let validity =
        Validity { begins: parameters.not_before.unix_timestamp(), ends: parameters.not_after.unix_timestamp() };
    Ok((of_parts(&key, &chain, validity), format!("{key}{chain}")))
}

/// `None` where there is none that can be used; an error where that cannot be found out now.
fn read(path: &Path) -> io::Result<Option<Certificate>> {
    match std::fs::read_to_string(path) {
        Ok(text) => Ok(parse(&text)),
        Err(error) if is_shortage(&error) => Err(error),
        Err(_) => Ok(None),
    }
}

fn parse(text: &str) -> Option<Certificate> {
    let (key, chain) = text.split_at(text.find("-----BEGIN CERTIFICATE-----")?);
    let (_, pem) = x509_parser::pem::parse_x509_pem(chain.as_bytes()).ok()?;
    let parsed = pem.parse_x509().ok()?;
    let (begins, ends) = (parsed.validity().not_before.timestamp(), parsed.validity().not_after.timestamp());
    KeyPair::from_pem(key).ok()?;
    Some(of_parts(key, chain, Validity { begins, ends }))
}

fn of_parts(key: &str, chain: &str, validity: Validity) -> Certificate {
    let settings = Arc::new(ObjectId::new(Kind::SETTINGS, "", "tls.default-certificate"));
    let (id, origin) = (CertificateId::SelfSigned, Origin::object(&settings));
    Certificate {
        of: Arc::new(Presented { id, origin, responder: None, has_issuer: false }),
        chain: chain.as_bytes().into(),
        key: SecretBytes(key.as_bytes().into()),
        validity,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_made_once_and_again_when_damaged() {
        use std::os::unix::fs::PermissionsExt as _;
        let state = tempfile::tempdir().unwrap();
        let first = kept_in(state.path()).unwrap();
        assert_eq!(kept_in(state.path()).unwrap(), first);
        let file = state.path().join("default-certificate.pem");
        assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(as_in(state.path()).unwrap(), first);
        std::fs::write(&file, "nonsense").unwrap();
        as_in(state.path()).unwrap();
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "nonsense", "whoever only looks writes nothing");
        assert_ne!(kept_in(state.path()).unwrap().key, first.key);
    }
}
