//! Which certificates nginx serves with an answer about their revocation (OCSP), and where it asks
//! for it. The author of a certificate chose the address in it, so only responders count that the
//! administrator lists, and nginx asks at the address that the list has.

use std::collections::{BTreeMap, BTreeSet};

use crate::{Capabilities, Global, StapleSource};
use ingressd_model::catalogue::SSL_STAPLING;
use ingressd_model::finding::{Finding, Reason, printable};
use ingressd_model::{CertificateId, Model, TlsTermination};

/// The longest path of a responder.
const LONGEST: usize = 200;

/// Decides about the certificates of all servers.
pub fn decide(
    model: &Model,
    capabilities: &Capabilities,
    global: &Global,
    findings: &mut Vec<Finding>,
) -> BTreeMap<CertificateId, StapleSource> {
    if !global.ocsp || !capabilities.knows(&SSL_STAPLING) {
        return BTreeMap::new();
    }
    let of_servers = model.servers.iter().filter_map(|server| match &server.tls {
        TlsTermination::Own(id) => Some(id),
        _ => None,
    });
    let served: BTreeSet<&CertificateId> = of_servers.chain(&model.default_certificate).collect();
    let mut staples = BTreeMap::new();
    for certificate in model.certificates.iter().filter(|certificate| served.contains(&certificate.id)) {
        let Some(responder) = &certificate.responder else { continue };
        match source(responder, certificate.has_issuer, global) {
            Ok(source) => drop(staples.insert(certificate.id.clone(), source)),
            Err(why) => findings.push(Finding::new(
                Reason::NotStapled,
                certificate.origin.clone(),
                format!("its responder {} is not asked whether it is revoked: {why}", printable(&cut(responder))),
            )),
        }
    }
    staples
}

fn cut(responder: &str) -> String {
    responder.chars().take(LONGEST).collect()
}

/// Where nginx asks instead of this address of a certificate, or one clause why it does not.
fn source(responder: &str, has_issuer: bool, global: &Global) -> Result<StapleSource, String> {
    let is_http = responder.get(..7).is_some_and(|scheme| scheme.eq_ignore_ascii_case("http://"));
    let rest = responder.get(7..).filter(|_| is_http).ok_or("nginx asks by http:// alone")?;
    let (name, path) = rest.find('/').map_or((rest, "/"), |at| rest.split_at(at));
    let listed = global.ocsp_responders.iter().find(|listed| listed.is(name));
    let listed = listed.ok_or("the setting tls.ocsp-responders does not list it; add it there with its address")?;
    // nginx sends the path as it stands, within the first line of a request.
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/._~-".contains(&byte);
    if path.len() > LONGEST || !path.bytes().all(is_plain) {
        return Err(format!("its path is not up to {LONGEST} letters, digits, / . _ ~ and -"));
    }
    match has_issuer {
        true => Ok(StapleSource { address: listed.address, path: path.into() }),
        false => {
            Err("the chain in tls.crt lacks the certificate of its issuer, which the question needs; add it".into())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::OcspResponder;

    #[test]
    fn only_listed_responders_are_asked_and_only_with_plain_paths() {
        let list = ["ocsp.test=192.0.2.7", "ocsp.test:8080=192.0.2.8:81", "[2001:db8::1]:80=[2001:db8::1]:80"];
        let ocsp_responders = list.into_iter().map(|text| OcspResponder::new(text).unwrap()).collect();
        let global = Global { ocsp_responders, ..Global::empty() };
        let long = format!("http://ocsp.test/{}", "a".repeat(LONGEST));
        for (responder, has_issuer, expected) in [
            ("http://ocsp.test", true, "http://192.0.2.7:80/"),
            ("HTTP://OCSP.test:80/a/b-1", true, "http://192.0.2.7:80/a/b-1"),
            ("http://ocsp.test:8080/", true, "http://192.0.2.8:81/"),
            ("http://[2001:db8::1]/x", true, "http://[2001:db8::1]:80/x"),
            ("http://ocsp.test:81/", true, "does not list it"),
            ("http://ocsp.test.evil/", true, "does not list it"),
            ("http://user@ocsp.test/", true, "does not list it"),
            ("http://evil?/@ocsp.test/", true, "does not list it"),
            ("http://169.254.169.254/latest", true, "does not list it"),
            ("https://ocsp.test/", true, "http:// alone"),
            ("ldap", true, "http:// alone"),
            ("http://ocsp.test/ HTTP/1.0\r\nX: y", true, "its path"),
            ("http://ocsp.test/a?b", true, "its path"),
            ("http://ocsp.test/$host", true, "its path"),
            (&long, true, "its path"),
            ("http://ocsp.test/", false, "lacks the certificate of its issuer"),
        ] {
            match source(responder, has_issuer, &global) {
                Ok(source) => assert_eq!(format!("http://{}{}", source.address, source.path), expected, "{responder}"),
                Err(why) => assert!(!expected.starts_with("http://1") && why.contains(expected), "{responder}: {why}"),
            }
        }
        for wrong in ["ocsp.test", "=192.0.2.7", "ocsp.test=name", "ocsp.test/a=192.0.2.7", "ocsp.test:x=192.0.2.7"] {
            assert!(OcspResponder::new(wrong).is_err(), "{wrong}");
        }
    }
}
