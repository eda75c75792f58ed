//! Reads the keys with contents of files for TLS: the key for session tickets, and parameters for
//! DHE ciphers. It must not access files.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use x509_parser::asn1_rs::{FromDer as _, Integer, Sequence};
use x509_parser::pem::Pem;

use super::Layer;
use ingressd_model::finding::Reason;
use ingressd_model::{DhParameters, Origin, Refused, TicketKey};
use ingressd_translate::value::excerpt;

/// The key that names a Secret with parameters.
pub(super) const DH_PARAMETERS: &str = "ssl-dh-param";
/// The key of the Secret with the parameters.
const NAME: &str = "dhparam.pem";
/// The label of their PEM block.
const LABEL: &str = "DH PARAMETERS";
/// Bits of the prime. The TLS library refuses smaller ones, and with larger ones each handshake
/// would take a worker too long.
const BITS: std::ops::RangeInclusive<u64> = 2048..=4096;

/// Reads the key that encrypts session tickets. Findings never contain it.
pub(super) fn ticket_key(layer: &mut Layer<'_>, value: &str, origin: &Origin) -> Result<(), Refused> {
    let text: String = value.split_ascii_whitespace().collect();
    let bytes = BASE64.decode(text).map_err(|_| Refused::because("it is not base64"));
    match bytes.and_then(|bytes| TicketKey::new(bytes, origin.clone())) {
        Ok(key) => layer.settings.gate.global.ticket_key = Some(key),
        Err(refused) => {
            let note = format!(
                "it is refused: {refused}; write 48 or 80 random bytes in base64, as `openssl rand -base64 80` prints \
                    them; until then each nginx uses a key of its own"
            );
            layer.find(Reason::InvalidValue, origin.clone(), note);
        }
    }
    Ok(())
}

/// Reads the parameters from the Secret that the value names.
pub(super) fn dh_parameters(layer: &mut Layer<'_>, value: &str, origin: &Origin) -> Result<(), Refused> {
    let namespace = Arc::clone(&layer.id.namespace);
    let (own, name) = value.trim().split_once('/').ok_or(Refused::because("it is not of the form namespace/name"))?;
    if *own != *namespace {
        let note = format!("the Secret has to be in the namespace {namespace}; copy it there");
        layer.find(Reason::CrossNamespace, origin.clone(), note);
        return Ok(());
    }
    let Some(secret) = layer.snapshot.secret(own, name) else {
        let note = format!(
            "Secret {} does not exist, or the node may not read it \
            (docs/kubeconfig.md)",
            excerpt(value.trim())
        );
        layer.find(Reason::MissingSecret, origin.clone(), note);
        return Ok(());
    };
    let content = secret.object.get(NAME).map(|content| &content.0);
    match content.ok_or(Refused::because("it has no dhparam.pem")).and_then(|content| parameters(content)) {
        Ok(content) => {
            let origin = Origin::object(&secret.id);
            layer.settings.gate.global.dh_parameters = Some(DhParameters { origin, content });
        }
        Err(refused) => layer.find(Reason::InvalidValue, origin.clone(), format!("the Secret is refused: {refused}")),
    }
    Ok(())
}

/// Checks parameters, and encodes them again.
fn parameters(text: &[u8]) -> Result<Arc<[u8]>, Refused> {
    let wrong = Refused::because("dhparam.pem holds no parameters; write the output of `openssl dhparam 2048`");
    let block = Pem::iter_from_buffer(text).filter_map(Result::ok).find(|block| block.label == LABEL);
    let block = block.ok_or_else(|| wrong.clone())?;
    let (_, sequence) = Sequence::from_der(&block.contents).map_err(|_| wrong.clone())?;
    let (rest, prime) = Integer::from_der(&sequence.content).map_err(|_| wrong.clone())?;
    let (_, generator) = Integer::from_der(rest).map_err(|_| wrong.clone())?;
    let bytes =
        |number: &Integer<'_>| -> Vec<u8> { number.as_ref().iter().copied().skip_while(|byte| *byte == 0).collect() };
    let (prime, generator) = (bytes(&prime), bytes(&generator));
    let bits = match prime.first() {
        Some(first) => 8 * prime.len() as u64 - u64::from(first.leading_zeros()),
        None => 0,
    };
    if !BITS.contains(&bits) {
        return Err(Refused(format!("its prime has {bits} bits; use one of 2048 to 4096 bits").into()));
    }
    let is_odd = prime.last().is_some_and(|last| last % 2 == 1);
    let is_small = |number: &[u8]| number.len() <= 1 && number.first().is_none_or(|byte| *byte < 2);
    if !is_odd || is_small(&generator) || generator.len() >= prime.len() {
        return Err(wrong);
    }
    let encoded = BASE64.encode(&block.contents);
    let lines = encoded.as_bytes().chunks(64).map(String::from_utf8_lossy).collect::<Vec<_>>().join("\n");
    Ok(format!("-----BEGIN {LABEL}-----\n{lines}\n-----END {LABEL}-----\n").into_bytes().into())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A number in DER.
    fn integer(bytes: &[u8]) -> Vec<u8> {
        let length = u16::try_from(bytes.len()).unwrap().to_be_bytes();
        [&[2, 0x82, length[0], length[1]], bytes].concat()
    }

    fn pem(label: &str, numbers: &[Vec<u8>]) -> String {
        let content = numbers.concat();
        let length = u16::try_from(content.len()).unwrap().to_be_bytes();
        let text = BASE64.encode([&[0x30, 0x82, length[0], length[1]], &*content].concat());
        format!("-----BEGIN {label}-----\n{text}\n-----END {label}-----\n")
    }

    /// An odd number of as many bits.
    fn prime(bits: usize) -> Vec<u8> {
        integer(&[&[0][..], &vec![0xff; bits / 8]].concat())
    }

    #[test]
    fn parameters_are_numbers_that_nginx_takes() {
        let two = || integer(&[2]);
        let rows = [
            (pem(LABEL, &[prime(2048), two()]), None),
            (pem(LABEL, &[prime(4096), two()]), None),
            (format!("# made by us\n{}", pem(LABEL, &[prime(3072), integer(&[5]), integer(&[1, 1])])), None),
            (pem(LABEL, &[prime(1024), two()]), Some("1024 bits")),
            (pem(LABEL, &[prime(8192), two()]), Some("8192 bits")),
            (pem(LABEL, &[prime(2048)]), Some("no parameters")),
            (pem(LABEL, &[prime(2048), integer(&[1])]), Some("no parameters")),
            (pem(LABEL, &[integer(&[vec![0], vec![0xfe; 256]].concat()), two()]), Some("no parameters")),
            (pem("CERTIFICATE", &[prime(2048), two()]), Some("no parameters")),
            ("ssl_dhparam".to_owned(), Some("no parameters")),
        ];
        for (text, why) in rows {
            match (parameters(text.as_bytes()), why) {
                (Ok(written), None) => assert!(written.starts_with(b"-----BEGIN DH PARAMETERS-----\n"), "{text}"),
                (Err(refused), Some(why)) => assert!(refused.0.contains(why), "{text}: {refused}"),
                (read, _) => panic!("{text}: {read:?}"),
            }
        }
    }
}
