//! Snippets: a namespace needs the administrator's permission for them, and then they affect only
//! its own routes.

use serde_json::Value;

use super::hosts::SHOP;
use crate::row::{Ask, ROW, Row, STEP, Step, ask, reported};
use crate::scene::Ownership::{Namespace, Shared};
use crate::scene::Scene;

/// What would answer all requests of the shop, take its headers, and let everybody in.
const GREEDY: &str = "return 200 pwned;\nadd_header X-Taken yes always;\n";

/// A path of the shop's host, with a snippet about it or about the whole host.
fn beside(scene: &Scene, key: &str, snippet: &str) -> Vec<Value> {
    vec![scene.of_evil("attack").path(&scene.host("shop"), "Prefix", "/mine", "web").annotation(key, snippet).build()]
}

/// A host of the attacker's own, with a snippet.
fn alone(scene: &Scene, key: &str, snippet: &str) -> Vec<Value> {
    vec![scene.of_evil("attack").host(&scene.host("own"), "web").annotation(key, snippet).build()]
}

/// The shop with headers of a snippet of its own.
fn with_snippet(scene: &Scene) -> Vec<Value> {
    let shop = scene.of_victim("shop").path(&scene.host("shop"), "Prefix", "/", "web");
    vec![
        shop.annotation(
            "server-snippet",
            "set $mode open; add_header X-Mode $mode always; if ($http_x_stop) { return 410; }",
        )
        .build(),
    ]
}

const STOP: &[(&str, &str)] = &[("x-stop", "1")];

pub const ROWS: &[Row] = &[
    Row {
        name: "snippets-without-leave",
        attack: |scene| beside(scene, "server-snippet", GREEDY),
        clients: SHOP,
        reported: &[reported("Ingress attack", &["RefusedValue"])],
        unwritten: &["pwned", "X-Taken"],
        ..ROW
    },
    Row {
        name: "scribes-a-whole-host",
        attack: |scene| {
            beside(scene, "server-snippet", "if ($http_x_stop) { return 410; }\nadd_header X-Wide yes always;")
        },
        clients: &[
            ask("http://shop.{h}/").with(STOP).gets("victim"),
            ask("http://shop.{h}/deep/er?x=1").with(STOP).gets("victim"),
            ask("http://shop.{h}/admin").with(STOP).gets("403"),
            ask("http://shop.{h}/nowhere").with(STOP).gets("victim"),
        ],
        // This route is the attacker's own.
        during: &[ask("http://shop.{h}/mine").with(STOP).gets("410").only(Shared)],
        reported: &[reported("Ingress attack", &["HostOwned"]).only(Namespace)],
        allowed: &["SharedHost"],
        ..ROW
    },
    Row {
        name: "scribes-over-a-snippet",
        victim: with_snippet,
        attack: |scene| {
            beside(
                scene,
                "server-snippet",
                "set $mode taken; add_header X-Mode $mode always; rewrite ^/mine/(.*)$ /$1 break;",
            )
        },
        clients: &[
            ask("http://shop.{h}/").gets("victim").header("x-mode", "open"),
            ask("http://shop.{h}/").with(STOP).gets("410"),
        ],
        during: &[ask("http://shop.{h}/mine/admin").gets("evil").only(Shared)],
        reported: &[reported("Ingress attack", &["HostOwned"]).only(Namespace)],
        allowed: &["SharedHost"],
        ..ROW
    },
    Row {
        name: "scribes-what-is-refused",
        attack: |scene| alone(scene, "configuration-snippet", "proxy_pass http://10.244.1.1:8080;"),
        clients: SHOP,
        during: OWN_CLOSED,
        steps: &[
            Step {
                attack: Some(|scene| {
                    alone(
                        scene,
                        "configuration-snippet",
                        "} } server { listen 80 default_server; return 200 pwned; } server { location / {",
                    )
                }),
                asks: OWN_CLOSED,
                reported: &[reported("Ingress attack", &["RefusedValue"])],
                ..STEP
            },
            Step {
                attack: Some(|scene| alone(scene, "configuration-snippet", "alias /etc/nginx/; autoindex on;")),
                asks: OWN_CLOSED,
                reported: &[reported("Ingress attack", &["RefusedValue"])],
                ..STEP
            },
            Step {
                attack: Some(|scene| alone(scene, "server-snippet", "listen 81; server_name ~.*;")),
                asks: OWN_CLOSED,
                reported: &[reported("Ingress attack", &["RefusedValue"])],
                ..STEP
            },
        ],
        reported: &[reported("Ingress attack", &["RefusedValue"])],
        unwritten: &["pwned", "autoindex"],
        ..ROW
    },
];

/// Nothing of the attacker's is served, or what was before.
const OWN_CLOSED: &[Ask] = &[ask("http://own.{h}/").never("victim")];
