//! Snippets of the ConfigMap, which the settings allow by kind and namespace.

use super::*;

#[test]
fn snippets_that_count_for_all_objects_are_allowed_one_by_one() {
    let with = |kinds: &[SnippetKind], data: &[(&str, &str)]| {
        let mut settings = settings();
        let (namespaces, items) = (vec!["edge".into()], kinds.to_vec());
        settings.translate.snippets =
            vec![ingressd_translate::AllowedSnippets { namespaces, items, ..Default::default() }];
        settings.layered(&snapshot(data))
    };
    let map = ("http-snippet", "map $http_x_plan $plan { default free; }");
    let reads = ("location-snippet", "add_header X-Plan $plan;");
    let both = [SnippetKind::Http, SnippetKind::Location];
    let layered = with(&both, &[map, reads]);
    assert_eq!((layered.findings.as_slice(), layered.refused.as_ref()), (&[][..], None));
    assert_eq!(layered.settings.translate.lookup_tables.len(), 1);
    // Otherwise nothing is read, and an invalid one leaves the last good version.
    let off = with(&[SnippetKind::Location], &[map, reads]);
    assert_eq!((off.settings.translate.lookup_tables.len(), off.refused.is_some()), (0, true));
    let reported = reported(&off);
    assert!(
        reported[0].contains("http-snippet: UnsupportedKey") || reported[0].contains("UnsupportedKey"),
        "{reported:?}"
    );
    let bad = with(&both, &[("http-snippet", "log_format x 'y';")]);
    assert_eq!((bad.findings[0].reason, bad.refused.is_some()), (Reason::RefusedValue, true));
    for (kind, text, expected) in [
        (SnippetKind::Stream, "deny 192.0.2.1;", (1, None, false)),
        (SnippetKind::Http, "deny 192.0.2.1;", (0, Some(Reason::UnsupportedKey), false)),
        (SnippetKind::Stream, "server { listen 1; }", (0, Some(Reason::RefusedValue), true)),
    ] {
        let Layered { settings, findings, refused } = with(&[kind], &[("stream-snippet", text)]);
        let all = settings.translate.streams.policy.directives.len();
        assert_eq!((all, findings.first().map(|finding| finding.reason), refused.is_some()), expected);
    }
    let question = ("global-auth-snippet", "proxy_set_header X-A b;");
    assert_eq!(with(&[SnippetKind::Auth], &[question]).settings.translate.defaults.len(), 1);
    assert_eq!(with(&both, &[question]).settings.translate.defaults.len(), 0);
}
