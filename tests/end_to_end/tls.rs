//! Certificates by SNI, and hosts without one.
use rig::client::get;
use rig::manifests::{ingress, secret, tls_secret};

#[test]
fn sni_chooses_the_certificate() {
    rig::run(async |rig| {
        rig.manifests.write(
            "tls.yaml",
            &[
                tls_secret("one", &["one.test"]),
                tls_secret("two", &["two.test"]),
                tls_secret("wild", &["*.wild.test"]),
                ingress("one").host("one.test", "web").tls(&["one.test"], "one").build(),
                ingress("two").host("two.test", "web").tls(&["two.test"], "two").build(),
                ingress("wild").host("*.wild.test", "web").tls(&["*.wild.test"], "wild").build(),
                ingress("none").host("none.test", "web").build(),
            ],
        );
        rig.start().await;
        for (host, names) in [("one.test", "one.test"), ("two.test", "two.test"), ("x.wild.test", "*.wild.test")] {
            for request in [get(&format!("https://{host}/")), get(&format!("https://{host}/")).http2()] {
                let reply = request.send().await;
                assert_eq!((reply.status, &*reply.peer.unwrap().names), (200, &[names.to_owned()][..]), "{host}");
            }
        }
        let own = get("https://one.test/").send().await.peer.unwrap();
        for other in [get("https://none.test/"), get("https://none.test/").sni(None)] {
            let reply = other.send().await;
            assert_eq!(reply.status, 200);
            assert_ne!(reply.peer.unwrap().certificate, own.certificate);
        }
        let alpn = get("https://two.test/").http2().send().await.peer.unwrap().alpn;
        assert_eq!(alpn.as_deref(), Some("h2"));
    });
}

#[test]
fn a_renewed_certificate_is_served_and_a_broken_one_is_not() {
    rig::run(async |rig| {
        rig.manifests.write("secret.yaml", &[tls_secret("one", &["one.test", "first.test"])]);
        rig.manifests.write("one.yaml", &[ingress("one").host("one.test", "web").tls(&["one.test"], "one").build()]);
        rig.start().await;
        let names = async || get("https://one.test/").send().await.peer.unwrap().names;
        assert_eq!(names().await, ["one.test", "first.test"]);

        rig.manifests.write("secret.yaml", &[tls_secret("one", &["one.test", "second.test"])]);
        rig::wait::until_right("the renewed certificate", names, |names| names[1] == "second.test").await;

        let (mut good, other) = (tls_secret("one", &["one.test"]), tls_secret("one", &["one.test"]));
        good["data"]["tls.key"] = other["data"]["tls.key"].clone();
        rig.manifests.write("secret.yaml", &[good]);
        let bad = |status: &serde_json::Value| {
            let findings = status["findings"].as_array();
            findings.is_some_and(|findings| findings.iter().any(|finding| finding["reason"] == "InvalidCertificate"))
        };
        rig.daemon.status_when("a finding about the key that does not fit", bad).await;
        assert_eq!(names().await[1], "second.test");
    });
}

#[test]
fn a_missing_certificate_still_redirects_and_serves() {
    rig::run(async |rig| {
        rig.manifests.write(
            "tls.yaml",
            &[
                secret("empty", "kubernetes.io/tls", &[]),
                ingress("missing").host("missing.test", "web").tls(&["missing.test"], "absent").build(),
                ingress("empty").host("empty.test", "web").tls(&["empty.test"], "empty").build(),
            ],
        );
        rig.start().await;
        for host in ["missing.test", "empty.test"] {
            assert_eq!(get(&format!("http://{host}/")).send().await.status, 308);
            assert_eq!(get(&format!("https://{host}/")).send().await.status, 200);
        }
    });
}

#[test]
fn keys_of_rsa_in_both_forms_and_elliptic_ones_are_served() {
    // The key was made for tests and protects nothing. Both files have the same key.
    const RSA: &str = include_str!("../../crates/rig/src/keys/rsa-pkcs8.pem");
    const OLD_RSA: &str = include_str!("../../crates/rig/src/keys/rsa-pkcs1.pem");
    let signed = |host: &str, key: &rcgen::KeyPair| {
        rcgen::CertificateParams::new(vec![host.to_owned()]).unwrap().self_signed(key).unwrap().pem()
    };
    let elliptic = rcgen::KeyPair::generate_for(&rcgen::PKCS_ECDSA_P384_SHA384).unwrap();
    let rsa = rcgen::KeyPair::from_pem(RSA).unwrap();
    let rows = [
        ("rsa.test", signed("rsa.test", &rsa), RSA.to_owned()),
        ("old-rsa.test", signed("old-rsa.test", &rsa), OLD_RSA.to_owned()),
        ("elliptic.test", signed("elliptic.test", &elliptic), elliptic.serialize_pem()),
    ];
    rig::run(async move |rig| {
        let mut objects = Vec::new();
        for (host, chain, key) in &rows {
            let name = host.replace('.', "-");
            objects.push(secret(&name, "kubernetes.io/tls", &[("tls.crt", chain), ("tls.key", key)]));
            objects.push(ingress(&name).host(host, "web").tls(&[host], &name).build());
        }
        rig.manifests.write("tls.yaml", &objects);
        rig.start().await;
        for (host, ..) in &rows {
            let reply = get(&format!("https://{host}/")).send().await;
            assert_eq!((reply.status, &*reply.peer.unwrap().names), (200, &[(*host).to_owned()][..]), "{host}");
        }
    });
}
