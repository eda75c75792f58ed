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
fn unknown_keys_are_told_with_the_nearest_one() {
    let cases = [
        ("nginx.ingress.kubernetes.io/proxy-bodysize", Reason::UnknownAnnotation, "proxy-body-size"),
        ("nginx.ingress.kubernetes.io/qqqq", Reason::UnknownAnnotation, "no such key"),
        ("ingressd/endpoints", Reason::UnknownAnnotation, "on Services"),
        ("ingressd/other", Reason::UnknownAnnotation, "no key with this prefix"),
        ("nginx.org/rewrites", Reason::UnsupportedAnnotation, "not read for this class"),
    ];
    for (key, reason, text) in cases {
        let annotations = StringMap::from([(key, "x")]);
        let findings = read_all(&annotations, Dialect::Specification, &Options::default()).findings;
        assert_eq!(findings.len(), 1, "{key}");
        assert_eq!(findings[0].reason, reason, "{key}");
        assert!(findings[0].note.contains(text), "{key}: {}", findings[0].note);
    }
    let foreign = ["nginx.org/a", "nginx.org/b", "nginx.com/c"].map(|key| (key, ""));
    let reading = read_all(&foreign.into(), Dialect::Specification, &Options::default());
    assert_eq!(reading.findings.len(), 1);
    let other = StringMap::from([("example.com/team", "shop")]);
    assert_eq!(read_all(&other, Dialect::Specification, &Options::default()).findings, []);
}
