//! What clients send: headers that they forge and paths that a backend may read otherwise than
//! nginx.

use serde_json::Value;

use crate::row::{Ask, ROW, Row, ask};
use crate::scene::Dialect::Specification;
use crate::scene::{Order, Scene};

const FORGED: &[(&str, &str)] = &[
    ("forwarded", "for=10.244.5.7;host=evil.test;proto=https"),
    ("x-forwarded-prefix", "/evil"),
    ("x-forwarded-ssl", "on"),
    ("x-original-url", "/admin"),
    ("x-rewrite-url", "/admin"),
    ("ssl-client-verify", "SUCCESS"),
    ("ssl-client-subject-dn", "CN=admin"),
    ("ssl-client-issuer-dn", "CN=authority"),
    ("ssl-client-cert", "-----BEGIN"),
];

const NAMES: &[&str] = &[
    "forwarded",
    "x-forwarded-prefix",
    "x-forwarded-ssl",
    "x-original-url",
    "x-rewrite-url",
    "ssl-client-verify",
    "ssl-client-subject-dn",
    "ssl-client-issuer-dn",
    "ssl-client-cert",
];

/// A client that pretends to be another one.
const PRETENDS: &[(&str, &str)] =
    &[("x-forwarded-for", "10.244.5.7"), ("x-real-ip", "10.244.5.7"), ("x-forwarded-host", "evil.test")];

/// A host whose `/admin` is for some only, by prefix.
fn guarded(scene: &Scene) -> Vec<Value> {
    let host = scene.host("shop");
    let admin = scene.of_victim("admin").path(&host, "Prefix", "/admin", "admin");
    vec![
        scene.of_victim("shop").path(&host, "Prefix", "/", "web").build(),
        admin.annotation("allowlist-source-range", "10.244.5.0/24").build(),
    ]
}

/// The request does not get in; the classes of the specification refuse it.
const fn strange(url: &'static str) -> Ask {
    ask(url).gets("400").dialect(Specification)
}

const fn kept_out(url: &'static str) -> Ask {
    ask(url).never("admin")
}

const ONCE: Row = Row { orders: &[Order::Together], victim: guarded, ..ROW };

pub const ROWS: &[Row] = &[
    Row {
        name: "forged-headers",
        clients: &[
            ask("http://shop.{h}/").with(FORGED).gets("victim").hides(NAMES),
            ask("http://shop.{h}/admin").with(PRETENDS).gets("403"),
        ],
        ..ONCE
    },
    Row {
        name: "forged-headers-to-grpc",
        victim: |scene| {
            let shop = scene.of_victim("shop").host(&scene.host("shop"), "web");
            vec![shop.annotation("backend-protocol", "GRPC").build()]
        },
        clients: &[ask("http://shop.{h}/").with(FORGED).gets("victim").hides(NAMES)],
        ..ONCE
    },
    Row {
        name: "headers-of-redirects",
        victim: |scene| {
            let shop = scene.of_victim("shop").host(&scene.host("shop"), "web");
            vec![shop.annotation("force-ssl-redirect", "true").build()]
        },
        clients: &[ask("http://shop.{h}/x").with(PRETENDS).gets("308").header("location", "https://shop.{h}/x")],
        ..ONCE
    },
    Row {
        name: "lines-in-paths",
        victim: |scene| {
            let shop = scene.of_victim("shop").annotation("use-regex", "true");
            let path = "/api/([^/]+)/(.*)";
            let shop = shop.path(&scene.host("shop"), "ImplementationSpecific", path, "web");
            vec![shop.annotation("rewrite-target", "/$2").annotation("x-forwarded-prefix", "/api/$1").build()]
        },
        clients: &[
            ask("http://shop.{h}/api/x%0D%0AX-Original-URL:%20%5Cadmin/y").gets("400"),
            ask("http://shop.{h}/api/x%20X/y").gets("victim").hides(&["x-original-url"]),
        ],
        ..ONCE
    },
    Row {
        name: "strange-paths",
        clients: &[
            strange("http://shop.{h}/x/..%2Fadmin"),
            strange("http://shop.{h}/%2Fadmin"),
            strange("http://shop.{h}/x/%2e%2e/admin"),
            strange("http://shop.{h}/x/../admin"),
            strange("http://shop.{h}//admin"),
            strange("http://shop.{h}/x%5C..%5Cadmin"),
            kept_out("http://shop.{h}/x/..%2Fadmin"),
            kept_out("http://shop.{h}/%2Fadmin"),
            kept_out("http://shop.{h}/x/%2e%2e/admin"),
            kept_out("http://shop.{h}/x/../admin"),
            kept_out("http://shop.{h}//admin"),
            kept_out("http://shop.{h}/%61dmin"),
            kept_out("http://shop.{h}/admin;x"),
            ask("http://shop.{h}/a%20b?c=%2F&d=//x/../y").gets("victim"),
            ask("http://shop.{h}/a.b/c..d/.e").gets("victim"),
        ],
        ..ONCE
    },
];
