//! The corpus and arbitrary strings in every field: the value is refused, or the tree of
//! directives stays the same.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use ingressd_model::Field as Place;
use ingressd_model::catalogue::Version;
use proptest::prelude::*;
use proptest::test_runner::TestRunner;

use crate::corpus::{around, corpus};
use crate::fields::{Field, annotations, host, plain, surroundings};
use crate::inputs::snapshot;
use crate::pipeline::{Outcome, Shape, VERSIONS, produce, yaml};

const CLASSES: [&str; 2] = ["ingressd", "nginx"];

type Tree = Vec<Vec<Shape>>;
/// Names of directives from the outermost to one within, and its number of arguments.
type Words = BTreeSet<(Vec<String>, usize)>;

/// Trees that a field may give.
struct Allowed {
    /// The trees without a finding: those of harmless values, and the one without a value.
    trees: Vec<Tree>,
    /// The words that may be in the trees with a finding: those of the trees above, and those of a
    /// closed route.
    words: Words,
}

/// The bystander's files when it is alone, for each version.
static UNDISTURBED: LazyLock<Vec<BTreeMap<String, Vec<u8>>>> = LazyLock::new(|| {
    let alone = |version: &Version| run(&[], "nginx", *version).0.bytes("bystander.test").unwrap();
    VERSIONS.iter().map(alone).collect()
});

/// The results of the cases, and the line behind each of them.
fn run(cases: &[(&Field, Option<&str>)], class: &str, version: Version) -> (Outcome, Vec<u32>) {
    let mut text = String::new();
    let (mut line, mut ends) = (0, Vec::new());
    for (number, (field, value)) in cases.iter().enumerate() {
        let documents = yaml(&field.objects(number, class, *value));
        line += u32::try_from(documents.lines().count()).unwrap();
        ends.push(line);
        text.push_str(&documents);
    }
    text.push_str(&yaml(&surroundings()));
    (produce(&snapshot(&text), &[version]).remove(0), ends)
}

fn words(shapes: &[Shape], within: &[String], into: &mut Words) {
    for Shape(name, arguments, block) in shapes {
        let path = [within, std::slice::from_ref(name)].concat();
        words(block.as_deref().unwrap_or_default(), &path, into);
        into.insert((path, *arguments));
    }
}

fn allowed(field: &Field, class: &str, version: Version) -> Allowed {
    let values = field.harmless.iter().map(|value| Some(value.as_str())).chain([None]);
    let cases: Vec<_> = values.map(|value| (field, value)).collect();
    let (outcome, _) = run(&cases, class, version);
    // The value is tried without the others, because some values change what all hosts have.
    let (alone, _) = run(&[(field, None)], class, version);
    let trees = (0..cases.len()).filter_map(|number| outcome.tree(&host(number)));
    let trees: Vec<_> = trees.chain(alone.tree(&host(0))).collect();
    assert!(!trees.is_empty(), "{}: nothing harmless is served", field.name);
    let mut known = BTreeSet::new();
    trees.iter().flatten().for_each(|tree| words(tree, &[], &mut known));
    known.insert((vec!["server".to_owned(), "location".to_owned(), "return".to_owned()], 2));
    // That of an upstream without endpoints.
    known.insert((vec!["upstream".to_owned(), "server".to_owned()], 3));
    Allowed { trees, words: known }
}

/// The cases about which there is a finding: about one of its objects, or its lines when they
/// became no object.
fn reported(outcome: &Outcome, ends: &[u32]) -> BTreeSet<usize> {
    let of_name = |name: &str| name.strip_prefix('c')?.split('-').next()?.parse().ok();
    let numbers = outcome.findings.iter().filter_map(|finding| match finding.origin.field {
        Place::Line(line) => Some(ends.partition_point(|end| *end < line)),
        _ => of_name(&finding.origin.object.name),
    });
    numbers.collect()
}

/// Where TLS of a host is passed through, nginx listens on other sockets for all hosts, so this
/// field is not judged together with others; tests/tenants sends requests to the others.
fn moves_listeners(field: &Field) -> bool {
    field.name.ends_with("/ssl-passthrough")
}

/// What is wrong with these cases; empty when nothing is.
fn judge(cases: &[(&Field, &str, &Allowed)], class: &str, version: usize) -> Vec<String> {
    let planted: Vec<_> = cases.iter().map(|(field, value, _)| (*field, Some(*value))).collect();
    let (outcome, ends) = run(&planted, class, VERSIONS[version]);
    outcome.check();
    let mut wrong = Vec::new();
    let moved = cases.iter().any(|(field, ..)| moves_listeners(field));
    if !moved && outcome.bytes("bystander.test").as_ref() != Some(&UNDISTURBED[version]) {
        wrong.push(format!("{}: the files of another tenant changed", cases[0].0.name));
    }
    let reported = reported(&outcome, &ends);
    for (number, (field, value, allowed)) in cases.iter().enumerate() {
        let tree = outcome.tree(&host(number));
        let mut found = BTreeSet::new();
        tree.iter().flatten().for_each(|tree| words(tree, &[], &mut found));
        let strange: Vec<_> = found.difference(&allowed.words).collect();
        let same = tree.as_ref().is_some_and(|tree| allowed.trees.contains(tree));
        if !strange.is_empty() || !(same || reported.contains(&number)) {
            let served = if tree.is_some() { "served" } else { "not served" };
            wrong.push(format!("{} ({class}): {value:.80?}: {served}, {strange:?}", field.name));
        }
    }
    wrong
}

/// Each field with one of the dialects and one of the versions; neighbouring fields have others.
fn judge_all(fields: &[Field]) {
    let mut wrong = Vec::new();
    for (number, field) in fields.iter().enumerate() {
        let (class, version) = (CLASSES[number % CLASSES.len()], number % VERSIONS.len());
        let allowed = allowed(field, class, VERSIONS[version]);
        let mut values = field.harmless.first().map_or_else(corpus, |harmless| around(harmless));
        if !field.is_served {
            values = values.into_iter().step_by(5).collect();
        }
        let cases: Vec<_> = values.iter().map(|value| (field, value.as_str(), &allowed)).collect();
        wrong.extend(judge(&cases, class, version));
    }
    assert!(wrong.is_empty(), "{} are wrong:\n{}", wrong.len(), wrong[..wrong.len().min(40)].join("\n"));
}

#[test]
fn no_field_of_an_object_carries_more_than_a_value() {
    judge_all(&plain());
}

#[test]
fn no_annotation_carries_more_than_a_value() {
    judge_all(&annotations());
}

#[test]
fn no_string_at_all_carries_more_than_a_value() {
    let fields: Vec<_> = plain().into_iter().chain(annotations()).collect();
    let allowed: Vec<_> = fields.iter().map(|field| allowed(field, "nginx", VERSIONS[1])).collect();
    let short: Vec<_> = corpus().into_iter().filter(|text| text.len() < 1000).collect();
    let piece = prop_oneof![
        3 => prop::sample::select(short),
        2 => any::<String>(),
        1 => "[a-z0-9/.:$,;{}\"'\\\\ -]{1,12}",
    ];
    let hostile = (0..fields.len(), prop::collection::vec(piece, 1..4), any::<bool>());
    let settings = ProptestConfig { cases: 30, failure_persistence: None, ..ProptestConfig::default() };
    let result = TestRunner::new(settings).run(&prop::collection::vec(hostile, 1..60), |planted| {
        let value = |field: usize, pieces: &[String], behind: bool| {
            let harmless = fields[field].harmless.first().filter(|_| behind).cloned().unwrap_or_default();
            harmless + &pieces.concat()
        };
        let values = planted.iter().map(|(field, pieces, behind)| (*field, value(*field, pieces, *behind)));
        // A harmless value is no hostile one: an endpoint more of a Service changes all its hosts.
        let values: Vec<_> = values.filter(|(field, value)| !fields[*field].harmless.contains(value)).collect();
        let cases = values.iter().map(|(field, value)| (&fields[*field], value.as_str(), &allowed[*field]));
        let (moving, others): (Vec<_>, Vec<_>) = cases.partition(|(field, ..)| moves_listeners(field));
        let wrong = [judge(&others, "nginx", 1), judge(&moving, "nginx", 1)].concat();
        prop_assert!(wrong.is_empty(), "{wrong:#?}");
        Ok(())
    });
    result.unwrap_or_else(|error| panic!("{error}"));
}
