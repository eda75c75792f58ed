//! Certificate authorities from Secrets, checked and re-written.

use std::sync::Arc;

use rustls_pki_types::CertificateRevocationListDer;
use rustls_pki_types::pem::PemObject as _;
use x509_parser::prelude::{CertificateRevocationList, FromDer as _, X509Certificate};

use super::certificate::{Fault, certificates, doubt_of, write_block};
use super::pem::tidy;
use ingressd_model::{Authority, Origin};
use ingressd_objects::{Secret, Stored};

/// The key of a Secret with CA certificates.
const CERTIFICATES: &str = "ca.crt";
/// The key of a Secret with certificate revocation lists.
const REVOKED: &str = "ca.crl";

/// The most certificates, and the most bytes of them as DER: nginx reads all of them for each
/// host, and sends their names in each handshake.
const MOST_CERTIFICATES: usize = 32;
const LONGEST_CERTIFICATES: usize = 64 << 10;
/// The most bytes of revocation lists as DER: some 7000 certificates. nginx keeps them in memory
/// once for each host.
const LONGEST_REVOKED: usize = 256 << 10;

/// The CA in a Secret; `None` when it has none. Text outside of the PEM blocks is dropped. With it
/// comes why certificates may be refused in spite of it, one clause each.
pub fn of_secret(secret: &Stored<Secret>) -> Result<Option<(Authority, Vec<String>)>, Fault> {
    let value = |key: &str| secret.object.get(key).map(|bytes| &*bytes.0);
    let Some(bundle) = value(CERTIFICATES) else { return Ok(None) };
    let unread = doubt_of(CERTIFICATES, bundle);
    let certificates = certificates(bundle).map_err(|_| "ca.crt is not PEM")?;
    let length = certificates.iter().map(|certificate| certificate.len()).sum::<usize>();
    if certificates.is_empty() {
        return Err("ca.crt holds no certificate");
    }
    if certificates.len() > MOST_CERTIFICATES || length > LONGEST_CERTIFICATES {
        return Err("ca.crt holds more than 32 certificates or 64 KiB; remove those that are not needed");
    }
    let parsed = certificates.iter().map(|certificate| match X509Certificate::from_der(certificate) {
        Ok(([], certificate)) => Ok(certificate),
        _ => Err("ca.crt holds something that is not a certificate"),
    });
    let parsed = parsed.collect::<Result<Vec<_>, _>>()?;
    let has_root = parsed.iter().any(|authority| authority.subject().as_raw() == authority.issuer().as_raw());
    let rootless = (!has_root).then(|| {
        "ca.crt holds no self-signed authority, at which a chain ends, so that every certificate is refused; add the \
         root to it"
            .to_owned()
    });
    let revoked = value(REVOKED).map(|lists| revoked(lists, &parsed)).transpose()?;
    let mut text = String::new();
    certificates.iter().for_each(|certificate| write_block(&mut text, "CERTIFICATE", certificate));
    let (id, origin) = (Arc::clone(&secret.id), Origin::object(&secret.id));
    let authority = Authority { id, origin, certificates: text.into_bytes().into(), revoked };
    Ok(Some((authority, unread.into_iter().chain(rootless).collect())))
}

/// The revocation lists. If there is any list, TLS libraries accept no certificate whose CA has
/// none.
fn revoked(lists: &[u8], authorities: &[X509Certificate<'_>]) -> Result<Arc<[u8]>, Fault> {
    let lists = tidy(lists);
    let lists = CertificateRevocationListDer::pem_slice_iter(&lists);
    let lists = lists.collect::<Result<Vec<_>, _>>().map_err(|_| "ca.crl is not PEM")?;
    if lists.is_empty() {
        return Err("ca.crl holds no list of revoked certificates; remove the key where nothing is revoked");
    }
    if lists.iter().map(|list| list.len()).sum::<usize>() > LONGEST_REVOKED {
        return Err("ca.crl holds more than 256 KiB, which nginx would read for each host");
    }
    let mut text = String::new();
    for list in &lists {
        let Ok(([], parsed)) = CertificateRevocationList::from_der(list) else {
            return Err("ca.crl holds something that is not a list of revoked certificates");
        };
        let issuer = parsed.issuer().as_raw();
        if authorities.iter().all(|authority| authority.subject().as_raw() != issuer) {
            return Err("ca.crl holds a list by an authority that is not in ca.crt");
        }
        write_block(&mut text, "X509 CRL", list);
    }
    Ok(text.into_bytes().into())
}
