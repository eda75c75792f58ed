//! Paths that cannot be written, and the namespace to which nginx's complaints about them belong.

use serde_json::Value;

use super::hosts::SHOP;
use crate::row::{Ask, ROW, Row, STEP, Step, ask, reported};
use crate::scene::Order;
use crate::scene::Ownership::{Namespace, Shared};
use crate::scene::Scene;
use rig::manifests::{in_namespace, tls_secret};

/// The shop over TLS too.
fn shop_with_tls(scene: &Scene) -> Vec<Value> {
    let host = scene.host("shop");
    let mut shop = scene.shop();
    shop[0]["spec"]["tls"] = serde_json::json!([{"hosts": [host], "secretName": "pair"}]);
    for object in &mut shop {
        object["metadata"]["annotations"]["nginx.ingress.kubernetes.io/ssl-redirect"] = "false".into();
    }
    shop.push(in_namespace(&scene.victim, tls_secret("pair", &[&host])));
    shop
}

/// Paths on the shop's host beside one that is as it should be, and the same on a host of the
/// attacker's own.
fn long(scene: &Scene, kind: &str, path: &str) -> Vec<Value> {
    let on = |name: &str, host: &str| {
        let object = scene.of_evil(name).path(&scene.host(host), kind, path, "web");
        let object = object.path(&scene.host(host), "Prefix", "/fits", "web");
        // The host has a certificate, and this is about paths.
        object.annotation("ssl-redirect", "false").build()
    };
    vec![on("attack", "shop"), on("own", "own")]
}

const LONG: &[Ask] = &[
    ask("http://shop.{h}/").gets("victim"),
    ask("http://shop.{h}/admin").gets("403"),
    ask("https://shop.{h}/").gets("victim").certificate("shop.{h}"),
];

/// One claim is refused, and not the others of its object.
const FITS: &[Ask] = &[ask("http://shop.{h}/fits").by("victim", "evil"), ask("http://own.{h}/fits").gets("evil")];

const LONG_ROW: Row = Row {
    orders: &[Order::Young, Order::Together],
    victim: shop_with_tls,
    clients: LONG,
    during: FITS,
    reported: &[
        reported("Ingress own", &["InvalidPath"]),
        reported("Ingress attack", &["InvalidPath"]).only(Shared),
        reported("Ingress attack", &["HostOwned"]).only(Namespace),
    ],
    allowed: &["SharedHost"],
    ..ROW
};

/// Paths of the attacker that are no expressions, or not good ones; and then the victim rewrites.
fn then_rewrites(scene: &Scene) -> Vec<Value> {
    let host = scene.host("shop");
    let shop = scene.of_victim("shop").host(&host, "web").build();
    let rewrite = scene.later("rewrite").annotation("rewrite-target", "/$1").annotation("use-regex", "true");
    vec![shop, rewrite.path(&host, "ImplementationSpecific", "/app/(.*)", "web").build()]
}

fn shop_alone(scene: &Scene) -> Vec<Value> {
    vec![scene.of_victim("shop").host(&scene.host("shop"), "web").build()]
}

const REWRITES: &[Step] = &[Step {
    victim: Some(then_rewrites),
    asks: &[ask("http://shop.{h}/app/x").gets("victim"), ask("http://shop.{h}/").gets("victim")],
    ..STEP
}];

pub const ROWS: &[Row] = &[
    // Quoted and made an expression it is longer than nginx takes a word, also where it is not as
    // it stands.
    Row { name: "long-prefix", attack: |scene| long(scene, "Prefix", &format!("/{}", "+".repeat(2000))), ..LONG_ROW },
    Row {
        name: "long-and-plain",
        attack: |scene| long(scene, "Prefix", &format!("/{}", "-".repeat(2000))),
        reported: &[reported("Ingress attack", &["HostOwned"]).only(Namespace)],
        ..LONG_ROW
    },
    Row { name: "long-exact", attack: |scene| long(scene, "Exact", &format!("/{}", "-".repeat(4094))), ..LONG_ROW },
    Row {
        name: "long-specific",
        attack: |scene| long(scene, "ImplementationSpecific", &format!("/{}", "\\".repeat(2050))),
        ..LONG_ROW
    },
    Row { name: "longest-word", attack: |scene| long(scene, "Prefix", &format!("/{}", "a".repeat(4095))), ..LONG_ROW },
    Row {
        // What the objects were before goes on being served.
        name: "long-and-edited",
        orders: &[Order::Edited],
        attack: |scene| long(scene, "Prefix", &format!("/{}", "+".repeat(2000))),
        during: &[ask("http://old-own.{h}/").gets("evil")],
        reported: &[reported("Ingress own", &["InvalidPath"]), reported("Ingress attack", &["InvalidPath"])],
        ..LONG_ROW
    },
    Row {
        name: "literal-with-a-parenthesis",
        victim: shop_alone,
        attack: |scene| {
            let host = scene.host("shop");
            vec![scene.of_evil("attack").path(&host, "Prefix", "/(", "web").path(&host, "Exact", "/[", "web").build()]
        },
        clients: &[ask("http://shop.{h}/").gets("victim")],
        during: &[ask("http://shop.{h}/(").by("victim", "evil")],
        steps: REWRITES,
        allowed: &["SharedHost"],
        ..ROW
    },
    Row {
        name: "expression-that-is-none",
        victim: shop_alone,
        attack: |scene| {
            let attack = scene.of_evil("attack").annotation("use-regex", "true");
            let host = scene.host("shop");
            vec![attack.path(&host, "ImplementationSpecific", "/zzz/(", "web").build()]
        },
        clients: &[ask("http://shop.{h}/").gets("victim")],
        steps: REWRITES,
        allowed: &["SharedHost"],
        ..ROW
    },
    Row {
        name: "rewrites-before-the-parenthesis",
        victim: then_rewrites,
        attack: |scene| vec![scene.of_evil("attack").path(&scene.host("shop"), "Prefix", "/(", "web").build()],
        clients: &[ask("http://shop.{h}/").gets("victim"), ask("http://shop.{h}/app/x").gets("victim")],
        allowed: &["SharedHost"],
        ..ROW
    },
    Row {
        name: "complaint-without-a-line",
        // nginx names no line for sizes that contradict each other.
        attack: |scene| {
            let on = |name: &str, host: &str| {
                let object = scene.of_evil(name).path(&scene.host(host), "Prefix", "/evil", "web");
                let object = object.annotation("proxy-buffer-size", "64k").annotation("proxy-busy-buffers-size", "1k");
                object.build()
            };
            vec![on("attack", "shop"), on("own", "own")]
        },
        clients: SHOP,
        steps: &[Step {
            victim: Some(|scene| {
                let new = scene.later("later").path(&scene.host("shop"), "Prefix", "/later", "admin").build();
                [scene.shop(), vec![new]].concat()
            }),
            asks: &[ask("http://shop.{h}/later").gets("admin")],
            ..STEP
        }],
        reported: &[reported("Ingress own", &["Quarantined", "InvalidValue", "RefusedValue"])],
        allowed: &["SharedHost"],
        ..ROW
    },
];
