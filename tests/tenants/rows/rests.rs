//! Default backends and redirects of whole hosts, which take all requests that no path does.

use serde_json::{Value, json};

use super::hosts::SHOP;
use crate::row::{Ask, ROW, Row, STEP, Step, ask, reported};
use crate::scene::Order;
use crate::scene::Ownership::Shared;
use crate::scene::Scene;
use rig::manifests::Ingress;

/// What the victim has of a host that the attacker had first.
const SHARED_SHOP: &[Ask] = &[
    ask("http://shop.{h}/").gets("victim"),
    ask("http://shop.{h}/x").gets("victim"),
    ask("http://shop.{h}/admin").gets("403"),
    ask("http://shop.{h}/admin").from("10.244.5.7").gets("admin"),
];

/// The attacker's path on a host.
fn start(scene: &Scene, host: &str) -> Ingress {
    scene.of_evil("attack").path(&scene.host(host), "Prefix", "/evil", "web")
}

/// An object that takes all other requests of its hosts.
fn with_the_rest(object: Ingress) -> Value {
    let mut object = object.build();
    object["spec"]["defaultBackend"] = json!({"service": {"name": "web", "port": {"number": 80}}});
    object
}

/// The shop, and objects that are refused and have no earlier version.
fn with_refused(scene: &Scene) -> Vec<Value> {
    let refused = |name: &str| {
        let object = scene.of_victim(name).annotation("upstream-vhost", "a;b");
        object.path(&scene.host(name), "Prefix", "/start", "web")
    };
    let redirects = refused("twin").annotation("from-to-www-redirect", "true").build();
    let start = refused("start").annotation("app-root", "/start").build();
    [scene.shop(), vec![with_the_rest(refused("rest")), redirects, start]].concat()
}

pub const ROWS: &[Row] = &[
    Row {
        name: "rest-of-a-host-that-is-shared",
        // The attacker has the host, and the victim everything but one path of it.
        orders: &[Order::AttackerFirst],
        only: Some(Shared),
        attack: |scene| vec![start(scene, "shop").build()],
        during: SHARED_SHOP,
        steps: &[
            Step {
                attack: Some(|scene| vec![with_the_rest(start(scene, "shop"))]),
                asks: SHARED_SHOP,
                reported: &[reported("Ingress attack", &["PathConflict"])],
                ..STEP
            },
            Step {
                attack: Some(|scene| {
                    let list = start(scene, "shop").annotation("allowlist-source-range", "192.0.2.0/24");
                    vec![with_the_rest(list)]
                }),
                asks: SHARED_SHOP,
                reported: &[reported("Ingress attack", &["PathConflict"])],
                ..STEP
            },
        ],
        allowed: &["SharedHost"],
        ..ROW
    },
    Row {
        name: "redirect-of-a-host-that-is-shared",
        orders: &[Order::AttackerFirst],
        only: Some(Shared),
        victim: |scene| vec![scene.of_victim("shop").path(&scene.host("www.shop"), "Prefix", "/", "web").build()],
        attack: |scene| vec![start(scene, "www.shop").build()],
        during: &[ask("http://www.shop.{h}/x").gets("victim")],
        steps: &[Step {
            attack: Some(|scene| vec![start(scene, "shop").annotation("from-to-www-redirect", "true").build()]),
            asks: &[ask("http://www.shop.{h}/").gets("victim"), ask("http://www.shop.{h}/x").gets("victim")],
            reported: &[reported("Ingress attack", &["HostRuleConflict"])],
            ..STEP
        }],
        ..ROW
    },
    Row {
        name: "rest-of-an-object-that-is-refused",
        only: Some(Shared),
        clients: SHOP,
        steps: &[
            Step { victim: Some(with_refused), ..STEP },
            Step {
                attack: Some(|scene| {
                    let on = |name: &str, host: &str| {
                        scene.of_evil(name).path(&scene.host(host), "Prefix", "/", "web").build()
                    };
                    vec![on("rest", "rest"), on("twin", "www.twin"), on("start", "start")]
                }),
                asks: &[
                    ask("http://rest.{h}/"),
                    ask("http://rest.{h}/x"),
                    ask("http://www.twin.{h}/"),
                    ask("http://start.{h}/"),
                ],
                reported: &[
                    reported("Ingress rest", &["PathConflict"]),
                    reported("Ingress twin", &["PathConflict"]),
                    reported("Ingress start", &["SharedHost"]),
                ],
                ..STEP
            },
        ],
        ..ROW
    },
];
