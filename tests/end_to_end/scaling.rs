//! Services that are scaled to zero and back: what clients get, and which files change.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use serde_json::Value;

use rig::client::{Request, get, grpc_check};
use rig::load::Load;
use rig::manifests::{Ingress, ingress, secret, service_at, tls_secret};
use rig::{ECHO, Rig, status};

const SCALED: &str = "10.244.3.1";
/// Where the echo of that address says that it is.
const AT: &str = "10.244.3.1:8080";
/// The name `a` with some password.
const USERS: &str = "a:$apr1$x$Wz5AUHjk4yMPvSwhR6fVQ/\n";
/// The only file of the Service's upstream while it has endpoints.
const UPSTREAM: &str = "http/20-upstream-ingressd.default.scaled.80.conf";

type Files = BTreeMap<String, Vec<u8>>;

/// Every file that nginx was given, without the number of the generation.
fn files(rig: &Rig) -> Files {
    let mut files = Files::new();
    for folder in ["http", "stream", "certs", "auth", "empty"] {
        for entry in fs::read_dir(rig.daemon.root().join("current").join(folder)).unwrap() {
            let path = entry.unwrap().path();
            let name = format!("{folder}/{}", path.file_name().unwrap().to_str().unwrap());
            files.insert(name, fs::read(path).unwrap());
        }
    }
    files.remove("http/generation.conf");
    files
}

/// The files that differ; those of upstreams without endpoints as one.
fn changed(before: &Files, after: &Files) -> BTreeSet<String> {
    let all = before.keys().chain(after.keys());
    let differs = all.filter(|path| before.get(*path) != after.get(*path));
    let shown = |path: &String| if path.starts_with("empty/") { "empty".to_owned() } else { path.clone() };
    differs.map(shown).collect()
}

/// How many files of upstreams of the Service are among these, and the other ones.
fn of_upstreams(paths: &BTreeSet<String>) -> (usize, BTreeSet<String>) {
    let (own, others): (BTreeSet<_>, BTreeSet<_>) =
        paths.iter().cloned().partition(|path| path.starts_with(UPSTREAM.trim_end_matches(".conf")));
    (own.len(), others)
}

async fn scale(rig: &mut Rig, addresses: &[&str], generation: u64) -> Files {
    rig.manifests.write("scaled.yaml", &service_at("scaled", addresses, ECHO));
    rig.daemon.status_when("the change", |now| status::serving(now) == Some(generation)).await;
    files(rig)
}

/// Scales to zero and back. Returns the files that changed.
async fn there_and_back(rig: &mut Rig, asks: &[(Request, &str)], without: &str) -> BTreeSet<String> {
    let before = files(rig);
    rig.expect(asks.iter().cloned()).await;
    let nothing = scale(rig, &[], 2).await;
    rig.expect(asks.iter().map(|(request, _)| (request.clone(), without))).await;
    let again = scale(rig, &[SCALED], 3).await;
    rig.expect(asks.iter().cloned()).await;
    assert_eq!(changed(&before, &again), BTreeSet::new());
    changed(&before, &nothing)
}

fn set<const N: usize>(paths: [&str; N]) -> BTreeSet<String> {
    paths.map(str::to_owned).into()
}

fn of_scaled(name: &str) -> Ingress {
    ingress(name).class("nginx").host(&format!("{name}.test"), "scaled")
}

#[test]
fn files_of_the_upstream_alone_change_whatever_its_routes_are_like() {
    rig::run(async |rig| {
        let objects: Vec<Value> = vec![
            of_scaled("plain")
                .path("plain.test", "Exact", "/exact", "scaled")
                .path("plain.test", "Prefix", "/web", "web")
                .build(),
            of_scaled("regex").annotation("rewrite-target", "/$1").annotation("use-regex", "true").build(),
            of_scaled("session").annotation("affinity", "cookie").build(),
            of_scaled("hashed").annotation("upstream-hash-by", "$request_uri").build(),
            of_scaled("cors").annotation("enable-cors", "true").build(),
            of_scaled("locked").annotation("auth-type", "basic").annotation("auth-secret", "users").build(),
            of_scaled("denied").annotation("denylist-source-range", "0.0.0.0/0").build(),
            of_scaled("limited").annotation("limit-rps", "1").build(),
            of_scaled("tls").tls(&["tls.test"], "own").build(),
            of_scaled("pages").annotation("custom-http-errors", "404,503").annotation("default-backend", "web").build(),
            ingress("unknown").class("nginx").default_backend("scaled").build(),
            secret("users", "Opaque", &[("auth", USERS)]),
            tls_secret("own", &["tls.test"]),
        ];
        rig.manifests.write("objects.yaml", &objects);
        rig.manifests.write("scaled.yaml", &service_at("scaled", &[SCALED], ECHO));
        rig.start().await;
        let others = Load::new(&[get("http://plain.test/web")]).start();
        let rows = [
            (get("http://plain.test/"), AT),
            (get("http://plain.test/exact"), AT),
            (get("http://regex.test/a"), AT),
            (get("http://session.test/"), AT),
            (get("http://hashed.test/"), AT),
            (get("http://cors.test/"), AT),
            (get("https://tls.test/"), AT),
            (get("http://unheard.test/"), AT),
        ];
        let scaled = there_and_back(rig, &rows, "503").await;
        // Each way to choose an endpoint makes an upstream of its own.
        assert_eq!(of_upstreams(&scaled), (3, set(["empty"])));
        let report = others.stop().await;
        assert!(report.failures.is_empty() && report.kept > 0, "{report:?}");
    });
}

#[test]
fn nobody_is_asked_for_a_password_and_no_redirect_is_lost_without_endpoints() {
    rig::run(async |rig| {
        rig.manifests.write(
            "objects.yaml",
            &[
                of_scaled("locked").annotation("auth-type", "basic").annotation("auth-secret", "users").build(),
                of_scaled("denied").annotation("denylist-source-range", "0.0.0.0/0").build(),
                of_scaled("tls").tls(&["tls.test"], "own").build(),
                of_scaled("rpc").annotation("backend-protocol", "GRPC").tls(&["rpc.test"], "own").build(),
                secret("users", "Opaque", &[("auth", USERS)]),
                tls_secret("own", &["tls.test", "rpc.test"]),
            ],
        );
        rig.manifests.write("scaled.yaml", &service_at("scaled", &[], ECHO));
        rig.start().await;
        rig.expect([
            (get("http://locked.test/"), "503"),
            (get("http://denied.test/"), "503"),
            (get("http://tls.test/"), "308"),
            (get("https://tls.test/"), "503"),
        ])
        .await;
        assert_eq!(grpc_check("https://rpc.test").send().await.status, 503);
        scale(rig, &[SCALED], 2).await;
        rig.expect([(get("http://locked.test/"), "401"), (get("http://denied.test/"), "403")]).await;
        assert_eq!(grpc_check("https://rpc.test").send().await.status, 200);
    });
}

#[test]
fn one_of_many_hosts_that_share_a_server_is_scaled_by_its_own_files() {
    rig::run(async |rig| {
        rig.serve(&["one", "two"]);
        let mut objects: Vec<Value> = (0..20)
            .map(|number| {
                let host = format!("host-{number}.test");
                let first = if number == 7 { "scaled" } else { "one" };
                ingress(&format!("host-{number}")).host(&host, first).path(&host, "Prefix", "/second", "two").build()
            })
            .collect();
        objects.push(ingress("also").host("also.test", "one").path("also.test", "Prefix", "/second", "scaled").build());
        rig.manifests.write("objects.yaml", &objects);
        rig.manifests.write("scaled.yaml", &service_at("scaled", &[SCALED], ECHO));
        rig.start().await;
        let others =
            Load::new(&[get("http://host-6.test/"), get("http://host-7.test/second"), get("http://also.test/")])
                .start();
        let rows = [
            (get("http://host-7.test/"), AT),
            (get("http://HOST-7.Test/"), AT),
            (get("http://also.test/second/x"), AT),
        ];
        let scaled = there_and_back(rig, &rows, "503").await;
        assert_eq!(scaled, set([UPSTREAM, "empty"]));
        let report = others.stop().await;
        assert!(report.failures.is_empty() && report.kept > 0, "{report:?}");
        let servers = files(rig).keys().filter(|path| path.starts_with("http/server-")).count();
        assert_eq!(servers, 2, "all hosts share one, and unknown hosts have another");
    });
}

#[test]
fn the_part_of_a_canary_without_endpoints_goes_to_the_main_object() {
    rig::run(async |rig| {
        rig.serve(&["main"]);
        let both = |host: &str, annotations: &[(&str, &str)]| {
            let main = ingress(host).class("nginx").host(&format!("{host}.test"), "main");
            let canary = of_scaled(host).annotation("canary", "true");
            let canary = annotations.iter().fold(canary, |canary, (key, value)| canary.annotation(key, value)).build();
            let mut canary = canary;
            canary["metadata"]["name"] = format!("{host}-canary").into();
            [main.build(), canary]
        };
        let sticky = |host: &str| {
            let [mut main, canary] = both(host, &[("canary-weight", "100")]);
            for (key, value) in [("affinity", "cookie"), ("affinity-mode", "persistent")] {
                main["metadata"]["annotations"][format!("nginx.ingress.kubernetes.io/{key}")] = value.into();
            }
            [main, canary]
        };
        let objects = [
            both("weight", &[("canary-weight", "100")]),
            both("header", &[("canary-by-header", "X-Part")]),
            sticky("sticky"),
        ];
        rig.manifests.write("objects.yaml", &objects.concat());
        rig.manifests.write("scaled.yaml", &service_at("scaled", &[SCALED], ECHO));
        rig.start().await;
        let rows = [
            (get("http://weight.test/"), AT),
            (get("http://header.test/").header("X-Part", "always"), AT),
            (get("http://sticky.test/"), AT),
        ];
        let scaled = there_and_back(rig, &rows, "main").await;
        let of_servers: Vec<_> = scaled.iter().filter(|path| path.starts_with("http/server-")).collect();
        assert!(of_servers.is_empty(), "{scaled:?}");
        assert!(scaled.contains(UPSTREAM) && scaled.contains("empty"), "{scaled:?}");
        let splits = scaled.iter().filter(|path| path.starts_with("http/10-split-")).count();
        assert_eq!(splits, 3, "{scaled:?}");
    });
}

#[test]
fn a_default_backend_takes_the_requests_and_what_protects_the_route_stays() {
    rig::run(async |rig| {
        let of_scaled = |name: &str| of_scaled(name).annotation("default-backend", "stand-in");
        rig.serve(&["stand-in"]);
        let alike: Vec<_> = (0..20).map(|number| of_scaled(&format!("host-{number}")).build()).collect();
        rig.manifests.write("alike.yaml", &alike);
        rig.manifests.write(
            "objects.yaml",
            &[
                of_scaled("open").path("open.test", "Exact", "/exact", "scaled").build(),
                of_scaled("pages").annotation("custom-http-errors", "404,503").build(),
                of_scaled("regex").annotation("rewrite-target", "/new").annotation("use-regex", "true").build(),
                of_scaled("locked").annotation("auth-type", "basic").annotation("auth-secret", "users").build(),
                of_scaled("denied").annotation("denylist-source-range", "0.0.0.0/0").build(),
                of_scaled("tls").tls(&["tls.test"], "own").build(),
                of_scaled("rpc").annotation("backend-protocol", "GRPC").build(),
                of_scaled("sticky").annotation("affinity", "cookie").annotation("affinity-mode", "persistent").build(),
                of_scaled("signed")
                    .annotation("auth-url", "http://stand-in.default.svc:80/?status=401")
                    .annotation("auth-signin", "https://login.test/")
                    .build(),
                secret("users", "Opaque", &[("auth", USERS)]),
                tls_secret("own", &["tls.test"]),
            ],
        );
        rig.manifests.write("scaled.yaml", &service_at("scaled", &[SCALED], ECHO));
        rig.start().await;
        let asks = [
            "http://open.test/",
            "http://open.test/exact",
            "http://pages.test/",
            "http://regex.test/a",
            "https://tls.test/",
            "http://host-7.test/",
        ];
        let rows: Vec<_> = asks.iter().map(|url| (get(url), AT)).collect();
        let guarded = [
            (get("http://locked.test/"), "401"),
            (get("http://denied.test/"), "403"),
            (get("http://tls.test/"), "308"),
            (get("http://signed.test/"), "302"),
        ];
        let before = files(rig);
        rig.expect(rows.iter().chain(&guarded).cloned()).await;
        let nothing = scale(rig, &[], 2).await;
        rig.expect(rows.iter().map(|(request, _)| (request.clone(), "stand-in")).chain(guarded.clone())).await;
        rig.expect([(get("http://rpc.test/"), "stand-in"), (get("http://sticky.test/"), "stand-in")]).await;
        let reported = get("http://regex.test/a?b=c").send().await.echo();
        assert_eq!(
            (reported.path.as_str(), reported.header("x-code"), reported.header("x-service-name")),
            ("/new?b=c", Some("503"), Some("scaled"))
        );
        let again = scale(rig, &[SCALED], 3).await;
        rig.expect(rows.into_iter().chain(guarded)).await;
        assert_eq!(get("http://open.test/").header("X-Code", "1").send().await.echo().header("x-code"), Some("1"));
        assert_eq!(changed(&before, &again), BTreeSet::new());
        assert_eq!(of_upstreams(&changed(&before, &nothing)), (3, set(["empty"])));
    });
}

#[test]
fn services_beside_a_route_are_not_used_without_endpoints() {
    rig::run(async |rig| {
        rig.daemon.set("default-backend", "default/pages");
        let of_web = |name: &str| ingress(name).class("nginx").host(&format!("{name}.test"), "web");
        rig.serve(&["web", "pages"]);
        let url = "http://scaled.default.svc:80/";
        rig.manifests.write(
            "objects.yaml",
            &[
                of_web("asking").annotation("auth-url", url).build(),
                of_web("itself").annotation("auth-url", "http://$host/may").build(),
                ingress("may").class("nginx").path("itself.test", "Exact", "/may", "scaled").build(),
                of_web("moved").annotation("auth-url", url).annotation("permanent-redirect", "https://a.test/").build(),
                // What the administrator names replaces 503 as it replaces any other status.
                of_scaled("replaced").annotation("custom-http-errors", "503").build(),
                of_web("copied").annotation("mirror-target", url).build(),
                of_web("pages").annotation("custom-http-errors", "404").annotation("default-backend", "scaled").build(),
            ],
        );
        rig.manifests.write("scaled.yaml", &service_at("scaled", &[], ECHO));
        rig.start().await;
        rig.expect([
            (get("http://asking.test/"), "503"),
            (get("http://itself.test/"), "503"),
            (get("http://itself.test/may"), "503"),
            (get("http://moved.test/"), "503"),
            (get("http://copied.test/"), "web"),
            (get("http://replaced.test/"), "pages"),
            (get("http://pages.test/x?status=404"), "web"),
        ])
        .await;
        scale(rig, &[SCALED], 2).await;
        rig.expect([
            (get("http://asking.test/"), "web"),
            (get("http://itself.test/"), "web"),
            (get("http://itself.test/may"), AT),
            (get("http://moved.test/"), "301"),
            (get("http://copied.test/"), "web"),
            (get("http://replaced.test/"), AT),
            (get("http://pages.test/x?status=404"), AT),
        ])
        .await;
    });
}

#[test]
fn a_service_that_is_asked_or_gets_copies_is_scaled_by_the_files_of_its_upstream_alone() {
    rig::run(async |rig| {
        let of_web = |name: &str| ingress(name).class("nginx").host(&format!("{name}.test"), "web");
        rig.serve(&["web"]);
        let url = "http://scaled.default.svc:80/";
        let alike = (0..20).map(|number| of_web(&format!("host-{number}")).annotation("auth-url", url).build());
        let mut objects: Vec<_> = alike.collect();
        objects.extend([
            of_web("itself").annotation("auth-url", "http://$host/may").build(),
            ingress("may").class("nginx").path("itself.test", "Exact", "/may", "scaled").build(),
            of_web("copied").annotation("mirror-target", url).build(),
        ]);
        rig.manifests.write("objects.yaml", &objects);
        rig.manifests.write("scaled.yaml", &service_at("scaled", &[SCALED], ECHO));
        rig.start().await;
        let others = Load::new(&[get("http://copied.test/")]).start();
        let rows = [(get("http://host-7.test/"), "web"), (get("http://itself.test/"), "web")];
        let scaled = there_and_back(rig, &rows, "503").await;
        assert_eq!(of_upstreams(&scaled).1, set(["empty"]));
        assert!(!rig.nginx.error_log().contains("no live upstreams"), "{}", rig.nginx.error_log());
        let report = others.stop().await;
        assert!(report.failures.is_empty() && report.kept > 0, "{report:?}");
    });
}
