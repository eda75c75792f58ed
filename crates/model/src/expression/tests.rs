//! Which expressions are accepted, with which weight, and which are refused and why.

use super::{anywhere, effort, parse, size, weight, weight_anywhere};

/// An expression, and its weight or a part of the error.
const JUDGED: &[(&str, Result<u32, &str>)] = &[
    // Usual expressions.
    ("/", Ok(1)),
    ("/api(/|$)(.*)", Ok(1)),
    ("/(?!foo).*", Ok(1)),
    ("^/a/[^/]+/b$", Ok(1)),
    ("/v[12]/(users|orders)/?(.*)", Ok(1)),
    ("/something(/|$)(.*)", Ok(1)),
    ("/(.*)", Ok(1)),
    ("/.*", Ok(1)),
    ("/()(.*)", Ok(1)),
    ("/app/?(.*)", Ok(1)),
    ("/(.+)/(.+)", Ok(25)),
    ("/(.*)\\.(png|jpe?g|gif|css|js|ico|svg|woff2?)$", Ok(1)),
    ("/(?i)Shop/[a-z0-9-]+\\.html", Ok(1)),
    ("/users/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/?$", Ok(1)),
    ("/([a-z]{2})(-[A-Z]{2})?/(.*)", Ok(1)),
    ("/(?:[a-z0-9_-]+/)*index\\.html$", Ok(1)),
    ("/(?!api/|static/|healthz$)[^.]*$", Ok(1)),
    ("/(?:(?!\\.php).)*$", Ok(1)),
    ("(/[^/]+)*/edit", Ok(1)),
    ("/[[:alnum:]]+/\\d{1,5}", Ok(1)),
    ("/c(?>ab|a)c", Ok(1)),
    ("/a*+a", Ok(1)),
    ("/users/{id}/x", Ok(1)),
    ("/users/{}/a{}", Ok(1)),
    ("/ärger/[äöü]+", Ok(1)),
    ("/(?<!x)y", Ok(1)),
    ("/(users|units|orders|offers)*", Ok(1)),
    ("/(a|b|[c-f])+x", Ok(1)),
    // They scan the path again from each byte.
    ("/(.*)/(.*)\\.php$", Ok(25)),
    ("/(.+)/(.+)/x", Ok(25)),
    ("/(.*)/(.*)/(.*)", Ok(25)),
    ("/(?:.?){10}x", Ok(1)),
    ("/.*[^/]*x", Ok(25)),
    ("/.*[^/]*/x", Ok(101)),
    ("/.*[^/]*+x", Ok(201)),
    ("/.*?a+[^/]*+[^/][^a]b", Err("again and again")),
    ("/(.*)/(.*)/(.*)/(.*)", Ok(25)),
    // They have too many ways to match.
    ("/(.*)(.*)(.*)(.*)x", Err("too many ways")),
    ("/(a+)+[bc]", Err("too many ways")),
    ("/(a+)+", Err("too many ways")),
    ("/(a*)*b", Err("too many ways")),
    ("/(a|a)*b", Err("too many ways")),
    ("/(A|a)*b", Err("too many ways")),
    (
        "/(a|a)(a|a)(a|a)(a|a)(a|a)(a|a)(a|a)(a|a)(a|a)(a|a)(a|a)(a|a)(a|a)(a|a)(a|a)(a|a)(a|a)(a|a)x",
        Err("too many ways"),
    ),
    ("/(?:.?){30}[~^]", Err("too many ways")),
    ("/(?:a{0,30}){0,30}b", Err("too many ways")),
    ("/(.*,){11}P", Err("too many ways")),
    ("/([a-z0-9-]+/?)+$", Err("too many ways")),
    ("/(?=(a+)+b)", Err("too many ways")),
    ("/(?>(a+)+b)", Err("too many ways")),
    ("/((a|ab)(c|bcd))*x", Err("too many ways")),
    ("/((((((a*)*)*)*)*)*)*", Err("")),
    ("/(\\w+\\d+)+x", Err("too many ways")),
    ("/(?-i)([^a]|A)*x", Err("too many ways")),
    ("/([[a]b]|c)*x", Ok(1)),
    // They are too large.
    ("/(?:[ab][cd][ef]){470}", Err("takes nginx")),
    ("/(?:(?:(?:[ab]x){20}){20}){20}", Err("takes nginx")),
    ("/[a-z]{1,60000}", Ok(1)),
    // They use features that are not supported.
    ("/(a)\\1", Err("reference back")),
    ("/(a)\\g{1}", Err("reference back")),
    ("/(?R)", Err("cannot be bounded")),
    ("/(?1)", Err("cannot be bounded")),
    ("/(?|a|b)", Err("cannot be bounded")),
    ("/(?x) a", Err("cannot be bounded")),
    ("/(?(?=a)a|b)", Err("cannot be bounded")),
    ("/(*COMMIT)a", Err("orders")),
    ("/\\Qa+\\E", Err("\\Q")),
    ("/\\Ka", Err("\\K")),
    ("/a{,3}", Err("differ")),
    ("/a{ 1}", Err("differ")),
    // They have mistakes, which nginx would refuse.
    ("/(", Err("does not close")),
    ("/a)", Err("does not open")),
    ("/[a", Err("does not close")),
    ("/[]", Err("does not close")),
    ("/a**", Err("nothing to repeat")),
    ("/(?:*)", Err("nothing to repeat")),
    ("/|*", Err("nothing to repeat")),
    ("/a\\", Err("ends in a backslash")),
    ("/[z-a]", Err("range")),
    ("/[\\w-a]", Err("range")),
    ("/[[:alhpa:]]", Err("names no class")),
    ("/a{3,2}", Err("order")),
    ("/a{70000}", Err("65535")),
    ("/$*", Err("takes no character")),
];

#[test]
fn expressions_are_judged() {
    let mut wrong = Vec::new();
    for (text, expected) in JUDGED {
        match (weight(text), expected) {
            (Ok(given), Ok(expected)) if given == *expected => {}
            (Err(given), Err(expected)) if given.to_string().contains(expected) => {}
            (given, _) => {
                let node = parse::parse(text);
                let steps = node.map(|node| {
                    [super::SHORT, super::LONG]
                        .map(|length| effort::effort(&node, length, super::MOST_STEPS, super::PATIENCE))
                });
                wrong.push(format!("{text} is judged {given:?}, not {expected:?}: {steps:?}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// An expression that may match anywhere, how it is written, and its weight for 8 KB and for 32
/// KB.
const ANYWHERE: &[(&str, &str, Option<[u32; 2]>)] = &[
    // Usual expressions.
    ("curl|wget|python-requests", "\\A(?s:.*?)(?:curl|wget|python-requests)", Some([1, 4])),
    ("/\\.(git|svn)", "\\A(?s:.*?)/\\.(git|svn)", Some([1, 4])),
    ("curl", "curl", Some([4, 13])),
    ("", "", Some([1, 1])),
    ("^/moved/([^?]*)", "^/moved/([^?]*)", Some([1, 4])),
    ("(?i)^v[12]$", "(?i)^v[12]$", Some([1, 4])),
    (".*bot.*", ".*bot.*", Some([1, 4])),
    ("(.*)", "(.*)", Some([1, 4])),
    // They scan the rest of the text from each byte.
    ("bot.*google", "\\A(?s:.*?)bot.*google", Some([25, 25])),
    ("/.+/x", "\\A(?s:.*?)/.+/x", Some([25, 25])),
    ("/(.+)/(.+)/x", "\\A(?s:.*?)/(.+)/(.+)/x", None),
    ("^a|b.*c", "\\A(?s:.*?)(?:^a|b.*c)", None),
    ("(.*)?b.*c", "\\A(?s:.*?)(.*)?b.*c", None),
    ("[^/]*/x", "\\A(?s:.*?)[^/]*/x", None),
];

#[test]
fn what_may_match_anywhere_begins_once() {
    let mut wrong = Vec::new();
    for (text, written, weights) in ANYWHERE {
        let judged = [8 << 10, 32 << 10].map(|longest| weight_anywhere(text, longest).ok());
        let expected = weights.map(|weights| weights.map(Some));
        let is_right = expected.map_or(judged[1].is_none(), |expected| judged == expected);
        if !is_right || anywhere(text) != *written {
            wrong.push(format!("{text} is written {} and judged {judged:?}", anywhere(text)));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn every_note_is_a_clause_for_people() {
    for (text, _) in JUDGED {
        if let Err(refused) = weight(text) {
            let note = refused.to_string();
            assert!(note.len() < 300 && !note.ends_with('.') && !note.contains("  "), "{note}");
        }
    }
}

#[test]
fn what_is_nested_or_long_is_judged_in_bounded_time() {
    let nested = format!("/{}a{}", "(".repeat(1900), ")*".repeat(1900));
    assert!(weight(&nested).unwrap_err().to_string().contains("nested deeper"));
    let nested = format!("/{}a{}", "(?:".repeat(29), ")*b".repeat(29));
    assert!(weight(&nested).is_err());
    assert_eq!(weight(&format!("/{}", "a".repeat(3900))), Ok(1));
    assert!(weight(&format!("/{}", "a|".repeat(1500))).is_ok());
}

#[test]
fn the_size_follows_what_is_copied() {
    let of = |text: &str| parse::parse(text).map(|node| size::size(&node)).unwrap();
    assert_eq!(of("/abc"), 8);
    assert!(of("[ab]{470}") < 100, "one thing that is repeated is not copied");
    assert!(of("(?:[abc]d){470}") > 470 * 35);
    assert!(of("(?:(?:[abc]d){47}){10}") > 470 * 35);
    assert!(of("(?:(?:(?:(?:a{2,9}b){9999}){9999}){9999}){9999}") > u64::from(u32::MAX), "it does not overflow");
}
