//! Snippets of a namespace that may use them: a hostile one affects only its own routes, and only
//! with allowed directives.

use proptest::prelude::*;
use proptest::test_runner::{TestCaseError, TestRunner};

use crate::confinement::{self, Allowed};
use crate::corpus::{around, corpus};

/// What these snippets can add.
const ALLOWED: Allowed = Allowed {
    added: &[
        "add_header",
        "break",
        "charset",
        "client_max_body_size",
        "default_type",
        "expires",
        "gzip",
        "if",
        "proxy_cookie_path",
        "proxy_hide_header",
        "proxy_read_timeout",
        "proxy_set_header",
        "return",
        "rewrite",
        "set",
        "sub_filter",
        "sub_filter_once",
        "allow",
        "deny",
        "satisfy",
    ],
    shared: &[],
};

fn check(key: &str, snippets: &[String]) -> Result<usize, String> {
    confinement::check(key, snippets, &ALLOWED)
}

/// Snippets with a hole, in each place where a text may stand.
const HOLES: &[&str] = &[
    "HOLE",
    "add_header X-A HOLE;",
    "add_header X-A \"HOLE\";",
    "add_header X-A 'HOLE' always;",
    "add_header HOLE b;",
    "more_set_headers \"X-A: HOLE\";",
    "proxy_set_header X-A \"HOLE\";",
    "proxy_set_header HOLE b;",
    "return 200 \"HOLE\";",
    "return 301 \"https://a.test/HOLE\";",
    "rewrite \"HOLE\" /x break;",
    "rewrite ^ \"/HOLE\" break;",
    "if ($http_x = \"HOLE\") { return 403; }",
    "if ($http_x ~ \"HOLE\") { return 403; }",
    "if (HOLE) { return 403; }",
    "if ($http_x) { HOLE }",
    "set $x \"HOLE\";",
    "set $HOLE x;",
    "sub_filter \"HOLE\" b;",
    "sub_filter a \"HOLE\";",
    "proxy_cookie_path / \"HOLE\";",
    "proxy_read_timeout HOLE;",
    "client_max_body_size HOLE;",
    "deny HOLE;",
    "expires HOLE;",
    "default_type HOLE;",
    "# HOLE\nadd_header X-A b;",
];

#[test]
fn nothing_hostile_gets_out_of_a_snippet() {
    let hostile: Vec<_> = corpus().into_iter().filter(|text| text.len() < 5000).collect();
    for key in ["configuration-snippet", "server-snippet"] {
        let filled: Vec<String> =
            HOLES.iter().flat_map(|hole| hostile.iter().map(|text| hole.replace("HOLE", text))).collect();
        let mut served = 0;
        for part in filled.chunks(400) {
            served += check(key, part).unwrap_or_else(|wrong| panic!("{key}: {wrong}"));
        }
        // A text that is harmless in its place is served.
        assert!(served > 100, "{key}: {served}");
        let behind = around("add_header X-A b;").into_iter().filter(|text| text.len() < 5000).collect::<Vec<_>>();
        check(key, &behind).unwrap_or_else(|wrong| panic!("{key}: {wrong}"));
    }
}

#[test]
fn no_string_at_all_gets_out_of_a_snippet() {
    let short: Vec<_> = corpus().into_iter().filter(|text| text.len() < 200).collect();
    let piece = prop_oneof![
        3 => prop::sample::select(short),
        3 => prop::sample::select(HOLES.to_vec()).prop_map(str::to_owned),
        2 => "[a-z0-9/.:$,;{}\"'\\\\ #-]{1,12}",
        1 => any::<String>(),
    ];
    let settings = ProptestConfig { cases: 20, failure_persistence: None, ..ProptestConfig::default() };
    let snippets = prop::collection::vec(prop::collection::vec(piece, 1..5).prop_map(|pieces| pieces.concat()), 1..60);
    let result = TestRunner::new(settings)
        .run(&snippets, |snippets| check("configuration-snippet", &snippets).map(drop).map_err(TestCaseError::fail));
    result.unwrap_or_else(|error| panic!("{error}"));
}
