//! What happens to keys that are written twice, in another spelling, or that do not exist.

use super::*;

#[test]
fn the_key_wins_over_its_other_spelling() {
    let reading = given(&[("allowlist-source-range", "10.0.0.0/8"), ("whitelist-source-range", "0.0.0.0/0")]);
    assert!(outline(&reading).contains(&"allow 10.0.0.0/8".to_owned()));
    assert!(!outline(&reading).contains(&"allow 0.0.0.0/0".to_owned()));
    assert!(reading.findings[0].note.contains("is used instead"));
}

#[test]
fn unknown_keys_are_reported_with_the_nearest_one() {
    let cases = [
        ("nginx.ingress.kubernetes.io/proxy-bodysize", Reason::UnknownAnnotation, "proxy-body-size"),
        ("nginx.ingress.kubernetes.io/qqqq", Reason::UnknownAnnotation, "no such key"),
        ("ingressd/endpoints", Reason::UnknownAnnotation, "on Services"),
        ("ingressd/other", Reason::UnknownAnnotation, "no key with this prefix"),
        ("nginx.org/rewrites", Reason::UnsupportedAnnotation, "not read for this class"),
        ("ingress.kubernetes.io/auth-secret", Reason::UnsupportedAnnotation, "use the prefix of nginx.ingress"),
        ("ingress.nginx.kubernetes.io/canary", Reason::UnsupportedAnnotation, "use the prefix of nginx.ingress"),
        ("nginx.ingress.kubernetes.io.auth-type", Reason::UnsupportedAnnotation, "use the prefix of nginx.ingress"),
        ("ngnix.ingress.kubernetes.io/auth-type", Reason::UnsupportedAnnotation, "use the prefix of nginx.ingress"),
        ("kubernetes.io/ingress.ssl-redirect", Reason::UnsupportedAnnotation, "use the prefix of nginx.ingress"),
        ("nginx.ingress.kubernetes.io/websocket-services", Reason::UnknownAnnotation, "pass without an annotation"),
        ("nginx.ingress.kubernetes.io/client-max-body-size", Reason::UnknownAnnotation, "; use proxy-body-size"),
        ("nginx.ingress.kubernetes.io/proxy-buffers", Reason::UnknownAnnotation, "; use proxy-buffers-number"),
    ];
    for (key, reason, text) in cases {
        let annotations = StringMap::from([(key, "x")]);
        let findings = read_all(&annotations, &SPECIFICATION, &Options::default()).findings;
        assert_eq!(findings.len(), 1, "{key}");
        assert_eq!(findings[0].reason, reason, "{key}");
        assert!(findings[0].note.contains(text), "{key}: {}", findings[0].note);
    }
    let foreign = ["nginx.org/a", "nginx.org/b", "nginx.com/c"].map(|key| (key, ""));
    let reading = read_all(&foreign.into(), &SPECIFICATION, &Options::default());
    assert_eq!(reading.findings.len(), 1);
    let protects = ["ingress.kubernetes.io/app-root", "ingress.kubernetes.io/auth-type"].map(|key| (key, "x"));
    let reading = read_all(&protects.into(), &SPECIFICATION, &Options::default());
    let [finding] = &reading.findings[..] else { panic!("{:?}", reading.findings) };
    assert!(finding.severity == Severity::Warning && finding.note.contains("auth-type"), "{finding}");
    for harmless in [
        StringMap::from([("example.com/team", "shop")]),
        StringMap::from([("kubernetes.io/ingress.class", "nginx"), ("ingress.kubernetes.io/backends", "{}")]),
        // Charts write both prefixes.
        StringMap::from([
            ("ingress.kubernetes.io/whitelist-source-range", "10.0.0.0/8"),
            ("nginx.ingress.kubernetes.io/allowlist-source-range", "10.0.0.0/8"),
        ]),
    ] {
        assert_eq!(read_all(&harmless, &SPECIFICATION, &Options::default()).findings, []);
    }
}

#[test]
fn what_is_said_of_invented_keys_is_about_keys_that_are_there() {
    let known: BTreeSet<_> = KNOWN.lines().collect();
    let mut named = BTreeSet::new();
    for (names, instead) in ANNOTATIONS.invented {
        for name in *names {
            assert!(ANNOTATIONS.find(name).is_none() && !known.contains(name), "{name} is a key");
            assert!(named.insert(*name), "{name} is listed twice");
            let reading = given(&[(name, "x")]);
            let [finding] = &reading.findings[..] else { panic!("{name}: {:?}", reading.findings) };
            assert!(finding.note.ends_with(instead), "{name}: {finding}");
        }
        let words = instead.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '-');
        let of_config_map = ["use-gzip", "proxy-set-headers"];
        let mut keys = words.filter(|word| ANNOTATIONS.find(word).is_some() || of_config_map.contains(word)).peekable();
        assert!(
            keys.peek().is_some() || *instead == "responses are not cached; use a cache as the backend",
            "{instead}"
        );
    }
}
