//! Findings about keys that have no effect because another one is missing.

use super::*;
use crate::SnippetKind;
use crate::annotation::{asks_for_nothing, words};

/// Annotations that need others in their examples, and have an effect without them.
const COUNT_ALONE: [&str; 4] = ["auth-tls-match-cn", "auth-tls-verify-client", "auth-type", "temporal-redirect"];

/// Annotations that stay in the reading, where nothing uses them without the others.
const STAY: [&str; 4] =
    ["affinity-canary-behavior", "disable-proxy-intercept-errors", "limit-rate-after", "x-forwarded-prefix"];

/// Annotations that protect have findings of their own, because they close the routes.
const PROTECT: [&str; 2] = ["proxy-ssl-secret", "proxy-ssl-verify"];

fn notes(annotations: &[(&str, &str)], options: &Options) -> Vec<(Reason, String)> {
    let full = annotations.iter().map(|(key, value)| (format!("{PREFIX}{key}"), (*value).to_owned())).collect();
    let reading = read_all(&full, &SPECIFICATION, options);
    assert!(
        reading
            .findings
            .iter()
            .all(|finding| finding.reason != Reason::NoEffectAlone || finding.severity == severity_alone(finding))
    );
    reading.findings.into_iter().map(|finding| (finding.reason, finding.note.to_string())).collect()
}

/// A key that was to protect something is a warning.
fn severity_alone(finding: &Finding) -> Severity {
    let Field::Annotation(key) = &finding.origin.field else { return Severity::Info };
    let row = ANNOTATIONS.find(key.strip_prefix(PREFIX).unwrap()).unwrap();
    if row.on_error == OnError::Close { Severity::Warning } else { Severity::Info }
}

fn without(what: &str) -> (Reason, String) {
    (Reason::NoEffectAlone, format!("it has no effect without {what}"))
}

#[test]
fn a_key_that_counts_with_another_one_has_a_finding_alone_and_closes_nothing() {
    let mut reported = 0;
    for row in ANNOTATIONS.rows().filter(|row| row.is_served()) {
        let is_listed = COUNT_ALONE.contains(&row.key) || PROTECT.contains(&row.key);
        assert_eq!(row.beside.is_empty() || is_listed, row.counts_with.is_empty(), "{}", row.key);
        for (value, gives) in row.all_tries().into_iter().filter(|_| !row.counts_with.is_empty()) {
            if matches!(gives, Gives::Refused(_) | Gives::LeftOut(_)) {
                continue;
            }
            let reading = given(&[(row.key, value)]);
            assert!(!reading.closed && !reading.refused, "{}: {value}", row.key);
            let of_nobody = given(&[]);
            let is_left_out = outline(&reading) == outline(&of_nobody);
            assert!(is_left_out || STAY.contains(&row.key), "{}: {value}", row.key);
            let notes: Vec<_> = reading.findings.iter().map(|found| (found.reason, found.note.to_string())).collect();
            match asks_for_nothing(row, value) {
                true => assert_eq!(notes, [], "{}: {value}", row.key),
                false => assert_eq!(notes, [without(&words(row.counts_with))], "{}: {value}", row.key),
            }
            reported += usize::from(!notes.is_empty());
        }
    }
    assert!(reported > 50, "{reported}");
}

#[test]
fn a_key_that_is_off_or_broken_or_has_no_effect_itself() {
    let options = Options::default();
    let reported = |annotations: &[(&str, &str)]| notes(annotations, &options);
    assert_eq!(reported(&[("enable-cors", "False"), ("cors-max-age", "5")]), [without("enable-cors: true")]);
    assert_eq!(reported(&[("enable-cors", "1"), ("cors-max-age", "5")]), []);
    // The fault of the other annotation is reported at that one only.
    let broken = reported(&[("affinity", "ip"), ("session-cookie-name", "route")]);
    assert_eq!(broken.iter().map(|(reason, _)| *reason).collect::<Vec<_>>(), [Reason::InvalidValue]);
    // There is a worse finding about it already, and findings about a key with an effect are
    // absent.
    let worse = reported(&[("session-cookie-name", "a b")]);
    assert_eq!(worse.iter().map(|(reason, _)| *reason).collect::<Vec<_>>(), [Reason::InvalidValue]);
    assert_eq!(reported(&[("affinity-mode", "persistent")]), [without("affinity: cookie")]);
    // A key that depends on one that depends on another one.
    let chain = [("auth-cache-duration", "200 5m"), ("auth-cache-key", "$http_authorization")];
    assert_eq!(reported(&chain), [without("auth-url"), without("auth-url")]);
    assert_eq!(reported(&[("limit-rate-after", "5"), ("limit-rate", "0")]), [without("limit-rate")]);
    assert_eq!(reported(&[("limit-whitelist", "10.0.0.0/8"), ("limit-rpm", "1")]), []);
    assert_eq!(reported(&[("affinity-canary-behavior", "legacy"), ("canary", "true")]), []);
    let redirects = [("proxy-redirect-from", "http://backend/"), ("proxy-redirect-to", "https://example.com/")];
    assert_eq!(reported(&redirects), []);
    assert_eq!(reported(&redirects[..1]), [without("proxy-redirect-to")]);
}

#[test]
fn what_the_administrator_says_counts_beside_it_where_it_does() {
    let options = |key, value| Options { defaults: [said_for_all(key, value)].into(), ..Options::default() };
    let multiplier = [("limit-burst-multiplier", "3")];
    assert_eq!(notes(&multiplier, &options("limit-rps", "5")), []);
    assert_eq!(notes(&multiplier, &options("limit-rps", "0")), [without("limit-rps or limit-rpm")]);
    // The service for all objects uses the administrator's options, and not those of an object.
    let common = options("auth-url", "http://192.0.2.1/check");
    assert_eq!(notes(&[("auth-method", "HEAD")], &common), [without("auth-url")]);
}

#[test]
fn a_snippet_may_bring_what_a_key_counts_with_and_a_key_that_counts_with_another() {
    let mut options = Options::default();
    let entry = crate::AllowedSnippets {
        items: SnippetKind::ALL.to_vec(),
        namespaces: vec!["default".into()],
        ..Default::default()
    };
    options.snippets = vec![entry];
    let snippet = |text| ("configuration-snippet", text);
    assert_eq!(notes(&[snippet("limit_rate 5k;"), ("limit-rate-after", "5")], &options), []);
    let alone = (Reason::NoEffectAlone, "limit-rate-after has no effect without limit-rate".to_owned());
    assert_eq!(notes(&[snippet("limit_rate_after 5k;")], &options), [alone]);
    assert_eq!(notes(&[("auth-snippet", "proxy_set_header X-A b;")], &options), [without("auth-url")]);
}

#[test]
fn keys_of_a_canary_that_count_on_its_main_object_are_reported() {
    let mut reported = BTreeSet::new();
    for row in ANNOTATIONS.rows().filter(|row| row.is_served()) {
        let sets = row.all_tries().into_iter().find(|(_, gives)| matches!(gives, Gives::Sets(_)));
        let Some((value, _)) = sets else { continue };
        let beside = row.beside.iter().copied().filter(|(key, _)| *key != row.key);
        let all: Vec<_> = beside.chain([("canary", "true"), (row.key, value)]).collect();
        let field = Field::Annotation(format!("{PREFIX}{}", row.key).into());
        let reading = given(&all);
        let found = reading.findings.iter().find(|finding| finding.origin.field == field);
        match found {
            Some(finding) if finding.reason == Reason::NoEffectAlone => {
                assert_eq!(finding.severity, severity_alone(finding), "{}", row.key);
                assert!(finding.note.contains("on a canary"), "{finding}");
                reported.insert(row.key);
            }
            found => assert!(row.counts_on_canary, "{}: {found:?}", row.key),
        }
    }
    let counts = ["affinity", "canary-weight", "load-balance", "service-upstream", "upstream-hash-by"];
    assert!(counts.iter().all(|key| !reported.contains(key)), "{reported:?}");
    assert!(["auth-url", "proxy-body-size", "rewrite-target", "server-alias"].iter().all(|key| reported.contains(key)));
}
