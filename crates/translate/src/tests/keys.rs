//! Which keys of certificates are served, with pairs made by openssl.

use super::{ingress, options, path, translate};

/// They are made for tests and protect nothing.
macro_rules! file {
    ($name:literal) => {
        include_str!(concat!("../../../../crates/rig/src/keys/sorts/", $name))
    };
}

/// Certificate, key, and a part of the note; empty when they are served.
const PAIRS: &[(&str, &str, &str)] = &[
    (file!("rsa-4096.crt"), file!("rsa-4096.key"), ""),
    (file!("p521.crt"), file!("p521.key"), ""),
    (file!("p521.crt"), file!("p521-sec1.key"), ""),
    (file!("p521.crt"), file!("p521-other.key"), "does not belong"),
    (file!("p521.crt"), file!("rsa-4096.key"), "does not belong"),
    (file!("p521.crt"), file!("secp256k1.key"), "no key for P-521"),
    (file!("rsa-4096.crt"), file!("p521.key"), "of a kind that is not supported, or"),
    (file!("rsa-1024.crt"), file!("rsa-1024.key"), "less than 2048 bits"),
    (file!("rsa-5000.crt"), file!("rsa-5000.key"), "more than 4096 bits"),
    (file!("rsa-5000.crt"), file!("p521.key"), "more than 4096 bits"),
    (file!("rsa-4096.crt"), file!("rsa-5000.key"), "of a kind that is not supported, or"),
    (file!("rsa-exponent-3.crt"), file!("rsa-exponent-3.key"), "exponent 65537"),
    (file!("rsa-exponent-37-bits.crt"), file!("rsa-exponent-37-bits.key"), "more than 32 bits"),
    (file!("secp256k1.crt"), file!("secp256k1.key"), "of a kind that is not supported"),
    (file!("ed448.crt"), file!("ed448.key"), "of a kind that is not supported"),
    (file!("p256-explicit.crt"), file!("p256-explicit.key"), "of a kind that is not supported"),
    (file!("rsa-pss.crt"), file!("rsa-pss.key"), "of a kind that is not supported"),
];

#[test]
fn keys_are_of_a_sort_whose_cost_is_known() {
    for (number, (chain, key, expected)) in PAIRS.iter().enumerate() {
        let route = ingress("i", "nginx", "a.example", "", &[path("/", "Prefix", "web")])
            .replace("spec: {", "spec: {tls: [{hosts: [a.example], secretName: made}], ");
        let secret = format!(
            "apiVersion: v1\nkind: Secret\nmetadata: {{name: made, namespace: default}}\ntype: kubernetes.io/tls\n\
             stringData: {{tls.crt: {chain:?}, tls.key: {key:?}}}"
        );
        let translation = translate(&format!("{secret}\n---\n{route}"), options());
        let notes: Vec<_> = translation.findings.iter().map(|finding| &*finding.note).collect();
        let served = translation.model.certificates.iter().any(|one| &*one.origin.object.name == "made");
        match expected.is_empty() {
            true => assert!(served && notes.is_empty(), "row {number}: {notes:?}"),
            false => assert!(!served && notes[0].contains(expected), "row {number}: {notes:?}"),
        }
    }
}
