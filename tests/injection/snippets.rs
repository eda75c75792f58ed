//! Snippets of a namespace that may use them: a hostile one affects only its own routes, and only
//! with allowed directives.

use std::collections::BTreeSet;

use ingressd_model::Field;
use ingressd_model::finding::Finding;
use proptest::prelude::*;
use proptest::test_runner::{TestCaseError, TestRunner};
use serde_json::{Value, json};

use crate::corpus::{around, corpus};
use crate::fields::{ingress, service, surroundings};
use crate::inputs::SCRIBES;
use crate::pipeline::{Outcome, Shape, of};

/// What a snippet can add to a location, in nginx's words.
const ADDED: &[&str] = &[
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
];

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

fn host(number: usize) -> String {
    format!("c{number}.test")
}

/// One object for each snippet, each with a host of its own, beside a bystander without snippets.
fn run(key: &str, snippets: &[String]) -> Outcome {
    let object = |(number, snippet): (usize, &String)| {
        let mut object = ingress(SCRIBES, &format!("c{number}"), "nginx", &host(number), "own");
        object["metadata"]["annotations"] = json!({ format!("nginx.ingress.kubernetes.io/{key}"): snippet });
        object
    };
    let mut objects: Vec<Value> = snippets.iter().enumerate().map(object).collect();
    objects.extend(service(SCRIBES, "own", "10.244.9.9"));
    objects.extend(surroundings());
    of(&objects)
}

/// The names of all directives with the blocks around them.
fn names(shapes: &[Shape], path: &[String], into: &mut BTreeSet<Vec<String>>) {
    for Shape(name, _, block) in shapes {
        let path = [path, std::slice::from_ref(name)].concat();
        names(block.as_deref().unwrap_or_default(), &path, into);
        into.insert(path);
    }
}

fn check(key: &str, snippets: &[String]) -> Result<usize, String> {
    let outcome = run(key, snippets);
    outcome.check();
    let mut usual = BTreeSet::new();
    let plain = run(key, &["# nothing".to_owned()]).tree(&host(0)).expect("a comment is served");
    plain.iter().for_each(|tree| names(tree, &[], &mut usual));
    let mut served = 0;
    for (number, snippet) in snippets.iter().enumerate() {
        let Some(tree) = outcome.tree(&host(number)) else {
            // Text that is not YAML becomes no object.
            let is_about = |finding: &Finding| {
                *finding.origin.object.name == format!("c{number}") || matches!(finding.origin.field, Field::Line(_))
            };
            let told = outcome.findings.iter().any(is_about);
            if !told {
                return Err(format!("{snippet:?} is neither served nor told of"));
            }
            continue;
        };
        served += 1;
        let blocks = |tree: &[Vec<Shape>]| {
            let servers = tree.iter().flatten().filter(|shape| shape.0 == "server").count();
            let inner = tree.iter().flatten().flat_map(|shape| shape.2.iter().flatten());
            (servers, inner.filter(|shape| shape.0 == "location").count())
        };
        if blocks(&tree) != blocks(&plain) {
            return Err(format!("{snippet:?} makes blocks"));
        }
        let mut found = BTreeSet::new();
        tree.iter().for_each(|tree| names(tree, &[], &mut found));
        let strange = found.difference(&usual).find(|path| {
            let is_within = path.starts_with(&["server".to_owned(), "location".to_owned()]);
            !is_within || path[2..].iter().any(|name| !ADDED.contains(&name.as_str()))
        });
        if let Some(strange) = strange {
            return Err(format!("{snippet:?} says {strange:?}"));
        }
    }
    // No snippet changes the bystander's files.
    let bystander = |outcome: &Outcome| outcome.bytes("bystander.test");
    if bystander(&outcome).is_none() || bystander(&outcome) != bystander(&run(key, &[])) {
        return Err("the files of another tenant changed".to_owned());
    }
    Ok(served)
}

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
