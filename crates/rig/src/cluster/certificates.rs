//! Client certificates that the API server accepts.

use std::fs;
use std::time::{Duration, SystemTime};

use rcgen::{CertificateParams, DnType, DnValue, ExtendedKeyUsagePurpose, Issuer, KeyPair};

use super::control_plane::ControlPlane;

/// A certificate and its key, PEM.
pub struct Pair {
    /// The certificate.
    pub certificate: String,
    /// The key.
    pub key: String,
}

/// A certificate that makes its owner this user for so long.
pub fn of_user(user: &str, lifetime: Duration) -> Pair {
    let [_, authority_key] = ControlPlane::shared().client_authority();
    let mut authority = CertificateParams::default();
    // The name has to equal the one in the authority's certificate byte by byte.
    authority.distinguished_name = rcgen::DistinguishedName::new();
    authority.distinguished_name.push(DnType::CommonName, DnValue::PrintableString("clients".try_into().unwrap()));
    let authority_key = KeyPair::from_pem(&fs::read_to_string(authority_key).unwrap()).unwrap();

    let mut parameters = CertificateParams::default();
    parameters.distinguished_name.push(DnType::CommonName, user);
    parameters.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
    parameters.not_before = (SystemTime::now() - Duration::from_secs(60)).into();
    parameters.not_after = (SystemTime::now() + lifetime).into();
    let key = KeyPair::generate().unwrap();
    let certificate = parameters.signed_by(&key, &Issuer::new(authority, authority_key)).unwrap();
    Pair { certificate: certificate.pem(), key: key.serialize_pem() }
}
