//! TLS of hosts; they must not know how a certificate is parsed.

use super::{findings, options, routes, translate};

#[test]
fn certificates() {
    let translation = translate(include_str!("../../../tests/golden/tls.yaml"), options());
    let hosts: Vec<_> = routes(&translation).into_iter().filter(|line| !line.starts_with(' ')).collect();
    let expected = [
        "a.example.org own",
        "b.example.org own",
        "default.example.com declared",
        "mismatched.example.com declared",
        "missing.example.com declared",
        "shop.example.com own",
        "shop.example.net own",
        "www.example.com own",
        "*.example.org own",
    ];
    assert_eq!(hosts, expected);
    assert_eq!(
        findings(&translation),
        ["missing MissingSecret", "several CertificateHostMismatch", "mismatched-tls InvalidCertificate"]
    );
    let refused: Vec<_> = translation.refused.iter().map(|(id, _)| &*id.name).collect();
    assert_eq!(refused, ["mismatched-tls"]);
    for certificate in &translation.model.certificates {
        let chain = String::from_utf8_lossy(&certificate.chain);
        assert!(chain.starts_with("-----BEGIN CERTIFICATE-----\n") && chain.ends_with("-----END CERTIFICATE-----\n"));
    }
}

#[test]
fn validity_is_judged_by_the_settings() {
    let early = crate::translate::Options { now: 0, ..options() };
    let translation = translate(include_str!("../../../tests/golden/tls.yaml"), early);
    assert!(findings(&translation).contains(&"own CertificateExpired".to_owned()));
}
