//! Hostile values in requests and manifests, through the real nginx.

use std::net::SocketAddr;

use rig::client::{get, raw};
use rig::manifests::{in_namespace, ingress, service_at, tls_secret};
use rig::{ECHO, Rig};
use serde_json::Value;

async fn send(head: &str) -> String {
    let to = SocketAddr::from(([127, 0, 0, 1], 80));
    String::from_utf8(raw(to, format!("{head}\r\nConnection: close\r\n\r\n").as_bytes()).await).unwrap()
}

/// The headers that the backend got, in its own JSON.
fn echoed(answer: &str) -> Value {
    let (_, body) = answer.split_once("\r\n\r\n").unwrap_or_default();
    let (start, end) = (body.find('{').unwrap_or_else(|| panic!("{answer}")), body.rfind('}').unwrap());
    serde_json::from_str(&body[start..=end]).unwrap_or_else(|error| panic!("{error}: {answer}"))
}

fn seen(answer: &Value, name: &str) -> Vec<String> {
    let headers = answer["headers"].as_array().unwrap();
    let named = headers.iter().filter(|header| header[0].as_str().is_some_and(|own| own.eq_ignore_ascii_case(name)));
    named.map(|header| header[1].as_str().unwrap().to_owned()).collect()
}

#[test]
fn the_backend_learns_the_host_by_which_the_request_came_to_it() {
    rig::run(async |rig| {
        rig.manifests.write("hosts.yaml", &[ingress("a").host("public.test", "web").build()]);
        rig.start().await;
        for (line, host, expected) in [
            ("GET /", "public.test", "public.test"),
            ("GET /", "public.test:80", "public.test:80"),
            ("GET /", "public.test:18080", "public.test:18080"),
            // One host has one spelling.
            ("GET /", "Public.Test", "public.test"),
            ("GET /", "Public.Test:8080", "public.test:8080"),
            ("GET /", "public.test.", "public.test"),
            ("GET /", "public.test.:8080", "public.test:8080"),
            // RFC 9112: the host of an absolute target counts, whatever the header says.
            ("GET http://public.test/", "admin.test", "public.test"),
            ("GET http://public.test/", "admin.test:81", "public.test:81"),
            ("GET http://public.test:82/", "admin.test", "public.test"),
            ("GET http://PUBLIC.test/", "public.test", "public.test"),
            // The rest of such a header would become part of links that the backend writes.
            ("GET /", "public.test:@evil.test", "public.test"),
            ("GET /", "public.test:@evil.test:81", "public.test:81"),
            ("GET /", "public.test:80x", "public.test"),
            ("GET /", "public.test:", "public.test"),
            ("GET /", "public.test:123456", "public.test"),
        ] {
            let answer = send(&format!("{line} HTTP/1.1\r\nHost: {host}")).await;
            if answer.starts_with("HTTP/1.1 400") {
                // Newer versions of nginx refuse some of them altogether.
                continue;
            }
            let answer = echoed(&answer);
            for name in ["host", "x-forwarded-host"] {
                assert_eq!(seen(&answer, name), [expected], "{name} of {line} and Host: {host}");
            }
        }
    });
}

#[test]
fn nobody_leaves_the_rules_by_an_upgrade_to_h2c() {
    rig::run(async |rig| {
        rig.manifests.write("hosts.yaml", &[ingress("a").host("a.test", "web").build()]);
        rig.start().await;
        for upgrade in ["h2c", "H2C", "websocket, h2c"] {
            let head = format!(
                "GET / HTTP/1.1\r\nHost: a.test\r\nUpgrade: {upgrade}\r\nHTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA"
            );
            let answer = echoed(&send(&head).await);
            assert_eq!(seen(&answer, "upgrade"), Vec::<String>::new(), "{upgrade}");
            assert_ne!(seen(&answer, "connection"), ["upgrade"], "{upgrade}");
        }
    });
}

async fn expect_status(head: &str, statuses: &[&str]) {
    let answer = send(head).await;
    let status = answer.split(' ').nth(1).unwrap_or_default();
    assert!(statuses.contains(&status), "{head:?}: {answer}");
}

#[test]
fn odd_requests_reach_no_other_host_and_no_status_page() {
    rig::run(async |rig| {
        rig.manifests.write("hosts.yaml", &[ingress("a").host("a.test", "web").build()]);
        rig.start().await;
        for (head, statuses) in [
            ("GET /stub_status HTTP/1.1\r\nHost: 127.0.0.1:10246", &["404"][..]),
            ("GET /generation HTTP/1.1\r\nHost: localhost", &["404"]),
            ("GET / HTTP/1.1\r\nHost: a.test\0.evil", &["400"]),
            ("GET / HTTP/1.1\r\nHost: ~^.*$", &["404", "400"]),
            ("GET / HTTP/1.1\r\nHost: *.test", &["404", "400"]),
            ("GET / HTTP/1.1\r\nHost: a.test/../b.test", &["400"]),
            ("GET / HTTP/1.1", &["400"]),
            ("GET / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 5\r\nTransfer-Encoding: chunked", &["400"]),
            ("GET / HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding: xchunked", &["400", "501"]),
            ("CONNECT a.test:80 HTTP/1.1\r\nHost: a.test", &["400", "405"]),
        ] {
            expect_status(head, statuses).await;
        }
    });
}

async fn two_tenants(rig: &Rig, hostile: Vec<Value>) {
    let mut objects: Vec<_> =
        service_at("web", &["10.244.5.1"], ECHO).map(|object| in_namespace("victim", object)).into();
    objects.push(in_namespace("victim", tls_secret("tls", &["victim.test"])));
    objects.push(
        ingress("i")
            .namespace("victim")
            .host("victim.test", "web")
            .tls(&["victim.test"], "tls")
            .annotation("ssl-redirect", "false")
            .build(),
    );
    objects.extend(hostile);
    rig.manifests.write("tenants.yaml", &objects);
}

#[test]
fn expressions_without_end_close_only_their_own_paths() {
    rig::run(async |rig| {
        let hostile = ingress("re").class("nginx").annotation("use-regex", "true");
        two_tenants(rig, vec![hostile.path("re.test", "ImplementationSpecific", "/(a+)+$", "web").build()]).await;
        rig.start().await;
        let reply = get(&format!("http://re.test/{}!", "a".repeat(40))).send().await;
        // nginx never sees it: what begins like it is closed.
        assert_eq!(reply.status, 503);
        assert_eq!(rig.who(&get("http://victim.test/").send().await), "10.244.5.1:8080");
    });
}

#[test]
fn the_host_header_decides_and_not_the_name_in_the_handshake() {
    rig::run(async |rig| {
        let other =
            ingress("o").host("other.test", "web").tls(&["other.test"], "tls").annotation("ssl-redirect", "false");
        let locked = ingress("l")
            .host("locked.test", "web")
            .tls(&["locked.test"], "tls")
            .annotation("allowlist-source-range", "192.0.2.0/24");
        two_tenants(rig, vec![tls_secret("tls", &["other.test", "locked.test"]), other.build(), locked.build()]).await;
        rig.start().await;
        let request = get("https://victim.test/").sni(Some("other.test"));
        assert_eq!(rig.who(&request.send().await), "10.244.5.1:8080");
        for sni in [Some("other.test"), Some("victim.test"), None] {
            assert_eq!(get("https://locked.test/").sni(sni).send().await.status, 403, "{sni:?}");
        }
    });
}

#[test]
fn the_nastiest_paths_are_paths() {
    rig::run(async |rig| {
        let paths = ["/a\"b", "/a;b{}", "/a#b", "/a'b", "/a\\b", "/a $uri"];
        let mut own = ingress("p");
        for path in paths {
            own = own.path("paths.test", "Exact", path, "web");
        }
        two_tenants(rig, vec![own.build()]).await;
        rig.start().await;
        for path in ["/a%22b", "/a;b%7b%7d", "/a%23b", "/a'b", "/a%5cb", "/a%20$uri"] {
            let answer = send(&format!("GET {path} HTTP/1.1\r\nHost: paths.test")).await;
            assert!(answer.starts_with("HTTP/1.1 200"), "{path}: {answer}");
        }
        expect_status("GET /a HTTP/1.1\r\nHost: paths.test", &["404"]).await;
        assert_eq!(rig.who(&get("http://victim.test/").send().await), "10.244.5.1:8080");
    });
}
