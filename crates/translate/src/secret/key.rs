//! Decides which private keys may be served, because the cost of a handshake depends on them.

use rustls::crypto::ring::sign::any_supported_type;
use rustls::sign::CertifiedKey;
use rustls::{Error, InconsistentKeys};
use rustls_pki_types::{CertificateDer, PrivateKeyDer};
use x509_parser::der_parser::ber::{BerObject, BerObjectContent};
use x509_parser::der_parser::{Oid, oid, parse_der};
use x509_parser::prelude::X509Certificate;
use x509_parser::public_key::PublicKey;

use super::certificate::Fault;

/// The sizes of RSA keys in bits. OpenSSL refuses smaller ones in the configuration of
/// distributions. A handshake blocks a worker for 0.4 ms with 2048 bits, for 5 ms with 4096 and
/// for 3.6 s with 20,000.
const RSA_BITS: std::ops::RangeInclusive<usize> = 2048..=4096;
/// The longest public exponent in bits. It is used in each signature too, as a check against
/// faults.
const LONGEST_EXPONENT: usize = 32;

const EC: Oid<'_> = oid!(1.2.840.10045.2.1);
const P256: Oid<'_> = oid!(1.2.840.10045.3.1.7);
const P384: Oid<'_> = oid!(1.3.132.0.34);
const P521: Oid<'_> = oid!(1.3.132.0.35);
const ED25519: Oid<'_> = oid!(1.3.101.112);

const MISMATCH: Fault = "the key does not belong to the certificate (key values mismatch)";
const SORT: Fault = "its key is of a kind that is not supported; use RSA with 2048 to 4096 bits, ECDSA with P-256, P-384 or P-521, or \
     Ed25519";

/// The kinds of keys whose cost is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyKind {
    /// A key that the library can check.
    Known,
    /// ECDSA with P-521, which the library does not support.
    P521,
}

/// The kind of the certificate's key, or why it is not served.
pub fn kind(leaf: &X509Certificate<'_>) -> Result<KeyKind, Fault> {
    let key = leaf.public_key();
    if key.algorithm.algorithm == ED25519 {
        return Ok(KeyKind::Known);
    }
    if key.algorithm.algorithm == EC {
        let curve = key.algorithm.parameters.as_ref().and_then(|parameters| parameters.as_oid().ok());
        return match curve {
            Some(curve) if curve == P256 || curve == P384 => Ok(KeyKind::Known),
            Some(curve) if curve == P521 => Ok(KeyKind::P521),
            _ => Err(SORT),
        };
    }
    match key.parsed() {
        Ok(PublicKey::RSA(key)) => match bits(key.modulus) {
            size if size < *RSA_BITS.start() => Err(
                "its RSA key has less than 2048 bits, which nginx's TLS library refuses; make one with 2048 or more",
            ),
            size if size > *RSA_BITS.end() => {
                Err("its RSA key has more than 4096 bits, and each handshake would take nginx too long; make one with \
                 4096 bits or less, or an ECDSA key")
            }
            _ if bits(key.exponent) > LONGEST_EXPONENT => {
                Err("its RSA key has a public exponent of more than 32 bits; make one with the usual exponent, 65537")
            }
            _ => Ok(KeyKind::Known),
        },
        _ => Err(SORT),
    }
}

/// The length of a number without leading zeros.
fn bits(number: &[u8]) -> usize {
    let zeros = number.iter().take_while(|byte| **byte == 0).count();
    match number.get(zeros) {
        Some(first) => (number.len() - zeros) * 8 - first.leading_zeros() as usize,
        None => 0,
    }
}

/// Checks that the key belongs to the first certificate, which has a key of this kind.
pub fn belongs(
    key: &PrivateKeyDer<'_>,
    kind: KeyKind,
    chain: Vec<CertificateDer<'static>>,
    public: &[u8],
) -> Result<(), Fault> {
    match (kind, any_supported_type(key)) {
        (KeyKind::Known, Ok(signing)) => match CertifiedKey::new(chain, signing).keys_match() {
            Ok(()) => Ok(()),
            Err(Error::InconsistentKeys(InconsistentKeys::KeyMismatch)) => Err(MISMATCH),
            Err(_) => Err(SORT),
        },
        (KeyKind::Known, Err(_)) => Err(
            "tls.key is of a kind that is not supported, or its numbers contradict each other; make a new one: RSA \
             with 2048 to 4096 bits and the exponent 65537, ECDSA with P-256, P-384 or P-521, or Ed25519",
        ),
        (KeyKind::P521, Ok(_)) => Err(MISMATCH),
        (KeyKind::P521, Err(_)) => match p521_point(key) {
            Some(point) if point == public => Ok(()),
            Some(_) => Err(MISMATCH),
            None => Err("tls.key is no key for P-521 with its public half; write it again with openssl pkey"),
        },
    }
}

/// The public half of an ECDSA key for P-521, RFC 5915, as it is or in PKCS #8.
fn p521_point(key: &PrivateKeyDer<'_>) -> Option<Vec<u8>> {
    let (names_curve, bytes) = match key {
        PrivateKeyDer::Sec1(key) => (false, key.secret_sec1_der().to_vec()),
        PrivateKeyDer::Pkcs8(key) => {
            let (rest, outer) = parse_der(key.secret_pkcs8_der()).ok()?;
            let [_, algorithm, octets, ..] = outer.as_sequence().ok()?.as_slice() else { return None };
            let [kind, curve] = algorithm.as_sequence().ok()?.as_slice() else { return None };
            let is_ours = rest.is_empty() && *kind.as_oid().ok()? == EC && *curve.as_oid().ok()? == P521;
            (is_ours, is_ours.then(|| octets.as_slice().map(<[u8]>::to_vec).ok())??)
        }
        _ => return None,
    };
    let (rest, inner) = parse_der(&bytes).ok()?;
    let fields = inner.as_sequence().ok().filter(|_| rest.is_empty())?;
    let [_version, _number, tagged @ ..] = fields.as_slice() else { return None };
    let (mut is_p521, mut point) = (names_curve, None);
    for field in tagged {
        match (field.header.tag().0, explicit(field)?.content) {
            (0, BerObjectContent::OID(curve)) if curve == P521 => is_p521 = true,
            (1, BerObjectContent::BitString(_, bits)) => point = Some(bits.data.to_vec()),
            _ => return None,
        }
    }
    point.filter(|_| is_p521)
}

/// The content of an explicit tag.
fn explicit<'a>(field: &BerObject<'a>) -> Option<BerObject<'a>> {
    match &field.content {
        BerObjectContent::Unknown(any) => parse_der(any.data).ok().map(|(_, inner)| inner),
        _ => None,
    }
}
