//! For random objects and URLs, what `explain` says is what the real nginx does: which Ingress,
//! path and backend has the request, or how nginx itself answers it.

use proptest::collection::vec;
use proptest::prelude::{Just, Strategy, any, prop_oneof};
use proptest::sample::{select, subsequence};
use proptest::strategy::ValueTree as _;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use serde_json::Value;
use url::Url;

use super::reported;
use rig::client::get;
use rig::manifests::{in_namespace, ingress, secret, service_at, tls_secret};
use rig::{ECHO, Rig};

/// The numbers that draws follow from, unless `EXPLAINED_SEED` names another one. A failure names
/// its own.
const SEEDS: [u64; 3] = [1, 2, 3];

const OBJECTS: usize = 40;
const URLS: usize = 300;

/// Most paths of an object.
const MOST_PATHS: usize = 3;

const NAMESPACES: [&str; 2] = ["default", "other"];

/// Hosts of rules; an empty one is a rule without a host.
const HOSTS: &[&str] = &["a.test", "b.test", "c.test", "www.a.test", "*.test", "*.a.test", "d.b.test", ""];

/// Hosts of requests.
const ASKED: &[&str] = &[
    "a.test",
    "A.test",
    "b.test",
    "c.test",
    "www.a.test",
    "x.test",
    "x.a.test",
    "y.x.a.test",
    "d.b.test",
    "e.b.test",
    "alias.test",
    "77.alias.test",
    "nobody.example",
    "www.b.test",
    "192.0.2.1",
];

/// Paths of rules, literal ones and expressions.
const PATHS: &[&str] = &[
    "/",
    "/a",
    "/a/",
    "/a/b",
    "/a/b/",
    "/A",
    "/ab",
    "/a.b",
    "/a b",
    "/.well-known",
    "/a/[0-9]+",
    "/(.*)",
    "/a(/|$)(.*)",
    "/.*",
    "/[a-z]+$",
    "/a/(b|c)",
    "/(?!a)",
    "/b/(?<name>c+)",
];

/// Targets of requests.
const TARGETS: &[&str] = &[
    "/",
    "/?q=1",
    "/a",
    "/a?x=/b",
    "/a/",
    "/a//b",
    "/a/b",
    "/a/b/",
    "/a/./b/../b",
    "/a/7",
    "/A",
    "/A/B",
    "/ab",
    "/abc",
    "/aXb",
    "/a.b",
    "/a%20b",
    "/%61/b",
    "/a%2fb",
    "/a/%2e%2e/b",
    "/a/../../b",
    "/.well-known",
    "/.well-known/x",
    "/a/b/c",
    "/a/c",
    "/b/cc",
    "/zzz",
    "/zzz/7",
    "/healthz",
    "/a%09",
    "/own",
];

const TYPES: &[&str] = &["Prefix", "Exact", "ImplementationSpecific"];

const ANNOTATIONS: &[&[(&str, &str)]] = &[
    &[("use-regex", "true")],
    &[("use-regex", "true"), ("rewrite-target", "/$1")],
    &[("rewrite-target", "/target")],
    &[("allowlist-source-range", "10.244.5.0/24")],
    &[("allowlist-source-range", "127.0.0.0/8")],
    &[("allowlist-source-range", "everybody")],
    &[("denylist-source-range", "127.0.0.1")],
    &[("auth-type", "basic"), ("auth-secret", "users")],
    &[("auth-type", "basic"), ("auth-secret", "users"), ("allowlist-source-range", "127.0.0.0/8"), ("satisfy", "any")],
    &[("force-ssl-redirect", "true")],
    &[("ssl-redirect", "false")],
    &[("permanent-redirect", "https://elsewhere.test/x")],
    &[("temporal-redirect", "https://elsewhere.test/$request_uri")],
    &[("permanent-redirect", "/elsewhere"), ("permanent-redirect-code", "308")],
    &[("app-root", "/own")],
    &[("from-to-www-redirect", "true")],
    &[("server-alias", "alias.test")],
    &[("server-alias", r"~^\d+\.alias\.test$")],
    &[("canary", "true"), ("canary-weight", "100")],
    &[("canary", "true"), ("canary-weight", "50")],
    &[("canary", "true"), ("canary-by-header", "X-Part")],
    &[("custom-http-errors", "404,503")],
    &[("default-backend", "stand-in")],
    &[("preserve-trailing-slash", "true")],
    &[("enable-cors", "true")],
    &[("enable-rewrite-log", "true")],
    &[("limit-rps", "1000")],
    &[("upstream-vhost", "other.test")],
    &[("affinity", "cookie")],
];

/// What stands behind a path.
#[derive(Debug, Clone, Copy)]
enum Behind {
    /// A Service of its own.
    Own,
    /// A Service without endpoints.
    Idle,
    /// No Service.
    Nothing,
}

/// An Ingress.
#[derive(Debug, Clone)]
struct Drawn {
    namespace: &'static str,
    /// Whether its class is that of ingress-nginx.
    quirky: bool,
    year: u16,
    hosts: Vec<&'static str>,
    paths: Vec<(&'static str, &'static str, Behind)>,
    annotations: Vec<&'static [(&'static str, &'static str)]>,
    has_tls: bool,
    has_default: bool,
}

fn drawn() -> impl Strategy<Value = Drawn> {
    let behind = prop_oneof![8 => Just(Behind::Own), 1 => Just(Behind::Idle), 1 => Just(Behind::Nothing)];
    let path = (select(TYPES), select(PATHS), behind);
    (
        (select(&NAMESPACES[..]), any::<bool>(), 2000_u16..2026, proptest::bool::weighted(0.3)),
        subsequence(HOSTS, 1..=2),
        vec(path, 1..=MOST_PATHS),
        subsequence(ANNOTATIONS, 0..=2),
        proptest::bool::weighted(0.1),
    )
        .prop_map(|((namespace, quirky, year, has_tls), hosts, paths, annotations, has_default)| Drawn {
            namespace,
            quirky,
            year,
            hosts,
            paths,
            annotations,
            has_tls,
            has_default,
        })
}

/// Objects and URLs that follow from a number.
fn draw(seed: u64) -> (Vec<Drawn>, Vec<String>) {
    let bytes: Vec<u8> = seed.to_le_bytes().into_iter().cycle().take(32).collect();
    let mut runner = TestRunner::new_with_rng(Config::default(), TestRng::from_seed(RngAlgorithm::ChaCha, &bytes));
    let url = (select(&["http", "https"][..]), select(ASKED), select(TARGETS));
    let url = url.prop_map(|(scheme, host, target)| format!("{scheme}://{host}{target}"));
    let both = (vec(drawn(), OBJECTS), vec(url, URLS));
    let (mut objects, urls) = both.new_tree(&mut runner).unwrap().current();
    // A canary needs an object of its namespace with the same paths.
    for number in 1..objects.len() {
        if objects[number].annotations.iter().any(|entries| entries[0].0 == "canary") {
            let main = objects[number - 1].clone();
            let canary = &mut objects[number];
            (canary.namespace, canary.hosts, canary.paths) = (main.namespace, main.hosts, main.paths);
            (canary.quirky, canary.year) = (main.quirky, main.year);
        }
    }
    (objects, urls)
}

/// The Service of a path.
fn service(object: usize, path: usize, behind: Behind) -> String {
    match behind {
        Behind::Own => format!("s{object}-{path}"),
        Behind::Idle => "idle".to_owned(),
        Behind::Nothing => "absent".to_owned(),
    }
}

fn object(number: usize, drawn: &Drawn) -> Value {
    let mut object = ingress(&format!("object-{number}")).namespace(drawn.namespace);
    object = object.class(if drawn.quirky { "nginx" } else { "ingressd" });
    object = object.created(&format!("{}-01-01T00:00:00Z", drawn.year));
    for host in &drawn.hosts {
        for (place, (path_type, path, behind)) in drawn.paths.iter().enumerate() {
            object = object.path(host, path_type, path, &service(number, place, *behind));
        }
    }
    for (key, value) in drawn.annotations.iter().copied().flatten() {
        object = object.annotation(key, value);
    }
    let hosts: Vec<_> = drawn.hosts.iter().copied().filter(|host| !host.is_empty()).collect();
    if drawn.has_tls && !hosts.is_empty() {
        object = object.tls(&hosts, "cert");
    }
    if drawn.has_default {
        object = object.default_backend(&service(number, 0, Behind::Own));
    }
    object.build()
}

/// Writes objects and Services; each path's Service has an address of its own.
fn write(rig: &mut Rig, objects: &[Drawn]) {
    let mut names = vec![(NAMESPACES[0], "stand-in".to_owned()), (NAMESPACES[1], "stand-in".to_owned())];
    for (number, drawn) in objects.iter().enumerate() {
        let all = drawn.paths.iter().enumerate();
        names.extend(all.map(|(place, _)| (drawn.namespace, service(number, place, Behind::Own))));
    }
    let reported: Vec<_> = names.iter().map(|(namespace, name)| format!("{namespace}/{name}")).collect();
    rig.serve(&reported.iter().map(String::as_str).collect::<Vec<_>>());
    let services = (1..).zip(&names).flat_map(|(number, (namespace, name))| {
        service_at(name, &[&format!("10.244.1.{number}")], ECHO).map(|object| in_namespace(namespace, object))
    });
    let of_all = NAMESPACES.into_iter().flat_map(|namespace| {
        let users = secret("users", "Opaque", &[("auth", "a:$apr1$x$vxlZ.6wQkoYjY5ZDKOuOA0\n")]);
        let certificate = tls_secret("cert", &["*.test", "*.a.test", "*.b.test"]);
        let idle = service_at("idle", &[], ECHO);
        [users, certificate].into_iter().chain(idle).map(|object| in_namespace(namespace, object))
    });
    rig.manifests.write("services.yaml", &services.chain(of_all).collect::<Vec<_>>());
    let objects: Vec<_> = objects.iter().enumerate().map(|(number, drawn)| object(number, drawn)).collect();
    rig.manifests.write("objects.yaml", &objects);
}

/// How what is `reported` of a URL differs from what nginx does with it.
async fn difference(rig: &Rig, url: &str, reported: &Value) -> Option<String> {
    // Where only PCRE can judge an expression, explain says so.
    if reported["route"]["unless"].is_string() {
        return None;
    }
    let answer = &reported["route"]["answer"];
    let reply = get(url).send().await;
    let (who, status) = (rig.who(&reply), reply.status);
    let is_instead = answer["instead"].as_array().unwrap().iter().any(|other| *other == status);
    let over_plain_http = answer["over_plain_http"].as_u64().filter(|_| url.starts_with("http:"));
    let says = match (over_plain_http, answer["status"].as_u64()) {
        (Some(status), _) | (None, Some(status)) => Some(status.to_string()),
        (None, None) => None,
    };
    let location = reply.header("location").unwrap_or_default();
    let is_right = match &says {
        Some(_) if over_plain_http.is_some() => Url::parse(location).is_ok_and(|to| to.scheme() == "https"),
        Some(_) => {
            let to = Url::parse(location).ok();
            let host = answer["host"].as_str();
            answer["location"].as_str().is_none_or(|wanted| location.ends_with(wanted))
                && host.is_none_or(|host| to.is_some_and(|to| to.host_str() == Some(host)))
        }
        None => answer["services"].as_array().unwrap().iter().any(|service| *service == *who),
    };
    let is_status = says.as_ref().is_none_or(|says| *says == who);
    let is_refused = is_instead && who == status.to_string();
    let is_as_reported = is_refused || (is_right && is_status);
    (!is_as_reported)
        .then(|| format!("{url}: nginx: {who} {location}\n  explain: {answer}\n  {}", reported["route"]["does"]))
}

#[test]
fn explain_says_of_random_objects_what_nginx_does() {
    let given = std::env::var("EXPLAINED_SEED").ok().map(|text| text.parse().expect("EXPLAINED_SEED is a number"));
    for seed in given.map_or(SEEDS.to_vec(), |seed| vec![seed]) {
        rig::run(async move |rig| {
            let (objects, urls) = draw(seed);
            rig.daemon.set("hosts.ownership", if seed % 2 == 0 { "namespace" } else { "shared" });
            write(rig, &objects);
            rig.start().await;
            let (mut wrong, mut by_services) = (Vec::new(), 0);
            for url in &urls {
                let reported = reported(rig, url);
                wrong.extend(difference(rig, url, &reported).await);
                let services = reported["route"]["answer"]["services"].as_array();
                by_services += usize::from(services.is_some_and(|all| !all.is_empty()));
            }
            let written: Vec<_> =
                objects.iter().enumerate().map(|(number, drawn)| format!("{number}: {drawn:?}")).collect();
            let (count, shown) = (wrong.len(), wrong.iter().take(20).cloned().collect::<Vec<_>>().join("\n"));
            assert!(wrong.is_empty(), "EXPLAINED_SEED={seed}: {count} differ\n{shown}\n{}", written.join("\n"));
            assert!(by_services > URLS / 5, "seed {seed}: only {by_services} go to a Service");
        });
    }
}
