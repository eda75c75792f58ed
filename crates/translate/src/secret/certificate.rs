//! Certificates and keys from Secrets, checked and re-written.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;

use base64::Engine as _;
use rayon::prelude::{IntoParallelIterator as _, ParallelIterator as _};
use rustls_pki_types::pem::{self, PemObject as _};
use rustls_pki_types::{CertificateDer, PrivateKeyDer};
use x509_parser::oid_registry::OID_PKIX_ACCESS_DESCRIPTOR_OCSP;
use x509_parser::prelude::{FromDer as _, GeneralName, ParsedExtension, X509Certificate};

use super::key;
use super::pem::{Unread, tidy, unread};
use crate::value::excerpt;
use crate::value::host;
use ingressd_model::{Certificate, CertificateId, ObjectId, Origin, Presented, SecretBytes, ServerName, Validity};
use ingressd_objects::{Secret, Stored, Version};

/// The key of a Secret with the certificate chain.
const CHAIN: &str = "tls.crt";
/// The key of a Secret with the private key.
const KEY: &str = "tls.key";

/// The longest key in bytes as DER: more than a 4096-bit RSA key needs. A longer one is not
/// parsed.
const LONGEST_KEY: usize = 3 << 10;
/// The longest chain in bytes as DER: every handshake sends it, and nginx keeps it in memory once
/// for each host.
const LONGEST_CHAIN: usize = 32 << 10;
/// The most certificates of a chain; CAs issue two to four. nginx reads each again for each host,
/// in 0.15 ms.
const MOST_CERTIFICATES: usize = 10;

/// A certificate, and a field that names it.
pub type Use = (CertificateId, Origin);

/// A certificate that may be served.
#[derive(Debug)]
pub struct Checked {
    pub certificate: Arc<Certificate>,
    names: Vec<String>,
    /// Why some clients may refuse it; one clause each.
    pub doubts: Vec<String>,
}

impl Checked {
    /// Whether browsers accept it for this host.
    pub fn covers(&self, name: &ServerName) -> bool {
        self.names.iter().any(|pattern| host::covers(pattern, name))
    }

    /// Whether it takes the place of another one without a difference but its bytes and dates.
    fn renews(&self, other: &Self) -> bool {
        self.certificate.of == other.certificate.of && self.names == other.names && self.doubts == other.doubts
    }

    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.names.iter().map(String::as_str)
    }
}

/// Why a Secret has no certificate that may be served; one clause.
pub type Fault = &'static str;

/// A certificate, or why there is none.
pub type CheckResult = Result<Arc<Checked>, Fault>;

/// Checked certificates by Secret. Checking a key takes as long as translating a hundred objects,
/// so results are kept while the version of the Secret stays the same and something refers to it.
#[derive(Debug, Default)]
pub struct Certificates(BTreeMap<Arc<ObjectId>, (Version, CheckResult)>);

impl Certificates {
    /// Checks the Secrets that are not known yet, on all processors, and drops all others.
    pub fn prepare<'a>(&mut self, secrets: impl Iterator<Item = &'a Stored<Secret>>) {
        let wanted: BTreeMap<_, _> = secrets.map(|secret| (&secret.id, secret)).collect();
        self.0.retain(|id, (version, _)| wanted.get(id).is_some_and(|secret| secret.version == *version));
        let unknown: Vec<_> = wanted.into_values().filter(|secret| !self.0.contains_key(&secret.id)).collect();
        let verdicts = unknown
            .into_par_iter()
            .map(|secret| (Arc::clone(&secret.id), (secret.version.clone(), check(secret).map(Arc::new))));
        self.0.extend(verdicts.collect::<Vec<_>>());
    }

    /// The certificate of a Secret that has changed, where it renews the one that was known.
    pub fn renew(&mut self, secret: &Stored<Secret>) -> Option<Arc<Checked>> {
        let (version, verdict) = self.0.get_mut(&secret.id)?;
        let before = verdict.clone().ok()?;
        if *version == secret.version {
            return Some(before);
        }
        let now = check(secret).map(Arc::new);
        let renewed = now.clone().ok().filter(|now| now.renews(&before));
        if renewed.is_some() {
            (*version, *verdict) = (secret.version.clone(), now);
        }
        renewed
    }

    /// The result for a Secret.
    pub fn check(&self, secret: &Stored<Secret>) -> CheckResult {
        match self.0.get(&secret.id) {
            Some((version, verdict)) if *version == secret.version => verdict.clone(),
            _ => check(secret).map(Arc::new),
        }
    }
}

/// The certificates in PEM, without what a trusted one has behind it.
///
/// # Errors
///
/// When a block cannot be read.
pub fn certificates(text: &[u8]) -> Result<Vec<CertificateDer<'static>>, pem::Error> {
    let whole = |certificate: CertificateDer<'static>| match X509Certificate::from_der(&certificate) {
        Ok((rest, _)) if !rest.is_empty() => certificate[..certificate.len() - rest.len()].to_vec().into(),
        _ => certificate,
    };
    CertificateDer::pem_slice_iter(&tidy(text)).map(|certificate| certificate.map(whole)).collect()
}

/// What of certificates in PEM under a key of a Secret is not read.
pub fn doubt_of(key: &str, text: &[u8]) -> Option<String> {
    let what = match unread(&tidy(text))? {
        Unread::Block(label) => format!("a block {}", excerpt(&label)),
        Unread::Content => "a part without the line -----BEGIN CERTIFICATE----- before it".to_owned(),
    };
    Some(format!("{key} has {what}, which is not read; remove it, or write certificates as CERTIFICATE"))
}

/// Checks a Secret. Text outside of its PEM blocks is dropped.
pub fn check(secret: &Stored<Secret>) -> Result<Checked, Fault> {
    let value = |key: &str| secret.object.get(key).map(|bytes| &bytes.0);
    let given_chain = value(CHAIN)
        .ok_or("it has no tls.crt; use a Secret of the type kubernetes.io/tls, with tls.crt and tls.key")?;
    let given_key =
        value(KEY).ok_or("it has no tls.key; use a Secret of the type kubernetes.io/tls, with tls.crt and tls.key")?;
    let unread = doubt_of(CHAIN, given_chain);
    let chain = certificates(given_chain).map_err(|_| "tls.crt is not PEM")?;
    let private = PrivateKeyDer::from_pem_slice(&tidy(given_key))
        .map_err(|_| "tls.key holds no private key, or an encrypted one")?;
    let length = chain.iter().map(|certificate| certificate.len()).sum::<usize>();
    if chain.len() > MOST_CERTIFICATES || length > LONGEST_CHAIN {
        return Err("tls.crt holds more than 10 certificates or 32 KiB; keep only the chain up to the authority");
    }
    if private.secret_der().len() > LONGEST_KEY {
        return Err("tls.key is larger than an RSA key with 4096 bits; make one with 4096 or less, or an ECDSA key");
    }
    let parsed = chain.iter().map(|certificate| match X509Certificate::from_der(certificate) {
        Ok(([], certificate)) => Ok(certificate),
        _ => Err("tls.crt holds something that is not a certificate"),
    });
    let parsed = parsed.collect::<Result<Vec<_>, _>>()?;
    let leaf = parsed.first().ok_or("tls.crt holds no certificate")?;
    let names = names(leaf);
    let has_alternative = leaf.subject_alternative_name().is_ok_and(|names| names.is_some());
    let unnamed = (!has_alternative).then(|| {
        "it names its hosts only as its common name, which browsers do not read; request one with alternative names"
            .to_owned()
    });
    let validity = leaf.validity();
    let validity = Validity { begins: validity.not_before.timestamp(), ends: validity.not_after.timestamp() };
    let responder = responder(leaf);
    let has_issuer = parsed.iter().skip(1).any(|other| other.subject().as_raw() == leaf.issuer().as_raw());
    let is_own_issuer = leaf.subject().as_raw() == leaf.issuer().as_raw();
    let unlinked = (parsed.len() > 1 && !has_issuer && !is_own_issuer).then(|| {
        "the certificates behind it in tls.crt are not that of its issuer, so that some clients refuse it; write that \
         one there"
            .to_owned()
    });
    let (written_chain, written_key) = (write_chain(&chain), write_key(&private)?);
    let (kind, public) = (key::kind(leaf)?, leaf.public_key().subject_public_key.data.to_vec());
    let has_key = |other: &X509Certificate<'_>| {
        let public = &other.public_key().subject_public_key.data;
        let chain = vec![CertificateDer::from(other.as_raw().to_vec())];
        key::kind(other).is_ok_and(|kind| key::belongs(&private, kind, chain, public).is_ok())
    };
    key::belongs(&private, kind, chain.clone(), &public).map_err(|why| {
        let others = parsed.get(1..).unwrap_or_default();
        if others.iter().any(has_key) {
            "tls.crt is in the wrong order; write the certificate of the host first"
        } else {
            why
        }
    })?;
    let (id, origin) = (CertificateId::Secret(Arc::clone(&secret.id)), Origin::object(&secret.id));
    let certificate = Certificate {
        of: Arc::new(Presented { id, origin, responder, has_issuer }),
        chain: shared(written_chain, given_chain),
        key: SecretBytes(shared(written_key, given_key)),
        validity,
    };
    let doubts = unread.into_iter().chain(unnamed).chain(unlinked).collect();
    Ok(Checked { certificate: Arc::new(certificate), names, doubts })
}

/// The alternative names; or the common name when there are none, as in old certificates.
fn names(certificate: &X509Certificate<'_>) -> Vec<String> {
    let alternative = certificate.subject_alternative_name().ok().flatten();
    let dns = |name: &GeneralName<'_>| match name {
        GeneralName::DNSName(name) => Some((*name).to_owned()),
        _ => None,
    };
    match alternative {
        Some(extension) => extension.value.general_names.iter().filter_map(dns).collect(),
        None => {
            certificate.subject().iter_common_name().filter_map(|name| Some(name.as_str().ok()?.to_owned())).collect()
        }
    }
}

/// The first address of a responder in the extension about the authority (AIA).
fn responder(certificate: &X509Certificate<'_>) -> Option<Arc<str>> {
    certificate.extensions().iter().find_map(|extension| {
        let ParsedExtension::AuthorityInfoAccess(access) = extension.parsed_extension() else { return None };
        access.accessdescs.iter().find_map(|entry| match &entry.access_location {
            GeneralName::URI(address) if entry.access_method == OID_PKIX_ACCESS_DESCRIPTOR_OCSP => {
                Some((*address).into())
            }
            _ => None,
        })
    })
}

/// A text, as the bytes of the Secret where it is written there in the same way, as most are.
fn shared(written: String, given: &Arc<[u8]>) -> Arc<[u8]> {
    if *written.as_bytes() == **given { Arc::clone(given) } else { written.into_bytes().into() }
}

fn write_chain(chain: &[CertificateDer<'_>]) -> String {
    let mut text = String::new();
    chain.iter().for_each(|certificate| write_block(&mut text, "CERTIFICATE", certificate));
    text
}

fn write_key(key: &PrivateKeyDer<'_>) -> Result<String, Fault> {
    let (label, bytes) = match key {
        PrivateKeyDer::Pkcs1(key) => ("RSA PRIVATE KEY", key.secret_pkcs1_der()),
        PrivateKeyDer::Sec1(key) => ("EC PRIVATE KEY", key.secret_sec1_der()),
        PrivateKeyDer::Pkcs8(key) => ("PRIVATE KEY", key.secret_pkcs8_der()),
        _ => return Err("tls.key has an unknown format"),
    };
    if !x509_parser::der_parser::parse_der(bytes).is_ok_and(|(rest, _)| rest.is_empty()) {
        return Err("tls.key holds something that is not a key");
    }
    let mut text = String::new();
    write_block(&mut text, label, bytes);
    Ok(text)
}

/// Appends a PEM block.
pub fn write_block(text: &mut String, label: &str, bytes: &[u8]) {
    /// The characters of a line, RFC 7468.
    const WIDTH: usize = 64;
    let encoded = base64::engine::general_purpose::STANDARD.encode(bytes);
    // Writing to a String cannot fail.
    let _ = writeln!(text, "-----BEGIN {label}-----");
    let mut rest = encoded.as_str();
    while !rest.is_empty() {
        let (line, after) = rest.split_at(rest.len().min(WIDTH));
        let _ = writeln!(text, "{line}");
        rest = after;
    }
    let _ = writeln!(text, "-----END {label}-----");
}
