//! What rows say of themselves beside ingress-nginx; these tests must not know what they do.

use crate::translate::ANNOTATIONS;
use crate::translate::annotation::Compared;

/// What has no effect is told to be refused, but for keys that ingress-nginx itself ignores.
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
