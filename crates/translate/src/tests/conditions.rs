//! Paths whose requests have to meet conditions, which no dialect has yet: a reader of the tests
//! gives them to the paths of Service `api`.

use std::sync::Arc;

use super::manifests::snapshot;
use super::{findings, ingress, options, path, world};
use crate::dialects::Ingresses;
use crate::read::intent::Reference;
use crate::select::seen::Seen;
use crate::{ClassRule, Declared, Options, ReadKind, Reader, Readers, Rule, RulePath, Translation, Translator};
use ingressd_model::finding::{Finding, Reason};
use ingressd_model::{Action, Choice, Handler, HeaderName, HeaderValue, Kind, Route, Share, StandIn, Test};
use ingressd_objects::{Ingress, Snapshot};

struct Conditioned;

impl ReadKind for Conditioned {
    type Kept = Ingress;
    const KIND: Kind = Kind::INGRESS;

    fn select<'o>(
        seen: Seen<'_, Ingress>,
        snapshot: &Snapshot,
        options: &'o Options,
    ) -> Result<&'o ClassRule, Box<Finding>> {
        Ingresses::select(seen, snapshot, options)
    }

    fn read(seen: Seen<'_, Ingress>, class: &ClassRule, snapshot: &Snapshot, options: &Options) -> Declared {
        let mut declared = Ingresses::read(seen, class, snapshot, options);
        let of_path = |path: &RulePath| match path.backend.service.as_deref() {
            Some("api") => RulePath { all: tests().into(), ..path.clone() },
            _ if matches!(path.text(), "/shared" | "/moved" | "/mixed") => {
                let service = if path.text() == "/mixed" { "secure" } else { "api" };
                let backend = Reference { service: Some(service.into()), ..path.backend.clone() };
                let others = match path.text() {
                    "/moved" => vec![(Share::ALL, backend)],
                    "/mixed" => vec![(Share::of(1, 2), backend)],
                    _ => vec![(Share::of(5000, 30_001), backend); 6],
                };
                RulePath { others: others.into(), ..path.clone() }
            }
            _ => path.clone(),
        };
        let of_rule = |rule: &Rule| Rule { paths: rule.paths.iter().map(of_path).collect(), ..rule.clone() };
        declared.intent.rules = declared.intent.rules.iter().map(of_rule).collect();
        declared
    }
}

fn tests() -> Vec<Test> {
    let header = Test::Header(HeaderName::new("X-Way").unwrap(), HeaderValue::new("long").unwrap());
    vec![header, Test::Method(HeaderName::new("GET").unwrap())]
}

const GUARDED: &str = "whitelist-source-range: 10.0.0.0/8";

fn translated(documents: &[String]) -> Translation {
    translated_under(options(), documents)
}

fn translated_under(options: Options, documents: &[String]) -> Translation {
    let mut translator = Translator::new(options);
    translator.set_readers(Readers(&const { [Reader::of::<Conditioned>()] }));
    translator.translate(&snapshot(&documents.join("---\n")), &world(), &Default::default())
}

fn object(name: &str, annotations: &str, paths: &[(&str, &str)]) -> String {
    let paths: Vec<_> = paths.iter().map(|(written, service)| path(written, "Prefix", service)).collect();
    ingress(name, "nginx", "a.example", annotations, &paths)
}

/// A handler: its object, its Service or what else it does, and whether addresses are checked.
fn shown(handler: &Handler) -> String {
    let does = match &handler.action {
        Action::Proxy { upstream, .. } => upstream.service.to_string(),
        other => format!("{other:?}"),
    };
    let guard = if handler.behaviour.access.is_some() { " guarded" } else { "" };
    format!("{} {does}{guard}", handler.origin.object.name)
}

/// The handlers of each route, in the order of its branches.
fn handlers(translation: &Translation) -> Vec<String> {
    let all = |route: &Route| route.handlers().map(shown).collect::<Vec<_>>().join(", ");
    translation.model.servers.iter().flat_map(|server| &server.routes).map(all).collect()
}

/// Objects with annotations and paths, and the handlers of each route.
type Row<'r> = (&'r [(&'r str, &'r str, &'r [(&'r str, &'r str)])], &'r [&'r str]);

#[test]
fn what_meets_no_condition_has_the_policy_of_the_shorter_path() {
    let rows: [Row<'_>; 6] = [
        // A protected path is not opened by a longer one, nor is an open one closed.
        (
            &[("one", GUARDED, &[("/", "web")]), ("two", "", &[("/deep", "api")])],
            &["two api, one web guarded", "one web guarded"],
        ),
        (
            &[("one", "", &[("/", "web")]), ("two", GUARDED, &[("/deep", "api")])],
            &["two api guarded, one web", "one web"],
        ),
        // Each path in between is asked, the longest first.
        (
            &[("one", GUARDED, &[("/", "web")]), ("two", "", &[("/deep", "api"), ("/deep/er", "api")])],
            &["two api, two api, one web guarded", "two api, one web guarded", "one web guarded"],
        ),
        // The same path may have a backend for the rest.
        (
            &[("one", GUARDED, &[("/", "web")]), ("two", "", &[("/deep", "api"), ("/deep", "web")])],
            &["two api, two web", "one web guarded"],
        ),
        // A backend that is missing harms its own requests alone.
        (
            &[("one", "", &[("/", "missing")]), ("two", "", &[("/deep", "api"), ("/deep", "missing")])],
            &["two api, two Respond { status: 503 }", "one Respond { status: 503 }"],
        ),
        (&[("two", GUARDED, &[("/", "api")])], &["two api guarded, two Respond { status: 404 } guarded"]),
    ];
    for (objects, expected) in rows {
        let documents: Vec<_> =
            objects.iter().map(|(name, annotations, paths)| object(name, annotations, paths)).collect();
        let translation = translated(&documents);
        assert_eq!(handlers(&translation), expected, "{:?}", findings(&translation));
        for route in translation.model.servers.iter().flat_map(|server| &server.routes) {
            assert!(route.branches.iter().all(|branch| branch.all == tests()));
        }
    }
}

#[test]
fn the_handlers_of_a_shorter_path_are_shared() {
    let translation = translated(&[object("one", GUARDED, &[("/", "web")]), object("two", "", &[("/deep", "api")])]);
    let [deep, root] = &translation.model.servers[0].routes[..] else { panic!("two routes") };
    assert!(Arc::ptr_eq(&deep.otherwise, &root.otherwise));
}

#[test]
fn what_meets_no_condition_is_closed_where_an_expression_may_take_it() {
    let expression = object("one", "use-regex: 'true'", &[("/", "web")]).replace("Prefix", "ImplementationSpecific");
    let deep = object("two", "", &[("/deep", "api")]).replace("ingressClassName: nginx", "ingressClassName: ingressd");
    let translation = translated(&[expression, deep]);
    assert_eq!(handlers(&translation)[0], "two api, two Closed");
    let reported = translation.findings.iter().filter(|finding| finding.reason == Reason::ClosedRoute);
    let reported: Vec<_> = reported.map(|finding| &*finding.origin.object.name).collect();
    assert_eq!(reported, ["two"]);
}

#[test]
fn an_expression_that_takes_other_paths_closes_nothing() {
    for (expression, expected) in [
        ("/other/[a-z]+", "two api, one Respond { status: 404 }"),
        ("/Dee.*", "two api, two Closed"),
        ("/deep/er[0-9]", "two api, one Respond { status: 404 }"),
    ] {
        let one =
            object("one", "use-regex: 'true'", &[(expression, "web")]).replace("Prefix", "ImplementationSpecific");
        let deep =
            object("two", "", &[("/deep", "api")]).replace("ingressClassName: nginx", "ingressClassName: ingressd");
        let translation = translated(&[one, deep]);
        let all = handlers(&translation);
        assert!(all.iter().any(|handlers| handlers == expected), "{expression}: {all:?}");
    }
}

#[test]
fn a_missing_backend_takes_no_mirror_from_the_others_of_its_path() {
    let mirrored = "mirror-target: 'http://web.default.svc/'";
    let translation = translated(&[object("two", mirrored, &[("/deep", "api"), ("/deep", "missing")])]);
    let taken = &translation.model.servers[0].routes[0].branches[0].then;
    assert!(taken.behaviour.mirror.is_some(), "{:?}", findings(&translation));
}

#[test]
fn shares_are_never_more_than_all_requests() {
    let translation = translated(&[object("one", "", &[("/shared", "web")])]);
    let split = translation.model.servers[0].routes[0].action.split().unwrap();
    // The main backend's share is rounded to nothing: one of six gets what the others leave.
    assert_eq!(split.shares.iter().map(|(_, share)| share.ten_thousandths()).sum::<u16>(), 8333);
}

#[test]
fn a_share_with_another_protocol_gets_no_request_in_the_main_ones() {
    let secure = "apiVersion: v1\nkind: Service\nmetadata: {name: secure, namespace: default}\nspec: {ports: [{port: 80, \
                  appProtocol: https}]}\n";
    let of = |service: &str| {
        let one =
            object("one", "", &[("/mixed", service)]).replace("ingressClassName: nginx", "ingressClassName: ingressd");
        let translation = translated(&[one, secure.to_owned()]);
        let split = translation.model.servers[0].routes[0].action.split().unwrap();
        (split.shares[0].0.clone(), findings(&translation).contains(&"one UnsupportedBackend".to_owned()))
    };
    assert_eq!(of("web"), (Choice::Respond(503), true));
    let (same, is_reported) = of("secure");
    assert!(matches!(same, Choice::Forward(_)) && !is_reported);
}

#[test]
fn a_main_backend_without_a_share_is_not_asked_even_where_it_has_no_endpoints() {
    let translation = translated(&[object("one", "", &[("/moved", "web")])]);
    assert_eq!(handlers(&translation), ["one api"]);
    assert_eq!(translation.model.servers[0].routes[0].action.split(), None);
}

#[test]
fn a_stand_in_for_a_missing_main_backend_takes_no_requests_of_the_others() {
    let translation = translated(&[object("one", "default-backend: web", &[("/shared", "missing")])]);
    let route = &translation.model.servers[0].routes[0];
    assert_eq!(handlers(&translation), ["one api"]);
    assert_eq!(route.errors.as_ref().unwrap().stand_in, StandIn::WithoutEndpoints);
}

#[test]
fn a_service_is_not_asked_by_a_path_whose_requests_meet_conditions() {
    let asking = object("one", "auth-url: 'http://$host/asked'", &[("/", "web")]);
    let translation = translated(&[asking, object("two", "", &[("/asked", "api")])]);
    assert_eq!(handlers(&translation), ["two api, one Closed", "one Closed"]);
}

#[test]
fn handlers_that_a_budget_closes_stay_shared() {
    let mut options = options();
    options.limits.namespace.routes = 3;
    let protected = [("/b", "web"), ("/c", "web"), ("/d", "web"), ("/e", "web")];
    let documents =
        [object("one", "", &[("/", "web"), ("/deep", "api"), ("/far", "api")]), object("two", GUARDED, &protected)];
    let translation = translated_under(options, &documents);
    let [deep, far, root] = &translation.model.servers[0].routes[..] else { panic!("{:?}", handlers(&translation)) };
    assert!(root.action == Action::Closed, "{:?}", handlers(&translation));
    assert!(Arc::ptr_eq(&deep.otherwise, &root.otherwise) && Arc::ptr_eq(&far.otherwise, &root.otherwise));
}

#[test]
fn a_canary_of_a_path_with_shares_is_reported_as_without_effect() {
    let canary = object("two", "canary: 'true', canary-by-header: X-Way", &[("/shared", "web")]);
    let translation = translated(&[object("one", "", &[("/shared", "web")]), canary]);
    assert_eq!(findings(&translation), ["two UnsupportedBackend"]);
}
