//! How many routes of an object count as served or closed.

use super::{ingress, options, path, routes, shared, translate};
use crate::{HostOwnership, Limits, Options};
use ingressd_model::finding::Severity;

const HOST: &str = "a.example";
const WRONG: &str = "allowlist-source-range: everybody";
const LIST: &str = "allowlist-source-range: 10.0.0.0/8";
const REGEX: &str = "use-regex: 'true'";

/// An Ingress `NAMESPACE/NAME` with paths `/path SERVICE`; in the ingress-nginx dialect they are
/// expressions where an annotation says so.
fn of(name: &str, annotations: &str, paths: &[&str]) -> String {
    let (namespace, name) = name.split_once('/').unwrap_or(("default", name));
    let paths = paths.iter().map(|written| written.split_once(' ').unwrap_or((written, "web")));
    let paths: Vec<_> = paths.map(|(text, service)| path(text, "ImplementationSpecific", service)).collect();
    ingress(name, "nginx", HOST, annotations, &paths).replace("namespace: default", &format!("namespace: {namespace}"))
}

fn with_default(document: String) -> String {
    document.replace("rules: [", "defaultBackend: {service: {name: web, port: {number: 80}}}, rules: [")
}

fn with(limits: impl FnOnce(&mut Limits)) -> Options {
    let mut options = shared();
    limits(&mut options.limits);
    options
}

#[test]
fn what_is_closed_does_not_count_and_is_reported() {
    let heavy = "/[a-z](x+)+y";
    type Row = (&'static str, Options, Vec<String>, &'static str);
    let rows: Vec<Row> = vec![
        ("all well", options(), vec![of("a", "", &["/", "/b"])], "a 2+0"),
        // A missing Service or endpoint does not close a route.
        ("no Service", options(), vec![of("a", "", &["/ none"])], "a 1+0"),
        ("no endpoints", options(), vec![of("a", "", &["/ empty"])], "a 1+0"),
        ("a redirect", options(), vec![of("a", "permanent-redirect: 'https://example.org'", &["/"])], "a 1+0"),
        ("what protects it is wrong", options(), vec![of("a", WRONG, &["/", "/b"])], "a 0+2"),
        ("its default backend, too", options(), vec![with_default(of("a", WRONG, &["/"]))], "a 0+2"),
        ("another object", options(), vec![of("a", "", &["/"]), of("b", WRONG, &["/b"])], "a 1+0, b 0+1"),
        ("an expression", options(), vec![of("a", REGEX, &["/ok.*", heavy])], "a 1+1"),
        ("nothing but one", options(), vec![of("a", REGEX, &[heavy])], "a 0+1"),
        (
            "a limit",
            with(|limits| limits.paths_of_host = 1),
            vec![of("a", LIST, &["/", "/b"]), of("b", LIST, &["/c"])],
            "a 1+1, b 0+1",
        ),
        (
            "the weight of expressions",
            with(|limits| limits.expressions_of_host = 1),
            vec![of("a", &format!("{REGEX}, {LIST}"), &["/a.*", "/b.*"])],
            "a 1+1",
        ),
        (
            // The object is left out, except for paths that stay closed.
            "a budget",
            with(|limits| limits.namespace.routes = 1),
            vec![of("a", "", &["/"]), of("b", LIST, &["/b"])],
            "a 1+0",
        ),
        (
            "a budget that leaves no room for what is closed",
            with(|limits| limits.namespace.routes = 1),
            vec![of("a", "", &["/"]), of("b", LIST, &["/b", "/c"])],
            "a 0+1",
        ),
        (
            "a protected path that another namespace has",
            options(),
            vec![of("evil/e", "", &["/b"]), of("a", LIST, &["/"]), of("b", LIST, &["/b"])],
            "a 1+0, b 0+0, e 1+0",
        ),
    ];
    for (what, options, documents, expected) in rows {
        // The first is the oldest.
        let dated = documents.iter().enumerate().map(|(number, document)| {
            document.replace(
                "metadata: {",
                &format!("metadata: {{creationTimestamp: '20{:02}-01-01T00:00:00Z', ", number + 10),
            )
        });
        let translation = translate(&dated.collect::<Vec<_>>().join("\n---\n"), options);
        let mut found: Vec<_> = translation
            .accepted()
            .map(|(id, served)| format!("{} {}+{}", id.name, served.routes, served.closed))
            .collect();
        found.sort();
        assert_eq!(found.join(", "), expected, "{what}");
        for (closed, _) in translation.accepted().filter(|(_, served)| served.closed > 0) {
            let reports = |finding: &&ingressd_model::finding::Finding| finding.severity > Severity::Info;
            let reported = translation.findings.iter().filter(reports).any(|finding| finding.origin.object == *closed);
            assert!(reported, "{what}: nothing is told of {closed}: {:?}", translation.findings);
        }
    }
}

#[test]
fn what_a_refused_object_protects_is_not_open_by_another_one() {
    let object = |name: &str, at: &str, annotations: &str| {
        ingress(name, "nginx", "a.example", annotations, &[path(at, "Prefix", "web")])
    };
    let open = object("open", "/", "");
    for (protection, closed) in [
        ("auth-type: basic, auth-secret: users", true),
        ("allowlist-source-range: 10.0.0.0/8", true),
        ("proxy-read-timeout: '7'", false),
    ] {
        let refused = object("guard", "/admin", &format!("{protection}, configuration-snippet: x"));
        let translation = translate(&[open.clone(), refused.clone()].join("\n---\n"), options());
        let found = routes(&translation).iter().any(|line| line.contains("/admin") && line.ends_with("503"));
        assert_eq!(found, closed, "{protection}: {:?}", routes(&translation));
        assert_eq!(translation.refused.len(), 1);
        assert!(translation.accepted().all(|(id, _)| &*id.name == "open"), "{protection}");
        // Where no other object has the host, it has no server.
        assert_eq!(translate(&refused, options()).model.servers.len(), 0);
    }
}

#[test]
fn what_is_not_served_has_a_reason_and_so_has_each_host_that_it_does_not_get() {
    let object = |name: &str, host: &str, annotations: &str, kind: &str| {
        ingress(name, "nginx", host, annotations, &[path("/", kind, "web")])
    };
    let rule = object("thief", "b.example", "", "Prefix");
    let theirs = format!("rules: [{{host: a.example, http: {{paths: [{}]}}}}, ", path("/b", "Prefix", "web"));
    let both = rule.replace("rules: [", &theirs);
    let both = both.replace("namespace: default", "namespace: evil");
    let documents = [
        object("owner", "a.example", "", "Prefix"),
        both,
        object("path", "c.example", "", "Infix"),
        object("value", "d.example", "configuration-snippet: x", "Prefix"),
        object("host", "a!.example", "", "Prefix"),
    ];
    let mut options = options();
    options.limits.object.paths = 1;
    let wide = ingress("wide", "nginx", "e.example", "", &["/", "/b"].map(|text| path(text, "Prefix", "web")));
    let exclusive = Options { ownership: HostOwnership::Namespace, ..super::options() };
    let translation = translate(&documents.join("\n---\n"), exclusive);
    let wide = translate(&wide, options);
    let found: Vec<_> = translation
        .states
        .iter()
        .chain(&wide.states)
        .map(|state| {
            let places = state.places.iter().map(|place| format!("{:?} {:?}", place.at, place.verdict));
            format!("{} {:?} {}", state.id.name, state.verdict, places.collect::<Vec<_>>().join(", "))
        })
        .collect();
    let expected = [
        "host Good Host(\"a!.example\") Refused(InvalidHost)",
        "owner Good ",
        "path Refused(InvalidPath) Host(\"c.example\") Refused(InvalidPath)",
        "value Refused(RefusedValue) Host(\"d.example\") Refused(RefusedValue)",
        "thief Good Host(\"a.example\") Refused(HostOwned)",
        "wide Refused(OverBudget) Host(\"e.example\") Refused(OverBudget)",
    ];
    assert_eq!(found, expected);
}
