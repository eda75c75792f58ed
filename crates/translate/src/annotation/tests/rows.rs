//! The comparison of rows with ingress-nginx.

use std::collections::BTreeSet;

use crate::ANNOTATIONS;
use crate::annotation::Compared;

/// A key without effect is marked as refused, unless ingress-nginx ignores it too.
#[test]
fn rows_say_what_they_are_beside_ingress_nginx() {
    for row in ANNOTATIONS.rows() {
        let is_ignored = row.documentation.contains("Removed from ingress-nginx") || row.key == "http2-push-preload";
        let is_refused = matches!(row.compared, Compared::Refused(..));
        assert_eq!(is_refused, !row.is_served() && !is_ignored, "{}: {:?}", row.key, row.compared);
        let (why, _) = row.compared.words();
        assert!(row.compared == Compared::Equal || why.ends_with('.'), "{}: {why:?} is no sentence", row.key);
    }
}

#[test]
fn rows_are_sorted_and_keys_are_unique() {
    let mut seen = BTreeSet::new();
    for family in ANNOTATIONS.families {
        assert!(family.rows.is_sorted_by_key(|row| row.key), "{}", family.title);
    }
    for row in ANNOTATIONS.rows() {
        for name in std::iter::once(&row.key).chain(row.aliases) {
            assert!(seen.insert(*name), "{name} is there twice");
        }
    }
}
