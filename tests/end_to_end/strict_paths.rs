//! Paths that nginx and a backend understand differently bypass no protection.

use std::net::SocketAddr;

use serde_json::Value;

use rig::ECHO;
use rig::client::{get, raw};
use rig::manifests::{in_namespace, ingress, service_at};

/// Paths that a backend may read as `/admin` although nginx does not.
const ODD: &[&str] = &[
    "/admin/x/..%2f..%2fopen",
    "/admin/..%2Fopen",
    "/admin%2fx",
    "/open/..%5cadmin",
    "/open\\..\\admin",
    "/open/../admin",
    "/admin/../open",
    "/admin/%2e%2e/open",
    "/admin/%2E./open",
    "/open/.",
    "/open/..",
    "/open/..;/admin",
    "/open/..%3b/admin",
    "/open/.%2e;x=y/admin",
    "//admin",
    "/open//x",
    "/open/%252fadmin",
    "/open/%252e%252e/admin",
    "/admin#/../open",
    "/open?x=y#z",
];

/// Paths that nginx and all backends read alike.
const EVEN: &[&str] = &[
    "/open",
    "/open/",
    "/open/.well-known/x",
    "/open/..a/b../.../x.y",
    "/open/a%20b%C3%A4%25",
    "/open;x=y",
    "/open?u=https://a/../%2f//\\",
];

async fn status(host: &str, path: &str) -> u16 {
    let to = SocketAddr::from(([127, 0, 0, 1], 80));
    let head = format!("GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
    let answer = String::from_utf8(raw(to, head.as_bytes()).await).unwrap();
    answer.split(' ').nth(1).unwrap().parse().unwrap()
}

/// `/admin` is protected, and this is its object; all other paths are open to every client.
fn hosts(class: &str, mark: &str) -> Vec<Value> {
    let open = |name: &str, path: &str| ingress(name).class(class).path(&format!("{name}.test"), "Prefix", path, "web");
    let named = |kind: &str| format!("{kind}-{mark}");
    let protected = |name: &str, host: &str, path: &str, key: &str, value: &str| {
        ingress(name).class(class).path(host, "Prefix", path, "web").annotation(key, value).build()
    };
    let mixed = format!("{}.test", named("mixed"));
    let broken = format!("{}.test", named("broken"));
    let list = "10.244.5.0/24";
    vec![
        open(&named("mixed"), "/").build(),
        protected(&named("mixed-admin"), &mixed, "/admin", "allowlist-source-range", list),
        // A value that protects has a mistake, so the path is closed.
        open(&named("broken"), "/").build(),
        protected(&named("broken-admin"), &broken, "/admin", "auth-type", "other"),
        // No client is admitted by another spelling of the path.
        protected(&named("whole"), &format!("{}.test", named("whole")), "/", "allowlist-source-range", "127.0.0.0/8"),
        open(&named("open"), "/").build(),
        // A service that admits everybody, and may judge by the path.
        protected(
            &named("judged"),
            &format!("{}.test", named("judged")),
            "/",
            "auth-url",
            "http://web.default.svc.cluster.local/",
        ),
    ]
}

#[test]
fn what_backends_could_read_otherwise_is_refused_beside_a_protected_path() {
    // Each row has the setting, and whether odd paths are refused on hosts of the specification
    // and on those of ingress-nginx.
    for (setting, by_class) in [("dialect", [true, false]), ("on", [true, true]), ("off", [false, false])] {
        rig::run(async move |rig| {
            rig.manifests.write("s.yaml", &hosts("ingressd", "s"));
            rig.manifests.write("n.yaml", &hosts("nginx", "n"));
            rig.daemon.set("access.strict-paths", setting);
            rig.start().await;
            for (mark, is_strict) in ["s", "n"].into_iter().zip(by_class) {
                for kind in ["mixed", "broken", "whole", "open", "judged"] {
                    let host = format!("{kind}-{mark}.test");
                    for path in EVEN {
                        assert_eq!(status(&host, path).await, 200, "{setting}: {host}{path}");
                    }
                    let is_refused = is_strict && matches!(kind, "mixed" | "broken" | "judged");
                    for path in ODD {
                        let status = status(&host, path).await;
                        assert_eq!(status == 400, is_refused, "{setting}: {host}{path}: {status}");
                    }
                }
                assert_eq!(status(&format!("mixed-{mark}.test"), "/admin/x").await, 403);
                assert_eq!(status(&format!("broken-{mark}.test"), "/admin/x").await, 503);
            }
        });
    }
}

#[test]
fn what_a_namespace_protects_is_no_affair_of_others_on_a_shared_host() {
    rig::run(async |rig| {
        let of = |name: &str, namespace: &str, path: &str| {
            ingress(name).namespace(namespace).class("ingressd").path("shared.test", "Prefix", path, "web")
        };
        let list = of("admin", "a", "/a/admin").annotation("allowlist-source-range", "10.244.5.0/24");
        let services = [("a", "10.244.1.1"), ("b", "10.244.2.1")].map(|(namespace, address)| {
            service_at("web", &[address], ECHO).map(|object| in_namespace(namespace, object))
        });
        rig.manifests.write("services.yaml", services.as_flattened());
        rig.manifests.write(
            "shared.yaml",
            &[
                of("open", "a", "/a").created("2026-01-01T00:00:00Z").build(),
                list.created("2026-01-01T00:00:00Z").build(),
                of("other", "b", "/b").created("2026-01-02T00:00:00Z").build(),
            ],
        );
        rig.daemon.set("hosts.ownership", "shared");
        rig.start().await;
        for path in EVEN {
            assert_eq!(status("shared.test", &format!("/a{path}")).await, 200, "/a{path}");
            assert_eq!(status("shared.test", &format!("/b{path}")).await, 200, "/b{path}");
        }
        for path in ODD {
            assert_eq!(status("shared.test", &format!("/a{path}")).await, 400, "/a{path}");
            assert_eq!(status("shared.test", &format!("/b{path}")).await, 200, "/b{path}");
        }
        // nginx's reading of a path decides which namespace gets it, and a path that no route
        // takes belongs to the namespace that has the host.
        for (path, expected) in [
            ("/a/admin/x", 403),
            ("/b/../a/x", 400),
            ("/b/%2e%2e/a/admin/x", 400),
            ("/a/../b/x", 200),
            ("/b/..%2fa/admin/x", 400),
            ("/b/..%252fa/admin/x", 200),
            ("/rest", 404),
            ("/rest%2fx", 400),
        ] {
            assert_eq!(status("shared.test", path).await, expected, "{path}");
        }
    });
}

#[test]
fn a_backend_gets_the_path_as_it_was_sent_unless_it_is_rewritten() {
    rig::run(async |rig| {
        let rewritten = ingress("new").class("nginx").path("new.test", "ImplementationSpecific", "/r/(.*)", "web");
        rig.manifests.write(
            "paths.yaml",
            &[
                ingress("plain").host("plain.test", "web").build(),
                rewritten.annotation("use-regex", "true").annotation("rewrite-target", "/new/$1").build(),
            ],
        );
        rig.start().await;
        for (url, expected) in [
            ("http://plain.test/a/%2e%2e/b%2Fc//d%20e?x=%2f", "/a/%2e%2e/b%2Fc//d%20e?x=%2f"),
            ("http://new.test/r/a/%2e%2e/b%2Fc//d%20e%3f?x=%2f", "/new/b/c/d%20e%3F?x=%2f"),
        ] {
            assert_eq!(get(url).send().await.echo().path, expected, "{url}");
        }
    });
}
