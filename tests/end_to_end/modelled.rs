//! Random Ingresses and requests beside a model of routing that is written from the specification
//! of Ingress and from the documentation of ingress-nginx: the real nginx and `ingressd explain`
//! say what the model says, whatever stood there before. It must not know how the daemon does it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select, subsequence};
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;

use super::explained::explained;
use rig::Rig;
use rig::client::get;
use rig::manifests::ingress;

/// How many drawings are served one after another, where the environment does not say more.
const CASES: usize = 20;

/// The Services that answer: one for each path of an object.
const SERVICES: [&str; 12] = ["s0", "s1", "s2", "s3", "s4", "s5", "s6", "s7", "s8", "s9", "s10", "s11"];

const HOSTS: [&str; 3] = ["a", "*", "b"];
const PATHS: [&str; 9] = ["/", "/a", "/a/", "/a/b", "/a/b/", "/ab", "/A", "/b/a", "/b"];
const REQUESTS: [&str; 13] =
    ["/", "/a", "/a/", "/a/b", "/a/b/", "/a/b/c", "/a/c", "/ab", "/abc", "/A/x", "/b/a", "/b/", "/c"];

/// An expression, and what of these requests it matches at its beginning without regard to case.
type Expression = (&'static str, fn(&str) -> bool);

const EXPRESSIONS: [Expression; 5] = [
    ("/(.*)", |_| true),
    ("/a(/|$)(.*)", |path| path == "/a" || path.starts_with("/a/")),
    ("/a.*", |path| path.starts_with("/a")),
    ("/[bc]/[a-z]", |path| ["/b/a", "/c/a"].iter().any(|start| path.starts_with(start))),
    ("/a/b$", |path| path == "/a/b"),
];

/// How an object reads paths.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reads {
    /// As the specification of Ingress says.
    Specification,
    /// As ingress-nginx does.
    IngressNginx,
    /// As ingress-nginx does on hosts with `use-regex`.
    Expressions,
}

#[derive(Debug, Clone)]
struct Path {
    kind: &'static str,
    path: &'static str,
    service: &'static str,
}

#[derive(Debug, Clone)]
struct Object {
    reads: Reads,
    hosts: Vec<&'static str>,
    paths: Vec<Path>,
    /// The oldest comes first where two ask for the same; no two are of the same age.
    year: usize,
}

impl Reads {
    /// Each has hosts of its own: classes of both dialects do not share them here.
    fn domain(self) -> &'static str {
        match self {
            Reads::Specification => "specification.test",
            Reads::IngressNginx => "controller.test",
            Reads::Expressions => "expressions.test",
        }
    }

    fn path(self) -> BoxedStrategy<(&'static str, &'static str)> {
        let kinds: &[_] = match self {
            Reads::Specification => &["Prefix", "Exact"],
            Reads::IngressNginx => &["Prefix", "Exact", "ImplementationSpecific"],
            Reads::Expressions => {
                let expressions = EXPRESSIONS.map(|(expression, _)| ("ImplementationSpecific", expression));
                return select(expressions.to_vec()).boxed();
            }
        };
        (select(kinds), select(&PATHS[..])).boxed()
    }
}

fn object() -> impl Strategy<Value = (Reads, Vec<&'static str>, Vec<(&'static str, &'static str)>)> {
    let reads = select(&[Reads::Specification, Reads::IngressNginx, Reads::Expressions][..]);
    reads.prop_flat_map(|reads| (Just(reads), subsequence(&HOSTS[..], 1..=2), vec(reads.path(), 1..=3)))
}

/// Objects of different ages in the order of their names.
fn objects() -> impl Strategy<Value = Vec<Object>> {
    (vec(object(), 1..=4), any::<Index>()).prop_map(|(drawn, first)| {
        let (mut services, count) = (SERVICES.into_iter(), drawn.len());
        let numbered = drawn.into_iter().enumerate();
        let object = |(number, (reads, hosts, paths)): (usize, (Reads, _, Vec<_>))| {
            let path = |(kind, path)| Path { kind, path, service: services.next().unwrap() };
            let year = 2001 + (number + first.index(count)) % count;
            Object { reads, hosts, paths: paths.into_iter().map(path).collect(), year }
        };
        numbered.map(object).collect()
    })
}

/// Who may answer a request: Services or statuses. There is more than one where neither the
/// specification nor the documentation decides.
fn model(objects: &[Object], reads: Reads, host: &str, request: &str) -> BTreeSet<String> {
    let mut objects: Vec<_> = objects.iter().filter(|object| object.reads == reads).collect();
    objects.sort_by_key(|object| object.year);
    let of_host = |host: &str| -> Vec<&Path> {
        objects.iter().filter(|object| object.hosts.contains(&host)).flat_map(|object| &object.paths).collect()
    };
    let paths = [host, "*"].into_iter().map(of_host).find(|paths| !paths.is_empty()).unwrap_or_default();
    let answers = match reads {
        Reads::Specification => by_specification(&paths, request),
        Reads::IngressNginx => by_location(&paths, request),
        Reads::Expressions => by_expression(&paths, request),
    };
    match answers.is_empty() {
        true => ["404".to_owned()].into(),
        false => answers,
    }
}

fn names<'a>(paths: impl IntoIterator<Item = &'a Path>) -> BTreeSet<String> {
    paths.into_iter().map(|path| path.service.to_owned()).collect()
}

fn is_below(request: &str, path: &str) -> bool {
    request.strip_prefix(path).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// An equal path wins, then the one with the most elements. Of equal ones the first object has it;
/// whether `/a/` is `/a` as a claim is not said.
fn by_specification(paths: &[&Path], request: &str) -> BTreeSet<String> {
    if let Some(exact) = paths.iter().find(|path| path.kind == "Exact" && path.path == request) {
        return names([*exact]);
    }
    let elements = |path: &Path| path.path.trim_end_matches('/').to_owned();
    let matching = paths.iter().filter(|path| path.kind == "Prefix" && is_below(request, &elements(path)));
    let Some(longest) = matching.clone().map(|path| elements(path).len()).max() else { return BTreeSet::new() };
    let longest = matching.filter(|path| elements(path).len() == longest);
    firsts(longest.copied())
}

/// Of the same text the first counts; different texts that match alike may both.
fn firsts<'a>(paths: impl Iterator<Item = &'a Path>) -> BTreeSet<String> {
    let mut seen = BTreeSet::new();
    names(paths.filter(|path| seen.insert(path.path)))
}

/// `/a` has two locations, `= /a` and `/a/`; a path that ends in `/` has one, and nginx redirects
/// to it.
fn by_location(paths: &[&Path], request: &str) -> BTreeSet<String> {
    if let Some(exact) = paths.iter().find(|path| path.kind == "Exact" && path.path == request) {
        return names([*exact]);
    }
    let is_prefix = |path: &&&Path| path.kind != "Exact";
    let directory = |path: &Path| format!("{}/", path.path.trim_end_matches('/'));
    if let Some(equal) = paths.iter().filter(is_prefix).find(|path| path.path == request && !request.ends_with('/')) {
        return names([*equal]);
    }
    let slash = format!("{request}/");
    if paths.iter().any(|path| path.path == slash) {
        return ["301".to_owned()].into();
    }
    let matching = paths.iter().filter(is_prefix).filter(|path| request.starts_with(&directory(path)));
    let Some(longest) = matching.clone().map(|path| directory(path).len()).max() else { return BTreeSet::new() };
    firsts(matching.filter(|path| directory(path).len() == longest).copied())
}

/// The longest expression that matches; the order of equally long ones is that of their texts.
fn by_expression(paths: &[&Path], request: &str) -> BTreeSet<String> {
    let request = request.to_lowercase();
    let is_matching =
        |path: &&&Path| EXPRESSIONS.iter().any(|(expression, matches)| *expression == path.path && matches(&request));
    let matching = paths.iter().filter(is_matching);
    let Some(longest) = matching.clone().map(|path| path.path.len()).max() else { return BTreeSet::new() };
    firsts(matching.filter(|path| path.path.len() == longest).copied())
}

/// Serves these objects in place of those before, and waits until nginx does.
async fn serve(rig: &mut Rig, objects: &[Object], number: usize) {
    let written = objects.iter().enumerate().map(|(name, object)| {
        let mut written = ingress(&format!("drawn-{name}")).created(&format!("{}-01-01T00:00:00Z", object.year));
        if object.reads != Reads::Specification {
            written = written.class("nginx");
        }
        if object.reads == Reads::Expressions {
            written = written.annotation("use-regex", "true");
        }
        for host in &object.hosts {
            let host = format!("{host}.{}", object.reads.domain());
            for Path { kind, path, service } in &object.paths {
                written = written.path(&host, kind, path, service);
            }
        }
        written.build()
    });
    let marker = format!("case-{number}");
    let marked = ingress(&marker).host("marker.test", SERVICES[0]).build();
    rig.manifests.write("objects.yaml", &written.chain([marked]).collect::<Vec<_>>());
    rig.daemon.confirmed(&marker).await;
}

/// Compares who answers with the model.
async fn compare(rig: &Rig, objects: &[Object], wrong: &mut Vec<String>) {
    for reads in [Reads::Specification, Reads::IngressNginx, Reads::Expressions] {
        for host in ["a", "c"] {
            for request in REQUESTS {
                let url = format!("http://{host}.{}{request}", reads.domain());
                let expected = model(objects, reads, host, request);
                let (nginx, reported) = (rig.who(&get(&url).send().await), explained(rig, &url));
                if nginx != reported || !expected.contains(&nginx) {
                    wrong.push(format!("{url}: nginx {nginx}, explain {reported}, the model {expected:?}"));
                }
            }
        }
    }
}

#[test]
fn drawn_objects_are_served_as_the_model_says_whatever_was_there_before() {
    rig::run(async |rig| {
        let cases = std::env::var("ROUTING_CASES").map_or(CASES, |cases| cases.parse().unwrap());
        rig.serve(&SERVICES);
        rig.start().await;
        let mut runner = TestRunner::default();
        for number in 0..cases {
            let objects = objects().new_tree(&mut runner).unwrap().current();
            serve(rig, &objects, number).await;
            let mut wrong = Vec::new();
            compare(rig, &objects, &mut wrong).await;
            assert!(wrong.is_empty(), "{objects:#?}\n{}", wrong.join("\n"));
            if number % 5 == 4 {
                let before = files(rig);
                begin_anew(rig).await;
                assert_eq!(files(rig), before, "a daemon that begins with these objects makes the same files");
            }
        }
    });
}

/// The configuration in force, but for the file that says which generation it is.
fn files(rig: &Rig) -> BTreeMap<PathBuf, String> {
    let files = std::fs::read_dir(rig.daemon.root().join("current/http")).unwrap();
    let paths = files.map(|file| file.unwrap().path()).filter(|path| !path.ends_with("generation.conf"));
    paths.map(|path| (path.clone(), std::fs::read_to_string(path).unwrap())).collect()
}

/// Starts the daemon without anything that it remembered.
async fn begin_anew(rig: &mut Rig) {
    assert!(rig.daemon.stop().await.success());
    std::fs::remove_dir_all(rig.daemon.state()).unwrap();
    rig.daemon.start();
    rig.daemon.ready().await;
}
