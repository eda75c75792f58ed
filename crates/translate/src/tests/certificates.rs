//! TLS of hosts.

use std::sync::Arc;

use super::{findings, ingress, manifests, options, path, routes, shared, translate, translate_in, world};
use crate::World;
use crate::secret::certificate::check;
use ingressd_model::finding::{Finding, Reason};
use ingressd_model::{Certificate, CertificateId, Kind, ObjectId, Origin, Presented, SecretBytes};

#[test]
fn certificates() {
    let translation = translate(include_str!("../../../../tests/golden/tls.yaml"), options());
    let hosts: Vec<_> = routes(&translation).into_iter().filter(|line| !line.starts_with(' ')).collect();
    let expected = [
        "a.example.org own",
        "b.example.org own",
        "default.example.com declared",
        "mismatched.example.com declared",
        "missing.example.com declared",
        "shop.example.com own",
        "shop.example.net declared",
        "www.example.com own",
        "*.example.org own",
    ];
    assert_eq!(hosts, expected);
    assert_eq!(
        findings(&translation),
        [
            "mismatched InvalidCertificate",
            "missing MissingSecret",
            "several CertificateHostMismatch",
            "mismatched-tls InvalidCertificate",
        ]
    );
    let refused: Vec<_> = translation.refused.iter().map(|refused| &*refused.id.name).collect();
    assert_eq!(refused, ["mismatched-tls"]);
    assert_eq!(translation.tables.certificates.len(), translation.model.certificates.len());
    for certificate in translation.tables.certificates.values() {
        let chain = String::from_utf8_lossy(&certificate.chain);
        assert!(chain.starts_with("-----BEGIN CERTIFICATE-----\n") && chain.ends_with("-----END CERTIFICATE-----\n"));
    }
}

#[test]
fn the_bytes_of_a_certificate_are_those_of_its_secret() {
    let (chain, key) = made(&["a.test"], "a", &rcgen::PKCS_ECDSA_P256_SHA256);
    let snapshot = manifests::snapshot_of(&tls_secret("tls", &chain, &key));
    let secret = &snapshot.secrets[0];
    let own = check(secret).unwrap().certificate;
    for (written, key) in [(&own.chain, "tls.crt"), (&own.key.0, "tls.key")] {
        assert!(Arc::ptr_eq(written, &secret.object.get(key).unwrap().0), "{key}");
    }
}

#[test]
fn validity_is_judged_by_the_settings() {
    let early = World::default();
    let translation = translate_in(&early, include_str!("../../../../tests/golden/tls.yaml"), options());
    assert!(findings(&translation).contains(&"own CertificateNotYetValid".to_owned()));
}

/// A certificate with these alternative names and this common name, with its key.
pub fn made(names: &[&str], common: &str, algorithm: &'static rcgen::SignatureAlgorithm) -> (String, String) {
    let names: Vec<_> = names.iter().map(|name| (*name).to_owned()).collect();
    let mut parameters = rcgen::CertificateParams::new(names).unwrap();
    parameters.distinguished_name.push(rcgen::DnType::CommonName, common);
    let key = rcgen::KeyPair::generate_for(algorithm).unwrap();
    (parameters.self_signed(&key).unwrap().pem(), key.serialize_pem())
}

/// The same key in two forms: it is made for tests and protects nothing.
const RSA_KEY: &str = include_str!("../../../../crates/rig/src/keys/rsa-pkcs8.pem");
const OLD_RSA_KEY: &str = include_str!("../../../../crates/rig/src/keys/rsa-pkcs1.pem");

fn with_rsa(name: &str) -> String {
    let parameters = rcgen::CertificateParams::new(vec![name.to_owned()]).unwrap();
    parameters.self_signed(&rcgen::KeyPair::from_pem(RSA_KEY).unwrap()).unwrap().pem()
}

pub fn tls_secret(name: &str, chain: &str, key: &str) -> String {
    format!(
        "apiVersion: v1\nkind: Secret\nmetadata: {{name: {name}, namespace: default}}\ntype: kubernetes.io/tls\n\
         stringData: {{tls.crt: {chain:?}, tls.key: {key:?}}}"
    )
}

/// An Ingress with TLS for its host.
pub fn tls_ingress(name: &str, class: &str, created: &str, host: &str, secret: &str) -> String {
    ingress(name, class, host, "", &[path("/", "Prefix", "web")])
        .replace("metadata: {", &format!("metadata: {{creationTimestamp: '{created}', "))
        .replace("spec: {", &format!("spec: {{tls: [{{hosts: ['{host}'], secretName: {secret}}}], "))
}

pub const DATE: &str = "2026-01-01T00:00:00Z";

#[test]
fn every_sort_of_certificate_and_key() {
    let plain = &rcgen::PKCS_ECDSA_P256_SHA256;
    let (chain, key) = made(&["a.example"], "", plain);
    let (_, other_key) = made(&["a.example"], "", plain);
    let (ed, ed_key) = made(&["a.example"], "", &rcgen::PKCS_ED25519);
    let rsa = with_rsa("a.example");
    let (common, common_key) = made(&[], "a.example", plain);
    let (both, both_key) = made(&["b.example"], "a.example", plain);
    let (wild, wild_key) = made(&["*.example"], "", plain);
    let block = |label: &str, body: &str| format!("-----BEGIN {label}-----\n{body}\n-----END {label}-----\n");
    let extra =
        format!("a remark\n{}{}{chain}", block("DH PARAMETERS", "MAMCAQA="), block("EC PARAMETERS", "MAMCAQA="));
    let combined = [&*chain, &key].concat();
    let parameters_first = format!("{}{key}", block("EC PARAMETERS", "MAMCAQA="));
    let encrypted = block("ENCRYPTED PRIVATE KEY", "MAMCAQA=");
    let unknown = block("PRIVATE KEY", "MAMCAQA=");
    let garbage = block("CERTIFICATE", "MAMCAQA=");
    let torn = block("CERTIFICATE", "####");
    let long = chain.repeat(10);
    let too_long = chain.repeat(11);
    let large = {
        let names: Vec<_> = (0..1200).map(|number| format!("{number:026}.example")).collect();
        let names: Vec<_> = names.iter().map(String::as_str).chain(["a.example"]).collect();
        made(&names, "", plain)
    };
    type Row<'r> = (&'r str, &'r str, &'r str, &'r str, &'r str, &'r [&'r str]);
    let rows: &[Row<'_>] = &[
        ("ingressd", "a.example", &chain, &key, "own", &[]),
        ("ingressd", "a.example", &ed, &ed_key, "own", &[]),
        ("ingressd", "a.example", &rsa, RSA_KEY, "own", &[]),
        ("ingressd", "a.example", &rsa, OLD_RSA_KEY, "own", &[]),
        ("ingressd", "a.example", &rsa, &key, "declared", &["InvalidCertificate", "InvalidCertificate"]),
        ("ingressd", "a.example", &chain, OLD_RSA_KEY, "declared", &["InvalidCertificate", "InvalidCertificate"]),
        ("ingressd", "a.example", &common, &common_key, "own", &["DoubtfulCertificate"]),
        ("nginx", "a.example", &combined, &key, "own", &["DoubtfulCertificate"]),
        // A common name is used only where there is no alternative name.
        ("ingressd", "a.example", &both, &both_key, "declared", &["CertificateHostMismatch"]),
        ("nginx", "a.example", &both, &both_key, "declared", &["CertificateHostMismatch"]),
        ("nginx", "a.example", &wild, &wild_key, "own", &[]),
        ("nginx", "*.example", &wild, &wild_key, "own", &[]),
        ("nginx", "a.b.example", &wild, &wild_key, "declared", &["CertificateHostMismatch"]),
        ("nginx", "a.example", &extra, &key, "own", &[]),
        ("nginx", "a.example", &chain, &parameters_first, "own", &[]),
        ("nginx", "a.example", &chain, &other_key, "declared", &["InvalidCertificate", "InvalidCertificate"]),
        ("nginx", "a.example", &chain, &encrypted, "declared", &["InvalidCertificate", "InvalidCertificate"]),
        ("nginx", "a.example", &chain, "", "declared", &["InvalidCertificate", "InvalidCertificate"]),
        ("nginx", "a.example", &chain, &unknown, "declared", &["InvalidCertificate", "InvalidCertificate"]),
        ("nginx", "a.example", "no PEM", &key, "declared", &["InvalidCertificate", "InvalidCertificate"]),
        ("nginx", "a.example", &garbage, &key, "declared", &["InvalidCertificate", "InvalidCertificate"]),
        ("nginx", "a.example", &torn, &key, "declared", &["InvalidCertificate", "InvalidCertificate"]),
        ("nginx", "a.example", &key, &chain, "declared", &["InvalidCertificate", "InvalidCertificate"]),
        ("nginx", "a.example", &long, &key, "own", &[]),
        ("nginx", "a.example", &too_long, &key, "declared", &["InvalidCertificate", "InvalidCertificate"]),
        ("nginx", "a.example", &large.0, &large.1, "declared", &["InvalidCertificate", "InvalidCertificate"]),
    ];
    for (number, (class, host, given, key, tls, expected)) in rows.iter().enumerate() {
        let documents = [tls_secret("made", given, key), tls_ingress("i", class, DATE, host, "made")].join("\n---\n");
        let translation = translate(&documents, options());
        let line = routes(&translation).swap_remove(0);
        assert_eq!(line, format!("{host} {tls}"), "row {number}: {:?}", translation.findings);
        let reasons: Vec<_> = translation.findings.iter().map(|finding| finding.reason.to_string()).collect();
        assert_eq!(reasons, *expected, "row {number}");
        for certificate in translation.tables.certificates.values() {
            let chain = String::from_utf8_lossy(&certificate.chain);
            let expected = if **given == long { 10 } else { 1 };
            assert_eq!(chain.matches("-----BEGIN").count(), expected, "row {number}: {chain}");
        }
    }
}

#[test]
fn the_oldest_object_with_tls_gives_the_certificate() {
    let (old, old_key) = made(&["a.example"], "", &rcgen::PKCS_ECDSA_P256_SHA256);
    let (new, new_key) = made(&["a.example"], "", &rcgen::PKCS_ECDSA_P256_SHA256);
    let plain = ingress("oldest", "nginx", "a.example", "", &[path("/plain", "Prefix", "web")])
        .replace("metadata: {", "metadata: {creationTimestamp: '2025-01-01T00:00:00Z', ");
    let documents = [
        tls_secret("old", &old, &old_key),
        tls_secret("new", &new, &new_key),
        tls_ingress("a-new", "nginx", "2026-02-01T00:00:00Z", "a.example", "new"),
        tls_ingress("z-old", "nginx", DATE, "a.example", "old"),
        plain,
    ];
    let translation = translate(&documents.join("\n---\n"), options());
    let names: Vec<_> = translation.model.certificates.iter().map(|one| &*one.origin.object.name).collect();
    assert_eq!(names, ["old"]);
    assert_eq!(findings(&translation), ["a-new PathConflict", "a-new TlsWithoutPath"], "its certificate is not served");
}

#[test]
fn each_object_that_names_a_certificate_hears_of_it() {
    let (chain, key) = made(&["a.example"], "", &rcgen::PKCS_ECDSA_P256_SHA256);
    let (common, common_key) = made(&[], "a.example", &rcgen::PKCS_ECDSA_P256_SHA256);
    let opaque = "apiVersion: v1\nkind: Secret\nmetadata: {name: tls, namespace: default}\nstringData: {password: x}";
    for (what, secret, world, expected) in [
        ("nothing is wrong", tls_secret("tls", &chain, &key), world(), &[][..]),
        (
            "it is not valid yet",
            tls_secret("tls", &chain, &key),
            World::default(),
            &["a CertificateNotYetValid", "b CertificateNotYetValid"],
        ),
        (
            "it names no host as browsers read it",
            tls_secret("tls", &common, &common_key),
            world(),
            &["a DoubtfulCertificate", "b DoubtfulCertificate"],
        ),
        (
            "the Secret is of another type",
            opaque.to_owned(),
            world(),
            &["a InvalidCertificate", "b InvalidCertificate", "tls InvalidCertificate"],
        ),
    ] {
        let objects = ["a", "b"]
            .map(|name| tls_ingress(name, "ingressd", DATE, "a.example", "tls").replace("'/'", &format!("'/{name}'")));
        let translation = translate_in(&world, &[&objects[..], &[secret]].concat().join("\n---\n"), options());
        assert_eq!(findings(&translation), expected, "{what}");
        let is_named =
            |finding: &ingressd_model::finding::Finding| finding.note.contains("type kubernetes.io/tls, with");
        assert!(translation.findings.iter().all(is_named) || what != "the Secret is of another type");
    }
}

#[test]
fn tls_of_a_host_is_for_the_namespace_of_its_oldest_object_to_decide() {
    let (chain, key) = made(&["a.example"], "", &rcgen::PKCS_ECDSA_P256_SHA256);
    let elsewhere = |document: String| document.replace("namespace: default", "namespace: other");
    let aged = |document: String, year: &str| {
        document.replace("metadata: {", &format!("metadata: {{creationTimestamp: '{year}-01-01T00:00:00Z', "))
    };
    for class in ["nginx", "ingressd"] {
        let plain = aged(ingress("plain", class, "a.example", "", &[path("/", "Prefix", "web")]), "2024");
        let stranger = elsewhere(tls_ingress("stranger", class, "2025-01-01T00:00:00Z", "a.example", "made"))
            .replace("path: '/'", "path: '/stranger'")
            .replace("path: /,", "path: /stranger,");
        let late = tls_ingress("late", class, "2026-01-01T00:00:00Z", "a.example", "made")
            .replace("path: '/'", "path: '/late'")
            .replace("path: /,", "path: /late,");
        let secrets = [tls_secret("made", &chain, &key), elsewhere(tls_secret("made", &chain, &key))];
        let reported = |documents: &[&String]| {
            let documents: Vec<_> = secrets.iter().chain(documents.iter().copied()).map(String::as_str).collect();
            let translation = translate(&documents.join("\n---\n"), shared());
            let mut found = findings(&translation);
            found.retain(|finding| finding.contains("TlsConflict"));
            let namespaces = translation.model.certificates.iter().map(|one| one.origin.object.namespace.to_string());
            let paths = translation.model.servers.iter().map(|server| server.routes.len()).sum::<usize>();
            (routes(&translation).swap_remove(0), namespaces.collect::<Vec<_>>(), paths, found)
        };
        let redirects = |documents: &[&String]| {
            let documents: Vec<_> = secrets.iter().chain(documents.iter().copied()).map(String::as_str).collect();
            let model = translate(&documents.join("\n---\n"), shared()).model;
            let routes = model.servers[0].routes.iter().chain([&model.servers[0].fallback]);
            let sent = routes.filter(|route| route.behaviour.https_redirect.is_some());
            sent.map(|route| route.origin.object.name.to_string()).collect::<Vec<_>>()
        };
        let conflict = vec!["stranger TlsConflict".to_owned()];
        let (server, certificates, paths, found) = reported(&[&plain, &stranger]);
        assert_eq!((server.as_str(), paths, &found), ("a.example own", 2, &conflict), "{class}");
        assert_eq!(certificates, ["other"], "better than none");
        let (server, certificates, paths, found) = reported(&[&plain, &stranger, &late]);
        assert_eq!((server.as_str(), paths, found), ("a.example own", 3, conflict), "{class}");
        assert_eq!(certificates, ["default"]);
        let (server, _, _, found) = reported(&[&stranger]);
        assert_eq!((server.as_str(), found.len()), ("a.example own", 0), "whoever is alone decides");
        // What the administrator has for the host is better than that of a stranger.
        let default_certificate = Some(("default".into(), "made".into()));
        let documents: Vec<_> = secrets.iter().chain([&plain, &stranger]).map(String::as_str).collect();
        let options = crate::Options { default_certificate, ..shared() };
        let translation = translate(&documents.join("\n---\n"), options);
        assert_eq!(routes(&translation)[0], "a.example", "{class}");
        assert!(findings(&translation).contains(&"stranger TlsConflict".to_owned()), "{class}");
        if class == "nginx" {
            assert!(redirects(&[&plain]).contains(&"plain".to_owned()));
            let alone = redirects(&[&plain, &stranger]);
            assert!(!alone.is_empty() && alone.iter().all(|name| name == "stranger"), "{alone:?}");
            assert!(redirects(&[&plain, &stranger, &late]).contains(&"plain".to_owned()));
        }
    }
}

#[test]
fn of_many_entries_the_same_one_counts_as_of_few() {
    let (chain, key) = made(&["b.example", "*.wild.example"], "", &rcgen::PKCS_ECDSA_P256_SHA256);
    let hosts = ["a.example", "b.example", "x.wild.example", "x.listed.example", "other.example", "*.listed.example"];
    for class in ["nginx", "ingressd"] {
        for entries in [
            "{hosts: [A.example], secretName: made}, {hosts: ['*.Listed.example']}, {secretName: made}, {hosts: [a.example]}",
            "{hosts: ['*.listed.example'], secretName: none}, {hosts: [x.listed.example], secretName: made}",
            "{hosts: [unrelated.example], secretName: made}",
        ] {
            let documents = |filler: &str| {
                let rules =
                    hosts.map(|host| format!("{{host: '{host}', http: {{paths: [{}]}}}}", path("/", "Prefix", "web")));
                let spec = format!(
                    "spec: {{tls: [{entries}{filler}], ingressClassName: {class}, rules: [{}",
                    rules.join(", ")
                );
                let document = ingress("i", class, "gone.example", "", &[]);
                let head = document.split("spec:").next().unwrap();
                format!("{}\n---\n{head}{spec}]}}\n", tls_secret("made", &chain, &key))
            };
            let filler: Vec<_> =
                (0..20).map(|number| format!(", {{hosts: [f{number}.example, g{number}.example]}}")).collect();
            let [few, many] = [String::new(), filler.concat()].map(|filler| translate(&documents(&filler), options()));
            assert_eq!(routes(&few), routes(&many), "{class} {entries}");
            let of_filler = |finding: &Finding| finding.note.contains("a rule for \"f");
            let rest: Vec<_> = many.findings.iter().filter(|finding| !of_filler(finding)).collect();
            assert_eq!(few.findings.iter().collect::<Vec<_>>(), rest, "{class} {entries}");
            assert_eq!(many.findings.len() - rest.len(), filler.len(), "{class} {entries}");
            let is_found = routes(&few).iter().any(|line| line.ends_with(" own"));
            assert_eq!(is_found, class == "nginx" || entries.contains("{secretName: made}"), "{class} {entries}");
        }
    }
}

#[test]
fn the_default_certificate_is_configured_or_made() {
    let origin = Origin::object(&Arc::new(ObjectId::new(Kind::SETTINGS, "", "self-signed")));
    let own = Arc::new(Certificate {
        of: Arc::new(Presented { id: CertificateId::SelfSigned, origin, responder: None, has_issuer: false }),
        chain: Arc::from(&b""[..]),
        key: SecretBytes(Arc::from(&b""[..])),
        validity: ingressd_model::Validity::default(),
    });
    let rows: &[(Option<&str>, bool, &str, &[&str])] = &[
        (None, false, "none", &[]),
        (None, true, "self-signed", &[]),
        (Some("shop-tls"), true, "shop-tls", &[]),
        (Some("no-such"), true, "self-signed", &["default-certificate MissingSecret"]),
        (
            Some("mismatched-tls"),
            false,
            "none",
            &["mismatched-tls InvalidCertificate", "default-certificate InvalidCertificate"],
        ),
    ];
    for (secret, has_own, expected, reasons) in rows {
        let options =
            crate::Options { default_certificate: secret.map(|name| ("default".into(), name.into())), ..options() };
        let world = World { self_signed: has_own.then(|| Arc::clone(&own)), ..world() };
        let documents = ingress("i", "nginx", "a.example", "", &[path("/", "Prefix", "web")]);
        let translation = translate_in(&world, &documents, options);
        let found = match &translation.model.default_certificate {
            None => "none",
            Some(CertificateId::SelfSigned) => "self-signed",
            Some(CertificateId::Secret(id)) => &*id.name,
        };
        assert_eq!((found, findings(&translation)), (*expected, reasons.iter().map(ToString::to_string).collect()));
        let id = translation.model.default_certificate.as_ref();
        assert!(id.is_none_or(|id| translation.model.certificates.iter().any(|one| one.id == *id)));
    }
}

#[test]
fn the_certificate_of_unknown_hosts_is_the_administrators() {
    let (chain, key) = made(&["a.example"], "", &rcgen::PKCS_ECDSA_P256_SHA256);
    let object = ingress("i", "ingressd", "a.example", "", &[path("/", "Prefix", "web")])
        .replace("host: 'a.example', ", "")
        .replace("rules:", "tls: [{secretName: made}], rules:");
    let documents = format!("{}\n---\n{object}", tls_secret("made", &chain, &key));
    for (named, expected) in [("other", "*"), ("default", "* own")] {
        let catch_all = vec![named.into()];
        let translation = translate(&documents, crate::Options { catch_all, ..options() });
        let lines = routes(&translation);
        assert!(lines.iter().any(|line| line == expected), "{named}: {lines:?}");
    }
}

#[test]
fn an_entry_for_a_host_of_which_others_have_the_paths_is_reported() {
    let plain = |name: &str, host: &str, text: &str| ingress(name, "nginx", host, "", &[path(text, "Prefix", "web")]);
    let listing =
        |document: String, hosts: &str| document.replace("rules:", &format!("tls: [{{hosts: [{hosts}]}}], rules:"));
    let owner = || plain("owner", "x.example", "/");
    let www = "from-to-www-redirect: 'true'";
    let sending = |name: &str| ingress(name, "nginx", "x.example", www, &[path("/", "Prefix", "web")]);
    let separately = |document: String, second: &str| {
        let document = document.replace("ingressClassName: nginx", "ingressClassName: ingressd");
        document.replace("rules:", &format!("tls: [{{hosts: [x.example], secretName: x}}, {{{second}}}], rules:"))
    };
    let rows = [
        ("its own host", vec![listing(owner(), "x.example")], ""),
        ("in another case", vec![listing(owner(), "X.Example")], ""),
        ("a host that nobody has beside its own", vec![listing(owner(), "x.example, www.x.example")], ""),
        ("the one that is sent to it", vec![listing(sending("owner"), "x.example, www.x.example")], ""),
        (
            "a wildcard above that one",
            vec![separately(sending("owner"), "hosts: ['*.x.example'], secretName: www")],
            "",
        ),
        ("that one by no name", vec![separately(sending("owner"), "secretName: www")], ""),
        (
            "the one that another has sent to it",
            vec![sending("owner"), listing(plain("other", "y.example", "/"), "www.x.example")],
            "\"www.x.example\"",
        ),
        ("another's", vec![owner(), listing(plain("other", "y.example", "/"), "x.example")], "\"x.example\""),
        (
            "several",
            vec![
                owner(),
                plain("z", "z.example", "/"),
                listing(plain("other", "y.example", "/"), "'y.example', 'x.example', 'z.example'"),
            ],
            "\"x.example\" and 1 more of its hosts",
        ),
        ("for hosts within it", vec![plain("all", "*.example", "/"), listing(owner(), "'*.example'")], ""),
        (
            "of others within it",
            vec![plain("all", "*.example", "/"), listing(plain("other", "x.test", "/"), "'*.example'")],
            "\"*.example\"",
        ),
        ("without a rule", vec![owner(), listing(plain("other", "", "/"), "x.example")], "\"x.example\""),
        (
            "of another namespace, which got no path",
            vec![
                owner(),
                listing(plain("other", "x.example", "/"), "x.example")
                    .replace("namespace: default", "namespace: other"),
            ],
            "\"x.example\"",
        ),
        (
            "of another namespace, which got one",
            vec![
                owner(),
                listing(plain("other", "x.example", "/b"), "x.example")
                    .replace("namespace: default", "namespace: other"),
            ],
            "",
        ),
    ];
    for (what, documents, expected) in rows {
        let dated = documents.iter().enumerate().map(|(number, document)| {
            document.replace(
                "metadata: {",
                &format!("metadata: {{creationTimestamp: '20{:02}-01-01T00:00:00Z', ", number + 10),
            )
        });
        let translation = translate(&dated.collect::<Vec<_>>().join("\n---\n"), shared());
        let reported = translation.findings.iter().filter(|finding| finding.reason == Reason::TlsWithoutPath);
        let reported: Vec<_> = reported
            .map(|finding| (&*finding.origin.object.name, finding.origin.field.to_string(), &*finding.note))
            .collect();
        match expected {
            "" => assert!(reported.is_empty(), "{what}: {reported:?}"),
            expected => {
                assert_eq!(reported.len(), 1, "{what}: {:?}", translation.findings);
                let note = format!("the entry has no effect on {expected}, where");
                assert!(
                    reported[0].0 == "other" && reported[0].1 == "spec.tls[0]" && reported[0].2.starts_with(&note),
                    "{what}: {reported:?}"
                );
            }
        }
    }
}

#[test]
fn an_entry_that_has_no_effect_at_all_is_reported_and_so_is_its_missing_secret() {
    let object = |class: &str, tls: &str, rules: &str| {
        format!(
            "apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata: {{name: i, namespace: default}}\n\
             spec: {{ingressClassName: {class}, tls: [{tls}], {rules}}}\n"
        )
    };
    let rule = |host: &str| format!("rules: [{{host: '{host}', http: {{paths: [{}]}}}}]", path("/", "Prefix", "web"));
    let backend = "defaultBackend: {service: {name: web, port: {number: 80}}}";
    let (chain, key) = made(&["x.example"], "x.example", &rcgen::PKCS_ECDSA_P256_SHA256);
    let secret = tls_secret("cert", &chain, &key);
    let x = rule("x.example");
    // The class, the entries, the rest, the entry without effect, what is said, and whether a
    // Secret is missing.
    for (class, tls, rest, number, note, is_missing) in [
        // A dash too many.
        ("nginx", "{hosts: [x.example]}, {secretName: cert}", &*x, 1, "Secret \"cert\" is used for no host", false),
        ("ingressd", "{hosts: [x.example]}, {secretName: cert}", &*x, 1, "hosts and secretName in one entry", false),
        ("nginx", "{secretName: absent}", &*x, 0, "Secret \"absent\" is used for no host", true),
        ("nginx", "{hosts: [db.example], secretName: absent}", backend, 0, "a rule for \"db.example\"", true),
        ("ingressd", "{hosts: [www.x.example, 'a b']}", &*x, 0, "a rule for \"www.x.example\"", false),
        (
            "nginx",
            "{hosts: [x.example], secretName: cert}, {hosts: [X.example], secretName: absent}",
            &*x,
            1,
            "spec.tls[0] lists its hosts already",
            true,
        ),
        ("nginx", "{hosts: ['*.example'], secretName: absent}", &*x, 0, "no rule has the host \"*.example\"", true),
        (
            "ingressd",
            "{hosts: [x.example], secretName: cert}, {hosts: ['*.example'], secretName: absent}",
            &*x,
            1,
            "list the hosts that it is for",
            true,
        ),
        // These have an effect, or ask for the same twice.
        ("nginx", "{hosts: ['*.example'], secretName: cert}", &*x, 0, "", false),
        ("ingressd", "{hosts: ['*.example', y.example], secretName: cert}", &*x, 0, "", false),
        ("nginx", "{secretName: cert}", &*x, 0, "", false),
        ("ingressd", "{secretName: cert}", &*x, 0, "", false),
        ("ingressd", "{hosts: [x.example]}", &*x, 0, "", false),
        ("ingressd", "{hosts: ['*.example']}", &*x, 0, "", false),
        ("nginx", "{hosts: [x.example], secretName: cert}, {hosts: [x.example], secretName: cert}", &*x, 0, "", false),
    ] {
        let translation = translate(&[secret.as_str(), &object(class, tls, rest)].join("\n---\n"), options());
        let field = format!("spec.tls[{number}]");
        let of = |reason| {
            let all = translation.findings.iter().filter(move |finding| finding.reason == reason);
            all.filter(|finding| finding.origin.field.to_string() == field).map(|finding| &*finding.note).collect()
        };
        let (reported, missing): (Vec<_>, Vec<_>) = (of(Reason::TlsWithoutPath), of(Reason::MissingSecret));
        assert_eq!(
            (reported.len(), missing.len()),
            (usize::from(!note.is_empty()), usize::from(is_missing)),
            "{class} {tls}"
        );
        assert!(reported.iter().all(|reported| reported.contains(note)), "{class} {tls}: {reported:?}");
    }
}
