//! Objects drawn at random, with the values that rows of annotations have as examples: real nginx
//! accepts what is rendered for them, whatever the findings are.

use std::fmt;

use ingressd_translate::ANNOTATIONS;
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::{Index, select, subsequence};
use proptest::test_runner::TestRunner;
use serde_json::{Map, Value, json};

use super::{folder, inputs, judge, produce};

/// How many drawings nginx is asked about.
const CASES: u32 = 100;

/// A rule without a host has none of these.
const HOSTS: [&str; 4] = ["", "a.example.com", "*.example.com", "b.example.com"];
const PATHS: [&str; 8] = ["/", "/a", "/a/", "/a/b", "/(.*)", "/a(/|$)(.*)", "/a//", "/%41"];
const TYPES: [&str; 3] = ["Prefix", "Exact", "ImplementationSpecific"];
/// The second has no endpoints, the third is not there.
const SERVICES: [&str; 3] = ["web", "empty", "absent"];
const NAMESPACES: [&str; 3] = ["default", "team-a", inputs::SCRIBES];

/// What becomes locations, variables or zones that something else refers to.
const REFERRED: &[&[(&str, &str)]] = &[
    &[("custom-http-errors", "404,503")],
    &[("default-backend", "api")],
    &[("custom-http-errors", "502"), ("default-backend", "web")],
    &[("auth-url", "http://web.default.svc.cluster.local/"), ("auth-response-headers", "X-User")],
    &[("mirror-target", "http://web.default.svc.cluster.local/")],
    &[("affinity", "cookie")],
    &[("canary", "true"), ("canary-weight", "50")],
    &[("use-regex", "true")],
    &[("permanent-redirect", "https://elsewhere.example.com/")],
    &[("server-alias", "b.example.com")],
];

/// Sizes of buffers that have to fit together, which only nginx judges: a change with others is
/// refused by its test.
const FIT_TOGETHER: [&str; 4] =
    ["proxy-buffer-size", "proxy-buffers-number", "proxy-busy-buffers-size", "proxy-max-temp-file-size"];

type Annotations = Vec<(String, String)>;

/// Manifests, shown as they are.
struct Drawn(Vec<Value>);

impl fmt::Debug for Drawn {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|object| write!(formatter, "---\n{object}\n"))
    }
}

/// Annotations of one row, or of those that others refer to.
fn annotations() -> impl Strategy<Value = Annotations> {
    let owned = |pairs: &[(&str, &str)]| -> Annotations {
        pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
    };
    let referred: Vec<_> = REFERRED.iter().map(|pairs| owned(pairs)).collect();
    let rows = ANNOTATIONS.rows().filter(|row| row.is_served() && !FIT_TOGETHER.contains(&row.key));
    let of_row = |row: &ingressd_translate::annotation::Row| {
        let tries = row.all_tries().into_iter();
        tries.map(|(value, _)| [owned(row.beside), owned(&[(row.key, value)])].concat()).collect::<Vec<_>>()
    };
    let rows: Vec<_> = rows.map(of_row).collect();
    prop_oneof![3 => select(referred), 1 => select(rows).prop_flat_map(select)]
}

fn backend() -> impl Strategy<Value = Value> {
    select(&SERVICES[..]).prop_map(|name| json!({"service": {"name": name, "port": {"number": 80}}}))
}

fn ingress() -> impl Strategy<Value = Value> {
    let path = (select(&PATHS[..]), select(&TYPES[..]), backend())
        .prop_map(|(path, kind, backend)| json!({"path": path, "pathType": kind, "backend": backend}));
    let rules = (subsequence(&HOSTS[..], 1..=2), vec(path, 0..=3));
    let rest = (vec(annotations(), 0..=3), option::weighted(0.6, backend()), option::weighted(0.2, Just(())));
    let drawn = (select(&["ingressd", "nginx"][..]), select(&NAMESPACES[..]), rules, rest, any::<Index>());
    drawn.prop_map(|(class, namespace, (hosts, paths), (annotations, default, tls), age)| {
        let annotations = annotations.into_iter().flatten();
        let annotations: Map<_, _> =
            annotations.map(|(key, value)| (format!("{}{key}", ANNOTATIONS.prefix), value.into())).collect();
        let rule = |host: &&str| match *host {
            "" => json!({"http": {"paths": paths}}),
            host => json!({"host": host, "http": {"paths": paths}}),
        };
        let mut spec = json!({"ingressClassName": class});
        if !paths.is_empty() {
            spec["rules"] = hosts.iter().map(rule).collect();
        }
        if let Some(default) = default {
            spec["defaultBackend"] = default;
        }
        if tls.is_some() {
            spec["tls"] = json!([{"hosts": ["a.example.com"], "secretName": "wildcard-tls"}]);
        }
        let created = format!("2026-01-0{}T00:00:00Z", 1 + age.index(9));
        json!({
            "apiVersion": "networking.k8s.io/v1",
            "kind": "Ingress",
            "metadata": {"namespace": namespace, "creationTimestamp": created, "annotations": annotations},
            "spec": spec,
        })
    })
}

/// What nginx says against the files for these objects, beside the prelude of all cases.
fn refused(objects: &[Value], judge: &judge::Judge) -> Result<(), String> {
    let prelude = std::fs::read_to_string(folder().join("prelude.yaml")).unwrap();
    let empty = NAMESPACES.map(|namespace| {
        let metadata = json!({"namespace": namespace, "name": "empty"});
        json!({"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": {"ports": [{"port": 80}]}})
    });
    let made = |objects: Vec<&Value>| {
        let objects: String = objects.iter().map(|object| format!("\n---\n{object}")).collect();
        produce(&inputs::snapshot(&(prelude.clone() + &objects)), judge.version).files
    };
    let objects: Vec<_> = objects.iter().chain(&empty).collect();
    let files = made(objects.clone());
    assert_eq!(files, made(objects.into_iter().rev().collect()), "whatever the order of the objects");
    judge.accepts(&files).map_err(|words| format!("nginx {:?}: {words}", judge.version))
}

#[test]
fn real_nginx_accepts_what_is_drawn() {
    let judges = judge::judges();
    let objects = vec(ingress(), 1..=3).prop_map(|mut objects| {
        let numbered = objects.iter_mut().enumerate();
        numbered.for_each(|(number, object)| object["metadata"]["name"] = format!("drawn-{number}").into());
        Drawn(objects)
    });
    let settings = ProptestConfig { cases: CASES, failure_persistence: None, ..ProptestConfig::default() };
    let result = TestRunner::new(settings).run(&(objects, any::<Index>()), |(Drawn(objects), judge)| {
        refused(&objects, judge.get(&judges)).map_err(TestCaseError::fail)
    });
    result.unwrap_or_else(|error| panic!("{error}"));
}

/// The route for all other requests is left out where an object has the path `/`.
#[test]
fn nothing_refers_to_a_default_backend_that_no_request_reaches() {
    let backend = |name: &str| json!({"service": {"name": name, "port": {"number": 80}}});
    let root =
        |name: &str| json!([{"http": {"paths": [{"path": "/", "pathType": "Prefix", "backend": backend(name)}]}}]);
    let object = |name: &str, annotations: Value, mut spec: Value| {
        spec["ingressClassName"] = "nginx".into();
        let metadata = json!({"namespace": "default", "name": name, "annotations": annotations});
        json!({"apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "metadata": metadata, "spec": spec})
    };
    let key = |name: &str| format!("{}{name}", ANNOTATIONS.prefix);
    let pages = json!({key("custom-http-errors"): "404", key("default-backend"): "api"});
    let asked = json!({
        key("auth-url"): "http://web.default.svc.cluster.local/",
        key("auth-response-headers"): "X-User",
        key("mirror-target"): "http://web.default.svc.cluster.local/",
    });
    let rows = [
        vec![object("one", pages.clone(), json!({"defaultBackend": backend("web"), "rules": root("absent")}))],
        vec![
            object("x", pages, json!({"defaultBackend": backend("web")})),
            object("y", json!({}), json!({"rules": root("web")})),
        ],
        vec![
            object("x", asked, json!({"defaultBackend": backend("web")})),
            object("y", json!({}), json!({"rules": root("web")})),
        ],
    ];
    for (objects, judge) in rows.iter().flat_map(|row| judge::judges().into_iter().map(move |judge| (row, judge))) {
        refused(objects, &judge).unwrap_or_else(|words| panic!("{words}\n{objects:?}"));
    }
}
