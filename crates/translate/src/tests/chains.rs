//! Chains of certificates, as people write them.

use super::certificates::{DATE, made, tls_ingress, tls_secret};
use super::{options, routes, translate};
use ingressd_model::finding::Reason;

/// A chain is read however people wrote it.
#[test]
fn chains_are_read_whole() {
    let (host, key) = made(&["a.test"], "a", &rcgen::PKCS_ECDSA_P256_SHA256);
    let (issuer, _) = made(&["b.test"], "b", &rcgen::PKCS_ECDSA_P256_SHA256);
    let labelled = |label: &str| issuer.replace("CERTIFICATE", label);
    for (what, chain, expected) in [
        ("as it should be", [&*host, &issuer].concat(), 2),
        ("glued", [host.trim_end(), &issuer].concat(), 2),
        ("another label", [&*host, &labelled("X509 CERTIFICATE")].concat(), 2),
        ("indented, behind a byte order mark", ["\u{feff}  ", &host, "  ", &issuer].concat(), 2),
        ("the host last", [&*issuer, &host].concat(), 0),
    ] {
        let objects = [tls_ingress("a", "ingressd", DATE, "a.test", "tls"), tls_secret("tls", &chain, &key)];
        let translation = translate(&objects.join("\n---\n").replace("\\u{feff}", "\\uFEFF"), options());
        let all = translation.tables.certificates.values();
        let own = all.filter(|certificate| *certificate.of.origin.object.name == *"tls");
        let read = own.map(|own| String::from_utf8_lossy(&own.chain).matches("-----BEGIN CERTIFICATE-----\n").count());
        assert_eq!(read.sum::<usize>(), expected, "{what}");
        let is_reported =
            translation.findings.iter().any(|finding| finding.note.contains("write the certificate of the host first"));
        assert_eq!(is_reported, expected == 0, "{what}");
    }
}

/// A chain that is not read whole, or lacks the issuer, is served, and some clients refuse it.
#[test]
fn chains_with_a_part_that_is_missing_are_reported() {
    let issued = |name: &str, by: Option<(&rcgen::CertificateParams, &rcgen::KeyPair)>| {
        let mut parameters = rcgen::CertificateParams::new(vec![name.to_owned()]).unwrap();
        parameters.distinguished_name.push(rcgen::DnType::CommonName, name);
        let key = rcgen::KeyPair::generate().unwrap();
        let pem = match by {
            Some((parameters_of, key_of)) => {
                parameters.signed_by(&key, &rcgen::Issuer::from_params(parameters_of, key_of)).unwrap().pem()
            }
            None => parameters.clone().self_signed(&key).unwrap().pem(),
        };
        (parameters, key, pem)
    };
    let (of_root, root_key, root) = issued("root", None);
    let (of_between, between_key, between) = issued("between", Some((&of_root, &root_key)));
    let (_, key, host) = issued("a.test", Some((&of_between, &between_key)));
    let torn = between.replace("-----BEGIN", "----BEGIN");
    for (what, chain, expected) in [
        ("whole", [&*host, &between, &root].concat(), None),
        ("alone, as of an authority that clients know", host.clone(), None),
        ("twice", [&*host, &host, &between].concat(), None),
        ("without the one between", [&*host, &root].concat(), Some("not that of its issuer")),
        ("with a torn one", [&*host, &torn].concat(), Some("a part without the line -----BEGIN CERTIFICATE-----")),
    ] {
        let objects =
            [tls_ingress("i", "nginx", DATE, "a.test", "tls"), tls_secret("tls", &chain, &key.serialize_pem())];
        let translation = translate(&objects.join("\n---\n"), options());
        let reported: Vec<_> = translation.findings.iter().map(|finding| (finding.reason, &*finding.note)).collect();
        match expected {
            None => assert_eq!(reported, [], "{what}"),
            Some(note) => assert!(
                matches!(reported[..], [(Reason::DoubtfulCertificate, reported)] if reported.contains(note)),
                "{what}: {reported:?}"
            ),
        }
        assert_eq!(routes(&translation)[0], "a.test own", "{what}");
    }
}
