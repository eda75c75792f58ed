//! The order of objects and caches change nothing.

use std::sync::Arc;

use proptest::prelude::*;

use super::manifests::{snapshot, sort};
use super::{options, translate, world};
use crate::Translator;

/// No two of them contain the same object, because a snapshot has each once.
const CASES: [&str; 5] = [
    include_str!("../../../../tests/golden/conflicts.yaml"),
    include_str!("../../../../tests/golden/endpoints.yaml"),
    include_str!("../../../../tests/golden/tls.yaml"),
    include_str!("../../../../tests/golden/paths-ingress-nginx.yaml"),
    include_str!("../../../../tests/golden/rewrite-specification.yaml"),
];

#[test]
fn memory_changes_nothing_and_keeps_what_is_equal() {
    let mut translator = Translator::new(options());
    for documents in CASES.iter().chain(&CASES) {
        let fresh = translate(documents, options());
        let remembered = translator.translate(&snapshot(documents), &world(), &Default::default());
        assert_eq!((&remembered.model, &remembered.tables), (&fresh.model, &fresh.tables));
        assert_eq!(remembered.findings, fresh.findings);
        let again = translator.translate(&snapshot(documents), &world(), &Default::default());
        assert!(Arc::ptr_eq(&again.model, &remembered.model) && Arc::ptr_eq(&again.tables, &remembered.tables));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(32) })]

    #[test]
    fn shuffled_documents_give_the_same(
        documents in Just(CASES.join("\n---\n").split("\n---\n").map(|text| text.trim().to_owned()).collect::<Vec<_>>()).prop_shuffle(),
    ) {
        let expected = translate(&CASES.join("\n---\n"), options());
        let mut shuffled = snapshot(&documents.join("\n---\n"));
        sort(&mut shuffled);
        let got = Translator::new(options()).translate(&shuffled, &world(), &Default::default());
        prop_assert_eq!((got.model, got.tables), (expected.model, expected.tables));
        prop_assert_eq!(got.findings, expected.findings);
        prop_assert_eq!(got.states, expected.states);
    }
}
