//! Authorities that sign and revoke certificates of clients and backends.

use std::sync::Arc;

use rcgen::{
    BasicConstraints, Certificate, CertificateParams, CertificateRevocationListParams, CertifiedIssuer, DnType, IsCa,
    KeyIdMethod, KeyPair, KeyUsagePurpose, RevokedCertParams, SerialNumber, date_time_ymd,
};
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, PrivateKeyDer};

/// An authority.
pub struct Authority(CertifiedIssuer<'static, KeyPair>);

/// A certificate that an authority has signed, with those between, and its key.
#[derive(Debug, Clone)]
pub struct Signed {
    /// The chain, PEM.
    pub chain: String,
    /// The key, PEM.
    pub key: String,
    /// Its number.
    pub serial: u64,
    /// The TLS configuration of a client that shows it.
    pub config: Arc<rustls::ClientConfig>,
}

impl Signed {
    /// The same for a client that resumes a session of one server at every server.
    pub fn resuming(&self) -> Self {
        let config = super::client::showing(certificates(&self.chain), private_key(&self.key), true);
        Signed { config, ..self.clone() }
    }
}

impl Authority {
    /// An authority that signs itself.
    pub fn new(name: &str) -> Self {
        Authority(CertifiedIssuer::self_signed(authority(name), KeyPair::generate().unwrap()).unwrap())
    }

    /// An authority that this one has signed.
    pub fn below(&self, name: &str) -> Self {
        Authority(CertifiedIssuer::signed_by(authority(name), KeyPair::generate().unwrap(), &self.0).unwrap())
    }

    /// Its certificate, PEM.
    pub fn pem(&self) -> String {
        self.0.pem()
    }

    /// A certificate for this common name.
    pub fn signs(&self, common_name: &str, serial: u64) -> Signed {
        let mut parameters = named(common_name);
        parameters.serial_number = Some(SerialNumber::from(serial));
        self.signs_as(parameters, serial, &[])
    }

    /// The same, shown with the certificates of these authorities.
    pub fn signs_below(&self, common_name: &str, between: &[&Authority]) -> Signed {
        self.signs_as(named(common_name), 0, between)
    }

    /// A certificate for a server of this name.
    pub fn signs_host(&self, host: &str) -> Signed {
        self.signs_as(CertificateParams::new(vec![host.to_owned()]).unwrap(), 0, &[])
    }

    fn signs_as(&self, parameters: CertificateParams, serial: u64, between: &[&Authority]) -> Signed {
        let key = KeyPair::generate().unwrap();
        let certificate: Certificate = parameters.signed_by(&key, &self.0).unwrap();
        let chain = between.iter().fold(certificate.pem(), |chain, authority| chain + &authority.pem());
        let key = key.serialize_pem();
        let config = super::client::showing(certificates(&chain), private_key(&key), false);
        Signed { chain, key, serial, config }
    }

    /// The list of what it took back, PEM.
    pub fn takes_back(&self, certificates: &[&Signed]) -> String {
        let revoked = |signed: &&Signed| RevokedCertParams {
            serial_number: SerialNumber::from(signed.serial),
            revocation_time: date_time_ymd(2026, 1, 1),
            reason_code: None,
            invalidity_date: None,
        };
        let list = CertificateRevocationListParams {
            this_update: date_time_ymd(2024, 1, 1),
            next_update: date_time_ymd(2090, 1, 1),
            crl_number: SerialNumber::from(1),
            issuing_distribution_point: None,
            revoked_certs: certificates.iter().map(revoked).collect(),
            key_identifier_method: KeyIdMethod::Sha256,
        };
        list.signed_by(&self.0).unwrap().pem().unwrap()
    }
}

/// Certificates of a chain.
pub fn certificates(pem: &str) -> Vec<CertificateDer<'static>> {
    CertificateDer::pem_slice_iter(pem.as_bytes()).collect::<Result<_, _>>().unwrap()
}

/// A key.
pub fn private_key(pem: &str) -> PrivateKeyDer<'static> {
    PrivateKeyDer::from_pem_slice(pem.as_bytes()).unwrap()
}

fn named(common_name: &str) -> CertificateParams {
    let mut parameters = CertificateParams::new(Vec::new()).unwrap();
    parameters.distinguished_name = rcgen::DistinguishedName::new();
    parameters.distinguished_name.push(DnType::OrganizationName, "Shop,CN=alice");
    parameters.distinguished_name.push(DnType::CommonName, common_name);
    parameters
}

fn authority(name: &str) -> CertificateParams {
    let mut parameters = CertificateParams::new(Vec::new()).unwrap();
    parameters.distinguished_name = rcgen::DistinguishedName::new();
    parameters.distinguished_name.push(DnType::CommonName, name);
    parameters.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    parameters.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    parameters
}
